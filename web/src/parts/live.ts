/** Asks for newer data while a run is in progress, until it has ended. */

import type { PageData } from "../data/types";

export interface LiveAnswer {
  data: PageData;
  blobs: string[];
}

/** After each failure the next try is later, up to this many times the usual pause. */
const LONGEST_PAUSES = 10;

/** How long to wait before the next try. */
export function pause_ms(every_ms: number, failures: number): number {
  return Math.max(250, every_ms) * Math.min(2 ** failures, LONGEST_PAUSES);
}

/** What came back, if it is of this page's format. */
export function liveAnswer(value: unknown): LiveAnswer | null {
  if (typeof value !== "object" || value === null) return null;
  const { data, blobs } = value as Partial<LiveAnswer>;
  return data?.format === 1 && Array.isArray(blobs) ? { data, blobs } : null;
}

/** `update` gets each newer data; `say` a line on how it stands. A page out of sight does not ask. */
export function follow(
  live: NonNullable<PageData["live"]>,
  update: (answer: LiveAnswer) => Promise<void>,
  say: (text: string) => void,
  running: string,
): void {
  let failures = 0;
  let now = live;
  const again = (): void => void setTimeout(() => void ask(), pause_ms(now.every_ms, failures));
  const ask = async (): Promise<void> => {
    if (document.hidden) return again();
    let answer: LiveAnswer | null = null;
    try {
      const response = await fetch(now.url, { cache: "no-store" });
      answer = response.ok ? liveAnswer(await response.json()) : null;
    } catch {
      answer = null;
    }
    if (!answer) {
      failures++;
      say("No newer data: dnsdyno serve does not answer. Trying again.");
      return again();
    }
    failures = 0;
    await update(answer);
    if (!answer.data.live) return say("The run has ended.");
    now = answer.data.live;
    say(running);
    again();
  };
  say(running);
  again();
}
