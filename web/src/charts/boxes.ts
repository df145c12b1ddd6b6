/** Boxes per interval: from the 25th to the 75th percentile, with the median, and lines to the shortest and the longest. */
import type { Window } from "./panels/window";
import type { Pen } from "./pen";
import { faint } from "./theme";

/** Narrower than this, boxes would be a wall: they become bands. */
const NARROWEST_BOX = 5;

/** `lines` are min, 25, 50, 75 and max. */
export function paintBoxes(pen: Pen, window: Window, lines: Float64Array[]): void {
  const [min, p25, p50, p75, max] = lines as [Float64Array, Float64Array, Float64Array, Float64Array, Float64Array];
  const { from, dueTo: to } = window;
  const colour = pen.colours.answered;
  if (window.length === 0) return;
  const width = (pen.x(to[to.length - 1]!) - pen.x(from[0]!)) / window.length;
  if (width < NARROWEST_BOX * pen.ratio) {
    pen.area({ from, to, values: max }, min, faint(colour, 0.18));
    pen.area({ from, to, values: p75 }, p25, faint(colour, 0.45));
    pen.steps({ from, to, values: p50 }, { colour, width: 1.5 });
    return;
  }
  const { ctx, ratio } = pen;
  ctx.save();
  ctx.lineWidth = ratio;
  for (let i = 0; i < window.length; i++) {
    if (Number.isNaN(p50[i]!)) continue;
    const [left, right] = [pen.x(from[i]!), pen.x(to[i]!)];
    const inset = Math.max((right - left) * 0.18, (right - left - 18 * ratio) / 2);
    const [x, w] = [left + inset, right - left - 2 * inset];
    const [y25, y75] = [pen.y(p25[i]!), pen.y(p75[i]!)];
    ctx.strokeStyle = faint(colour, 0.7);
    ctx.beginPath();
    ctx.moveTo(x + w / 2, pen.y(min[i]!));
    ctx.lineTo(x + w / 2, y25);
    ctx.moveTo(x + w / 2, y75);
    ctx.lineTo(x + w / 2, pen.y(max[i]!));
    ctx.stroke();
    ctx.fillStyle = faint(colour, 0.35);
    ctx.fillRect(x, y75, w, Math.max(ratio, y25 - y75));
    ctx.fillStyle = colour;
    ctx.fillRect(x, pen.y(p50[i]!) - ratio, w, 2 * ratio);
  }
  ctx.restore();
}
