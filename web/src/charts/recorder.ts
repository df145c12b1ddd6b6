/**
 * What is drawn on a canvas, as SVG: while a context is recorded, each call still draws, and is written down too, with the
 * styles that the context has then. So a chart as a file is drawn by the code that draws it on the page, axes included.
 *
 * Of a context it knows what the charts and uPlot use of it: filled and stroked paths, rectangles, full circles, texts,
 * clipping, and places moved by `translate`.
 */

const recorders = new WeakMap<CanvasRenderingContext2D, Recorder>();

/** What `draw` draws on the context. */
export function recorded(ctx: CanvasRenderingContext2D, draw: () => void): string {
  const recorder = new Recorder(ctx);
  recorders.set(ctx, recorder);
  try {
    draw();
  } finally {
    recorders.delete(ctx);
    recorder.stop();
  }
  return recorder.svg();
}

/** Whether what is drawn is wanted as shapes, not as pixels. */
export function isRecorded(ctx: CanvasRenderingContext2D): boolean {
  return recorders.has(ctx);
}

/** A path for this context: a browser does not give back what a `Path2D` is made of. */
export function pathFor(ctx: CanvasRenderingContext2D): Path2D {
  return isRecorded(ctx) ? writtenPath() : new Path2D();
}

/** A text within markup. */
export function escaped(text: string): string {
  const names: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
  // Characters that XML has no place for.
  return text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd").replace(/[&<>"]/g, (c) => names[c]!);
}

/** A place or length: a hundredth of a pixel is seen by nobody. */
export function figure(value: number): string {
  return String(Number(value.toFixed(2)));
}

/** What the paths of recorded contexts are made of. */
const written = new WeakMap<Path2D, { d: string }>();

function writtenPath(): Path2D {
  const path = new Path2D();
  const data = { d: "" };
  written.set(path, data);
  const also = (name: "moveTo" | "lineTo" | "rect" | "closePath", write: Method): void => {
    const draw = (path[name] as Method).bind(path);
    Reflect.set(path, name, (...values: never[]) => ((data.d += String(write(...values))), draw(...values)));
  };
  also("moveTo", moveTo);
  also("lineTo", lineTo);
  also("rect", rect);
  also("closePath", () => "Z");
  return path;
}

const moveTo = (x: number, y: number) => `M${figure(x)} ${figure(y)}`;
const lineTo = (x: number, y: number) => `L${figure(x)} ${figure(y)}`;
const rect = (x: number, y: number, width: number, height: number) =>
  `${moveTo(x, y)}h${figure(width)}v${figure(height)}h${figure(-width)}Z`;
const circle = (x: number, y: number, r: number) =>
  `${moveTo(x - r, y)}a${figure(r)} ${figure(r)} 0 1 0 ${figure(2 * r)} 0a${figure(r)} ${figure(r)} 0 1 0 ${figure(-2 * r)} 0Z`;

/** Where a text stands relative to its place. */
const ANCHORS: Record<string, string> = { center: "middle", right: "end", end: "end" };
const BASELINES: Record<string, string> = { middle: ".35em", top: ".8em", hanging: ".8em", bottom: "-.2em" };

class Recorder {
  private readonly parts: string[] = [];
  private readonly methods: string[];
  /** The path of the context. */
  private d = "";
  /** For each `save` how many groups have been opened after it. */
  private readonly groups = [0];
  private clips = 0;

  constructor(private readonly ctx: CanvasRenderingContext2D) {
    const calls = this.calls();
    this.methods = Object.keys(calls);
    for (const [name, write] of Object.entries(calls)) {
      const draw = (Reflect.get(ctx, name) as Method).bind(ctx);
      // Written down first: a context that is restored has other styles.
      Reflect.set(ctx, name, (...values: never[]) => (write(...values), draw(...values)));
    }
  }

  stop(): void {
    for (const name of this.methods) Reflect.deleteProperty(this.ctx, name);
  }

  svg(): string {
    return this.parts.join("\n");
  }

  private calls(): Record<string, Method> {
    return {
      save: () => void this.groups.push(0),
      restore: () => this.parts.push("</g>".repeat(this.groups.length > 1 ? this.groups.pop()! : 0)),
      beginPath: () => void (this.d = ""),
      moveTo: (x: number, y: number) => void (this.d += moveTo(x, y)),
      lineTo: (x: number, y: number) => void (this.d += lineTo(x, y)),
      rect: (x: number, y: number, width: number, height: number) => void (this.d += rect(x, y, width, height)),
      arc: (x: number, y: number, r: number) => void (this.d += circle(x, y, r)),
      closePath: () => void (this.d += "Z"),
      clip: () => this.clip(),
      fill: (path?: Path2D) => this.fill(this.of(path)),
      stroke: (path?: Path2D) => this.stroke(this.of(path)),
      fillRect: (x: number, y: number, width: number, height: number) => this.fill(rect(x, y, width, height)),
      fillText: (text: string, x: number, y: number) => this.text(text, x, y),
    } as Record<string, Method>;
  }

  private of(path: Path2D | undefined): string {
    return path ? (written.get(path)?.d ?? "") : this.d;
  }

  private clip(): void {
    const id = `clip${++this.clips}`;
    this.parts.push(`<clipPath id="${id}"><path d="${this.d}"/></clipPath><g clip-path="url(#${id})">`);
    this.groups[this.groups.length - 1]! += 1;
  }

  private fill(d: string): void {
    if (d !== "") this.parts.push(`<path d="${d}" ${this.paint("fill", this.ctx.fillStyle)}${this.place()}/>`);
  }

  private stroke(d: string): void {
    if (d === "") return;
    const { ctx } = this;
    const dash = ctx.getLineDash().map(figure);
    this.parts.push(
      `<path d="${d}" fill="none" ${this.paint("stroke", ctx.strokeStyle)} stroke-width="${figure(ctx.lineWidth)}"` +
        `${ctx.lineJoin === "miter" ? "" : ` stroke-linejoin="${ctx.lineJoin}"`}` +
        `${dash.length > 0 ? ` stroke-dasharray="${dash.join(" ")}"` : ""}${this.place()}/>`,
    );
  }

  private text(text: string, x: number, y: number): void {
    const { ctx } = this;
    const size = /([\d.]+)px/.exec(ctx.font)?.[1] ?? "12";
    const [anchor, baseline] = [ANCHORS[ctx.textAlign], BASELINES[ctx.textBaseline]];
    this.parts.push(
      `<text x="${figure(x)}" y="${figure(y)}"${baseline ? ` dy="${baseline}"` : ""} font-size="${size}"` +
        `${anchor ? ` text-anchor="${anchor}"` : ""} ${this.paint("fill", ctx.fillStyle)}${this.place()}>${escaped(text)}</text>`,
    );
  }

  /** Programs that draw SVG take an opacity beside a colour, not within it. */
  private paint(kind: "fill" | "stroke", style: string | CanvasGradient | CanvasPattern): string {
    const [, channels, own = "1"] = /^rgba\((.*), ([\d.]+)\)$/.exec(String(style)) ?? [];
    const opacity = Number(own) * this.ctx.globalAlpha;
    const colour = channels === undefined ? String(style) : `rgb(${channels})`;
    return `${kind}="${colour}"${opacity < 1 ? ` ${kind}-opacity="${figure(opacity)}"` : ""}`;
  }

  private place(): string {
    const { e, f } = this.ctx.getTransform();
    return e === 0 && f === 0 ? "" : ` transform="translate(${figure(e)} ${figure(f)})"`;
  }
}

type Method = (...values: never[]) => unknown;
