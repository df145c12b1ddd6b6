/** A chart as a file: SVG, or PNG for programs that take no SVG. */

import type { Chart } from "../charts";
import { fileName, save } from "./copy";
import { button, el } from "./dom";

/** Pixels of the PNG for one of the page: sharp in a document and on a screen with fine pixels. */
const SCALE = 2;

/** Buttons that save what the chart shows now; `name` is that of the run or of the page. */
export function pictureButtons(chart: Chart, name: () => string): HTMLElement {
  const status = el("span", { role: "status", class: "help" });
  const offer = (kind: string, give: (svg: string, file: string) => Promise<void> | void): HTMLElement =>
    button(
      `Save ${kind}`,
      () => {
        status.textContent = "";
        const svg = chart.svg();
        if (svg === null) return void (status.textContent = "This chart has nothing to save.");
        const file = `${fileName(name())}-${fileName(chart.id)}.${kind.toLowerCase()}`;
        Promise.resolve(give(svg, file)).catch(() => {
          status.textContent = `This browser does not let the page make a ${kind}.`;
        });
      },
      { class: "quiet", "aria-label": `Save ${kind}: ${chart.title}` },
    );
  return el(
    "span",
    { class: "copy" },
    offer("PNG", async (svg, file) => save(file, "image/png", [await png(svg)])),
    offer("SVG", (svg, file) => save(file, "image/svg+xml", [svg])),
    status,
  );
}

/** The picture as pixels. */
async function png(svg: string): Promise<Blob> {
  const url = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  try {
    const image = new Image();
    image.src = url;
    await image.decode();
    const canvas = el("canvas", { width: image.naturalWidth * SCALE, height: image.naturalHeight * SCALE });
    canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((resolve, reject) => canvas.toBlob((blob) => (blob ? resolve(blob) : reject()), "image/png"));
  } finally {
    URL.revokeObjectURL(url);
  }
}
