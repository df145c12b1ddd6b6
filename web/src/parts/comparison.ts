/** The answer of a comparison: its sentence, what was not asked alike, and a row for each metric. */

import { mountIntervals, type Charts } from "../charts";
import type { ComparedMetric, Comparison, Table } from "../data/types";
import { expectations } from "./answer";
import { chartTables } from "./charttable";
import { copyButton } from "./copy";
import { dataTable } from "./datatable";
import { el, section } from "./dom";
import { mark, sign, type State } from "./sign";
import type { Themes } from "./theme";

const SIGNS: Record<Comparison["state"], [State, string]> = {
  faster: ["good", "B is better"],
  slower: ["bad", "B is worse"],
  mixed: ["warning", "better in some, worse in others"],
  no_difference: ["neutral", "no difference shown"],
  too_few: ["neutral", "too few runs"],
};

export function comparisonAnswer(comparison: Comparison): HTMLElement {
  const [state, word] = SIGNS[comparison.state];
  return el(
    "section",
    { id: "answer", class: "answer", "aria-labelledby": "answer-title" },
    el("h2", { id: "answer-title", class: "unseen" }, "Answer"),
    el("p", { class: "sentence" }, comparison.sentence),
    el("p", { class: "verdict" }, mark(state, word)),
    el("dl", { class: "sides" }, ...sideOf("A", comparison.a), ...sideOf("B", comparison.b)),
    comparison.fail_if.length > 0 && expectations("Fails if", comparison.fail_if),
    comparison.unlike.length > 0 &&
      el(
        "div",
        { class: "unlike" },
        el("p", {}, mark("warning", "Not asked alike")),
        el("ul", {}, ...comparison.unlike.map((text) => el("li", {}, text))),
      ),
    comparison.notes.length > 0 &&
      el("ul", { class: "messages" }, ...comparison.notes.map((text) => el("li", { class: "hint" }, sign("neutral"), el("span", {}, text)))),
  );
}

function sideOf(name: string, { title, runs }: Comparison["a"]): HTMLElement[] {
  const many = runs.length === 1 ? "1 run" : `${runs.length} runs`;
  return [
    el(
      "div",
      {},
      el("dt", {}, el("span", { class: "side" }, name)),
      el("dd", {}, el("strong", {}, title), ` ${many}`),
    ),
  ];
}

export function differences(comparison: Comparison, themes: Themes, follow: (charts: Charts) => void): HTMLElement {
  const place = el("div", { class: "charts" });
  const charts = mountIntervals(place, comparison, { theme: themes.now });
  chartTables(() => charts.charts());
  follow(charts);
  const table = metricTable(comparison.metrics);
  return section(
    "differences",
    "Differences",
    el("p", { class: "help" }, "B against A, with the 95 % interval over runs. Where the interval holds 0 %, these runs show no difference."),
    comparison.metrics.length > 0 && place,
    el("ul", { class: "metrics" }, ...comparison.metrics.map(metricLine)),
    dataTable(table, "Differences"),
    el("div", { class: "tools" }, copyButton(() => table)),
  );
}

const VERDICTS: Record<ComparedMetric["verdict"], [State, string]> = {
  better: ["good", "better"],
  worse: ["bad", "worse"],
  no_difference: ["neutral", "no difference"],
  too_few: ["neutral", "too few runs"],
};

function metricLine(metric: ComparedMetric): HTMLElement {
  const [state, word] = VERDICTS[metric.verdict];
  return el(
    "li",
    {},
    el("span", { class: "metric" }, metric.name),
    mark(state, word),
    el("span", { class: "words" }, metric.words),
  );
}

/** All figures of the metrics. */
export function metricTable(metrics: ComparedMetric[]): Pick<Table, "columns" | "rows"> {
  const right = (title: string, unit = ""): Table["columns"][number] => ({ title, unit, align: "right" });
  return {
    columns: [
      { title: "metric", unit: "", align: "left" },
      right("A", "median"),
      right("B", "median"),
      right("B against A"),
      right("from", "95 %"),
      right("to", "95 %"),
      right("p-value"),
      right("effect", "A12"),
      { title: "verdict", unit: "", align: "left" },
    ],
    rows: metrics.map((metric) => [
      metric.name,
      metric.a,
      metric.b,
      signed(metric.difference),
      signed(metric.from),
      signed(metric.to),
      probability(metric.p_value),
      metric.effect === null ? "-" : metric.effect.toFixed(2),
      VERDICTS[metric.verdict][1],
    ]),
  };
}

/** A relative difference with its sign: "+5.1 %". */
export function signed(share: number | null): string {
  if (share === null) return "-";
  const percent = share * 100;
  const text = Math.abs(percent).toFixed(Math.abs(percent) < 99.95 ? 1 : 0);
  const zero = Number(text) === 0;
  return `${zero ? "" : percent > 0 ? "+" : "-"}${text} %`;
}

function probability(p: number | null): string {
  if (p === null) return "-";
  return p < 0.0001 ? "<0.0001" : p.toFixed(4);
}
