/** All tables of a run, one at a time, under tabs. */

import type { Range } from "../charts";
import type { DecodedRun } from "../data/decode";
import type { Run } from "../data/types";
import { copyButton } from "./copy";
import { dataTable, type Sorting } from "./datatable";
import { button, el, section } from "./dom";
import { secondsTable, type SecondsTable } from "./seconds";

/** What the reader has chosen, kept over a redraw. */
export interface TableChoice {
  tab: string;
  sorting: Map<string, Sorting | null>;
  /** Told the tab that the reader opens. */
  choose(tab: string): void;
}

export interface Tables {
  element: HTMLElement;
  setRange(range: Range): void;
}

interface Panel {
  id: string;
  title: string;
  content: HTMLElement;
  rows: number;
}

/** The first table is printed first too, unless it has more rows. */
const MOST_PRINTED = 12;

/** `decoded` comes later than `run`: the table by second then has something to show. */
export function tables(run: Run, of: string | null, decoded: DecodedRun | null, choice: TableChoice): Tables {
  const panels: Panel[] = run.tables.map((table) => {
    const keep = (sorting: Sorting | null): void => void choice.sorting.set(table.id, sorting);
    const content = el(
      "div",
      {},
      dataTable(table, table.id, table.title, choice.sorting.get(table.id), keep),
      el("div", { class: "tools" }, copyButton(() => table)),
    );
    return { id: table.id, title: table.title, content, rows: table.rows.length };
  });
  const level = decoded?.series?.levels[0];
  let bySecond: SecondsTable | null = null;
  if (decoded && level && level.rows > 0) {
    bySecond = secondsTable(decoded, level, choice.sorting.get("seconds") ?? null, (sorting) =>
      void choice.sorting.set("seconds", sorting),
    );
    const title = run.interval_ns === 1e9 ? "By second" : "By interval";
    panels.push({ id: "seconds", title, content: bySecond.element, rows: level.rows });
  }
  const heading = { title: "Tables", of };
  if (panels.length === 0) {
    return { element: section("tables", heading, el("p", {}, "The record has no figures yet.")), setRange: () => {} };
  }
  const element = section("tables", heading, ...tabs(panels, choice));
  // The charts of the load say what its steps are.
  if (of !== null || run.load_response || panels[0]!.rows > MOST_PRINTED) element.classList.add("print-all");
  return {
    element,
    setRange: (range) => bySecond?.setRange(range),
  };
}

/** The tabs and their panels; arrow keys, Home and End choose as in any list of tabs. */
function tabs(panels: Panel[], choice: TableChoice): HTMLElement[] {
  const list = el("div", { class: "tabs", role: "tablist", "aria-label": "Tables" });
  const places: HTMLElement[] = [];
  const open = (index: number): void => {
    const panel = panels[index];
    if (panel) choice.tab = panel.id;
    for (const [at, place] of places.entries()) {
      const chosen = at === index;
      place.hidden = !chosen;
      const tab = list.children[at];
      tab?.setAttribute("aria-selected", String(chosen));
      tab?.setAttribute("tabindex", chosen ? "0" : "-1");
    }
  };
  const choose = (index: number): void => {
    open(index);
    choice.choose(choice.tab);
  };
  for (const [index, { id, title, content }] of panels.entries()) {
    list.append(button(title, () => choose(index), { role: "tab", id: `tab-${id}`, "aria-controls": `panel-${id}` }));
    const heading = el("h3", { class: "only-print" }, title);
    const class_ = index === 0 ? null : "print-all";
    places.push(
      el("div", { role: "tabpanel", id: `panel-${id}`, class: class_, "aria-labelledby": `tab-${id}` }, heading, content),
    );
  }
  list.addEventListener("keydown", (event) => {
    const now = [...list.children].indexOf(event.target as Element);
    const last = panels.length - 1;
    const steps: Record<string, number> = { ArrowRight: now + 1, ArrowLeft: now - 1, Home: 0, End: last };
    const next = steps[event.key];
    if (next === undefined) return;
    event.preventDefault();
    const index = next < 0 ? last : next > last ? 0 : next;
    choose(index);
    (list.children[index] as HTMLElement).focus();
  });
  open(Math.max(0, panels.findIndex((panel) => panel.id === choice.tab)));
  return [list, ...places];
}
