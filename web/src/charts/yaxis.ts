/** The y axis of a chart over time: its ends follow from what is shown, its ticks from its unit. */
import { setting } from "../format/units";
import { reachable } from "./limits";
import type { Panel, Unit } from "./panels/panel";
import { BEYOND_HEIGHT } from "./pen";
import type { Tick } from "./plot";
import { bytesTick, ceiling, durationTick, figureTick, linearTicks, logTicks, percentTick } from "./ticks";

export interface YAxis {
  range: [number, number];
  ticks: (low: number, high: number, most: number) => Tick[];
}

/** Above and below what is between the axes. */
const OUTSIDE_HEIGHT = 35;

/** What else than its lines an axis must have room for. */
export interface Beside {
  /** The range of the heat map under the lines. */
  heat_ns: [number, number] | null;
  /** Whether there is a band at the top for what is beyond the timeout; there is one too where a line has such a value. */
  beyond: boolean;
  timeout_ns: number;
  /** What was expected. */
  limits: number[];
}

const NOTHING: Beside = { heat_ns: null, beyond: false, timeout_ns: 0, limits: [] };

export function yAxisFor(panel: Panel, drawn: Float64Array[], beside: Beside = NOTHING): YAxis {
  if (panel.scale === "rows") return rowsAxis(panel);
  if (panel.scale === "log" || panel.scale === "linear") return durationAxis(panel.scale, drawn, panel.height, beside);
  const reached = highest(drawn, 0);
  const largest = Math.max(reached, ...reachable(beside.limits, [0, reached], "linear"));
  const high = panel.scale === "share" && largest <= 1.001 ? 1 : ceiling(largest);
  const label = tickOf(panel.scale === "share" ? "share" : (panel.lines[0]?.unit ?? "qps"));
  return {
    range: [0, high],
    ticks: (low, high, most) => linearTicks(low, high, most).map((at) => ({ at, text: label(at, high) })),
  };
}

/** Rows are so high where they are few, and all of them together where they are many, in CSS pixels. */
const ROW_HEIGHT = 22;
const ALL_ROWS_HEIGHT = 300;
const LEAST_ROW_HEIGHT = 6;

/** Of a letter: a row that is lower has no room for its name. */
const NAME_HEIGHT = 12;

/** The height of a chart with so many rows. */
export function rowsHeight(rows: number): number {
  return OUTSIDE_HEIGHT + Math.round(rows * Math.min(ROW_HEIGHT, Math.max(LEAST_ROW_HEIGHT, ALL_ROWS_HEIGHT / rows)));
}

/** An axis with a row for each line, the first at the top; it names each of them, or each second, third, ... */
function rowsAxis({ lines, height }: Panel): YAxis {
  const rows = lines.length;
  const every = Math.max(1, Math.ceil((NAME_HEIGHT * rows) / Math.max(1, height - OUTSIDE_HEIGHT)));
  const names = shortNames(lines.map(({ label }) => label));
  const ticks = names.flatMap((text, i) => (i % every === 0 ? [{ at: rows - i - 0.5, text }] : [])).reverse();
  return { range: [0, rows], ticks: () => ticks };
}

/** What the room left of an axis has of letters. */
const NAME_LENGTH = 8;

/** Without the domain that they share; of those still too long the end or the beginning, whichever tells more of them apart. */
export function shortNames(names: string[]): string[] {
  let domain = /[a-z][^.]*(\..*)$/i.exec(names[0] ?? "")?.[1] ?? "";
  const isShared = () => names.every((name) => name.length > domain.length && name.endsWith(domain));
  while (domain !== "" && !isShared()) domain = /.(\..*)$/.exec(domain)?.[1] ?? "";
  const short = names.map((name) => name.slice(0, name.length - domain.length));
  const cut = (how: (name: string) => string) => short.map((name) => (name.length > NAME_LENGTH ? how(name) : name));
  const ends = cut((name) => `…${name.slice(1 - NAME_LENGTH)}`);
  const beginnings = cut((name) => `${name.slice(0, NAME_LENGTH - 1)}…`);
  return new Set(beginnings).size > new Set(ends).size ? beginnings : ends;
}

/** An axis of durations. */
export function durationAxis(scale: "log" | "linear", drawn: Float64Array[], height: number, beside: Partial<Beside> = {}): YAxis {
  const { heat_ns, beyond, timeout_ns, limits } = { ...NOTHING, ...beside };
  const bandIn = beyond || drawn.some((values) => values.includes(Infinity)) ? height - OUTSIDE_HEIGHT : null;
  // Where nothing was answered, the axis ends at the timeout, above which all queries are.
  const shown = { drawn, heat_ns, limits, bandIn, end_ns: timeout_ns || 1e8 };
  const { range, top } = (scale === "log" ? logRange : linearRange)(shown);
  const ticks = scale === "log" ? logTicks : linearTicks;
  // The end of the axis is where the band begins, whose label has no room beside another.
  const last = bandIn === null ? range[1] : scale === "log" ? range[1] * 0.8 : range[1] * 0.97;
  return {
    range: [range[0], top],
    ticks: (_low, _high, most) => [
      ...ticks(range[0], last, most).map((at) => ({ at, text: durationTick(at) })),
      ...(bandIn === null
        ? []
        : [{ at: scale === "log" ? Math.sqrt(range[1] * top) : (range[1] + top) / 2, text: `>${setting(timeout_ns)}` }]),
    ],
  };
}

/** `range` is that of the figures, `top` the end of the axis with the band. */
interface DurationRange {
  range: [number, number];
  top: number;
}

/** What an axis of durations must have room for. */
interface Shown {
  drawn: Float64Array[];
  heat_ns: [number, number] | null;
  limits: number[];
  /** The height of an axis that has the band of the unanswered at its end. */
  bandIn: number | null;
  /** The end of an axis without figures. */
  end_ns: number;
}

function logRange({ drawn, heat_ns, limits, bandIn, end_ns }: Shown): DurationRange {
  let [low, high] = heat_ns ?? [Infinity, 0];
  for (const values of drawn) {
    for (const value of values) {
      if (!(value > 0 && value < Infinity)) continue;
      if (value < low) low = value;
      if (value > high) high = value;
    }
  }
  const isEmpty = !(high > 0);
  if (isEmpty) [low, high] = [end_ns / 1e3, end_ns];
  const near = reachable(limits, [low, high], "log");
  [low, high] = [Math.min(low, ...near), Math.max(high, ...near)];
  [low, high] = [roundDown(low), isEmpty && high === end_ns ? end_ns : roundUp(high)];
  // A tenth of a decade would look like an event.
  if (high / low < 10) high = low * 10;
  const top = bandIn === null ? high : high * (high / low) ** (BEYOND_HEIGHT / (bandIn - BEYOND_HEIGHT));
  return { range: [low, high], top };
}

function linearRange({ drawn, heat_ns, limits, bandIn, end_ns }: Shown): DurationRange {
  const reached = highest(drawn, heat_ns?.[1] ?? 0);
  const near = reachable(limits, [0, reached || end_ns], "linear");
  const high = reached > 0 || near.some((limit) => limit > end_ns) ? ceiling(Math.max(reached, ...near)) : end_ns;
  const top = bandIn === null ? high : high * (1 + BEYOND_HEIGHT / (bandIn - BEYOND_HEIGHT));
  return { range: [0, high], top };
}

function highest(drawn: Float64Array[], least: number): number {
  return drawn.reduce(
    (max, values) => values.reduce((m, value) => (value > m && value < Infinity ? value : m), max),
    least,
  );
}

export function roundDown(ns: number): number {
  const power = 10 ** Math.floor(Math.log10(ns));
  return (ns >= 5 * power ? 5 : ns >= 2 * power ? 2 : 1) * power;
}

export function roundUp(ns: number): number {
  const power = 10 ** Math.floor(Math.log10(ns));
  return (ns <= power ? 1 : ns <= 2 * power ? 2 : ns <= 5 * power ? 5 : 10) * power;
}

function tickOf(unit: Unit): (value: number, top: number) => string {
  return {
    qps: figureTick,
    ns: durationTick,
    share: percentTick,
    count: figureTick,
    bytes: bytesTick,
    gauge: figureTick,
  }[unit];
}
