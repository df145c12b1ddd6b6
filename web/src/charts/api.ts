/**
 * What the page sees of the charts: the words between `parts/` (which places them) and `charts/` (which draws them).
 *
 * A chart is a `<figure data-chart="ID">` with its title, its readout and a canvas. It is focusable, so the keyboard
 * reaches it; whoever places the charts adds what belongs below it (the disclosure with its table) to `element`.
 */
import type { DecodedRun } from "../data/decode";

export type Theme = "light" | "dark";

/** What an instant on the time axis is called. */
export type TimeLabels = "elapsed" | "utc";

/** Of the axes of durations. */
export type Scale = "log" | "linear";

export interface Range {
  from_ns: number;
  to_ns: number;
}

export interface ChartOptions {
  theme: Theme;
  scale?: Scale;
}

export interface TimeChartOptions extends ChartOptions {
  time?: TimeLabels;
  /** The run whose heat map, parts, watched series and generator are shown; 0 unless told. */
  selected?: number;
  /** What is shown first; the whole run unless told. */
  range?: Range;
  boxes?: boolean;
  search?: string;
  /** Called after each change of the shown range; `whole` where it is the whole run. */
  onRange?: (range: Range, whole: boolean) => void;
  /** Called when there are other charts than before, which only `setRuns` and `select` can cause. */
  onCharts?: (charts: Chart[]) => void;
}

/** One chart, for whoever describes it and adds its table. */
export interface Chart {
  id: string;
  title: string;
  element: HTMLElement;
  /** The figures that are drawn, of the shown range. */
  table(): ChartTable;
  /** The figures at an instant (of a chart over time) or at a place of the x axis, by the name of the series. */
  valuesAt(x: number): Record<string, Value>;
  range(): Range | null;
  /** What is drawn, as an SVG file; `null` where nothing is. */
  svg(): string | null;
}

/** A figure in its base unit (ns, queries per second, 0 to 1); `"beyond"` the timeout; `null` where there is none. */
export type Value = number | "beyond" | null;

/** Texts as they are shown: no cell is markup. */
export interface ChartTable {
  columns: { title: string; unit: string; align: "left" | "right" }[];
  rows: string[][];
}

/** Charts that belong together. All of them follow a change of the container's width by themselves. */
export interface Charts {
  charts(): Chart[];
  setTheme(theme: Theme): void;
  /** Removes the charts and all that they listen to. */
  destroy(): void;
}

/** The charts under one time axis. */
export interface TimeCharts extends Charts {
  range(): Range;
  isWhole(): boolean;
  setRange(from_ns: number, to_ns: number): void;
  /** Shows the whole run. */
  resetRange(): void;
  setTime(labels: TimeLabels): void;
  /** Boxes (min, 25, 50, 75, max) in place of the heat map. */
  setBoxes(on: boolean): void;
  setScale(scale: Scale): void;
  /** Shows the heat map, the parts, the watched series and the generator of this run. */
  select(run: number): void;
  /** Shows the watched series whose names have these words, or with an empty text those that tell most; how many. */
  search(text: string): number;
  /** Newer data of the same runs; the shown range stays, or goes along with the end where it was the whole run. */
  setRuns(runs: DecodedRun[]): void;
}

declare global {
  interface Window {
    /** The charts on the page by their ID, for tests. */
    dnsdynoCharts?: Record<string, Chart>;
  }
}
