/** What a run is made of: RCODEs, query types, members of a mix, connections, handshakes, parts of a transaction. */
import { columnsOf, ratesOf, ratesOfQueries, sharesOf, valuesOf, valuesOrZero } from "./figures";
import { MEDIAN, dashOf, hueOf } from "../theme";
import { rowsHeight } from "../yaxis";
import type { Line, Panel, ShownRun } from "./panel";
import type { Window } from "./window";

export function partsPanels(run: ShownRun): Panel[] {
  if (!run.series) return [];
  const connected = [openConnections, connections, handshakes, setUp];
  const makers = [rcodes, fallback, ...connected, types, agents, agentRows, agentLatency, members, memberLatency];
  return makers.flatMap((make) => {
    const panel = make(run);
    return panel.lines.length > 0 || panel.empty !== undefined ? [panel] : [];
  });
}

function rcodes(run: ShownRun): Panel {
  const columns = largestFirst(run, columnsOf(run, ["rcodes."]));
  const lines = columns.map((column, i): Line => {
    const name = column.slice("rcodes.".length);
    // What is as it should be is pale, so that the rest is seen.
    const opacity = name === "NOERROR" ? 0.22 : 0.85;
    return {
      ...base(run, name, i),
      unit: "share",
      shape: "stack",
      opacity,
      colour: rcodeColour(name, i),
      ...sharesOf([column], columns),
    };
  });
  return { id: "rcodes", title: "RCODEs", unit: "share of the answers", height: 104, scale: "share", lines };
}

/** The usual ones by what they mean to an operator, so that they are the same on every page. */
function rcodeColour(name: string, i: number): Line["colour"] {
  const known: Record<string, Line["colour"]> = {
    NOERROR: (p) => p.answered,
    NXDOMAIN: (p) => p.late,
    SERVFAIL: (p) => p.timedOut,
    REFUSED: (p) => p.refused,
  };
  return known[name] ?? ((p) => [p.p99_9, p.ok, p.notSent, ...p.hues.slice(6)][i % 7]!);
}

function fallback(run: ShownRun): Panel {
  const parts = [
    ["UDP query", "fallback.udp.p50"],
    ["waiting", "fallback.waiting.p50"],
    ["connecting", "fallback.connect.p50"],
    ["TCP query", "fallback.query.p50"],
  ] as const;
  const lines = parts.flatMap(([label, column], i): Line[] =>
    run.series!.has(column) ? [{ ...base(run, label, i), unit: "ns", shape: "stack", ...valuesOrZero(column) }] : [],
  );
  return {
    id: "parts",
    title: "Parts of a transaction that fell back to TCP",
    unit: "medians, stacked",
    height: 150,
    scale: "zero",
    lines,
  };
}

const CONNECTIONS = "arrivals.connections.";

function openConnections(run: ShownRun): Panel {
  const column = `${CONNECTIONS}open_max`;
  const lines: Line[] = run.series!.has(column)
    ? [{ ...base(run, "open", 0), unit: "count", ...valuesOrZero(column) }]
    : [];
  return { id: "open-connections", title: "Open connections", unit: "most at once", height: 110, scale: "zero", lines };
}

function connections(run: ShownRun): Panel {
  const lines = rates(run, [
    ["opened", [`${CONNECTIONS}opened`], (p) => p.asked],
    ["established", [`${CONNECTIONS}established`], (p) => p.answered],
    ["failed", [`${CONNECTIONS}failed.`], (p) => p.timedOut],
    ["server closed", [`${CONNECTIONS}ended.by_server`, `${CONNECTIONS}ended.gone_away`], (p) => p.refused],
    ["reset", [`${CONNECTIONS}ended.reset`, `${CONNECTIONS}ended.error`], (p) => p.p99_9],
  ]);
  return { id: "connections", title: "Connections", unit: "per second", height: 130, scale: "zero", lines };
}

function handshakes(run: ShownRun): Panel {
  const done = `${CONNECTIONS}encrypted.handshakes.`;
  const lines = rates(run, [
    ["full", [`${done}full.count`], (p) => p.answered],
    ["resumed", [`${done}resumed.count`], (p) => p.ok],
    ["resumed, early data", [`${done}early.count`], (p) => p.p99_9],
    ["failed", [`${CONNECTIONS}encrypted.failed.`], (p) => p.timedOut],
  ]);
  return { id: "handshakes", title: "Handshakes", unit: "per second", height: 130, scale: "zero", lines };
}

type Rate = [label: string, columns: string[], colour: Line["colour"]];

/** `of` is `ratesOfQueries` for counters of queries by the instant at which they were due. */
function rates(run: ShownRun, kinds: Rate[], of = ratesOf): Line[] {
  return kinds.flatMap(([label, names, colour]): Line[] => {
    const columns = columnsOf(run, names);
    return columns.length > 0 ? [{ ...base(run, label, 0), colour, ...of(columns) }] : [];
  });
}

function setUp(run: ShownRun): Panel {
  const durations: [string, string, Line["colour"]][] = [
    ["connect", `${CONNECTIONS}connect`, (p) => p.answered],
    ["full", `${CONNECTIONS}encrypted.handshakes.full`, (p) => p.p99_9],
    ["resumed", `${CONNECTIONS}encrypted.handshakes.resumed`, (p) => p.ok],
    ["early data", `${CONNECTIONS}encrypted.handshakes.early`, (p) => p.refused],
    ["query", `${CONNECTIONS}query`, (p) => p.muted],
  ];
  const lines = durations.flatMap(([label, path, colour]) => [
    ...percentile(run, `${label} p50`, `${path}.p50`, colour, []),
    ...percentile(run, `${label} p99`, `${path}.p99`, colour, [4, 3]),
  ]);
  return { id: "set-up", title: "Connect, handshake, query", unit: "logarithmic", height: 170, scale: "log", lines };
}

function percentile(
  run: ShownRun,
  label: string,
  column: string,
  colour: Line["colour"],
  dash: number[],
  width = 1.5,
): Line[] {
  if (!run.series!.has(column)) return [];
  return [{ ...base(run, label, 0), unit: "ns", colour, dash, width, ...valuesOf(column) }];
}

/** With more types, the rest is one. */
const MOST_TYPES = 7;

function types(run: ShownRun): Panel {
  const columns = largestFirst(
    run,
    columnsOf(run, ["types."]).filter((column) => column.endsWith(".answered")),
  );
  const [first, rest] =
    columns.length > MOST_TYPES ? [columns.slice(0, MOST_TYPES - 1), columns.slice(MOST_TYPES - 1)] : [columns, []];
  const lines = first.map((column, i): Line => {
    const label = column.slice("types.".length, -".answered".length);
    return { ...base(run, label, i), shape: "stack", ...ratesOfQueries([column]) };
  });
  if (rest.length > 0) {
    const others = { ...base(run, `${rest.length} other types`, 0), colour: (p: { notSent: string }) => p.notSent };
    lines.push({ ...others, shape: "stack", ...ratesOfQueries(rest) });
  }
  return { id: "types", title: "Answered by query type", unit: "queries/s", height: 140, scale: "zero", lines };
}

/** An agent that is missing has no rate, and not that of 0. */
function agents(run: ShownRun): Panel {
  const lines = run.run.agents.flatMap((name, i) => {
    const scheduled = `agents.${i}.scheduled`;
    return rates(run, [[name, [`agents.${i}.ends.answered`], hueOf(i)]], ratesOfQueries).map((line): Line => {
      const values: Line["values"] = (window) => {
        const missing = missingOf(i, window);
        return line.values(window).map((rate, row) => (missing[row] ? NaN : rate));
      };
      return { ...line, dash: dashOf(i), columns: [...line.columns, scheduled], values };
    });
  });
  return { id: "agents", title: "Answered by agent", unit: "queries/s", height: 140, scale: "zero", lines };
}

/** The intervals without the part of an agent. */
function missingOf(agent: number, window: Window): boolean[] {
  return Array.from(window.counts([`agents.${agent}.scheduled`]), (count, row) => count === 0 && window.isPartial(row));
}

/** Who of them is slow: a row each, in their order, also of one whose p99 is nowhere known. */
function agentRows(run: ShownRun): Panel {
  const { agents, headline } = run.run;
  const column = (i: number, key: string) => `agents.${i}.${headline}.${key}`;
  const isKnown = (key: string) => agents.some((_, i) => run.series!.has(column(i, key)));
  const lines = agents.map((label, i): Line => {
    const missing = (window: Window) => missingOf(i, window);
    return { ...base(run, label, i), unit: "ns", missing, ...valuesOf(column(i, "p99")) };
  });
  const panel: Panel = {
    id: "agent-rows",
    title: "Latency by agent, a row each",
    unit: "p99, colour logarithmic",
    height: rowsHeight(agents.length),
    scale: "rows",
    lines: agents.length > 1 && isKnown("p99") ? lines : [],
  };
  const hasTooFew = agents.length > 1 && panel.lines.length === 0 && isKnown("count");
  return hasTooFew ? { ...panel, empty: "No agent had enough queries in an interval for its p99." } : panel;
}

/** More lines than this cannot be told apart where they cross, which equal agents do all the time: the rows stand alone. */
const MOST_LINES = 8;

function agentLatency(run: ShownRun): Panel {
  const names = run.run.agents.length > MOST_LINES ? [] : run.run.agents;
  const lines = names.flatMap((name, i) =>
    percentile(run, name, `agents.${i}.${run.run.headline}.p99`, hueOf(i), dashOf(i)),
  );
  return { id: "agent-latency", title: "Latency by agent", unit: "p99, logarithmic", height: 140, scale: "log", lines };
}

function members(run: ShownRun): Panel {
  const lines = run.run.members.flatMap((name, i) =>
    rates(run, [[name, [`members.${i}.ends.answered`], hueOf(i)]], ratesOfQueries).map((line) => ({
      ...line,
      dash: dashOf(i),
    })),
  );
  return { id: "members", title: `Answered by ${run.run.members_by}`, unit: "queries/s", height: 140, scale: "zero", lines };
}

function memberLatency(run: ShownRun): Panel {
  const lines = run.run.members.flatMap((name, i) => {
    const path = `members.${i}.${run.run.headline}`;
    const colour = hueOf(i);
    // Without a line of p99 beside it, the median has the look of its server to itself.
    const median = run.series!.has(`${path}.p99`) ? MEDIAN : { dash: dashOf(i), width: 1.5 };
    return [
      ...percentile(run, `${name} p50`, `${path}.p50`, colour, median.dash, median.width),
      ...percentile(run, `${name} p99`, `${path}.p99`, colour, dashOf(i), 2),
    ];
  });
  return {
    id: "member-latency",
    title: `Latency by ${run.run.members_by}`,
    unit: "of the answered, logarithmic",
    height: 170,
    scale: "log",
    lines,
  };
}

function base(run: ShownRun, label: string, i: number): Omit<Line, "values" | "columns"> {
  return {
    label,
    unit: "qps",
    run: run.index,
    shape: "line",
    opacity: 0.55,
    colour: hueOf(i),
  };
}

/** By their sum over the run. */
function largestFirst(run: ShownRun, columns: string[]): string[] {
  const coarsest = run.series!.levels[run.series!.levels.length - 1]!;
  const total = (column: string) =>
    (coarsest.column(column) ?? new Float64Array()).reduce((sum, value) => sum + (value || 0), 0);
  return columns
    .map((column) => ({ column, sum: total(column) }))
    .sort((a, b) => b.sum - a.sum)
    .map(({ column }) => column);
}
