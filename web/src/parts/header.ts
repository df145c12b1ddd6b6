/** The first line of the page: what was run, and the controls of the page. */

import type { PageData, Run } from "../data/types";
import { button, el, facts } from "./dom";
import type { Link } from "./link";
import type { Themes } from "./theme";

/** Prints each chart and table too. */
function printAll(): void {
  const root = document.documentElement;
  root.dataset.print = "all";
  window.addEventListener("afterprint", () => delete root.dataset.print, { once: true });
  window.print();
}

export interface Header {
  element: HTMLElement;
  /** The facts of the run that is shown; none where the page has several or none. */
  show(run: Run | null): void;
  /** Says what a live page does, to screen readers too. */
  say(text: string): void;
}

/** `download` is the id of the part with the data, where the page has one. */
export function header(data: PageData, themes: Themes, link: Link, download: string | null): Header {
  const line = el("div", { class: "facts-place" });
  const status = el("p", { class: "live", role: "status" });
  const theme = button("", () => link.set({ theme: themes.switch() }), { class: "quiet", "data-control": "theme" });
  const name = (now: string): void => void (theme.textContent = now === "dark" ? "Light theme" : "Dark theme");
  name(themes.now);
  themes.onChange(name);

  const controls = el(
    "nav",
    { class: "controls", "aria-label": "Page" },
    data.home ? el("a", { href: data.home, class: "quiet" }, "All runs") : null,
    status,
    theme,
    button("Print", () => window.print(), {
      class: "quiet",
      "data-control": "print",
      title: data.folder ? null : "The answer and the first charts",
    }),
    !data.folder && button("Print all", printAll, { class: "quiet", "data-control": "print-all" }),
    download ? el("a", { href: `#${download}`, class: "quiet" }, "Data") : null,
  );
  const element = el("header", { class: "top" }, el("h1", {}, data.title), controls, line);
  return {
    element,
    show: (run) => line.replaceChildren(...(run ? [facts(run.facts, "facts")] : [])),
    say: (text) => void (status.textContent = text),
  };
}
