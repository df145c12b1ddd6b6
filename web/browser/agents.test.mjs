// The page of a load that several processes made: a row for each of them, from records of which one was made against a
// slower server and one is missing.

import assert from "node:assert/strict";
import { join } from "node:path";
import test, { after, before } from "node:test";
import { PHONE, assertClean, startBrowser } from "./support/browser.mjs";
import { seriousFindings, tableOf, valuesAt } from "./support/pages.mjs";
import { QUERIES, dnsdyno, shown, started } from "./support/program.mjs";
import { made } from "./support/records.mjs";
import { percentile, says } from "./support/says.mjs";

const INTERVAL_NS = 5e8;
const LOAD_NS = 4 * INTERVAL_NS;
/** Those whose records are there. */
const NAMES = ["lg1", "lg2", "lg3"];
/** What the page calls the other one. */
const MISSING = "part 4/4";
const CHART = "agent-rows";

let browser;
let parts;

before(async () => {
  parts = await made("parts", makeParts);
  browser = await startBrowser();
});
after(() => browser.close());

test("each agent has a row with its name, filled where it has a p99, and open where it is missing", async () => {
  for (const theme of ["light", "dark"]) {
    const page = await browser.open(join(parts, "joined.html"), { theme });
    const texts = await page.evaluate((chart) => {
      const svg = new DOMParser().parseFromString(window.dnsdynoCharts[chart].svg(), "image/svg+xml");
      return [...svg.querySelectorAll("text")].map((text) => text.textContent);
    }, CHART);
    for (const name of [...NAMES, MISSING]) assert.ok(texts.includes(name), `${name} in ${texts.join(" | ")}`);
    const covered = await page.evaluate(coveredShares, [CHART, NAMES.length + 1, LOAD_NS]);
    for (const [row, share] of covered.entries()) {
      if (row < NAMES.length) assert.equal(share, 1, `row ${row}, ${theme}`);
      else assert.ok(share > 0 && share < 0.9, `the missing one is hatched: ${share}, ${theme}`);
    }
    assert.deepEqual(await seriousFindings(page), []);
    await assertClean(page);
  }
});

test("the readout names the agent under the pointer with the p99 of its own record, and who is slowest", async () => {
  const records = await Promise.all(NAMES.map((name) => shown(join(parts, name))));
  for (const viewport of [undefined, PHONE]) {
    const page = await browser.open(join(parts, "joined.html"), { viewport });
    for (const interval of [0, 2]) {
      const own = records.map(({ intervals }) => percentile(intervals[interval].p99));
      const at_ns = (interval + 0.5) * INTERVAL_NS;
      const values = await valuesAt(page, CHART, at_ns);
      assert.deepEqual(Object.values(values), [...own.map((p99) => (p99.beyond ? "beyond" : p99)), null]);
      const slowest = NAMES[own.indexOf(Math.max(...own.map((p99) => (p99.beyond ? Infinity : p99))))];
      for (const [row, name] of [...NAMES, MISSING].entries()) {
        await pointAt(page, at_ns, row, NAMES.length + 1);
        const items = await readout(page);
        assert.equal(items[0].label, name === slowest ? `${name}, the slowest` : name);
        if (name === MISSING) assert.equal(items[0].text, "missing");
        else assert.ok(says(items[0].text, own[row]), `${items[0].text} of ${name} says ${own[row]}`);
        if (name !== slowest) assert.equal(items[1].label, `slowest: ${slowest}`);
      }
    }
    await assertClean(page);
  }
});

test("a zoom, the keyboard and the table show the figures of the rows, and paper keeps their names", async () => {
  const page = await browser.open(join(parts, "joined.html"));
  const figure = page.locator(`[data-chart="${CHART}"]`);
  const height = (await figure.locator("canvas").boundingBox()).height;
  await figure.focus();
  await page.keyboard.press("ArrowRight");
  assert.match((await readout(page))[0].label, /^slowest: lg\d$/);
  await page.keyboard.press("+");
  const { from_ns, to_ns } = await page.evaluate((chart) => window.dnsdynoCharts[chart].range(), CHART);
  assert.ok(to_ns - from_ns < LOAD_NS);
  await figure.locator("summary").press("Enter");
  // The table is drawn in a later task of the page than the key.
  await figure.locator(`table[data-table="chart-${CHART}"]`).waitFor();
  const { columns } = await tableOf(page, `chart-${CHART}`);
  assert.deepEqual(columns.map(({ title }) => title).slice(1), [...NAMES, MISSING]);
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  assert.equal((await figure.locator("canvas").boundingBox()).height, height);
  await assertClean(page);
});

/** Three records of a load of four, each with the 1,000 queries in each interval that a p99 needs, and their page. */
async function makeParts(folder) {
  let listen = "127.0.0.1:0";
  for (const [part, name] of NAMES.entries()) {
    // The load is one only if its server has one address.
    const server = ["respond", "--listen", listen, "--delay", name === "lg3" ? "15ms" : "1ms"];
    const { match, stop } = await started(server, /listening on (\S+) \(UDP and TCP\)/);
    listen = match[1];
    const load = ["-s", listen, "--rate", "12k", "--for", "2s", "--interval", "500ms", "--part", `${part + 1}/4`];
    try {
      await dnsdyno(["run", "--queries", QUERIES, "--quiet", "--out", join(folder, name), ...load]);
    } finally {
      await stop();
    }
  }
  const joined = join(folder, "joined");
  await dnsdyno(["merge", ...NAMES.map((name) => join(folder, name)), "--out", joined]);
  await dnsdyno(["report", joined, "--out", `${joined}.html`]);
}

/** In the page: of a line through each row, up to an instant, how much is not paper. */
function coveredShares([chart, rows, to_ns]) {
  const figure = document.querySelector(`[data-chart="${chart}"]`);
  const [canvas, over] = [figure.querySelector("canvas"), figure.querySelector(".u-over")];
  const range = window.dnsdynoCharts[chart].range();
  const scale = canvas.width / canvas.getBoundingClientRect().width;
  const { offsetLeft: left, offsetTop: top, clientHeight: height } = over;
  const shown = over.clientWidth * Math.min(1, to_ns / (range.to_ns - range.from_ns));
  const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const [first, end] = [Math.round(left * scale) + 2, Math.round((left + shown) * scale) - 2];
  return Array.from({ length: rows }, (_, row) => {
    // Not of the grid, whose lines are in the middle of rows.
    const y = Math.round((top + ((row + 0.5) * height) / rows) * scale) - 3;
    const line = new Uint32Array(pixels.data.buffer).subarray(y * canvas.width + first, y * canvas.width + end);
    return line.filter((pixel) => pixel >>> 24 > 0).length / line.length;
  });
}

async function pointAt(page, at_ns, row, rows) {
  const { from_ns, to_ns } = await page.evaluate((chart) => window.dnsdynoCharts[chart].range(), CHART);
  const over = page.locator(`[data-chart="${CHART}"] .u-over`);
  const { width, height } = await over.boundingBox();
  const x = ((at_ns - from_ns) / (to_ns - from_ns)) * width;
  await over.hover({ position: { x, y: ((row + 0.5) * height) / rows } });
}

/** The series of the readout, with their texts. */
function readout(page) {
  return page.$$eval(`[data-chart="${CHART}"] .chart-readout > span:not(.chart-at)`, (all) =>
    all.map((item) => {
      const text = item.querySelector("b").textContent;
      return { label: item.textContent.slice(0, item.textContent.length - text.length).trim(), text };
    }),
  );
}
