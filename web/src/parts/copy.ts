/** Tables as tab-separated values, and files made by the page. */

import type { Table } from "../data/types";
import { button, el } from "./dom";

type Grid = Pick<Table, "columns" | "rows">;

/** The table as a spreadsheet takes it from the clipboard: titles with units first. */
export function tsv({ columns, rows }: Grid): string {
  const titles = columns.map(({ title, unit }) => (unit === "" ? title : `${title} (${unit})`));
  return [titles, ...rows].map((row) => row.map(cell).join("\t") + "\n").join("");
}

/** One line, and never a formula: a spreadsheet would compute a name from a record that starts with "=". */
function cell(text: string): string {
  const line = text.replace(/[\t\r\n]+/g, " ");
  return /^[=+@-]/.test(line) && !/^-$|^[+-][\d.,]+( \S+)?$/.test(line) ? `'${line}` : line;
}

/** A button that copies what `table` gives, and says so. */
export function copyButton(table: () => Grid): HTMLElement {
  const status = el("span", { role: "status", class: "help" });
  const copy = button(
    "Copy table",
    () => {
      const grid = table();
      void copyText(tsv(grid)).then((done) => {
        status.textContent = done
          ? `Copied ${grid.rows.length.toLocaleString("en")} ${grid.rows.length === 1 ? "row" : "rows"}.`
          : "This browser does not let the page copy. Mark the rows and copy them instead.";
      });
    },
    { class: "quiet", title: "As tab-separated values, for a spreadsheet" },
  );
  return el("span", { class: "copy" }, copy, status);
}

/** Whether the text is now in the clipboard. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

/** For pages from a file, to which some browsers give no clipboard. */
function copyBySelection(text: string): boolean {
  const field = el("textarea", { class: "unseen", "aria-hidden": "true" });
  field.value = text;
  document.body.append(field);
  field.select();
  try {
    return document.execCommand("copy");
  } catch {
    return false;
  } finally {
    field.remove();
  }
}

/** Gives the reader a file. */
export function save(name: string, type: string, parts: BlobPart[]): void {
  const url = URL.createObjectURL(new Blob(parts, { type }));
  const link = el("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/** A run's label as a part of a file name. */
export function fileName(label: string): string {
  return label.replace(/[^\w.-]+/g, "-").replace(/^[-.]+|[-.]+$/g, "").slice(0, 80) || "run";
}
