/** Sorting of cells that hold figures as text: durations, counts, shares, rates, and words. */

/** Each unit in its base unit. */
const UNITS: Record<string, number> = {
  ns: 1,
  µs: 1e3,
  us: 1e3,
  ms: 1e6,
  s: 1e9,
  min: 60e9,
  h: 3600e9,
  "%": 1,
  B: 1,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
  TiB: 2 ** 40,
};

/** A figure in its base unit, `null` where the text is none. ">5 s" is just above 5 s, "<0.01 %" just below 0.01 %. */
export function figureOf(text: string): number | null {
  const match = /^([<>≥≤]?)\s*([+-]?[\d,]*\.?\d+)\s*([A-Za-zµ%/]+)?$/.exec(text.trim());
  if (!match) return lengthOf(text);
  const [, sign, digits = "", unit] = match;
  const factor = unit === undefined ? 1 : (UNITS[unit] ?? 1);
  const figure = Number(digits.replaceAll(",", "")) * factor;
  if (sign === ">") return figure * (1 + 1e-9);
  if (sign === "<") return figure * (1 - 1e-9);
  return figure;
}

/** "12 min 5 s", "3 h 0 min". */
function lengthOf(text: string): number | null {
  const parts = [...text.matchAll(/(\d+)\s*(h|min|s)\b/g)];
  if (parts.length === 0 || parts.map((part) => part[0]).join(" ") !== text.trim()) return null;
  return parts.reduce((sum, [, digits, unit]) => sum + Number(digits) * (UNITS[unit ?? ""] ?? 0), 0);
}

/** The order of rows by a column: figures before words, and what is missing ("-") last in either direction. */
export function order(cells: string[], descending: boolean): number[] {
  const keys = cells.map((text) => ({ text, figure: figureOf(text), missing: text === "-" || text === "" }));
  const direction = descending ? -1 : 1;
  return cells
    .map((_, index) => index)
    .sort((left, right) => {
      const a = keys[left];
      const b = keys[right];
      if (!a || !b) return 0;
      if (a.missing !== b.missing) return a.missing ? 1 : -1;
      if (a.figure !== null && b.figure !== null) return direction * (a.figure - b.figure) || left - right;
      if ((a.figure === null) !== (b.figure === null)) return a.figure === null ? 1 : -1;
      return direction * a.text.localeCompare(b.text, "en", { numeric: true }) || left - right;
    });
}
