/** The data behind the page, as files. */

import type { DecodedRun } from "../data/decode";
import type { Run } from "../data/types";
import { fileName, save } from "./copy";
import { button, el, section } from "./dom";
import { csv } from "./intervals";

/** Of the record, where the page comes from `dnsdyno serve`. */
const RECORD_FILES = ["run.ndjson", "plan.toml", "host.json"];

export function download(run: Run, of: string | null, decoded: DecodedRun | null): HTMLElement {
  const level = decoded?.series?.levels[0];
  const name = fileName(run.label);
  const list = el("ul", { class: "downloads" });
  const offer = (title: string, what: string, act: () => void): void => {
    const note = el("span", { class: "help" }, what);
    const attempt = (): void => {
      try {
        act();
      } catch (error) {
        note.textContent = `This file cannot be made (${String(error)}). dnsdyno export makes it from the record.`;
      }
    };
    list.append(el("li", {}, button(title, attempt), note));
  };
  offer("Summary", "JSON, as of dnsdyno show --json", () =>
    save(`${name}.json`, "application/json", [JSON.stringify(run.summary, null, 2) + "\n"]),
  );
  if (level) {
    offer("Intervals", "CSV, a line for each interval with all its counters and percentiles", () =>
      save(`${name}.csv`, "text/csv", [...csv(level, run.timeout_ns)]),
    );
  }
  if (run.made.plan !== "") {
    offer("Plan", "TOML, for dnsdyno run --plan", () => save(`${name}.plan.toml`, "application/toml", [run.made.plan]));
  }
  for (const file of run.files === undefined ? [] : RECORD_FILES) {
    list.append(el("li", {}, el("a", { href: `${run.files}${file}`, download: file }, file), el("span", { class: "help" }, "of the record")));
  }
  return section("data", { title: "Data", of }, list);
}
