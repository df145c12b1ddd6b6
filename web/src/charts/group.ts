/** The charts under one time axis: one range, one cursor. */
import type { DecodedRun } from "../data/decode";
import type { Chart, Range, Scale, TimeChartOptions, TimeCharts, TimeLabels, Theme } from "./api";
import { emptyChart } from "./empty";
import { panelsOf } from "./panels";
import type { Panel, ShownRun } from "./panels/panel";
import { MOST_ROWS, Window } from "./panels/window";
import { marginsFor } from "./plot";
import { forget, register } from "./registry";
import type { Shared } from "./shared";
import { Strip } from "./strip";
import { TimeChart } from "./timechart";
import { follow, widthOf } from "./width";

/** The charts over time that tell what a run has shown. */
const PRINTED_FIRST = ["rate", "losses", "latency"];
const MOST_PRINTED = 10;

export class TimeGroup implements TimeCharts {
  private readonly element = document.createElement("div");
  private readonly spoken = document.createElement("p");
  private readonly shared: Shared;
  private readonly strip: Strip;
  private readonly unfollow: () => void;
  private timer = 0;
  private selected: number;
  private panels: Panel[] = [];
  private members: Chart[] = [];
  private drawn: TimeChart[] = [];
  private cursor_ns: number | null = null;
  private width: number;
  private onPaper = false;

  constructor(
    container: HTMLElement,
    runs: DecodedRun[],
    private readonly options: TimeChartOptions,
  ) {
    this.selected = options.selected ?? 0;
    this.shared = {
      runs: shownRuns(runs),
      range: { from_ns: 0, to_ns: 1 },
      theme: options.theme,
      time: options.time ?? "elapsed",
      boxes: options.boxes ?? false,
      scale: options.scale ?? "log",
      search: options.search ?? "",
    };
    this.shared.range = this.whole();
    if (options.range) this.shared.range = this.clamped(options.range);
    this.element.className = "chart-list";
    this.spoken.className = "chart-spoken";
    this.spoken.setAttribute("aria-live", "polite");
    container.append(this.element);
    this.width = widthOf(this.element);
    this.strip = new Strip(this.element, this.shared);
    this.element.append(this.spoken);
    this.rebuild();
    this.unfollow = follow(this.element, (width, onPaper) => this.setSize(width, onPaper));
    this.prepare();
  }

  charts(): Chart[] {
    return this.members;
  }

  range(): Range {
    return { ...this.shared.range };
  }

  isWhole(): boolean {
    const [range, whole] = [this.shared.range, this.whole()];
    return range.from_ns <= whole.from_ns && range.to_ns >= whole.to_ns;
  }

  setRange(from_ns: number, to_ns: number): void {
    this.shared.range = this.clamped({ from_ns, to_ns });
    this.showRange();
    this.options.onRange?.(this.range(), this.isWhole());
  }

  /** Within the run, and not too short. */
  private clamped({ from_ns, to_ns }: Range): Range {
    const whole = this.whole();
    // Two intervals are the least in which something can be seen.
    const least = Math.min(2 * (this.shared.runs[0]?.run.interval_ns ?? 1), whole.to_ns);
    const length = Math.min(Math.max(to_ns - from_ns, least), whole.to_ns);
    const from = Math.min(Math.max(from_ns, 0), whole.to_ns - length);
    return { from_ns: from, to_ns: from + length };
  }

  resetRange(): void {
    this.setRange(0, this.whole().to_ns);
  }

  setTheme(theme: Theme): void {
    this.shared.theme = theme;
    for (const chart of this.drawn) chart.setTheme();
  }

  setTime(labels: TimeLabels): void {
    this.shared.time = labels;
    this.showRange();
  }

  setBoxes(on: boolean): void {
    this.shared.boxes = on;
    this.refresh();
  }

  setScale(scale: Scale): void {
    this.shared.scale = scale;
    this.refresh();
  }

  search(text: string): number {
    this.shared.search = text.trim();
    this.refresh();
    return this.panels.filter(({ note }) => note !== undefined).length;
  }

  select(run: number): void {
    this.selected = run;
    this.refresh();
  }

  setRuns(runs: DecodedRun[]): void {
    const whole = this.isWhole();
    this.shared.runs = shownRuns(runs);
    if (whole) this.shared.range = this.whole();
    this.refresh();
    this.prepare();
  }

  destroy(): void {
    this.unfollow();
    window.clearTimeout(this.timer);
    this.remove();
    this.element.remove();
  }

  private whole(): Range {
    const ends = this.shared.runs.map(({ run, series }) => {
      const level = series?.levels[0];
      return level && level.rows > 0 ? level.to_ns(level.rows - 1) : run.to_ns;
    });
    return { from_ns: 0, to_ns: Math.max(1, ...ends) };
  }

  /** Draws the same charts with other data, or others where the data has other charts. */
  private refresh(): void {
    const panels = this.panelsNow();
    const key = (panel: Panel) => `${panel.id} ${panel.scale} ${panel.height} ${panel.empty ?? ""}`;
    if (panels.map(key).join() !== this.panels.map(key).join()) {
      this.rebuild();
      this.options.onCharts?.(this.members);
      return;
    }
    this.panels = panels;
    this.drawn.forEach((chart) => chart.setPanel(panels.find((panel) => panel.id === chart.id)!));
    this.showRange();
  }

  private rebuild(): void {
    this.remove();
    this.panels = this.panelsNow();
    this.drawn = [];
    let group: string | undefined;
    this.members = this.panels.map((panel) => {
      if (panel.group && panel.group !== group) this.element.append(heading(panel.group, panel.note));
      group = panel.group;
      if (panel.empty !== undefined) return emptyChart(this.element, panel.id, panel.title, panel.empty);
      const chart: TimeChart = new TimeChart(this.element, panel, this.shared, this.width, {
        onCursor: (left) => this.moveCursor(left === null ? null : chart.plot.valueAt(left), chart),
        onSelect: (from, to) => this.setRange(from, to),
        onDoubleClick: () => this.resetRange(),
        onKey: (event) => this.onKey(event, chart),
      });
      this.drawn.push(chart);
      return chart;
    });
    register(this.members);
    this.markFirst();
    this.showRange();
  }

  /** Those that are printed first; of a page without them, as of what was only watched, some of the others. */
  private markFirst(): void {
    const first = this.members.filter(({ id }) => PRINTED_FIRST.includes(id));
    const printed = new Set(first.length > 0 ? first : this.members.slice(0, MOST_PRINTED));
    for (const chart of this.members) chart.element.classList.toggle("print-all", !printed.has(chart));
    for (const heading of this.element.querySelectorAll(".chart-group")) heading.classList.toggle("print-all", first.length > 0);
  }

  private panelsNow(): Panel[] {
    const { runs, boxes, search, scale } = this.shared;
    return panelsOf(runs, this.selected, boxes, search, scale);
  }

  private remove(): void {
    forget(this.members);
    this.drawn.forEach((chart) => chart.destroy());
    this.drawn = [];
    this.members.forEach((chart) => chart.element.remove());
    this.element.querySelectorAll(".chart-group").forEach((element) => element.remove());
  }

  private showRange(): void {
    this.drawn.forEach((chart) => chart.update());
    this.strip.update(marginsFor(this.width), this.plotWidth());
    const { from_ns, to_ns } = this.shared.range;
    const at = this.cursor_ns;
    this.moveCursor(at !== null && at >= from_ns && at < to_ns ? at : null);
  }

  private setSize(width: number, onPaper: boolean): void {
    if ((width === this.width && onPaper === this.onPaper) || width === 0) return;
    [this.width, this.onPaper] = [width, onPaper];
    this.drawn.forEach((chart) => chart.setSize(width, onPaper));
    this.strip.update(marginsFor(width), this.plotWidth());
  }

  private plotWidth(): number {
    const { left, right } = marginsFor(this.width);
    return Math.max(1, this.width - left - right);
  }

  /** One instant in all charts; the chart under the mouse has its cursor there already. */
  private moveCursor(at_ns: number | null, from?: TimeChart): void {
    this.cursor_ns = at_ns;
    const { from_ns, to_ns } = this.shared.range;
    const left = at_ns === null ? null : ((at_ns - from_ns) / (to_ns - from_ns)) * this.plotWidth();
    for (const chart of this.drawn) chart.showAt(at_ns, left, chart !== from);
    this.strip.showAt(at_ns, left, marginsFor(this.width), this.step_ns() >= 1e9 ? 1e9 : 1e6);
  }

  /** The length of a row of what is shown. */
  private step_ns(): number {
    const run = this.shared.runs[this.selected] ?? this.shared.runs[0];
    const { from_ns, to_ns } = this.shared.range;
    const factor = run?.series?.levelFor(from_ns, to_ns, MOST_ROWS).factor ?? 1;
    return Math.max(1, factor * (run?.run.interval_ns ?? 1e9));
  }

  private onKey(event: KeyboardEvent, chart: TimeChart): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { from_ns, to_ns } = this.shared.range;
    const [length, step] = [to_ns - from_ns, this.step_ns()];
    const at = this.cursor_ns ?? from_ns - step / 2;
    const pan = (share: number) => () => this.setRange(from_ns + share * length, to_ns + share * length);
    const moveTo = (ns: number) => () => {
      this.moveCursor(Math.min(Math.max(ns, from_ns), to_ns - 1));
      this.spoken.textContent = chart.spoken();
    };
    const zoom = (factor: number) => () => {
      const center = this.cursor_ns ?? (from_ns + to_ns) / 2;
      this.setRange(center - (center - from_ns) * factor, center + (to_ns - center) * factor);
    };
    const keys: Record<string, () => void> = {
      ArrowRight: event.shiftKey ? pan(0.25) : moveTo(at + step),
      ArrowLeft: event.shiftKey ? pan(-0.25) : moveTo(at - step),
      Home: moveTo(from_ns + step / 2),
      End: moveTo(to_ns - step / 2),
      "+": zoom(0.5),
      "=": zoom(0.5),
      "-": zoom(2),
      "0": () => this.resetRange(),
      Escape: () => this.resetRange(),
    };
    const act = keys[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }

  /** Unpacks what the finer levels of long runs have, in short pieces, so that the first zoom need not wait for it. */
  private prepare(): void {
    window.clearTimeout(this.timer);
    const { runs } = this.shared;
    const levels = runs.flatMap(({ index, series }) => (series?.levels ?? []).map((level) => ({ index, level })));
    const pieces = levels.flatMap(({ index, level }) => {
      const lines = this.panels.flatMap((panel) => panel.lines).filter((line) => line.run === index);
      return lines.map((line) => () => void line.values(new Window(level, { first: 0, end: 0 })));
    });
    const heats = levels.flatMap(({ level }) => level.heat ?? []);
    const next = () => {
      try {
        const piece = pieces.pop();
        if (piece) piece();
        else if (!heats.some((heat) => heat.prepare(100))) return;
      } catch {
        // Damaged: the chart that reads it says so.
        return;
      }
      this.timer = window.setTimeout(next, 10);
    };
    this.timer = window.setTimeout(next, 200);
  }
}

function shownRuns(runs: DecodedRun[]): ShownRun[] {
  return runs.map((run, index) => ({ ...run, index }));
}

function heading(text: string, note = ""): HTMLElement {
  const element = document.createElement("div");
  element.className = "chart-group";
  for (const [tag, content] of [["h3", text], ["p", note]] as const) {
    if (content !== "") element.appendChild(document.createElement(tag)).textContent = content;
  }
  return element;
}
