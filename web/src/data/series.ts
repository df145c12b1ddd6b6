/**
 * The series of a run as columns, at several resolutions.
 *
 * A column is unpacked when it is first asked for: a page shows few of a record's two hundred, and the finest level
 * only where somebody zooms in.
 */
import { Heat } from "./heat";
import type { Level, Series } from "./types";
import { Damaged, Varints, column } from "./varint";

export class SeriesReader {
  /** Finest first. */
  readonly levels: LevelReader[];

  constructor(series: Series, bytes: Uint8Array) {
    this.levels = series.levels.map((level) => new LevelReader(level, bytes));
    if (this.levels.length === 0) throw new Damaged("it has no levels");
  }

  /** Whether the run has this column. */
  has(name: string): boolean {
    return this.coarsest.has(name);
  }

  /** A finer level may have left out a column, or have too few queries per row for a percentile. */
  names(): string[] {
    return this.coarsest.names();
  }

  /**
   * The finest level that knows these columns and has at most `most_rows` in the range; the coarsest where none is so. Of
   * columns that are counted at all, it has one: the others may have too few queries per row for a percentile.
   */
  levelFor(from_ns: number, to_ns: number, most_rows: number, columns: string[] = []): LevelReader {
    const counted = columns.filter((name) => this.coarsest.has(name));
    return (
      this.levels.find((level) => {
        const { first, end } = level.rowsWithin(from_ns, to_ns);
        const has = counted.length === 0 || counted.some((name) => level.has(name));
        return has && end - first <= most_rows && columns.every((name) => level.knows(name));
      }) ?? this.coarsest
    );
  }

  get coarsest(): LevelReader {
    return this.levels[this.levels.length - 1]!;
  }
}

/** Rows `first` to `end` (exclusive) of a level. */
export interface Rows {
  first: number;
  end: number;
}

export class LevelReader {
  readonly factor: number;
  readonly rows: number;
  readonly from_ns: Float64Array;
  /** Time that the load covers: the divisor of rates of queries. */
  readonly covered_ns: Float64Array;
  private readonly idle_ns: Float64Array;
  private readonly partial: Float64Array | null;
  readonly heat: Heat | null;
  private readonly unpacked = new Map<string, Float64Array>();

  constructor(
    private readonly level: Level,
    private readonly bytes: Uint8Array,
  ) {
    this.factor = level.factor;
    this.rows = level.rows;
    // Each row takes a byte at least, so damaged data cannot ask for more memory than it has itself.
    if (!(level.rows >= 0 && level.rows <= bytes.length)) throw new Damaged("a level has too many rows");
    this.from_ns = this.column("from_ns") ?? new Float64Array(level.rows);
    this.covered_ns = this.column("covered_ns") ?? new Float64Array(level.rows);
    this.partial = this.column("partial_intervals");
    this.idle_ns = this.column("idle_ns") ?? new Float64Array(level.rows);
    for (let i = 1; i < this.rows; i++) {
      if (!(this.from_ns[i]! > this.from_ns[i - 1]!)) throw new Damaged("its intervals are not in order");
    }
    this.heat = level.heat ? new Heat(bytes, level.heat.offset, level.heat.bytes, level.rows) : null;
  }

  /** False for what was left out of this level to keep the page small; "heat" is the heat map. */
  knows(name: string): boolean {
    return !this.level.left_out?.includes(name);
  }

  has(name: string): boolean {
    return this.level.columns.some((c) => c.name === name);
  }

  names(): string[] {
    return this.level.columns.map((c) => c.name);
  }

  unit(name: string): string | null {
    return this.level.columns.find((c) => c.name === name)?.unit ?? null;
  }

  /** `null` where the record counted nothing of it. Throws {@link Damaged}. */
  column(name: string): Float64Array | null {
    const known = this.unpacked.get(name);
    if (known) return known;
    const where = this.level.columns.find((c) => c.name === name);
    if (!where) return null;
    const values = column(new Varints(this.bytes, where.offset, where.offset + where.bytes), this.rows);
    this.unpacked.set(name, values);
    return values;
  }

  /** The row after the last one in which queries were due: at its end a run only waits for responses. */
  get dueEnd(): number {
    const counts = [this.column("scheduled"), this.column("asked_micro")].filter((count) => count !== null);
    let end = this.rows;
    while (end > 0 && counts.length > 0 && counts.every((count) => !(count[end - 1]! > 0))) end--;
    return end;
  }

  /** Whether a row lacks the part of an agent: then it has no rate. */
  isPartial(row: number): boolean {
    return (this.partial?.[row] ?? 0) > 0;
  }

  to_ns(row: number): number {
    return this.from_ns[row]! + this.covered_ns[row]! + this.idle_ns[row]!;
  }

  /** The rows that overlap a range. */
  rowsWithin(from_ns: number, to_ns: number): Rows {
    let first = this.rowsUntil(from_ns);
    if (first > 0 && this.to_ns(first - 1) > from_ns) first--;
    return { first, end: Math.max(first, this.rowsUntil(to_ns)) };
  }

  /** The row of an instant; `null` where no interval has it. */
  rowAt(at_ns: number): number | null {
    const row = this.rowsUntil(at_ns, true) - 1;
    return row >= 0 && at_ns < this.to_ns(row) ? row : null;
  }

  /** How many rows begin before an instant (`or_at` it). */
  private rowsUntil(at_ns: number, or_at = false): number {
    let [low, high] = [0, this.rows];
    while (low < high) {
      const middle = (low + high) >> 1;
      const from_ns = this.from_ns[middle]!;
      if (from_ns < at_ns || (or_at && from_ns === at_ns)) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
