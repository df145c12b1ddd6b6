// Pages in Debian's Chromium, each watched: what it prints to the console, what it throws, what it asks for, and which
// dialogs it opens. A test ends with `assertClean`, which wants none of that.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

/** Debian's browser, or the one that DNSDYNO_CHROMIUM names. */
export const CHROMIUM = process.env.DNSDYNO_CHROMIUM ?? "/usr/bin/chromium";

/** Widths in CSS pixels. */
export const DESK = { width: 1280, height: 900 };
export const PHONE = { width: 360, height: 740 };

/** Charts of a large page are drawn by software here, on a machine that does other things too. */
const READY_MS = 60_000;

/**
 * Starts a browser for one test file. Gives `open(file or URL, options)`, whose page is closed by `close`, which also
 * ends the browser.
 */
export async function startBrowser() {
  assert.ok(existsSync(CHROMIUM), `needs Chromium: sudo apt-get install chromium`);
  const browser = await chromium.launch({ executablePath: CHROMIUM });
  return {
    open: (place, options) => open(browser, place, options),
    close: () => browser.close(),
  };
}

/** A page that has drawn its charts, with `seen`: what it did that a page of ours must not do. */
async function open(browser, place, { theme = "light", viewport = DESK, ready = true, scale = 1, fragment = "" } = {}) {
  const url = (/^https?:/.test(place) ? place : pathToFileURL(place).href) + fragment;
  const context = await browser.newContext({
    viewport,
    deviceScaleFactor: scale,
    colorScheme: theme,
    reducedMotion: "reduce",
    timezoneId: "UTC",
    locale: "en-GB",
    permissions: ["clipboard-read", "clipboard-write"],
  });
  const page = await context.newPage();
  const seen = { console: [], errors: [], requests: [], dialogs: [] };
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) seen.console.push(message.text());
  });
  page.on("pageerror", (error) => seen.errors.push(String(error)));
  page.on("dialog", (dialog) => {
    seen.dialogs.push(dialog.message());
    return dialog.dismiss();
  });
  context.on("request", (request) => {
    if (!mayAsk(url, request.url())) seen.requests.push(request.url());
  });
  page.seen = seen;
  await page.addInitScript(noteWhenReady);
  await page.goto(url);
  if (ready) await drawn(page);
  return page;
}

/** In the page: the instant, from the start of the navigation, at which it says that its charts are drawn. */
function noteWhenReady() {
  const note = () => (window.readyAt_ms ??= performance.now());
  new MutationObserver(note).observe(document, { attributeFilter: ["data-ready"], subtree: true });
}

/** Waits until the page says that its charts are drawn. */
export async function drawn(page) {
  await page.waitForFunction(() => document.documentElement.dataset.ready === "true", null, { timeout: READY_MS });
}

/** Fails if the page did what no page of ours may do. Closes it. */
export async function assertClean(page) {
  // What was asked for in the last instant is seen too: the browser answers in order.
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => resolve(null))));
  assert.deepEqual(page.seen, { console: [], errors: [], requests: [], dialogs: [] });
  await page.context().close();
}

/** A file asks for nothing but itself; a page of `dnsdyno serve` for what the same server has. */
function mayAsk(page, request) {
  if (/^(data|blob|about):/.test(request)) return true;
  if (page.startsWith("file:")) return request === page;
  return new URL(request).origin === new URL(page).origin;
}
