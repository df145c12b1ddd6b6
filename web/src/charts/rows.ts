/**
 * A heat map with a row for each of several: x is the time, colour the logarithm of a duration. Who of them is slow is
 * seen without a key, also where they are more than lines can be told apart.
 *
 * ```text
 *   lg1 ░░░░░░░░░░░░
 *   lg2 ▒▒▓▓▓▓▒▒▓▓▒▒ ← slowest
 *   lg3 ░░░░////░░░░   hatched where it is missing
 * ```
 */
import { setting } from "../format/units";
import { type Colour, type Columns, type HeatScale, cellsOf, columnsOf, cssOf, fillRuns, packed, ramp } from "./cells";
import { text } from "./panels/panel";
import type { Window } from "./panels/window";
import type { Pen } from "./pen";
import type { ReadoutItem } from "./readout";
import { type Palette, channels, faint } from "./theme";
import { percentTick } from "./ticks";
import { roundDown, roundUp } from "./yaxis";

export interface Row {
  name: string;
  /** NaN is no value, Infinity beyond the timeout. */
  values: Float64Array;
  /** The intervals without its part. */
  missing: boolean[];
}

export class HeatRows {
  /** What the ends of the colours stand for, in ns; `null` where there is no duration. */
  private readonly range_ns: [number, number] | null;
  /** Who is the slowest in most intervals, and in which share of them: among equal ones it is now this one, now that. */
  private readonly slow: { row: Row; share: number } | null;

  constructor(
    private readonly rows: Row[],
    private readonly window: Window,
    private readonly timeout_ns: number,
  ) {
    this.range_ns = rangeOf(rows);
    this.slow = this.mostlySlowest();
  }

  paint(pen: Pen): HeatScale | null {
    const width = Math.round(pen.box.width);
    if (width < 1 || pen.box.height < 1 || this.window.length === 0) return null;
    const columns = columnsOf(pen, this.window, width);
    const cells = cellsOf(pen);
    const colourOf = this.colours(pen.colours);
    this.rows.forEach(({ values }, i) => {
      const line = slowestAt(values, columns, width);
      const { top, bottom } = this.edges(pen, i);
      const [from, to] = [top, bottom].map((y) => Math.round(y - pen.box.top)) as [number, number];
      fillRuns(cells, width, from, to, (x) => (Number.isNaN(line[x]) ? 0 : colourOf(line[x]!)));
    });
    cells.finish();
    this.rows.forEach((_, i) => this.hatchMissing(pen, i));
    if (!this.range_ns) return null;
    const [low, high] = this.range_ns.map(setting) as [string, string];
    return { low, high };
  }

  /** To the right of the axes, beside who was slowest in most intervals. */
  paintMark(pen: Pen): void {
    if (!this.slow) return;
    const { top, bottom } = this.edges(pen, this.rows.indexOf(this.slow.row));
    pen.text("← slowest", pen.right + 8 * pen.ratio, (top + bottom) / 2, pen.colours.ink);
  }

  /** At a cursor the row under the pointer, and who is slowest then; without one what can be said of all intervals. */
  items(palette: Palette, at: { interval: number | null; y: number | null } | null): ReadoutItem[] {
    if (at === null) return this.itemsOfAll(palette);
    const { interval, y } = at;
    if (interval === null) return [];
    const pointed = y === null ? undefined : this.rows[this.rows.length - 1 - Math.floor(y)];
    const slowest = this.slowestIn(interval);
    if (!pointed) return slowest ? [this.item(palette, slowest, interval, `slowest: ${slowest.name}`)] : [];
    if (pointed === slowest) return [this.item(palette, pointed, interval, `${pointed.name}, the slowest`)];
    const others = slowest ? [this.item(palette, slowest, interval, `slowest: ${slowest.name}`)] : [];
    return [this.item(palette, pointed, interval, pointed.name), ...others];
  }

  private itemsOfAll(palette: Palette): ReadoutItem[] {
    const items: ReadoutItem[] = [];
    if (this.slow) {
      const label = `slowest ${percentTick(this.slow.share)} of the time: ${this.slow.row.name}`;
      items.push({ label, text: "", colour: palette.heat[palette.heat.length - 1]!, area: true });
    }
    if (this.rows.some(({ values }) => values.includes(Infinity))) {
      items.push({ label: `>${setting(this.timeout_ns)}`, text: "", colour: palette.timedOut, area: true });
    }
    return items;
  }

  private item(palette: Palette, row: Row, interval: number, label: string): ReadoutItem {
    const value = row.values[interval]!;
    const words = row.missing[interval] ? "missing" : text("ns", value, this.timeout_ns);
    const colour = Number.isNaN(value) ? palette.grid : cssOf(this.colours(palette)(value));
    return { label, text: words, colour, area: true };
  }

  private colours(palette: Palette): (ns: number) => Colour {
    const [low, high] = this.range_ns ?? [1, 10];
    const heat = ramp(palette.heat);
    const [r, g, b] = channels(palette.timedOut) as [number, number, number];
    const beyond = packed(r, g, b, 255);
    return (ns) => {
      if (ns === Infinity) return beyond;
      const share = Math.log(Math.max(ns, 1) / low) / Math.log(high / low);
      return heat[Math.round(Math.min(1, Math.max(0, share)) * (heat.length - 1))]!;
    };
  }

  /** In pixels of the canvas, with a gap to the next row where there is room for one. */
  private edges(pen: Pen, row: number): { top: number; bottom: number } {
    const place = this.rows.length - row;
    const [top, bottom] = [Math.round(pen.y(place)), Math.round(pen.y(place - 1))];
    return { top, bottom: bottom - top >= 8 * pen.ratio ? bottom - Math.round(pen.ratio) : bottom };
  }

  private hatchMissing(pen: Pen, row: number): void {
    const { missing } = this.rows[row]!;
    const { from, to } = this.window;
    let first = missing.indexOf(true);
    while (first >= 0) {
      let last = first;
      while (missing[last + 1]) last++;
      pen.hatch(pen.x(from[first]!), pen.x(to[last]!), faint(pen.colours.ink, 0.4), this.edges(pen, row));
      first = missing.indexOf(true, last + 1);
    }
  }

  private mostlySlowest(): HeatRows["slow"] {
    const counts = new Map<Row, number>();
    let compared = 0;
    for (let i = 0; i < this.window.length; i++) {
      if (this.rows.filter(({ values }) => !Number.isNaN(values[i]!)).length < 2) continue;
      compared++;
      const row = this.slowestIn(i);
      if (row) counts.set(row, (counts.get(row) ?? 0) + 1);
    }
    const most = [...counts].find(([, count]) => count > compared / 2);
    return most ? { row: most[0], share: most[1] / compared } : null;
  }

  /** `null` where two are equally slow, or one is alone. */
  private slowestIn(interval: number): Row | null {
    const known = this.rows.filter(({ values }) => !Number.isNaN(values[interval]!));
    const most = known.reduce((most, { values }) => Math.max(most, values[interval]!), 0);
    const slowest = known.filter(({ values }) => values[interval] === most);
    return known.length > 1 && slowest.length === 1 ? slowest[0]! : null;
  }
}

/** The ends of the scale, round, and a decade apart at least: a tenth of one would look like an event. */
function rangeOf(rows: Row[]): [number, number] | null {
  let [low, high] = [Infinity, 0];
  for (const { values } of rows) {
    for (const value of values) {
      if (!(value > 0 && value < Infinity)) continue;
      if (value < low) low = value;
      if (value > high) high = value;
    }
  }
  if (high === 0) return null;
  low = roundDown(low);
  return [low, Math.max(roundUp(high), low * 10)];
}

/** For each column of pixels the slowest of its intervals, so that a slow one is seen in a long run too. */
function slowestAt(values: Float64Array, { first, end }: Columns, width: number): Float64Array {
  const line = new Float64Array(width).fill(NaN);
  values.forEach((value, i) => {
    if (Number.isNaN(value)) return;
    for (let x = first[i]!; x < end[i]!; x++) if (!(line[x]! >= value)) line[x] = value;
  });
  return line;
}
