/**
 * A comparison drawn: per metric the figure of each run, A above B on one axis, and beside it the difference of B to A
 * with its interval. An interval that does not touch the line of no difference is a difference that these runs show.
 */
import type { ComparedMetric, Comparison, Run } from "../data/types";
import { change, isFactor } from "../format/change";
import { count, duration, percent, rate, setting } from "../format/units";
import type { Chart, ChartOptions, Charts, ChartTable, Theme, Value } from "./api";
import { laidOutSvg } from "./laidout";
import { forget, register } from "./registry";
import { palette } from "./theme";
import { linearTicks, logTicks, percentTick } from "./ticks";

export class Intervals implements Charts, Chart {
  readonly id = "intervals";
  readonly title = "Difference of B to A";
  readonly element = document.createElement("figure");
  private theme: Theme;

  constructor(
    container: HTMLElement,
    private readonly comparison: Comparison,
    runs: Run[],
    { theme }: ChartOptions,
  ) {
    this.theme = theme;
    this.element.className = "chart intervals";
    this.element.dataset.chart = this.id;
    const { metrics } = comparison;
    // Shares are compared by their difference, which has no place on the axis of the ratios of everything else.
    const ratios = metrics.filter(({ unit }) => unit !== "share");
    const axis = axisOf(ratios);
    const timeouts = new Set(runs.map(({ timeout_ns }) => timeout_ns));
    this.element.append(head(comparison), ...metrics.map((metric) => row(metric, axis, timeouts)));
    if (ratios.length > 0) this.element.append(axisRow(axis));
    this.setTheme(theme);
    container.append(this.element);
    register([this]);
  }

  charts(): Chart[] {
    return [this];
  }

  setTheme(theme: Theme): void {
    this.theme = theme;
    const colours = palette(theme);
    const names = {
      a: colours.asked,
      b: colours.answered,
      better: colours.ok,
      worse: colours.timedOut,
      none: colours.muted,
    };
    for (const [name, colour] of Object.entries(names)) this.element.style.setProperty(`--interval-${name}`, colour);
  }

  range(): null {
    return null;
  }

  svg(): string {
    return laidOutSvg(this.element, palette(this.theme).paper);
  }

  /** Of the metric with this number. */
  valuesAt(index: number): Record<string, Value> {
    const { difference, from, to } = this.comparison.metrics[index] ?? { difference: null, from: null, to: null };
    return { difference, from, to };
  }

  table(): ChartTable {
    const right = (title: string) => ({ title, unit: "", align: "right" as const });
    return {
      columns: [
        { title: "", unit: "", align: "left" },
        right("A"),
        right("B"),
        right("difference"),
        right("from"),
        right("to"),
        { title: "verdict", unit: "", align: "left" },
      ],
      rows: this.comparison.metrics.map((metric) => {
        const { name, a, b, difference, from, to, words } = metric;
        return [name, a, b, ...[difference, from, to].map((value) => change(value, metric)), words];
      }),
    };
  }

  destroy(): void {
    forget([this]);
    this.element.remove();
  }
}

function head({ a, b }: Comparison): HTMLElement {
  const caption = document.createElement("figcaption");
  caption.className = "intervals-head";
  const runs = part("intervals-runs");
  runs.append(key("a", `A: ${a.title}`), " ", key("b", `B: ${b.title}`));
  caption.append(
    part("intervals-name"),
    runs,
    part("intervals-difference", "Difference of B to A, 95 % interval"),
    part("intervals-words"),
  );
  return caption;
}

function key(side: "a" | "b", title: string): HTMLElement {
  const element = part("intervals-key");
  const dot = svg("svg", { class: "intervals-dot", width: "10", height: "10", "aria-hidden": "true" });
  dot.append(mark(side, "50%", 5));
  element.append(dot, title);
  return element;
}

function row(metric: ComparedMetric, axis: Axis, timeouts: Set<number>): HTMLElement {
  const element = document.createElement("div");
  element.className = `intervals-row intervals-${metric.verdict}`;
  const name = part("intervals-name", metric.name);
  element.append(name, runsOf(metric, timeouts), differenceOf(metric, axis), words(metric));
  return element;
}

/** A circle for A, a filled one for B: not by colour alone. */
function mark(side: "a" | "b", x: string, y: number): SVGElement {
  return svg("circle", { class: `intervals-${side}`, cx: x, cy: String(y), r: "4" });
}

function runsOf({ a_values, b_values, a, b, unit }: ComparedMetric, timeouts: Set<number>): HTMLElement {
  const known = [...a_values, ...b_values].filter((value) => value !== null);
  const element = part("intervals-runs");
  if (known.length === 0) return element;
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const place = (value: number) => `${high > low ? 3 + (94 * (value - low)) / (high - low) : 50}%`;
  const picture = svg("svg", { width: "100%", height: "44", role: "img", "aria-label": `A ${a}, B ${b}` });
  const dots = (values: (number | null)[], side: "a" | "b", y: number) => {
    picture.append(svg("line", { class: "intervals-guide", x1: "0", x2: "100%", y1: String(y), y2: String(y) }));
    for (const value of values) if (value !== null) picture.append(mark(side, place(value), y));
  };
  dots(a_values, "a", 8);
  dots(b_values, "b", 22);
  for (const [value, x, anchor] of [
    [low, "0", "start"],
    [high, "100%", "end"],
  ] as const) {
    if (anchor === "end" && high === low) continue;
    const label = svg("text", { class: "intervals-tick", x, y: "40", "text-anchor": anchor });
    label.textContent = figure(value, unit, timeouts);
    picture.append(label);
  }
  element.append(picture);
  return element;
}

function differenceOf(metric: ComparedMetric, { place }: Axis): HTMLElement {
  const { difference, from, to, unit } = metric;
  const element = part("intervals-difference");
  const interval = from === null || to === null ? "" : `, from ${change(from, metric)} to ${change(to, metric)}`;
  const label = difference === null ? "no difference can be given" : `${change(difference, metric)}${interval}`;
  if (unit === "share") {
    element.textContent = label;
    return element;
  }
  const picture = svg("svg", { width: "100%", height: "30", role: "img", "aria-label": label });
  picture.append(svg("line", { class: "intervals-zero", x1: "50%", x2: "50%", y1: "0", y2: "30" }));
  if (difference !== null && from !== null && to !== null) {
    picture.append(svg("line", { class: "intervals-interval", x1: place(from), x2: place(to), y1: "15", y2: "15" }));
    for (const end of [from, to])
      picture.append(svg("line", { class: "intervals-end", x1: place(end), x2: place(end), y1: "10", y2: "20" }));
  }
  if (difference !== null)
    picture.append(svg("circle", { class: "intervals-estimate", cx: place(difference), cy: "15", r: "5" }));
  element.append(picture);
  return element;
}

const SIGNS = {
  better: "✓ better",
  worse: "✗ worse",
  no_difference: "= no difference shown",
  may_be_ours: "? may be ours",
  not_compared: "? not compared",
  too_few: "? too few runs",
};

function words({ verdict, words }: ComparedMetric): HTMLElement {
  const element = part("intervals-words");
  const sign = document.createElement("b");
  sign.textContent = SIGNS[verdict];
  element.append(sign, document.createElement("br"), words);
  return element;
}

/** Below the differences. */
function axisRow({ place, ticks }: Axis): HTMLElement {
  const element = document.createElement("div");
  element.className = "intervals-row intervals-axis";
  element.setAttribute("aria-hidden", "true");
  const picture = svg("svg", { width: "100%", height: "18" });
  for (const { share, text } of ticks) {
    const label = svg("text", { class: "intervals-tick", x: place(share), y: "14", "text-anchor": "middle" });
    label.textContent = text;
    picture.append(label);
  }
  const differences = part("intervals-difference");
  differences.append(picture);
  element.append(part("intervals-name"), part("intervals-runs"), differences, part("intervals-words"));
  return element;
}

/** Where a difference is drawn, and the round values of the axis. */
interface Axis {
  place(share: number): string;
  ticks: { share: number; text: string }[];
}

/** As percentages around 0; as factors around 1 on a logarithmic axis where some metric is told by its factor. */
function axisOf(metrics: ComparedMetric[]): Axis {
  const shares = metrics.flatMap(({ from, to, difference }) => [from, to, difference].map((value) => value ?? 0));
  return metrics.some(isFactor) ? factors(shares) : percentages(shares);
}

function percentages(shares: number[]): Axis {
  const reach = Math.max(0.01, ...shares.map(Math.abs)) * 1.05;
  const text = (tick: number) =>
    Math.abs(tick) < 1e-12 ? "0" : `${tick > 0 ? "+" : "−"}${percentTick(Math.abs(tick))}`;
  return {
    place: (share) => `${50 + (47 * share) / reach}%`,
    ticks: linearTicks(-reach, reach, 5).map((share) => ({ share, text: text(share) })),
  };
}

function factors(shares: number[]): Axis {
  const sizes = shares.map((share) => Math.abs(Math.log(1 + share))).filter(Number.isFinite);
  const reach = Math.max(Math.LN2, ...sizes) * 1.05;
  // A side of 0 lies at the edge.
  const place = (share: number) => `${50 + 47 * Math.max(-1, Math.log(1 + share) / reach)}%`;
  const sides = logTicks(2, Math.exp(reach), 3).flatMap((factor) => [
    { share: factor - 1, text: `× ${count(factor)}` },
    { share: 1 / factor - 1, text: `÷ ${count(factor)}` },
  ]);
  return { place, ticks: [{ share: 0, text: "1" }, ...sides] };
}

/** A percentile beyond the timeout has the timeout as its value, which no measured duration is to the nanosecond. */
function figure(value: number, unit: ComparedMetric["unit"], timeouts: Set<number>): string {
  if (unit === "ns") return timeouts.has(value) ? `>${setting(value)}` : duration(value);
  return unit === "qps" ? `${rate(value)}/s` : percent(value);
}

function part(name: string, text = ""): HTMLElement {
  const element = document.createElement("span");
  element.className = name;
  element.textContent = text;
  return element;
}

function svg(name: string, attributes: Record<string, string>): SVGElement {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}
