/**
 * Load against response: what was answered at each rate that was asked, what share of it that is, and how late.
 *
 * The two graphs of resperf can be read off it: queries sent, responses and failures per second in the first panel, the
 * average latency in the third; with the rate that was asked on the x axis instead of the time.
 */
import type { LoadPoint, LoadResponse, Run } from "../data/types";
import { rate } from "../format/units";
import type { Scale } from "./api";
import { type ShownLimit, limitsOf, paintLimits } from "./limits";
import { BEYOND_HEIGHT, type Pen } from "./pen";
import { dashOf, hueOf } from "./theme";
import { ceiling, figureTick, linearTicks, percentTick } from "./ticks";
import type { Point, PointLine, XYPanel } from "./xy";
import { durationAxis } from "./yaxis";

/** A load response to draw. */
interface Shown {
  label: string;
  index: number;
  points: LoadPoint[];
  knee: LoadResponse["knee"];
  timeout_ns: number;
}

export function loadPanels(runs: Run[], scale: Scale = "log"): XYPanel[] | null {
  const shown = shownOf(runs);
  const points = shown.flatMap((s) => s.points);
  if (points.length < 2) return null;
  const x: [number, number] = [0, Math.max(...points.map((p) => p.asked_qps)) * 1.02 || 1];
  const [knee] = shown.length === 1 ? [shown[0]!.knee] : [null];
  const common = {
    x: {
      ticks: (low: number, high: number, most: number) =>
        linearTicks(low, high, most).map((at) => ({ at, text: figureTick(at, high) })),
    },
    xTitle: "asked, queries/s",
    xText: (asked_qps: number) => `asked ${rate(asked_qps)}/s`,
    under: (pen: Pen) => paintKnee(pen, knee, false),
  };
  return [
    answeredPanel(shown, x, common, knee),
    sharePanel(shown, x, common, limitsOf(runs, "loss")),
    latencyPanel(shown, x, common, scale, limitsOf(runs, "latency")),
  ];
}

type Common = Pick<XYPanel, "x" | "xTitle" | "xText" | "under">;

function answeredPanel(shown: Shown[], x: [number, number], common: Common, knee: LoadResponse["knee"]): XYPanel {
  const rates = (
    s: Shown,
    label: string,
    colour: PointLine["colour"],
    value: (p: LoadPoint) => number,
    style: Partial<PointLine> = {},
  ): PointLine => ({
    label,
    unit: "qps",
    colour,
    points: s.points.map((p) => ({ x: p.asked_qps, y: value(p) })),
    timeout_ns: s.timeout_ns,
    ...style,
  });
  const asked = rates(
    { ...shown[0]!, points: shown.flatMap((s) => s.points).sort((a, b) => a.asked_qps - b.asked_qps) },
    "asked",
    (p) => p.asked,
    (p) => p.asked_qps,
    { width: 1 },
  );
  const lines =
    shown.length === 1
      ? [
          asked,
          rates(
            shown[0]!,
            "sent",
            (p) => p.ink,
            (p) => p.sent_qps,
            { dash: [1, 3], width: 1.25 },
          ),
          rates(
            shown[0]!,
            "answered",
            (p) => p.answered,
            (p) => p.answered_qps,
            { dots: true, width: 2 },
          ),
          rates(
            shown[0]!,
            "failed",
            (p) => p.timedOut,
            (p) => p.failed_qps,
            { dots: true },
          ),
        ]
      : [
          asked,
          ...shown.map((s) => rates(s, s.label, hue(s), (p) => p.answered_qps, { dots: true, dash: dashOf(s.index) })),
        ];
  const high = ceiling(Math.max(...lines.flatMap((line) => line.points.map(({ y }) => y))));
  return {
    id: "load",
    title: shown.length === 1 ? "Answered at each rate" : "Answered at each rate, by run",
    unit: "queries/s, over the rate asked",
    height: 240,
    frame: { x, y: [0, high] },
    y: { ticks: (low, top, most) => linearTicks(low, top, most).map((at) => ({ at, text: figureTick(at, top) })) },
    lines,
    ...(knee ? { note: kneeText(knee) } : {}),
    ...common,
    under: (pen) => paintKnee(pen, knee, true),
  };
}

function kneeText({ held_qps, lost_qps, rule }: NonNullable<LoadResponse["knee"]>): string {
  const held = held_qps === null ? "No rate was held" : `Held up to ${rate(held_qps)} queries/s`;
  const lost = lost_qps === null ? "" : `, not at ${rate(lost_qps)} queries/s`;
  return `${held}${lost}. Rule: ${rule}`;
}

function sharePanel(shown: Shown[], x: [number, number], common: Common, losses: ShownLimit[]): XYPanel {
  const lines = shown.map((s): PointLine => ({
    label: shown.length === 1 ? "answered" : s.label,
    unit: "share",
    colour: shown.length === 1 ? (p) => p.answered : hue(s),
    dots: true,
    dash: shown.length === 1 ? [] : dashOf(s.index),
    points: s.points.map((p) => ({ x: p.asked_qps, y: p.answered_share ?? NaN })),
    timeout_ns: s.timeout_ns,
  }));
  return {
    id: "load-share",
    title: "Share answered",
    unit: "of the queries asked",
    height: 130,
    frame: { x, y: [0, 1.05] },
    y: { ticks: (low, _high, most) => linearTicks(low, 1, most).map((at) => ({ at, text: percentTick(at) })) },
    lines,
    ...common,
    over: (pen) =>
      paintLimits(
        pen,
        losses.map(({ label, value }) => ({ label, value: 1 - value })),
      ),
  };
}

function latencyPanel(shown: Shown[], x: [number, number], common: Common, scale: Scale, limits: ShownLimit[]): XYPanel {
  const latency = (
    s: Shown,
    label: string,
    colour: PointLine["colour"],
    value: (p: LoadPoint) => number | "beyond" | null,
    style: Partial<PointLine> = {},
  ): PointLine => ({
    label,
    unit: "ns",
    colour,
    dots: true,
    points: s.points.map((p): Point => ({ x: p.asked_qps, y: figure(value(p)) })),
    timeout_ns: s.timeout_ns,
    ...style,
  });
  const lines =
    shown.length === 1
      ? [
          latency(
            shown[0]!,
            "average",
            (p) => p.muted,
            (p) => p.avg_ns,
            { dash: [4, 3] },
          ),
          latency(
            shown[0]!,
            "p50",
            (p) => p.p50,
            (p) => p.p50_ns,
          ),
          latency(
            shown[0]!,
            "p99",
            (p) => p.p99,
            (p) => p.p99_ns,
          ),
        ]
      : shown.map((s) => latency(s, `p99, ${s.label}`, hue(s), (p) => p.p99_ns, { dash: dashOf(s.index) }));
  const height = 200;
  const axis = durationAxis(
    scale,
    lines.map((line) => Float64Array.from(line.points, ({ y }) => y)),
    height,
    { timeout_ns: shown[0]!.timeout_ns, limits: limits.map(({ value }) => value) },
  );
  return {
    id: "load-latency",
    title: "Latency at each rate",
    unit: scale === "log" ? "logarithmic" : "linear",
    height,
    frame: { x, y: axis.range },
    y: { log: scale === "log", ticks: axis.ticks },
    lines,
    ...common,
    over: (pen) => paintLimits(pen, limits),
  };
}

function figure(value: number | "beyond" | null): number {
  return value === "beyond" ? Infinity : (value ?? NaN);
}

function hue({ index }: Shown): PointLine["colour"] {
  return hueOf(index);
}

function shownOf(runs: Run[]): Shown[] {
  return runs.flatMap(({ label, timeout_ns, load_response }, index) =>
    load_response && load_response.points.length > 0 ? [{ label, index, timeout_ns, ...load_response }] : [],
  );
}

/** Up to where all was held, and from where on not. */
function paintKnee(pen: Pen, knee: LoadResponse["knee"] | undefined, labels: boolean): void {
  const mark = (qps: number | null, colour: string, dash: number[], label: string, side: "left" | "right") => {
    if (qps === null) return;
    const x = pen.x(qps);
    // At the end of the axis the second label stands below the first.
    const below = side === "left" && x + pen.textWidth(label) + 5 * pen.ratio > pen.right;
    const align = below ? "right" : side;
    const path = pen.path();
    path.moveTo(x, pen.box.top);
    path.lineTo(x, pen.bottom);
    pen.stroke(path, { colour, width: 1.25, dash });
    if (labels)
      pen.text(
        label,
        x + (align === "right" ? -5 : 5) * pen.ratio,
        pen.box.top + BEYOND_HEIGHT * (below ? 1.5 : 0.5) * pen.ratio,
        pen.colours.ink,
        align,
      );
  };
  mark(knee?.held_qps ?? null, pen.colours.ok, [], `✓ held ${rate(knee?.held_qps ?? 0)}/s`, "right");
  mark(knee?.lost_qps ?? null, pen.colours.timedOut, [4, 3], "✗ not held", "left");
}
