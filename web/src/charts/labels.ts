/** Labels at the ends of lines, to the right of the axes, instead of a key. */
import type { Pen } from "./pen";

export interface EndLabel {
  text: string;
  colour: string;
  /** Where its line ends, in pixels of the canvas. */
  y: number;
}

const LINE_HEIGHT = 15;
const GAP = 8;

/** Draws as many labels as have room, first those given first; the texts of those drawn. */
export function drawEndLabels(pen: Pen, labels: EndLabel[], room: number): string[] {
  const height = LINE_HEIGHT * pen.ratio;
  const most = Math.floor(pen.box.height / height);
  const drawn = labels.slice(0, most);
  const places = spread(
    drawn.map((label) => label.y),
    height,
    pen.box.top + height / 2,
    pen.bottom - height / 2,
  );
  const width = (room - GAP) * pen.ratio;
  drawn.forEach((label, i) => {
    pen.text(shortened(pen, label.text, width), pen.right + GAP * pen.ratio, places[i]!, label.colour);
  });
  return drawn.map((label) => label.text);
}

/** Places at least `height` apart and inside `low` to `high`, in the order of the wanted ones, as near to them as that allows. */
export function spread(wanted: number[], height: number, low: number, high: number): number[] {
  const order = wanted.map((_, i) => i).sort((a, b) => wanted[a]! - wanted[b]! || a - b);
  const places: number[] = [];
  let next = low;
  for (const i of order) {
    places[i] = Math.max(wanted[i]!, next);
    next = places[i]! + height;
  }
  let last = high;
  for (const i of order.reverse()) {
    places[i] = Math.min(places[i]!, last);
    last = places[i]! - height;
  }
  return places;
}

function shortened(pen: Pen, text: string, width: number): string {
  if (pen.textWidth(text) <= width) return text;
  let length = text.length - 1;
  while (length > 1 && pen.textWidth(`${text.slice(0, length)}…`) > width) length--;
  return `${text.slice(0, length)}…`;
}
