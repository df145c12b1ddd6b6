/** The table of a chart, behind a disclosure below it: for exact figures and screen readers; and the chart as a file. */

import type { Chart } from "../charts";
import { copyButton } from "./copy";
import { dataTable } from "./datatable";
import { el } from "./dom";
import { pictureButtons } from "./pictures";

/** More rows than one reads; the button copies all. */
const LONGEST = 500;

export interface ChartTables {
  /** Gives each chart that has none its disclosure, and draws those anew that are open. */
  attach(): void;
  /** Draws the open tables anew: the shown range has changed. */
  refresh(): void;
}

/** `name`: of the run or of the page, for files. */
export function chartTables(charts: () => Chart[], name: () => string): ChartTables {
  const drawn = new Map<Element, () => void>();
  const refresh = (): void => {
    for (const [details, draw] of drawn) {
      if (!details.isConnected) drawn.delete(details);
      else if ((details as HTMLDetailsElement).open) draw();
    }
  };
  const attach = (): void => {
    for (const chart of charts()) {
      if (chart.element.querySelector(":scope > details.chart-table")) continue;
      const [details, draw] = disclosure(chart, name);
      chart.element.append(details);
      drawn.set(details, draw);
    }
    refresh();
  };
  attach();
  return { attach, refresh };
}

function disclosure(chart: Chart, name: () => string): [HTMLDetailsElement, () => void] {
  const place = el("div");
  const files = el("div", { class: "tools" }, pictureButtons(chart, name));
  const title = el("summary", { "aria-label": `Table, save: ${chart.title}` }, "Table, save");
  const details = el("details", { class: "chart-table" }, title, files, place);
  const draw = (): void => {
    const table = chart.table();
    const rows = table.rows.slice(0, LONGEST);
    const cut = table.rows.length - rows.length;
    place.replaceChildren(
      dataTable({ ...table, rows }, `chart-${chart.id}`, `Table: ${chart.title}`),
      el("div", { class: "tools" }, copyButton(() => chart.table())),
    );
    if (cut > 0) {
      place.append(el("p", { class: "help" }, `The first ${LONGEST} of ${table.rows.length.toLocaleString("en")} rows; zoom in to see the others. The button copies all.`));
    }
  };
  details.addEventListener("toggle", () => details.open && draw());
  // The keys of a chart (arrows step through it) are not those of its table.
  details.addEventListener("keydown", (event) => event.stopPropagation());
  return [details, draw];
}
