/**
 * The readout of a chart: each series with its figure at the cursor, always at the same place; without a cursor, the key
 * of the series.
 */
import type { HeatScale } from "./cells";
import { type Look, keyElement } from "./key";

export interface ReadoutItem extends Look {
  label: string;
  text: string;
}

/** A key of more series may be longer than its chart. */
const MOST_AT_ONCE = 12;

export class Readout {
  readonly element = document.createElement("p");
  private readonly items = new Map<string, { span: HTMLElement; swatch: Element; look: string; value: HTMLElement }>();
  private readonly at = document.createElement("span");
  readonly scale = document.createElement("span");
  /** The series that only the readout names. */
  unlabelled: ReadoutItem[] = [];
  heat: HeatScale | null = null;

  constructor() {
    this.element.className = "chart-readout";
    this.element.dataset.readout = "";
    this.at.className = "chart-at";
    this.scale.className = "chart-scale";
    this.scale.hidden = true;
  }

  /**
   * Shows these series; `at` is the instant, `null` where there is no cursor and the texts are empty. Those `labelled` at
   * the ends of their lines need no key.
   */
  show(at: string | null, items: ReadoutItem[], labelled: Set<string>): void {
    this.unlabelled = items.filter(({ label }) => !labelled.has(label));
    this.element.classList.toggle("chart-readout-on", at !== null);
    this.at.textContent = at ?? "";
    if (items.length !== this.items.size || items.some((item) => !this.items.has(item.label))) this.build(items);
    for (const item of items) {
      const shown = this.items.get(item.label)!;
      const { span, value } = shown;
      span.classList.toggle("chart-labelled", labelled.has(item.label));
      const look = lookOf(item);
      if (look !== shown.look) {
        const swatch = keyElement(item);
        shown.swatch.replaceWith(swatch);
        Object.assign(shown, { swatch, look });
      }
      value.textContent = at === null ? "" : item.text;
    }
  }

  /** Shows which colours a heat map has from its least to its greatest figures. */
  showScale(scale: HeatScale | null, colours: string[]): void {
    this.heat = scale;
    this.scale.hidden = scale === null;
    if (!scale) return;
    const bar = document.createElement("i");
    bar.style.background = `linear-gradient(to right, ${colours.join(", ")})`;
    this.scale.replaceChildren(`${scale.low} `, bar, ` ${scale.high}`);
  }

  /** A key that scrolls is scrolled by the keyboard too. */
  private makeReachable(scrolls: boolean): void {
    this.element.classList.toggle("chart-readout-long", scrolls);
    const attributes = { tabindex: "0", role: "group", "aria-label": "Key" };
    for (const [name, value] of Object.entries(attributes)) {
      if (scrolls) this.element.setAttribute(name, value);
      else this.element.removeAttribute(name);
    }
  }

  private build(items: ReadoutItem[]): void {
    this.items.clear();
    this.element.replaceChildren(this.at);
    this.makeReachable(items.length > MOST_AT_ONCE);
    for (const item of items) {
      const span = document.createElement("span");
      const swatch = keyElement(item);
      const value = document.createElement("b");
      span.append(swatch, item.label, " ", value);
      this.element.append(span);
      this.items.set(item.label, { span, swatch, look: lookOf(item), value });
    }
  }
}

function lookOf({ colour, area, dash, width }: Look): string {
  return [colour, area, dash, width].join();
}
