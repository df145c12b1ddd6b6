/** Small runs for tests of charts: what a test does not name is empty. */
import { SeriesReader } from "../src/data/series";
import type { Run } from "../src/data/types";
import { unpack } from "../src/data/decode";
import type { ShownRun } from "../src/charts/panels/panel";
import { type Cell, type LevelSource, encodeSeries } from "./encode";

export const SECOND_NS = 1e9;

/** A run of seconds with these columns: counts where the unit is not given by the name. */
export async function shownRun(
  columns: Record<string, Cell[]>,
  about: Partial<Run> = {},
  index = 0,
): Promise<ShownRun> {
  const rows = Math.max(0, ...Object.values(columns).map((values) => values.length));
  const seconds = Array.from({ length: rows }, (_, i) => i * SECOND_NS);
  const source: LevelSource = {
    factor: 1,
    columns: {
      from_ns: { unit: "ns", values: seconds },
      covered_ns: { unit: "ns", values: seconds.map(() => SECOND_NS) },
      ...Object.fromEntries(
        Object.entries(columns).map(([name, values]) => [name, { unit: "count" as const, values }]),
      ),
    },
  };
  const { series, base64 } = encodeSeries([source]);
  const run = { ...emptyRun(), ...about, series };
  return { run, series: new SeriesReader(series, await unpack(base64, series.bytes)), problem: null, index };
}

export function emptyRun(): Run {
  return {
    label: "run",
    run_id: "0",
    facts: [],
    answer: { sentence: "", figures: [] },
    verdict: { state: "unknown", word: "", doubts: [], notes: [] },
    expectations: [],
    messages: [],
    headline: "response",
    send_only: false,
    watch_only: false,
    started_unix_ns: "0",
    interval_ns: SECOND_NS,
    timeout_ns: 5 * SECOND_NS,
    to_ns: 0,
    phases: [],
    events: [],
    more_events: 0,
    watched: [],
    diagnosis: null,
    tables: [],
    curves: [],
    load_response: null,
    clients: null,
    members: [],
    agents: [],
    partial: [],
    members_by: null,
    made: { command: "", plan: "", host: [], facts: [] },
    summary: null,
    series: { blob: 0, bytes: 0, levels: [] },
  };
}
