// The other tests rest on this: what no page of ours may do is seen when a page does it.

import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import test, { after, before } from "node:test";
import { assertClean, startBrowser } from "./support/browser.mjs";
import { blankCharts, seriousFindings } from "./support/pages.mjs";
import { made } from "./support/records.mjs";

let browser;
before(async () => (browser = await startBrowser()));
after(() => browser.close());

const BAD_DEEDS = {
  console: `console.error("wrong")`,
  errors: `throw new Error("wrong")`,
  requests: `new Image().src = "http://127.0.0.1:9/x"`,
  dialogs: `alert(1)`,
};

for (const [kind, deed] of Object.entries(BAD_DEEDS)) {
  test(`a page that does what belongs under "${kind}" is not clean`, async () => {
    const page = await browser.open(await pageWith(kind, `<script>${deed}</script>`));
    await assert.rejects(assertClean(page));
    assert.ok(page.seen[kind].length > 0);
    await page.context().close();
  });
}

test("a picture without a text is a serious finding", async () => {
  const page = await browser.open(await pageWith("picture", `<img src="data:image/gif;base64,R0lGODlhAQABAAAAACw=">`));
  const findings = await seriousFindings(page);
  assert.equal(findings.length, 1);
  assert.match(findings[0], /^image-alt/);
  await page.context().close();
});

test("a chart that shows nothing is found", async () => {
  const page = await browser.open(await pageWith("blank", `<figure data-chart="blank"><canvas></canvas></figure>`));
  assert.deepEqual(await blankCharts(page), ["blank: 1 colours"]);
  await page.context().close();
});

function pageWith(name, content) {
  const html = `<!doctype html><html lang="en" data-ready="true"><title>x</title><main><h1>x</h1>${content}</main></html>`;
  return made(`watch-${name}.html`, (path) => writeFile(path, html));
}
