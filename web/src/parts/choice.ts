/** Which runs of a folder are ticked, which are found by a search, and the links that open them together. */

import type { FolderRun } from "../data/types";

/** All words of the search are in a run's texts, in any order. */
export function found(run: FolderRun, search: string): boolean {
  const { name, folder, note, target, transport, load, sentence, started, state } = run;
  const text = [name, folder, note, target, transport, load, sentence, started, state.replace("_", " ")].join(" ").toLowerCase();
  return search.toLowerCase().split(/\s+/).every((word) => text.includes(word));
}

/** The link to a run's own page. A folder's name may hold any character. */
export function runLink(run: FolderRun): string {
  return `runs/${encodeURIComponent(run.folder)}/`;
}

export function reportLink(runs: FolderRun[]): string {
  return `report?${runs.map((run) => `run=${encodeURIComponent(run.folder)}`).join("&")}`;
}

/** The sides of a comparison: by name where the ticked runs have two names, else the older half against the newer. */
export function sides(runs: FolderRun[]): { a: FolderRun[]; b: FolderRun[] } {
  const ascending = [...runs].sort(oldestFirst);
  const names = [...new Set(ascending.map((run) => run.name))];
  if (names.length === 2) {
    return {
      a: ascending.filter((run) => run.name === names[0]),
      b: ascending.filter((run) => run.name === names[1]),
    };
  }
  const half = Math.floor(ascending.length / 2);
  return { a: ascending.slice(0, half), b: ascending.slice(half) };
}

export function compareLink({ a, b }: { a: FolderRun[]; b: FolderRun[] }): string {
  const side = (name: string) => (run: FolderRun) => `${name}=${encodeURIComponent(run.folder)}`;
  return `compare?${[...a.map(side("a")), ...b.map(side("b"))].join("&")}`;
}

export type FolderOrder = "started" | "name" | "target" | "load" | "length";

/** `started_unix_ns` is beyond 2^53: as texts of equal length its digits sort as the figure does. */
function oldestFirst(left: FolderRun, right: FolderRun): number {
  const [a, b] = [left.started_unix_ns.padStart(20, "0"), right.started_unix_ns.padStart(20, "0")];
  return a < b ? -1 : a > b ? 1 : 0;
}

export function inOrder(runs: FolderRun[], order: FolderOrder, descending: boolean): FolderRun[] {
  const direction = descending ? -1 : 1;
  const compare = (a: FolderRun, b: FolderRun): number =>
    order === "started" ? oldestFirst(a, b) : a[order].localeCompare(b[order], "en", { numeric: true });
  return [...runs].sort((a, b) => direction * compare(a, b) || -oldestFirst(a, b));
}
