/** Latency over time: percentile lines over a heat map of all queries, or boxes in its place. */
import { limitsOf } from "../limits";
import { MEDIAN, dashOf } from "../theme";
import { colourOf, valuesOf } from "./figures";
import { type Line, type Panel, type ShownRun, UNREADABLE } from "./panel";

const PERCENTILES = [
  { label: "p50", column: "latency.p50", colour: (p) => p.p50 },
  { label: "p99", column: "latency.p99", colour: (p) => p.p99 },
  { label: "p99.9", column: "latency.p99_9", colour: (p) => p.p99_9 },
] satisfies { label: string; column: string; colour: Line["colour"] }[];

const BOXES = [
  { label: "min", column: "latency.min" },
  { label: "p25", column: "latency.p25" },
  { label: "p50", column: "latency.p50" },
  { label: "p75", column: "latency.p75" },
  { label: "max", column: "latency.max" },
];

export function latencyPanel(runs: ShownRun[], selected: ShownRun | undefined, boxes: boolean): Panel {
  const panel = {
    id: "latency",
    title: selected?.run.headline === "service" ? "Service time" : "Response time",
    unit: "logarithmic",
    height: 300,
    scale: "log" as const,
    limits: limitsOf(
      runs.map(({ run }) => run),
      "latency",
    ),
  };
  if (runs.every((run) => !run.series?.has("latency.max") && !run.series?.has("latency.p50"))) {
    return { ...panel, lines: [], empty: whyEmpty(selected) };
  }
  if (boxes && selected) {
    const lines = BOXES.map(({ label, column }) => latencyLine(selected, label, column, (p) => p.answered));
    return { ...panel, unit: "boxes: min, 25 %, 50 %, 75 %, max; logarithmic", lines };
  }
  const lines =
    runs.length === 1
      ? runs.flatMap((run) =>
          PERCENTILES.filter(({ column }) => run.series?.has(column)).map(({ label, column, colour }) => ({
            ...latencyLine(run, label, column, colour),
            halo: true,
          })),
        )
      : runs.flatMap((run) => [
          {
            ...latencyLine(run, `p50, ${run.run.label}`, "latency.p50", colourOf(run)),
            ...MEDIAN,
            halo: true,
          },
          {
            ...latencyLine(run, `p99, ${run.run.label}`, "latency.p99", colourOf(run)),
            width: 2,
            halo: true,
            dash: dashOf(run.index),
          },
        ]);
  const unit = runs.length === 1 ? panel.unit : `${panel.unit}; heat map of ${selected?.run.label ?? ""}`;
  return { ...panel, unit, lines, ...(selected ? { heat: selected.index } : {}) };
}

function latencyLine(run: ShownRun, label: string, column: string, colour: Line["colour"]): Line {
  return { label, unit: "ns", run: run.index, colour, shape: "line", ...valuesOf(column) };
}

function whyEmpty(run: ShownRun | undefined): string {
  if (run?.problem) return UNREADABLE;
  if (run?.run.send_only) return "A send-only run does not wait for answers, so it has no latency.";
  return "No query was answered, so there is no latency.";
}
