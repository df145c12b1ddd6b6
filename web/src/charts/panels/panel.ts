/**
 * What a chart over time shows, before anything is drawn: its lines, and where their figures come from.
 *
 * The chart, its readout, its table and the tests read the same lines.
 */
import type { DecodedRun } from "../../data/decode";
import { count, duration, percent, rate, setting } from "../../format/units";
import type { Value } from "../api";
import type { ShownLimit } from "../limits";
import type { Palette } from "../theme";
import { bytesTick, figureTick } from "../ticks";
import type { Window } from "./window";

export type Unit = "qps" | "ns" | "share" | "count" | "bytes" | "gauge";

export interface Line {
  label: string;
  unit: Unit;
  /** Index of its run on the page. */
  run: number;
  colour: (palette: Palette) => string;
  /** `stack`: an area on top of the one before it. */
  shape: "line" | "stack";
  dash?: number[];
  width?: number;
  /** Drawn over a heat map. */
  halo?: boolean;
  /** Of a stack: 0 to 1. */
  opacity?: number;
  /** A stack whose upper edge is drawn too. */
  edge?: boolean;
  /** What stands at its end, where that is not its label; `null` for nothing. */
  end?: string | null;
  /** The columns that its figures are made of. */
  columns: string[];
  values: (window: Window) => Float64Array;
  /** Of a row: the intervals without its part. */
  missing?: (window: Window) => boolean[];
}

export interface Panel {
  id: string;
  title: string;
  unit: string;
  /** Above it; panels of one group follow each other. */
  group?: string;
  /** Below the name of the group. */
  note?: string;
  height: number;
  /** From zero, shares, or durations on either axis; or a row for each line, whose durations are colours. */
  scale: "zero" | "share" | "log" | "linear" | "rows";
  lines: Line[];
  /** Why there is nothing to draw. */
  empty?: string;
  /** The run whose heat map is under the lines. */
  heat?: number;
  /** What was expected of the runs. */
  limits?: ShownLimit[];
}

/** Of a run by its place on the page; `null` where its series cannot be read. */
export interface ShownRun extends DecodedRun {
  index: number;
}

/** Of a chart whose run has a problem, which the first chart tells. */
export const UNREADABLE = "The series of this run cannot be read.";

export function text(unit: Unit, value: number, timeout_ns: number): string {
  if (Number.isNaN(value)) return "-";
  if (value === Infinity) return `>${setting(timeout_ns)}`;
  switch (unit) {
    case "qps":
      return rate(value);
    case "ns":
      return duration(value);
    case "share":
      return percent(value);
    case "count":
      return count(value);
    case "bytes":
      return bytesTick(value);
    case "gauge":
      // A tick has no room for seven digits.
      return Number.isInteger(value) && value < 1e7 ? count(value) : figureTick(value);
  }
}

export function shown(value: number | undefined): Value {
  if (value === undefined || Number.isNaN(value)) return null;
  return value === Infinity ? "beyond" : value;
}
