/** That series can be told apart, whatever one's colour vision. */
import { describe, expect, test } from "vitest";
import { channels, dashOf, hueOf, palette } from "../src/charts/theme";

/** Of Machado, Oliveira and Fernandes 2009, for complete blindness to red, green and blue. */
const VISIONS: Record<string, number[][]> = {
  full: [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
  red: [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
  green: [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
  blue: [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
};

const linear = (value: number) => (value <= 10.31 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4);

/** In CIE L*a*b*, whose distances are about those that one sees. */
function seen(colour: string, vision: number[][]): number[] {
  const own = channels(colour).map(linear);
  const [r, g, b] = vision.map((row) => Math.min(1, Math.max(0, row.reduce((sum, v, i) => sum + v * own[i]!, 0)))) as [number, number, number];
  const f = (t: number) => (t > 0.008856 ? Math.cbrt(t) : 7.787 * t + 16 / 116);
  const x = f((0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.95047);
  const y = f(0.2126 * r + 0.7152 * g + 0.0722 * b);
  const z = f((0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.08883);
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

const distance = (a: string, b: string) =>
  Math.min(...Object.values(VISIONS).map((vision) => Math.hypot(...seen(a, vision).map((v, i) => v - seen(b, vision)[i]!))));

describe.each(["light", "dark"] as const)("the hues of the %s theme", (theme) => {
  const { hues } = palette(theme);

  test("differ for each kind of colour vision, those after the first six from all others by more", () => {
    expect(new Set(hues).size).toBe(10);
    hues.forEach((hue, i) => {
      const others = hues.filter((other) => other !== hue);
      const least = Math.min(...others.map((other) => distance(hue, other)));
      expect(least, hue).toBeGreaterThan(i < 6 ? 10 : 14);
    });
  });

  test("with their dashes tell 56 series apart", () => {
    const looks = Array.from({ length: 56 }, (_, i) => `${hueOf(i)(palette(theme))} ${dashOf(i).join()}`);
    expect(new Set(looks).size).toBe(56);
  });
});
