/** The figures by second and the file for download, against the columns they are made from. */
import { expect, test } from "vitest";
import { SeriesReader } from "../src/data/series";
import { Damaged } from "../src/data/varint";
import { cell, csv, figures } from "../src/parts/intervals";
import { encodeSeries, type Cell } from "./encode";
import { inflateRawSync } from "node:zlib";
import { samplePages } from "./sample";

const TIMEOUT_NS = 5e9;
const run = { ...samplePages()["report"]!.data.runs[0]!, timeout_ns: TIMEOUT_NS };

function level(columns: Record<string, [unit: "count" | "ns" | "micro", values: Cell[]]>) {
  const source = Object.fromEntries(Object.entries(columns).map(([name, [unit, values]]) => [name, { unit, values }]));
  const { series, base64 } = encodeSeries([{ factor: 1, columns: source }]);
  return new SeriesReader(series, new Uint8Array(inflateRawSync(Buffer.from(base64, "base64")))).levels[0]!;
}

const rows = level({
  from_ns: ["ns", [0, 1e9, 2e9]],
  covered_ns: ["ns", [1e9, 1e9, 5e8]],
  scheduled: ["count", [1000, 1000, 500]],
  asked_micro: ["micro", [1000e6, 1000e6, 500e6]],
  sent: ["count", [1000, 0, 500]],
  "ends.answered": ["count", [999, 0, 500]],
  "ends.timed_out": ["count", [1, 0, 0]],
  "latency.p50": ["ns", [212_000, null, 3_100_000]],
  "latency.p99_9": ["ns", ["beyond", null, 5_000_000]],
});

test("rates are per second also in an interval that is shorter", () => {
  const all = figures(rows, run);
  const texts = [0, 1, 2].map((row) => all.map((figure) => cell(figure, row, TIMEOUT_NS)));
  expect(all.map((figure) => `${figure.title} ${figure.unit}`.trim())).toEqual([
    "from s", "asked /s", "sent /s", "answered /s", "answered of sent", "timed out queries", "p50", "p99.9",
  ]);
  expect(texts).toEqual([
    ["0", "1,000", "1,000", "999", "99.90 %", "1", "212 µs", ">5 s"],
    ["1", "1,000", "0", "0", "-", "0", "-", "-"],
    ["2", "1,000", "1,000", "1,000", "100 %", "0", "3.10 ms", "5.00 ms"],
  ]);
});

test("an interval that lacks an agent has no rate, and what is there stays", () => {
  const partial = level({
    from_ns: ["ns", [0, 1e9]],
    covered_ns: ["ns", [1e9, 1e9]],
    partial_intervals: ["count", [0, 1]],
    sent: ["count", [1000, 600]],
    "ends.answered": ["count", [1000, 300]],
  });
  const all = figures(partial, run);
  const texts = [0, 1].map((row) => all.map((figure) => cell(figure, row, TIMEOUT_NS)));
  expect(texts).toEqual([
    ["0", "1,000", "1,000", "100 %"],
    ["1", "partial", "partial", "50.00 %"],
  ]);
});

test("the file has each column, with its unit, and names what is beyond the timeout", () => {
  const lines = [...csv(rows, TIMEOUT_NS)].join("").split("\n");
  expect(lines).toEqual([
    "from_ns,covered_ns,scheduled,asked_micro,sent,ends.answered,ends.timed_out,latency.p50_ns,latency.p99_9_ns,beyond_timeout",
    "0,1000000000,1000,1000000000,1000,999,1,212000,5000000000,latency.p99_9",
    "1000000000,1000000000,1000,1000000000,0,0,0,,,",
    "2000000000,500000000,500,500000000,500,500,0,3100000,5000000,",
    "",
  ]);
});

test("the name of a column from a record cannot break the file, or become a formula", () => {
  const hostile = level({
    from_ns: ["ns", [0]],
    covered_ns: ["ns", [1e9]],
    'watched.0.a,"b"\n': ["count", [1]],
    "=odd": ["count", [2]],
  });
  const [titles] = [...csv(hostile, TIMEOUT_NS)];
  expect(titles).toBe('from_ns,covered_ns,"watched.0.a,""b""\n",\'=odd,beyond_timeout\n');
});

test("damaged data is an error, not a page without an end", () => {
  const { series } = encodeSeries([{ factor: 1, columns: { from_ns: { unit: "ns", values: [0, 1e9] } } }]);
  expect(() => new SeriesReader(series, Uint8Array.of(0))).toThrow(Damaged);
});
