/** Draws values between the axes of a plot. Widths are CSS pixels; places are pixels of the canvas. */
import uPlot from "uplot";
import { pathFor } from "./recorder";
import { FONT, type Palette, faint } from "./theme";

/** Height of the band above the upper end of a logarithmic axis, for what is beyond the timeout, in CSS pixels. */
export const BEYOND_HEIGHT = 16;

/** Values per interval: interval i lasts from `from[i]` to `to[i]`. NaN is no value. */
export interface Steps {
  from: Float64Array;
  to: Float64Array;
  values: Float64Array;
}

export interface LineStyle {
  colour: string;
  width?: number;
  dash?: number[];
  /** A line of the paper's colour around it, where it is drawn over something. */
  halo?: boolean;
}

export class Pen {
  readonly ctx: CanvasRenderingContext2D;
  readonly ratio = uPlot.pxRatio;
  readonly box: { left: number; top: number; width: number; height: number };

  constructor(
    private readonly u: uPlot,
    readonly colours: Palette,
  ) {
    this.ctx = u.ctx;
    this.box = u.bbox;
  }

  x(value: number): number {
    return this.u.valToPos(value, "x", true);
  }

  /** Beyond the timeout (Infinity) is the lower edge of the band at the top. */
  y(value: number): number {
    if (value === Infinity) return this.box.top + (BEYOND_HEIGHT - 1.5) * this.ratio;
    // A duration of 0 has no place on a logarithmic axis: it is drawn at its lower end.
    const { distr, min } = this.u.scales.y!;
    return this.u.valToPos(distr === 3 ? Math.max(value, min ?? 1) : value, "y", true);
  }

  /** The ends of the x axis. */
  get range(): [number, number] {
    return [this.u.scales.x!.min ?? 0, this.u.scales.x!.max ?? 1];
  }

  get right(): number {
    return this.box.left + this.box.width;
  }

  get bottom(): number {
    return this.box.top + this.box.height;
  }

  /** For what is drawn at once. */
  path(): Path2D {
    return pathFor(this.ctx);
  }

  /** Calls `draw` with everything outside of the axes cut off. */
  within(draw: () => void): void {
    const { ctx, box } = this;
    ctx.save();
    ctx.beginPath();
    ctx.rect(box.left, box.top, box.width, box.height);
    ctx.clip();
    draw();
    ctx.restore();
  }

  /** A line with a level part for each interval. It breaks where there is no value, or no interval. */
  steps({ from, to, values }: Steps, style: LineStyle): void {
    const path = this.path();
    let last_to = NaN;
    for (let i = 0; i < values.length; i++) {
      const value = values[i]!;
      if (Number.isNaN(value)) {
        last_to = NaN;
        continue;
      }
      const y = this.y(value);
      const x = this.x(from[i]!);
      if (touches(last_to, from[i]!, to[i]!)) path.lineTo(x, y);
      else path.moveTo(x, y);
      path.lineTo(this.x(to[i]!), y);
      last_to = to[i]!;
    }
    this.stroke(path, this.isDense(from.length) ? { ...style, width: 0.6 * (style.width ?? 1.5), dash: [] } : style);
  }

  /** Whether intervals are narrower than a dash, which would cost much and show nothing. */
  private isDense(intervals: number): boolean {
    return this.box.width / this.ratio < intervals * 2;
  }

  /** The area between two values per interval; `lower` is 0 where it is `null`. */
  area({ from, to, values }: Steps, lower: Float64Array | null, colour: string): void {
    const path = this.path();
    let start = 0;
    const close = (end: number) => {
      for (let i = end - 1; i >= start; i--) {
        const y = this.y(lower ? lower[i]! : 0);
        path.lineTo(this.x(to[i]!), y);
        path.lineTo(this.x(from[i]!), y);
      }
      if (end > start) path.closePath();
    };
    let open = false;
    for (let i = 0; i < values.length; i++) {
      const drawn = !Number.isNaN(values[i]!);
      if (open && (!drawn || !touches(to[i - 1]!, from[i]!, to[i]!))) {
        close(i);
        open = false;
      }
      if (!drawn) continue;
      const y = this.y(values[i]!);
      if (open) path.lineTo(this.x(from[i]!), y);
      else {
        path.moveTo(this.x(from[i]!), y);
        start = i;
        open = true;
      }
      path.lineTo(this.x(to[i]!), y);
    }
    if (open) close(values.length);
    this.ctx.fillStyle = colour;
    this.ctx.fill(path);
  }

  /** A line through points. It breaks where there is no value. */
  line(points: { x: number; y: number }[], style: LineStyle & { dots?: boolean }): void {
    const path = this.path();
    let drawn = false;
    for (const point of points) {
      if (Number.isNaN(point.y)) {
        drawn = false;
        continue;
      }
      if (drawn) path.lineTo(this.x(point.x), this.y(point.y));
      else path.moveTo(this.x(point.x), this.y(point.y));
      drawn = true;
    }
    this.stroke(path, style);
    if (!style.dots) return;
    this.ctx.fillStyle = style.colour;
    for (const point of points) {
      if (Number.isNaN(point.y)) continue;
      this.ctx.beginPath();
      this.ctx.arc(this.x(point.x), this.y(point.y), 2.6 * this.ratio, 0, 7);
      this.ctx.fill();
    }
  }

  stroke(path: Path2D, { colour, width = 1.5, dash = [], halo = false }: LineStyle): void {
    const { ctx, ratio } = this;
    ctx.save();
    // Round joins of thousands of steps cost more than all else.
    ctx.lineJoin = "bevel";
    if (halo) {
      ctx.strokeStyle = faint(this.colours.paper, 0.85);
      ctx.lineWidth = (width + (width > 1 ? 2.5 : 1)) * ratio;
      ctx.stroke(path);
    }
    ctx.strokeStyle = colour;
    ctx.lineWidth = width * ratio;
    ctx.setLineDash(dash.map((length) => length * ratio));
    ctx.stroke(path);
    ctx.restore();
  }

  /** Slanted lines between two places in pixels of the canvas, over the whole height unless told. */
  hatch(left: number, right: number, colour: string, { top, bottom } = { top: this.box.top, bottom: this.bottom }): void {
    const { ctx } = this;
    const height = bottom - top;
    ctx.save();
    ctx.beginPath();
    ctx.rect(left, top, right - left, height);
    ctx.clip();
    const path = this.path();
    const apart = 7 * this.ratio;
    for (let x = left - (left % apart) - height; x < right; x += apart) {
      path.moveTo(x, bottom);
      path.lineTo(x + height, top);
    }
    this.stroke(path, { colour, width: 1 });
    ctx.restore();
  }

  /** A text at a place in pixels of the canvas. */
  text(text: string, x: number, y: number, colour: string, align: CanvasTextAlign = "left"): void {
    const { ctx } = this;
    ctx.save();
    ctx.font = this.font;
    ctx.fillStyle = colour;
    ctx.textAlign = align;
    ctx.textBaseline = "middle";
    ctx.fillText(text, x, y);
    ctx.restore();
  }

  textWidth(text: string): number {
    this.ctx.font = this.font;
    return this.ctx.measureText(text).width;
  }

  private get font(): string {
    return FONT.replace("12px", `${12 * this.ratio}px`);
  }
}

/** Whether an interval follows the one before without a hole; an interval is a little shorter or longer than asked. */
function touches(last_to: number, from: number, to: number): boolean {
  return from - last_to <= 0.01 * (to - from);
}
