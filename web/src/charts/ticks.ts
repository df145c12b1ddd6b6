/** Where an axis has its ticks, and what they are called. */
import type { TimeLabels } from "./api";
import { count, setting } from "../format/units";
import { instant } from "../format/instants";

/**
 * About `most` round values (1, 2, 5 times a power of ten) from `low` to `high`. A single one would give no scale: then
 * they are closer.
 */
export function linearTicks(low: number, high: number, most: number): number[] {
  const step = niceStep((high - low) / Math.max(1, most));
  const ticks = multiples(low, high, step);
  return ticks.length > 1 || !(high > low) ? ticks : multiples(low, high, niceStep(step * 0.4));
}

/** The least of 1, 2, 5 times a power of ten that is not below `figure`. */
export function niceStep(figure: number): number {
  if (!(figure > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(figure));
  const step = [1, 2, 5, 10].find((s) => s * power >= figure * (1 - 1e-9));
  return (step ?? 10) * power;
}

/** A ceiling for an axis from zero: a little above the largest value, at a quarter of a round step. */
export function ceiling(largest: number): number {
  if (!(largest > 0)) return 1;
  const step = niceStep(largest / 5) / 2;
  return Math.ceil((largest * 1.02) / step) * step;
}

/** Powers of ten from `low` to `high`; with few of them also others between. */
export function logTicks(low: number, high: number, most: number): number[] {
  const decades = Math.log10(high / low);
  const factors = [
    [1, 2, 5],
    [1, 3],
  ].find((f) => decades * f.length <= most) ?? [1];
  const every = factors.length === 1 ? Math.max(1, Math.ceil(decades / Math.max(1, most))) : 1;
  const ticks: number[] = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) {
    if (power % every !== 0) continue;
    for (const factor of factors) {
      const tick = factor * 10 ** power;
      if (tick >= low * (1 - 1e-9) && tick <= high * (1 + 1e-9)) ticks.push(tick);
    }
  }
  return ticks;
}

const MS = 1e6;
const SECOND = 1e9;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const TIME_STEPS_NS = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500].map((n) => n * MS),
  ...[1, 2, 5, 10, 15, 30].map((n) => n * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((n) => n * MINUTE),
  ...[1, 2, 3, 6, 12, 24, 48, 96, 192].map((n) => n * HOUR),
];

/** Round instants of a range, about `most`; of the clock where the labels are UTC. */
export function timeTicks(
  from_ns: number,
  to_ns: number,
  most: number,
  labels: TimeLabels,
  started_unix_ns: string,
): { at_ns: number; text: string }[] {
  const wanted = (to_ns - from_ns) / Math.max(1, most);
  const step = TIME_STEPS_NS.find((s) => s >= wanted * 0.75) ?? TIME_STEPS_NS[TIME_STEPS_NS.length - 1]!;
  // The part of the start that is not a whole step: 19 digits are too many for a number.
  const shift = labels === "utc" && /^\d+$/.test(started_unix_ns) ? Number(BigInt(started_unix_ns) % BigInt(step)) : 0;
  return multiples(from_ns + shift, to_ns + shift, step).map((at) => ({
    at_ns: at - shift,
    text: instant(at - shift, step, labels, started_unix_ns, to_ns),
  }));
}

function multiples(low: number, high: number, step: number): number[] {
  const ticks: number[] = [];
  const last = Math.floor(high / step + 1e-9);
  for (let n = Math.ceil(low / step - 1e-9); n <= last && ticks.length < 1000; n++) ticks.push(n * step + 0);
  return ticks;
}

const LARGE_UNITS = [
  [1e12, "T"],
  [1e9, "G"],
  [1e6, "M"],
] as const;

/**
 * A tick of a rate or a count: `50,000`, `0.5`; from a million on `1.5 M`, for which there is room beside an axis. All
 * ticks of an axis that ends at `top` have the unit of that.
 */
export function figureTick(value: number, top = value): string {
  const large = LARGE_UNITS.find(([size]) => top >= size);
  if (large && value !== 0) return `${threeDigits(value / large[0])} ${large[1]}`;
  return Number.isInteger(value) ? count(value) : threeDigits(value);
}

/** At most three, without zeros at their end. */
function threeDigits(figure: number): string {
  return String(Number(figure.toPrecision(3)));
}

export function durationTick(ns: number): string {
  if (ns === 0) return "0";
  return ns >= 120e9 ? `${count(ns / 1e9)} s` : setting(ns);
}

export function percentTick(share: number): string {
  return `${threeDigits(share * 100)} %`;
}

const BYTE_UNITS = [
  [1e12, "TB"],
  [1e9, "GB"],
  [1e6, "MB"],
  [1e3, "kB"],
] as const;

export function bytesTick(bytes: number): string {
  const [unit, name] = BYTE_UNITS.find(([size]) => bytes >= size) ?? [1, "B"];
  return `${threeDigits(bytes / unit)} ${name}`;
}
