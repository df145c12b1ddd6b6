/** The charts over time: mounts them, with the controls of their one time axis and the table of each. */

import { hasWatched, mountTimeCharts, type Range, type Scale, type TimeCharts } from "../charts";
import type { DecodedRun } from "../data/decode";
import { instant } from "../format/instants";
import { chartTables } from "./charttable";
import { button, el, section } from "./dom";
import type { Link } from "./link";
import type { Themes } from "./theme";

export interface Timeline {
  element: HTMLElement;
  charts: TimeCharts;
  select(run: number): void;
  setRuns(runs: DecodedRun[]): void;
}

/** What else of the page follows the choices here. */
export interface Followers {
  range(range: Range): void;
  scale(scale: Scale): void;
  /** The name of the run or of the page, for files. */
  name(): string;
}

export function timeline(
  runs: DecodedRun[],
  selected: number,
  themes: Themes,
  link: Link,
  followers: Followers,
): Timeline {
  let shown = runs;
  let run = selected;
  const first = link.now;
  const place = el("div", { class: "charts" });
  const readout = el("output", { class: "range" });
  const whole = button("Whole run", () => charts.resetRange(), { class: "quiet", disabled: true });

  const say = (): void => {
    const { from_ns, to_ns } = charts.range();
    whole.disabled = charts.isWhole();
    const span = to_ns - from_ns;
    const step = span > 10e9 ? 1e9 : span > 1e9 ? 1e8 : 1e6;
    const started = shown[run]?.run.started_unix_ns ?? "";
    const labels = link.now.time ?? "elapsed";
    const text = (ns: number): string => instant(Math.round(ns / step) * step, step, labels, started);
    readout.textContent = `${text(from_ns)} to ${text(to_ns)}${labels === "utc" ? " UTC" : ""}`;
  };
  const charts = mountTimeCharts(place, runs, {
    theme: themes.now,
    selected,
    ...(first.zoom && { range: first.zoom }),
    time: first.time ?? "elapsed",
    boxes: first.latency === "boxes",
    scale: first.scale ?? "log",
    search: first.watched ?? "",
    onRange: (range, isWhole) => {
      link.set({ zoom: isWhole ? undefined : range });
      say();
      tables.refresh();
      followers.range(range);
    },
    onCharts: () => tables.attach(),
  });
  const tables = chartTables(() => charts.charts(), () => followers.name());
  themes.onChange((theme) => charts.setTheme(theme));
  say();

  const latency = choice("Latency", ["Heat map", "Boxes"], first.latency === "boxes" ? 1 : 0, (index) => {
    link.set({ latency: index === 1 ? "boxes" : undefined });
    charts.setBoxes(index === 1);
    tables.refresh();
  });
  const scale = choice("Durations", ["Log", "Linear"], first.scale === "linear" ? 1 : 0, (index) => {
    const chosen = index === 1 ? "linear" : undefined;
    link.set({ scale: chosen });
    charts.setScale(chosen ?? "log");
    tables.attach();
    followers.scale(chosen ?? "log");
  });
  const time = choice("Time", ["Elapsed", "UTC"], first.time === "utc" ? 1 : 0, (index) => {
    const chosen = index === 1 ? "utc" : undefined;
    link.set({ time: chosen });
    charts.setTime(chosen ?? "elapsed");
    say();
    tables.refresh();
  });
  const search = searchField(first.watched ?? "", (text) => {
    link.set({ watched: text.trim() || undefined });
    const found = charts.search(text);
    tables.attach();
    return found;
  });
  const help =
    "Drag to zoom, double click for the whole run. By keyboard: arrow keys step, with Shift they move the range, + and - zoom. " +
    "The address of the page keeps what is chosen.";
  const tools = el(
    "div",
    { class: "tools" },
    latency,
    scale,
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
function searchField(text: string, search: (text: string) => number): HTMLElement {
  const input = el("input", { type: "search", id: "series-search", placeholder: "Series, source", autocomplete: "off" });
  input.value = text;
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
function choice(label: string, options: string[], first: number, choose: (index: number) => void): HTMLElement {
  const group = el("span", { class: "choice", role: "group", "aria-label": label }, el("span", {}, label));
  const buttons = options.map((text, index) =>
    button(
      text,
      () => {
        buttons.forEach((other, at) => other.setAttribute("aria-pressed", String(at === index)));
        choose(index);
      },
      { "aria-pressed": String(index === first) },
    ),
  );
  group.append(...buttons);
  return group;
}
