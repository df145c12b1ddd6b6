// Each kind of run has a page on which every chart draws, in both themes, without a word on the console, without asking
// for anything outside, and without what an accessibility checker calls serious.

import assert from "node:assert/strict";
import test, { after, before } from "node:test";
import { DESK, PHONE, assertClean, startBrowser } from "./support/browser.mjs";
import { blankCharts, chartsOf, cutTexts, seriousFindings } from "./support/pages.mjs";
import { KINDS, report } from "./support/records.mjs";

let browser;
before(async () => (browser = await startBrowser()));
after(() => browser.close());

for (const kind of [...KINDS, "unanswered", "closed", "stalled"]) {
  test(`the page of a run of kind ${kind} draws its charts and breaks no rule, light and dark`, async () => {
    const file = await report(kind);
    for (const theme of ["light", "dark"]) {
      const page = await browser.open(file, { theme });
      assert.equal(await page.getAttribute("html", "data-theme"), theme);
      assert.ok((await chartsOf(page)).length >= 3);
      assert.deepEqual(await blankCharts(page), [], `blank charts, ${theme}`);
      await openEverything(page);
      assert.deepEqual(await seriousFindings(page), [], `what axe finds, ${theme}`);
      await assertClean(page);
    }
  });
}

test("no label of an axis is cut, wide and narrow", async () => {
  for (const name of ["many", "ramp", "stair", "unanswered"]) {
    for (const viewport of [DESK, PHONE]) {
      const page = await browser.open(await report(name), { viewport });
      assert.deepEqual(await cutTexts(page), [], `${name}, ${viewport.width} px`);
      await assertClean(page);
    }
  }
});

/** Shows what is behind tabs and disclosures, all at once: the checker passes over what is hidden. */
function openEverything(page) {
  return page.evaluate(() => {
    for (const panel of document.querySelectorAll('[role="tabpanel"]')) panel.hidden = false;
    for (const details of document.querySelectorAll("details")) details.open = true;
  });
}
