/** The page of a folder of runs: a list to search, to sort, to open one run or several, and to compare. */

import type { Folder, FolderRun } from "../data/types";
import { compareLink, found, inOrder, reportLink, runLink, sides, type FolderOrder } from "./choice";
import { button, el, prose, unseen } from "./dom";
import { mark, type State } from "./sign";

export interface FolderList {
  element: HTMLElement;
  /** A newer list of the same folder; search, order and ticks stay. */
  update(folder: Folder): void;
}

/** A list of thousands is drawn in pieces of this many. */
const PIECE = 300;

export function folderList(first: Folder): FolderList {
  let folder = first;
  let order: FolderOrder = "started";
  let descending = true;
  let most = PIECE;
  const ticked = new Set<string>();

  const search = el("input", { type: "search", id: "search", placeholder: "Name, server, transport, note", autocomplete: "off" });
  const shown = el("p", { class: "help", role: "status" });
  const head = el("thead");
  const body = el("tbody");
  const table = el("table", { class: "data folder" }, head, body);
  const more = button("Show more", () => { most += PIECE; draw(); }, { class: "quiet" });
  const open = el("a", { class: "action" }, "Open together");
  const compare = el("a", { class: "action" }, "Compare");
  const explain = el("span", { class: "help" });
  const tray = el("div", { class: "tray", role: "status" }, explain, open, compare);

  const draw = (): void => {
    const all = inOrder(folder.runs.filter((run) => found(run, search.value.trim())), order, descending);
    const whole = folder.runs.length;
    const runs = whole === 1 ? "1 run" : `${whole.toLocaleString("en")} runs`;
    const left = folder.more ? `; the ${folder.more.toLocaleString("en")} oldest are not listed` : "";
    shown.textContent = (all.length === whole ? `${runs} in ${folder.path}` : `${all.length.toLocaleString("en")} of ${runs}`) + left;
    drawHead();
    body.replaceChildren(...all.slice(0, most).map(row));
    if (all.length === 0) body.append(el("tr", {}, el("td", { colspan: COLUMNS.length + 2, class: "none" }, nothing(whole))));
    more.hidden = all.length <= most;
    drawTray();
  };
  const drawHead = (): void => {
    const tr = el("tr", {}, el("th", { scope: "col" }, unseen("Ticked")));
    for (const [key, title] of COLUMNS) {
      const direction = key === order ? (descending ? "descending" : "ascending") : "";
      const sort = (): void => {
        descending = key === order ? !descending : key === "started";
        order = key;
        draw();
        head.querySelector<HTMLButtonElement>(`[data-key="${key}"]`)?.focus();
      };
      const sorter = button(title, sort, { class: `sort ${direction}`, "data-key": key });
      tr.append(el("th", { scope: "col", "aria-sort": direction || false }, sorter));
    }
    tr.append(el("th", { scope: "col" }, "answer"));
    head.replaceChildren(tr);
  };
  const row = (run: FolderRun): HTMLElement => {
    const readable = run.state !== "error";
    const tick = el("input", { type: "checkbox", "aria-label": `Tick ${run.name}`, disabled: !readable });
    tick.checked = ticked.has(run.folder);
    tick.addEventListener("change", () => {
      if (tick.checked) ticked.add(run.folder);
      else ticked.delete(run.folder);
      drawTray();
    });
    const title = readable ? el("a", { href: runLink(run) }, run.name) : run.name;
    return el(
      "tr",
      { class: run.state },
      el("td", {}, tick),
      el("th", { scope: "row" }, title, run.note !== "" && el("span", { class: "note" }, run.note)),
      el("td", { class: "nowrap" }, run.started),
      el("td", {}, run.target, run.transport !== "" && el("span", { class: "note" }, run.transport)),
      el("td", {}, run.load),
      el("td", { class: "nowrap" }, run.length),
      el("td", { class: "words" }, state(run), prose(run.sentence)),
    );
  };
  const drawTray = (): void => {
    const chosen = folder.runs.filter((run) => ticked.has(run.folder));
    const enough = chosen.length >= 2;
    for (const link of [open, compare]) {
      if (enough) link.removeAttribute("aria-disabled");
      else link.setAttribute("aria-disabled", "true");
    }
    if (!enough) {
      open.removeAttribute("href");
      compare.removeAttribute("href");
      explain.textContent = "Tick two or more runs to open them together or to compare them.";
      return;
    }
    const pair = sides(chosen);
    open.href = reportLink(chosen);
    compare.href = compareLink(pair);
    explain.textContent = `${chosen.length} ticked. Compared: A ${names(pair.a)}, B ${names(pair.b)}.`;
  };

  search.addEventListener("input", () => { most = PIECE; draw(); });
  draw();
  const element = el(
    "section",
    { id: "folder", "aria-labelledby": "folder-title" },
    el("h2", { id: "folder-title", class: "unseen" }, "Runs"),
    el("div", { class: "tools search" }, el("label", { for: "search" }, "Search"), search, shown),
    tray,
    el("div", { class: "scroll", tabindex: 0, role: "group", "aria-labelledby": "folder-title" }, table),
    el("div", { class: "tools" }, more),
  );
  return {
    element,
    update: (newer) => {
      const focused = document.activeElement?.getAttribute("aria-label");
      folder = newer;
      for (const name of ticked) if (!newer.runs.some((run) => run.folder === name)) ticked.delete(name);
      draw();
      if (focused) element.querySelector<HTMLElement>(`[aria-label="${CSS.escape(focused)}"]`)?.focus();
    },
  };
}

const COLUMNS: [FolderOrder, string][] = [
  ["name", "run"],
  ["started", "started"],
  ["target", "server"],
  ["load", "load"],
  ["length", "length"],
];

function names(runs: FolderRun[]): string {
  return runs.length === 1 ? (runs[0]?.name ?? "") : `${runs.length} runs from ${runs[0]?.name ?? ""} on`;
}

const STATES: Record<FolderRun["state"], [State, string] | null> = {
  running: ["running", "running"],
  ended: null,
  cut_short: ["warning", "cut short"],
  error: ["bad", "not readable"],
};

/** How the run stands, and its verdict where rate and loss are in doubt. */
function state(run: FolderRun): HTMLElement | null {
  const own = STATES[run.state];
  if (own) return mark(...own);
  return run.verdict === "doubt" ? mark("warning", "in doubt") : null;
}

function nothing(runs: number): string {
  return runs === 0 ? "There are no runs in this folder yet. dnsdyno run makes one." : "No run has these words.";
}
