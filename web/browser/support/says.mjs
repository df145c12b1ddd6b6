// Whether a text with a figure says a value, to the last digit that it shows. It knows nothing of how the program rounds:
// it reads the figure back, and allows half a unit of its last digit.

const UNITS = {
  "": 1, "/s": 1, "queries/s": 1, "qps": 1,
  "%": 0.01,
  ns: 1, "µs": 1e3, ms: 1e6, s: 1e9, min: 60e9, h: 3600e9,
  B: 1, bytes: 1, kB: 1e3, MB: 1e6, GB: 1e9,
};

/**
 * "1.52 ms", with its unit perhaps in the head of the column: `{ value, step, bound }` in ns or units, the bound "<" or ">"
 * where the text has one ("<0.01 %", ">5 s"); else `null`. A "~" before it marks a percentile that may be the generator's.
 */
export function figure(text, column_unit = "") {
  const found = /^~?([<>]?)\s?(-?[\d,]+)(\.\d+)?\s*([a-zµ%/]*)$/i.exec(text.replaceAll(/[\u00a0\u202f\u2009]/g, " ").trim());
  if (found === null) return null;
  const [, bound, whole, decimals = "", unit] = found;
  const size = UNITS[unit === "" ? column_unit : unit];
  if (size === undefined) return null;
  const digits = Math.max(decimals.length - 1, 0);
  return { value: Number(whole.replaceAll(",", "") + decimals) * size, step: 10 ** -digits * size, bound };
}

/** `value` is a number, `null` where there is none, or `{ beyond: number }` for more than the timeout. */
export function says(text, value, column_unit = "") {
  if (value === null || value === undefined) return ["-", "–", ""].includes(text.trim());
  const read = figure(text, column_unit);
  if (read === null) return false;
  if (typeof value === "object") return read.bound === ">" && near(read, value.beyond);
  // A share that would be rounded to none or to all.
  if (read.bound === "<") return value > 0 && value < read.value;
  if (read.bound === ">") return value > read.value && value < 1;
  return near(read, value);
}

/** A percentile of `dnsdyno show --json`, as `says` takes it. */
export function percentile(json) {
  if (json === null || json === undefined) return null;
  return json.beyond_timeout ? { beyond: json.ns } : json.ns;
}

function near({ value, step }, wanted) {
  // Both ways of rounding a half, and what floating point adds.
  return Math.abs(value - wanted) <= step * 0.5 + Math.abs(wanted) * 1e-9;
}
