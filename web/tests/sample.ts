/**
 * Pages to look at while changing the page, without a record: a stair with a stall, several runs, agents, a comparison,
 * a folder.
 * All figures come from a seed. The words are like those of the program, but only `crates/page` knows the right ones.
 */
import type { ComparedMetric, FolderRun, LoadPoint, PageData, Run, Table, Watched, WatchedSeries, Diagnosis } from "../src/data/types";
import { count, duration, percent, rate } from "../src/format/units";
import { encodeSeries, type Cell, type LevelSource } from "./encode";

export interface SamplePage {
  data: PageData;
  blobs: string[];
}

const SECOND = 1e9;
const TIMEOUT_NS = 5 * SECOND;

/** Numbers from 0 to 1, the same for the same seed (mulberry32). */
export function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** What the server does in a second. */
interface Second {
  asked: number;
  answered: number;
  timed_out: number;
  refused: number;
  median_ns: number;
  /** How far the tail reaches: the factor from the median to the 99th percentile. */
  tail: number;
}

interface Kind {
  label: string;
  seconds: number;
  steps: number;
  from_qps: number;
  by_qps: number;
  limit_qps: number;
  stall_at: number;
  seed: number;
}

function second(kind: Kind, at: number, next: () => number): Second {
  const step = Math.floor((at / kind.seconds) * kind.steps);
  const asked = kind.from_qps + step * kind.by_qps;
  const load = asked / kind.limit_qps;
  const stalled = at === kind.stall_at || at === kind.stall_at + 1;
  const over = Math.max(0, asked - kind.limit_qps * (0.99 + 0.02 * next()));
  const lost = stalled ? asked * 0.22 : over;
  const timed_out = Math.round(lost * (stalled ? 1 : 0.8));
  const refused = Math.round(lost - timed_out);
  const queue = 1 / Math.max(0.06, 1 - Math.min(load, 0.985));
  return {
    asked,
    answered: asked - timed_out - refused,
    timed_out,
    refused,
    median_ns: (140e3 + 25e3 * queue) * (0.95 + 0.1 * next()) * (stalled ? 40 : 1),
    tail: (4 + queue * 0.7) * (0.85 + 0.3 * next()),
  };
}

/** The bucket of a duration, as `Heat` of the page's data describes it. */
function bucket(ns: number): number {
  const octave = Math.max(3, Math.floor(Math.log2(ns)));
  return octave * 8 + Math.min(7, Math.floor((ns / 2 ** octave - 1) * 8));
}

/** The latency at a share of the answered queries, of a distribution with a long tail. */
const latencyAt = ({ median_ns, tail }: Second, share: number): number =>
  Math.round(Math.max(40e3, median_ns * tail ** (share <= 0.5 ? (share - 0.5) * 0.6 : Math.log2(0.5 / (1 - Math.min(share, 1 - 1e-6))) / 5.64)));

function heatRow(second: Second): [number, number][] {
  const cells = new Map<number, number>();
  for (let part = 0; part < 200; part++) {
    const at = bucket(latencyAt(second, (part + 0.5) / 200));
    cells.set(at, (cells.get(at) ?? 0) + Math.max(1, Math.round(second.answered / 200)));
  }
  return [...cells].sort(([a], [b]) => a - b);
}

function percentile(second: Second, share: number): Cell {
  const answered = second.answered / second.asked;
  return share > answered ? "beyond" : latencyAt(second, share / answered);
}

function level(seconds: Second[]): LevelSource {
  const column = (unit: "count" | "ns" | "micro" | "gauge", value: (s: Second, at: number) => Cell) => ({
    unit,
    values: seconds.map(value),
  });
  const wave = (at: number, period: number): number => Math.sin((at / period) * 2 * Math.PI);
  return {
    factor: 1,
    columns: {
      from_ns: column("ns", (_, at) => at * SECOND),
      covered_ns: column("ns", () => SECOND),
      asked_micro: column("micro", (s) => s.asked * 1e6),
      scheduled: column("count", (s) => s.asked),
      sent: column("count", (s) => s.asked),
      "ends.answered": column("count", (s) => s.answered),
      "ends.timed_out": column("count", (s) => s.timed_out),
      "ends.refused": column("count", (s) => s.refused),
      "rcodes.NOERROR": column("count", (s) => Math.round(s.answered * 0.96)),
      "rcodes.NXDOMAIN": column("count", (s) => s.answered - Math.round(s.answered * 0.96)),
      "latency.min": column("ns", (s) => latencyAt(s, 0)),
      "latency.p25": column("ns", (s) => percentile(s, 0.25)),
      "latency.p50": column("ns", (s) => percentile(s, 0.5)),
      "latency.p75": column("ns", (s) => percentile(s, 0.75)),
      "latency.p90": column("ns", (s) => percentile(s, 0.9)),
      "latency.p95": column("ns", (s) => percentile(s, 0.95)),
      "latency.p99": column("ns", (s) => percentile(s, 0.99)),
      "latency.p99_9": column("ns", (s) => percentile(s, 0.999)),
      "latency.max": column("ns", (s) => (s.answered < s.asked ? "beyond" : latencyAt(s, 0.9999))),
      "latency.avg": column("ns", (s) => Math.round(s.median_ns * 1.3)),
      "lateness.p99": column("ns", (s, at) => Math.round(30e3 + s.asked * 0.4 + 4e3 * wave(at, 17))),
      "lateness.p50": column("ns", (s) => Math.round(9e3 + s.asked * 0.1)),
      "workers.0.cpu_ns": column("ns", (s, at) => Math.round(SECOND * (0.05 + s.asked / 90_000 + 0.01 * wave(at, 23)))),
      "workers.1.cpu_ns": column("ns", (s, at) => Math.round(SECOND * (0.05 + s.asked / 95_000 + 0.01 * wave(at, 31)))),
      "watched.0.snmp.Udp.RcvbufErrors": column("count", (s) => s.timed_out),
      "watched.0.cpu.user_ns": column("count", (s) => Math.round(Math.min(1, s.asked / 26_000) * SECOND)),
      "watched.1.memory_bytes": column("gauge", (s, at) => (at % 90 === 40 ? null : Math.round(80e6 + at * 20e3 + s.asked * 500))),
      "watched.1.udp.receive_queue_bytes": column("gauge", (s) => Math.min(212_992, Math.round(s.timed_out * 300))),
    },
    heat: seconds.map(heatRow),
  };
}

const SAMPLE_DIAGNOSIS: Diagnosis = {
  verdict: "The UDP receive queue of the server overflowed.",
  findings: [
    {
      sentence:
        "4,765 of the 4,765 unanswered queries were due in seconds in which the server's UDP receive queue overflowed, by 4,765 packets.",
      evidence: ["udp.drops of named (4711): 4,765", "snmp.Udp.RcvbufErrors of this host: 4,765"],
      parameters: [
        { name: "net.core.rmem_max", of: "this host", value: "212992", try: "4194304" },
        { name: "udp-receive-buffer", of: "BIND", value: "not set", try: "4194304, once rmem_max allows it" },
      ],
      check: "In a run with the same load, udp.drops does not rise.",
    },
  ],
  cross_check: ["The server's host received 4,765 queries fewer than the generator sent: the server's kernel dropped them."],
};

function sampleWatched(): Watched[] {
  const series = (source: number, name: string, kind: "counter" | "gauge", unit: WatchedSeries["unit"], rank: number) => ({
    name,
    column: `watched.${source}.${name}`,
    kind,
    unit,
    rank,
  });
  const host = [
    series(0, "snmp.Udp.RcvbufErrors", "counter", "count", 0),
    series(0, "cpu.user_ns", "counter", "ns", 1),
  ];
  const process = [
    series(1, "memory_bytes", "gauge", "bytes", 1),
    series(1, "udp.receive_queue_bytes", "gauge", "bytes", 1),
  ];
  return [
    { kind: "host", label: "this host", moved: 57, series: host },
    { kind: "process", label: "named (4711)", moved: 2, series: process },
  ];
}

export function sampleRun(kind: Kind, blob: number): { run: Run; base64: string } {
  const next = random(kind.seed);
  const seconds = Array.from({ length: kind.seconds }, (_, at) => second(kind, at, next));
  const { series, base64 } = encodeSeries([level(seconds)], blob);
  const each = kind.seconds / kind.steps;
  const points: LoadPoint[] = Array.from({ length: kind.steps }, (_, step) => {
    const rows = seconds.slice(step * each, (step + 1) * each);
    const sum = (value: (s: Second) => number): number => rows.reduce((total, row) => total + value(row), 0);
    const worst = rows.reduce((a, b) => (b.median_ns > a.median_ns ? b : a));
    const share = sum((s) => s.answered) / sum((s) => s.asked);
    return {
      asked_qps: rows[0]!.asked,
      sent_qps: rows[0]!.asked,
      answered_qps: sum((s) => s.answered) / rows.length,
      failed_qps: sum((s) => s.timed_out + s.refused) / rows.length,
      answered_share: share,
      avg_ns: sum((s) => s.median_ns * 1.3) / rows.length,
      p50_ns: sum((s) => s.median_ns) / rows.length,
      p99_ns: share < 0.99 ? "beyond" : latencyAt(worst, 0.99),
      from_ns: step * each * SECOND,
      to_ns: (step + 1) * each * SECOND,
    };
  });
  const held = points.filter((point) => (point.answered_share ?? 0) >= 0.999).at(-1) ?? points[0]!;
  const lost = points.find((point) => point.asked_qps > held.asked_qps) ?? null;
  const p99 = held.p99_ns === "beyond" ? ">5 s" : duration(held.p99_ns ?? 0);
  const scheduled = seconds.reduce((sum, row) => sum + row.asked, 0);
  const answered = seconds.reduce((sum, row) => sum + row.answered, 0);
  const middle = seconds[Math.floor(kind.seconds / 2)]!;
  const whole = { ...middle, asked: scheduled, answered };
  const slowest = Array.from({ length: 161 }, (_, at) => 10 ** (-at / 32));
  const run: Run = {
    label: kind.label,
    run_id: "0198a7c4-6f8e-7bd2-9f3c-2f5f6e3b7a10",
    facts: [
      { label: "Server", value: "192.0.2.53:53" },
      { label: "Transport", value: "UDP" },
      { label: "Load", value: `stair ${count(kind.from_qps)} to ${count(points.at(-1)!.asked_qps)} queries/s` },
      { label: "Started", value: "2026-11-22 13:50:12 UTC" },
      { label: "Length", value: kind.seconds < 60 ? `${kind.seconds} s` : `${kind.seconds / 60} min 0 s` },
    ],
    answer: {
      sentence: `Held ${rate(held.asked_qps)} queries/s with no loss and p99 ${p99}; at ${rate(lost?.asked_qps ?? 0)} queries/s ${percent(1 - (lost?.answered_share ?? 1))} were not answered. The generator was not the limit.`,
      figures: [
        { label: "held", value: rate(held.asked_qps), unit: "queries/s" },
        { label: "not answered", value: percent(1 - answered / scheduled).replace(" %", ""), unit: "%" },
        { label: "response time p50", value: duration(held.p50_ns as number).split(" ")[0]!, unit: duration(held.p50_ns as number).split(" ")[1]! },
        { label: "response time p99", value: p99.split(" ")[0]!, unit: p99.split(" ")[1]! },
      ],
    },
    verdict: { state: "ok", word: "generator: ok", doubts: [], notes: ["Sends were at most 42.0 µs late (p99); the workers used 31 % of their CPUs."] },
    expectations: [
      { text: "loss<0.1%", measured: percent(1 - answered / scheduled), state: "fail", limit: { of: "loss", value: 0.001, slowest: null } },
      { text: "p99<5ms", measured: p99, state: "pass", limit: { of: "latency", value: 5e6, slowest: 0.01 } },
      { text: "answered>2M", measured: count(answered), state: "pass", limit: null },
    ],
    messages: [
      { kind: "warning", text: `At 0:04:00 the server stalled: ${count(seconds[kind.stall_at]!.timed_out)} queries timed out within 2 seconds.` },
      { kind: "hint", text: "The rate that the server holds lies between two steps; dnsdyno find gives it with its interval." },
    ],
    headline: "response",
    send_only: false,
    watch_only: false,
    started_unix_ns: "1795355412000000000",
    interval_ns: SECOND,
    timeout_ns: TIMEOUT_NS,
    to_ns: kind.seconds * SECOND,
    phases: points.map(({ asked_qps, from_ns, to_ns }) => ({ label: `${rate(asked_qps)}/s`, from_ns, to_ns })),
    events: [{ at_ns: kind.stall_at * SECOND, kind: "note", message: "zone example.org. reloaded" }],
    more_events: 0,
    watched: sampleWatched(),
    diagnosis: SAMPLE_DIAGNOSIS,
    members: [],
    agents: [],
    partial: [],
    members_by: null,
    tables: tables(points, scheduled, answered, kind),
    curves: [
      {
        title: "response time",
        count: scheduled,
        unanswered: scheduled - answered,
        slowest,
        ns: slowest.map((share) => {
          const at = percentile(whole, 1 - share);
          return at === "beyond" ? null : at;
        }),
      },
    ],
    load_response: {
      points,
      knee: {
        held_qps: held.asked_qps,
        lost_qps: lost?.asked_qps ?? null,
        rule: "the highest rate up to which every lower rate was answered to at least 99.9 %",
      },
    },
    clients: [
      { from_queries: 512, to_queries: 1023, clients: 3 },
      { from_queries: 1024, to_queries: 2047, clients: 40 },
      { from_queries: 2048, to_queries: 4095, clients: 21 },
    ],
    made: {
      command: "dnsdyno run --server 192.0.2.53 --queries queries.txt --stair 2k..25k --step 1k --hold 20s --timeout 5s --name stair",
      plan: 'server = "192.0.2.53:53"\nqueries = "queries.txt"\nstair = "2k..25k"\nstep = "1k"\nhold = "20s"\ntimeout = "5s"\n',
      host: [
        { label: "Kernel", value: "Linux 6.1.0-28-amd64" },
        { label: "CPU", value: "8 × AMD EPYC 7543P" },
        { label: "Interface", value: "eth0, 10 Gbit/s" },
      ],
      facts: [
        { label: "Queries", value: "1,000,000 of queries.txt" },
        { label: "SHA-256 of the queries", value: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08" },
        { label: "dnsdyno", value: "0.1.0" },
      ],
    },
    summary: { run_id: "0198a7c4-6f8e-7bd2-9f3c-2f5f6e3b7a10", scheduled, answered },
    series,
  };
  return { run, base64 };
}

/** The run of so many agents: one of them is slow all the time, another for a while, and a third is missing for a while. */
function withAgents(agents: number): { run: Run; base64: string } {
  const kind = { ...STAIR, label: `${agents} agents`, seconds: 120, steps: 1, from_qps: 2_000 * agents, limit_qps: 2_500 * agents, stall_at: 80 };
  const next = random(kind.seed);
  const seconds = Array.from({ length: kind.seconds }, (_, at) => second(kind, at, next));
  const source = level(seconds);
  const lost = (agent: number, at: number): boolean => agent === agents - 1 && at >= 40 && at < 52;
  for (let agent = 0; agent < agents; agent++) {
    const slow = (at: number): number => (agent === 1 ? 4 : agent === 2 && at >= 60 && at < 75 ? 12 : 1);
    const put = (name: string, unit: "count" | "ns", value: (s: Second, at: number) => Cell) => {
      source.columns[`agents.${agent}.${name}`] = { unit, values: seconds.map((s, at) => (lost(agent, at) ? null : value(s, at))) };
    };
    put("scheduled", "count", (s) => s.asked / agents);
    put("ends.answered", "count", (s) => Math.round(s.answered / agents));
    put("response.p99", "ns", (s, at) => {
      const p99 = percentile(s, 0.99);
      return typeof p99 === "number" ? Math.round(p99 * slow(at) * (0.8 + 0.4 * next())) : p99;
    });
  }
  source.columns["partial_intervals"] = { unit: "count", values: seconds.map((_, at) => (lost(agents - 1, at) ? 1 : 0)) };
  const { run } = sampleRun(kind, 0);
  const { series, base64 } = encodeSeries([source], 0);
  const names = Array.from({ length: agents }, (_, i) => `lg-${String(i + 1).padStart(2, "0")}.tyo.example.net`);
  const partial = [{ label: `partial: ${names.at(-1)} is missing`, from_ns: 40 * SECOND, to_ns: 52 * SECOND }];
  return { run: { ...run, agents: names, partial, phases: [], load_response: null, series }, base64 };
}

function tables(points: LoadPoint[], scheduled: number, answered: number, kind: Kind): Table[] {
  const right = (title: string, unit = ""): Table["columns"][number] => ({ title, unit, align: "right" });
  const left = (title: string): Table["columns"][number] => ({ title, unit: "", align: "left" });
  return [
    {
      id: "steps",
      title: "By step",
      columns: [left("step"), right("asked", "/s"), right("sent", "/s"), right("answered", "/s"), right("loss"), right("avg"), right("p50"), right("p99")],
      rows: points.map((point) => [
        `${rate(point.asked_qps)}/s`,
        rate(point.asked_qps),
        rate(point.sent_qps),
        rate(point.answered_qps),
        percent(1 - (point.answered_share ?? 0)),
        duration(point.avg_ns ?? 0),
        duration((point.p50_ns ?? 0) as number),
        point.p99_ns === "beyond" ? ">5 s" : duration(point.p99_ns ?? 0),
      ]),
    },
    {
      id: "types",
      title: "By query type",
      columns: [left("type"), right("queries"), right("answered"), right("share"), right("p99")],
      rows: ["A", "AAAA", "HTTPS", "MX"].map((type, at) => [
        type,
        count(scheduled / 2 ** (at + 1)),
        count(answered / 2 ** (at + 1)),
        percent(answered / scheduled),
        duration(1.2e6 * (at + 1)),
      ]),
    },
    {
      id: "rcodes",
      title: "By RCODE",
      columns: [left("RCODE"), right("responses"), right("share")],
      rows: [["NOERROR", count(answered * 0.96), "96.00 %"], ["NXDOMAIN", count(answered * 0.04), "4.00 %"]],
    },
    {
      id: "counters",
      title: "All counters",
      columns: [left("counter"), right("value")],
      rows: Array.from({ length: 60 }, (_, at) => [`arrivals.counter_${at}`, count((at * kind.seed * 7919) % 100_000)]),
    },
  ];
}

const STAIR: Kind = { label: "stair", seconds: 480, steps: 24, from_qps: 2_000, by_qps: 1_000, limit_qps: 21_500, stall_at: 240, seed: 1 };

function page(data: Partial<PageData>, runs: { run: Run; base64: string }[]): SamplePage {
  return {
    data: {
      format: 1,
      kind: "report",
      title: "Stair to 25,000 queries/s",
      made_by: "dnsdyno 0.1.0",
      made_at: "2026-11-22 14:02:40 UTC",
      runs: runs.map(({ run }) => run),
      ...data,
    },
    blobs: runs.map(({ base64 }) => base64),
  };
}

export function samplePages(): Record<string, SamplePage> {
  const one = sampleRun(STAIR, 0);
  const short = sampleRun({ ...STAIR, label: "short", seconds: 10, steps: 1, from_qps: 12_000, stall_at: 6 }, 0);
  Object.assign(short.run, { load_response: null, phases: [] });
  const kinds = ["before", "after", "tuned"].map((label, at) => ({ ...STAIR, label, seed: at + 2, limit_qps: 19_500 + at * 2_000, stall_at: 240 + at * 9 }));
  const several = kinds.map(sampleRun);
  const many = Array.from({ length: 12 }, (_, at) =>
    sampleRun({ ...STAIR, label: `build ${at + 1}`, seed: at + 20, limit_qps: 15_000 + at * 800, stall_at: 30 + at * 35 }, at),
  );
  several[1]!.run.verdict = {
    state: "doubt",
    word: "generator: in doubt",
    doubts: ["Sends were late: p99 of the lateness was 3.10 ms, more than the 1.00 ms between queries. Use more workers (--workers)."],
    notes: [],
  };
  return {
    report: page({}, [one]),
    short: page({ title: "12,000 queries/s for 10 s" }, [short]),
    many: page({ title: "Twelve builds" }, many),
    several: page({ title: "Three builds" }, several),
    agents: page({ title: "Sixteen agents" }, [withAgents(16)]),
    "two-agents": page({ title: "Two agents" }, [withAgents(2)]),
    "many-agents": page({ title: "Sixty-four agents" }, [withAgents(64)]),
    comparison: page({ kind: "comparison", title: "Candidate against baseline", comparison: comparison() }, several.slice(0, 2)),
    folder: page({ kind: "folder", title: "Runs in /srv/runs", folder: { path: "/srv/runs", runs: folderRuns() } }, []),
  };
}

function metric(name: string, a: string, b: string, difference: number, width: number, verdict: ComparedMetric["verdict"], words: string): ComparedMetric {
  const next = random(name.length);
  const values = (middle: number): number[] => Array.from({ length: 6 }, () => middle * (0.98 + 0.04 * next()));
  return {
    name,
    unit: name === "answered" ? "qps" : "ns",
    less_is_better: name !== "answered",
    a,
    b,
    a_values: values(1e6),
    b_values: values(1e6 * (1 + difference)),
    difference,
    from: difference - width,
    to: difference + width,
    p_value: verdict === "no_difference" ? 0.31 : 0.0022,
    p_adjusted: verdict === "no_difference" ? 0.62 : 0.0088,
    effect: verdict === "no_difference" ? 0.56 : 0.94,
    verdict,
    words,
  };
}

function comparison(): PageData["comparison"] {
  return {
    sentence: "The candidate is slower: p99 is 5.1 % higher (95 % interval 3.9 to 6.2 %).",
    state: "slower",
    a: { title: "baseline", runs: ["before"] },
    b: { title: "candidate", runs: ["after"] },
    metrics: [
      metric("answered", "21,480/s", "21,510/s", 0.0014, 0.004, "no_difference", "0.14 % higher (-0.26 to 0.54 %): no difference that these runs could show"),
      metric("p50", "212 µs", "213 µs", 0.004, 0.009, "no_difference", "0.4 % higher (-0.5 to 1.3 %): no difference that these runs could show"),
      metric("p99", "3.10 ms", "3.26 ms", 0.051, 0.012, "worse", "5.1 % higher (3.9 to 6.2 %)"),
      metric("p99.9", "9.80 ms", "9.02 ms", -0.08, 0.03, "better", "8.0 % lower (5.0 to 11 %)"),
    ],
    steps: [],
    first: "p99",
    unlike: ["The queries differ: 1,000,000 of queries.txt against 999,998 of queries-2.txt."],
    notes: ["Three more runs of each side would show a difference of 3 % in p99."],
    fail_if: [{ text: "p99 +5%", measured: "+5.1 %", state: "fail", limit: null }],
  };
}

function folderRuns(): FolderRun[] {
  return Array.from({ length: 40 }, (_, at): FolderRun => {
    const states = ["ended", "ended", "ended", "cut_short", "ended", "error", "ended"] as const;
    const state = at === 0 ? "running" : states[at % states.length]!;
    return {
      folder: `2026-11-${String(22 - (at % 20)).padStart(2, "0")}-1350${String(at).padStart(2, "0")}`,
      name: at === 3 ? '<script>alert("name")</script>' : ["nightly", "bind 9.18", "bind 9.20", "stair"][at % 4]!,
      note: at % 5 === 0 ? "after the change of the cache size" : "",
      target: "192.0.2.53:53",
      transport: ["UDP", "TCP", "DoT", "DoH"][at % 4]!,
      load: ["20,000 queries/s", "stair 2,000 to 25,000 queries/s", "100 outstanding"][at % 3]!,
      started: `2026-11-${String(22 - (at % 20)).padStart(2, "0")} 13:50:${String(at).padStart(2, "0")} UTC`,
      started_unix_ns: String(1795355412000000000n - BigInt(at) * 86_400_000_000_000n),
      length: "8 min 0 s",
      sentence: state === "error" ? "run.ndjson, line 1: this is no record of dnsdyno." : "Held 20,000 queries/s with no loss and p99 1.31 ms.",
      verdict: at % 9 === 4 ? "doubt" : "ok",
      state,
    };
  });
}
