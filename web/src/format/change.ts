/** The difference of two sides as text, as the program says it. */

import { count } from "./units";

/** Sides that differ by this factor or more are told by it, as `LARGE_FACTOR` of the comparison in the program. */
const LARGE_FACTOR = 2;

/** A share (0.05: B is 5 % above A) with its unit, and the estimate that decides how its interval is written too. */
export interface Difference {
  difference: number | null;
  unit: "ns" | "qps" | "share";
}

/** Whether the sides differ so much that a percentage would be hard to read. */
export function isFactor({ difference, unit }: Difference): boolean {
  if (unit === "share" || difference === null) return false;
  const factor = 1 + difference;
  return factor >= LARGE_FACTOR || factor <= 1 / LARGE_FACTOR;
}

/** A value of a difference: "+5.1 %", "× 240", "÷ 3.2"; of shares in percentage points: "+0.20 points". */
export function change(value: number | null, of: Difference): string {
  if (value === null) return "-";
  if (isFactor(of)) return factor(1 + value, (of.difference ?? 0) < 0);
  const size = Math.abs(value * 100);
  const text = size.toFixed(of.unit === "share" ? 2 : size < 99.95 ? 1 : 0);
  const sign = Number(text) === 0 ? "" : value > 0 ? "+" : "-";
  return `${sign}${text} ${of.unit === "share" ? "points" : "%"}`;
}

/** B as many times A, or A as many times B. */
function factor(factor: number, isLower: boolean): string {
  const size = isLower ? 1 / factor : factor;
  if (!Number.isFinite(size)) return "÷ ∞";
  return `${isLower ? "÷" : "×"} ${size >= 99.5 ? count(size) : size >= 0.995 ? size.toFixed(1) : size.toFixed(2)}`;
}
