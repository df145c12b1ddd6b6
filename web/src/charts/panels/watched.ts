/** What was read beside the load: small charts of one height, by source, those that tell most first. */
import type { LevelReader } from "../../data/series";
import type { Run, Watched, WatchedSeries } from "../../data/types";
import type { Line, Panel, ShownRun, Unit } from "./panel";

/** Charts of a source; the others are found by a search. */
const MOST_SHOWN = 8;

/** Of those, how many may be losses: a host counts some of each kind at any time. */
const MOST_LOSSES = 4;

/** Charts that one search shows. */
const MOST_FOUND = 40;

/** With a search the series whose name or source has all of its words, else of each source those that tell most. */
export function watchedPanels(run: ShownRun, search: string): Panel[] {
  const level = run.series && levelToJudge(run.series.levels);
  if (!level) return [];
  const panels = run.run.watched.flatMap((source) => {
    const chosen = search === "" ? telling(source, level) : flatLast(source.series.filter(found(source, search)), level);
    return chosen.map((series) => panelOf(run, source, series, noteOf(source, chosen.length, search)));
  });
  return search === "" ? panels : panels.slice(0, MOST_FOUND);
}

/** Whether a page has series to search. */
export function hasWatched(runs: { run: Run }[]): boolean {
  return runs.some(({ run }) => run.watched.some(({ series }) => series.length > 0));
}

/** Rows in which a movement is seen. */
const ROWS_TO_JUDGE = 30;

/** The coarsest level in which a movement is seen: of a short run that is the finest. */
function levelToJudge(levels: LevelReader[]): LevelReader | undefined {
  return levels.findLast(({ rows }) => rows >= ROWS_TO_JUDGE) ?? levels[0];
}

/** A line that moves by less of its axis than this is level. */
const FLAT = 0.02;

/** Whether a line is drawn level while there is load. A loss at a constant rate still tells something. */
function isFlat(series: WatchedSeries, level: LevelReader): boolean {
  const [unit, factor] = unitOf(series);
  const values = drawnValues(series, level)
    .subarray(0, level.dueEnd || level.rows)
    .filter((value) => Number.isFinite(value));
  const [low, high] = [values.reduce((a, b) => Math.min(a, b), Infinity), values.reduce((a, b) => Math.max(a, b), 0)];
  // The axis of shares goes up to one, each other to the highest value.
  const top = unit === "share" ? Math.max(1, high * factor) / factor : high;
  return (series.rank > 0 || unit === "share") && !(high - low >= FLAT * top && high > 0);
}

/** A counter as its rise per nanosecond. */
function drawnValues({ column, kind }: WatchedSeries, level: LevelReader): Float64Array {
  const values = level.column(column) ?? new Float64Array();
  return kind === "gauge" ? values : values.map((value, row) => value / (level.to_ns(row) - level.from_ns[row]!));
}

function flatLast(all: WatchedSeries[], level: LevelReader): WatchedSeries[] {
  const flat = new Set(all.filter((series) => isFlat(series, level)));
  return [...all.filter((series) => !flat.has(series)), ...flat];
}

/** The series that moved, in the order of their ranks, within a rank those that moved most; those that are flat last. */
function telling(source: Watched, level: LevelReader): WatchedSeries[] {
  const ordered = source.series
    .map((series) => ({ series, moved: movement(drawnValues(series, level)) }))
    .filter(({ series, moved }) => moved > 0 || series.kind === "counter")
    .sort((a, b) => a.series.rank - b.series.rank || b.moved - a.moved)
    .map(({ series }) => series);
  const moved = flatLast(ordered, level);
  const losses = moved.filter(({ rank }) => rank === 0).slice(0, MOST_LOSSES);
  return [...losses, ...moved.filter(({ rank }) => rank > 0)].slice(0, MOST_SHOWN);
}

function found(source: Watched, search: string): (series: WatchedSeries) => boolean {
  const words = search.toLowerCase().split(/\s+/);
  return ({ name }) => {
    const text = `${name} ${source.label}`.toLowerCase();
    return words.every((word) => text.includes(word));
  };
}

/** How far a series goes from its mean, as a share of it: 0 where it stays. */
export function movement(values: Float64Array): number {
  const known = values.filter((value) => Number.isFinite(value));
  if (known.length === 0) return 0;
  const mean = known.reduce((sum, value) => sum + value, 0) / known.length;
  const spread = Math.sqrt(known.reduce((sum, value) => sum + (value - mean) ** 2, 0) / known.length);
  return mean === 0 ? 0 : spread / Math.abs(mean);
}

function noteOf(source: Watched, shown: number, search: string): string {
  const here = source.series.length < source.moved ? ` (${source.series.length} of them are on this page)` : "";
  const how = search === "" && shown < source.series.length ? "; search to see others" : "";
  return `${shown} of ${source.moved} series that moved${here}${how}`;
}

const KINDS: Record<Watched["kind"], string> = { host: "Host", process: "Process", server: "Statistics" };

function panelOf(run: ShownRun, source: Watched, series: WatchedSeries, note: string): Panel {
  const { column, name, kind } = series;
  const [unit, factor, words] = unitOf(series);
  const line: Line = {
    label: name,
    unit,
    run: run.index,
    colour: (p) => (series.rank === 0 ? p.timedOut : p.answered),
    shape: "line",
    columns: [column],
    values: (window) =>
      window.values(column).map((value, i) => {
        if (kind === "gauge") return value * factor;
        const covered_ns = window.to[i]! - window.from[i]!;
        return covered_ns > 0 ? (value * factor) / covered_ns : NaN;
      }),
  };
  return {
    id: column,
    title: name,
    unit: words,
    group: `${KINDS[source.kind]}: ${source.label}`,
    note,
    height: 96,
    scale: unit === "share" ? "share" : "zero",
    lines: [line],
  };
}

function unitOf(series: WatchedSeries): [Unit, number, string] {
  return series.kind === "counter" ? rateOf(series) : levelOf(series);
}

/** Of a counter: the unit of its chart, the factor from its rise per nanosecond, and its words. */
function rateOf({ unit, name }: WatchedSeries): [Unit, number, string] {
  if (unit === "ns") return ["share", 1, OF_A_CPU.test(name) ? "share of one CPU" : "share of the time"];
  if (unit === "bytes") return ["bytes", 1e9, "per second"];
  return ["qps", 1e9, "per second"];
}

/** CPU time: `cpu_ns`, `cpu0.user_ns`, `thread.named/4712.cpu_ns`; the pressure of a resource is no such time. */
const OF_A_CPU = /^(?!pressure\.).*\bcpu(\d+|_ns|\.)/;

/** Of a gauge, whose highest value is drawn: the unit of its chart, the factor to it, and its words. */
function levelOf({ unit }: WatchedSeries): [Unit, number, string] {
  const units: Record<WatchedSeries["unit"], [Unit, number, string]> = {
    count: ["gauge", 1, "highest"],
    bytes: ["bytes", 1, "highest"],
    ns: ["ns", 1, "highest"],
    hz: ["gauge", 1e-6, "MHz, highest"],
    celsius_milli: ["gauge", 1e-3, "°C, highest"],
    permille: ["share", 1e-3, "highest"],
  };
  return units[unit];
}
