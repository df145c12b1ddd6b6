// Writes pages to look at while changing them, without a record and without Rust: `node dev.mjs FOLDER`. It takes the
// bundle as it would be built now, and the runs of tests/sample.ts.

import { mkdir, readFile, writeFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { execFileSync } from "node:child_process";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const folder = process.argv[2];
if (!folder) {
  console.error("usage: node dev.mjs FOLDER");
  process.exit(2);
}

const work = await mkdtemp(join(tmpdir(), "dnsdyno-page-"));
try {
  execFileSync(process.execPath, [join(here, "build.mjs"), work], { stdio: "inherit" });
  const sample = join(work, "sample.mjs");
  await build({ entryPoints: [join(here, "tests/sample.ts")], bundle: true, platform: "node", format: "esm", outfile: sample, logLevel: "warning" });
  const { samplePages } = await import(pathToFileURL(sample).href);
  const script = await readFile(join(work, "page.js"), "utf8");
  const style = await readFile(join(work, "page.css"), "utf8");
  await mkdir(folder, { recursive: true });
  for (const [name, { data, blobs }] of Object.entries(samplePages())) {
    await writeFile(join(folder, `${name}.html`), html(data, blobs, script, style));
  }
} finally {
  await rm(work, { recursive: true });
}

/** As `crates/page` writes it. */
function html(data, blobs, script, style) {
  const json = JSON.stringify(data).replaceAll("<", "\\u003c");
  const series = blobs.map((base64, index) => `<script type="text/plain" id="blob-${index}">${base64}</script>`);
  return `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; worker-src blob:">
<title>dnsdyno</title><style>${style}</style></head>
<body><div id="app"></div>
<script type="application/json" id="page-data">${json}</script>
${series.join("\n")}
<script>${script}</script></body></html>
`;
}
