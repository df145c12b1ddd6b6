import { describe, expect, it } from "vitest";
import { panelsOf } from "../src/charts/panels";
import { type Panel, type ShownRun, UNREADABLE, text } from "../src/charts/panels/panel";
import { movement } from "../src/charts/panels/watched";
import { curvePanel } from "../src/charts/curve";
import { reachable } from "../src/charts/limits";
import { yAxisFor } from "../src/charts/yaxis";
import type { Limit, Watched, WatchedSeries } from "../src/data/types";
import { Window } from "../src/charts/panels/window";
import { SECOND_NS, emptyRun, shownRun } from "./runs";

/** The lines of a panel by their labels, with their figures in all rows. */
function figures(panel: Panel | undefined, run: ShownRun): Record<string, number[]> {
  const window = Window.of(run.series!, 0, Infinity);
  return Object.fromEntries((panel?.lines ?? []).map((line) => [line.label, Array.from(line.values(window))]));
}

function panel(runs: ShownRun[], id: string, boxes = false): Panel | undefined {
  return panelsOf(runs, 0, boxes).find((p) => p.id === id);
}

describe("the rate", () => {
  it("is per second, also of intervals that are shorter or longer", async () => {
    const run = await shownRun({
      covered_ns: [SECOND_NS, SECOND_NS / 2],
      asked_micro: [10.5e6, 4e6],
      sent: [10, 4],
      "ends.answered": [9, 4],
    });
    expect(figures(panel([run], "rate"), run)).toEqual({ asked: [10.5, 8], sent: [10, 8], answered: [9, 8] });
  });

  it("is over the time of an interval that the load covers; what arrives and the CPU time are over all of it", async () => {
    const run = await shownRun({
      covered_ns: [SECOND_NS / 4, SECOND_NS / 5],
      idle_ns: [0, SECOND_NS / 20],
      asked_micro: [1000e6, 800e6],
      sent: [1000, 800],
      "ends.answered": [1000, 800],
      "workers.0.cpu_ns": [SECOND_NS / 8, SECOND_NS / 8],
    });
    expect(figures(panel([run], "rate"), run)).toEqual({ asked: [4000, 4000], sent: [4000, 4000], answered: [4000, 4000] });
    const window = Window.of(run.series!, 0, Infinity);
    expect(Array.from(window.rates(["workers.0.cpu_ns"], 1))).toEqual([0.5, 0.5]);
  });

  it("ends where no query is due any more", async () => {
    const run = await shownRun({
      scheduled: [10, 0, 10, 0],
      asked_micro: [10e6, 0, 10e6, 0],
      "ends.answered": [10, 0, 9, 0],
    });
    expect(figures(panel([run], "rate"), run)).toMatchObject({ asked: [10, 0, 10, NaN], answered: [10, 0, 9, NaN] });
  });

  it("is drawn as far as the load goes in its last interval, and so is all else of queries", async () => {
    const run = await shownRun({
      covered_ns: [SECOND_NS, SECOND_NS / 2, 0],
      idle_ns: [0, SECOND_NS / 2, SECOND_NS],
      scheduled: [10, 5, 0],
      "ends.answered": [10, 5, 0],
      "types.A.answered": [10, 5, 0],
      "workers.0.cpu_ns": [SECOND_NS / 2, SECOND_NS / 2, 0],
    });
    const window = Window.of(run.series!, 0, Infinity);
    const seconds = (ends: Float64Array) => Array.from(ends, (end) => end / SECOND_NS);
    for (const columns of [["ends.answered"], ["rcodes.NOERROR"], ["latency.p99"], ["lateness.p99"]]) {
      expect(seconds(window.endsOf(columns))).toEqual([1, 1.5, 3]);
    }
    for (const column of ["workers.0.cpu_ns", "watched.0.load", "arrivals.connections.opened"]) {
      expect(seconds(window.endsOf([column]))).toEqual([1, 2, 3]);
    }
    expect(figures(panel([run], "types"), run)).toEqual({ A: [10, 10, NaN] });
    expect(figures(panel([run], "generator"), run)).toEqual({ "worker 0": [0.5, 0.5, 0] });
  });

  it("shows each kind of query without an answer that happened, with all reasons for which queries were not sent", async () => {
    const run = await shownRun({
      "ends.answered": [1, 1],
      "ends.timed_out": [2, null],
      "ends.not_sent.no_free_id": [1, 0],
      "ends.not_sent.too_long": [3, 0],
      sent: [3, 1],
    });
    expect(figures(panel([run], "losses"), run)).toEqual({ "timed out": [2, 0], "not sent": [4, 0] });
  });

  it("has no second chart where all was answered, and no line asked in closed loop", async () => {
    const run = await shownRun({ "ends.answered": [1], sent: [1] });
    expect(panel([run], "losses")).toBeUndefined();
    expect(Object.keys(figures(panel([run], "rate"), run))).toEqual(["sent", "answered"]);
  });

  it("of several runs has a line for each", async () => {
    const runs = [
      await shownRun({ "ends.answered": [1] }, { label: "old" }),
      await shownRun({ "ends.answered": [2] }, { label: "new" }, 1),
    ];
    expect(panel(runs, "rate")!.lines.map(({ label, run }) => [label, run])).toEqual([
      ["old", 0],
      ["new", 1],
    ]);
  });

  it("of several runs leaves those out that await no answers, and is the rate sent where all are so", async () => {
    const sent = (label: string, index: number) =>
      shownRun({ "ends.sent_only": [2000], sent: [2000] }, { label, send_only: true }, index);
    const answered = await shownRun({ "ends.answered": [1] }, { label: "answered" });
    const [first, second] = [await sent("a", 1), await sent("b", 2)];
    const mixed = panel([answered, first], "rate")!;
    expect(mixed.title).toBe("Rate answered, without send-only runs");
    expect(mixed.lines.map(({ label }) => label)).toEqual(["answered"]);
    const all = panel([first, second], "rate")!;
    expect([all.title, ...all.lines.map(({ label }) => label)]).toEqual(["Rate sent", "a", "b"]);
  });
});

describe("latency", () => {
  it("has percentiles, with those beyond the timeout and those of too few queries", async () => {
    const run = await shownRun({
      "latency.p50": [100, 200],
      "latency.p99": [null, "beyond"],
      "latency.max": [300, "beyond"],
    });
    expect(figures(panel([run], "latency"), run)).toEqual({ p50: [100, 200], p99: [NaN, Infinity] });
    expect([NaN, Infinity, 1.234e6].map((ns) => text("ns", ns, 5e9))).toEqual(["-", ">5 s", "1.23 ms"]);
  });

  it("has five figures as boxes", async () => {
    const run = await shownRun({
      "latency.min": [1],
      "latency.p25": [2],
      "latency.p50": [3],
      "latency.p75": [4],
      "latency.max": [5],
    });
    expect(figures(panel([run], "latency", true), run)).toEqual({ min: [1], p25: [2], p50: [3], p75: [4], max: [5] });
  });

  it("of several runs tells p50 and p99 of each apart without colour", async () => {
    const columns = { "latency.p50": [100], "latency.p99": [200], "latency.max": [300] };
    const runs = await Promise.all(Array.from({ length: 12 }, (_, i) => shownRun(columns, { label: `run ${i}` }, i)));
    const { lines } = panel(runs, "latency")!;
    for (let i = 0; i < 24; i += 2) {
      const [p50, p99] = [lines[i]!, lines[i + 1]!];
      expect([p50.label, p99.label]).toEqual([`p50, run ${i / 2}`, `p99, run ${i / 2}`]);
      expect(p50.dash).not.toEqual(p99.dash);
      expect(p50.width!).toBeLessThan(p99.width!);
    }
  });

  it("says why it is empty", async () => {
    const none = await shownRun({ "ends.timed_out": [4] });
    expect(panel([none], "latency")!.empty).toMatch(/No query was answered/);
    const sent = await shownRun({ "ends.sent_only": [4] }, { send_only: true });
    expect(panel([sent], "latency")!.empty).toMatch(/does not wait for answers/);
    expect(Object.keys(figures(panel([sent], "rate"), sent))).toEqual(["sent", "sent, no answer awaited"]);
  });
});

describe("axes of durations", () => {
  it("are logarithmic, or linear where the reader wants it, and nothing else changes", async () => {
    const run = await shownRun({ "latency.p50": [1e6], "latency.max": ["beyond"], "lateness.p99": [5e4], sent: [1] });
    const [log, linear] = (["log", "linear"] as const).map((scale) => panelsOf([run], 0, false, "", scale)) as [Panel[], Panel[]];
    expect(linear.map(({ id }) => id)).toEqual(log.map(({ id }) => id));
    const changed = linear.filter(({ scale }, i) => scale !== log[i]!.scale).map(({ id, unit }) => [id, unit]);
    expect(changed).toEqual([["latency", "linear"], ["lateness", "linear"]]);
    const axis = yAxisFor(linear.find(({ id }) => id === "latency")!, [Float64Array.of(1e6, Infinity)], {
      heat_ns: null,
      beyond: false,
      timeout_ns: 5e9,
      limits: [],
    });
    expect(axis.range[0]).toBe(0);
    // What is beyond the timeout has a band above the figures.
    const texts = axis.ticks(...axis.range, 5).map(({ text }) => text);
    expect([texts[0], texts.at(-1)]).toEqual(["0", ">5 s"]);
  });
});

describe("a run without any answer", () => {
  it("has its axis of latencies up to the timeout, and the band above it", async () => {
    const run = await shownRun({ "latency.p50": ["beyond"], "latency.max": ["beyond"], "ends.timed_out": [9] });
    for (const [scale, lowest] of [["log", 3e5], ["linear", 0]] as const) {
      const latency = panelsOf([run], 0, false, "", scale).find(({ id }) => id === "latency")!;
      const beside = { heat_ns: null, beyond: true, timeout_ns: 3e8, limits: [] };
      const axis = yAxisFor(latency, [Float64Array.of(Infinity)], beside);
      const ticks = axis.ticks(...axis.range, 5);
      expect(axis.range[0]).toBeLessThanOrEqual(lowest);
      expect(ticks.at(-1)!.text).toBe(">300 ms");
      expect(ticks.at(-1)!.at).toBeGreaterThan(3e8);
      expect(ticks.slice(0, -1).every(({ at }) => at < 3e8)).toBe(true);
    }
  });
});

describe("what was expected", () => {
  const expected = (text: string, state: "pass" | "fail", limit: Limit | null) => ({ text, measured: "", state, limit });
  const p99 = (state: "pass" | "fail") => expected("p99<5ms", state, { of: "latency", value: 5e6, slowest: 0.01 });
  const columns = { "latency.p99": [1e6], "latency.max": [2e6], "ends.timed_out": [1], "lateness.p99": [1e3], sent: [9] };

  it("is a line in the chart that shows the figure, with its outcome as a sign", async () => {
    const all = [
      p99("fail"),
      expected("loss<1%", "pass", { of: "loss", value: 0.01, slowest: null }),
      expected("rate>=9", "pass", { of: "rate", value: 9, slowest: null }),
      expected("lateness.p99<1ms", "pass", { of: "lateness", value: 1e6, slowest: 0.01 }),
      expected("servfail<1%", "pass", null),
    ];
    const run = await shownRun(columns, { expectations: all });
    const labels = panelsOf([run], 0, false).map(({ id, limits = [] }) => [id, ...limits.map(({ label }) => label)].join(" "));
    expect(labels).toEqual(["rate ✓ rate>=9", "losses ✓ loss<1%", "latency ✗ p99<5ms", "lateness ✓ lateness.p99<1ms", "generator"]);
  });

  it("of several runs is one line, without a sign where they differ", async () => {
    const runs = [await shownRun(columns, { expectations: [p99("fail")] }), await shownRun(columns, { expectations: [p99("pass")] }, 1)];
    expect(panel(runs, "latency")!.limits!.map(({ label }) => label)).toEqual(["p99<5ms"]);
    const other = await shownRun(columns, { label: "other" }, 2);
    expect(panel([...runs.slice(0, 1), other], "latency")!.limits!.map(({ label }) => label)).toEqual(["✗ p99<5ms, run"]);
  });

  it("widens an axis that nearly reaches it, and no other", () => {
    expect(reachable([5e6, 1e9], [1e5, 1e6], "log")).toEqual([5e6]);
    expect(reachable([1e3], [1e5, 1e6], "log")).toEqual([]);
    expect(reachable([2, 3], [0, 1], "linear")).toEqual([2]);
    expect(reachable([5], [0, 0], "linear")).toEqual([5]);
  });

  it("stands in the curve as far as its share of the queries", () => {
    const curve = { title: "response time", count: 1000, unanswered: 0, slowest: [1, 0.1, 0.01], ns: [1e6, 2e6, 3e6] };
    const panel = curvePanel([{ ...emptyRun(), curves: [curve], expectations: [p99("pass")] }])!;
    expect(panel.frame.y).toEqual([1e6, 1e7]);
    expect(curvePanel([{ ...emptyRun(), curves: [curve] }], "linear")!.frame.y[0]).toBe(0);
  });
});

describe("the generator", () => {
  it("is always the last chart", async () => {
    const busy = await shownRun({ "workers.0.cpu_ns": [5e8], "lateness.p99": [42] }, { watched: [source("host", [series("load")])] });
    for (const run of [busy, await shownRun({})]) {
      const ids = panelsOf([run], 0, false).map(({ id }) => id);
      expect(ids.slice(-2)).toEqual(["lateness", "generator"]);
    }
    expect(figures(panel([busy], "generator"), busy)).toEqual({ "worker 0": [0.5] });
  });

  it("with many workers shows the busiest", async () => {
    const workers = Object.fromEntries(Array.from({ length: 8 }, (_, i) => [`workers.${i}.cpu_ns`, [i * 1e8]]));
    const run = await shownRun(workers);
    expect(figures(panel([run], "generator"), run)).toEqual({ busiest: [0.7] });
  });
});

describe("simulated clients", () => {
  const clients = (columns: Record<string, number[]>) =>
    Object.fromEntries(Object.entries(columns).map(([name, values]) => [`arrivals.clients.${name}`, values]));

  it("have queries by procedure with retries of all, hits as a share of all questions, and the age at eviction", async () => {
    const run = await shownRun(
      clients({
        "asked.attach": [30, 10],
        "asked_again.attach": [1, 0],
        "asked_again.handover": [2, 0],
        hits: [60, 0],
        misses: [30, 10],
        joined: [10, 0],
        misses_evicted: [5, 10],
        evicted: [4, 0],
        "evicted_at.0": [3, 0],
        "evicted_at.9": [1, 0],
        "attach_time.p99": [7, 8],
      }),
    );
    expect(figures(panel([run], "caching-queries"), run)).toEqual({ attach: [30, 10], retry: [3, 0] });
    expect(figures(panel([run], "caching-answers"), run)).toEqual({
      "from the cache": [0.6, 0],
      "asked, as it was evicted": [0.05, 1],
    });
    expect(figures(panel([run], "caching-evictions"), run)).toEqual({ evicted: [4, 0] });
    expect(figures(panel([run], "caching-age"), run)["mean age"]!.map((age) => age.toFixed(3))).toEqual(["0.275", "NaN"]);
    expect(figures(panel([run], "caching-times"), run)).toEqual({ "attach p99": [7, 8] });
    expect(panel([run], "caching-failures")).toBeUndefined();
  });

  it("are not on the page of another run", async () => {
    const run = await shownRun({ sent: [1] });
    expect(panelsOf([run], 0, false).some(({ id }) => id.startsWith("caching"))).toBe(false);
  });
});

describe("parts of a run", () => {
  it("are RCODEs as shares of the answers, the most frequent first", async () => {
    const run = await shownRun({ "rcodes.SERVFAIL": [1, 0], "rcodes.NOERROR": [3, 0] });
    expect(figures(panel([run], "rcodes"), run)).toEqual({ NOERROR: [0.75, NaN], SERVFAIL: [0.25, NaN] });
    expect(panel([run], "rcodes")!.lines[0]!.label).toBe("NOERROR");
  });

  it("are transports of a mix, with their names and their headline latency", async () => {
    const columns = {
      "members.0.ends.answered": [3],
      "members.1.ends.answered": [4],
      "members.1.service.p50": [7],
      "members.1.response.p50": [9],
    };
    const run = await shownRun(columns, { members: ["udp", "dot"], members_by: "transport", headline: "service" });
    expect(figures(panel([run], "members"), run)).toEqual({ udp: [3], dot: [4] });
    expect(figures(panel([run], "member-latency"), run)).toEqual({ "dot p50": [7] });
  });

  it("are servers, whose lines are dashed from the seventh on, with a median that differs from p99", async () => {
    const names = Array.from({ length: 12 }, (_, i) => `server ${i}`);
    const columns = names.flatMap((_, i) => ["p50", "p99"].map((p) => [`members.${i}.response.${p}`, [5]]));
    const run = await shownRun(Object.fromEntries(columns), { members: names, members_by: "server" });
    const { lines } = panel([run], "member-latency")!;
    const [p50, p99] = ["p50", "p99"].map((p) => lines.filter(({ label }) => label.endsWith(p)));
    expect(p99!.map(({ dash }) => dash!.length > 0)).toEqual(names.map((_, i) => i >= 6));
    expect(p50!.every(({ dash, width }, i) => `${dash}` !== `${p99![i]!.dash}` && width! < p99![i]!.width!)).toBe(true);
    const few = await shownRun(Object.fromEntries(columns.filter(([name]) => `${name}`.endsWith("p50"))), {
      members: names,
      members_by: "server",
    });
    const medians = panel([few], "member-latency")!.lines;
    expect(medians.map(({ dash }) => dash!.length > 0)).toEqual(names.map((_, i) => i >= 6));
  });

  it("are agents, with their rates and p99; one that is missing has none, and there is none of all", async () => {
    const columns = {
      partial_intervals: [0, 1],
      sent: [7, 3],
      "ends.answered": [7, 3],
      "agents.0.scheduled": [3, 3],
      "agents.1.scheduled": [4, 0],
      "agents.0.ends.answered": [3, 3],
      "agents.1.ends.answered": [4, 0],
      "agents.1.service.p99": [9, null],
    };
    const run = await shownRun(columns, { agents: ["lg1", "lg2"], headline: "service" });
    expect(figures(panel([run], "agents"), run)).toEqual({ lg1: [3, 3], lg2: [4, NaN] });
    expect(figures(panel([run], "agent-latency"), run)).toEqual({ lg2: [9, NaN] });
    expect(figures(panel([run], "rate"), run)).toMatchObject({ sent: [7, NaN], answered: [7, NaN] });
    const rows = panel([run], "agent-rows")!;
    expect(figures(rows, run)).toEqual({ lg1: [NaN, NaN], lg2: [9, NaN] });
    const window = Window.of(run.series!, 0, Infinity);
    expect(rows.lines.map(({ missing }) => missing!(window))).toEqual([[false, false], [false, true]]);
  });

  it("are rows alone where they are more than lines can be told apart, and in words where they have too few queries", async () => {
    const ids = async (agents: number, key: string, values: number[]) => {
      const columns = Object.fromEntries(Array.from({ length: agents }, (_, i) => [`agents.${i}.response.${key}`, values]));
      const run = await shownRun(columns, { agents: Array.from({ length: agents }, (_, i) => `lg${i + 1}`) });
      return panelsOf([run], 0, false).flatMap(({ id, empty }) => (id.startsWith("agent-") ? [empty === undefined ? id : `${id}: ${empty}`] : []));
    };
    expect(await ids(1, "p99", [5])).toEqual(["agent-latency"]);
    expect(await ids(8, "p99", [5])).toEqual(["agent-rows", "agent-latency"]);
    expect(await ids(9, "p99", [5])).toEqual(["agent-rows"]);
    expect(await ids(2, "count", [5])).toEqual(["agent-rows: No agent had enough queries in an interval for its p99."]);
  });

  it("are the durations of a fallback, on top of each other", async () => {
    const run = await shownRun({ "fallback.udp.p50": [10, null], "fallback.query.p50": [20, 30] });
    expect(panel([run], "parts")!.lines.every(({ shape }) => shape === "stack")).toBe(true);
    expect(figures(panel([run], "parts"), run)).toEqual({ "UDP query": [10, 0], "TCP query": [20, 30] });
  });

  it("are connections and handshakes per second", async () => {
    const at = "arrivals.connections.";
    const run = await shownRun({
      [`${at}opened`]: [5],
      [`${at}failed.refused`]: [2],
      [`${at}failed.reset`]: [1],
      [`${at}encrypted.handshakes.full.count`]: [4],
    });
    expect(figures(panel([run], "connections"), run)).toEqual({ opened: [5], failed: [3] });
    expect(figures(panel([run], "handshakes"), run)).toEqual({ full: [4] });
  });

  it("are absent where nothing was counted", async () => {
    const run = await shownRun({ "ends.answered": [1], sent: [1] });
    expect(panelsOf([run], 0, false).map(({ id }) => id)).toEqual(["rate", "latency", "lateness", "generator"]);
  });
});

describe("watched series", () => {
  const watchedIds = (run: ShownRun, search = "") =>
    panelsOf([run], 0, false, search)
      .map(({ id }) => id)
      .filter((id) => id.startsWith("watched."));

  it("are grouped by source, losses first, then those that moved most", async () => {
    const columns = {
      "watched.0.idle": [5, 5],
      "watched.0.queries": [1, 9],
      "watched.0.drops": [0, 1],
      "watched.0.open": [5, 6],
    };
    const host = source("host", [series("idle", "gauge"), series("queries"), series("drops", "counter", "count", 0), series("open", "gauge")]);
    const run = await shownRun(columns, { watched: [host] });
    expect(watchedIds(run)).toEqual(["watched.0.drops", "watched.0.queries", "watched.0.open"]);
    const first = panel([run], "watched.0.drops")!;
    expect([first.group, first.note]).toEqual(["Host: the host", "3 of 4 series that moved; search to see others"]);
    expect(movement(Float64Array.from([NaN]))).toBe(0);
  });

  it("that are flat come last, also among those found; a loss at a constant rate does not", async () => {
    const columns = {
      // Intervals differ in length, so a constant rate is another count.
      covered_ns: [SECOND_NS, SECOND_NS / 2],
      "watched.0.level": [10, 5],
      "watched.0.full": [4096, 4096],
      "watched.0.slow": [4, 5],
      "watched.0.drops": [10, 5],
      // Some thousandths of a CPU, which cannot be seen on an axis up to one.
      "watched.0.cpu_ns": [SECOND_NS / 500, SECOND_NS / 400],
    };
    const [level, full] = [series("level"), series("full", "gauge")];
    const [slow, drops] = [series("slow", "gauge", "count", 2), series("drops", "counter", "count", 0)];
    const all = [level, full, series("cpu_ns", "counter", "ns"), slow, drops];
    const run = await shownRun(columns, { watched: [source("host", all)] });
    const ids = (...names: string[]) => names.map((name) => `watched.0.${name}`);
    expect(watchedIds(run)).toEqual(ids("drops", "slow", "cpu_ns", "level"));
    expect(watchedIds(run, "host")).toEqual(ids("slow", "drops", "level", "full", "cpu_ns"));
    // At the end of a run nothing is due any more, and everything falls.
    const ended = await shownRun(
      { scheduled: [9, 9, 0], asked_micro: [9, 9, 0], "watched.0.level": [5, 5, 0], "watched.0.slow": [4, 5, 5] },
      { watched: [source("host", [level, slow])] },
    );
    expect(watchedIds(ended)).toEqual(ids("slow", "level"));
  });

  it("are rates, shares of a CPU, and highest values in their units", async () => {
    const run = await shownRun(
      {
        covered_ns: [SECOND_NS, 2 * SECOND_NS, SECOND_NS],
        "watched.0.drops": [10, 10, null],
        "watched.0.cpu_ns": [SECOND_NS / 2, SECOND_NS / 2, null],
        "watched.0.temperature": [45_000, 46_000, null],
      },
      {
        watched: [
          source("host", [series("drops"), series("cpu_ns", "counter", "ns"), series("temperature", "gauge", "celsius_milli")]),
        ],
      },
    );
    // A row in which the source was not read has no figure, which is not 0.
    expect(figures(panel([run], "watched.0.drops"), run)).toEqual({ drops: [10, 5, NaN] });
    expect(figures(panel([run], "watched.0.cpu_ns"), run)).toEqual({ cpu_ns: [0.5, 0.25, NaN] });
    expect(figures(panel([run], "watched.0.temperature"), run)).toEqual({ temperature: [45, 46, NaN] });
  });

  it("are shares of a CPU where they are CPU time, else of the time", async () => {
    const ofCpu = ["cpu_ns", "cpu.user_ns", "cpu0.irq_ns", "thread.a/1.cpu_ns"];
    const ofTime = ["pressure.cpu.some_ns", "cgroup.throttled_ns"];
    const names = [...ofCpu, ...ofTime];
    const columns = Object.fromEntries(names.map((name) => [`watched.0.${name}`, [1, 2]]));
    const run = await shownRun(columns, { watched: [source("host", names.map((name) => series(name, "counter", "ns")))] });
    const unit = (name: string) => panel([run], `watched.0.${name}`)?.unit;
    expect(ofCpu.map(unit)).toEqual(ofCpu.map(() => "share of one CPU"));
    expect(ofTime.map(unit)).toEqual(ofTime.map(() => "share of the time"));
  });

  it("are found by words of their names and of their source", async () => {
    const names = Array.from({ length: 60 }, (_, i) => `thread${i}.cpu_ns`);
    const columns = Object.fromEntries(names.map((name) => [`watched.0.${name}`, [1, 2]]));
    const run = await shownRun(columns, { watched: [source("process", names.map((name) => series(name, "counter", "ns", 2)))] });
    expect(watchedIds(run)).toHaveLength(8);
    expect(watchedIds(run, "THREAD59 process")).toEqual(["watched.0.thread59.cpu_ns"]);
    expect(watchedIds(run, "thread")).toHaveLength(40);
    expect(watchedIds(run, "memory")).toEqual([]);
  });
});

function series(name: string, kind: WatchedSeries["kind"] = "counter", unit: WatchedSeries["unit"] = "count", rank = 1): WatchedSeries {
  return { name, column: `watched.0.${name}`, kind, unit, rank };
}

function source(kind: Watched["kind"], all: WatchedSeries[]): Watched {
  return { kind, label: `the ${kind}`, moved: all.length, series: all };
}

describe("a run that cannot be read", () => {
  it("has charts that say so, and the first one why", () => {
    const run: ShownRun = { run: emptyRun(), series: null, problem: "The data is cut short.", index: 0 };
    const [rate, ...others] = panelsOf([run], 0, false);
    expect([rate!.id, rate!.empty]).toEqual(["rate", "The data is cut short."]);
    expect(others.map(({ id, empty }) => [id, empty])).toEqual(
      ["latency", "lateness", "generator"].map((id) => [id, UNREADABLE]),
    );
  });

  it("does not hide the others", async () => {
    const damaged: ShownRun = { run: emptyRun(), series: null, problem: "The data is cut short.", index: 0 };
    const whole = await shownRun({ "ends.answered": [1], sent: [1] }, {}, 1);
    expect(panel([damaged, whole], "rate")!.lines.map(({ run }) => run)).toEqual([1, 1]);
  });
});
