/** The percentile curves, beside them the load against the response and the clients, where a run has them. */

import { mountClients, mountCurve, mountLoadResponse, type Charts } from "../charts";
import type { LoadResponse, Run } from "../data/types";
import { chartTables } from "./charttable";
import { el, section } from "./dom";
import type { Themes } from "./theme";

/**
 * `null` where no run has anything to draw. `load` is that of the runs together, where each has one rate. `follow` is told
 * the charts, which need the theme and an end.
 */
export function distribution(
  runs: Run[],
  load: LoadResponse | undefined,
  themes: Themes,
  follow: (charts: Charts) => void,
): HTMLElement | null {
  const mount = (draw: (place: HTMLElement) => Charts | null): HTMLElement | null => {
    const place = el("div", { class: "charts" });
    const charts = draw(place);
    if (!charts || charts.charts().length === 0) return null;
    chartTables(() => charts.charts());
    follow(charts);
    return place;
  };
  const options = { theme: themes.now };
  const first = runs[0];
  const loads = load && first ? [{ ...first, label: "All runs", load_response: load }] : runs;
  const curve = mount((place) => mountCurve(place, runs, options));
  const response = mount((place) => mountLoadResponse(place, loads, options));
  const clients = mount((place) => mountClients(place, runs, options));
  if (!curve && !response && !clients) return null;
  // The load has three charts: the clients then stand below the curve.
  const columns = response ? [el("div", {}, curve, clients), response] : [curve, clients];
  return section("distribution", response ? "Distribution and load" : "Distribution", el("div", { class: "beside" }, ...columns));
}
