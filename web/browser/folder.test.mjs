// The folder of runs as `dnsdyno serve` shows it: list, search, open, compare, and a run under way.

import assert from "node:assert/strict";
import { join } from "node:path";
import test, { after, before } from "node:test";
import { assertClean, drawn, startBrowser } from "./support/browser.mjs";
import { QUERIES, dnsdyno, responder, started } from "./support/program.mjs";
import { blankCharts, rangeOf, seriousFindings } from "./support/pages.mjs";
import { folderOf } from "./support/records.mjs";

let browser, served, folder;
before(async () => {
  browser = await startBrowser();
  folder = await folderOf("folder", ["udp", "tcp", "stair", "cut-short", "hostile"]);
  served = await started(["serve", folder, "--listen", "127.0.0.1:0"], /(http:\/\/\S+?)\/?\s/);
});
after(async () => {
  await served.stop();
  await browser.close();
});

test("the list shows each run, and a search leaves those with the words", async () => {
  const page = await openList();
  assert.equal(await runsIn(page).count(), 5);
  assert.deepEqual(await seriousFindings(page), []);
  await page.getByRole("searchbox").fill("stair");
  await assertEventually(async () => assert.equal(await runsIn(page).count(), 1));
  assert.deepEqual(await page.context().cookies(), []);
  await assertClean(page);
});

test("a run is opened from the list, with its charts and nothing from elsewhere", async () => {
  const page = await openList();
  await page.getByRole("link", { name: "stair" }).first().click();
  await drawn(page);
  assert.deepEqual(await blankCharts(page), []);
  assert.deepEqual(await seriousFindings(page), []);
  await page.getByRole("link", { name: "All runs" }).click();
  assert.equal(await runsIn(page).count(), 5);
  await assertClean(page);
});

test("two ticked runs are opened together, or compared", async () => {
  for (const [link, heading] of [["Open together", "Runs"], ["Compare", "Differences"]]) {
    const page = await openList();
    for (const name of ["udp", "tcp"]) await page.getByRole("checkbox", { name: new RegExp(name) }).first().check();
    await page.getByRole("link", { name: link }).click();
    await page.waitForURL((url) => url.pathname !== "/");
    await drawn(page);
    await page.getByRole("heading", { name: heading }).waitFor();
    await assertClean(page);
  }
});

test("the page of a run under way goes on by itself", async () => {
  const server = await responder("--delay", "1ms");
  const name = "under-way";
  const words = ["run", "-s", server.udp, "--queries", QUERIES, "--rate", "200", "--for", "60s", "--interval", "250ms"];
  // Its folder has a record from the first line of progress on.
  const run = await started([...words, "--out", join(folder, name)], / s {2}asked /);
  try {
    const page = await browser.open(`${served.match[1]}/runs/${name}/`);
    const end = async () => (await rangeOf(page, "rate")).to_ns;
    const first_ns = await end();
    await assertEventually(async () => assert.ok((await end()) > first_ns, "the time axis goes on"));
    await assertClean(page);
  } finally {
    await run.stop();
    await server.stop();
  }
});

async function openList() {
  return browser.open(`${served.match[1]}/`, { ready: false });
}

/** The rows of the list that lead to a run. */
function runsIn(page) {
  return page.locator("tbody tr").filter({ has: page.getByRole("link") });
}

/** What a page does a moment after; tried for ten seconds at most. */
async function assertEventually(check) {
  for (let tries = 0; ; tries++) {
    try {
      return await check();
    } catch (error) {
      if (tries === 100) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}
