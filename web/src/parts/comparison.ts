/** The answer of a comparison: its sentence, what was not asked alike, and a row for each metric. */

import { mountIntervals, type Charts } from "../charts";
import type { ComparedMetric, Comparison, Run, Table } from "../data/types";
import { change } from "../format/change";
import { expectations } from "./answer";
import { copyButton } from "./copy";
import { dataTable } from "./datatable";
import { el, prose, section, unseen } from "./dom";
import { pictureButtons } from "./pictures";
import { mark, sign, type State } from "./sign";
import type { Themes } from "./theme";

const STATES: Record<Comparison["state"], [State, string]> = {
  faster: ["good", "faster"],
  slower: ["bad", "slower"],
  mixed: ["warning", "better in some, worse in others"],
  no_difference: ["neutral", "no difference shown"],
  undecided: ["warning", "undecided"],
  too_few: ["neutral", "too few runs"],
};

export function comparisonAnswer(comparison: Comparison): HTMLElement {
  const [state, word] = STATES[comparison.state];
  return el(
    "section",
    { id: "comparison", class: "answer", "aria-labelledby": "comparison-title" },
    el("h2", { id: "comparison-title", class: "unseen" }, "Answer"),
    el("p", { class: `sentence signed ${state}` }, sign(state), el("span", {}, unseen(`${word}: `), prose(comparison.sentence))),
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
      el("ul", { class: "messages" }, ...comparison.notes.map((text) => el("li", { class: "hint" }, sign("neutral"), el("span", {}, prose(text))))),
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

export function differences(
  comparison: Comparison,
  runs: Run[],
  themes: Themes,
  follow: (charts: Charts) => void,
  name: () => string,
): HTMLElement {
  const place = el("div", { class: "charts" });
  const charts = mountIntervals(place, comparison, runs, { theme: themes.now });
  follow(charts);
  const table = metricTable(comparison.metrics, "metric");
  const steps = metricTable(comparison.steps, "step");
  return section(
    "differences",
    "Differences",
    el("p", { class: "help" }, "B against A, with the 95 % interval over runs. Where the interval holds 0 % (a factor of 1), these runs show no difference."),
    comparison.metrics.length > 0 && place,
    comparison.metrics.length > 0 && el("div", { class: "tools" }, ...charts.charts().map((chart) => pictureButtons(chart, name))),
    el(
      "div",
      { class: "print-all" },
      dataTable(table, "differences", "Differences"),
      el("div", { class: "tools" }, copyButton(() => table)),
      comparison.steps.length > 0 && el("h3", {}, `${comparison.first} by step`),
      comparison.steps.length > 0 && dataTable(steps, "steps-compared", `${comparison.first} by step`),
      comparison.steps.length > 0 && el("div", { class: "tools" }, copyButton(() => steps)),
    ),
  );
}

const VERDICTS: Record<ComparedMetric["verdict"], [State, string]> = {
  better: ["good", "better"],
  worse: ["bad", "worse"],
  no_difference: ["neutral", "no difference"],
  may_be_ours: ["warning", "may be ours"],
  not_compared: ["warning", "not compared"],
  too_few: ["neutral", "too few runs"],
};

/** All figures of the metrics, or of one metric by step. */
export function metricTable(metrics: ComparedMetric[], first: string): Pick<Table, "columns" | "rows"> {
  const right = (title: string, unit = ""): Table["columns"][number] => ({ title, unit, align: "right" });
  return {
    columns: [
      { title: first, unit: "", align: "left" },
      right("A", "median"),
      right("B", "median"),
      right("B against A"),
      right("from", "95 %"),
      right("to", "95 %"),
      right("p-value"),
      right("p-value", "adjusted"),
      right("effect", "A12"),
      { title: "verdict", unit: "", align: "left" },
    ],
    rows: metrics.map((metric) => [
      metric.name,
      metric.a,
      metric.b,
      ...[metric.difference, metric.from, metric.to].map((share) => change(share, metric)),
      ...[metric.p_value, metric.p_adjusted].map(probability),
      metric.effect === null ? "-" : metric.effect.toFixed(2),
      VERDICTS[metric.verdict][1],
    ]),
  };
}

function probability(p: number | null): string {
  if (p === null) return "-";
  return p < 0.0001 ? "<0.0001" : p.toFixed(4);
}
