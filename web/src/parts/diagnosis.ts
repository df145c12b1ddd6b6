/** What the watched series say about the trouble of a run: each bottleneck with its evidence and what to change. */

import type { Diagnosis, Finding } from "../data/types";
import { dataTable } from "./datatable";
import { el, prose } from "./dom";

export function diagnosis({ verdict, findings, cross_check }: Diagnosis): HTMLElement {
  return el(
    "div",
    { class: "diagnosis" },
    el("h3", {}, "Diagnosis"),
    el("p", {}, prose(verdict)),
    findings.length > 0 && el("ol", {}, ...findings.map(finding)),
    cross_check.length > 0 &&
      el(
        "details",
        {},
        el("summary", {}, "Queries and responses between the hosts"),
        el("ul", {}, ...cross_check.map((text) => el("li", {}, prose(text)))),
      ),
  );
}

function finding({ sentence, evidence, parameters, check }: Finding, index: number): HTMLElement {
  const left = (title: string) => ({ title, unit: "", align: "left" as const });
  const grid = {
    columns: [left("parameter"), left("of"), left("present value"), left("what to try")],
    rows: parameters.map(({ name, of, value, try: what }) => [name, of, value, what]),
  };
  const name = `Parameters of finding ${index + 1}`;
  return el(
    "li",
    {},
    el("p", {}, prose(sentence)),
    evidence.length > 0 && el("p", { class: "help" }, `Evidence: ${evidence.join("; ")}`),
    parameters.length > 0 && dataTable(grid, `finding-${index + 1}`, name),
    check !== "" && el("p", { class: "help" }, `To see whether it helped: ${check}`),
  );
}
