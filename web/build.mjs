// Builds the two files that `crates/page` puts into each page: dist/page.js (one script) and dist/page.css. The same sources give the same bytes, which CI verifies by building into another folder:
// `node build.mjs FOLDER`.

import { readFile, writeFile, mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const folder = process.argv[2] ?? `${here}/dist`;

/** The text of one bundle. */
async function bundle(entry, options) {
  const result = await build({
    absWorkingDir: here,
    entryPoints: [entry],
    bundle: true,
    minify: true,
    write: false,
    charset: "utf8",
    target: ["es2022", "chrome111", "firefox113", "safari16.4"],
    legalComments: "none",
    logLevel: "warning",
    ...options,
  });
  return result.outputFiles[0].text;
}

/** The licence of uPlot asks to be in every copy; esbuild drops it with the other comments. */
async function notice() {
  const licence = await readFile(`${here}/node_modules/uplot/LICENSE`, "utf8");
  return `/*!\nThe report page of dnsdyno, Apache-2.0. It contains uPlot:\n\n${licence.trim()}\n*/\n`;
}

/** Both files stand inside of elements of a page, and must not end them. */
function verify(name, text, endings) {
  for (const ending of endings) {
    if (text.toLowerCase().includes(ending)) throw new Error(`${name} contains ${ending}, which would end its element`);
  }
}

const script = await bundle("src/main.ts", { format: "iife" });
const style = await bundle("src/style/page.css", {});
verify("page.js", script, ["</script", "<!--"]);
verify("page.css", style, ["</style"]);

const licences = await notice();
await mkdir(folder, { recursive: true });
await writeFile(`${folder}/page.js`, licences + script);
await writeFile(`${folder}/page.css`, licences + style);
