/** The page: reads its data from the document, and puts its parts together. */

import type { PageData } from "./data/types";
import { el } from "./parts/dom";
import { folderList } from "./parts/folder";
import { header } from "./parts/header";
import { Link } from "./parts/link";
import { follow } from "./parts/live";
import { Report } from "./parts/report";
import { mark } from "./parts/sign";
import { Themes } from "./parts/theme";

function start(app: HTMLElement): void {
  const data = pageData();
  if (!data) {
    app.replaceChildren(problem("The data of this page is damaged, or of another version of dnsdyno. Make the page again with dnsdyno report."));
    return;
  }
  let report: Report | null = null;
  const link = new Link((choices) => {
    themes.follow(choices.theme);
    report?.follow();
  });
  const themes = new Themes(link.now.theme);
  const top = header(data, themes, link, data.kind === "folder" ? null : "data");
  const main = el("main", { id: "content", tabindex: -1 });
  const more = "Further charts, tables and the plan are on the page: its button Print all prints them too. ";
  const foot = el("footer", {}, !data.folder && el("span", { class: "print-first" }, more), `Made by ${data.made_by}, ${data.made_at}`);
  app.replaceChildren(el("a", { class: "skip", href: "#content" }, "Skip to the answer"), top.element, main, foot);

  if (data.folder) {
    const list = folderList(data.folder);
    main.append(list.element);
    document.documentElement.dataset.ready = "true";
    if (data.live) {
      follow(data.live, async (answer) => void (answer.data.folder && list.update(answer.data.folder)), top.say, "");
    }
    return;
  }
  if (data.runs.length === 0) {
    main.append(problem("There is no run on this page."));
    return;
  }
  const shown = new Report(data, top, themes, link);
  report = shown;
  main.append(shown.element);
  const { live } = data;
  void shown.series(blobs()).then(() => {
    document.documentElement.dataset.ready = "true";
    if (live) follow(live, (answer) => shown.update(answer), top.say, "Run in progress");
  });
}

function problem(text: string): HTMLElement {
  return el("p", { class: "problem" }, mark("warning", text));
}

/** `null` where it is damaged or of another format. */
function pageData(): PageData | null {
  try {
    const data = JSON.parse(document.getElementById("page-data")?.textContent ?? "") as PageData;
    return data.format === 1 ? data : null;
  } catch {
    return null;
  }
}

/** The packed series, by their number. */
function blobs(): string[] {
  const all: string[] = [];
  for (let index = 0; ; index++) {
    const text = document.getElementById(`blob-${index}`)?.textContent;
    if (text === undefined || text === null) return all;
    all.push(text);
  }
}

const app = document.getElementById("app");
if (app) start(app);
