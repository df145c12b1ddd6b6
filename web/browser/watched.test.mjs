// What was watched beside the load, on the page: the kernel of this host, which is there wherever the tests run.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { after, before } from "node:test";
import { PHONE, assertClean, startBrowser } from "./support/browser.mjs";
import { seriousFindings } from "./support/pages.mjs";
import { dnsdyno } from "./support/program.mjs";

let browser;
let work;

before(async () => {
  work = await mkdtemp(join(tmpdir(), "dnsdyno-watched-"));
  const watch = ["watch", "host", "--for", "1s", "--interval", "200ms", "--quiet", "-o", join(work, "run")];
  await dnsdyno(watch);
  await dnsdyno(["report", join(work, "run"), "--out", join(work, "run.html")]);
  browser = await startBrowser();
});
after(async () => {
  await browser.close();
  await rm(work, { recursive: true });
});

test("a record without load shows what was watched, and nothing else over time", async () => {
  const page = await browser.open(join(work, "run.html"));
  const ids = await watchedCharts(page);
  assert.ok(ids.length > 0 && ids.length <= 8, ids.join());
  assert.equal(await page.locator("#time figure[data-chart]").count(), ids.length);
  assert.match(await page.locator("#answer .sentence").innerText(), /^Nothing was sent; 1 source was watched for 1 s\.$/);
  assert.deepEqual(await seriousFindings(page), []);
  await assertClean(page);
});

test("a series is found by its name, and its figures add up to the sum of the export", async () => {
  const page = await browser.open(join(work, "run.html"), { viewport: PHONE });
  await page.fill("#series-search", "context_switches");
  await page.waitForFunction(() => document.querySelector(".series-search output")?.textContent === "1 below");
  assert.deepEqual(await watchedCharts(page), ["watched.0.context_switches"]);
  const shares = await page.evaluate(() => {
    const chart = window.dnsdynoCharts["watched.0.context_switches"];
    return [0, 1, 2, 3, 4].map((n) => chart.valuesAt((n + 0.5) * 2e8)["context_switches"]);
  });
  const { stdout } = await dnsdyno(["export", "csv", join(work, "run")]);
  const [titles, ...lines] = stdout.trim().split("\n").map((line) => line.split(","));
  const column = titles.indexOf("watched_0_context_switches");
  assert.deepEqual(shares, lines.map((line) => (Number(line[column]) * 1e9) / 2e8));
  await page.fill("#series-search", "no such series");
  await page.waitForFunction(() => document.querySelector(".series-search output")?.textContent === "none found");
  assert.deepEqual(await watchedCharts(page), []);
  await assertClean(page);
});

const watchedCharts = (page) =>
  page.$$eval("#time figure[data-chart]", (all) =>
    all.map((figure) => figure.dataset.chart).filter((id) => id.startsWith("watched.")),
  );
