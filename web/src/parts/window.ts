/** Which rows of a long table are in sight, so that only these are elements. */

import type { Rows } from "../data/series";

/** Some rows above and below are made too, so that scrolling by a line shows no gap. */
const MARGIN = 12;

export function rowsInSight(scroll_px: number, height_px: number, row_px: number, rows: number): Rows {
  const top = Math.floor(Math.max(0, scroll_px) / row_px);
  const end = Math.min(rows, top + Math.ceil(height_px / row_px) + MARGIN);
  return { first: Math.max(0, Math.min(top, end) - MARGIN), end };
}
