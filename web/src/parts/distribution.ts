/** The percentile curves, beside them the load against the response and the clients, where a run has them. */

import { mountClients, mountCurve, mountLoadResponse, type Charts } from "../charts";
import type { Run } from "../data/types";
import { chartTables } from "./charttable";
import { el, section } from "./dom";
import type { Themes } from "./theme";

/** `null` where no run has anything to draw. `follow` is told the charts, which need the theme and an end. */
export function distribution(runs: Run[], themes: Themes, follow: (charts: Charts) => void): HTMLElement | null {
  const grid = el("div", { class: "beside" });
  const mount = (draw: (place: HTMLElement) => Charts | null): void => {
    const place = el("div", { class: "charts" });
    const charts = draw(place);
    if (!charts || charts.charts().length === 0) return;
    chartTables(() => charts.charts());
    follow(charts);
    grid.append(place);
  };
  const options = { theme: themes.now };
  if (runs.some((run) => run.curves.length > 0)) mount((place) => mountCurve(place, runs, options));
  mount((place) => mountLoadResponse(place, runs, options));
  mount((place) => mountClients(place, runs, options));
  return grid.children.length > 0 ? section("distribution", "Distribution and load", grid) : null;
}
