// A record of 48 hours: its page is small enough to be sent, draws at once, and zooms to the second. How fast is measured
// by scripts/page-bench; here nothing depends on the machine's speed.
//
// To draw such a record takes minutes in a build for tests. CI builds the example `long_record` for it and names it in
// DNSDYNO_LONG_RECORD; elsewhere the record has six hours, and its page an eighth of the bytes.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import test, { after, before } from "node:test";
import { promisify } from "node:util";
import { assertClean, startBrowser } from "./support/browser.mjs";
import { PROGRAM, dnsdyno } from "./support/program.mjs";
import { blankCharts, rangeOf, valuesAt } from "./support/pages.mjs";
import { made } from "./support/records.mjs";

let browser;
before(async () => (browser = await startBrowser()));
after(() => browser.close());

const TWO_DAYS_S = 48 * 3600;
const BUILT_FOR_IT = process.env.DNSDYNO_LONG_RECORD;
const SECONDS = BUILT_FOR_IT ? TWO_DAYS_S : TWO_DAYS_S / 8;
/** Fewer than the 1,000 of scripts/page-bench, because each query is drawn. */
const QUERIES_PER_SECOND = BUILT_FOR_IT ? 500 : 50;
const MOST_BYTES = (15 * 1024 * 1024 * SECONDS) / TWO_DAYS_S;

test("the page of two days has at most 15 MiB, draws its charts, and shows each second when it is zoomed", async () => {
  const draw = BUILT_FOR_IT ?? join(dirname(PROGRAM), "examples", "long_record");
  const run = await made("two-days", (path) => promisify(execFile)(draw, [path, SECONDS, QUERIES_PER_SECOND]));
  const file = await made("two-days.html", (path) => dnsdyno(["report", run, "--out", path]));
  const { size } = await stat(file);
  assert.ok(size <= MOST_BYTES, `${size} bytes`);

  const page = await browser.open(file);
  assert.deepEqual(await blankCharts(page), []);
  const whole = await rangeOf(page, "rate");
  assert.equal(Math.round((whole.to_ns - whole.from_ns) / 1e9), SECONDS);
  await page.locator('[data-chart="rate"]').focus();
  // Each halves the range, down to two intervals.
  for (let n = 0; n < 20; n++) await page.keyboard.press("+");
  const { from_ns, to_ns } = await rangeOf(page, "rate");
  assert.equal(to_ns - from_ns, 2e9);
  const second = await secondOf(run, Math.floor(from_ns / 1e9) + 1);
  const at_ns = second.from_ns + 0.5e9;
  assert.deepEqual(
    { answered: (await valuesAt(page, "rate", at_ns)).answered, p50: (await valuesAt(page, "latency", at_ns)).p50 },
    { answered: second.answered, p50: second.p50_ns },
  );
  await assertClean(page);
});

/** The figures of a second, from the lines of `dnsdyno show --csv`. */
async function secondOf(run, n) {
  const [titles, ...lines] = (await dnsdyno(["show", "--csv", run])).stdout.trimEnd().split("\n");
  const cells = lines[n].split(",");
  const figure = (title) => Number(cells[titles.split(",").indexOf(title)]);
  return { from_ns: figure("from_ns"), answered: figure("answered"), p50_ns: figure("p50_ns") };
}
