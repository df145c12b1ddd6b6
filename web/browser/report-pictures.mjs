// Draws the pictures of docs/reports, docs/images/reports/*.png, from the folders of their experiments: curves of an
// experiment's own page, or charts of the page of one of its runs.
//
//   make report-pictures EXPERIMENTS=runs

import { access, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { DESK, startBrowser } from "./support/browser.mjs";
import { drawImage, SCALE } from "./support/image.mjs";
import { dnsdyno } from "./support/program.mjs";

const IMAGES = fileURLToPath(new URL("../../docs/images/reports/", import.meta.url));
const [experiments] = process.argv.slice(2);
if (!experiments) throw new Error("say the folder with the experiments: make report-pictures EXPERIMENTS=runs");

/** The legend and some of the charts of a section of an experiment's page, by number. */
const charted = (section) => (...charts) => ({
  parts: [`${section} .legend`, `${section} .drawn-charts`],
  hidden: `${section} .drawn-charts figure${charts.map((chart) => `:not(:nth-child(${chart}))`).join("")}, ${section} details`,
});
const curves = charted("#curves");
const course = charted("#course");

/** Some of the charts over time of a run's page. */
const charts = (...ids) => ({
  parts: ids.map((id) => `figure[data-chart="${id}"]`),
  hidden: `[data-part="time"] figure${ids.map((id) => `:not([data-chart="${id}"])`).join("")}`,
});

/** A window for pictures that lie below each other. */
const COLUMN = { width: 860, height: 900 };

/** The runs whose share of answers is next to the median of their version. */
const VERSIONS = [
  ["BIND 9.16.50", "runs/014"],
  ["BIND 9.18.49", "runs/040"],
  ["BIND 9.20.30", "runs/033"],
];

/**
 * `run`: a run's folder in that of the experiment; without one, the page of the experiment. `boxes`: box plots of
 * several runs, each below its title, then the curves of them all.
 */
const PICTURES = [
  { name: "resolver-limit", experiment: "resolver-limit", ...curves(1, 3) },
  { name: "servers-compared", experiment: "servers-compared", ...curves(2, 4) },
  { name: "caches-compared", experiment: "caches-compared", ...curves(1, 2) },
  { name: "jitter", experiment: "jitter", ...curves(2, 4) },
  { name: "tcp-fallback", experiment: "tcp-fallback", ...curves(2, 4) },
  { name: "jitter-versions", experiment: "jitter-versions", boxes: VERSIONS },
  { name: "jitter-run", experiment: "jitter", run: "runs/103", ...charts("rate", "latency", "members") },
  { name: "mobile-core", experiment: "mobile-core", run: "runs/011", ...charts("rate", "caching-queries", "caching-evictions") },
  { name: "dlz-mysql", experiment: "dlz-mysql", ...curves(1, 3) },
  { name: "resolvers", experiment: "cold-start", ...course(2, 3) },
  { name: "transports", experiment: "transports", ...curves(1, 3) },
];

const work = await mkdtemp(join(tmpdir(), "dnsdyno-pictures-"));
const browser = await startBrowser();
try {
  await mkdir(IMAGES, { recursive: true });
  for (const picture of PICTURES) await draw(picture);
} finally {
  await browser.close();
  await rm(work, { recursive: true });
}

/** An experiment that is not there keeps its picture. */
async function draw({ name, experiment, run, boxes, parts, hidden }) {
  const folder = join(experiments, experiment);
  if (!(await isThere(folder))) return console.log(`${name}: no ${folder}, so left as it is`);
  if (boxes) return drawBoxes(name, folder, boxes);
  const page = run ? join(work, `${name}.html`) : join(folder, "index.html");
  if (run) await dnsdyno(["report", join(folder, run), "--out", page]);
  await drawImage(browser, join(IMAGES, `${name}.png`), page, { parts, hidden, viewport: DESK, ready: run !== undefined });
}

async function drawBoxes(name, folder, runs) {
  const pieces = [];
  const drawPiece = async (title, records, part, fragment) => {
    const [page, image] = ["html", "png"].map((kind) => join(work, `${name}-${pieces.length}.${kind}`));
    await dnsdyno(["report", ...records, "--out", page]);
    await drawImage(browser, image, page, { parts: [part], viewport: COLUMN, fragment });
    const data = (await readFile(image)).toString("base64");
    pieces.push(`<h2>${title}</h2><img style="zoom: ${1 / SCALE}" src="data:image/png;base64,${data}">`);
  };
  for (const [title, run] of runs)
    await drawPiece(title, [join(folder, run)], 'figure[data-chart="latency"]', "#latency=boxes");
  const all = runs.map(([, run]) => join(folder, run));
  await drawPiece("All three", all, 'figure[data-chart="curve"]', "");
  const page = join(work, `${name}.html`);
  await writeFile(page, `<!doctype html><meta charset="utf-8"><body style="font-family: sans-serif">${pieces.join("")}`);
  await drawImage(browser, join(IMAGES, `${name}.png`), page, { parts: ["body"], viewport: COLUMN, ready: false });
}

function isThere(path) {
  return access(path).then(() => true, () => false);
}
