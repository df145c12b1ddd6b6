/** Simulated clients with caches: what they ask and why, what their caches give, and how long procedures take. */
import { columnsOf, ratesOf, sharesOf, valuesOf } from "./figures";
import type { Line, Panel, ShownRun } from "./panel";

const CLIENTS = "arrivals.clients.";

export function cachingPanels(run: ShownRun): Panel[] {
  if (!run.series) return [];
  return [queries, answers, evictions, age, times, failures]
    .map((make) => make(run))
    .filter((panel) => panel.lines.length > 0);
}

/** The queries that they cause: by procedure those that ask for the first time, and retries of all. */
function queries(run: ShownRun): Panel {
  const lines = of(run, [
    ["attach", ["asked.attach"], (p) => p.hues[0]!],
    ["handover", ["asked.handover"], (p) => p.hues[1]!],
    ["lookup", ["asked.lookup"], (p) => p.hues[2]!],
    ["retry", ["asked_again."], (p) => p.timedOut],
  ]).map((line): Line => ({ ...line, shape: "stack", opacity: 0.55 }));
  return panel("caching-queries", "Queries of simulated clients", "queries/s, stacked", "zero", lines);
}

/** Of all questions of procedures. */
function answers(run: ShownRun): Panel {
  const all = columnsOf(run, ["hits", "misses", "joined"].map((name) => CLIENTS + name));
  const kinds: [string, string, Line["colour"]][] = [
    ["from the cache", "hits", (p) => p.answered],
    ["asked, as it was evicted", "misses_evicted", (p) => p.timedOut],
  ];
  const lines = kinds.flatMap(([label, name, colour]): Line[] => {
    const columns = columnsOf(run, [CLIENTS + name]);
    return columns.length > 0 ? [{ ...base(run, label, colour), unit: "share", ...sharesOf(columns, all) }] : [];
  });
  return panel("caching-answers", "Caches: questions answered", "share of all questions", "share", lines);
}

function evictions(run: ShownRun): Panel {
  const lines = of(run, [
    ["evicted", ["evicted"], (p) => p.timedOut],
    ["expired", ["expired"], (p) => p.muted],
    ["cleared by a restart", ["cleared"], (p) => p.refused],
  ]);
  return panel("caching-evictions", "Caches: entries that leave", "entries/s", "zero", lines);
}

/** Counted in tenths of the TTL: each has the middle of its tenth. */
function age(run: ShownRun): Panel {
  const columns = columnsOf(run, [`${CLIENTS}evicted_at.`]);
  const values: Line["values"] = (window) => {
    const all = window.counts(columns);
    const sum = new Float64Array(window.length);
    for (const column of columns) {
      const middle = (Number(column.slice(column.lastIndexOf(".") + 1)) + 0.5) / 10;
      window.counts([column]).forEach((count, i) => (sum[i]! += count * middle));
    }
    return sum.map((aged, i) => (all[i]! > 0 ? aged / all[i]! : NaN));
  };
  const line: Line = { ...base(run, "mean age", (p) => p.p99), unit: "share", columns, values };
  const lines = columns.length > 0 ? [line] : [];
  return panel("caching-age", "Caches: age of evicted entries", "share of their TTL", "share", lines);
}

function times(run: ShownRun): Panel {
  const kinds: [string, string, Line["colour"]][] = [
    ["attach", "attach_time", (p) => p.hues[0]!],
    ["handover", "handover_time", (p) => p.hues[1]!],
    ["lookup", "lookup_time", (p) => p.hues[2]!],
  ];
  const lines = kinds.flatMap(([label, name, colour]) =>
    (["p50", "p99"] as const).flatMap((percentile): Line[] => {
      const column = `${CLIENTS}${name}.${percentile}`;
      if (!run.series!.has(column)) return [];
      const dash = percentile === "p99" ? [4, 3] : [];
      return [{ ...base(run, `${label} ${percentile}`, colour), unit: "ns", dash, ...valuesOf(column) }];
    }),
  );
  return panel("caching-times", "Time of a procedure, all its steps", "logarithmic", "log", lines);
}

function failures(run: ShownRun): Panel {
  const lines = of(run, [
    ["failed", ["failed."], (p) => p.timedOut],
    ["turned away", ["turned_away."], (p) => p.notSent],
    ["questions given up", ["given_up"], (p) => p.refused],
  ]);
  return panel("caching-failures", "Procedures that failed", "per second", "zero", lines);
}

function panel(id: string, title: string, unit: string, scale: Panel["scale"], lines: Line[]): Panel {
  return { id, title, unit, height: 130, scale, lines };
}

/** Rates of counters of clients. */
function of(run: ShownRun, kinds: [label: string, names: string[], colour: Line["colour"]][]): Line[] {
  return kinds.flatMap(([label, names, colour]): Line[] => {
    const columns = columnsOf(run, names.map((name) => CLIENTS + name));
    return columns.length > 0 ? [{ ...base(run, label, colour), ...ratesOf(columns) }] : [];
  });
}

function base(run: ShownRun, label: string, colour: Line["colour"]): Omit<Line, "values" | "columns"> {
  return { label, unit: "qps", run: run.index, shape: "line", colour };
}
