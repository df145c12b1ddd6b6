/** How many clients (connections or sockets) sent how many queries. */
import type { Run } from "../data/types";
import { count } from "../format/units";
import type { Pen } from "./pen";
import type { Tick } from "./plot";
import { faint, hueOf } from "./theme";
import { ceiling, figureTick, linearTicks, logTicks } from "./ticks";
import type { PointLine, XYPanel } from "./xy";

type Bar = NonNullable<Run["clients"]>[number];

/** With more than this between the fewest and the most clients, the axis is logarithmic. */
const LINEAR_UP_TO = 100;

export function clientsPanel(runs: Run[]): XYPanel | null {
  const shown = runs.flatMap((run, i) =>
    run.clients && run.clients.length > 0 ? [{ run, i, bars: run.clients }] : [],
  );
  if (shown.length === 0) return null;
  const bars = shown.flatMap((s) => s.bars);
  const clients = bars.map((bar) => bar.clients).filter((n) => n > 0);
  const [least, most] = [Math.min(...clients), Math.max(...clients)];
  const log = most / least > LINEAR_UP_TO;
  const from = Math.min(...bars.map((bar) => place(bar.from_queries)));
  const to = Math.max(...bars.map((bar) => place(bar.to_queries + 1)));
  // One bar takes most of the axis, so that both of its bounds have room for their figures.
  const beside = Math.min(1.15, Math.max(1.02, (to / from) ** 0.2));
  const lines = shown.map(({ run, i, bars }): PointLine => ({
    label: shown.length === 1 ? "clients" : run.label,
    unit: "count",
    colour: hueOf(i),
    points: bars.map((bar) => ({ x: Math.sqrt(place(bar.from_queries) * place(bar.to_queries + 1)), y: bar.clients })),
    timeout_ns: 0,
  }));
  const range = (x: number): string => {
    const bar = bars.find((b) => x >= place(b.from_queries) && x <= place(b.to_queries + 1));
    if (!bar) return count(x);
    return bar.from_queries === bar.to_queries
      ? count(bar.from_queries)
      : `${count(bar.from_queries)} to ${count(bar.to_queries)}`;
  };
  return {
    id: "clients",
    title: "Queries per client",
    unit: "number of clients, over the queries that each sent",
    height: 160,
    frame: { x: [from / beside, to * beside], y: log ? [0.5, most * 2] : [0, ceiling(most)] },
    x: {
      log: true,
      ticks: (low, high, most) => boundTicks(bars, Math.log(high / low) / most),
    },
    y: {
      log,
      ticks: (low, high, ticks) =>
        (log ? logTicks(Math.max(1, low), high, ticks) : linearTicks(low, high, ticks)).map((at) => ({
          at,
          text: figureTick(at),
        })),
    },
    xTitle: "queries",
    xText: (x) => `${range(x)} queries`,
    lines,
    paint: (pen) =>
      shown.forEach(({ bars }, i) => paintBars(pen, bars, lines[i]!.colour(pen.colours), shown.length === 1)),
  };
}

/** A client may have sent nothing, which has no place on a logarithmic axis: it stands left of 1. */
function place(queries: number): number {
  return Math.max(queries, 0.5);
}

/** At the bounds of the bars, as far as there is room: round figures would often lie beside all of them. */
function boundTicks(bars: Bar[], apart: number): Tick[] {
  const bounds = [...new Set(bars.flatMap((bar) => [bar.from_queries, bar.to_queries + 1]))].sort((a, b) => a - b);
  const kept = bounds.slice(0, 1);
  const isFar = (bound: number) => Math.log(place(bound) / place(kept.at(-1)!)) >= apart * 0.9;
  for (const bound of bounds) if (isFar(bound)) kept.push(bound);
  return kept.map((bound) => ({ at: place(bound), text: figureTick(bound) }));
}

function paintBars(pen: Pen, bars: Bar[], colour: string, filled: boolean): void {
  const { ctx, ratio } = pen;
  for (const bar of bars) {
    if (bar.clients === 0) continue;
    const left = pen.x(place(bar.from_queries));
    const right = Math.max(left + 2 * ratio, pen.x(place(bar.to_queries + 1)) - ratio);
    const top = pen.y(bar.clients);
    ctx.fillStyle = faint(colour, filled ? 0.75 : 0.2);
    ctx.fillRect(left, top, right - left, pen.bottom - top);
    ctx.fillStyle = colour;
    ctx.fillRect(left, top - ratio, right - left, 2 * ratio);
  }
}
