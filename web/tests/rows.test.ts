/** Charts with a row for each agent: what they say of who is slow. */
import { describe, expect, it } from "vitest";
import type { Palette } from "../src/charts/theme";
import { palette } from "../src/charts/theme";
import { HeatRows } from "../src/charts/rows";
import { Window } from "../src/charts/panels/window";
import { rowsHeight, shortNames, yAxisFor } from "../src/charts/yaxis";
import { shownRun } from "./runs";

const MS = 1e6;
const colours: Palette = palette("light");

async function rowsOf(values: Record<string, number[]>, missing: Record<string, boolean[]> = {}): Promise<HeatRows> {
  const intervals = Object.values(values)[0]!.length;
  const run = await shownRun({ sent: Array<number>(intervals).fill(1) });
  const rows = Object.entries(values).map(([name, of]) => ({ name, values: Float64Array.from(of), missing: missing[name] ?? [] }));
  return new HeatRows(rows, Window.of(run.series!, 0, Infinity), 5e9);
}

const words = (items: { label: string; text: string }[]) => items.map(({ label, text }) => `${label} ${text}`.trim());

describe("a readout of rows", () => {
  const values = { lg1: [1 * MS, 2 * MS, 3 * MS], lg2: [9 * MS, 8 * MS, NaN], lg3: [NaN, 2 * MS, Infinity] };

  it("names the row under the pointer, and who is slowest then", async () => {
    const rows = await rowsOf(values, { lg3: [true, false, false] });
    const at = (interval: number, y: number | null) => words(rows.items(colours, { interval, y }));
    // The first row is the uppermost.
    expect(at(0, 2.5)).toEqual(["lg1 1.00 ms", "slowest: lg2 9.00 ms"]);
    expect(at(0, 1.5)).toEqual(["lg2, the slowest 9.00 ms"]);
    expect(at(0, 0.5)).toEqual(["lg3 missing", "slowest: lg2 9.00 ms"]);
    expect(at(2, 1.5)).toEqual(["lg2 -", "slowest: lg3 >5 s"]);
    expect(at(1, null)).toEqual(["slowest: lg2 8.00 ms"]);
    expect(rows.items(colours, { interval: null, y: 1 })).toEqual([]);
  });

  it("says without a cursor who is slowest in most intervals, and what the colour of no answer is", async () => {
    expect(words((await rowsOf(values)).items(colours, null))).toEqual(["slowest 66.7 % of the time: lg2", ">5 s"]);
    expect((await rowsOf({ lg1: [1, 2], lg2: [2, 1] })).items(colours, null)).toEqual([]);
  });

  it("calls nobody slowest where two are equal, or one is alone", async () => {
    const rows = await rowsOf({ lg1: [5, 7], lg2: [5, NaN], lg3: [1, NaN] });
    expect(words(rows.items(colours, { interval: 0, y: null }))).toEqual([]);
    expect(words(rows.items(colours, { interval: 1, y: 2.5 }))).toEqual(["lg1 7 ns"]);
    expect(rows.items(colours, null)).toEqual([]);
  });

  it("has the colours of the chart: the slowest of a decade is the last of them", async () => {
    const rows = await rowsOf({ lg1: [1 * MS], lg2: [10 * MS], lg3: [Infinity] });
    const colour = (y: number) => rows.items(colours, { interval: 0, y })[0]!.colour;
    const css = (hex: string) => `rgb(${[1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16)).join(" ")} / 1)`;
    expect([2.5, 1.5, 0.5].map(colour)).toEqual([colours.heat[0]!, colours.heat.at(-1)!, colours.timedOut].map(css));
  });
});

describe("the names of rows", () => {
  it("stand beside as many rows as have room for them, the first at the top", async () => {
    const axis = (agents: number) => {
      const lines = Array.from({ length: agents }, (_, i) => ({ label: `lg${i + 1}` }));
      const panel = { id: "", title: "", unit: "", height: rowsHeight(agents), scale: "rows", lines } as unknown as Parameters<typeof yAxisFor>[0];
      const { range, ticks } = yAxisFor(panel, []);
      return { range, ticks: ticks(...range, 5).map(({ at, text }) => `${text} ${at}`) };
    };
    expect(axis(2)).toEqual({ range: [0, 2], ticks: ["lg2 0.5", "lg1 1.5"] });
    expect(axis(16).ticks).toHaveLength(16);
    expect(axis(64).ticks.slice(-2)).toEqual(["lg3 61.5", "lg1 63.5"]);
  });

  it("are shortened to what tells them apart", () => {
    expect(shortNames(["lg1.example.net", "lg2.example.net"])).toEqual(["lg1", "lg2"]);
    expect(shortNames(["lg1.tyo.example.net", "lg1.osa.example.net"])).toEqual(["lg1.tyo", "lg1.osa"]);
    expect(shortNames(["dnsdyno-agent-0", "dnsdyno-agent-1"])).toEqual(["…agent-0", "…agent-1"]);
    expect(shortNames(["tokyo-generator", "osaka-generator"])).toEqual(["tokyo-g…", "osaka-g…"]);
    expect(shortNames(["10.0.0.1", "10.0.1.1"])).toEqual(["10.0.0.1", "10.0.1.1"]);
  });
});
