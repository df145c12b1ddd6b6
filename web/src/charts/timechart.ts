/** A chart over time: a panel, drawn for the shown range. */
import type { Chart, ChartTable, Range, Value } from "./api";
import { paintBoxes } from "./boxes";
import type { HeatScale } from "./cells";
import { beyondCounts, heatRange_ns, paintHeat } from "./heatmap";
import { paintLimitSteps, paintLimits } from "./limits";
import { type EndLabel, drawEndLabels } from "./labels";
import { type Line, type Panel, type ShownRun, shown, text } from "./panels/panel";
import { Window } from "./panels/window";
import type { Pen, Steps } from "./pen";
import { Plot, type PlotOptions, hasEndLabels, marginsFor } from "./plot";
import type { ReadoutItem } from "./readout";
import { HeatRows } from "./rows";
import { type Shared, instantOf, startOf } from "./shared";
import { faint, palette, readable } from "./theme";
import { timeTicks } from "./ticks";
import { type YAxis, yAxisFor } from "./yaxis";

/** A line with the figures of the shown range; those of a stack also with where its area begins and ends. */
interface Drawn {
  line: Line;
  run: ShownRun;
  window: Window;
  /** The ends of what is drawn of its intervals. */
  to: Float64Array;
  values: Float64Array;
  lower: Float64Array | null;
  upper: Float64Array;
}

type Handlers = Pick<PlotOptions, "onCursor" | "onSelect" | "onDoubleClick" | "onKey">;

export class TimeChart implements Chart {
  readonly plot: Plot;
  private drawn: Drawn[] = [];
  private axis: YAxis;
  private labelled = new Set<string>();
  /** Of a chart with a row for each line. */
  private rows: HeatRows | null = null;
  private cursor_ns: number | null = null;
  private isPointed = false;

  constructor(
    container: HTMLElement,
    private panel: Panel,
    private readonly shared: Shared,
    private width: number,
    handlers: Handlers,
  ) {
    this.axis = yAxisFor(panel, []);
    const { theme } = shared;
    this.plot = new Plot(
      container,
      {
        id: panel.id,
        title: panel.title,
        unit: panel.unit,
        theme,
        height: panel.height,
        x: {
          ticks: (low, high, most) =>
            timeTicks(low, high, most, shared.time, startOf(shared)).map(({ at_ns, text }) => ({ at: at_ns, text })),
        },
        y: { log: panel.scale === "log", ticks: (low, high, most) => this.axis.ticks(low, high, most) },
        paint: (pen) => this.paint(pen),
        ...handlers,
      },
      width,
    );
    this.plot.element.classList.toggle("chart-rows", panel.scale === "rows");
  }

  get id(): string {
    return this.panel.id;
  }

  get title(): string {
    return this.panel.title;
  }

  get element(): HTMLElement {
    return this.plot.element;
  }

  /** The same chart with other data. */
  setPanel(panel: Panel): void {
    this.panel = panel;
    this.plot.setTitle(panel.title, panel.unit);
    this.update();
  }

  setSize(width: number, onPaper: boolean): void {
    this.width = width;
    // Lower rows would have no names.
    this.plot.setSize(width, onPaper && this.panel.scale !== "rows");
    this.update();
    this.showReadout();
  }

  setTheme(): void {
    this.plot.setTheme(this.shared.theme);
    this.showReadout();
  }

  /** Takes the figures of the shown range, and draws them. */
  update(): void {
    const { range, runs } = this.shared;
    const windows = new Map<ShownRun, Window>();
    const windowOf = (run: ShownRun): Window => {
      const window = windows.get(run) ?? Window.of(run.series!, range.from_ns, range.to_ns, this.columnsOf(run));
      windows.set(run, window);
      return window;
    };
    this.drawn = [];
    const tops = new Map<ShownRun, Float64Array>();
    for (const line of this.panel.lines) {
      const run = runs.find((r) => r.index === line.run);
      if (!run?.series) continue;
      const window = windowOf(run);
      const values = line.values(window);
      const lower = line.shape === "stack" ? (tops.get(run) ?? null) : null;
      const upper =
        line.shape === "stack" && lower
          ? values.map((value, i) => (Number.isNaN(value) ? NaN : value + lower[i]!))
          : values;
      if (line.shape === "stack") tops.set(run, upper);
      this.drawn.push({ line, run, window, to: window.endsOf(line.columns), values, lower, upper });
    }
    this.rows = this.panel.scale === "rows" && this.drawn[0] ? rowsOf(this.drawn, this.timeout_ns()) : null;
    const heat = this.heatRun();
    const heatRange = heat && heatRange_ns(windowOf(heat));
    this.axis = yAxisFor(
      { ...this.panel, height: this.plot.height },
      this.drawn.map(({ upper }) => upper),
      {
        heat_ns: heatRange ?? null,
        beyond: heat !== undefined || this.shared.boxes,
        timeout_ns: this.timeout_ns(),
        limits: this.limitValues(),
      },
    );
    this.plot.setFrame({ x: [range.from_ns, range.to_ns], y: this.axis.range });
  }

  /** Shows the cursor, and the figures of its instant. */
  showAt(at_ns: number | null, left: number | null, moveCursor: boolean): void {
    this.cursor_ns = at_ns;
    this.isPointed = !moveCursor;
    if (moveCursor) this.plot.showCursor(left);
    this.showReadout();
  }

  range(): Range {
    return { ...this.shared.range };
  }

  valuesAt(at_ns: number): Record<string, Value> {
    return Object.fromEntries(this.drawn.map((drawn) => [drawn.line.label, shown(valueAt(drawn, at_ns))]));
  }

  table(): ChartTable {
    const { time } = this.shared;
    const window = this.drawn.reduce<Window | null>(
      (longest, { window }) => (longest && longest.length >= window.length ? longest : window),
      null,
    );
    const columns: ChartTable["columns"] = [
      { title: time === "utc" ? "UTC" : "Elapsed", unit: "", align: "right" },
      ...this.drawn.map(({ line }) => ({
        title: line.label,
        unit: line.unit === "qps" ? this.panel.unit : "",
        align: "right" as const,
      })),
    ];
    const rows = Array.from(window?.from ?? [], (from_ns, i) => [
      instantOf(this.shared, from_ns, stepOf(window!, i)),
      ...this.drawn.map((drawn) => text(drawn.line.unit, valueAt(drawn, from_ns), drawn.run.run.timeout_ns)),
    ]);
    return { columns, rows };
  }

  svg(): string {
    return this.plot.svg();
  }

  /** What the readout says, as one text. */
  spoken(): string {
    return `${this.title}: ${this.items()
      .map(({ label, text }) => `${label} ${text}`)
      .join(", ")}`;
  }

  destroy(): void {
    this.plot.destroy();
  }

  /** All that is drawn of a run, so that its lines have the same rows. */
  private columnsOf(run: ShownRun): string[] {
    const lines = this.panel.lines.filter((line) => line.run === run.index);
    return [...lines.flatMap((line) => line.columns), ...(this.panel.heat === run.index ? ["heat"] : [])];
  }

  private timeout_ns(): number {
    return this.drawn[0]?.run.run.timeout_ns ?? this.shared.runs[0]?.run.timeout_ns ?? 0;
  }

  private heatRun(): ShownRun | undefined {
    if (this.panel.heat === undefined || this.shared.boxes) return undefined;
    const run = this.shared.runs.find((r) => r.index === this.panel.heat);
    return run?.series ? run : undefined;
  }

  private items(): ReadoutItem[] {
    const colours = palette(this.shared.theme);
    if (this.rows) return this.rows.items(colours, this.place());
    return this.drawn.map((drawn) => {
      const { line, run } = drawn;
      const value = this.cursor_ns === null ? NaN : valueAt(drawn, this.cursor_ns);
      const { label, unit, shape, dash, width } = line;
      const look = { area: shape === "stack", ...(dash && { dash }), ...(width && { width }) };
      return { label, colour: line.colour(colours), ...look, text: text(unit, value, run.run.timeout_ns) };
    });
  }

  /** Where the cursor is in a chart with rows. */
  private place(): Parameters<HeatRows["items"]>[1] {
    if (this.cursor_ns === null) return null;
    const y = this.isPointed ? this.plot.pointedY : null;
    return { interval: rowIn(this.drawn[0]!.window, this.cursor_ns), y };
  }

  private showReadout(): void {
    const step_ns = this.drawn[0] ? stepOf(this.drawn[0].window, 0) : 1e9;
    const at = this.cursor_ns === null ? null : instantOf(this.shared, this.cursor_ns, step_ns);
    this.plot.readout.show(at, this.items(), this.labelled);
  }

  private paint(pen: Pen): void {
    const { boxes } = this.shared;
    let scale: HeatScale | null = null;
    pen.within(() => {
      // Rows leave no room between them in which the instants would be seen.
      if (this.rows) scale = this.rows.paint(pen);
      this.paintPhases(pen);
      if (!this.rows) this.paintPartial(pen);
      const heat = this.heatRun();
      const { from_ns, to_ns } = this.shared.range;
      const window = heat && Window.of(heat.series!, from_ns, to_ns, this.columnsOf(heat));
      // Under the lines of several runs it is no more than a background.
      const opacity = this.shared.runs.length > 1 ? 0.35 : 1;
      if (window) scale = paintHeat(pen, window, beyondCounts(window, heat.run.headline), opacity);
      if (this.panel.id === "latency" && boxes && this.drawn[0]) {
        paintBoxes(
          pen,
          this.drawn[0].window,
          this.drawn.map(({ values }) => values),
        );
      } else if (!this.rows) {
        for (const drawn of this.drawn) if (drawn.line.shape === "stack") paintStack(pen, drawn);
        for (const drawn of this.drawn) if (drawn.line.shape === "line") paintLine(pen, drawn);
      }
      this.paintLimits(pen);
    });
    this.plot.readout.showScale(scale, pen.colours.heat);
    if (this.rows) {
      if (hasEndLabels(this.width)) this.rows.paintMark(pen);
      this.showReadout();
      return;
    }
    // A single line is what the title says.
    const single = this.drawn.length === 1 && this.drawn[0]!.line.label === this.title;
    const labels =
      single || !hasEndLabels(this.width) ? [] : drawEndLabels(pen, this.endLabels(pen), marginsFor(this.width).right);
    const named = ({ line }: Drawn) => single || line.end === null || labels.includes(line.end ?? line.label);
    this.labelled = new Set(this.drawn.filter(named).map(({ line }) => line.label));
    this.showReadout();
  }

  /** A limit of the loss is a share of what was asked then, so it follows the load of its run. */
  private lossLimits(): { label: string; steps: Steps }[] {
    const limits = (this.panel.limits ?? []).filter(({ of }) => of === "loss");
    return limits.flatMap(({ label, value, run }) => {
      const drawn = this.drawn.find((one) => one.run.run.label === run);
      if (!drawn) return [];
      const { from, dueTo: to } = drawn.window;
      const values = drawn.window.ratesOfQueries(["scheduled"]).map((qps) => qps * value);
      const name = this.shared.runs.length === 1 || label.includes(", ") ? label : `${label}, ${run}`;
      return [{ label: name, steps: { from, to, values } }];
    });
  }

  private limitValues(): number[] {
    const levels = (this.panel.limits ?? []).filter(({ of }) => of !== "loss").map(({ value }) => value);
    const losses = this.lossLimits().map(({ steps }) => steps.values.reduce((max, qps) => (qps > max ? qps : max), 0));
    return [...levels, ...losses];
  }

  private paintLimits(pen: Pen): void {
    paintLimits(
      pen,
      (this.panel.limits ?? []).filter(({ of }) => of !== "loss"),
      this.panel.heat !== undefined,
    );
    paintLimitSteps(pen, this.lossLimits());
  }

  /** The instants at which the load changed, and the events. */
  private paintPhases(pen: Pen): void {
    const { runs } = this.shared;
    if (runs.length !== 1) return;
    const { phases, events } = runs[0]!.run;
    const vertical = (at_ns: number, colour: string, dash: number[]) => {
      const path = pen.path();
      const x = Math.round(pen.x(at_ns));
      path.moveTo(x, pen.box.top);
      path.lineTo(x, pen.bottom);
      pen.stroke(path, { colour, width: 1, dash });
    };
    for (const { from_ns } of phases) if (from_ns > 0) vertical(from_ns, pen.colours.grid, []);
    const shown = events.filter(({ at_ns }) => at_ns >= pen.range[0] && at_ns <= pen.range[1]);
    // Many events would hide what they are to explain.
    const opacity = Math.max(0.15, Math.min(0.55, 4 / shown.length));
    for (const { at_ns } of shown) vertical(at_ns, faint(pen.colours.ink, opacity), [2, 3]);
  }

  /** The times of which the part of an agent is missing: hatched, with words where there is room for them. */
  private paintPartial(pen: Pen): void {
    const { runs } = this.shared;
    if (runs.length !== 1) return;
    const [first, end] = pen.range;
    for (const { from_ns, to_ns, label } of runs[0]!.run.partial) {
      if (to_ns <= first || from_ns >= end) continue;
      const [left, right] = [pen.x(Math.max(from_ns, first)), pen.x(Math.min(to_ns, end))];
      pen.hatch(left, right, faint(pen.colours.ink, 0.25));
      const gap = 4 * pen.ratio;
      if (pen.textWidth(label) + 2 * gap < right - left) {
        pen.text(label, left + gap, pen.bottom - 9 * pen.ratio, pen.colours.ink);
      }
    }
  }

  /** Of the lines that reach the right end of the chart. */
  private endLabels(pen: Pen): EndLabel[] {
    return this.drawn.flatMap(({ line, values, lower, upper, window }) => {
      let last = values.length - 1;
      while (last >= 0 && window.from[last]! >= this.shared.range.to_ns) last--;
      if (last < 0 || Number.isNaN(values[last]!)) return [];
      const label = { text: line.end ?? line.label, colour: readable(line.colour(pen.colours), pen.colours) };
      if (line.end === null) return [];
      if (line.shape === "line") return [{ ...label, y: pen.y(values[last]!) }];
      const [top, bottom] = [pen.y(upper[last]!), pen.y(lower ? lower[last]! : 0)];
      // An area that is not there at the end is not labelled there.
      if (bottom - top < 2 * pen.ratio) return [];
      return [{ ...label, y: line.edge ? top : (top + bottom) / 2 }];
    });
  }
}

function paintStack(pen: Pen, { line, window: { from }, to, lower, upper }: Drawn): void {
  const colour = line.colour(pen.colours);
  pen.area({ from, to, values: upper }, lower, faint(colour, line.opacity ?? 1));
  if (line.edge) pen.steps({ from, to, values: upper }, { colour, width: 1.5 });
}

function paintLine(pen: Pen, { line, window: { from }, to, values }: Drawn): void {
  const { dash, width, halo } = line;
  pen.steps(
    { from, to, values },
    { colour: line.colour(pen.colours), ...(dash && { dash }), ...(width && { width }), ...(halo && { halo }) },
  );
}

function rowsOf(drawn: Drawn[], timeout_ns: number): HeatRows {
  const { window } = drawn[0]!;
  const rows = drawn.map(({ line, values }) => ({ name: line.label, values, missing: line.missing?.(window) ?? [] }));
  return new HeatRows(rows, window, timeout_ns);
}

function valueAt({ window, values }: Drawn, at_ns: number): number {
  const row = rowIn(window, at_ns);
  return row === null ? NaN : values[row]!;
}

/** The row of a window at an instant. */
function rowIn(window: Window, at_ns: number): number | null {
  const row = window.level.rowAt(at_ns);
  return row === null || row < window.rows.first || row >= window.rows.end ? null : row - window.rows.first;
}

function stepOf(window: Window, row: number): number {
  const length_ns = (window.to[row] ?? 0) - (window.from[row] ?? 0);
  // The last interval of a run may be shorter; its instants are written like those before it.
  return length_ns >= 1e9 ? 1e9 : length_ns >= 1e8 ? 1e8 : length_ns >= 1e7 ? 1e7 : 1e6;
}
