// Records for the tests, made by real loads of one to three seconds against the reference responder on loopback.
//
// Test files run in processes of their own. A record is made once for all of them, in the folder that DNSDYNO_RECORDS
// names (scripts/test-page sets and removes it), by whoever needs it first.

import { cp, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { QUERIES, dnsdyno, responder } from "./program.mjs";

const CONSTANT = ["--rate", "400", "--for", "2s", "--interval", "250ms"];

/** What makes the record of each name: `delay` and `faults` of the responder and `load`, or `from`, which changes another one. */
const RECIPES = {
  udp: { load: (at) => ["-s", at.udp, ...CONSTANT] },
  tcp: { load: (at) => ["-s", at.udp, "--transport", "tcp", "--clients", "4", ...CONSTANT] },
  doh: { load: (at) => ["-s", at.doh, "--transport", "doh", "--insecure", "--clients", "4", ...CONSTANT] },
  fallback: { faults: ["--truncate"], load: (at) => ["-s", at.udp, "--transport", "udp+tcp", ...CONSTANT] },
  mix: {
    load: (at) => ["-s", at.udp, "--mix", `udp=50,tcp=30,dot@${port(at.dot)}=20`, "--insecure", "--clients", "6", ...CONSTANT],
  },
  ramp: { load: (at) => ["-s", at.udp, "--ramp", "50..1k", "--over", "3s", "--interval", "250ms"] },
  stair: {
    faults: ["--loss", "4%"],
    load: (at) =>
      ["-s", at.udp, "--stair", "200..800", "--step", "200", "--hold", "1s", "--interval", "250ms", "--timeout", "500ms"],
  },
  "send-only": { load: (at) => ["-s", at.udp, "--send-only", ...CONSTANT] },
  "cut-short": { from: "udp", change: cutShort },
  empty: { from: "udp", change: withoutIntervals },

  // Beyond the ten kinds of figures.
  unanswered: {
    faults: ["--loss", "100%"],
    load: (at) => ["-s", at.udp, "--no-check", "--timeout", "300ms", ...CONSTANT],
    codes: [1],
  },
  closed: { load: (at) => ["-s", at.udp, "--outstanding", "5", "--for", "1s", "--interval", "250ms"] },
  stalled: {
    faults: ["--stall", "1s..1.5s"],
    load: (at) => ["-s", at.udp, "--rate", "1k", "--for", "3s", "--interval", "250ms"],
  },
  // As one prints it: of usual length, with what was expected of it.
  ten: {
    faults: ["--loss", "1%"],
    load: (at) => [
      "-s", at.udp, "--rate", "400", "--for", "10s", "--timeout", "500ms",
      ...["--expect", "p99<5ms", "--expect", "loss<5%", "--expect", "rate>=100"],
    ],
    codes: [0, 1, 5],
  },
  // With the names of sockets, which are long.
  watched: { load: (at) => ["-s", at.udp, "--watch", "auto", ...CONSTANT] },
  // Its curve goes down to one query in 100,000.
  many: { load: (at) => ["-s", at.udp, "--rate", "8k", "--for", "2s"], codes: [0, 1] },
  slow: { delay: "20ms", load: (at) => ["-s", at.udp, ...CONSTANT] },
  hostile: {
    load: (at) => ["-s", at.udp, "--name", HOSTILE, "--note", `${HOSTILE} \u001b[31mred\u001b[0m \u202eoverride`, ...CONSTANT],
  },
  long: { load: (at) => ["-s", at.udp, "--name", LONG.slice(0, 250), "--note", LONG, ...CONSTANT] },
};

/** A word without an end, as a note of somebody's hash or path is. */
const LONG = "n".repeat(300);

/** Text that would run a script, ask for something, or end an element of the page, were it markup. */
export const HOSTILE =
  `</script><script>alert(1)</script><img src="http://127.0.0.1:9/x" onerror="alert(2)"><!--<b id="injected">'"&amp;\${x}`;

/** The kinds of which each figure is compared. */
export const KINDS = ["udp", "tcp", "doh", "fallback", "mix", "ramp", "stair", "send-only", "cut-short", "empty"];

/** The folder of a record; `NAME@N` is a further run like NAME. */
export async function record(name) {
  const folder = join(home(), name);
  if (existsSync(folder)) return folder;
  const { from, change, delay = "lognormal:0.5ms,0.4", faults = [], load, codes } = RECIPES[name.split("@")[0]];
  const work = await beside(name);
  if (from !== undefined) {
    await cp(await record(from), work, { recursive: true });
    await change(work);
  } else {
    const server = await responder("--delay", delay, ...faults);
    try {
      await dnsdyno(["run", "--queries", QUERIES, "--quiet", "--out", work, ...load(server)], { codes });
    } finally {
      await server.stop();
    }
  }
  await put(work, folder);
  return folder;
}

/** A file or folder of this name that `make(path)` writes, made once. */
export async function made(name, make) {
  const path = join(home(), name);
  if (existsSync(path)) return path;
  const work = await beside(name);
  await make(work);
  await put(work, path);
  return path;
}

/** The page of `dnsdyno report` of these records. */
export async function report(...names) {
  const runs = [];
  for (const name of names) runs.push(await record(name));
  return made(`${names.join("+")}.html`, (path) => dnsdyno(["report", ...runs, "--out", path]));
}

/** A folder with copies of these records, as `dnsdyno serve` shows it. */
export function folderOf(title, names) {
  return made(title, async (path) => {
    await mkdir(path);
    for (const name of names) await cp(await record(name), join(path, name), { recursive: true });
  });
}

/** As a crash of the generator leaves it: the second half of its intervals is missing, and the last line is half. */
async function cutShort(run) {
  const file = join(run, "run.ndjson");
  const lines = (await readFile(file, "utf8")).split("\n");
  const intervals = lines.filter((line) => line.includes('"stats_periodic"'));
  const kept = intervals.slice(0, intervals.length / 2);
  const half = intervals[kept.length];
  await writeFile(file, [lines[0], ...kept, half.slice(0, half.length / 2)].join("\n"));
}

/** As a crash of the generator in the first interval leaves it. */
async function withoutIntervals(run) {
  const file = join(run, "run.ndjson");
  const [header] = (await readFile(file, "utf8")).split("\n");
  await writeFile(file, `${header}\n`);
}

/** A path to make something of this name at, seen by no other process. A run takes its ID from its last part. */
async function beside(name) {
  const folder = join(home(), `.making-${process.pid}`);
  await mkdir(folder, { recursive: true });
  return join(folder, name);
}

/** Puts what was made in place; another process may have been faster. */
async function put(work, path) {
  try {
    await rename(work, path);
  } catch (error) {
    if (!existsSync(path)) throw error;
    await rm(work, { recursive: true });
  }
}

function port(address) {
  return address.split(":").at(-1);
}

function home() {
  const folder = process.env.DNSDYNO_RECORDS;
  if (folder === undefined) throw new Error("run scripts/test-page, or set DNSDYNO_RECORDS to an empty folder");
  return folder;
}
