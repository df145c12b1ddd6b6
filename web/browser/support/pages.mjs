// What the tests ask of a page: its charts, their figures, its tables, and an accessibility checker's opinion.

import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";

const AXE = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

/** The IDs of the charts on the page, in its order. */
export function chartsOf(page) {
  return page.locator("[data-chart]").evaluateAll((all) => all.map((one) => one.dataset.chart));
}

/** The figures of a chart at an instant, or at a place of its x axis. */
export function valuesAt(page, chart, x) {
  return page.evaluate(([chart, x]) => window.dnsdynoCharts[chart].valuesAt(x), [chart, x]);
}

/** The range of the time axis in ns. */
export function rangeOf(page, chart) {
  return page.evaluate((chart) => window.dnsdynoCharts[chart].range(), chart);
}

/**
 * The charts that show nothing: neither a drawing of three colours (paper, ink, a series) or three shapes, nor in words why
 * there is nothing to draw. A text for each.
 */
export async function blankCharts(page) {
  const charts = await page.locator("[data-chart]").evaluateAll((all) =>
    all.map((figure) => {
      const colours = new Set();
      for (const canvas of figure.querySelectorAll("canvas")) {
        if (canvas.width === 0 || canvas.height === 0) continue;
        const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
        for (const pixel of new Uint32Array(pixels.buffer)) colours.add(pixel);
      }
      const says = figure.querySelector(".chart-empty")?.textContent ?? "";
      const shapes = figure.querySelectorAll("svg circle, svg line, svg path, svg rect").length;
      return { chart: figure.dataset.chart, shapes, colours: colours.size, says };
    }),
  );
  return charts.flatMap(({ chart, shapes, colours, says }) => (shapes >= 3 || colours >= 3 || says !== "" ? [] : [`${chart}: ${colours} colours`]));
}

/** The texts that canvases draw, axes and labels, and that an edge of their canvas cuts: a line each. */
export function cutTexts(page) {
  return page.evaluate(() =>
    Object.values(window.dnsdynoCharts).flatMap((chart) => {
      const canvas = chart.element.querySelector("canvas");
      if (canvas === null) return [];
      const place = document.createElement("div");
      place.innerHTML = chart.svg();
      document.body.append(place);
      const drawing = place.querySelector("svg > g:last-of-type");
      const left = place.getBoundingClientRect().left + drawing.transform.baseVal.consolidate().matrix.e;
      const right = left + canvas.getBoundingClientRect().width;
      const texts = [...drawing.querySelectorAll("text")];
      const boxes = texts.map((text) => text.getBoundingClientRect());
      place.remove();
      return texts.flatMap(({ textContent }, i) =>
        boxes[i].left < left - 0.5 || boxes[i].right > right + 0.5 ? [`${chart.id}: ${textContent}`] : [],
      );
    }),
  );
}

/** A table of the page as texts: its columns with their units, and its rows. `null` where the page has none. */
export async function tableOf(page, id) {
  const table = page.locator(`table[data-table="${id}"]`);
  if ((await table.count()) === 0) return null;
  return table.first().evaluate((table) => {
    const text = (cell) => cell.textContent.trim();
    return {
      columns: [...table.querySelectorAll("thead th")].map((th) => {
        const unit = th.querySelector(".unit");
        const whole = text(th);
        return { title: unit === null ? whole : whole.slice(0, -unit.textContent.length).trim(), unit: unit === null ? "" : text(unit) };
      }),
      rows: [...table.querySelectorAll("tbody tr")].map((tr) => [...tr.cells].map(text)),
    };
  });
}

/** What axe finds serious or critical in the page as it is, a line each. */
export async function seriousFindings(page) {
  await page.evaluate(await readFile(AXE, "utf8"));
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  return violations
    .filter(({ impact }) => ["serious", "critical"].includes(impact))
    .flatMap(({ id, help, nodes }) => nodes.map((node) => `${id}: ${help}: ${node.target.join(" ")}: ${node.failureSummary}`));
}

/** The data of the page, as `crates/page` wrote it. */
export function dataOf(page) {
  return page.evaluate(() => JSON.parse(document.getElementById("page-data").textContent));
}
