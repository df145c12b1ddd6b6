// Each figure on the page is that of the record, as `dnsdyno show --json` gives it, to the last digit shown: the answer,
// the tables, and the charts at three instants, for ten kinds of runs.

import assert from "node:assert/strict";
import test, { after, before } from "node:test";
import { assertClean, startBrowser } from "./support/browser.mjs";
import { shown, summary } from "./support/program.mjs";
import { chartsOf, dataOf, tableOf, valuesAt } from "./support/pages.mjs";
import { KINDS, record, report } from "./support/records.mjs";
import { percentile, says } from "./support/says.mjs";

let browser;
before(async () => (browser = await startBrowser()));
after(() => browser.close());
