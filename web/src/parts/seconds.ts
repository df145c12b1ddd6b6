/** The table by second: as many rows as the run has intervals, of which only those in sight are elements. */

import type { Range } from "../charts";
import type { DecodedRun } from "../data/decode";
import type { LevelReader } from "../data/series";
import { count } from "../format/units";
import { copyButton } from "./copy";
import { headCell, line, nextSorting, type Sorting } from "./datatable";
import { el } from "./dom";
import { cell, figures, type Figure } from "./intervals";
import { rowsInSight } from "./window";

/** Of a row, as in the style sheet. */
const ROW_PX = 28;

export interface SecondsTable {
  element: HTMLElement;
  /** Shows the rows of this range only. */
  setRange(range: Range): void;
}

/** `keep` remembers how the table is sorted over a redraw. */
export function secondsTable(
  { run }: DecodedRun,
  level: LevelReader,
  first: Sorting | null,
  keep: (sorting: Sorting | null) => void,
): SecondsTable {
  const all = figures(level, run);
  const columns = all.map(({ title, unit }) => ({ title, unit, align: "right" as const }));
  const grid = { columns, rows: [] };
  const texts = (row: number): string[] => all.map((figure) => cell(figure, row, run.timeout_ns));
  let range: Range = { from_ns: 0, to_ns: Infinity };
  let sorting = first;
  let rows: Uint32Array = Uint32Array.of();
  let outdated = true;

  const head = el("thead");
  const body = el("tbody");
  const table = el("table", { class: "data", "data-table": "seconds" }, head, body);
  const view = el("div", { class: "scroll seconds", tabindex: 0, role: "group", "aria-label": "By interval" }, table);
  const note = el("p", { class: "help" });

  const fill = (): void => {
    const { first, end } = rowsInSight(view.scrollTop, view.clientHeight, ROW_PX, rows.length);
    const lines = [space(first)];
    for (let at = first; at < end; at++) {
      const tr = line(grid, texts(rows[at] ?? 0));
      tr.setAttribute("aria-rowindex", String(at + 2));
      lines.push(tr);
    }
    lines.push(space(rows.length - end));
    body.replaceChildren(...lines);
  };
  const draw = (): void => {
    // Hidden under another tab; it is drawn when it is shown.
    outdated = view.clientHeight === 0;
    if (outdated) return;
    rows = chosen(level, range, sorting, all);
    table.setAttribute("aria-rowcount", String(rows.length + 1));
    note.textContent =
      rows.length < level.rows
        ? `${count(rows.length)} of ${count(level.rows)} intervals: those in the range that the charts show.`
        : `${count(rows.length)} ${rows.length === 1 ? "interval" : "intervals"}. Zoom in the charts to see only those of a range.`;
    const tr = el("tr");
    for (const [index, column] of columns.entries()) {
      const sort = (): void => {
        sorting = nextSorting(sorting, index, index > 0);
        keep(sorting);
        view.scrollTop = 0;
        draw();
        head.querySelectorAll("button")[index]?.focus();
      };
      tr.append(headCell(column, sorting?.column === index ? sorting.descending : null, sort));
    }
    head.replaceChildren(tr);
    fill();
  };
  view.addEventListener("scroll", fill, { passive: true });
  new ResizeObserver(() => (outdated ? draw() : fill())).observe(view);
  const copied = (): { columns: typeof columns; rows: string[][] } => ({ columns, rows: Array.from(rows, texts) });
  return {
    element: el("div", {}, note, view, el("div", { class: "tools" }, copyButton(copied))),
    setRange: (now) => {
      range = now;
      view.scrollTop = 0;
      draw();
    },
  };
}

/** The rows of a range in the order of a column; what there is not comes last. */
function chosen(level: LevelReader, range: Range, sorting: Sorting | null, all: Figure[]): Uint32Array {
  const { first, end } = level.rowsWithin(range.from_ns, range.to_ns);
  const rows = Uint32Array.from({ length: end - first }, (_, index) => first + index);
  const figure = sorting && all[sorting.column];
  if (!figure) return rows;
  const values = Float64Array.from(rows, (row) => figure.value(row));
  const direction = sorting.descending ? -1 : 1;
  return rows.sort((left, right) => {
    const [a, b] = [values[left - first] ?? NaN, values[right - first] ?? NaN];
    if (Number.isNaN(a) || Number.isNaN(b)) return Number(Number.isNaN(a)) - Number(Number.isNaN(b)) || left - right;
    return a === b ? left - right : a < b ? -direction : direction;
  });
}

/** Stands for rows out of sight. */
function space(rows: number): HTMLElement {
  return el("tr", { class: "space", "aria-hidden": "true", style: `height:${rows * ROW_PX}px` });
}
