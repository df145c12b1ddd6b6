/** Charts whose x axis is not the time: lines through points, with one cursor over the charts of a group. */
import type { Chart, ChartOptions, Charts, ChartTable, Theme, Value } from "./api";
import { drawEndLabels } from "./labels";
import { type Unit, shown, text } from "./panels/panel";
import type { Pen } from "./pen";
import { type AxisOptions, type Frame, Plot, hasEndLabels, marginsFor } from "./plot";
import { forget, register } from "./registry";
import { type Palette, palette, readable } from "./theme";
import { follow, widthOf } from "./width";

export interface Point {
  x: number;
  /** NaN is no value, Infinity beyond the timeout. */
  y: number;
}

export interface PointLine {
  label: string;
  unit: Unit;
  colour: (palette: Palette) => string;
  dash?: number[];
  width?: number;
  dots?: boolean;
  points: Point[];
  timeout_ns: number;
}

export interface XYPanel {
  id: string;
  title: string;
  unit: string;
  height: number;
  frame: Frame;
  x: AxisOptions;
  y: AxisOptions;
  /** Of the x axis, in the table and in the readout. */
  xTitle: string;
  xText: (x: number) => string;
  lines: PointLine[];
  /** A sentence below the chart. */
  note?: string;
  /** Under the lines. */
  under?: (pen: Pen) => void;
  /** Over the lines. */
  over?: (pen: Pen) => void;
  /** Where a figure is drawn, if not at its place; NaN for nowhere. */
  shape?: (y: number) => number;
  /** Draws the lines in another way. */
  paint?: (pen: Pen) => void;
}

export class XYGroup implements Charts {
  private readonly element = document.createElement("div");
  private readonly members: XYChart[];
  private readonly unfollow: () => void;

  constructor(container: HTMLElement, panels: XYPanel[], options: ChartOptions) {
    this.element.className = "chart-list";
    container.append(this.element);
    const width = widthOf(this.element);
    this.members = panels.map(
      (panel) =>
        new XYChart(this.element, panel, options.theme, width, (x) => this.members.forEach((chart) => chart.showAt(x))),
    );
    register(this.members);
    this.unfollow = follow(this.element, (newWidth, onPaper) =>
      this.members.forEach((chart) => chart.setSize(newWidth, onPaper)),
    );
  }

  charts(): Chart[] {
    return this.members;
  }

  setTheme(theme: Theme): void {
    this.members.forEach((chart) => chart.setTheme(theme));
  }

  destroy(): void {
    this.unfollow();
    forget(this.members);
    this.members.forEach((chart) => chart.destroy());
    this.element.remove();
  }
}

class XYChart implements Chart {
  private readonly plot: Plot;
  private labelled = new Set<string>();
  private cursor: number | null = null;
  private onPaper = false;

  constructor(
    container: HTMLElement,
    private readonly panel: XYPanel,
    private theme: Theme,
    private width: number,
    moveCursor: (x: number | null) => void,
  ) {
    const { id, title, unit, height, x, y, frame, note } = panel;
    this.plot = new Plot(
      container,
      {
        id,
        title,
        unit,
        theme,
        height,
        x,
        y,
        paint: (pen) => this.paint(pen),
        onCursor: (left) => moveCursor(left === null ? null : this.plot.valueAt(left)),
        onKey: (event) => this.onKey(event, moveCursor),
      },
      width,
    );
    if (note !== undefined) {
      const words = document.createElement("p");
      words.className = "chart-note";
      words.textContent = note;
      this.plot.element.append(words);
    }
    this.plot.setFrame(frame);
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

  range(): null {
    return null;
  }

  valuesAt(x: number): Record<string, Value> {
    return Object.fromEntries(
      this.panel.lines.map((line) => [line.label, shown(nearest(line, x, this.panel.x.log)?.y)]),
    );
  }

  table(): ChartTable {
    const { lines, xTitle, xText } = this.panel;
    const places = [...new Set(lines.flatMap((line) => line.points.map(({ x }) => x)))].sort((a, b) =>
      this.panel.x.reversed ? b - a : a - b,
    );
    return {
      columns: [
        { title: xTitle, unit: "", align: "right" },
        ...lines.map(({ label }) => ({ title: label, unit: "", align: "right" as const })),
      ],
      rows: places.map((place) => [
        xText(place),
        ...lines.map((line) => text(line.unit, line.points.find(({ x }) => x === place)?.y ?? NaN, line.timeout_ns)),
      ]),
    };
  }

  svg(): string {
    return this.plot.svg();
  }

  /** Shows the figures at the points nearest to the cursor of the group. */
  showAt(x: number | null): void {
    this.cursor = x;
    this.plot.showCursor(x === null ? null : this.plot.placeOf(x));
    this.showReadout();
  }

  setTheme(theme: Theme): void {
    this.theme = theme;
    this.plot.setTheme(theme);
    this.showReadout();
  }

  setSize(width: number, onPaper: boolean): void {
    if (width === 0 || (width === this.width && onPaper === this.onPaper)) return;
    [this.width, this.onPaper] = [width, onPaper];
    this.plot.setSize(width, onPaper);
  }

  destroy(): void {
    this.plot.destroy();
  }

  private showReadout(): void {
    const { lines, xText, x: axis } = this.panel;
    const colours = palette(this.theme);
    const at = this.cursor;
    const place =
      at === null ? null : lines.map((line) => nearest(line, at, axis.log)).find((point) => point !== undefined);
    const items = lines.map((line) => ({
      label: line.label,
      colour: line.colour(colours),
      ...(line.dash && { dash: line.dash }),
      ...(line.width && { width: line.width }),
      text: at === null ? "" : text(line.unit, nearest(line, at, axis.log)?.y ?? NaN, line.timeout_ns),
    }));
    this.plot.readout.show(place ? xText(place.x) : null, items, this.labelled);
  }

  private paint(pen: Pen): void {
    const { panel } = this;
    pen.within(() => {
      panel.under?.(pen);
      if (panel.paint) panel.paint(pen);
      else for (const line of panel.lines) pen.line(this.placed(line), styleOf(line, pen));
      panel.over?.(pen);
    });
    const labels = panel.lines.flatMap((line) => {
      const last = line.points.filter(({ y }) => !Number.isNaN(y)).at(-1);
      return last
        ? [{ text: line.label, colour: readable(line.colour(pen.colours), pen.colours), y: pen.y(last.y) }]
        : [];
    });
    // Bars have no ends; one series of them is what the title says.
    if (panel.paint) this.labelled = new Set(panel.lines.length === 1 ? [panel.lines[0]!.label] : []);
    else
      this.labelled = new Set(hasEndLabels(this.width) ? drawEndLabels(pen, labels, marginsFor(this.width).right) : []);
    this.showReadout();
  }

  private placed({ points }: PointLine): Point[] {
    const { shape } = this.panel;
    return shape ? points.map(({ x, y }) => ({ x, y: shape(y) })) : points;
  }

  private onKey(event: KeyboardEvent, moveCursor: (x: number | null) => void): void {
    const { panel } = this;
    const points = panel.lines.reduce<Point[]>(
      (longest, { points }) => (points.length > longest.length ? points : longest),
      [],
    );
    const at =
      this.cursor === null ? -1 : points.findIndex(({ x }) => x === nearest({ points }, this.cursor!, panel.x.log)?.x);
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined || points.length === 0 || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    moveCursor(points[Math.min(Math.max(at + step, 0), points.length - 1)]!.x);
  }
}

export function styleOf(line: PointLine, pen: Pen): Parameters<Pen["line"]>[1] {
  const { dash, width, dots } = line;
  return { colour: line.colour(pen.colours), ...(dash && { dash }), ...(width && { width }), ...(dots && { dots }) };
}

function nearest({ points }: Pick<PointLine, "points">, x: number, log = false): Point | undefined {
  const distance = (point: Point) => Math.abs(log ? Math.log(point.x / x) : point.x - x);
  return points.reduce<Point | undefined>(
    (best, point) => (best && distance(best) <= distance(point) ? best : point),
    undefined,
  );
}
