/** The charts of the page. See `api.ts` for what they offer. */
import type { DecodedRun } from "../data/decode";
import type { Comparison, Run } from "../data/types";
import type { Charts, ChartOptions, TimeChartOptions, TimeCharts } from "./api";

export type * from "./api";

/** All charts over time, under one time axis: at least rate, latency and generator. */
export function mountTimeCharts(container: HTMLElement, runs: DecodedRun[], options: TimeChartOptions): TimeCharts {
  void container, runs, options;
  throw new Error("not there yet");
}

/** The logarithmic percentile curves of all runs over each other. */
export function mountCurve(container: HTMLElement, runs: Run[], options: ChartOptions): Charts {
  void container, runs, options;
  throw new Error("not there yet");
}

/** What was answered at each rate that was asked; `null` where no run has more than one rate. */
export function mountLoadResponse(container: HTMLElement, runs: Run[], options: ChartOptions): Charts | null {
  void container, runs, options;
  return null;
}

/** How many clients sent how many queries; `null` where no run says it. */
export function mountClients(container: HTMLElement, runs: Run[], options: ChartOptions): Charts | null {
  void container, runs, options;
  return null;
}

/** The runs of both sides per metric, with the difference and its interval. */
export function mountIntervals(container: HTMLElement, comparison: Comparison, options: ChartOptions): Charts {
  void container, comparison, options;
  throw new Error("not there yet");
}
