// Images of pages for the texts of this project.

import { execFileSync } from "node:child_process";
import { stat } from "node:fs/promises";
import { basename } from "node:path";

/** Sharp on a screen with fine pixels, and still small. */
export const SCALE = 1.5;

/**
 * Draws a page as a PNG of 128 colours at `path`: what the window shows, or, where there are `parts` (selectors), the
 * smallest rectangle that has all of them, without what is `hidden` (a selector). `options` are those of `browser.open`.
 */
export async function drawImage(browser, path, page, { parts = [], hidden, ...options } = {}) {
  const opened = await browser.open(page, { ...options, scale: SCALE });
  if (hidden) await opened.addStyleTag({ content: `${hidden} { display: none }` });
  const clip = parts.length > 0 ? await around(opened, parts) : undefined;
  await opened.screenshot({ path, clip, fullPage: clip !== undefined, animations: "disabled" });
  await opened.context().close();
  execFileSync("pngquant", ["--force", "--skip-if-larger", "--strip", "--output", path, "128", path]);
  const { size } = await stat(path);
  console.log(`${basename(path)}: ${Math.round(size / 1000)} kB`);
}

/** The rectangle around the first element of each selector, with a margin. */
async function around(page, parts) {
  const boxes = await Promise.all(parts.map((part) => page.locator(part).first().boundingBox()));
  parts.forEach((part, at) => {
    if (!boxes[at]) throw new Error(`the page has no ${part}`);
  });
  const margin = 12;
  const [left, top] = ["x", "y"].map((side) => Math.max(0, Math.min(...boxes.map((box) => box[side])) - margin));
  const right = Math.max(...boxes.map((box) => box.x + box.width)) + margin;
  const bottom = Math.max(...boxes.map((box) => box.y + box.height)) + margin;
  return { x: left, y: top, width: right - left, height: bottom - top };
}
