/** The y axis of a chart over time: its ends follow from what is shown, its ticks from its unit. */
import { setting } from "../format/units";
import type { Panel, Unit } from "./panels/panel";
import { BEYOND_HEIGHT } from "./pen";
import type { Tick } from "./plot";
import { bytesTick, ceiling, durationTick, figureTick, linearTicks, logTicks, percentTick } from "./ticks";

export interface YAxis {
  range: [number, number];
  ticks: (low: number, high: number, most: number) => Tick[];
}

/** Above and below what is between the axes. */
const OUTSIDE_HEIGHT = 30;

/** `heat_ns` is the range of the heat map under the lines; for `beyond` see {@link logAxis}. */
export function yAxisFor(
  panel: Panel,
  drawn: Float64Array[],
  heat_ns: [number, number] | null,
  beyond: boolean,
  timeout_ns = 0,
): YAxis {
  if (panel.scale === "log") {
    return logAxis(drawn, heat_ns, beyond, panel.height, timeout_ns);
  }
  const largest = drawn.reduce(
    (max, values) => values.reduce((m, value) => (value > m && value < Infinity ? value : m), max),
    0,
  );
  const high = panel.scale === "share" && largest <= 1.001 ? 1 : ceiling(largest);
  const label = tickOf(panel.scale === "share" ? "share" : (panel.lines[0]?.unit ?? "qps"));
  return {
    range: [0, high],
    ticks: (low, high, most) => linearTicks(low, high, most).map((at) => ({ at, text: label(at) })),
  };
}

/**
 * An axis of durations. `beyond`: whether there is a band at the top for what is beyond the timeout; there is one too
 * where a line has such a value.
 */
export function logAxis(
  drawn: Float64Array[],
  heat_ns: [number, number] | null,
  beyond: boolean,
  height: number,
  timeout_ns: number,
): YAxis {
  const bandIn = beyond || drawn.some((values) => values.includes(Infinity)) ? height - OUTSIDE_HEIGHT : null;
  let [low, high] = heat_ns ?? [Infinity, 0];
  for (const values of drawn) {
    for (const value of values) {
      if (!(value > 0 && value < Infinity)) continue;
      if (value < low) low = value;
      if (value > high) high = value;
    }
  }
  if (!(high > 0)) [low, high] = [1e5, 1e8];
  [low, high] = [roundDown(low), roundUp(high)];
  // A tenth of a decade would look like an event.
  if (high / low < 10) high = low * 10;
  const top = bandIn === null ? high : high * (high / low) ** (BEYOND_HEIGHT / (bandIn - BEYOND_HEIGHT));
  return {
    range: [low, top],
    ticks: (_low, _high, most) => [
      // The end of the axis is where the band begins, whose label has no room beside another.
      ...logTicks(low, bandIn === null ? high : high * 0.8, most).map((at) => ({ at, text: durationTick(at) })),
      ...(bandIn === null ? [] : [{ at: Math.sqrt(high * top), text: `>${setting(timeout_ns)}` }]),
    ],
  };
}

export function roundDown(ns: number): number {
  const power = 10 ** Math.floor(Math.log10(ns));
  return (ns >= 5 * power ? 5 : ns >= 2 * power ? 2 : 1) * power;
}

export function roundUp(ns: number): number {
  const power = 10 ** Math.floor(Math.log10(ns));
  return (ns <= power ? 1 : ns <= 2 * power ? 2 : ns <= 5 * power ? 5 : 10) * power;
}

function tickOf(unit: Unit): (value: number) => string {
  return {
    qps: figureTick,
    ns: durationTick,
    share: percentTick,
    count: figureTick,
    bytes: bytesTick,
    gauge: figureTick,
  }[unit];
}
