/** The page of one run, of several, or of a comparison: its parts in order, and what happens when the choice changes. */

import type { Charts } from "../charts";
import { decodeRun, type DecodedRun } from "../data/decode";
import type { PageData } from "../data/types";
import { answer } from "./answer";
import { comparisonAnswer, differences } from "./comparison";
import { distribution } from "./distribution";
import { el, section } from "./dom";
import { download } from "./download";
import type { Header } from "./header";
import type { Choices, Link } from "./link";
import type { LiveAnswer } from "./live";
import { made } from "./made";
import { mark } from "./sign";
import { runRows } from "./runs";
import { tables, type TableChoice, type Tables } from "./tables";
import type { Themes } from "./theme";
import { timeline, type Timeline } from "./timeline";

/** The parts from top to bottom. Each is drawn anew by itself, so that the others keep their place and their state. */
const PARTS = ["comparison", "differences", "runs", "answer", "time", "distribution", "tables", "made", "data"] as const;
type Part = (typeof PARTS)[number];

export class Report {
  readonly element = el("div", { class: "report" });
  private readonly places = new Map<Part, HTMLElement>();
  private decoded: DecodedRun[] = [];
  private selected: number;
  private choice: TableChoice;
  private timeline: Timeline | null = null;
  private tables: Tables | null = null;
  private readonly charts = new Map<Part, Charts[]>();

  constructor(
    private data: PageData,
    private readonly header: Header,
    private readonly themes: Themes,
    private readonly link: Link,
  ) {
    this.selected = this.runOf(link.now);
    this.choice = { tab: link.now.table ?? "", sorting: new Map(), choose: (table) => link.set({ table }) };
    for (const part of PARTS) {
      const place = el("div", { class: "part", "data-part": part });
      this.places.set(part, place);
      this.element.append(place);
    }
    themes.onChange((theme) => [...this.charts.values()].flat().forEach((charts) => charts.setTheme(theme)));
    this.words();
  }

  /** Unpacks the series and draws what needs them; the words stand there already. */
  async series(blobs: string[]): Promise<void> {
    this.decoded = await Promise.all(
      this.data.runs.map((run) => decodeRun(run, blobs[run.series.blob] ?? "")),
    );
    this.drawTime();
    this.ofOneRun();
  }

  /** Newer data of the same page. */
  async update({ data, blobs }: LiveAnswer): Promise<void> {
    this.data = data;
    this.selected = Math.min(this.selected, Math.max(0, data.runs.length - 1));
    this.keepingFocus(() => this.words());
    await this.series(blobs);
  }

  /** What needs no series. */
  private words(): void {
    const { runs, comparison } = this.data;
    if (comparison) {
      this.draw("comparison", () => comparisonAnswer(comparison));
      this.draw("differences", () =>
        differences(comparison, runs, this.themes, this.drawn("differences"), () => this.name()),
      );
    }
    if (runs.length > 1) {
      this.draw("runs", () => runRows(runs, this.selected, comparison, this.themes, (run) => this.select(run)));
    }
    this.drawDistribution();
    this.ofOneRun();
  }

  private drawDistribution(): void {
    const { runs, load_response } = this.data;
    this.draw("distribution", () =>
      distribution(runs, load_response, {
        themes: this.themes,
        scale: this.link.now.scale ?? "log",
        follow: this.drawn("distribution"),
        name: () => this.name(),
      }),
    );
  }

  /** The parts that show one run of the page. */
  private ofOneRun(): void {
    const run = this.data.runs[this.selected];
    this.header.show(this.data.runs.length === 1 ? (run ?? null) : null);
    if (!run) return;
    const decoded = this.decoded[this.selected] ?? null;
    const of = this.data.runs.length > 1 ? run.label : null;
    this.keepingFocus(() => {
      this.draw("answer", () => answer(run, of));
      this.draw("tables", () => {
        this.tables = tables(run, of, decoded, this.choice);
        return this.tables.element;
      }, () => this.timeline && this.tables?.setRange(this.timeline.charts.range()));
      this.draw("made", () => made(run, of));
      this.draw("data", () => download(run, of, decoded));
    });
  }

  private drawTime(): void {
    if (this.timeline) return this.timeline.setRuns(this.decoded);
    const problems = this.decoded.flatMap(({ run, problem }) => (problem ? [`${run.label}: ${problem}`] : []));
    this.draw("time", () => {
      this.timeline = timeline(this.decoded, this.selected, this.themes, this.link, {
        range: (range) => this.tables?.setRange(range),
        scale: () => this.drawDistribution(),
        name: () => this.name(),
      });
      for (const problem of problems) this.timeline.element.prepend(el("p", {}, mark("warning", problem)));
      return this.timeline.element;
    });
  }

  private select(run: number): void {
    this.selected = run;
    this.link.set({ run: run === 0 ? undefined : this.data.runs[run]?.label });
    this.timeline?.select(run);
    this.ofOneRun();
  }

  /** The reader has opened another address of this page. */
  follow(): void {
    this.selected = this.runOf(this.link.now);
    this.choice.tab = this.link.now.table ?? "";
    this.timeline?.charts.destroy();
    this.timeline = null;
    this.words();
    if (this.decoded.length > 0) this.drawTime();
    this.ofOneRun();
  }

  private runOf({ run }: Choices): number {
    return Math.max(0, this.data.runs.findIndex(({ label }) => label === run));
  }

  /** For files: of the run, or of the page where it has several. */
  private name(): string {
    const { runs, title } = this.data;
    return runs.length === 1 ? runs[0]!.label : title;
  }

  /** Remembers the charts of a part, which need the theme and an end. */
  private drawn(part: Part): (charts: Charts) => void {
    return (charts) => void this.charts.set(part, [...(this.charts.get(part) ?? []), charts]);
  }

  /** Draws a part, and finishes it when it stands in the page. One that fails says so, and leaves the others. */
  private draw(part: Part, make: () => HTMLElement | null, finish: () => void = () => {}): void {
    this.charts.get(part)?.forEach((charts) => charts.destroy());
    this.charts.delete(part);
    let element: HTMLElement | null;
    try {
      element = make();
    } catch (error) {
      element = section(part, "Not drawn", el("p", {}, mark("warning", `This part of the page cannot be drawn: ${String(error)}`)));
    }
    const place = this.places.get(part);
    if (!place) return;
    const restore = scrolling(place);
    place.replaceChildren(...(element ? [element] : []));
    finish();
    restore();
  }

  /** An element that is drawn anew while it has the focus gets it back, by its id. */
  private keepingFocus(draw: () => void): void {
    const id = document.activeElement?.id;
    draw();
    if (id && document.activeElement?.id !== id) document.getElementById(id)?.focus({ preventScroll: true });
  }
}

/** Brings what the reader has scrolled and opened back after a part was drawn anew. */
function scrolling(place: HTMLElement): () => void {
  const name = (element: Element): string => element.getAttribute("aria-label") ?? element.textContent ?? "";
  const views = new Map([...place.querySelectorAll(".scroll")].map((view) => [name(view), [view.scrollTop, view.scrollLeft] as const]));
  const open = new Set([...place.querySelectorAll("details[open] > summary")].map(name));
  return () => {
    for (const view of place.querySelectorAll(".scroll")) [view.scrollTop, view.scrollLeft] = views.get(name(view)) ?? [0, 0];
    for (const summary of place.querySelectorAll("details > summary")) {
      if (open.has(name(summary))) (summary.parentElement as HTMLDetailsElement).open = true;
    }
  };
}
