/** The percentile curves, beside them the load against the response and the clients, where a run has them. */

import { mountClients, mountCurve, mountLoadResponse, type Charts, type Scale } from "../charts";
import type { LoadResponse, Run } from "../data/types";
import { chartTables } from "./charttable";
import { el, section } from "./dom";
import type { Themes } from "./theme";

/** How the charts are drawn. */
export interface Drawing {
  themes: Themes;
  /** Of the axes of latencies. */
  scale: Scale;
  /** Told the charts, which need the theme and an end. */
  follow: (charts: Charts) => void;
  /** For files. */
  name: () => string;
}

/** `null` where no run has anything to draw. `load` is that of the runs together, where each has one rate. */
export function distribution(runs: Run[], load: LoadResponse | undefined, drawing: Drawing): HTMLElement | null {
  const mount = (draw: (place: HTMLElement) => Charts | null): HTMLElement | null => {
    const place = el("div", { class: "charts" });
    const charts = draw(place);
    if (!charts || charts.charts().length === 0) return null;
    chartTables(() => charts.charts(), drawing.name);
    drawing.follow(charts);
    return place;
  };
  const options = { theme: drawing.themes.now, scale: drawing.scale };
  const first = runs[0];
  const loads = load && first ? [{ ...first, label: "All runs", load_response: load }] : runs;
  const curve = mount((place) => mountCurve(place, runs, options));
  const response = mount((place) => mountLoadResponse(place, loads, options));
  const clients = mount((place) => mountClients(place, runs, options));
  if (!curve && !response && !clients) return null;
  // The load has three charts: the clients then stand below the curve.
  clients?.classList.add("print-all");
  const columns = response ? [el("div", {}, curve, clients), response] : [curve, clients];
  return section("distribution", response ? "Distribution and load" : "Distribution", el("div", { class: "beside", "data-paper": response && curve ? "columns" : null }, ...columns));
}
