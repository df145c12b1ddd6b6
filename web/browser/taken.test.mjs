// What a reader takes away from a page: paper, addresses, charts as files.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import test, { after, before } from "node:test";
import { pathToFileURL } from "node:url";
import { assertClean, drawn, startBrowser } from "./support/browser.mjs";
import { chartsOf, rangeOf } from "./support/pages.mjs";
import { made, record, report } from "./support/records.mjs";
import { dnsdyno } from "./support/program.mjs";

let browser;
before(async () => (browser = await startBrowser()));
after(() => browser.close());

test("a run of ten seconds is printed on two pages, and with all charts and tables on more", async () => {
  const page = await browser.open(await report("ten"), { theme: "dark" });
  const first = await page.pdf({ preferCSSPageSize: true });
  assert.ok(pagesOf(first) <= 2, `${pagesOf(first)} pages`);
  const printed = await partsOnPaper(page);
  for (const chart of ["rate", "losses", "latency", "curve"]) assert.ok(printed.charts.includes(chart), `${chart} is printed`);
  assert.ok(!printed.charts.includes("generator"));
  for (const words of ["p99<5ms", "The same run again", "its button Print all prints them too"]) {
    assert.ok(printed.text.includes(words), `${words} is printed`);
  }

  // The button: a browser without a screen opens no dialog.
  await page.evaluate(() => (window.print = () => (window.asked = document.documentElement.dataset.print)));
  await page.getByRole("button", { name: "Print all" }).click();
  assert.equal(await page.evaluate(() => window.asked), "all");
  const all = await page.pdf({ preferCSSPageSize: true });
  assert.ok(pagesOf(all) > pagesOf(first), `${pagesOf(all)} pages`);
  assert.equal(await page.getAttribute("html", "data-print"), null, "the next print is short again");
  await page.evaluate(() => (document.documentElement.dataset.print = "all"));
  assert.deepEqual((await partsOnPaper(page)).charts, await chartsOf(page));
  await assertClean(page);
});

test("the address of a page from a file keeps zoom and choices, and shows them when it is opened", async () => {
  const file = await report("stalled");
  const page = await browser.open(file);
  const whole = await rangeOf(page, "rate");
  await page.locator('[data-chart="rate"]').focus();
  await page.keyboard.press("+");
  await page.keyboard.press("+");
  for (const name of ["Boxes", "Linear", "UTC"]) await page.getByRole("button", { name, exact: true }).click();
  await page.getByRole("button", { name: "Dark theme" }).click();
  await page.getByRole("tab", { name: "All counters" }).click();
  await page.waitForFunction(() => /zoom=.*table=counters/.test(location.hash));
  const zoomed = await rangeOf(page, "rate");
  assert.ok(zoomed.to_ns - zoomed.from_ns < whole.to_ns - whole.from_ns);
  // A link to a part of the page does not lose them.
  await page.getByRole("link", { name: "Data" }).click();
  await page.waitForFunction(() => /^#zoom=/.test(location.hash));
  const address = page.url();
  await assertClean(page);

  const again = await browser.open(file);
  await again.goto(address);
  await again.reload();
  await drawn(again);
  const shown = await rangeOf(again, "rate");
  for (const end of ["from_ns", "to_ns"]) assert.ok(Math.abs(shown[end] - zoomed[end]) <= 1, `${end}: ${shown[end]}, ${zoomed[end]}`);
  assert.equal(await again.getAttribute("html", "data-theme"), "dark");
  const pressed = await again.locator('#time [aria-pressed="true"]').allTextContents();
  assert.deepEqual(pressed, ["Boxes", "Linear", "UTC"]);
  assert.match(await again.locator('[role="tab"][aria-selected="true"]').textContent(), /^All counters/);
  assert.match(await again.locator('[data-chart="latency"] h3').textContent(), /boxes.*linear/);

  // The whole run again, and nothing chosen, is the address without a fragment.
  for (const name of ["Heat map", "Log", "Elapsed", "Whole run"]) await again.getByRole("button", { name, exact: true }).click();
  await again.waitForFunction(() => !/zoom|latency|scale|time/.test(location.hash));
  assert.deepEqual(await rangeOf(again, "rate"), whole);
  await assertClean(again);
});

test("another address of the page that is open is shown at once", async () => {
  const page = await browser.open(await report("udp", "slow"));
  const second = await page.locator("#run-1 + *, label[for=run-1]").first().textContent();
  await page.evaluate((run) => (location.hash = `#run=${encodeURIComponent(run)}&scale=linear&zoom=0.5-1.5`), second.trim());
  await page.waitForFunction(() => document.querySelector("#run-1").checked);
  assert.deepEqual(await rangeOf(page, "rate"), { from_ns: 0.5e9, to_ns: 1.5e9 });
  assert.match(await page.locator('[data-chart="curve"] h3').textContent(), /linear/);
  // The charts before are gone, and the theme reaches those that are there.
  await page.getByRole("button", { name: "Dark theme" }).click();
  assert.equal(new Set(await chartsOf(page)).size, (await chartsOf(page)).length);
  await assertClean(page);
});

test("an address that says nothing sensible shows the page as it is", async () => {
  const file = await report("stalled");
  for (const fragment of ["#zoom=x&scale=%ff&table=none&run=none", "#zoom=500-900", "#%", "#=&=", `#watched=${"x".repeat(5000)}`]) {
    const page = await browser.open(file);
    await page.goto(pathToFileURL(file).href + fragment);
    await page.reload();
    await drawn(page);
    const { from_ns, to_ns } = await rangeOf(page, "rate");
    assert.ok(from_ns >= 0 && to_ns > from_ns && to_ns < 60e9, fragment);
    assert.ok((await chartsOf(page)).length >= 4, fragment);
    await assertClean(page);
  }
});

test("each chart is saved as SVG of shapes and as PNG, named after run and chart", async () => {
  const page = await browser.open(await report("stair"));
  for (const chart of await chartsOf(page)) {
    const figure = page.locator(`[data-chart="${chart}"]`);
    await figure.locator("summary").press("Enter");
    const { name, bytes } = await saved(page, figure, "SVG");
    assert.equal(name, `stair-${chart}.svg`);
    const svg = bytes.toString();
    assert.ok(!/<image|data:/.test(svg), `${chart} has no pixels in it`);
    const { shapes, texts, problem } = await page.evaluate((text) => {
      const svg = new DOMParser().parseFromString(text, "image/svg+xml");
      const count = (name) => svg.querySelectorAll(name).length;
      return { shapes: count("path"), texts: count("text"), problem: svg.querySelector("parsererror")?.textContent ?? null };
    }, svg);
    assert.equal(problem, null, chart);
    assert.ok(shapes > 3 && texts > 3, `${chart}: ${shapes} shapes, ${texts} texts`);
    assert.ok(!/NaN|Infinity|undefined/.test(svg), chart);

    const png = await saved(page, figure, "PNG");
    assert.equal(png.name, `stair-${chart}.png`);
    assert.equal(png.bytes.subarray(1, 4).toString(), "PNG");
    const [width] = [png.bytes.readUInt32BE(16)];
    assert.equal(width, Math.round(Number(/width="([\d.]+)"/.exec(svg)[1])) * 2, `${chart}: twice as fine as the page`);
    await figure.locator("summary").press("Enter");
  }
  await assertClean(page);
});

test("the chart of a comparison is saved too", async () => {
  const sides = [await record("udp"), await record("udp@2"), await record("slow"), await record("slow@2")];
  const file = await made("compared.html", (path) =>
    dnsdyno(["compare", ...sides.slice(2), "--against", ...sides.slice(0, 2), "--page", path], { codes: [0, 1] }),
  );
  const page = await browser.open(file);
  const { bytes } = await saved(page, page.locator("#differences"), "SVG");
  assert.match(bytes.toString(), />p50<[^]*<circle/);
  assert.equal((await saved(page, page.locator("#differences"), "PNG")).bytes.subarray(1, 4).toString(), "PNG");
  await assertClean(page);
});

test("what was expected is a line with its outcome in the charts that show the figure", async () => {
  const page = await browser.open(await report("ten"));
  const drawnIn = (chart) => page.evaluate((chart) => window.dnsdynoCharts[chart].svg(), chart);
  const signs = { passed: "✓", failed: "✗", undecided: "\\?" };
  const outcome = async (text) => {
    const item = page.locator("#answer .expectations li", { hasText: text }).first();
    return signs[await item.locator(".state").textContent()];
  };
  for (const [chart, text] of [["latency", "p99<5ms"], ["curve", "p99<5ms"], ["losses", "loss<5%"], ["rate", "rate>=100"]]) {
    const label = `>${await outcome(text)} ${text.replace("<", "&lt;").replace(">", "&gt;")}`;
    assert.match(await drawnIn(chart), new RegExp(label), chart);
  }
  assert.doesNotMatch(await drawnIn("generator"), /p99/);
  await assertClean(page);
});

/** Pages of a PDF, as Chromium writes it. */
function pagesOf(pdf) {
  return pdf.toString("latin1").match(/\/Type\s*\/Page\b/g).length;
}

/** What is on paper: the IDs of the charts, and all text. */
async function partsOnPaper(page) {
  await page.emulateMedia({ media: "print" });
  const parts = await page.evaluate(() => ({
    charts: [...document.querySelectorAll("[data-chart]")].filter((one) => one.offsetParent !== null).map((one) => one.dataset.chart),
    text: document.body.innerText,
  }));
  await page.emulateMedia({ media: "screen" });
  return parts;
}

/** What the button saves. */
async function saved(page, part, kind) {
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    part.getByRole("button", { name: `Save ${kind}` }).click(),
  ]);
  return { name: download.suggestedFilename(), bytes: await readFile(await download.path()) };
}
