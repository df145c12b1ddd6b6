/**
 * A chart as a file: its title, the key of the series that are not named in the drawing, and the drawing.
 *
 * ```text
 *   Rate queries/s
 *   — asked  ┄ sent  █ answered
 *   drawing, as recorded
 * ```
 */
import type { HeatScale } from "./cells";
import { KEY_HEIGHT, KEY_WIDTH, type Look, keyShape } from "./key";
import { escaped, figure } from "./recorder";
import { FONT, type Palette } from "./theme";

export interface Picture {
  title: string;
  unit: string;
  /** In CSS pixels, without title and key. */
  width: number;
  height: number;
  /** Pixels of the drawing for a CSS pixel. */
  ratio: number;
  /** As SVG. */
  drawing: string;
  key: (Look & { label: string })[];
  scale: HeatScale | null;
  colours: Palette;
}

const FAMILY = FONT.slice(FONT.indexOf(" ") + 1);
const LINE = 20;
const MARGIN = 8;

/** A whole SVG file. */
export function pictureOf(picture: Picture): string {
  const { width, height, ratio, drawing, colours } = picture;
  const head = [titleOf(picture), ...keyLines(picture)];
  const [all, across] = [MARGIN + head.length * LINE + height, width + 2 * MARGIN];
  const lines = head.map((line, i) => `<g transform="translate(${MARGIN} ${MARGIN + LINE * i + 13})">${line}</g>`);
  const scaled = ratio === 1 ? "" : ` scale(${1 / ratio})`;
  return `<?xml version="1.0" encoding="UTF-8"?>
<svg xmlns="http://www.w3.org/2000/svg" width="${figure(across)}" height="${figure(all + MARGIN)}" viewBox="0 0 ${figure(across)} ${figure(all + MARGIN)}" font-family="${escaped(FAMILY)}" font-size="13">
<title>${escaped(`${picture.title}, ${picture.unit}`)}</title>
<rect width="100%" height="100%" fill="${colours.paper}"/>
${lines.join("\n")}
<g transform="translate(${MARGIN} ${MARGIN + head.length * LINE})${scaled}">
${drawing}
</g>
</svg>
`;
}

function titleOf({ title, unit, colours }: Picture): string {
  return (
    `<text fill="${colours.ink}" font-size="15" font-weight="600">${escaped(title)}` +
    `<tspan fill="${colours.muted}" font-size="13" font-weight="400" dx="6">${escaped(unit)}</tspan></text>`
  );
}

/** Each line has as many names as it has room for. */
function keyLines(picture: Picture): string[] {
  const { key, width, colours, scale } = picture;
  const lines: string[] = [];
  let [line, x] = ["", 0];
  const add = (markup: string, room: number): void => {
    if (x > 0 && x + room > width) {
      lines.push(line);
      [line, x] = ["", 0];
    }
    line += `<g transform="translate(${figure(x)} 0)">${markup}</g>`;
    x += room + 18;
  };
  for (const { label, ...look } of key) {
    const [name, attributes] = keyShape(look);
    const shape = Object.entries(attributes).map(([attribute, value]) => `${attribute}="${value}"`);
    add(
      `<${name} transform="translate(0 ${-KEY_HEIGHT})" ${shape.join(" ")}/>` +
        `<text x="${KEY_WIDTH + 5}" fill="${colours.muted}">${escaped(label)}</text>`,
      KEY_WIDTH + 5 + widthOf(label),
    );
  }
  if (scale) add(...scaleOf(scale, colours));
  return line === "" ? lines : [...lines, line];
}

/** Which colours a heat map has from its least to its greatest figures. */
function scaleOf({ low, high }: HeatScale, { heat, muted }: Palette): [markup: string, room: number] {
  const from = widthOf(low) + 5;
  const step = 72 / heat.length;
  const boxes = heat.map(
    (colour, i) => `<rect x="${figure(from + i * step)}" y="-10" width="${figure(step + 0.3)}" height="10" fill="${colour}"/>`,
  );
  const text = (x: number, words: string) => `<text x="${figure(x)}" fill="${muted}">${escaped(words)}</text>`;
  return [text(0, low) + boxes.join("") + text(from + 77, high), from + 77 + widthOf(high)];
}

let measuring: CanvasRenderingContext2D | null = null;

function widthOf(text: string): number {
  measuring ??= document.createElement("canvas").getContext("2d");
  if (!measuring) return text.length * 7;
  measuring.font = FONT.replace("12px", "13px");
  return measuring.measureText(text).width;
}
