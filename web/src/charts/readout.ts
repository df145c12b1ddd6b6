/**
 * The readout of a chart: each series with its figure at the cursor, always at the same place; without a cursor, the key
 * of the series.
 */
import { rate } from "../format/units";
import type { HeatScale } from "./heatmap";

export interface ReadoutItem {
  label: string;
  colour: string;
  /** How the key is drawn. */
  key: "line" | "dashes" | "area" | "none";
  text: string;
}

export class Readout {
  readonly element = document.createElement("p");
  private readonly items = new Map<string, { span: HTMLElement; swatch: HTMLElement; value: HTMLElement }>();
  private readonly at = document.createElement("span");
  readonly scale = document.createElement("span");

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
    this.element.classList.toggle("chart-readout-on", at !== null);
    this.at.textContent = at ?? "";
    if (items.length !== this.items.size || items.some((item) => !this.items.has(item.label))) this.build(items);
    for (const item of items) {
      const { span, swatch, value } = this.items.get(item.label)!;
      span.classList.toggle("chart-labelled", labelled.has(item.label));
      swatch.style.color = item.colour;
      value.textContent = at === null ? "" : item.text;
    }
  }

  /** Shows which colours a heat map has from few to many queries. */
  showScale(scale: HeatScale | null, colours: string[]): void {
    this.scale.hidden = scale === null;
    if (!scale) return;
    const bar = document.createElement("i");
    bar.style.background = `linear-gradient(to right, ${colours.join(", ")})`;
    this.scale.replaceChildren(`${rate(scale.low_qps)} `, bar, ` ${rate(scale.high_qps)} queries/s`);
  }

  private build(items: ReadoutItem[]): void {
    this.items.clear();
    this.element.replaceChildren(this.at);
    for (const item of items) {
      const span = document.createElement("span");
      const swatch = document.createElement("i");
      swatch.className = `chart-key chart-key-${item.key}`;
      const value = document.createElement("b");
      span.append(swatch, item.label, " ", value);
      this.element.append(span);
      this.items.set(item.label, { span, swatch, value });
    }
  }
}
