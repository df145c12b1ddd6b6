// Each figure on the page is that of the record, as `dnsdyno show --json` gives it, to the last digit shown: the answer,
// the tables, the charts at three instants, and what a reader sees there, for ten kinds of runs.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import test, { after, before } from "node:test";
import { assertClean, startBrowser } from "./support/browser.mjs";
import { shown, summary } from "./support/program.mjs";
import { chartsOf, dataOf, rangeOf, tableOf, valuesAt } from "./support/pages.mjs";
import { KINDS, record, report } from "./support/records.mjs";
import { percentile, says } from "./support/says.mjs";

let browser;
before(async () => (browser = await startBrowser()));
after(() => browser.close());

/** A cell of a table by step or by time: what `show --json` has for its column. */
const OF_ROW = {
  "from s": (row) => row.from_ns / 1e9,
  phase: (row) => row.phase,
  "asked/s": (row) => row.asked_qps,
  "sent/s": (row) => row.sent_qps,
  "answered/s": (row) => row.answered_qps,
  loss: (row) => row.loss_share,
  "lateness p99": (row) => percentile(row.lateness_p99),
  min: (row) => row.min_ns,
  avg: (row) => row.avg_ns,
  p50: (row) => percentile(row.p50),
  p90: (row) => percentile(row.p90),
  p95: (row) => percentile(row.p95),
  p99: (row) => percentile(row.p99),
  "p99.9": (row) => percentile(row.p99_9),
  max: (row) => percentile(row.max),
};

/** A series of a chart over time: what `show --json` has for it in an interval. */
const OF_INTERVAL = {
  rate: {
    asked: (interval) => interval.asked_qps,
    sent: (interval) => interval.sent_qps,
    answered: (interval) => interval.answered_qps,
    "timed out": (interval) => rate(interval.queries.timed_out, interval),
    "answered late": (interval) => rate(interval.queries.answered_late, interval),
    "sent, no answer awaited": (interval) => rate(interval.queries.sent_only, interval),
  },
  latency: {
    p50: (interval) => percentile(interval.p50),
    p99: (interval) => percentile(interval.p99),
    "p99.9": (interval) => percentile(interval.p99_9),
  },
};

/** So many queries per second of the load; none where no load was. */
function rate(queries, { covered_ns }) {
  return covered_ns > 0 ? (queries * 1e9) / covered_ns : null;
}

for (const kind of KINDS) {
  test(`each figure on the page of a run of kind ${kind} is that of its record`, async () => {
    const run = await record(kind);
    const [json, text, page] = [await shown(run), await summary(run, "--verbose"), await browser.open(await report(kind))];
    const data = (await dataOf(page)).runs[0];
    await answerAgrees(page, json, text);
    await tablesAgree(page, data, json, text, await intervalsOf(run));
    await chartsAgree(page, json);
    await assertClean(page);
  });
}

/** The answer: its figures, each figure in its sentence, and the verdict in the words of the summary. */
async function answerAgrees(page, json, text) {
  const answer = page.locator("#answer");
  const figures = await answer.locator(".figures > div").evaluateAll((all) =>
    all.map((one) => ({ label: one.querySelector("dt").textContent, text: one.querySelector("dd").textContent })),
  );
  for (const { label, text } of figures) {
    const wanted = figureOf(label, json);
    if (text === "none of the rates") continue;
    assert.ok(wanted.some((value) => says(text, value)), `${label}: ${text} instead of ${JSON.stringify(wanted)}`);
  }
  const [headline] = /generator: (ok|in doubt|no verdict)/.exec(text) ?? [];
  assert.ok(headline !== undefined && (await answer.innerText()).includes(headline), `${headline} in the answer`);
}

/** What a figure of the answer may be, by its label. */
function figureOf(label, json) {
  const latency = json[json.headline];
  const rows = json.rows ?? [];
  const one = {
    loss: json.loss_share,
    "not sent": json.queries.not_sent / json.queries.scheduled,
    sent: json.sent_qps,
    answered: json.answered_qps,
    p50: percentile(latency?.p50),
    p99: percentile(latency?.p99),
    "lateness p99": percentile(json.lateness?.p99),
  };
  if (label in one) return [one[label]];
  if (label === "held" && json.steps === null) return [json.answered_qps];
  if (label === "held" || /held (up to|from)$/.test(label)) return rows.map((row) => row.asked_qps);
  const there = /^(p50|p99) there$/.exec(label);
  assert.ok(there !== null, `this test does not know the figure ${label}`);
  return rows.map((row) => percentile(row[there[1]]));
}

/** Every table of the page, behind its tab, cell by cell. */
async function tablesAgree(page, data, json, text, intervals) {
  for (const { id, rows: written } of data.tables) {
    const table = await shownTable(page, id);
    assert.deepEqual(table.rows, written, `${id}: the page shows what the program wrote`);
    const value = OF_TABLE[id];
    for (const cells of table.rows) {
      // The summary has the first of these questions only.
      if (id === "truncated" && table.rows.indexOf(cells) >= QUESTIONS_IN_SUMMARY) continue;
      for (const [n, cell] of cells.entries()) {
        const { title } = table.columns[n];
        const what = `${id}, ${cells[0]}, ${title}: ${cell}`;
        if (id === "counters") assertCounter(cells, title, intervals, what);
        // Connections, handshakes, parts of a transaction: as the summary prints them.
        else if (value === undefined) assert.ok(n === 0 || isIn(text, cell), `${what} is not in the summary`);
        else assertCell(cell, value(json, cells, title, table.rows.indexOf(cells)), what);
      }
    }
  }
}

/** `MOST_SHOWN` of the summary's questions that fell back. */
const QUESTIONS_IN_SUMMARY = 10;

/** What `show --json` has for a cell, by the table, the cells of its row, its column's title, and the row's number. */
const OF_TABLE = {
  steps: (json, cells, title, n) => OF_ROW[title](json.rows[n]),
  time: (json, cells, title, n) => OF_ROW[title](json.rows[n]),
  latencies: (json, [name], title) => {
    if (title === "") return name;
    if (name === "ours, at most") return json.bounds[title.replace(".", "_")]?.ours_ns ?? null;
    return OF_ROW[title](json[name.replace("send ", "").replace(" time", "")]);
  },
  types: ({ types, run }, [type], title) => {
    const { sent, answered } = run.send_only ? { sent: types[type].sent, answered: null } : types[type];
    return { type, sent, answered, "share answered": answered === null ? null : answered / sent }[title];
  },
  rcodes: ({ rcodes }, [rcode], title) => {
    const all = Object.values(rcodes).reduce((sum, count) => sum + count, 0);
    return { RCODE: rcode, responses: rcodes[rcode], share: rcodes[rcode] / all }[title];
  },
  workers: ({ workers }, [number], title) => {
    const of = workers[Number(number)];
    const per_query_ns = of.cpu_ns / of.sent;
    const figures = { "sent/s": of.sent_qps, "answered/s": of.answered_qps, CPU: of.cpu_share, "CPU wait": of.cpu_wait_share };
    return { worker: Number(number), "CPU/query": per_query_ns, ...figures }[title];
  },
};

function assertCell(cell, wanted, what) {
  assert.ok(wanted !== undefined, `this test does not know ${what}`);
  const agrees = typeof wanted === "string" ? cell === wanted : says(cell, wanted);
  assert.ok(agrees, `${what} instead of ${JSON.stringify(wanted)}`);
}

/** The lines of the intervals of a record, in the properties of dnsdyno. */
async function intervalsOf(run) {
  const lines = (await readFile(join(run, "run.ndjson"), "utf8")).split("\n");
  // A record that was cut short has half a line at its end.
  const whole = lines.filter((line) => line.includes('"stats_periodic"') && line.endsWith("}"));
  return whole.map((line) => JSON.parse(line).dnsdyno);
}

/** A counter by its path: the sum over the intervals, or the highest. Types, RCODEs and durations have tables of their own. */
function assertCounter([path, cell, ...percentiles], title, intervals, what) {
  if (title !== "count" || percentiles.join("") !== "" || /^(types|rcodes)\./.test(path)) return;
  const values = intervals.map((interval) => path.split(".").reduce((of, key) => of?.[key], interval) ?? 0);
  const wanted = path.endsWith("_max") ? Math.max(...values) : values.reduce((sum, value) => sum + value, 0);
  assertCell(cell, wanted, what);
}

/** Whether a figure stands in the text as a whole. */
function isIn(text, figure) {
  if (["", "-"].includes(figure)) return true;
  const at = text.indexOf(figure);
  for (let from = at; from >= 0; from = text.indexOf(figure, from + 1)) {
    const [before, after] = [text[from - 1] ?? " ", text.slice(from + figure.length, from + figure.length + 2)];
    if (!/[\d.,]/.test(before) && !/^(\d|[.,]\d)/.test(after)) return true;
  }
  return false;
}

/** Every table is behind a tab. */
async function shownTable(page, id) {
  const tab = page.locator(`#tab-${id}`);
  if ((await tab.count()) > 0) await tab.click();
  const table = await tableOf(page, id);
  assert.ok(table !== null, `the page has the table ${id}`);
  return table;
}

/** The charts over time in three intervals: their figures, and what a reader who steps there by keys is told. */
async function chartsAgree(page, { intervals, run }) {
  if (intervals.length === 0) return;
  const charts = await chartsOf(page);
  assert.ok(charts.includes("rate"));
  for (const n of new Set([0, Math.floor(intervals.length / 2), intervals.length - 1])) {
    const interval = intervals[n];
    const at_ns = interval.from_ns + interval.covered_ns / 2;
    await stepTo(page, n);
    for (const chart of charts) {
      if ((await rangeOf(page, chart)) === null) continue;
      const values = await valuesAt(page, chart, at_ns);
      const told = await readoutOf(page, chart);
      assert.deepEqual(Object.keys(told), Object.keys(values), `the readout of ${chart}`);
      for (const [name, value] of Object.entries(values)) {
        const what = `${chart}, ${name} at ${at_ns} ns`;
        assert.ok(says(told[name], readable(value, run)), `${what}: told ${told[name]} of ${value}`);
        if (!(chart in OF_INTERVAL)) continue;
        const wanted = OF_INTERVAL[chart][name]?.(interval);
        assert.ok(wanted !== undefined, `this test does not know ${name} of ${chart}`);
        assertEqual(value, wanted, what);
      }
    }
  }
}

/** Moves the cursor of all charts over time into the interval of this number. */
async function stepTo(page, n) {
  await page.locator('[data-chart="rate"]').focus();
  await page.keyboard.press("Home");
  for (let step = 0; step < n; step++) await page.keyboard.press("ArrowRight");
}

/** What the readout of a chart tells, by the name of the series. */
async function readoutOf(page, chart) {
  const items = await page.locator(`[data-chart="${chart}"] [data-readout] > span:has(> b)`).evaluateAll((all) =>
    all.map((one) => {
      const text = one.querySelector("b").textContent;
      return [one.textContent.slice(0, one.textContent.length - text.length).trim(), text];
    }),
  );
  return Object.fromEntries(items);
}

/** A value of a chart as `says` takes it. */
function readable(value, run) {
  return value === "beyond" ? { beyond: run.timeout_ns } : value;
}

/** A figure of a chart, which has all digits. */
function assertEqual(value, wanted, what) {
  if (wanted !== null && typeof wanted === "object") return assert.equal(value, "beyond", what);
  if (wanted === null) return assert.equal(value, null, what);
  assert.ok(Math.abs(value - wanted) <= Math.abs(wanted) * 1e-6 + 1e-6, `${what}: ${value} instead of ${wanted}`);
}
