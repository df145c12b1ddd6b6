/** Makes elements. Texts become text nodes, never markup, because they come from records and may contain anything. */

export type Child = Node | string | null | undefined | false;
type Attributes = Record<string, string | number | boolean | null | undefined>;

/** An element with attributes (`true` is an attribute without a value; `false` and nothing leave it out) and children. */
export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    element.setAttribute(name, value === true ? "" : String(value));
  }
  add(element, children);
  return element;
}

/** Adds children, and leaves out those that are nothing. */
export function add(parent: Element, children: Child[]): void {
  for (const child of children) if (child) parent.append(child);
}

/** A button with its action. */
export function button(text: string, act: () => void, attributes: Attributes = {}): HTMLButtonElement {
  const element = el("button", { type: "button", ...attributes }, text);
  element.addEventListener("click", act);
  return element;
}

/** The title of a part that shows one of several runs, whose label is then `of`. */
export interface Title {
  title: string;
  of: string | null;
}

/** A part of the page under its heading. */
export function section(id: string, title: string | Title, ...children: Child[]): HTMLElement {
  const { title: text, of } = typeof title === "string" ? { title, of: null } : title;
  const heading = el("h2", { id: `${id}-title` }, text, of !== null && el("span", { class: "of" }, ` ${of}`));
  return el("section", { id, "aria-labelledby": `${id}-title` }, heading, ...children);
}

/** A text for screen readers only. */
export function unseen(text: string): HTMLElement {
  return el("span", { class: "unseen" }, text);
}

/** A text whose figures keep their units on the same line. */
export function prose(text: string): DocumentFragment {
  const fragment = document.createDocumentFragment();
  for (const [index, piece] of figuresApart(text).entries()) {
    if (piece !== "") fragment.append(index % 2 === 1 ? el("span", { class: "nowrap" }, piece) : piece);
  }
  return fragment;
}

/** The pieces of a text: words, a figure with its unit, words, and so on. Together they are the text. */
export function figuresApart(text: string): string[] {
  return text.split(/((?<![\w.,])[<>+-]?\d[\d,.]* (?:ns|µs|ms|s|min|h|%|queries\/s)(?!\w))/);
}

/** Pairs of a label and a value. */
export function facts(pairs: { label: string; value: string }[], kind: string): HTMLElement {
  const list = el("dl", { class: kind });
  for (const { label, value } of pairs) list.append(el("div", {}, el("dt", {}, label), el("dd", {}, value)));
  return list;
}
