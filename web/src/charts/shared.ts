/** What the charts under one time axis have in common. */
import type { Range, Theme, TimeLabels } from "./api";
import type { ShownRun } from "./panels/panel";

export interface Shared {
  runs: ShownRun[];
  range: Range;
  theme: Theme;
  time: TimeLabels;
  boxes: boolean;
}

export function startOf(shared: Shared): string {
  return shared.runs[0]?.run.started_unix_ns ?? "0";
}
