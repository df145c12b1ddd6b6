/** The charts over time: mounts them, with the controls of their one time axis and the table of each. */

import { hasWatched, mountTimeCharts, type Range, type TimeCharts } from "../charts";
import type { DecodedRun } from "../data/decode";
import { instant } from "../format/instants";
import { chartTables } from "./charttable";
import { button, el, section } from "./dom";
import type { Themes } from "./theme";

export interface Timeline {
  element: HTMLElement;
  charts: TimeCharts;
  select(run: number): void;
  setRuns(runs: DecodedRun[]): void;
}

/** `onRange` is told each change of the shown range. */
export function timeline(
  runs: DecodedRun[],
  selected: number,
  themes: Themes,
  onRange: (range: Range) => void,
): Timeline {
  let shown = runs;
  let run = selected;
  let utc = false;
  const place = el("div", { class: "charts" });
  const readout = el("output", { class: "range" });
  const whole = button("Whole run", () => charts.resetRange(), { class: "quiet", disabled: true });

  const say = (range: Range, isWhole: boolean): void => {
    whole.disabled = isWhole;
    const span = range.to_ns - range.from_ns;
    const step = span > 10e9 ? 1e9 : span > 1e9 ? 1e8 : 1e6;
    const started = shown[run]?.run.started_unix_ns ?? "";
    const text = (ns: number): string => instant(Math.round(ns / step) * step, step, utc ? "utc" : "elapsed", started);
    readout.textContent = `${text(range.from_ns)} to ${text(range.to_ns)}${utc ? " UTC" : ""}`;
  };
  const charts = mountTimeCharts(place, runs, {
    theme: themes.now,
    selected,
    onRange: (range, isWhole) => {
      say(range, isWhole);
      tables.refresh();
      onRange(range);
    },
    onCharts: () => tables.attach(),
  });
  const tables = chartTables(() => charts.charts());
  themes.onChange((theme) => charts.setTheme(theme));
  say(charts.range(), true);

  const latency = choice("Latency", ["Heat map", "Boxes"], (boxes) => {
    charts.setBoxes(boxes === 1);
    tables.refresh();
  });
  const time = choice("Time", ["Elapsed", "UTC"], (index) => {
    utc = index === 1;
    charts.setTime(utc ? "utc" : "elapsed");
    say(charts.range(), whole.disabled);
    tables.refresh();
  });
  const search = searchField((text) => {
    const found = charts.search(text);
    tables.attach();
    return found;
  });
  const help =
    "Drag to zoom, double click for the whole run. By keyboard: arrow keys step, with Shift they move the range, + and - zoom.";
  const tools = el(
    "div",
    { class: "tools" },
    latency,
    time,
    hasWatched(runs) && search,
    el("span", { class: "shown" }, readout, whole),
  );
  return {
    element: section("time", "Over time", tools, place, el("p", { class: "help tools" }, help)),
    charts,
    select: (index) => {
      run = index;
      charts.select(index);
    },
    setRuns: (newer) => {
      shown = newer;
      charts.setRuns(newer);
    },
  };
}

/** Finds watched series by their names. */
function searchField(search: (text: string) => number): HTMLElement {
  const input = el("input", { type: "search", id: "series-search", placeholder: "Series, source", autocomplete: "off" });
  const found = el("output", {});
  let timer = 0;
  input.addEventListener("input", () => {
    window.clearTimeout(timer);
    timer = window.setTimeout(() => {
      const charts = search(input.value);
      found.textContent = input.value.trim() === "" ? "" : charts === 0 ? "none found" : `${charts} below`;
    }, SEARCH_AFTER_MS);
  });
  return el("span", { class: "series-search" }, el("label", { for: "series-search" }, "Watched"), input, found);
}

/** Charts are drawn anew when somebody has stopped to type. */
const SEARCH_AFTER_MS = 200;

/** One of a few, as buttons side by side. */
function choice(label: string, options: string[], choose: (index: number) => void): HTMLElement {
  const group = el("span", { class: "choice", role: "group", "aria-label": label }, el("span", {}, label));
  const buttons = options.map((text, index) =>
    button(
      text,
      () => {
        buttons.forEach((other, at) => other.setAttribute("aria-pressed", String(at === index)));
        choose(index);
      },
      { "aria-pressed": String(index === 0) },
    ),
  );
  group.append(...buttons);
  return group;
}
