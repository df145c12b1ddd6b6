/** All charts over time of the runs of a page, in the order of reading. */
import { cachingPanels } from "./caching";
import { generatorPanels } from "./generator";
import { latencyPanel } from "./latency";
import type { Panel, ShownRun } from "./panel";
import { partsPanels } from "./parts";
import { ratePanels } from "./rate";
import { watchedPanels } from "./watched";

/** `search`: of the watched series; `scale`: of the axes of durations. */
export function panelsOf(
  runs: ShownRun[],
  selected: number,
  boxes: boolean,
  search = "",
  scale: "log" | "linear" = "log",
): Panel[] {
  const panels = logarithmicPanels(runs, selected, boxes, search);
  return scale === "log" ? panels : panels.map(linear);
}

function linear(panel: Panel): Panel {
  return panel.scale === "log" ? { ...panel, scale: "linear", unit: panel.unit.replace("logarithmic", "linear") } : panel;
}

function logarithmicPanels(runs: ShownRun[], selected: number, boxes: boolean, search: string): Panel[] {
  const one = runs[selected] ?? runs[0];
  if (one?.run.watch_only && runs.length === 1) return watchedPanels(one, search);
  const readable = runs.filter((run) => run.series !== null);
  const [rate, ...losses] = ratePanels(readable);
  const nothing = one?.problem ?? "No interval has been recorded.";
  const hasRows = readable.some((run) => run.series!.levels[0]!.rows > 0);
  return [
    ...(rate ? [hasRows ? rate : { ...rate, empty: nothing }] : []),
    ...losses,
    latencyPanel(readable, one, boxes),
    ...(one ? [...cachingPanels(one), ...partsPanels(one), ...watchedPanels(one, search)] : []),
    ...generatorPanels(readable, one),
  ];
}
