/** How the run was made: the command that repeats it, its plan, its host and versions. */

import type { Run } from "../data/types";
import { copyText } from "./copy";
import { button, el, facts, section } from "./dom";

/** `of`: the run's label where the page has several. */
export function made({ made }: Run, of: string | null): HTMLElement {
  const copy = button(
    "Copy command",
    () => void copyText(made.command).then((done) => (copy.textContent = done ? "Copied" : "Mark the text to copy it")),
    { class: "quiet" },
  );
  const part = section(
    "made",
    { title: "How it was made", of },
    made.command !== "" && el("h3", {}, "The same run again"),
    made.command !== "" &&
      el(
        "div",
        { class: "command" },
        el("pre", { tabindex: 0, "aria-label": "Command" }, el("code", {}, made.command)),
        copy,
      ),
    el(
      "div",
      { class: "beside" },
      made.host.length > 0 && el("div", {}, el("h3", {}, "Host"), facts(made.host, "pairs")),
      made.facts.length > 0 && el("div", {}, el("h3", {}, "Run"), facts(made.facts, "pairs")),
    ),
    made.plan !== "" &&
      el(
        "details",
        {},
        el("summary", {}, "Plan"),
        el("pre", { tabindex: 0, "aria-label": "Plan" }, el("code", {}, made.plan)),
      ),
  );
  if (of !== null) part.classList.add("print-all");
  // Kernel parameters, limits and the like: a page of their own.
  for (const fact of part.querySelectorAll(".pairs > div")) {
    if (/^[a-z_]+\./.test(fact.firstElementChild?.textContent ?? "")) fact.classList.add("print-all");
  }
  return part;
}
