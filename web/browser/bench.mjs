// Measures the page of a long record: bench.mjs PROGRAM RECORD PAGE. See scripts/page-bench.

import { spawn } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import { DESK, startBrowser } from "./support/browser.mjs";

const OPENINGS = 5;
const ZOOMS = 12;
/** How often the memory of the program is looked at. Its highest value is kept by the kernel. */
const LOOK_MS = 20;

const [program, record, page] = process.argv.slice(2);
if (page === undefined) throw new Error("usage: bench.mjs PROGRAM RECORD PAGE");

const made = await make();
console.log(`record            ${mebibytes(bytesOf(record))}`);
console.log(`page              ${mebibytes(statSync(page).size)}`);
const memory = made.peak_kib === 0 ? "-" : mebibytes(made.peak_kib * 1024);
console.log(`time to make      ${(made.took_ms / 1000).toFixed(1)} s, ${memory} of memory at most`);

const browser = await startBrowser();
console.log(`time to open      ${spread(await repeat(OPENINGS, opening))}, until its charts are drawn`);
const zooms = await zooming();
for (const [how, times_ms] of Object.entries(zooms)) console.log(`${how.padEnd(18)}${spread(times_ms)}, until it is painted`);
await browser.close();

/** Runs `dnsdyno report`. */
function make() {
  const started_ms = performance.now();
  let peak_kib = 0;
  const child = spawn(program, ["report", record, "--out", page], { stdio: ["ignore", "ignore", "inherit"] });
  const look = setInterval(() => {
    const found = /VmHWM:\s+(\d+) kB/.exec(textOf(`/proc/${child.pid}/status`));
    if (found !== null) peak_kib = Number(found[1]);
  }, LOOK_MS);
  return new Promise((resolve, reject) => {
    child.on("exit", (code) => {
      clearInterval(look);
      if (code === 0) resolve({ took_ms: performance.now() - started_ms, peak_kib });
      else reject(new Error(`dnsdyno report ended with ${code}`));
    });
  });
}

/** From the start of the navigation until the page says that its charts are drawn, by the page's own clock. */
async function opening() {
  const opened = await browser.open(page, { viewport: DESK });
  const took_ms = await opened.evaluate(() => window.readyAt_ms);
  await opened.context().close();
  return took_ms;
}

/** From a key, a drag or a double click until the browser has painted what it changed. */
async function zooming() {
  const opened = await browser.open(page, { viewport: DESK });
  await opened.evaluate(() => {
    window.painted_ms = [];
    const measure = (event) => {
      const started_ms = event.timeStamp;
      // The frame after the one in which the page draws: by then the first one is on the screen.
      requestAnimationFrame(() => requestAnimationFrame(() => window.painted_ms.push(performance.now() - started_ms)));
    };
    for (const type of ["keydown", "pointerup", "dblclick"]) addEventListener(type, measure, { capture: true });
  });
  const chart = opened.locator("[data-chart]").first();
  const canvas = chart.locator("canvas").first();
  const times = {};
  const collect = async (how, act) => {
    await act();
    // Two frames for the last measurement.
    await opened.evaluate(twoFrames);
    // The last event is the one that acts: before it come Shift and the clicks of a double click.
    times[how] = [...(times[how] ?? []), ...(await opened.evaluate(() => window.painted_ms.splice(0).slice(-1)))];
  };
  await chart.focus();
  for (let n = 0; n < ZOOMS; n++) await collect("zoom in by key", () => opened.keyboard.press("+"));
  for (let n = 0; n < ZOOMS; n++) await collect("step by key", () => opened.keyboard.press("Shift+ArrowRight"));
  for (let n = 0; n < ZOOMS; n++) await collect("zoom out by key", () => opened.keyboard.press("-"));
  for (let n = 0; n < 3; n++) {
    const box = await canvas.boundingBox();
    await collect("zoom by drag", async () => {
      await opened.mouse.move(box.x + box.width * 0.4, box.y + box.height / 2);
      await opened.mouse.down();
      await opened.mouse.move(box.x + box.width * 0.6, box.y + box.height / 2, { steps: 5 });
      await opened.mouse.up();
    });
  }
  const box = await canvas.boundingBox();
  await collect("whole run", () => opened.mouse.dblclick(box.x + box.width / 2, box.y + box.height / 2));
  await opened.context().close();
  return times;
}

/** In the page: a little more than two frames. */
function twoFrames() {
  const later = (done) => setTimeout(done, 50);
  return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => later(done))));
}

async function repeat(times, measure) {
  const all = [];
  for (let n = 0; n < times; n++) all.push(await measure());
  return all;
}

/** Median and highest. */
function spread(times_ms) {
  const sorted = [...times_ms].sort((a, b) => a - b);
  if (sorted.length === 0) return "not measured";
  const text = (ms) => (ms >= 1000 ? `${(ms / 1000).toFixed(2)} s` : `${ms.toFixed(0)} ms`);
  return `median ${text(sorted[Math.floor(sorted.length / 2)])}, at most ${text(sorted.at(-1))} of ${sorted.length}`;
}

function bytesOf(folder) {
  return ["run.ndjson.zst", "run.index.zst"].reduce((sum, file) => sum + statSync(`${folder}/${file}`).size, 0);
}

function mebibytes(bytes) {
  return `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}

/** Empty once the process has ended. */
function textOf(path) {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
