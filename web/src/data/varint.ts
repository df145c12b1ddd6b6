/** Varints (LEB128, unsigned) below 2^53, and the columns that are made of them. */

/** What is read is not what was written. */
export class Damaged extends Error {}

/** Reads one varint after the other from a part of `bytes`. */
export class Varints {
  constructor(
    private readonly bytes: Uint8Array,
    public at: number,
    private readonly end: number,
  ) {
    if (!(at >= 0 && end <= bytes.length && at <= end)) throw new Damaged("a column is outside of the data");
  }

  next(): number {
    let value = 0;
    // Not a shift: it would end at 32 bits.
    for (let scale = 1; this.at < this.end; scale *= 128) {
      const byte = this.bytes[this.at++]!;
      value += (byte & 127) * scale;
      if (byte < 128) return value;
      if (scale > 2 ** 49) break;
    }
    throw new Damaged("a number is cut short or too large");
  }

  get done(): boolean {
    return this.at === this.end;
  }
}

/** A column of a level: NaN is no value, Infinity beyond the timeout. */
export function column(varints: Varints, rows: number): Float64Array {
  const values = new Float64Array(rows);
  let last = 0;
  for (let i = 0; i < rows; i++) {
    const code = varints.next();
    if (code === 0) values[i] = NaN;
    else if (code === 1) values[i] = Infinity;
    else {
      const zigzag = code - 2;
      last += zigzag % 2 === 0 ? zigzag / 2 : -(zigzag + 1) / 2;
      values[i] = last;
    }
  }
  if (!varints.done) throw new Damaged("a column is longer than its level");
  return values;
}
