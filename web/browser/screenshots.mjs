// Draws the images of the README, docs/images/*.png, from runs that this file makes: a stair against a server that stalls
// for half a second, and six runs against a slower server compared with six against the first. The pixels differ a little
// each time, as runs do.
//
//   make screenshots

import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { DESK, PHONE, startBrowser } from "./support/browser.mjs";
import { drawImage } from "./support/image.mjs";
import { QUERIES, dnsdyno, responder } from "./support/program.mjs";

const IMAGES = fileURLToPath(new URL("../../docs/images/", import.meta.url));

const work = await mkdtemp(join(tmpdir(), "dnsdyno-screenshots-"));
const browser = await startBrowser();
const draw = (name, page, options) => drawImage(browser, join(IMAGES, name), page, options);
try {
  await mkdir(IMAGES, { recursive: true });
  const stair = join(work, "stair.html");
  await dnsdyno(["report", await stairWithStall(), "--out", stair]);
  await draw("report-light.png", stair, { theme: "light", viewport: { ...DESK, height: 1500 } });
  await draw("report-dark.png", stair, { theme: "dark", viewport: { ...DESK, height: 1100 } });
  await draw("report-phone.png", stair, { theme: "light", viewport: PHONE });
  const comparison = join(work, "comparison.html");
  await compare(comparison);
  await draw("comparison-light.png", comparison, { theme: "light", viewport: { ...DESK, height: 1100 } });
} finally {
  await browser.close();
  await rm(work, { recursive: true });
}

async function stairWithStall() {
  const stair = ["--stair", "1k..10k", "--step", "1k", "--hold", "3s", "--interval", "250ms", "--timeout", "1s"];
  const judged = ["--expect", "loss<0.1%", "--expect", "p50<5ms", "--expect", "generator=ok"];
  const faults = ["--delay", "lognormal:0.5ms,0.4", "--stall", "21.2s..21.7s"];
  return measured("stair", faults, [...stair, ...judged]);
}

async function compare(page) {
  const sides = { before: "lognormal:0.5ms,0.4", after: "lognormal:0.65ms,0.4" };
  const runs = { before: [], after: [] };
  for (let n = 1; n <= 6; n++) {
    for (const [side, delay] of Object.entries(sides)) {
      const constant = ["--rate", "2k", "--for", "4s", "--interval", "500ms"];
      runs[side].push(await measured(`${side}-${n}`, ["--delay", delay, "--seed", String(n)], constant));
    }
  }
  await dnsdyno(["compare", ...runs.after, "--against", ...runs.before, "--page", page]);
}

/** A run against a responder of its own. Its exit code says whether its expectations hold; the image shows that. */
async function measured(name, faults, load) {
  const folder = join(work, name);
  const server = await responder(...faults);
  const words = ["--name", name, "--queries", QUERIES, "--quiet", "--out", folder];
  try {
    await dnsdyno(["run", "-s", server.udp, ...words, ...load], { codes: [0, 1] });
  } finally {
    await server.stop();
  }
  return folder;
}
