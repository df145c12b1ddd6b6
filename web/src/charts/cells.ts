/** What heat maps are made of: rectangles of few colours, in pixels, as an image or as shapes. */
import type { Window } from "./panels/window";
import type { Pen } from "./pen";
import { isRecorded } from "./recorder";
import { channels } from "./theme";

/** What the palest and the most intense cell of a heat map stand for, as text. */
export interface HeatScale {
  low: string;
  high: string;
}

/** Takes rectangles of one colour in pixels from the upper left corner of what is between the axes. */
export interface Cells {
  fill(left: number, right: number, top: number, bottom: number, colour: Colour): void;
  /** Puts them on the chart. */
  finish(): void;
}

/** As {@link packed}. */
export type Colour = number;

/** Cells over all that is between the axes. */
export function cellsOf(pen: Pen): Cells {
  return isRecorded(pen.ctx) ? new Shapes(pen) : new Pixels(pen, Math.round(pen.box.width), Math.round(pen.box.height));
}

class Pixels implements Cells {
  private readonly image: ImageData;
  private readonly pixels: Uint32Array;

  constructor(
    private readonly pen: Pen,
    private readonly width: number,
    height: number,
  ) {
    this.image = new ImageData(width, height);
    this.pixels = new Uint32Array(this.image.data.buffer);
  }

  fill(left: number, right: number, top: number, bottom: number, colour: Colour): void {
    for (let y = top; y < bottom; y++) this.pixels.fill(colour, y * this.width + left, y * this.width + right);
  }

  finish(): void {
    const { ctx, box } = this.pen;
    // Not straight onto the chart: pixels put there would replace the grid where they are transparent.
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [this.image.width, this.image.height];
    canvas.getContext("2d")?.putImageData(this.image, 0, 0);
    ctx.drawImage(canvas, Math.round(box.left), Math.round(box.top));
  }
}

/** For a chart that is recorded: a path for each colour. */
class Shapes implements Cells {
  private readonly paths = new Map<Colour, Path2D>();

  constructor(private readonly pen: Pen) {}

  fill(left: number, right: number, top: number, bottom: number, colour: Colour): void {
    const path = this.paths.get(colour) ?? this.pen.path();
    this.paths.set(colour, path);
    const { box } = this.pen;
    path.rect(Math.round(box.left) + left, Math.round(box.top) + top, right - left, bottom - top);
  }

  finish(): void {
    const { ctx } = this.pen;
    for (const [colour, path] of this.paths) {
      ctx.fillStyle = cssOf(colour);
      ctx.fill(path);
    }
  }
}

/** Which columns of pixels an interval has, from `first[i]` to before `end[i]`; and how long the intervals of a column are. */
export interface Columns {
  first: Int32Array;
  end: Int32Array;
  covered_s: Float64Array;
}

export function columnsOf(pen: Pen, window: Window, width: number): Columns {
  const first = new Int32Array(window.length);
  const end = new Int32Array(window.length);
  const covered_s = new Float64Array(width);
  const to = window.dueTo;
  for (let i = 0; i < window.length; i++) {
    const left = Math.round(pen.x(window.from[i]!) - pen.box.left);
    const right = Math.round(pen.x(to[i]!) - pen.box.left);
    first[i] = Math.min(Math.max(left, 0), width);
    end[i] = Math.min(Math.max(right, left + 1), width);
    const seconds = (to[i]! - window.from[i]!) / 1e9;
    for (let x = first[i]!; x < end[i]!; x++) covered_s[x]! += seconds;
  }
  return { first, end, covered_s };
}

/** Fills a row of cells, of which neighbours of one colour are one; 0 is nothing. */
export function fillRuns(cells: Cells, width: number, top: number, bottom: number, colourAt: (x: number) => Colour): void {
  let [from, colour] = [0, 0];
  for (let x = 0; x <= width; x++) {
    const next = x < width ? colourAt(x) : 0;
    if (next === colour) continue;
    if (colour !== 0) cells.fill(from, x, top, bottom, colour);
    [from, colour] = [x, next];
  }
}

/** 256 colours from stops at equal distances. */
export function ramp(stops: string[]): Uint32Array {
  const colours = stops.map(channels);
  return Uint32Array.from({ length: 256 }, (_, i) => {
    const place = (i / 255) * (stops.length - 1);
    const [from, to] = [colours[Math.floor(place)]!, colours[Math.ceil(place)]!];
    const mix = (c: number) => Math.round(from[c]! + (to[c]! - from[c]!) * (place % 1));
    return packed(mix(0), mix(1), mix(2), 255);
  });
}

/** As `ImageData` has it on a machine that stores the lowest byte first, which all browsers run on. */
export function packed(r: number, g: number, b: number, opacity: number): number {
  return ((opacity << 24) | (b << 16) | (g << 8) | r) >>> 0;
}

/** A packed colour for a style. */
export function cssOf(colour: Colour): string {
  const [r, g, b, a] = [0, 8, 16, 24].map((bits) => (colour >>> bits) & 255) as [number, number, number, number];
  return `rgb(${r} ${g} ${b} / ${a / 255})`;
}
