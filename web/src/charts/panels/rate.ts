/** The rate: what was asked, what was sent, and how it ended. */
import type { Palette } from "../theme";
import { limitsOf } from "../limits";
import { dashOf } from "../theme";
import { colourOf, columnsOf, ratesOfQueries } from "./figures";
import type { Line, Panel, ShownRun } from "./panel";

interface Kind {
  label: string;
  /** Names of columns, or what they begin with where it ends in a dot. */
  columns: string[];
  colour: (palette: Palette) => string;
}

/** From the rate that is answered up to the one that is asked: a gap between both is seen as what it is made of. */
const NOT_ANSWERED: Kind[] = [
  { label: "answered late", columns: ["ends.answered_late"], colour: (p) => p.late },
  { label: "answered wrongly", columns: ["ends.answered_wrong"], colour: (p) => p.p99_9 },
  { label: "timed out", columns: ["ends.timed_out"], colour: (p) => p.timedOut },
  { label: "refused", columns: ["ends.refused"], colour: (p) => p.refused },
  { label: "not sent", columns: ["ends.not_sent."], colour: (p) => p.notSent },
  { label: "interrupted", columns: ["ends.interrupted"], colour: (p) => p.grid },
];

export function ratePanels(runs: ShownRun[]): Panel[] {
  const [run] = runs;
  if (runs.length === 0) return [{ ...RATE, lines: [] }];
  const all = runs.map((one) => one.run);
  const rate = runs.length === 1 && run ? rateOf(run) : rateOfAll(runs);
  const losses = runs.length === 1 && run ? lossesOf(run) : lossesOfAll(runs);
  const limits = [...limitsOf(all, "rate"), ...limitsOf(all, "sent_rate")];
  return [{ ...rate, limits }, ...losses.map((panel) => ({ ...panel, limits: limitsOf(all, "loss") }))];
}

const RATE = { id: "rate", title: "Rate", unit: "queries/s", height: 230, scale: "zero" } as const;
const LOSSES = { id: "losses", title: "Not answered", unit: "queries/s", height: 120, scale: "zero" } as const;

function rateOf(run: ShownRun): Panel {
  const sendOnly: Kind = { label: "sent, no answer awaited", columns: ["ends.sent_only"], colour: (p) => p.ok };
  const answered: Kind = { label: "answered", columns: ["ends.answered"], colour: (p) => p.answered };
  const stack = run.run.send_only ? [sendOnly] : [answered];
  const lines = [
    ...askedOf(run, "asked"),
    line(run, "sent", ["sent"], (p) => p.muted, { dash: [1, 3], width: 1.25 }),
    ...stack.map((kind) => ({ ...stacked(run, kind), opacity: 0.22, edge: true })),
    ...kindsOf(run).map((kind) => ({ ...stacked(run, kind), opacity: 0.9 })),
  ];
  return { ...RATE, lines };
}

/** A send-only run awaits no answers, so it has no answered rate beside those of others. */
function rateOfAll(runs: ShownRun[]): Panel {
  const answered = runs.filter(({ run }) => !run.send_only);
  const [title, shown, columns] =
    answered.length > 0 ? ["Rate answered", answered, ["ends.answered"]] : ["Rate sent", runs, ["ends.sent_only"]];
  const lines = shown.flatMap((run, i) => [
    ...askedOf(run, `asked, ${run.run.label}`).map((asked) => ({ ...asked, end: i === 0 ? "asked" : null })),
    line(run, run.run.label, columns, colourOf(run), { dash: dashOf(run.index) }),
  ]);
  return { ...RATE, title: shown.length < runs.length ? `${title}, without send-only runs` : title, lines };
}

/** A loss of a thousandth cannot be seen beside the rate, so it has an axis of its own. */
function lossesOf(run: ShownRun): Panel[] {
  const lines = kindsOf(run).map((kind) => ({ ...stacked(run, kind), opacity: 0.9 }));
  return lines.length > 0 ? [{ ...LOSSES, lines }] : [];
}

function lossesOfAll(runs: ShownRun[]): Panel[] {
  const lines = runs.flatMap((run) => {
    const columns = kindsOf(run).flatMap((kind) => kind.columns);
    return columns.length > 0 ? [line(run, run.run.label, columns, colourOf(run), { dash: dashOf(run.index) })] : [];
  });
  return lines.length > 0 ? [{ ...LOSSES, lines }] : [];
}

function askedOf(run: ShownRun, label: string): Line[] {
  if (!run.series?.has("asked_micro")) return [];
  const dash = dashOf(run.index);
  // Millionths of queries per interval: per 1,000 s they are a rate again.
  return [line(run, label, ["asked_micro"], (p) => p.asked, { width: 1.25, dash, ...ratesOfQueries(["asked_micro"], 1e3) })];
}

/** The kinds that happened in the run, with the names of their columns. */
function kindsOf(run: ShownRun): Kind[] {
  return NOT_ANSWERED.map((kind) => ({ ...kind, columns: columnsOf(run, kind.columns) })).filter(
    (kind) => kind.columns.length > 0,
  );
}

function line(
  run: ShownRun,
  label: string,
  columns: string[],
  colour: Line["colour"],
  style: Partial<Line> = {},
): Line {
  return {
    label,
    unit: "qps",
    run: run.index,
    colour,
    shape: "line",
    ...ratesOfQueries(columns),
    ...style,
  };
}

function stacked(run: ShownRun, kind: Kind): Line {
  return line(run, kind.label, kind.columns, kind.colour, { shape: "stack" });
}
