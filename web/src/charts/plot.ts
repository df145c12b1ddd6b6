/**
 * One plot: a figure with its title, its readout, and a canvas with two axes.
 *
 * ```text
 *   Title, unit                readout: every series at the cursor
 *   50,000 ┤ ░░░░░░░░░░░░░░░░░░░░░░░ answered
 *          ┤                         ↑ labels at the ends of lines
 *        0 ┼──────┬──────┬──────┬───
 * ```
 *
 * uPlot gives axes, scales, a crisp canvas, the cursor and the selection by dragging. What is drawn between the axes is
 * the `paint` of whoever makes the plot, because intervals have a width, and areas, gaps and heat maps are made of them.
 */
import uPlot from "uplot";
import type { Theme } from "./api";
import { Pen } from "./pen";
import { pictureOf } from "./picture";
import { recorded } from "./recorder";
import { Readout } from "./readout";
import { FONT, type Palette, palette } from "./theme";
import { PAPER_HEIGHT } from "./width";

export interface Tick {
  at: number;
  text: string;
}

export interface AxisOptions {
  log?: boolean;
  /** From high to low. */
  reversed?: boolean;
  ticks: (low: number, high: number, most: number) => Tick[];
}

export interface PlotOptions {
  id: string;
  title: string;
  /** After the title: "queries/s". */
  unit: string;
  theme: Theme;
  height: number;
  x: AxisOptions;
  y: AxisOptions;
  /** Draws between the axes. */
  paint: (pen: Pen) => void;
  /** The cursor has moved: CSS pixels from the left of the axes; `null` where it has left. */
  onCursor: (left: number | null) => void;
  /** A part of the x axis was selected by dragging. */
  onSelect?: (from: number, to: number) => void;
  onDoubleClick?: () => void;
  onKey?: (event: KeyboardEvent) => void;
}

/** The ends of both axes. */
export interface Frame {
  x: [number, number];
  y: [number, number];
}

/** Widths in CSS pixels, the same in all plots of a group, so that their axes are aligned. */
export interface Margins {
  left: number;
  right: number;
}

/** Where there is no room for labels at the ends of lines, the readout is their key. */
export function hasEndLabels(width: number): boolean {
  return width >= 640;
}

export function marginsFor(width: number): Margins {
  return hasEndLabels(width) ? { left: 62, right: 96 } : { left: 60, right: 30 };
}

/** From an axis to its labels. The first one of the x axis is so low that it is not written over one of the y axis. */
const LABEL_GAP = { x: 11, y: 6 };
const X_AXIS_HEIGHT = 27;
const TICK_SPACE = { x: 72, y: 28 };

export class Plot {
  readonly element: HTMLElement;
  readonly readout: Readout;
  private readonly title = document.createElement("h3");
  private readonly u: uPlot;
  private colours: Palette;
  private frame: Frame = { x: [0, 1], y: [0, 1] };
  private words = { title: "", unit: "" };
  /** With its axes, in CSS pixels. */
  height: number;
  /** Below the upper end of the y axis. uPlot's own is that of before, where a chart above has just become higher. */
  private pointerTop = 0;

  constructor(
    container: HTMLElement,
    private readonly options: PlotOptions,
    width: number,
  ) {
    this.colours = palette(options.theme);
    this.height = options.height;
    this.element = document.createElement("figure");
    this.element.className = "chart";
    this.element.dataset.chart = options.id;
    this.element.tabIndex = 0;
    const head = document.createElement("figcaption");
    head.className = "chart-head";
    this.readout = new Readout();
    head.append(this.title, this.readout.scale, this.readout.element);
    this.element.append(head);
    container.append(this.element);
    this.u = new uPlot(this.uplotOptions(width), this.corners(), this.element);
    this.u.ctx.canvas.setAttribute("role", "img");
    this.element.addEventListener("keydown", (event) => {
      if (event.target === this.element) options.onKey?.(event);
    });
    for (const type of ["pointerdown", "pointermove"] as const) {
      this.u.over.addEventListener(type, ({ clientY }) => {
        this.pointerTop = clientY - this.u.over.getBoundingClientRect().top;
      });
    }
    followTouch(this.u);
    this.markNarrow(width);
    this.setTitle(options.title, options.unit);
  }

  setTitle(title: string, unit: string): void {
    this.words = { title, unit };
    this.title.replaceChildren(title, " ", small(unit));
    this.element.setAttribute("aria-label", `${title}, ${unit}`);
    this.u.ctx.canvas.setAttribute("aria-label", `${title}: see the table of this chart`);
  }

  setFrame(frame: Frame): void {
    this.frame = frame;
    this.u.setData(this.corners());
  }

  setTheme(theme: Theme): void {
    this.colours = palette(theme);
    this.u.redraw(false, true);
  }

  setSize(width: number, onPaper: boolean): void {
    this.markNarrow(width);
    this.height = Math.round(this.options.height * (onPaper ? PAPER_HEIGHT : 1));
    this.u.setSize({ width, height: this.height });
  }

  /** Shows the cursor of another plot here, or none. */
  showCursor(left: number | null): void {
    this.u.setCursor({ left: left ?? -10, top: left === null ? -10 : 0 }, false);
  }

  /** The value of the x axis at a place in CSS pixels, and the place of a value. */
  valueAt(left: number): number {
    return this.u.posToVal(left, "x");
  }

  placeOf(value: number): number {
    return this.u.valToPos(value, "x");
  }

  /** The value of the y axis under the pointer. */
  get pointedY(): number {
    return this.u.posToVal(this.pointerTop, "y");
  }

  /** The chart as it is drawn now, as an SVG file. */
  svg(): string {
    const { u, readout, height } = this;
    const drawing = recorded(u.ctx, () => u.batch(() => u.redraw(false, false)));
    return pictureOf({
      title: this.words.title,
      unit: this.words.unit,
      width: u.width,
      height,
      ratio: uPlot.pxRatio,
      drawing,
      key: readout.unlabelled,
      scale: readout.heat,
      colours: this.colours,
    });
  }

  /** Width of what is between the axes, in CSS pixels. */
  get plotWidth(): number {
    return this.u.over.clientWidth;
  }

  destroy(): void {
    this.u.destroy();
    this.element.remove();
  }

  /** For what stands beside the axes and has no room there in a narrow chart. */
  private markNarrow(width: number): void {
    this.element.classList.toggle("chart-narrow", !hasEndLabels(width));
  }

  private corners(): uPlot.AlignedData {
    return [[...this.frame.x], [...this.frame.y]];
  }

  private uplotOptions(width: number): uPlot.Options {
    const { options } = this;
    const axis = (which: "x" | "y"): uPlot.Axis => {
      const ticks = (u: uPlot) => {
        const length = (which === "x" ? u.bbox.width : u.bbox.height) / uPlot.pxRatio;
        const [low, high] = this.frame[which];
        return options[which].ticks(low, high, Math.max(2, Math.floor(length / TICK_SPACE[which])));
      };
      return {
        scale: which,
        font: FONT,
        stroke: () => this.colours.muted,
        grid: { stroke: () => this.colours.grid, width: 1 },
        ticks: { show: false },
        size: which === "x" ? X_AXIS_HEIGHT : (u) => marginsFor(u.width).left,
        gap: LABEL_GAP[which],
        splits: (u) => ticks(u).map((tick) => tick.at),
        values: (u) => ticks(u).map((tick) => (which === "x" ? withinEnd(u, tick) : withinMargin(u, tick))),
      };
    };
    const scale = (which: "x" | "y"): uPlot.Scale => ({
      time: false,
      distr: options[which].log ? 3 : 1,
      dir: options[which].reversed ? -1 : 1,
      range: () => this.frame[which],
    });
    return {
      width,
      height: options.height,
      padding: [8, (u: uPlot) => marginsFor(u.width).right, 0, 0],
      legend: { show: false },
      scales: { x: scale("x"), y: scale("y") },
      axes: [axis("x"), axis("y")],
      series: [{}, { scale: "y", paths: () => null, points: { show: false } }],
      cursor: {
        y: false,
        points: { show: false },
        drag: { x: options.onSelect !== undefined, y: false, setScale: false, dist: 4 },
        bind: {
          dblclick: () => () => {
            options.onDoubleClick?.();
            return null;
          },
        },
      },
      hooks: {
        drawAxes: [(u) => options.paint(new Pen(u, this.colours))],
        setCursor: [
          (u) => {
            const left = u.cursor.left ?? -10;
            options.onCursor(left < 0 ? null : left);
          },
        ],
        setSelect: [
          (u) => {
            const { left, width: selected } = u.select;
            if (selected < 4) return;
            u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
            options.onSelect?.(u.posToVal(left, "x"), u.posToVal(left + selected, "x"));
          },
        ],
      },
    };
  }
}

/** The label of a tick of the x axis; none where it would be cut at the right end of the chart. */
function withinEnd(u: uPlot, { at, text }: Tick): string {
  const end = u.bbox.width / uPlot.pxRatio + marginsFor(u.width).right;
  return u.valToPos(at, "x") + textWidth(text) / 2 <= end ? text : "";
}

/** The label of a tick of the y axis, which is shortened where it has no room: some names are wide. */
function withinMargin(u: uPlot, { text }: Tick): string {
  const room = marginsFor(u.width).left - LABEL_GAP.y;
  let letters = text.length;
  while (letters > 1 && textWidth(text.slice(0, letters) + (letters < text.length ? "…" : "")) > room) letters--;
  return letters < text.length ? `${text.slice(0, letters)}…` : text;
}

let measuring: CanvasRenderingContext2D | null = null;

/** Of a label of an axis, in CSS pixels. */
function textWidth(text: string): number {
  measuring ??= document.createElement("canvas").getContext("2d")!;
  measuring.font = FONT;
  return measuring.measureText(text).width;
}

/** A finger moves the cursor; up and down still scrolls the page. */
function followTouch(u: uPlot): void {
  u.over.style.touchAction = "pan-y pinch-zoom";
  const move = (event: PointerEvent) => {
    if (event.pointerType !== "touch") return;
    const box = u.over.getBoundingClientRect();
    u.setCursor({ left: Math.min(Math.max(event.clientX - box.left, 0), box.width), top: 1 });
  };
  u.over.addEventListener("pointerdown", move);
  u.over.addEventListener("pointermove", move);
}

function small(text: string): HTMLElement {
  const element = document.createElement("small");
  element.textContent = text;
  return element;
}
