/** Series of probes beside the load, `probe.GROUP.NAME`: small charts of one height, those that moved most first. */
import type { Line, Panel, ShownRun, Unit } from "./panel";

const GROUPS: [key: string, title: string][] = [
  ["host", "Host of the server"],
  ["process", "Process of the server"],
  ["server", "Statistics of the server"],
  ["card", "Network card"],
];

export function probePanels(run: ShownRun): Panel[] {
  const level = run.series?.levels[run.series.levels.length - 1];
  if (!level) return [];
  return GROUPS.flatMap(([key, group]) => {
    const prefix = `probe.${key}.`;
    return level
      .names()
      .filter((name) => name.startsWith(prefix))
      .map((name) => ({ name, moved: movement(level.column(name) ?? new Float64Array()) }))
      .sort((a, b) => b.moved - a.moved)
      .map(({ name }) => panelOf(run, name, name.slice(prefix.length), group, level.unit(name)));
  });
}

/** How far a series goes from its mean, as a share of it: 0 where it stays. */
export function movement(values: Float64Array): number {
  const known = values.filter((value) => Number.isFinite(value));
  if (known.length === 0) return 0;
  const mean = known.reduce((sum, value) => sum + value, 0) / known.length;
  const spread = Math.sqrt(known.reduce((sum, value) => sum + (value - mean) ** 2, 0) / known.length);
  return mean === 0 ? 0 : spread / Math.abs(mean);
}

function panelOf(run: ShownRun, column: string, name: string, group: string, unit: string | null): Panel {
  const [shown, scale, words] = UNITS[unit ?? "gauge"] ?? UNITS["gauge"]!;
  const values: Line["values"] = (window) =>
    scale === 0 ? window.rates([column]) : window.values(column).map((value) => value * scale);
  const line: Line = {
    label: name,
    unit: shown,
    run: run.index,
    colour: (p) => p.answered,
    shape: "line",
    columns: [column],
    values,
  };
  return {
    id: column,
    title: name,
    unit: words,
    group,
    height: 96,
    scale: shown === "share" ? "share" : "zero",
    lines: [line],
  };
}

/** The unit of the chart, the factor to it (0: a count, which becomes a rate), and its words. */
const UNITS: Record<string, [Unit, number, string]> = {
  count: ["qps", 0, "per second"],
  ns: ["ns", 1, ""],
  micro: ["gauge", 1e-6, ""],
  bytes: ["bytes", 1, ""],
  share_ppm: ["share", 1e-6, "share"],
  gauge: ["gauge", 1, ""],
};
