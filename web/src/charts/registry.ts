/** The charts on the page by their ID, for tests: `window.dnsdynoCharts`. */
import type { Chart } from "./api";

export function register(charts: Chart[]): void {
  const all = (window.dnsdynoCharts ??= {});
  for (const chart of charts) all[chart.id] = chart;
}

export function forget(charts: Chart[]): void {
  for (const chart of charts) if (window.dnsdynoCharts?.[chart.id] === chart) delete window.dnsdynoCharts[chart.id];
}
