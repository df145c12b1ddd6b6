import { describe, expect, it } from "vitest";
import { decodeRun, unpack } from "../src/data/decode";
import { bucketFrom_ns } from "../src/data/heat";
import { LevelReader, SeriesReader } from "../src/data/series";
import type { Run } from "../src/data/types";
import { type Cell, type LevelSource, encodeSeries } from "./encode";

const SECOND_NS = 1e9;

/** `rows` seconds, merged by `factor`. */
function level(
  rows: number,
  factor: number,
  columns: LevelSource["columns"] = {},
  heat?: LevelSource["heat"],
): LevelSource {
  const from = Array.from({ length: rows }, (_, i) => i * factor * SECOND_NS);
  const ns = "ns" as const;
  const times = {
    from_ns: { unit: ns, values: from },
    covered_ns: { unit: ns, values: from.map(() => factor * SECOND_NS) },
  };
  return { factor, columns: { ...times, ...columns }, ...(heat ? { heat } : {}) };
}

async function reader(levels: LevelSource[]): Promise<SeriesReader> {
  const { series, base64 } = encodeSeries(levels);
  return new SeriesReader(series, await unpack(base64, series.bytes));
}

describe("columns", () => {
  it("come back as they were written, with gaps and with values beyond the timeout", async () => {
    const values: Cell[] = [null, 0, 5, "beyond", 3, 2 ** 51, 0, null, 7];
    const series = await reader([level(9, 1, { x: { unit: "ns", values } })]);
    const expected = values.map((v) => (v === null ? NaN : v === "beyond" ? Infinity : v));
    expect(Array.from(series.levels[0]!.column("x")!)).toEqual(expected);
  });

  it("that nothing was counted in are absent", async () => {
    const series = await reader([level(2, 1)]);
    expect(series.levels[0]!.column("ends.refused")).toBeNull();
    expect(series.has("ends.refused")).toBe(false);
  });
});

describe("rows", () => {
  it("are found by instant and by range", async () => {
    const first = (await reader([level(10, 1)])).levels[0]!;
    expect([0, 0.5, 1, 9.99].map((s) => first.rowAt(s * SECOND_NS))).toEqual([0, 0, 1, 9]);
    expect(first.rowAt(10 * SECOND_NS)).toBeNull();
    expect(first.rowAt(-1)).toBeNull();
    expect(first.rowsWithin(2.5 * SECOND_NS, 4 * SECOND_NS)).toEqual({ first: 2, end: 4 });
    expect(first.rowsWithin(4 * SECOND_NS, 4.1 * SECOND_NS)).toEqual({ first: 4, end: 5 });
    expect(first.rowsWithin(0, 1e12)).toEqual({ first: 0, end: 10 });
    expect(first.rowsWithin(1e12, 2e12)).toEqual({ first: 10, end: 10 });
  });

  it("are those of the finest level that has not too many of them", async () => {
    const series = await reader([level(600, 1), level(60, 10), level(10, 60)]);
    const factor = (seconds: number, most: number) => series.levelFor(0, seconds * SECOND_NS, most).factor;
    expect([factor(600, 600), factor(600, 599), factor(600, 59), factor(600, 5), factor(30, 59)]).toEqual([
      1, 10, 60, 60, 1,
    ]);
  });
});

describe("what was left out of the finest level", () => {
  it("is taken from the next one", async () => {
    const { series, base64 } = encodeSeries([
      level(60, 1),
      level(6, 10, { x: { unit: "count", values: [1, 2, 3, 4, 5, 6] } }),
    ]);
    series.levels[0]!.left_out = ["x", "heat"];
    const run = new SeriesReader(series, await unpack(base64, series.bytes));
    const factor = (columns: string[]) => run.levelFor(0, SECOND_NS, 100, columns).factor;
    expect([factor([]), factor(["sent"]), factor(["sent", "x"]), factor(["heat"])]).toEqual([1, 1, 10, 10]);
    expect(run.has("x")).toBe(true);
  });

  it("is so too of a percentile that has too few queries there", async () => {
    const { series, base64 } = encodeSeries([
      level(60, 1),
      level(6, 10, { x: { unit: "ns", values: [1, 2, 3, 4, 5, 6] } }),
    ]);
    const run = new SeriesReader(series, await unpack(base64, series.bytes));
    const factor = (columns: string[]) => run.levelFor(0, SECOND_NS, 100, columns).factor;
    expect([factor(["x"]), factor(["from_ns", "x"]), factor(["nowhere"])]).toEqual([10, 1, 1]);
  });
});

describe("the heat map", () => {
  it("has the cells that were written, from any row on", async () => {
    const heat = Array.from({ length: 200 }, (_, row): [number, number][] =>
      row % 3 === 0
        ? []
        : [
            [row, 1],
            [row + 9, 300],
          ],
    );
    const series = await reader([level(200, 1, {}, heat)]);
    for (const [first, end] of [
      [0, 200],
      [63, 66],
      [130, 131],
      [199, 200],
    ] as const) {
      const found: [number, number][][] = heat.slice(first, end).map(() => []);
      series.levels[0]!.heat!.forEach(first, end, (row, bucket, count) => found[row - first]!.push([bucket, count]));
      expect(found).toEqual(heat.slice(first, end));
    }
  });

  it("has eight buckets per octave", () => {
    expect([0, 1, 7, 8, 9, 16, 24].map(bucketFrom_ns)).toEqual([1, 1.125, 1.875, 2, 2.25, 4, 8]);
    expect(bucketFrom_ns(8 * 10)).toBe(1024);
  });
});

describe("damaged data", () => {
  const run = (series: Run["series"]) => ({ series }) as Run;
  const good = encodeSeries([level(5, 1, { x: { unit: "count", values: [1, 2, 3, 4, 5] } })]);

  it("is a message and not a failure", async () => {
    const cases: [Run["series"], string][] = [
      [good.series, "%%%"],
      [good.series, ""],
      [good.series, good.base64.slice(0, 8)],
      [{ ...good.series, bytes: good.series.bytes + 1 }, good.base64],
      [{ ...good.series, bytes: good.series.bytes - 1 }, good.base64],
      [{ ...good.series, bytes: 1e18 }, good.base64],
      [{ ...good.series, levels: [] }, good.base64],
      [{ ...good.series, levels: [{ ...good.series.levels[0]!, rows: 1e9 }] }, good.base64],
      [{ ...good.series, levels: [{ ...good.series.levels[0]!, rows: 4 }] }, good.base64],
    ];
    for (const [series, base64] of cases) {
      const decoded = await decodeRun(run(series), base64);
      expect(decoded.series).toBeNull();
      expect(decoded.problem).toMatch(/cannot be read.*dnsdyno report/);
    }
    expect((await decodeRun(run(good.series), good.base64)).problem).toBeNull();
  });

  it("of one column or of the heat map is told when it is read", () => {
    const bytes = Uint8Array.from([2, 3, 128, 128]);
    const columns = [
      { name: "from_ns", unit: "ns" as const, offset: 0, bytes: 1 },
      { name: "cut", unit: "count" as const, offset: 2, bytes: 2 },
      { name: "outside", unit: "count" as const, offset: 3, bytes: 9 },
    ];
    const one = new LevelReader({ factor: 1, rows: 1, columns, heat: { offset: 1, bytes: 3 } }, bytes);
    expect(() => one.column("cut")).toThrow(/cut short/);
    expect(() => one.column("outside")).toThrow(/outside/);
    expect(() => one.heat!.forEach(0, 1, () => undefined)).toThrow(/cut short/);
  });
});
