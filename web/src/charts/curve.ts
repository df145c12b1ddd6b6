/**
 * The logarithmic percentile curve: for each share of the slowest queries, the latency that they have at least. The
 * further to the right, the rarer and the slower. What was not answered is a wall up to the timeout.
 */
import type { Curve, Run } from "../data/types";
import { percent, setting } from "../format/units";
import type { Scale } from "./api";
import { limitsOf, paintLimits, reachable } from "./limits";
import type { Pen } from "./pen";
import { dashOf, hueOf } from "./theme";
import { ceiling, durationTick, linearTicks, logTicks, percentTick } from "./ticks";
import { type PointLine, type XYPanel, styleOf } from "./xy";
import { roundDown, roundUp } from "./yaxis";

/** The rarest that is shown: one in 100,000. */
const RAREST = 1e-5;

export function curvePanel(runs: Run[], scale: Scale = "log"): XYPanel | null {
  const lines = runs.length === 1 ? linesOf(runs[0]!) : runs.flatMap((run, i) => headline(run, i));
  const known = lines.flatMap(({ points }) => points.map(({ y }) => y).filter((y) => y > 0 && y < Infinity));
  const timeouts = lines.filter((line) => line.unanswered > 0).map(({ timeout_ns }) => timeout_ns);
  if (known.length + timeouts.length === 0) return null;
  const rarest = Math.min(0.1, ...lines.flatMap(({ points }) => points.map(({ x }) => x)));
  // Without any answer there is the wall alone, which needs a foot to stand on.
  const [least, most] = known.length > 0 ? [Math.min(...known), Math.max(...known)] : [Math.min(...timeouts) / 100, 0];
  const limits = limitsOf(runs, "latency").filter(({ slowest }) => slowest !== null);
  const values = limits.map(({ value }) => value);
  const near = reachable(values, [least, Math.max(most, ...timeouts)], scale);
  const walls = timeouts.map((timeout_ns) => timeout_ns * 1.25);
  const [low, high] =
    scale === "log"
      ? logEnds(Math.min(least, ...near), Math.max(most, ...near), walls)
      : [0, Math.max(ceiling(Math.max(most, ...near)), ...walls)];
  const percentiles = runs.length === 1 ? (runs[0]!.curves[0]?.title ?? "latency") : `${runs[0]!.headline} time`;
  const words = scale === "log" ? "logarithmic" : "linear";
  return {
    id: "curve",
    title: "Latency of the slowest queries",
    unit: runs.length === 1 && runs[0]!.curves.length > 1 ? words : `${percentiles}, ${words}`,
    height: 320,
    frame: { x: [Math.max(RAREST, 10 ** Math.floor(Math.log10(rarest) + 1e-9)), 1], y: [low, high] },
    x: {
      log: true,
      reversed: true,
      ticks: (from, to, most) => logTicks(from, to, Math.min(most, 8)).map((at) => ({ at, text: percentTick(at) })),
    },
    y: {
      log: scale === "log",
      ticks: (from, to, most) =>
        (scale === "log" ? logTicks : linearTicks)(from, to, most).map((at) => ({ at, text: durationTick(at) })),
    },
    xTitle: "Slowest",
    xText: (share) =>
      `slowest ${share === 1 ? "100 %" : share < 1e-4 ? `${Number((share * 100).toPrecision(2))} %` : percent(share)}`,
    lines,
    note: noteOf(lines),
    under: (pen) => paintWalls(pen, lines),
    shape: (y) => (y === Infinity ? NaN : y),
    // Below its limit, and as far as its share: there the curve must be.
    over: (pen) =>
      paintLimits(
        pen,
        limits.map(({ label, value, slowest }) => ({ label, value, to: Math.max(slowest!, pen.range[0]) })),
      ),
  };
}

function logEnds(least: number, most: number, walls: number[]): [number, number] {
  const low = roundDown(least);
  return [low, Math.max(roundUp(Math.max(low, most)), low * 10, ...walls)];
}

interface CurveLine extends PointLine {
  count: number;
  unanswered: number;
}

function linesOf(run: Run): CurveLine[] {
  return run.curves.map((curve, i) => lineOf(run, curve, curve.title, i));
}

function headline(run: Run, i: number): CurveLine[] {
  const [curve] = run.curves;
  return curve ? [lineOf(run, curve, run.label, i)] : [];
}

function lineOf(run: Run, curve: Curve, label: string, index: number): CurveLine {
  const points = curve.slowest
    .map((x, i) => ({ x, y: curve.ns[i] ?? Infinity }))
    .filter(({ x }) => x >= RAREST * 0.999);
  const { count, unanswered } = curve;
  // Beyond the timeout there is the wall, which stands exactly where the last answer is, not at the next point.
  const style = { colour: hueOf(index), dash: dashOf(index), width: 2, dots: points.length === 1 };
  return { label, unit: "ns", ...style, points, timeout_ns: run.timeout_ns, count, unanswered };
}

function noteOf(lines: CurveLine[]): string {
  const lost = lines.filter(({ unanswered }) => unanswered > 0);
  if (lines.every(({ count, unanswered }) => count === 1 && unanswered === 0))
    return "There is one query, whose latency is a point on the left.";
  const parts = lost.map(
    ({ label, unanswered, count, timeout_ns }) =>
      `${lines.length > 1 ? `${label}: ` : ""}${percent(unanswered / count)} had no answer within ${setting(timeout_ns)}`,
  );
  return ["Left: all queries. Right: only the slowest.", ...(parts.length > 0 ? [`${parts.join("; ")}.`] : [])].join(
    " ",
  );
}

function paintWalls(pen: Pen, lines: CurveLine[]): void {
  for (const line of lines) {
    if (line.unanswered === 0) continue;
    const style = styleOf(line, pen);
    const wall = Math.max(line.unanswered / line.count, RAREST);
    const last = line.points.filter(({ y }) => y < Infinity).at(-1);
    const [rarest] = pen.range;
    // From the slowest answer up, then along the timeout.
    const foot = last ? [last, { x: wall, y: last.y }] : [];
    pen.line([...foot, { x: wall, y: line.timeout_ns }, { x: rarest, y: line.timeout_ns }], style);
    if (lines.length > 1) continue;
    const [x, y] = [pen.x(wall), pen.y(line.timeout_ns)];
    pen.ctx.save();
    pen.ctx.globalAlpha = 0.08;
    pen.ctx.fillStyle = style.colour;
    pen.ctx.fillRect(x, y, pen.right - x, pen.bottom - y);
    pen.ctx.restore();
    pen.text(
      `no answer within ${setting(line.timeout_ns)}`,
      pen.right - 6 * pen.ratio,
      y + 12 * pen.ratio,
      pen.colours.muted,
      "right",
    );
  }
}
