/**
 * The heat map of latencies: for each interval, how many queries per second took how long. Colour is the logarithm of
 * the count, so that single slow queries can be seen beside thousands of fast ones. What was not answered is a band above
 * the upper end of the axis.
 */
import { bucketFrom_ns } from "../data/heat";
import { rate } from "../format/units";
import { type Cells, type Columns, type HeatScale, cellsOf, columnsOf, fillRuns, packed, ramp } from "./cells";
import type { Window } from "./panels/window";
import { BEYOND_HEIGHT, type Pen } from "./pen";
import { channels } from "./theme";

/** The shortest and the longest duration in a window; `null` where nothing was answered. */
export function heatRange_ns(window: Window): [number, number] | null {
  let [low, high] = [Infinity, -1];
  window.level.heat?.forEach(window.rows.first, window.rows.end, (_, bucket) => {
    if (bucket < low) low = bucket;
    if (bucket > high) high = bucket;
  });
  return high < 0 ? null : [bucketFrom_ns(low), bucketFrom_ns(high + 1)];
}

/** Those that rank above the timeout, per interval. */
export function beyondCounts(window: Window, headline: "response" | "service"): Float64Array {
  const names = ["ends.answered_late", "ends.answered_wrong", "ends.timed_out", "ends.refused"];
  const not_sent = window.level.names().filter((name) => headline === "response" && name.startsWith("ends.not_sent."));
  return window.counts([...names, ...not_sent]);
}

export function paintHeat(pen: Pen, window: Window, beyond: Float64Array, opacity: number): HeatScale | null {
  const [width, height] = [Math.round(pen.box.width), Math.round(pen.box.height)];
  if (width < 1 || height < 1 || window.length === 0) return null;
  const range = heatRange_ns(window);
  const columns = columnsOf(pen, window, width);
  const cells = cellsOf(pen);
  const scale = range && paintCells(pen, window, columns, cells, width, height);
  paintBeyond(pen, beyond, window, columns, cells, width);
  pen.ctx.save();
  pen.ctx.globalAlpha = opacity;
  cells.finish();
  pen.ctx.restore();
  return scale;
}

function paintCells(
  pen: Pen,
  window: Window,
  columns: Columns,
  cells: Cells,
  width: number,
  height: number,
): HeatScale | null {
  const { rows } = window;
  // Durations that are shorter than a pixel on a linear axis are one row of cells.
  const places = new Map<number, { top: number; bottom: number; line: Float32Array }>();
  const placeOf = new Map<number, { line: Float32Array }>();
  window.level.heat!.forEach(rows.first, rows.end, (row, bucket, count) => {
    let place = placeOf.get(bucket);
    if (!place) {
      const top = Math.max(0, Math.round(pen.y(bucketFrom_ns(bucket + 1)) - pen.box.top));
      const bottom = Math.min(height, Math.max(top + 1, Math.round(pen.y(bucketFrom_ns(bucket)) - pen.box.top)));
      const same = places.get(top) ?? { top, bottom, line: new Float32Array(width) };
      same.bottom = Math.max(same.bottom, bottom);
      places.set(top, same);
      placeOf.set(bucket, same);
      place = same;
    }
    const { line } = place;
    for (let x = columns.first[row - rows.first]!; x < columns.end[row - rows.first]!; x++) line[x]! += count;
  });
  const all = [...places.values()];
  const [low_qps, high_qps] = extremes(
    all.map(({ line }) => line),
    columns.covered_s,
  );
  if (!(high_qps > 0)) return null;
  const colours = ramp(pen.colours.heat);
  const steps = Math.log(high_qps / low_qps) || 1;
  for (const { top, bottom, line } of all) {
    fillRuns(cells, width, top, bottom, (x) => {
      if (line[x] === 0) return 0;
      const share = Math.log(line[x]! / columns.covered_s[x]! / low_qps) / steps;
      return colours[Math.round(Math.min(1, Math.max(0, share)) * (colours.length - 1))]!;
    });
  }
  return { low: rate(low_qps), high: `${rate(high_qps)} queries/s` };
}

function extremes(counts: Float32Array[], covered_s: Float64Array): [number, number] {
  let [low, high] = [Infinity, 0];
  for (const line of counts) {
    for (let x = 0; x < line.length; x++) {
      if (line[x] === 0) continue;
      const qps = line[x]! / covered_s[x]!;
      if (qps < low) low = qps;
      if (qps > high) high = qps;
    }
  }
  return [low, high];
}

/** The band: opaque where nothing was answered, pale where few were not. */
function paintBeyond(
  pen: Pen,
  beyond: Float64Array,
  window: Window,
  columns: Columns,
  cells: Cells,
  width: number,
): void {
  const height = Math.round((BEYOND_HEIGHT - 3) * pen.ratio);
  const scheduled = window.counts(["scheduled"]);
  const share = new Float64Array(width);
  for (let i = 0; i < window.length; i++) {
    if (beyond[i] === 0) continue;
    const here = scheduled[i]! > 0 ? beyond[i]! / scheduled[i]! : 1;
    for (let x = columns.first[i]!; x < columns.end[i]!; x++) share[x] = Math.max(share[x]!, here);
  }
  const [r, g, b] = channels(pen.colours.timedOut) as [number, number, number];
  fillRuns(cells, width, 0, height, (x) => {
    if (share[x] === 0) return 0;
    // Four decades, from one in 10,000 on.
    const opacity = Math.min(1, Math.max(0.3, 1 + Math.log10(share[x]!) * 0.175));
    return packed(r, g, b, Math.round(opacity * 255));
  });
}
