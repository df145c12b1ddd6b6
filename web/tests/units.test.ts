import { expect, it } from "vitest";
import { count, duration, percent, rate, seconds, setting } from "../src/format/units";
import vectors from "./units.json";

type Case = (number | string)[];

/** The same cases are tested in `crates/measure/tests/units.rs`. */
const functions: Record<keyof typeof vectors, (...figures: number[]) => string> = {
  duration,
  setting,
  seconds: (ns, step_ns) => seconds(ns!, step_ns!),
  count,
  rate,
  percent,
} as Record<keyof typeof vectors, (...figures: number[]) => string>;

it.each(Object.entries(functions))("%s writes what the program writes", (name, write) => {
  for (const figures of vectors[name as keyof typeof vectors] as Case[]) {
    const text = figures[figures.length - 1];
    expect(write(...(figures.slice(0, -1) as number[]))).toBe(text);
  }
});
