// The program under test and its reference responder, each ended with the test that started it.
//
// DNSDYNO_PROGRAM is the program's path; scripts/test-page sets it.

import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { resolve as absolute } from "node:path";
import { fileURLToPath } from "node:url";

/** Its path. */
export const PROGRAM = process.env.DNSDYNO_PROGRAM && absolute(process.env.DNSDYNO_PROGRAM);

/** The queries of the testbed. */
export const QUERIES = fileURLToPath(new URL("../../../testbed/queries/example.txt", import.meta.url));

/** Runs the program to its end; fails unless it ends with one of `codes`. Gives what it printed. */
export function dnsdyno(words, { codes = [0], cwd = undefined } = {}) {
  return new Promise((resolve, reject) => {
    execFile(program(), words, { cwd, maxBuffer: 1 << 28 }, (error, stdout, stderr) => {
      const code = error === null ? 0 : error.code;
      if (codes.includes(code)) resolve({ code, stdout, stderr });
      else reject(new Error(`dnsdyno ${words.join(" ")} ended with ${code}:\n${stdout}${stderr}`));
    });
  });
}

/** The object of `dnsdyno show --json`. */
export async function shown(run) {
  return JSON.parse((await dnsdyno(["show", "--json", run])).stdout);
}

/** The text of `dnsdyno show`. */
export async function summary(run, ...words) {
  return (await dnsdyno(["show", ...words, run])).stdout;
}

/**
 * Starts a part of the program that goes on until it is stopped, and waits for `ready` in its output. Gives the match
 * and `stop`, which waits for its end.
 */
export async function started(words, ready) {
  const child = spawn(program(), words, { stdio: ["ignore", "pipe", "pipe"] });
  const ended = once(child, "exit");
  let output = "";
  const match = await new Promise((resolve, reject) => {
    const read = (text) => {
      output += text;
      const found = ready.exec(output);
      if (found !== null) resolve(found);
    };
    child.stdout.on("data", read);
    child.stderr.on("data", read);
    child.on("error", reject);
    child.on("exit", (code) => reject(new Error(`dnsdyno ${words.join(" ")} ended with ${code}:\n${output}`)));
  });
  return {
    match,
    async stop() {
      child.kill("SIGINT");
      await ended;
    },
  };
}

/** The reference responder with these faults, at free ports: `udp` (also TCP), `dot` and `doh` are ADDRESS:PORT. */
export async function responder(...faults) {
  const any = "127.0.0.1:0";
  const words = ["respond", "--listen", any, "--dot", any, "--doh", any, ...faults];
  const { match, stop } = await started(words, /listening on (\S+) \(UDP and TCP\), (\S+) \(DoT\), (\S+) \(DoH\)/);
  const [, udp, dot, doh] = match;
  return { udp, dot, doh, stop };
}

function program() {
  if (PROGRAM === undefined) throw new Error("run scripts/test-page, or set DNSDYNO_PROGRAM to the path of the program");
  return PROGRAM;
}
