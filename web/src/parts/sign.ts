/** Signs of a state. A sign stands beside its word, so that no state is told by colour alone. */

import { el } from "./dom";

export type State = "good" | "bad" | "warning" | "neutral" | "running";

/** Drawn in a square of 16 units; as shapes, because not every system's fonts have these characters. */
const SHAPES: Record<State, string> = {
  good: "M3 8.5l3.2 3.2L13 4.8",
  bad: "M4 4l8 8M12 4l-8 8",
  warning: "M8 2.5L14.5 13.5H1.5ZM8 6.5v3.2M8 11.6v.3",
  neutral: "M3.5 8h9",
  running: "M5 3.2L12.5 8 5 12.8Z",
};

const SVG = "http://www.w3.org/2000/svg";

/** A sign and its word. */
export function mark(state: State, word: string): HTMLElement {
  return el("span", { class: `mark ${state}` }, sign(state), word);
}

/** The sign alone, hidden from screen readers. */
export function sign(state: State): SVGSVGElement {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("aria-hidden", "true");
  svg.setAttribute("class", "sign");
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", SHAPES[state]);
  svg.append(path);
  return svg;
}
