/** Where the figures of a line come from: the columns of a run, and what is made of them. */
import { hueOf } from "../theme";
import type { Line, ShownRun } from "./panel";

type Figures = Pick<Line, "columns" | "values">;

/** A column as it is: NaN is no value, Infinity beyond the timeout. */
export function valuesOf(column: string): Figures {
  return { columns: [column], values: (window) => window.values(column) };
}

/** A column in which no value means nothing. */
export function valuesOrZero(column: string): Figures {
  const values: Line["values"] = (window) => window.values(column).map((value) => (Number.isFinite(value) ? value : 0));
  return { columns: [column], values };
}

/** The sum of counters per second, or as a share of the time where they are nanoseconds (`per_ns` 1). */
export function ratesOf(columns: string[], per_ns = 1e9): Figures {
  return { columns, values: (window) => window.rates(columns, per_ns) };
}

/** The same of counters of queries, which end where no query is due any more. */
export function ratesOfQueries(columns: string[], per_ns = 1e9): Figures {
  return { columns, values: (window) => window.ratesOfQueries(columns, per_ns) };
}

/** The sum of some counters as a share of the sum of others. */
export function sharesOf(columns: string[], all: string[]): Figures {
  return { columns: all, values: (window) => window.shares(columns, all) };
}

/** The columns that the run has: of these names, or below them where a name ends in a dot. */
export function columnsOf(run: ShownRun, names: string[]): string[] {
  const all = run.series?.names() ?? [];
  return names.flatMap((name) =>
    all.filter((column) => column === name || (name.endsWith(".") && column.startsWith(name))),
  );
}

/** Of a run beside others. */
export function colourOf(run: ShownRun): Line["colour"] {
  return hueOf(run.index);
}
