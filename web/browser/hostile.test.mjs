// Texts of a record never become markup, whoever wrote them: name and note of a run, query names, a server's responses,
// the name of a folder.

import assert from "node:assert/strict";
import { appendFile, cp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import test, { after, before } from "node:test";
import { DESK, PHONE, assertClean, startBrowser } from "./support/browser.mjs";
import { dnsdyno, started } from "./support/program.mjs";
import { HOSTILE, folderOf, made, record, report } from "./support/records.mjs";

let browser;
before(async () => (browser = await startBrowser()));
after(() => browser.close());

test("markup in the name and the note of a run is shown as text", async () => {
  const page = await browser.open(await report("hostile"));
  await assertText(page);
});

test("markup in every text of a record is shown as text", async () => {
  const run = await made("hostile-texts", async (path) => {
    await cp(await record("stair"), path, { recursive: true });
    await everyText(join(path, "run.ndjson"));
    const host = join(path, "host.json");
    await writeFile(host, JSON.stringify(inEveryText(JSON.parse(await readFile(host, "utf8")))));
    await appendFile(join(path, "plan.toml"), `\n# ${HOSTILE}\n`);
  });
  const file = await made("hostile-texts.html", (path) => dnsdyno(["report", run, "--out", path]));
  await assertText(await browser.open(file));
});

test("a name and a note of one long word make no page wider than its window, and hide no column", async () => {
  const folder = await folderOf("long-words", ["long", "udp"]);
  const served = await started(["serve", folder, "--listen", "127.0.0.1:0"], /(http:\/\/\S+?)\/?\s/);
  try {
    for (const place of [await report("long"), await report("long", "udp"), `${served.match[1]}/`]) {
      for (const viewport of [DESK, PHONE]) {
        const page = await browser.open(place, { viewport, ready: !place.startsWith("http") });
        await page.locator("h1").waitFor();
        const wide = () => document.documentElement.scrollWidth - window.innerWidth;
        assert.ok((await page.evaluate(wide)) <= 0, `${place} is too wide at ${viewport.width} px`);
        if (place.startsWith("http") && viewport === DESK) {
          const answer = await page.locator("tbody .words").first().boundingBox();
          assert.ok(answer.x + answer.width <= viewport.width, "the last column of the list is seen");
        }
        await assertClean(page);
      }
    }
  } finally {
    await served.stop();
  }
});

/** Nothing was run, asked for or put into the page, and the text stands there. */
async function assertText(page) {
  assert.equal(await page.locator("#injected").count(), 0, "an element was injected");
  assert.equal(await page.locator("img, iframe, object, embed, form").count(), 0);
  assert.match(await page.locator("body").innerText(), /<img src="http/);
  await assertClean(page);
}

/** Puts the hostile text behind the texts of a record that are no keywords, and adds an event. */
async function everyText(file) {
  const objects = (await readFile(file, "utf8")).trimEnd().split("\n").map((line) => JSON.parse(line));
  for (const object of objects) {
    const ours = object.dnsdyno;
    if (object.type === "header") {
      object.generator_params = inEveryText(object.generator_params);
      for (const key of ["target", "load", "name", "note"]) ours[key] = `${ours[key] ?? ""}${HOSTILE}`;
      for (const check of ours.checks ?? []) check.query += HOSTILE;
      for (const phase of ours.phases ?? []) phase.label += HOSTILE;
    }
    if (object.type === "stats_sum") {
      for (const warning of ours.warnings ?? []) warning.text += HOSTILE;
      if (ours.interface) ours.interface.name += HOSTILE;
    }
  }
  const { runid } = objects[0];
  const event = { at_ns: 1, kind: `note${HOSTILE}`, message: HOSTILE, figures: { [HOSTILE]: 1 } };
  objects.splice(1, 0, { runid, type: "event", msg: HOSTILE, msg_type: event.kind, dnsdyno: event });
  await writeFile(file, objects.map((object) => `${JSON.stringify(object)}\n`).join(""));
}

function inEveryText(value) {
  if (typeof value === "string") return value + HOSTILE;
  if (Array.isArray(value)) return value.map(inEveryText);
  if (value !== null && typeof value === "object") {
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, inEveryText(inner)]));
  }
  return value;
}
