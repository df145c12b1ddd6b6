/** The rows of a level that are shown, and their figures in the units of the charts. */
import type { LevelReader, Rows, SeriesReader } from "../../data/series";

/** More rows than any screen has columns for, and few enough to be drawn between two frames. */
export const MOST_ROWS = 4000;

/** Counters and percentiles of queries by the instant at which they were due; others are of all of an interval. */
function isOfQueries(name: string): boolean {
  return !["watched.", "workers.", "arrivals."].some((prefix) => name.startsWith(prefix));
}

/** Whether a counter is that of all agents together, and so not known where one is missing. */
function isOfAll(name: string): boolean {
  return !["watched.", "workers.", "agents."].some((prefix) => name.startsWith(prefix));
}

export class Window {
  readonly from: Float64Array;
  readonly to: Float64Array;

  constructor(
    readonly level: LevelReader,
    readonly rows: Rows,
  ) {
    this.from = level.from_ns.subarray(rows.first, rows.end);
    this.to = this.from.map((_, i) => level.to_ns(rows.first + i));
  }

  /** With the finest rows that can be drawn and that have these columns. */
  static of(series: SeriesReader, from_ns: number, to_ns: number, columns: string[] = []): Window {
    const level = series.levelFor(from_ns, to_ns, MOST_ROWS, columns);
    return new Window(level, level.rowsWithin(from_ns, to_ns));
  }

  /** The ends of what is drawn of columns. */
  endsOf(columns: string[]): Float64Array {
    return columns.length > 0 && columns.every(isOfQueries) ? this.dueTo : this.to;
  }

  /** Where the load of each row ends: in the last one that has any, it may be before the end of the row. */
  get dueTo(): Float64Array {
    const last = this.level.dueEnd - 1;
    if (last < this.rows.first || last >= this.rows.end || this.level.covered_ns[last] === 0) return this.to;
    const ends = this.to.slice();
    ends[last - this.rows.first] = this.level.from_ns[last]! + this.level.covered_ns[last]!;
    return ends;
  }

  get length(): number {
    return this.from.length;
  }

  /** As recorded: NaN is no value, Infinity beyond the timeout. */
  values(name: string): Float64Array {
    const column = this.level.column(name);
    return column ? column.subarray(this.rows.first, this.rows.end) : new Float64Array(this.length).fill(NaN);
  }

  /** The sum of counters, 0 where nothing was counted. */
  counts(names: string[]): Float64Array {
    const sum = new Float64Array(this.length);
    for (const name of names) {
      const values = this.level.column(name)?.subarray(this.rows.first, this.rows.end);
      if (values) for (let i = 0; i < sum.length; i++) sum[i]! += values[i]! || 0;
    }
    return sum;
  }

  /** The sum of counters per second. */
  rates(names: string[], per_ns = 1e9): Float64Array {
    return this.over(names, per_ns, this.to.map((to, i) => to - this.from[i]!));
  }

  /**
   * The same of counters by the instant at which queries were due: over the time that the load covers, and there is no
   * rate where none is due any more.
   */
  ratesOfQueries(names: string[], per_ns = 1e9): Float64Array {
    const end = this.level.dueEnd - this.rows.first;
    const covered_ns = this.level.covered_ns.subarray(this.rows.first, this.rows.end);
    return this.over(names, per_ns, covered_ns).map((rate, i) => (i < end ? rate : NaN));
  }

  private over(names: string[], per_ns: number, times_ns: Float64Array): Float64Array {
    const isWhole = names.some(isOfAll) ? (i: number) => !this.isPartial(i) : () => true;
    return this.counts(names).map((count, i) =>
      times_ns[i]! > 0 && isWhole(i) ? (count * per_ns) / times_ns[i]! : NaN,
    );
  }

  /** Whether a row of the window lacks the part of an agent. */
  isPartial(row: number): boolean {
    return this.level.isPartial(this.rows.first + row);
  }

  /** The sum of some counters as a share of the sum of others. */
  shares(names: string[], all: string[]): Float64Array {
    const whole = this.counts(all);
    return this.counts(names).map((count, i) => (whole[i]! > 0 ? count / whole[i]! : NaN));
  }
}
