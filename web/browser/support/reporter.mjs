// Prints the results of node's test runner in the words of cargo's, so that `make test` speaks one language: a line for
// each test, the failures with their reasons, and the counts last.

export default async function* reporter(events) {
  const counts = { passed: 0, failed: 0, ignored: 0 };
  const failures = [];
  const started_ms = Date.now();
  for await (const { type, data } of events) {
    // What a file that cannot be started says, for one.
    if (type === "test:stderr") yield data.message;
    if (type !== "test:pass" && type !== "test:fail") continue;
    const cause = data.details?.error?.cause ?? data.details?.error;
    // A file is a test only where it failed by itself.
    if (/\.mjs$/.test(data.name) && type === "test:pass") continue;
    const skipped = data.skip !== undefined;
    const result = skipped ? "ignored" : type === "test:pass" ? "passed" : "failed";
    counts[result] += 1;
    const words = { passed: "ok", failed: "FAILED", ignored: `ignored${data.skip ? `, ${data.skip}` : ""}` };
    yield `test page: ${data.name} ... ${words[result]}\n`;
    if (result === "failed") failures.push(`---- ${data.name} ----\n${cause?.stack ?? cause}\n`);
  }
  if (failures.length > 0) yield `\nfailures:\n\n${failures.join("\n")}`;
  const seconds = ((Date.now() - started_ms) / 1000).toFixed(2);
  const { passed, failed, ignored } = counts;
  yield `\ntest result: ${failed > 0 ? "FAILED" : "ok"}. ${passed} passed; ${failed} failed; ${ignored} ignored; ` +
    `0 measured; 0 filtered out; finished in ${seconds}s\n\n`;
}
