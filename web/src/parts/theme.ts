/** Light or dark: what the system prefers, until the reader chooses. On paper always light. */

import type { Theme } from "../charts";

const KEY = "dnsdyno-theme";

/** The theme of the page; whoever draws in colours listens to it. */
export class Themes {
  private listeners: ((theme: Theme) => void)[] = [];
  private chosen: Theme | null;
  private printing = false;
  private readonly system = matchMedia("(prefers-color-scheme: dark)");

  /** `said` is what the address of the page says. */
  constructor(said: Theme | undefined) {
    this.chosen = said ?? remembered();
    this.system.addEventListener("change", () => this.apply());
    window.addEventListener("beforeprint", () => this.print(true));
    window.addEventListener("afterprint", () => this.print(false));
    this.apply();
  }

  get now(): Theme {
    if (this.printing) return "light";
    return this.chosen ?? (this.system.matches ? "dark" : "light");
  }

  onChange(listener: (theme: Theme) => void): void {
    this.listeners.push(listener);
  }

  /** The other theme, which is from now on that of all pages; which it is. */
  switch(): Theme {
    this.chosen = this.now === "dark" ? "light" : "dark";
    remember(this.chosen);
    this.apply();
    return this.chosen;
  }

  /** The theme of an address; without one, what it would be without an address. */
  follow(said: Theme | undefined): void {
    this.chosen = said ?? remembered();
    this.apply();
  }

  private print(printing: boolean): void {
    this.printing = printing;
    this.apply();
  }

  private apply(): void {
    document.documentElement.dataset.theme = this.now;
    for (const listener of this.listeners) listener(this.now);
  }
}

/** Browsers may refuse storage to a file. */
function remembered(): Theme | null {
  try {
    const text = localStorage.getItem(KEY);
    return text === "light" || text === "dark" ? text : null;
  } catch {
    return null;
  }
}

function remember(theme: Theme): void {
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // The choice then holds until the page is closed.
  }
}
