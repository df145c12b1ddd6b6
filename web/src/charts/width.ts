/** Charts follow the width of what contains them, also on paper. */

/** What an A4 or letter page has between its margins, in CSS pixels. */
const PAPER_WIDTH = 690;

/** Of what is not shown yet there is no width; it follows when it is. */
const UNKNOWN_WIDTH = 600;

export function widthOf(element: HTMLElement): number {
  return element.clientWidth || UNKNOWN_WIDTH;
}

/** Calls `resize` with each new width; returns how to stop. */
export function follow(element: HTMLElement, resize: (width: number) => void): () => void {
  const observer = new ResizeObserver(() => resize(element.clientWidth));
  observer.observe(element);
  // Before printing there is no layout for the paper yet to observe.
  const toPaper = () => resize(PAPER_WIDTH);
  const toScreen = () => resize(element.clientWidth);
  window.addEventListener("beforeprint", toPaper);
  window.addEventListener("afterprint", toScreen);
  return () => {
    observer.disconnect();
    window.removeEventListener("beforeprint", toPaper);
    window.removeEventListener("afterprint", toScreen);
  };
}
