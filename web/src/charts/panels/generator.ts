/** The generator itself: whether a figure is the server's or its own. Always the last charts, and always there. */
import { limitsOf } from "../limits";
import { dashOf, hueOf } from "../theme";
import { colourOf, columnsOf, ratesOf, valuesOf } from "./figures";
import { type Line, type Panel, type ShownRun, UNREADABLE } from "./panel";

/** With more workers than this, only the busiest and the mean are drawn. */
const MOST_WORKERS = 6;

export function generatorPanels(runs: ShownRun[], selected: ShownRun | undefined): Panel[] {
  return [...drops(runs), lateness(runs, selected), cpu(runs, selected)];
}

function cpu(runs: ShownRun[], selected: ShownRun | undefined): Panel {
  const lines = runs.length === 1 ? runs.flatMap(workersOf) : runs.flatMap((run) => busiestOf(run, run.run.label));
  const panel = {
    id: "generator",
    title: "Generator: CPU of a worker",
    unit: "share of one CPU",
    height: 120,
    scale: "share" as const,
    lines,
  };
  return lines.length > 0
    ? panel
    : { ...panel, empty: selected?.problem ? UNREADABLE : "The record does not say how busy the workers were." };
}

function workersOf(run: ShownRun): Line[] {
  const workers = workersColumns(run);
  const waited = columnsOf(run, ["arrivals.cpu_wait_ns"]);
  const waiting: Line[] = waited.length > 0 ? [share(run, "waited, all", waited, (p) => p.timedOut, [2, 3])] : [];
  if (workers.length > MOST_WORKERS) return [...busiestOf(run, "busiest"), ...waiting];
  const each = workers.map((column, i) => share(run, `worker ${i}`, [column], hueOf(i)));
  return [...each, ...waiting];
}

function busiestOf(run: ShownRun, label: string): Line[] {
  const workers = workersColumns(run);
  if (workers.length === 0) return [];
  const values: Line["values"] = (window) => {
    const each = workers.map((column) => window.rates([column], 1));
    return window.from.map((_, i) => Math.max(...each.map((shares) => shares[i]!)));
  };
  return [
    {
      label,
      unit: "share",
      run: run.index,
      colour: colourOf(run),
      shape: "line",
      dash: dashOf(run.index),
      columns: workers,
      values,
    },
  ];
}

function workersColumns(run: ShownRun): string[] {
  return (run.series?.names() ?? []).filter((name) => /^workers\.\d+\.cpu_ns$/.test(name));
}

function share(run: ShownRun, label: string, columns: string[], colour: Line["colour"], dash: number[] = []): Line {
  return {
    label,
    unit: "share",
    run: run.index,
    colour,
    shape: "line",
    dash,
    ...ratesOf(columns, 1),
  };
}

function lateness(runs: ShownRun[], selected: ShownRun | undefined): Panel {
  const of = (run: ShownRun, label: string, column: string, colour: Line["colour"], dash: number[]): Line[] =>
    run.series?.has(column)
      ? [{ label, unit: "ns", run: run.index, colour, shape: "line", dash, ...valuesOf(column) }]
      : [];
  const lines = runs.flatMap((run) =>
    runs.length === 1
      ? [...of(run, "p99", "lateness.p99", (p) => p.p99, []), ...of(run, "max", "lateness.max", (p) => p.muted, [1, 3])]
      : of(run, run.run.label, "lateness.p99", colourOf(run), dashOf(run.index)),
  );
  const panel = {
    id: "lateness",
    title: "Generator: lateness of sending",
    unit: runs.length === 1 ? "logarithmic" : "p99, logarithmic",
    height: 120,
    scale: "log" as const,
    lines,
    limits: limitsOf(
      runs.map(({ run }) => run),
      "lateness",
    ),
  };
  return lines.length > 0
    ? panel
    : {
        ...panel,
        empty: selected?.problem ? UNREADABLE : "The record has no lateness: no query had an intended instant.",
      };
}

function drops(runs: ShownRun[]): Panel[] {
  const lines = runs.flatMap((run): Line[] => {
    const columns = columnsOf(run, ["arrivals.socket_drops"]);
    const label = runs.length === 1 ? "dropped" : run.run.label;
    const colour: Line["colour"] = runs.length === 1 ? (p) => p.timedOut : colourOf(run);
    if (columns.length === 0) return [];
    return [{ label, unit: "qps", run: run.index, colour, shape: "line", ...ratesOf(columns) }];
  });
  const panel = {
    id: "drops",
    title: "Generator: dropped at its sockets",
    unit: "packets/s",
    height: 96,
    scale: "zero" as const,
    lines,
  };
  return lines.length > 0 ? [panel] : [];
}
