/** What the charts under one time axis have in common. */
import { instant } from "../format/instants";
import type { Range, Scale, Theme, TimeLabels } from "./api";
import type { ShownRun } from "./panels/panel";

export interface Shared {
  runs: ShownRun[];
  range: Range;
  theme: Theme;
  time: TimeLabels;
  boxes: boolean;
  scale: Scale;
  /** Of the watched series. */
  search: string;
}

/** An instant of the shown range as text, as precise as `step_ns` needs. */
export function instantOf(shared: Shared, at_ns: number, step_ns: number): string {
  return instant(at_ns - (at_ns % step_ns), step_ns, shared.time, startOf(shared), shared.range.to_ns);
}

export function startOf(shared: Shared): string {
  return shared.runs[0]?.run.started_unix_ns ?? "0";
}
