/** Several runs: a row for each, and the choice of the one that the parts of a single run show. */

import { keyElement, runLook } from "../charts";
import type { Comparison, Run } from "../data/types";
import { duration, percent, rate, setting } from "../format/units";
import { verdictMark } from "./answer";
import { el, prose, section, unseen } from "./dom";
import type { Themes } from "./theme";

export function runRows(
  runs: Run[],
  selected: number,
  comparison: Comparison | undefined,
  themes: Themes,
  select: (run: number) => void,
): HTMLElement {
  const labels = sharedFigures(runs);
  const head = el("tr", {}, el("th", { scope: "col" }, unseen("Shown")), el("th", { scope: "col" }, "run"));
  for (const label of labels) head.append(el("th", { scope: "col", class: "right" }, label));
  head.append(el("th", { scope: "col" }, "verdict"), el("th", { scope: "col" }, "answer"));

  const body = el("tbody");
  for (const [index, run] of runs.entries()) {
    const choice = el("input", { type: "radio", name: "run", id: `run-${index}`, "aria-label": `Show ${run.label}` });
    choice.checked = index === selected;
    choice.addEventListener("change", () => select(index));
    const key = el("span", { class: "key" });
    const draw = (): void => key.replaceChildren(keyElement(runLook(index, themes.now)));
    draw();
    themes.onChange(draw);
    const row = el(
      "tr",
      {},
      el("td", {}, choice),
      el("th", { scope: "row" }, el("label", { for: `run-${index}` }, key, run.label), side(run, comparison)),
    );
    for (const label of labels) row.append(el("td", { class: "right" }, figure(run, label)));
    row.append(el("td", {}, verdictMark(run.verdict)), el("td", { class: "words sentence-of-run" }, prose(run.answer.sentence)));
    body.append(row);
  }
  const table = el("table", { class: "runs" }, el("thead", {}, head), body);
  return section(
    "runs",
    "Runs",
    el("p", { class: "help" }, "The charts over time show all runs; the parts of a single run show the one chosen here."),
    el("div", { class: "scroll", tabindex: 0, role: "group", "aria-labelledby": "runs-title" }, table),
  );
}

/** "A" or "B" in a comparison. */
function side(run: Run, comparison: Comparison | undefined): HTMLElement | null {
  if (!comparison) return null;
  const name = comparison.a.runs.includes(run.label) ? "A" : comparison.b.runs.includes(run.label) ? "B" : null;
  return name && el("span", { class: "side" }, name);
}

/** A window has room for so many columns beside the sentences. */
const MOST_FIGURES = 6;

/** The labels of the figures that any run has, in the order of the first that has them; of many those of most runs. */
export function sharedFigures(runs: Run[]): string[] {
  const labels = [...new Set(runs.flatMap((run) => run.answer.figures.map((figure) => figure.label)))];
  const having = (label: string) => runs.filter((run) => figure(run, label) !== "-").length;
  const kept = new Set([...labels].sort((a, b) => having(b) - having(a)).slice(0, MOST_FIGURES));
  return labels.filter((label) => kept.has(label));
}

/** As the answer has it, else from the summary: the answers of two runs may be of different figures. */
export function figure(run: Run, label: string): string {
  const found = run.answer.figures.find((figure) => figure.label === label);
  if (found) return `${found.value} ${found.unit}`.trim();
  return FROM_SUMMARY[label]?.(run.summary as Summary, run) ?? "-";
}

/** What is used of the object of `dnsdyno show --json`. */
interface Summary {
  sent_qps?: number | null;
  answered_qps?: number | null;
  loss_share?: number | null;
  lateness?: { p99?: { ns: number; beyond_timeout: boolean } | null } | null;
}

const FROM_SUMMARY: Record<string, (summary: Summary | null, run: Run) => string | undefined> = {
  sent: (summary) => rateText(summary?.sent_qps),
  // Nothing of a send-only run was awaited.
  answered: (summary, { send_only }) => (send_only ? undefined : rateText(summary?.answered_qps)),
  loss: (summary) => (typeof summary?.loss_share === "number" ? percent(summary.loss_share) : undefined),
  "lateness p99": (summary, { timeout_ns }) => {
    const p99 = summary?.lateness?.p99;
    return p99 ? (p99.beyond_timeout ? `>${setting(timeout_ns)}` : duration(p99.ns)) : undefined;
  },
};

function rateText(qps: number | null | undefined): string | undefined {
  return typeof qps === "number" ? `${rate(qps)} queries/s` : undefined;
}
