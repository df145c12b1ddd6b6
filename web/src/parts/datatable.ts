/** A table of figures: sorted by a click on a column's title, and copied with one button. */

import type { Table } from "../data/types";
import { button, el } from "./dom";
import { order } from "./sort";

export interface Sorting {
  column: number;
  descending: boolean;
}

/** Tables of more rows than this scroll by themselves, so that the page does not become long. */
const LONG = 40;

type Grid = Pick<Table, "columns" | "rows">;

/** A heading cell; where the table can be sorted, its title is a button that calls `sort`. Row names have no title. */
export function headCell(
  column: Grid["columns"][number],
  sorted: Sorting["descending"] | null,
  sort: (() => void) | null,
): HTMLElement {
  const direction = sorted === null ? "" : sorted ? "descending" : "ascending";
  return el(
    "th",
    { scope: "col", class: column.align, "aria-sort": direction || false },
    sort && column.title !== "" ? button(column.title, sort, { class: `sort ${direction}` }) : column.title,
    column.unit !== "" && " ",
    column.unit !== "" && el("span", { class: "unit" }, column.unit),
  );
}

/** The next state of sorting after a click: ascending, descending, as given. Figures start with the highest. */
export function nextSorting(now: Sorting | null, column: number, figures: boolean): Sorting | null {
  if (now?.column !== column) return { column, descending: figures };
  return now.descending === figures ? { column, descending: !figures } : null;
}

/** `keep` remembers how the table is sorted over a redraw. */
export function dataTable(
  grid: Grid,
  id: string,
  name: string,
  sorting: Sorting | null = null,
  keep: (sorting: Sorting | null) => void = () => {},
): HTMLElement {
  const table = el("table", { class: "data", "aria-label": name, "data-table": id });
  const draw = (now: Sorting | null): void => {
    const focused = document.activeElement?.closest("th");
    const at = focused && table.contains(focused) ? [...(focused.parentElement?.children ?? [])].indexOf(focused) : -1;
    const head = el("tr");
    for (const [index, column] of grid.columns.entries()) {
      const sort = (): void => {
        const next = nextSorting(now, index, column.align === "right");
        keep(next);
        draw(next);
      };
      head.append(headCell(column, now?.column === index ? now.descending : null, grid.rows.length > 1 ? sort : null));
    }
    const rows = now
      ? order(grid.rows.map((row) => row[now.column] ?? ""), now.descending).map((index) => grid.rows[index] ?? [])
      : grid.rows;
    const body = el("tbody");
    for (const row of rows) body.append(line(grid, row));
    table.replaceChildren(el("thead", {}, head), body);
    if (at >= 0) head.children[at]?.querySelector("button")?.focus();
  };
  draw(sorting);
  return el("div", { class: grid.rows.length > LONG ? "scroll long" : "scroll", tabindex: 0, role: "group", "aria-label": name }, table);
}

/** One row; its first cell is its heading. */
export function line(grid: Grid, row: string[]): HTMLElement {
  const tr = el("tr");
  for (const [index, { align }] of grid.columns.entries()) {
    const text = row[index] ?? "";
    tr.append(index === 0 ? el("th", { scope: "row", class: align }, text) : el("td", { class: align }, text));
  }
  return tr;
}
