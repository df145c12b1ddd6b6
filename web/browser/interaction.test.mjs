// A reader's hands: pointer, keys, theme, print, a narrow screen.

import assert from "node:assert/strict";
import test, { after, before } from "node:test";
import { PHONE, assertClean, startBrowser } from "./support/browser.mjs";
import { chartsOf, rangeOf, seriousFindings } from "./support/pages.mjs";
import { report } from "./support/records.mjs";

let browser;
/** Of A4 between its margins, in CSS pixels. */
const PAPER_WIDTH = 718;

before(async () => (browser = await startBrowser()));
after(() => browser.close());

test("a drag zooms all charts over time alike, and a double click shows the whole run again", async () => {
  const page = await browser.open(await report("stalled"));
  const charts = await timeCharts(page);
  const whole = await rangeOf(page, charts[0]);
  await drag(page, charts[0], 0.3, 0.6);
  const zoomed = await rangeOf(page, charts[0]);
  const share = (zoomed.to_ns - zoomed.from_ns) / (whole.to_ns - whole.from_ns);
  // The axis leaves room for its labels, so the share of the range is a little above that of the figure.
  assert.ok(share > 0.25 && share < 0.45, `shows ${share} of the run`);
  for (const chart of charts) assert.deepEqual(await rangeOf(page, chart), zoomed, chart);
  await doubleClick(page, charts[1]);
  for (const chart of charts) assert.deepEqual(await rangeOf(page, chart), whole, chart);
  await assertClean(page);
});

test("keys step, move, zoom, and return to the whole run", async () => {
  const page = await browser.open(await report("stalled"));
  const [chart] = await timeCharts(page);
  const whole = await rangeOf(page, chart);
  await figureOf(page, chart).focus();

  await page.keyboard.press("ArrowRight");
  const first = await readout(page, chart);
  await page.keyboard.press("ArrowRight");
  assert.notEqual(await readout(page, chart), first, "a step changes the readout");

  await page.keyboard.press("+");
  const near = await rangeOf(page, chart);
  assert.ok(near.to_ns - near.from_ns < whole.to_ns - whole.from_ns, "plus zooms in");
  await page.keyboard.press("Shift+ArrowRight");
  const moved = await rangeOf(page, chart);
  assert.ok(moved.from_ns > near.from_ns, "shift and an arrow move the range");
  assert.equal(moved.to_ns - moved.from_ns, near.to_ns - near.from_ns, "and keep its length");
  await page.keyboard.press("-");
  const far = await rangeOf(page, chart);
  assert.ok(far.to_ns - far.from_ns > near.to_ns - near.from_ns, "minus zooms out");
  await page.getByRole("button", { name: "Whole run" }).press("Enter");
  assert.deepEqual(await rangeOf(page, chart), whole);
  await assertClean(page);
});

test("the theme's button changes the colours of page and charts", async () => {
  const page = await browser.open(await report("stalled"), { theme: "light" });
  const look = () =>
    page.evaluate(() => ({
      paper: getComputedStyle(document.body).backgroundColor,
      charts: [...document.querySelectorAll("[data-chart] canvas")].map((canvas) => canvas.toDataURL()),
    }));
  const light = await look();
  await page.getByRole("button", { name: "Dark theme" }).click();
  assert.equal(await page.getAttribute("html", "data-theme"), "dark");
  await frame(page);
  const dark = await look();
  assert.notEqual(dark.paper, light.paper);
  assert.equal(dark.charts.length, light.charts.length);
  dark.charts.forEach((drawing, n) => assert.notEqual(drawing, light.charts[n], `canvas ${n} is drawn anew`));
  await page.getByRole("button", { name: "Light theme" }).click();
  assert.equal(await page.getAttribute("html", "data-theme"), "light");
  await assertClean(page);
});

test("Tab reaches each control, chart and table, and shows where it is", async () => {
  const page = await browser.open(await report("stair"));
  const reached = [];
  for (let n = 0; n < 300; n++) {
    await page.keyboard.press("Tab");
    const now = await page.evaluate(() => {
      const at = document.activeElement;
      if (at === null || at === document.body) return null;
      const style = getComputedStyle(at);
      return {
        chart: at.dataset.chart ?? null,
        table: at.querySelector?.(":scope > table")?.dataset.table ?? null,
        name: at.getAttribute("aria-label") ?? at.textContent.trim().slice(0, 40),
        visible: style.outlineStyle !== "none" || style.boxShadow !== "none",
      };
    });
    if (now === null) break;
    reached.push(now);
  }
  assert.ok(reached.length < 300, "Tab leaves the page at its end");
  assert.deepEqual(reached.filter(({ visible }) => !visible), [], "the focus is seen everywhere");
  const names = reached.map(({ name }) => name);
  for (const name of ["Dark theme", "Print", "Data"]) assert.ok(names.includes(name), `${name} among ${names.join(", ")}`);
  const charts = reached.flatMap(({ chart }) => (chart === null ? [] : [chart]));
  assert.deepEqual([...charts].sort(), [...(await chartsOf(page))].sort());
  await assertClean(page);
});

test("each chart has its figures as a table, for who cannot see it", async () => {
  const page = await browser.open(await report("stair"));
  for (const chart of await chartsOf(page)) {
    const summary = figureOf(page, chart).locator("summary");
    await summary.press("Enter");
    const table = page.locator(`table[data-table="chart-${chart}"]`);
    await table.waitFor();
    assert.ok((await table.locator("tbody tr").count()) > 0, `${chart} has rows`);
  }
  assert.deepEqual(await seriousFindings(page), []);
  await assertClean(page);
});

test("on paper the page is light, without its controls, and no chart is cut off", async () => {
  const page = await browser.open(await report("stair"), { theme: "dark" });
  await page.evaluate(() => {
    addEventListener("beforeprint", () => {
      const widths = [...document.querySelectorAll("[data-chart] canvas")].map((one) => one.getBoundingClientRect().width);
      window.printed = { theme: document.documentElement.dataset.theme, widest: Math.max(...widths) };
    });
  });
  await page.pdf({ format: "A4" });
  const { theme, widest } = await page.evaluate(() => window.printed);
  assert.equal(theme, "light");
  assert.ok(widest <= PAPER_WIDTH, `a chart is ${widest} px wide`);
  assert.equal(await page.getAttribute("html", "data-theme"), "dark", "and dark again after it");

  await page.emulateMedia({ media: "print" });
  await page.setViewportSize({ width: 700, height: 1000 });
  for (const name of ["Dark theme", "Light theme", "Print"]) {
    assert.equal(await page.getByRole("button", { name }).isVisible(), false, name);
  }
  await assertClean(page);
});

test("a phone shows the page without scrolling sideways", async () => {
  for (const kind of ["stair", "mix", "watched", "hostile"]) {
    const page = await browser.open(await report(kind), { viewport: PHONE });
    const { wide, scroll } = await page.evaluate(() => ({
      wide: innerWidth,
      scroll: document.documentElement.scrollWidth,
    }));
    assert.ok(scroll <= wide, `${kind}: ${scroll} px on a screen of ${wide} px`);
    assert.deepEqual(await seriousFindings(page), []);
    await assertClean(page);
  }
});

/** The IDs of the charts over time: those that can be zoomed together. */
async function timeCharts(page) {
  const all = await chartsOf(page);
  const over_time = [];
  for (const chart of all) if ((await rangeOf(page, chart)) !== null) over_time.push(chart);
  assert.ok(over_time.length >= 2, `charts over time: ${over_time}`);
  return over_time;
}

function figureOf(page, chart) {
  return page.locator(`[data-chart="${chart}"]`);
}

function readout(page, chart) {
  return figureOf(page, chart).locator("[data-readout]").textContent();
}

async function drag(page, chart, from, to) {
  const { x, y, width } = await middleOf(page, chart);
  await page.mouse.move(x + width * from, y);
  await page.mouse.down();
  await page.mouse.move(x + width * to, y, { steps: 5 });
  await page.mouse.up();
}

async function doubleClick(page, chart) {
  const { x, y, width } = await middleOf(page, chart);
  await page.mouse.dblclick(x + width / 2, y);
}

/** The left end, the width, and half the height of what is drawn. */
async function middleOf(page, chart) {
  await figureOf(page, chart).scrollIntoViewIfNeeded();
  const box = await figureOf(page, chart).locator("canvas").first().boundingBox();
  return { x: box.x, y: box.y + box.height / 2, width: box.width };
}

function frame(page) {
  return page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(null)))));
}
