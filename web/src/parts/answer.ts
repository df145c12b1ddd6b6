/** The answer of a run: a sentence, at most four figures, the generator's verdict, expectations, and what to know first. */

import type { Expectation, Message, Run, Verdict } from "../data/types";
import { diagnosis } from "./diagnosis";
import { el, prose, unseen } from "./dom";
import { mark, sign, type State } from "./sign";

/** `of`: the run's label where the page has several, whose sentences and figures stand in their rows. */
export function answer(run: Run, of: string | null): HTMLElement {
  const top = el(
    "div",
    { class: "answer-top" },
    el("p", { class: "sentence" }, prose(run.answer.sentence)),
    run.answer.figures.length > 0 && figures(run),
  );
  return el(
    "section",
    { id: "answer", class: of === null ? "answer" : "print-all", "aria-labelledby": "answer-title" },
    el("h2", { id: "answer-title", class: of === null ? "unseen" : "" }, of === null ? "Answer" : `Shown run: ${of}`),
    of === null && top,
    messages("Warnings", run.messages, "warning"),
    verdict(run.verdict),
    run.diagnosis && diagnosis(run.diagnosis),
    run.expectations.length > 0 && expectations("Expectations", run.expectations),
    messages("Hints", run.messages, "hint"),
  );
}

function figures(run: Run): HTMLElement {
  const list = el("dl", { class: "figures" });
  for (const { label, value, unit } of run.answer.figures) {
    list.append(
      el("div", {}, el("dt", {}, label), el("dd", {}, value, unit !== "" && el("span", { class: "unit" }, ` ${unit}`))),
    );
  }
  return list;
}

const VERDICTS: Record<Verdict["state"], State> = { ok: "good", doubt: "warning", unknown: "neutral" };

/** The verdict as a sign and its words. */
export function verdictMark(verdict: Verdict): HTMLElement {
  return mark(VERDICTS[verdict.state], verdict.word);
}

function verdict(verdict: Verdict): HTMLElement {
  const evidence = [
    ...verdict.doubts.map((text) => el("li", { class: "doubt" }, prose(text))),
    ...verdict.notes.map((text) => el("li", {}, prose(text))),
  ];
  return el(
    "div",
    { class: "verdict" },
    el("p", {}, verdictMark(verdict)),
    evidence.length > 0 && el("ul", {}, ...evidence),
  );
}

const OUTCOMES: Record<Expectation["state"], [State, string]> = {
  pass: ["good", "passed"],
  fail: ["bad", "failed"],
  undecided: ["warning", "undecided"],
};

/** A row of marks: what was expected, what was measured, and whether it passed. */
export function expectations(title: string, all: Expectation[]): HTMLElement {
  const list = el("ul", { class: "expectations", "aria-label": title });
  for (const { text, measured, state } of all) {
    const [kind, word] = OUTCOMES[state];
    list.append(
      el(
        "li",
        { class: kind },
        sign(kind),
        el("span", { class: "expected" }, text),
        el("span", { class: "measured" }, measured),
        el("span", { class: "state" }, word),
      ),
    );
  }
  return list;
}

const MESSAGES: Record<Message["kind"], [State, string]> = { warning: ["warning", "Warning: "], hint: ["neutral", "Hint: "] };

/** Warnings stand before everything that they are about, hints after it. */
function messages(name: string, all: Message[], kind: Message["kind"]): HTMLElement | null {
  const [state, word] = MESSAGES[kind];
  const lines = all
    .filter((message) => message.kind === kind)
    .map(({ text }) => el("li", { class: kind }, sign(state), el("span", {}, unseen(word), prose(text))));
  return lines.length > 0 ? el("ul", { class: "messages", "aria-label": name }, ...lines) : null;
}
