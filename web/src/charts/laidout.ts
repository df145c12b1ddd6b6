/** A chart that is laid out as HTML with small drawings in it, as an SVG file: each text and drawing where it is now. */
import { escaped, figure } from "./recorder";

/** What the look of a shape follows from; a style sheet is no part of the file. */
const STYLES = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-opacity", "font-size"];

const MARGIN = 8;

export function laidOutSvg(element: HTMLElement, paper: string): string {
  const { left, top, width, height } = element.getBoundingClientRect();
  const at = (box: DOMRect) => ({ x: box.left - left, y: box.top - top });
  const parts: string[] = [];
  for (const inner of element.querySelectorAll<HTMLElement>("*")) {
    if (inner.closest(".chart-table, svg")) continue;
    const style = getComputedStyle(inner);
    const { x, y } = at(inner.getBoundingClientRect());
    if (parseFloat(style.borderTopWidth) > 0)
      parts.push(`<path d="M${figure(x)} ${figure(y)}h${figure(inner.offsetWidth)}" stroke="${style.borderTopColor}"/>`);
    for (const { text, box } of [...inner.childNodes].flatMap(linesOf)) {
      const place = at(box);
      parts.push(
        `<text x="${figure(place.x)}" y="${figure(place.y + box.height * 0.77)}" fill="${style.color}" ` +
          `font-size="${parseFloat(style.fontSize)}" font-weight="${style.fontWeight}">${escaped(text)}</text>`,
      );
    }
  }
  for (const drawing of element.querySelectorAll("svg")) if (!drawing.closest(".chart-table")) parts.push(copyOf(drawing, at));
  const [across, down] = [width + 2 * MARGIN, height + 2 * MARGIN].map(figure) as [string, string];
  const size = `width="${across}" height="${down}" viewBox="${-MARGIN} ${-MARGIN} ${across} ${down}"`;
  const family = escaped(getComputedStyle(element).fontFamily);
  return `<?xml version="1.0" encoding="UTF-8"?>
<svg xmlns="http://www.w3.org/2000/svg" ${size} font-family="${family}">
<rect x="${-MARGIN}" y="${-MARGIN}" width="100%" height="100%" fill="${paper}"/>
${parts.join("\n")}
</svg>
`;
}

/** The lines that a text is broken into. */
function linesOf(node: Node): { text: string; box: DOMRect }[] {
  if (!(node instanceof Text)) return [];
  const lines: { text: string; box: DOMRect }[] = [];
  for (const word of node.data.matchAll(/\S+\s*/g)) {
    const range = document.createRange();
    range.setStart(node, word.index);
    range.setEnd(node, word.index + word[0].trimEnd().length);
    const box = range.getBoundingClientRect();
    const line = lines.at(-1);
    if (box.width === 0) continue;
    if (line && Math.abs(line.box.top - box.top) < 2) line.text += word[0];
    else lines.push({ text: word[0], box });
  }
  return lines;
}

function copyOf(drawing: SVGSVGElement, at: (box: DOMRect) => { x: number; y: number }): string {
  const box = drawing.getBoundingClientRect();
  const { x, y } = at(box);
  const copy = drawing.cloneNode(true) as SVGSVGElement;
  const from = [drawing, ...drawing.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((shape, i) => {
    const style = getComputedStyle(from[i]!);
    for (const name of ["class", "role", "aria-label", "aria-hidden"]) shape.removeAttribute(name);
    if (i > 0) for (const name of STYLES) shape.setAttribute(name, style.getPropertyValue(name));
  });
  const places = { x, y, width: box.width, height: box.height };
  for (const [name, value] of Object.entries(places)) copy.setAttribute(name, figure(value));
  copy.setAttribute("overflow", "visible");
  return new XMLSerializer().serializeToString(copy);
}
