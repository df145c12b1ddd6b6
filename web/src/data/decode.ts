/**
 * From the text of a blob to the series of a run.
 *
 * ```text
 *   base64 ──► deflated bytes ──► bytes ──► columns, when a chart asks for them (see `series.ts`)
 *   └────────── in a worker ───────────┘
 * ```
 *
 * Unpacking the series of a long run takes a few tenths of a second, which the page spends on drawing everything else.
 */
import { SeriesReader } from "./series";
import type { Run } from "./types";

/** A run with its series; `problem` says why it has none, where its data is damaged. */
export interface DecodedRun {
  run: Run;
  series: SeriesReader | null;
  problem: string | null;
}

/** Never fails: a run whose data is damaged is a run with a `problem`. */
export async function decodeRun(run: Run, base64: string): Promise<DecodedRun> {
  try {
    const bytes = await unpackElsewhere(base64, run.series.bytes);
    return { run, series: new SeriesReader(run.series, bytes), problem: null };
  } catch (error) {
    const why = (error instanceof Error ? error.message : String(error)).replace(/\.$/, "");
    const problem = `The series of this run cannot be read (${why}). Make the page again with dnsdyno report.`;
    return { run, series: null, problem };
  }
}

/**
 * Inflates a blob of base64 into exactly `length` bytes.
 *
 * It uses nothing from outside of itself, because its text is also the program of the worker.
 */
export async function unpack(base64: string, length: number): Promise<Uint8Array<ArrayBuffer>> {
  const letters = atob(base64.trim());
  const packed = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) packed[i] = letters.charCodeAt(i);
  const bytes = new Uint8Array(length);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  const reader = stream.getReader();
  let at = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    if (at + value.length > length) throw new Error("the data is longer than it says");
    bytes.set(value, at);
    at += value.length;
  }
  if (at < length) throw new Error("the data is cut short");
  return bytes;
}

/** In a worker; in this thread where the browser refuses a worker, as some do for a page that is opened as a file. */
async function unpackElsewhere(base64: string, length: number): Promise<Uint8Array> {
  let worker: Worker;
  let url: string;
  try {
    url = URL.createObjectURL(new Blob([workerProgram()], { type: "text/javascript" }));
    worker = new Worker(url);
  } catch {
    return unpack(base64, length);
  }
  try {
    const answer = await new Promise<Answer | null>((resolve) => {
      worker.onmessage = (message: MessageEvent<Answer>) => resolve(message.data);
      worker.onerror = (event) => {
        event.preventDefault();
        resolve(null);
      };
      worker.postMessage([base64, length]);
    });
    if (answer === null) return await unpack(base64, length);
    if ("why" in answer) throw new Error(answer.why);
    return answer.bytes;
  } finally {
    worker.terminate();
    URL.revokeObjectURL(url);
  }
}

type Answer = { bytes: Uint8Array } | { why: string };

function workerProgram(): string {
  return `const unpack = ${unpack.toString()};
    onmessage = ({ data: [base64, length] }) => unpack(base64, length).then(
      (bytes) => postMessage({ bytes }, [bytes.buffer]),
      (error) => postMessage({ why: String(error && error.message || error) }),
    );`;
}
