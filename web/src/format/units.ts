/**
 * Figures as text, as the program writes them (`crates/text/src/units.rs`), so that a figure is the same on the page
 * and in `dnsdyno show`. Both sides are tested with `tests/units.json`.
 */

/** A measured duration with three significant digits: `843 µs`, `1.23 ms`, `12.3 s`. */
export function duration(ns: number): string {
  ns = Math.round(ns);
  if (ns < 1e3) return `${ns} ns`;
  for (const [unit_ns, unit] of [
    [1e3, "µs"],
    [1e6, "ms"],
  ] as const) {
    const text = threeDigits(ns / unit_ns);
    // 999.7 µs is 1.00 ms: the unit follows the rounded figure.
    if (text !== "1000" && ns < unit_ns * 1e3) return `${text} ${unit}`;
  }
  const seconds = ns * 1e-9;
  return seconds < 999.5 ? `${threeDigits(seconds)} s` : `${count(seconds)} s`;
}

/** A duration of the configuration, with as few digits as needed: `5 s`, `250 ms`, `1.5 s`. */
export function setting(ns: number): string {
  const [unit_ns, unit] = ns < 1e3 ? [1, "ns"] : ns < 1e6 ? [1e3, "µs"] : ns < 1e9 ? [1e6, "ms"] : [1e9, "s"];
  return `${fixed(ns / unit_ns, 3).replace(/\.?0+$/, "")} ${unit}`;
}

/** An instant of a run in seconds, as precise as `step_ns` needs: `12`, `0.25`. */
export function seconds(ns: number, step_ns: number): string {
  const digits = [1e9, 1e8, 1e7].findIndex((unit_ns) => step_ns % unit_ns === 0);
  return fixed(ns * 1e-9, digits < 0 ? 3 : digits);
}

/** A whole number with separators: `1,234,567`. */
export function count(n: number): string {
  return String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** A rate per second: `50,000`, `12.5`, `0.25`. */
export function rate(qps: number): string {
  if (!Number.isFinite(qps) || qps <= 0) return "0";
  if (qps >= 99.95) return count(qps);
  return fixed(qps, qps >= 9.995 ? 1 : 2);
}

/** A share (0 to 1) as a percentage. Only 0 is `0 %` and only 1 is `100 %`. */
export function percent(share: number): string {
  const percent = share * 100;
  if (percent <= 0) return "0 %";
  if (percent < 0.01) return "<0.01 %";
  if (percent > 99.99 && percent < 100) return ">99.99 %";
  return percent === 100 ? "100 %" : `${fixed(percent, 2)} %`;
}

/** Three significant digits of a figure from 1 to 999. */
function threeDigits(figure: number): string {
  return fixed(figure, figure >= 99.95 ? 0 : figure >= 9.995 ? 1 : 2);
}

/** As `{:.digits$}` of Rust: a tie goes to the even digit, where `toFixed` goes up. */
function fixed(figure: number, digits: number): string {
  const tie = Number.isInteger(figure * 2 ** (digits + 1)) && (figure * 10 ** digits) % 1 === 0.5;
  if (!tie) return figure.toFixed(digits);
  const below = Math.floor(figure * 10 ** digits);
  return ((below % 2 === 0 ? below : below + 1) / 10 ** digits).toFixed(digits);
}
