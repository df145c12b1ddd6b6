/** Places on the time axis as text. */
import { seconds } from "./units";

/**
 * An instant of a run, as precise as `step_ns` needs: elapsed as `12 s`, `0.25 s`, `2:30`, `1:02:30`, or on the clock as
 * `14:02:30`. Seconds are written as `12 s` where `longest_ns`, the longest time beside it, is less than two minutes.
 *
 * `started_unix_ns` has 19 digits, more than a number keeps, so it is a text.
 */
export function instant(
  ns: number,
  step_ns: number,
  labels: "elapsed" | "utc",
  started_unix_ns: string,
  longest_ns = ns,
): string {
  return labels === "utc" ? clock(ns, step_ns, started_unix_ns) : elapsed(ns, step_ns, longest_ns);
}

function elapsed(ns: number, step_ns: number, longest_ns: number): string {
  if (ns === 0) return "0";
  if (longest_ns < 120e9 && step_ns < 60e9) return `${seconds(ns, step_ns)} s`;
  const [whole, fraction] = seconds(ns, step_ns).split(".");
  const total = Number(whole);
  const [h, m, s] = [Math.floor(total / 3600), Math.floor(total / 60) % 60, total % 60];
  if (step_ns % 3600e9 === 0) return `${h} h`;
  const minutes = h > 0 ? `${h}:${two(m)}` : String(m);
  // "5:00" could be hours: where minutes are the smallest unit, they are named.
  if (step_ns % 60e9 === 0) return h > 0 ? `${h} h ${two(m)}` : `${m} min`;
  return `${minutes}:${two(s)}${fraction ? `.${fraction}` : ""}`;
}

function clock(ns: number, step_ns: number, started_unix_ns: string): string {
  const at_ns = (/^\d+$/.test(started_unix_ns) ? BigInt(started_unix_ns) : 0n) + BigInt(Math.round(ns));
  const iso = new Date(Number(at_ns / 1_000_000n)).toISOString();
  if (step_ns % 86_400e9 === 0) return iso.slice(5, 10);
  if (step_ns % 60e9 === 0) return iso.slice(11, 16);
  const digits = step_ns % 1e9 === 0 ? 0 : step_ns % 1e8 === 0 ? 2 : step_ns % 1e7 === 0 ? 3 : 4;
  return iso.slice(11, 19 + digits);
}

function two(n: number): string {
  return String(n).padStart(2, "0");
}
