/** The charts of the page. See `api.ts` for what they offer. */
import type { DecodedRun } from "../data/decode";
import type { Comparison, Run } from "../data/types";
import type { Charts, ChartOptions, TimeChartOptions, TimeCharts } from "./api";
import { clientsPanel } from "./clients";
import { curvePanel } from "./curve";
import { TimeGroup } from "./group";
import { Intervals } from "./intervals";
import { loadPanels } from "./load";
import { XYGroup } from "./xy";

export { hasWatched } from "./panels/watched";
export { keyElement } from "./key";
export { runLook } from "./theme";
export type * from "./api";

/** All charts over time, under one time axis: at least rate, latency and generator. */
export function mountTimeCharts(container: HTMLElement, runs: DecodedRun[], options: TimeChartOptions): TimeCharts {
  return new TimeGroup(container, runs, options);
}

/** The logarithmic percentile curves of all runs over each other; `null` where no run has any latency. */
export function mountCurve(container: HTMLElement, runs: Run[], options: ChartOptions): Charts | null {
  const panel = curvePanel(runs, options.scale ?? "log");
  return panel && new XYGroup(container, [panel], options);
}

/** What was answered at each rate that was asked; `null` where there is one rate only. */
export function mountLoadResponse(container: HTMLElement, runs: Run[], options: ChartOptions): Charts | null {
  const panels = loadPanels(runs, options.scale ?? "log");
  return panels && new XYGroup(container, panels, options);
}

/** How many clients sent how many queries; `null` where no run says it. */
export function mountClients(container: HTMLElement, runs: Run[], options: ChartOptions): Charts | null {
  const panel = clientsPanel(runs);
  return panel && new XYGroup(container, [panel], options);
}

/** The runs of both sides per metric, with the difference and its interval. */
export function mountIntervals(
  container: HTMLElement,
  comparison: Comparison,
  runs: Run[],
  options: ChartOptions,
): Charts {
  return new Intervals(container, comparison, runs, options);
}
