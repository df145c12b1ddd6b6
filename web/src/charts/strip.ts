/**
 * The strip above the charts over time: the parts of the load as bands, the events as ticks with their texts, and the
 * instant at the cursor. It stays in sight while the charts below it are scrolled.
 */
import type { Margins } from "./plot";
import { type Shared, instantOf } from "./shared";

/** An event with less room than this has no text. */
const LEAST_TEXT_WIDTH = 90;
/** What a letter takes, at most. */
const LETTER_WIDTH = 7.2;

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
    const { phases, events, more_events } =
      runs.length === 1 ? runs[0]!.run : { phases: [], events: [], more_events: 0 };
    const place = (at_ns: number) => ((at_ns - range.from_ns) / (range.to_ns - range.from_ns)) * width;
    const bands = phases.flatMap((phase) => {
      const [left, right] = [Math.max(0, place(phase.from_ns)), Math.min(width, place(phase.to_ns))];
      return right - left < 1 ? [] : [{ label: phase.label, left, right }];
    });
    this.phases.replaceChildren(
      ...bands.map(({ label, left, right }) => band(label, left, right)),
      ...labelsOf(bands, width),
    );
    this.phases.hidden = bands.length === 0;
    const shown = events
      .map((event) => ({ title: this.name(event), text: event.message, left: place(event.at_ns) }))
      .filter(({ left }) => left >= 0 && left <= width)
      .sort((a, b) => a.left - b.left);
    if (more_events > 0) shown.push({ title: "", text: `${more_events} more events are in the record`, left: width });
    const ticks = ticksOf(shown, width);
    this.events.replaceChildren(...ticks);
    this.events.hidden = ticks.length === 0;
  }

  /** The cursor, in CSS pixels from the left of the axes. */
  showAt(at_ns: number | null, left: number | null, margins: Margins, step_ns: number): void {
    this.at.hidden = at_ns === null;
    if (at_ns === null || left === null) return;
    this.at.textContent = instantOf(this.shared, at_ns, step_ns);
    this.at.style.left = `${margins.left + left}px`;
  }

  private name(event: { at_ns: number; message: string }): string {
    return `${instantOf(this.shared, event.at_ns, 1e9)}: ${event.message}`;
  }
}

interface Band {
  label: string;
  left: number;
  right: number;
}

function band(label: string, left: number, right: number): HTMLElement {
  const element = document.createElement("i");
  element.title = label;
  element.style.left = `${left}px`;
  element.style.width = `${right - left}px`;
  return element;
}

/** Like the labels of an axis: of each band, or of each second, third, ... where they are too narrow. */
function labelsOf(bands: Band[], width: number): HTMLElement[] {
  const widths = bands.map(({ label }) => label.length * LETTER_WIDTH + 10);
  const narrowest = Math.min(...bands.map(({ left, right }) => right - left));
  // One band may have a long label: it is cut, and does not thin out the others.
  const wanted = widths.sort((a, b) => a - b)[Math.floor(bands.length / 2)] ?? 0;
  const every = bands.length < 3 ? 1 : Math.max(1, Math.ceil(wanted / narrowest));
  return bands.flatMap(({ label, left }, i) => {
    if (i % every !== 0) return [];
    const end = bands[i + every]?.left ?? width;
    if (end - left < Math.min(wanted, 40)) return [];
    const element = document.createElement("span");
    element.textContent = label;
    element.style.left = `${left}px`;
    element.style.width = `${end - left}px`;
    return [element];
  });
}

interface Tick {
  title: string;
  text: string;
  left: number;
}

/** Each event has the room up to the next one for its text; the last one that before it where it is near the end. */
function ticksOf(events: Tick[], width: number): HTMLElement[] {
  let free = 0;
  return events.map(({ title, text, left }, i) => {
    const element = document.createElement("span");
    element.title = title;
    element.style.left = `${left}px`;
    const after = (events[i + 1]?.left ?? width) - left;
    const wanted = Math.min(text.length * LETTER_WIDTH, 420);
    const before = i === events.length - 1 && after < wanted;
    const room = before ? left - Math.max(free, events[i - 1]?.left ?? 0) : after;
    if (room < Math.min(wanted, LEAST_TEXT_WIDTH)) return element;
    const label = document.createElement("span");
    label.textContent = text;
    label.style.width = `${Math.min(room - 10, wanted)}px`;
    if (before) label.className = "chart-event-left";
    else free = left + wanted;
    element.append(label);
    return element;
  });
}
