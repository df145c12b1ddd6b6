/**
 * Colours by what they mean: the same thing has the same colour in every chart, and on the live screen.
 *
 * The first six hues are those of Okabe and Ito, which hold without colour vision; those after them were chosen to be at
 * least as far from all others, for red, green and blue blindness too, and their lines are dashed. Where two hues meet in a
 * chart, their lines are labelled at their ends. Texts keep a contrast of 4.5 to the paper.
 */
import type { Theme } from "./api";
import type { Look } from "./key";

export interface Palette {
  ink: string;
  muted: string;
  grid: string;
  paper: string;
  /** What is asked. */
  asked: string;
  /** Answered, and the median: the accent of the page. */
  answered: string;
  late: string;
  timedOut: string;
  refused: string;
  notSent: string;
  p50: string;
  p99: string;
  p99_9: string;
  ok: string;
  /** For what has no meaning of its own: runs, query types, transports, workers. */
  hues: string[];
  /** Of heat maps, from few queries to many, and from fast to slow. */
  heat: string[];
}

const BLUE = "#0072B2";
const SKY = "#56B4E9";
const VERMILLION = "#D55E00";
const ORANGE = "#E69F00";
const PURPLE = "#CC79A7";
const GREEN = "#009E73";

/** So many hues are far apart for every kind of colour vision, without dashes. */
const PLAIN_HUES = 6;

/** Cividis (Nuñez, Anderton and Renslow 2018), which is even to the eye, without colour vision, and printed in grey. */
const CIVIDIS = [
  "#00224e",
  "#123570",
  "#3b496c",
  "#575d6d",
  "#707173",
  "#8a8678",
  "#a59c74",
  "#c3b369",
  "#e1cc55",
  "#fee838",
];

const PALETTES: Record<Theme, Palette> = {
  light: {
    ink: "#1b1f24",
    muted: "#5a646e",
    grid: "#e7eaed",
    paper: "#ffffff",
    asked: "#7d8790",
    answered: BLUE,
    late: SKY,
    timedOut: VERMILLION,
    refused: ORANGE,
    notSent: "#9aa3ab",
    p50: BLUE,
    p99: VERMILLION,
    p99_9: PURPLE,
    ok: GREEN,
    hues: [BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, "#7A2BE0", "#663311", "#14246E", "#8A1550"],
    // Few queries are pale, so that the paper turns into the dense part without an edge.
    heat: ["#fbf3c0", ...CIVIDIS.slice(1, 9).reverse(), CIVIDIS[0]!],
  },
  dark: {
    ink: "#e8ebee",
    muted: "#a0aab4",
    grid: "#2a3037",
    paper: "#15181c",
    asked: "#8d97a1",
    answered: SKY,
    late: BLUE,
    timedOut: "#E8743B",
    refused: ORANGE,
    notSent: "#6f7983",
    p50: SKY,
    p99: "#E8743B",
    p99_9: PURPLE,
    ok: "#2BB78E",
    hues: [SKY, "#E8743B", "#2BB78E", PURPLE, ORANGE, "#2A78C8", "#9B5CFF", "#F2EFA0", "#C9FFE5", "#C2208A"],
    heat: CIVIDIS,
  },
};

export function palette(theme: Theme): Palette {
  return PALETTES[theme];
}

/** The colour of the series with this number among those that have no meaning of their own. */
export function hueOf(index: number): (palette: Palette) => string {
  return ({ hues }) => hues[index % hues.length]!;
}

/** Its dash: none for the first hues, then another each time that the hues are used up, so that 56 series differ. */
export function dashOf(index: number): number[] {
  if (index < PLAIN_HUES) return [];
  const dashes = [[6, 3], [2, 3], [8, 3, 2, 3], [12, 3], [8, 3, 2, 3, 2, 3]];
  return dashes[Math.floor((index - PLAIN_HUES) / PALETTES.light.hues.length) % dashes.length]!;
}

/** Of several series with one colour each: the median is thin and dotted beside the line of p99. */
export const MEDIAN = { dash: [2, 2], width: 1.25 };

/** Of a run beside others, for the key of whoever lists the runs. */
export function runLook(run: number, theme: Theme): Look {
  return { colour: hueOf(run)(palette(theme)), dash: dashOf(run), width: 3 };
}

/** A colour as text: mixed with ink until its contrast to the paper is 4.5. */
export function readable(colour: string, { ink, paper }: Palette): string {
  const [from, to] = [channels(colour), channels(ink)];
  for (let share = 0; share <= 1; share += 0.1) {
    const mixed = from.map((value, i) => Math.round(value + (to[i]! - value) * share));
    if (contrast(mixed, channels(paper)) >= 4.5) return `rgb(${mixed.join(" ")})`;
  }
  return ink;
}

/** Of WCAG 2. */
function contrast(a: number[], b: number[]): number {
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y) as [number, number];
  return (high + 0.05) / (low + 0.05);
}

function luminance(rgb: number[]): number {
  const [r, g, b] = rgb.map((value) =>
    value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4,
  ) as [number, number, number];
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** Red, green and blue of `#rrggbb`, 0 to 255. */
export function channels(colour: string): number[] {
  return [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
}

export const FONT = '12px -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", system-ui, sans-serif';

/** `#rrggbb` with an opacity. */
export function faint(colour: string, opacity: number): string {
  return (
    colour +
    Math.round(opacity * 255)
      .toString(16)
      .padStart(2, "0")
  );
}
