/** Charts follow the width of what contains them, also on paper. */

/** What an A4 or letter page has between its margins, in CSS pixels. */
const PAPER_WIDTH = 688;

/** Of a chart that stands in one of two columns there. */
const HALF_PAPER_WIDTH = 332;

/** Of what is not shown yet there is no width; it follows when it is. */
const UNKNOWN_WIDTH = 600;

export function widthOf(element: HTMLElement): number {
  return element.clientWidth || UNKNOWN_WIDTH;
}

/** Columns on paper are those of an element with `data-paper="columns"`, unless all of the page is printed. */
function isInColumn(element: HTMLElement): boolean {
  return document.documentElement.dataset.print !== "all" && element.closest('[data-paper="columns"]') !== null;
}

/** How much lower charts are on paper, so that the first of them stand on one page with the answer. */
export const PAPER_HEIGHT = 0.58;

/** Calls `resize` with each new width, and whether it is that of paper; returns how to stop. */
export function follow(element: HTMLElement, resize: (width: number, onPaper: boolean) => void): () => void {
  const observer = new ResizeObserver(() => resize(element.clientWidth, false));
  observer.observe(element);
  // Before printing there is no layout for the paper yet to observe.
  const toPaper = () => resize(isInColumn(element) ? HALF_PAPER_WIDTH : PAPER_WIDTH, true);
  const toScreen = () => resize(element.clientWidth, false);
  window.addEventListener("beforeprint", toPaper);
  window.addEventListener("afterprint", toScreen);
  return () => {
    observer.disconnect();
    window.removeEventListener("beforeprint", toPaper);
    window.removeEventListener("afterprint", toScreen);
  };
}
