/** A chart that has nothing to draw, and says why. */
import type { Chart } from "./api";

export function emptyChart(container: HTMLElement, id: string, title: string, why: string): Chart {
  const element = document.createElement("figure");
  element.className = "chart chart-without-data";
  element.dataset.chart = id;
  const head = document.createElement("h3");
  head.textContent = title;
  const words = document.createElement("p");
  words.className = "chart-empty";
  words.textContent = why;
  element.append(head, words);
  container.append(element);
  const none = () => null;
  return { id, title, element, table: () => ({ columns: [], rows: [] }), valuesAt: () => ({}), range: none, svg: none };
}
