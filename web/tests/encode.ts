/**
 * Writes the series of a run as `src/data/types.ts` describes it: what `crates/page` does, small, for tests and for the
 * page that one looks at while changing it.
 */
import { deflateRawSync } from "node:zlib";
import type { Column, Level, Series } from "../src/data/types";

export type Cell = number | "beyond" | null;

export interface LevelSource {
  factor: number;
  columns: Record<string, { unit: Column["unit"]; values: Cell[] }>;
  /** For each row its cells: bucket and count, ascending. */
  heat?: [number, number][][];
}

export function encodeSeries(sources: LevelSource[], blob = 0): { series: Series; base64: string } {
  const bytes: number[] = [];
  const levels = sources.map((source) => encodeLevel(source, bytes));
  const packed = deflateRawSync(Uint8Array.from(bytes));
  return { series: { blob, bytes: bytes.length, levels }, base64: packed.toString("base64") };
}

function encodeLevel(source: LevelSource, bytes: number[]): Level {
  const rows = Object.values(source.columns)[0]?.values.length ?? 0;
  const columns = Object.entries(source.columns).map(([name, { unit, values }]) => {
    const offset = bytes.length;
    let last = 0;
    for (const value of values) {
      if (value === null) pushVarint(bytes, 0);
      else if (value === "beyond") pushVarint(bytes, 1);
      else {
        const step = value - last;
        pushVarint(bytes, 2 + (step >= 0 ? step * 2 : -step * 2 - 1));
        last = value;
      }
    }
    return { name, unit, offset, bytes: bytes.length - offset };
  });
  const level: Level = { factor: source.factor, rows, columns };
  if (source.heat) {
    const offset = bytes.length;
    for (const cells of source.heat) {
      pushVarint(bytes, cells.length);
      let last = 0;
      for (const [bucket, count] of cells) {
        pushVarint(bytes, bucket - last);
        pushVarint(bytes, count);
        last = bucket;
      }
    }
    level.heat = { offset, bytes: bytes.length - offset };
  }
  return level;
}

function pushVarint(bytes: number[], value: number): void {
  for (; value >= 128; value = Math.floor(value / 128)) bytes.push((value % 128) + 128);
  bytes.push(value);
}
