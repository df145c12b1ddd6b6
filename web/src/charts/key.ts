/** How a series is drawn, in small: beside its name, on the page and in a chart that is saved. */

export interface Look {
  colour: string;
  /** An area in place of a line. */
  area?: boolean;
  dash?: number[];
  width?: number;
}

/** In CSS pixels; the longest dashes are seen twice. */
export const KEY_WIDTH = 22;
export const KEY_HEIGHT = 10;

/** The shape as the name and the attributes of an SVG element. */
export function keyShape({ colour, area, dash, width = 1.5 }: Look): [name: string, attributes: Record<string, string>] {
  if (area) return ["rect", { width: String(KEY_WIDTH - 8), height: String(KEY_HEIGHT), fill: colour }];
  const line = { d: `M0 ${KEY_HEIGHT / 2}h${KEY_WIDTH}`, stroke: colour, "stroke-width": String(width), fill: "none" };
  return ["path", dash && dash.length > 0 ? { ...line, "stroke-dasharray": dash.join(" ") } : line];
}

/** The key of a series, hidden from screen readers: its name stands beside it. */
export function keyElement(look: Look): SVGSVGElement {
  const picture = svg("svg", {
    class: "chart-key",
    width: String(look.area ? KEY_WIDTH - 8 : KEY_WIDTH),
    height: String(KEY_HEIGHT),
    "aria-hidden": "true",
  });
  picture.append(svg(...keyShape(look)));
  return picture as SVGSVGElement;
}

function svg(name: string, attributes: Record<string, string>): SVGElement {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}
