import { describe, expect, it } from "vitest";
import { clientsPanel } from "../src/charts/clients";
import { curvePanel } from "../src/charts/curve";
import { loadPanels } from "../src/charts/load";
import type { Curve, LoadPoint, Run } from "../src/data/types";
import { emptyRun } from "./runs";

const MS = 1e6;

function run(about: Partial<Run>): Run {
  return { ...emptyRun(), ...about };
}

describe("the percentile curve", () => {
  const curve: Curve = {
    title: "response time",
    count: 1000,
    unanswered: 5,
    slowest: [1, 0.1, 0.01, 0.001],
    ns: [1 * MS, 2 * MS, 9 * MS, null],
  };

  it("has a wall for what was not answered", () => {
    const panel = curvePanel([run({ curves: [curve] })])!;
    expect(panel.lines[0]!.points.map(({ y }) => y)).toEqual([1 * MS, 2 * MS, 9 * MS, Infinity]);
    expect(panel.frame.x).toEqual([0.001, 1]);
    expect(panel.frame.y[1]).toBeGreaterThan(5000 * MS);
    expect(panel.note).toBe("Left: all queries. Right: only the slowest. 0.50 % had no answer within 5 s.");
  });

  it("of several runs is the headline of each", () => {
    const other = { ...curve, title: "service time" };
    const runs = [run({ label: "old", curves: [curve, other] }), run({ label: "new", curves: [curve, other] })];
    expect(curvePanel(runs)!.lines.map(({ label }) => label)).toEqual(["old", "new"]);
    expect(curvePanel(runs.slice(0, 1))!.lines.map(({ label }) => label)).toEqual(["response time", "service time"]);
  });

  it("is absent without any latency, and a wall alone where nothing was answered", () => {
    expect(curvePanel([run({})])).toBeNull();
    const none: Curve = { title: "response time", count: 4, unanswered: 4, slowest: [1, 0.25], ns: [null, null] };
    const { x, y } = curvePanel([run({ curves: [none] })])!.frame;
    expect([...x, ...y].every((end) => end > 0 && Number.isFinite(end))).toBe(true);
    expect(x[0]).toBeLessThan(x[1]);
    expect(y[0]).toBeLessThan(5000 * MS);
    expect(y[1]).toBeGreaterThan(5000 * MS);
  });
});

describe("load against response", () => {
  const point = (asked_qps: number, about: Partial<LoadPoint> = {}): LoadPoint => ({
    asked_qps,
    sent_qps: asked_qps,
    answered_qps: asked_qps,
    failed_qps: 0,
    answered_share: 1,
    avg_ns: 2 * MS,
    p50_ns: 1 * MS,
    p99_ns: 3 * MS,
    from_ns: 0,
    to_ns: 0,
    ...about,
  });
  const lost = point(200, { answered_qps: 150, failed_qps: 50, answered_share: 0.75, p99_ns: "beyond", avg_ns: null });
  const knee = { held_qps: 100, lost_qps: 200, rule: "no more than 1 query in 1,000 was lost" };

  it("has the columns of resperf's plots over the rate asked, and the knee with its rule", () => {
    const [rates, share, latency] = loadPanels([run({ load_response: { points: [point(100), lost], knee } })])!;
    const figures = (panel: typeof rates) =>
      Object.fromEntries(panel!.lines.map((l) => [l.label, l.points.map(({ y }) => y)]));
    expect(figures(rates)).toEqual({ asked: [100, 200], sent: [100, 200], answered: [100, 150], failed: [0, 50] });
    expect(figures(share)).toEqual({ answered: [1, 0.75] });
    expect(figures(latency)).toEqual({ average: [2 * MS, NaN], p50: [1 * MS, 1 * MS], p99: [3 * MS, Infinity] });
    expect(rates!.note).toBe(
      "Held up to 100 queries/s, not at 200 queries/s. Rule: no more than 1 query in 1,000 was lost",
    );
  });

  it("is absent where there is one rate", () => {
    expect(loadPanels([run({})])).toBeNull();
    expect(loadPanels([run({ load_response: { points: [point(100)], knee: null } })])).toBeNull();
  });
});

describe("the curve of one query", () => {
  it("is a point, and says so", () => {
    const curve = { title: "response time", count: 1, unanswered: 0, slowest: [1], ns: [2e5] };
    const panel = curvePanel([run({ curves: [curve] })])!;
    expect(panel.lines[0]!.dots).toBe(true);
    expect(panel.note).toMatch(/one query/);
    const two = { ...curve, count: 2, slowest: [1, 0.5], ns: [1e5, 2e5] };
    expect(curvePanel([run({ curves: [two] })])!.note).not.toMatch(/one query/);
  });
});

describe("the distribution over clients", () => {
  it("has a bar for each range, a logarithmic axis where it is needed, and no client on no place", () => {
    const few = [
      { from_queries: 0, to_queries: 0, clients: 3 },
      { from_queries: 1, to_queries: 7, clients: 40 },
    ];
    const panel = clientsPanel([run({ clients: few })])!;
    expect(panel.y.log).toBe(false);
    expect(panel.frame.x[0]).toBeGreaterThan(0);
    expect(panel.lines[0]!.points.map(({ x, y }) => [panel.xText(x), y])).toEqual([
      ["0 queries", 3],
      ["1 to 7 queries", 40],
    ]);
    expect(panel.x.ticks(...panel.frame.x, 8).map(({ text }) => text)).toEqual(["0", "1", "8"]);
    const one = clientsPanel([run({ clients: [{ from_queries: 12_288, to_queries: 13_311, clients: 2 }] })])!;
    expect(one.x.ticks(...one.frame.x, 4).map(({ text }) => text)).toEqual(["12,288", "13,312"]);
    const many = [...few, { from_queries: 8, to_queries: 15, clients: 100_000 }];
    expect(clientsPanel([run({ clients: many })])!.y.log).toBe(true);
    expect(clientsPanel([run({})])).toBeNull();
  });
});
