/**
 * The strip above the charts over time: the parts of the load as bands, the events as ticks with their texts, and the
 * instant at the cursor. It stays in sight while the charts below it are scrolled.
 */
import { instant } from "../format/instants";
import type { Margins } from "./plot";
import { type Shared, startOf } from "./shared";

/** Events closer to each other than this have one text. */
const TEXT_WIDTH = 150;
/** A band narrower than this has no room for a label. */
const LABEL_WIDTH = 26;

export class Strip {
  readonly element = document.createElement("div");
  private readonly phases = document.createElement("div");
  private readonly events = document.createElement("div");
  private readonly at = document.createElement("span");

  constructor(
    container: HTMLElement,
    private readonly shared: Shared,
  ) {
    this.element.className = "chart-strip";
    this.phases.className = "chart-phases";
    this.events.className = "chart-events";
    this.at.className = "chart-instant";
    this.at.setAttribute("aria-hidden", "true");
    this.element.append(this.phases, this.events, this.at);
    container.append(this.element);
  }

  /** `width` is that of what is between the axes. */
  update(margins: Margins, width: number): void {
    const { runs, range } = this.shared;
    this.element.style.paddingLeft = `${margins.left}px`;
    this.element.style.paddingRight = `${margins.right}px`;
    const { phases, events, more_events } = runs.length === 1 ? runs[0]!.run : { phases: [], events: [], more_events: 0 };
    const place = (at_ns: number) => ((at_ns - range.from_ns) / (range.to_ns - range.from_ns)) * width;
    const bands = phases.flatMap((phase) => {
      const [left, right] = [Math.max(0, place(phase.from_ns)), Math.min(width, place(phase.to_ns))];
      return right - left < 1 ? [] : [band(phase.label, left, right)];
    });
    this.phases.replaceChildren(...bands);
    this.phases.hidden = bands.length === 0;
    let free = -Infinity;
    const ticks = events.flatMap((event) => {
      const left = place(event.at_ns);
      if (left < 0 || left > width) return [];
      const label = left >= free;
      if (label) free = left + TEXT_WIDTH;
      return [tick(this.name(event), event.message, left, label, width)];
    });
    if (more_events > 0) ticks.push(tick(`${more_events} more events`, `${more_events} more events are in the record`, width, free <= width - TEXT_WIDTH, width));
    this.events.replaceChildren(...ticks);
    this.events.hidden = ticks.length === 0;
  }

  /** The cursor, in CSS pixels from the left of the axes. */
  showAt(at_ns: number | null, left: number | null, margins: Margins, step_ns: number): void {
    this.at.hidden = at_ns === null;
    if (at_ns === null || left === null) return;
    this.at.textContent = instant(at_ns - (at_ns % step_ns), step_ns, this.shared.time, startOf(this.shared));
    this.at.style.left = `${margins.left + left}px`;
  }

  private name(event: { at_ns: number; message: string }): string {
    return `${instant(event.at_ns, 1e9, this.shared.time, startOf(this.shared))}: ${event.message}`;
  }
}

function band(label: string, left: number, right: number): HTMLElement {
  const element = document.createElement("span");
  element.title = label;
  if (right - left >= LABEL_WIDTH) element.textContent = label;
  element.style.left = `${left}px`;
  element.style.width = `${right - left}px`;
  return element;
}

function tick(title: string, message: string, left: number, label: boolean, width: number): HTMLElement {
  const element = document.createElement("span");
  element.title = title;
  element.style.left = `${left}px`;
  if (!label) return element;
  const text = document.createElement("span");
  text.textContent = message;
  // Near the right end the text stands on the left of its tick.
  if (left > width - TEXT_WIDTH) text.className = "chart-event-left";
  element.append(text);
  return element;
}
