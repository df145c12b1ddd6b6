/**
 * What the reader has chosen, in the fragment of the page's address, so that a copied address shows the same:
 * `#zoom=12.5-18&scale=linear`. It works for a page from a file too, because nothing is asked of a server.
 */

import type { Range, Scale, Theme, TimeLabels } from "../charts";

/** What is not chosen is as a page shows it first. */
export interface Choices {
  zoom?: Range | undefined;
  /** Boxes in place of the heat map. */
  latency?: "boxes" | undefined;
  scale?: Exclude<Scale, "log"> | undefined;
  time?: Exclude<TimeLabels, "elapsed"> | undefined;
  theme?: Theme | undefined;
  /** The label of the run that is shown. */
  run?: string | undefined;
  /** The search for watched series. */
  watched?: string | undefined;
  /** The tab of the tables. */
  table?: string | undefined;
}

/** Browsers bound how often an address may be changed: a zoom by keys changes it many times a second. */
const WRITE_AFTER_MS = 200;

/** What a fragment says; what it says wrongly is not chosen. */
export function choicesOf(fragment: string): Choices {
  const said = new URLSearchParams(fragment.replace(/^#/, ""));
  const one = <T extends string>(name: string, ...known: T[]): T | undefined => known.find((word) => word === said.get(name));
  const text = (name: string): string | undefined => said.get(name) || undefined;
  const all: Choices = {
    zoom: rangeOf(said.get("zoom") ?? ""),
    latency: one("latency", "boxes"),
    scale: one("scale", "linear"),
    time: one("time", "utc"),
    theme: one("theme", "light", "dark"),
    run: text("run"),
    watched: text("watched"),
    table: text("table"),
  };
  return chosen(all);
}

/** The fragment, without its `#`; empty where nothing is chosen. */
export function fragmentOf(choices: Choices): string {
  const { zoom, ...words } = choices;
  const said = new URLSearchParams();
  if (zoom) said.set("zoom", `${secondsOf(zoom.from_ns)}-${secondsOf(zoom.to_ns)}`);
  for (const [name, word] of Object.entries(words)) if (word) said.set(name, word);
  return said.toString();
}

function chosen(choices: Choices): Choices {
  return Object.fromEntries(Object.entries(choices).filter(([, value]) => value !== undefined)) as Choices;
}

/** "1.5-3", in seconds. */
function rangeOf(text: string): Range | undefined {
  const [, from, to] = /^(\d{1,9}(?:\.\d{1,9})?)-(\d{1,9}(?:\.\d{1,9})?)$/.exec(text) ?? [];
  if (from === undefined || to === undefined) return undefined;
  const [from_ns, to_ns] = [from, to].map((seconds) => Math.round(Number(seconds) * 1e9)) as [number, number];
  return from_ns < to_ns ? { from_ns, to_ns } : undefined;
}

function secondsOf(ns: number): string {
  return (ns / 1e9).toFixed(9).replace(/\.?0+$/, "");
}

/** The address of this page. */
export class Link {
  private choices = choicesOf(location.hash);
  private timer = 0;

  /** `follow` is told when the reader opens another address of this page. */
  constructor(follow: (choices: Choices) => void) {
    window.addEventListener("hashchange", () => {
      const fragment = location.hash.replace(/^#/, "");
      // A link to a part of the page keeps what is chosen.
      if (fragment !== "" && !fragment.includes("=")) return this.write();
      this.choices = choicesOf(fragment);
      follow(this.choices);
    });
  }

  get now(): Choices {
    return this.choices;
  }

  /** Takes over a choice; one that is `undefined` is as a page shows it first. */
  set(change: Choices): void {
    const before = fragmentOf(this.choices);
    this.choices = chosen({ ...this.choices, ...change });
    if (fragmentOf(this.choices) === before) return;
    window.clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.write(), WRITE_AFTER_MS);
  }

  private write(): void {
    const fragment = fragmentOf(this.choices);
    try {
      history.replaceState(history.state, "", fragment === "" ? location.pathname + location.search : `#${fragment}`);
    } catch {
      // The page then shows what is chosen, and its address does not say it.
    }
  }
}
