// Several runs on one page, and a comparison of two sets of runs.

import assert from "node:assert/strict";
import test, { after, before } from "node:test";
import { PHONE, assertClean, startBrowser } from "./support/browser.mjs";
import { dnsdyno } from "./support/program.mjs";
import { chartsOf, blankCharts, dataOf, seriousFindings, tableOf } from "./support/pages.mjs";
import { made, record, report } from "./support/records.mjs";

let browser;
before(async () => (browser = await startBrowser()));
after(() => browser.close());

test("several runs stand on the same axes, and a reader chooses whose answer and tables are shown", async () => {
  const page = await browser.open(await report("udp", "tcp", "doh"));
  const { runs } = await dataOf(page);
  assert.equal(runs.length, 3);
  assert.deepEqual(await blankCharts(page), []);
  for (const run of runs) {
    await page.getByRole("radio", { name: run.label }).check();
    const row = page.locator("table.runs tbody tr").filter({ hasText: run.label });
    assert.ok(spaced(await row.innerText()).includes(spaced(run.answer.sentence)), run.label);
    const shown = await tableOf(page, run.tables[0].id);
    assert.deepEqual(shown.rows, run.tables[0].rows, run.label);
  }
  assert.deepEqual(await seriousFindings(page), []);
  await assertClean(page);
});

test("the table of runs fits a usual window, and a wider table shows that there is more of it", async () => {
  const file = await report("stair", "udp", "send-only", "closed");
  const rows = (page) => page.locator("#runs .scroll");
  const hidden = (page) => rows(page).evaluate((box) => box.scrollWidth - box.clientWidth);
  const desk = await browser.open(file);
  assert.ok((await hidden(desk)) <= 0, `${await hidden(desk)} px are hidden`);
  const { runs } = await dataOf(desk);
  const head = await rows(desk).locator("thead th").allTextContents();
  for (const [n, { send_only }] of runs.entries()) {
    const cell = await rows(desk).locator("tbody tr").nth(n).locator("> *").nth(head.indexOf("answered")).textContent();
    assert.equal(cell === "-", send_only, `answered of ${runs[n].label}: ${cell}`);
  }
  await assertClean(desk);
  const phone = await browser.open(file, { viewport: PHONE });
  assert.ok((await hidden(phone)) > 0);
  assert.match(await rows(phone).evaluate((box) => getComputedStyle(box).backgroundImage), /linear-gradient/);
  await assertClean(phone);
});

test("runs of one rate each give a chart of load against response", async () => {
  const page = await browser.open(await report("udp", "stalled"));
  assert.ok((await chartsOf(page)).includes("load"), "a chart of load");
  await assertClean(page);
});

test("the page of a comparison says what compare prints, light and dark, wide and narrow", async () => {
  const before = [await record("udp@1"), await record("udp@2"), await record("udp@3")];
  const after = [await record("slow@1"), await record("slow@2"), await record("slow@3")];
  const words = ["compare", ...after, "--against", ...before];
  const file = await made("comparison.html", (path) => dnsdyno([...words, "--page", path], { codes: [0, 1] }));
  const text = (await dnsdyno(words, { codes: [0, 1] })).stdout.replaceAll(/\s+/g, " ");
  for (const [theme, viewport] of [["light", undefined], ["dark", undefined], ["light", PHONE]]) {
    const page = await browser.open(file, { theme, viewport });
    const { comparison } = await dataOf(page);
    assert.ok(text.includes(comparison.sentence), `${comparison.sentence}\nis not in\n${text}`);
    const differences = await tableOf(page, "differences");
    assert.equal(differences.rows.length, comparison.metrics.length);
    for (const [n, metric] of comparison.metrics.entries()) {
      const row = differences.rows[n];
      for (const cell of [metric.name, metric.a, metric.b]) assert.ok(row.includes(cell), `${cell} in ${row.join(" | ")}`);
    }
    assert.deepEqual(await blankCharts(page), []);
    assert.deepEqual(await seriousFindings(page), []);
    await assertClean(page);
  }
});

test("a comparison of two runs has no interval, and a percentile beyond the timeout is drawn as such", async () => {
  const [a, b] = [await record("stair@1"), await record("stair@2")];
  const words = ["compare", b, "--against", a, "--page"];
  const file = await made("two.html", (path) => dnsdyno([...words, path], { codes: [0, 1] }));
  const page = await browser.open(file);
  const drawn = spaced(await page.locator('[data-chart="intervals"]').textContent());
  assert.ok(!drawn.includes("from - to -"), drawn);
  const [p99] = await page.locator(".intervals-row").filter({ hasText: "p99" }).allTextContents();
  const { comparison } = await dataOf(page);
  assert.equal(comparison.metrics.find(({ name }) => name === "p99").a, ">500 ms");
  assert.ok(spaced(p99).includes(">500 ms"), p99);
  await assertClean(page);
});

/** The page keeps figures and units together by spaces that do not break. */
function spaced(text) {
  return text.replaceAll(/\s/g, " ");
}
