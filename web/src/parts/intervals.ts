/** The figures of each interval, as the table by second and the file for download have them. */

import type { LevelReader } from "../data/series";
import type { Run } from "../data/types";
import { count, duration, percent, rate, seconds, setting } from "../format/units";

/** A column of the table by second. */
export interface Figure {
  title: string;
  unit: string;
  /** Of a row; NaN where there is none, Infinity beyond the timeout. */
  value(row: number): number;
  text(value: number): string;
  /** In place of a figure that a row does not have. */
  none?(row: number): string;
}

const LATENCIES = ["avg", "p50", "p90", "p99", "p99_9", "max"];

/** Ends of queries, each with its share of the table only where a run has it. */
const ENDS: [path: string, title: string][] = [
  ["ends.answered_late", "late"],
  ["ends.answered_wrong", "wrong"],
  ["ends.timed_out", "timed out"],
  ["ends.refused", "refused"],
  ["ends.interrupted", "interrupted"],
];

/** The columns that the table by second has for this run. */
export function figures(level: LevelReader, run: Run): Figure[] {
  const counts = (name: string): Float64Array | null => level.column(name);
  const perSecond = (values: Float64Array, unit: number): Figure["value"] => (row) =>
    level.isPartial(row) ? NaN : ((values[row] ?? NaN) / unit / (level.covered_ns[row] ?? NaN)) * 1e9;
  const all: Figure[] = [
    { title: "from", unit: "s", value: (row) => level.from_ns[row] ?? NaN, text: (ns) => seconds(ns, run.interval_ns) },
  ];
  const none = (row: number): string => (level.isPartial(row) ? "partial" : "-");
  const rates: [string, string, number][] = [
    ["asked_micro", "asked", 1e6],
    ["sent", "sent", 1],
    ["ends.answered", "answered", 1],
  ];
  for (const [name, title, unit] of rates) {
    const values = counts(name);
    if (values) all.push({ title, unit: "/s", value: perSecond(values, unit), text: rate, none });
  }
  const sent = counts("sent");
  const answered = counts("ends.answered");
  if (sent && answered && !run.send_only) {
    const share: Figure["value"] = (row) => ((sent[row] ?? NaN) > 0 ? (answered[row] ?? NaN) / sent[row]! : NaN);
    all.push({ title: "answered", unit: "of sent", value: share, text: percent });
  }
  for (const [name, title] of ENDS) {
    const values = counts(name);
    if (values) all.push({ title, unit: "queries", value: (row) => values[row] ?? NaN, text: count });
  }
  for (const name of LATENCIES) {
    const values = counts(`latency.${name}`);
    if (values) all.push({ title: name.replace("_", "."), unit: "", value: (row) => values[row] ?? NaN, text: duration });
  }
  const late = counts("lateness.p99");
  if (late) all.push({ title: "lateness p99", unit: "", value: (row) => late[row] ?? NaN, text: duration });
  return all;
}

/** A cell of the table. */
export function cell(figure: Figure, row: number, timeout_ns: number): string {
  const value = figure.value(row);
  if (Number.isNaN(value)) return figure.none?.(row) ?? "-";
  return value === Infinity ? `>${setting(timeout_ns)}` : figure.text(value);
}

/**
 * All columns of all intervals as comma-separated values, in pieces. What is beyond the timeout is written as the
 * timeout, and the last column names where that is so; what there is not is empty.
 */
export function* csv(level: LevelReader, timeout_ns: number): Generator<string> {
  const names = level.names();
  const columns = names.map((name) => level.column(name) ?? new Float64Array(level.rows).fill(NaN));
  yield [...names.map((name) => titleOf(name, level.unit(name))), "beyond_timeout"].join(",") + "\n";
  for (let row = 0; row < level.rows; row++) {
    const beyond = names.filter((_, index) => columns[index]?.[row] === Infinity);
    const cells = columns.map((values) => {
      const value = values[row] ?? NaN;
      return Number.isNaN(value) ? "" : String(value === Infinity ? timeout_ns : value);
    });
    yield [...cells, beyond.join(" ")].join(",") + "\n";
  }
}

/** The unit is a part of a title where the name does not say it. A name with a comma or a quote is quoted. */
function titleOf(name: string, unit: string | null): string {
  const suffix = unit === "ns" && !/_ns(\.|$)/.test(name) ? "_ns" : unit === "bytes" && !/bytes/.test(name) ? "_bytes" : "";
  const title = name + suffix;
  const safe = /^[=+@-]/.test(title) ? `'${title}` : title;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
