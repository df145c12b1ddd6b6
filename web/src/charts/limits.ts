/** The lines of what was expected of a run (`--expect`), in the charts that show the figure. */
import type { Expectation, Limit, Run } from "../data/types";
import { BEYOND_HEIGHT, type Pen, type Steps } from "./pen";

/** A limit of the runs on the page. */
export interface ShownLimit extends Limit {
  /** "✓ p99<5ms" */
  label: string;
  /** The label of the run that it is of; of several, the first. */
  run: string;
}

const SIGNS: Record<Expectation["state"], string> = { pass: "✓ ", fail: "✗ ", undecided: "? " };

/** Those of a kind, each once; the sign tells the outcome where all runs have the same, and the name whose it is. */
export function limitsOf(runs: Run[], of: Limit["of"]): ShownLimit[] {
  const known = new Map<string, { limit: Limit; states: Set<Expectation["state"]>; of: string[] }>();
  for (const run of runs) {
    for (const { text, state, limit } of run.expectations) {
      if (limit?.of !== of) continue;
      const same = known.get(text) ?? { limit, states: new Set(), of: [] };
      known.set(text, same);
      same.states.add(state);
      same.of.push(run.label);
    }
  }
  return [...known].map(([text, { limit, states, of }]) => {
    const [state] = states;
    const sign = states.size === 1 ? SIGNS[state!] : "";
    const [run] = of as [string];
    return { ...limit, run, label: of.length === runs.length ? sign + text : `${sign}${text}, ${of.join(", ")}` };
  });
}

/** Further beyond all figures than this factor, a limit would press them together: the edge of the chart names it. */
const FAR = 10;

/** The limits that an axis must reach, for figures from `low` to `high`. */
export function reachable(limits: number[], [low, high]: [number, number], scale: "log" | "linear"): number[] {
  const near = scale === "log" ? FAR : FAR / 4;
  // Where all figures are 0 there is nothing to press together.
  return limits.filter((limit) => (high === 0 || limit <= high * near) && (scale === "linear" || limit >= low / FAR));
}

/** A line through the whole chart, or one that ends at `to`, with its name at its left end. */
export interface LimitLine {
  label: string;
  value: number;
  /** On the x axis. */
  to?: number;
}

const DASH = [7, 4];
const LETTERS_HEIGHT = 14;

/** `halo`: where they are drawn over a heat map. */
export function paintLimits(pen: Pen, limits: LimitLine[], halo = false): void {
  const labels = new Labels(pen);
  for (const { label, value, to } of limits) {
    const y = pen.y(value);
    if (y < pen.box.top || y > pen.bottom) {
      labels.put(`${label} ${y < pen.box.top ? "↑" : "↓"}`, Math.min(Math.max(y, pen.box.top), pen.bottom));
      continue;
    }
    const end = to === undefined ? pen.right : pen.x(to);
    const path = pen.path();
    path.moveTo(pen.box.left, y);
    path.lineTo(end, y);
    if (to !== undefined) path.lineTo(end, y + 7 * pen.ratio);
    pen.stroke(path, { colour: pen.colours.ink, width: 1.25, dash: DASH, halo });
    labels.put(label, y);
  }
}

/** Limits that follow the load. */
export function paintLimitSteps(pen: Pen, limits: { label: string; steps: Steps }[]): void {
  const labels = new Labels(pen);
  for (const { label, steps } of limits) {
    const first = steps.values.find((value) => !Number.isNaN(value));
    if (first === undefined) continue;
    pen.steps(steps, { colour: pen.colours.ink, width: 1.25, dash: DASH });
    const y = pen.y(first);
    labels.put(y < pen.box.top ? `${label} ↑` : label, Math.max(y, pen.box.top));
  }
}

/** Names at the left end, above their lines where there is room, and beside each other where they would overlap. */
class Labels {
  private readonly put_at: { y: number; right: number }[] = [];

  constructor(private readonly pen: Pen) {}

  put(text: string, line_y: number): void {
    const { pen } = this;
    const height = LETTERS_HEIGHT * pen.ratio;
    // Not over the band of what is beyond the timeout.
    const isAbove = line_y - height >= pen.box.top + BEYOND_HEIGHT * pen.ratio;
    const y = isAbove ? line_y - height / 2 : line_y + height / 2 + pen.ratio;
    const left = this.put_at
      .filter((other) => Math.abs(other.y - y) < height)
      .reduce((x, { right }) => Math.max(x, right + 12 * pen.ratio), pen.box.left + 6 * pen.ratio);
    const width = pen.textWidth(text);
    pen.ctx.save();
    pen.ctx.globalAlpha = 0.8;
    pen.ctx.fillStyle = pen.colours.paper;
    pen.ctx.fillRect(left - 2 * pen.ratio, y - height / 2, width + 4 * pen.ratio, height - pen.ratio);
    pen.ctx.restore();
    pen.text(text, left, y, pen.colours.ink);
    this.put_at.push({ y, right: left + width });
  }
}
