/**
 * The cells of a heat map: for each row of a level, how many queries took how long.
 *
 * The cells are one stream of varints. To start at any row, the place of each 64th row is kept; the places are found
 * when they are first needed, or before that in pauses of the page ({@link Heat.prepare}).
 */
import { Varints } from "./varint";

const ROWS_PER_PLACE = 64;

export class Heat {
  private readonly places: number[];

  constructor(
    private readonly bytes: Uint8Array,
    offset: number,
    length: number,
    private readonly rows: number,
  ) {
    this.end = offset + length;
    // Throws where it is outside of the data.
    new Varints(bytes, offset, this.end);
    this.places = [offset];
  }

  private readonly end: number;

  /** Calls `cell` for each cell of these rows. Throws `Damaged`. */
  forEach(first: number, end: number, cell: (row: number, bucket: number, count: number) => void): void {
    const place = Math.floor(first / ROWS_PER_PLACE);
    while (this.places.length <= place) this.findNextPlace();
    const varints = new Varints(this.bytes, this.places[place]!, this.end);
    skipRows(varints, first - place * ROWS_PER_PLACE);
    for (let row = first; row < end; row++) {
      let bucket = 0;
      for (let cells = varints.next(); cells > 0; cells--) {
        bucket += varints.next();
        cell(row, bucket, varints.next());
      }
    }
  }

  /** Finds some more places; whether there are more after that. */
  prepare(places: number): boolean {
    for (let i = 0; i < places && this.hasMorePlaces(); i++) this.findNextPlace();
    return this.hasMorePlaces();
  }

  private hasMorePlaces(): boolean {
    return this.places.length * ROWS_PER_PLACE < this.rows;
  }

  private findNextPlace(): void {
    const varints = new Varints(this.bytes, this.places[this.places.length - 1]!, this.end);
    skipRows(varints, ROWS_PER_PLACE);
    this.places.push(varints.at);
  }
}

function skipRows(varints: Varints, rows: number): void {
  for (; rows > 0; rows--) {
    for (let cells = varints.next(); cells > 0; cells--) {
      varints.next();
      varints.next();
    }
  }
}

/** The shortest duration of a bucket, in nanoseconds; that of the next one is its end. */
export function bucketFrom_ns(bucket: number): number {
  return (8 + (bucket % 8)) * 2 ** (Math.floor(bucket / 8) - 3);
}
