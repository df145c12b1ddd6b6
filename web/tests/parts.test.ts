/** What the page does with figures and rows, without a browser. */
import { describe, expect, test } from "vitest";
import { compareLink, found, inOrder, reportLink, runLink, sides } from "../src/parts/choice";
import { change } from "../src/format/change";
import { fileName, tsv } from "../src/parts/copy";
import { nextSorting } from "../src/parts/datatable";
import { figuresApart } from "../src/parts/dom";
import { liveAnswer, pause_ms } from "../src/parts/live";
import { figure, sharedFigures } from "../src/parts/runs";
import { figureOf, order } from "../src/parts/sort";
import { rowsInSight } from "../src/parts/window";
import { emptyRun } from "./runs";
import { samplePages } from "./sample";

const pages = samplePages();
const folder = pages["folder"]!.data.folder!;

describe("sorting", () => {
  test("durations sort by their length, whatever their unit", () => {
    const cells = ["3.10 ms", "843 µs", ">5 s", "1.00 s", "999 ns", "12 min 5 s"];
    expect(order(cells, false).map((at) => cells[at])).toEqual(["999 ns", "843 µs", "3.10 ms", "1.00 s", ">5 s", "12 min 5 s"]);
  });

  test("counts sort by their size and shares by their value", () => {
    expect(order(["1,234", "99", "10,000"], true)).toEqual([2, 0, 1]);
    expect(order(["0.10 %", "<0.01 %", "0 %", ">99.99 %", "100 %"], false)).toEqual([2, 1, 0, 3, 4]);
  });

  test("what is missing comes last in both directions", () => {
    const cells = ["-", "2", "", "1"];
    expect(order(cells, false).slice(0, 2)).toEqual([3, 1]);
    expect(order(cells, true).slice(0, 2)).toEqual([1, 3]);
  });

  test("rows that are equal keep their order", () => {
    expect(order(["5", "5", "5"], true)).toEqual([0, 1, 2]);
  });

  test("figures have units, and words and addresses are no figures", () => {
    for (const text of ["NOERROR", "-", "", "dot 853", "1.2.3.4", "2001:db8::1"]) expect(figureOf(text)).toBeNull();
    expect(figureOf("48,300/s")).toBe(48_300);
    expect(figureOf("48,300 /s")).toBe(48_300);
  });

  test("a column of figures starts with the highest, then the lowest, then the order of the table", () => {
    const first = nextSorting(null, 2, true);
    const second = nextSorting(first, 2, true);
    expect([first, second, nextSorting(second, 2, true)]).toEqual([{ column: 2, descending: true }, { column: 2, descending: false }, null]);
  });
});

describe("copying", () => {
  const columns = [{ title: "step", unit: "", align: "left" as const }, { title: "asked", unit: "/s", align: "right" as const }];

  test("titles carry their units, and a cell stays one cell", () => {
    expect(tsv({ columns, rows: [["a\tb\nc", "1,000"]] })).toBe("step\tasked (/s)\na b c\t1,000\n");
  });

  test("a text from a record never becomes a formula", () => {
    const cells = ['=HYPERLINK("x")', "@SUM(1)", "+cmd", "-cmd|x", "-", "-0.3 %", "+5.1 %"];
    const copied = tsv({ columns: [], rows: cells.map((cell) => [cell]) }).split("\n").slice(1, -1);
    expect(copied).toEqual(['\'=HYPERLINK("x")', "'@SUM(1)", "'+cmd", "'-cmd|x", "-", "-0.3 %", "+5.1 %"]);
  });

  test("a label becomes the name of a file, whatever it holds", () => {
    expect(fileName("../../etc/passwd")).toBe("etc-passwd");
    expect(fileName("<b>nightly 3</b>")).toBe("b-nightly-3-b");
    expect(fileName("///")).toBe("run");
  });
});

describe("rows in sight", () => {
  test("few of many rows are made", () => {
    const { first, end } = rowsInSight(28 * 100_000, 480, 28, 172_800);
    expect(first).toBeLessThanOrEqual(100_000);
    expect(end).toBeGreaterThanOrEqual(100_018);
    expect(end - first).toBeLessThan(60);
  });

  test("they never pass the ends of the table", () => {
    expect(rowsInSight(0, 480, 28, 5)).toEqual({ first: 0, end: 5 });
    expect(rowsInSight(1e9, 480, 28, 100).end).toBe(100);
    expect(rowsInSight(-50, 480, 28, 100).first).toBe(0);
    expect(rowsInSight(0, 480, 28, 0)).toEqual({ first: 0, end: 0 });
  });
});

describe("a live page", () => {
  test("asks less often after each failure, within a bound", () => {
    expect([0, 1, 2, 30].map((failures) => pause_ms(1000, failures))).toEqual([1000, 2000, 4000, 10_000]);
    expect(pause_ms(0, 0)).toBeGreaterThan(0);
  });

  test("takes only data of its own format", () => {
    expect(liveAnswer({ data: pages["report"]!.data, blobs: [] })).not.toBeNull();
    for (const other of [null, "text", {}, { data: {}, blobs: [] }, { data: { format: 2 }, blobs: [] }, { data: { format: 1 } }]) {
      expect(liveAnswer(other)).toBeNull();
    }
  });
});

describe("a folder", () => {
  test("a search finds all of its words in any order", () => {
    const run = { ...folder.runs[0]!, name: "nightly", transport: "DoT", note: "new cache" };
    expect(found(run, "dot NIGHT")).toBe(true);
    expect(found(run, "nightly doh")).toBe(false);
    expect(found(run, "")).toBe(true);
    expect(found({ ...run, state: "cut_short" }, "cut short")).toBe(true);
  });

  test("links hold whatever a folder is called", () => {
    const run = { ...folder.runs[0]!, folder: 'a/b?c=d&e "f"' };
    expect(runLink(run)).toBe("runs/a%2Fb%3Fc%3Dd%26e%20%22f%22/");
    expect(reportLink([run, run])).toBe("report?run=a%2Fb%3Fc%3Dd%26e%20%22f%22&run=a%2Fb%3Fc%3Dd%26e%20%22f%22");
  });

  test("the newest run is first, also where the instant has more digits than a number", () => {
    const at = (started_unix_ns: string) => ({ ...folder.runs[0]!, folder: started_unix_ns, started_unix_ns });
    const runs = [at("1795355412000000001"), at("1795355412000000003"), at("1795355412000000002")];
    expect(inOrder(runs, "started", true).map((run) => run.folder.slice(-1))).toEqual(["3", "2", "1"]);
  });

  test("two names are the two sides of a comparison, the older one first", () => {
    const at = (name: string, started: number) => ({ ...folder.runs[0]!, name, folder: `${name}-${started}`, started_unix_ns: String(started) });
    const pair = sides([at("new", 4), at("old", 1), at("new", 2), at("old", 3)]);
    expect(pair.a.map((run) => run.folder)).toEqual(["old-1", "old-3"]);
    expect(compareLink(pair)).toBe("compare?a=old-1&a=old-3&b=new-2&b=new-4");
  });

  test("runs of one name are compared by their age", () => {
    const at = (started: number) => ({ ...folder.runs[0]!, name: "same", folder: String(started), started_unix_ns: String(started) });
    const pair = sides([at(3), at(1), at(2)]);
    expect([pair.a, pair.b].map((side) => side.map((run) => run.folder))).toEqual([["1"], ["2", "3"]]);
  });
});

describe("several runs and comparisons", () => {
  test("a figure has one column, also where only some runs have it", () => {
    const runs = pages["several"]!.data.runs;
    expect(sharedFigures(runs)).toEqual(runs[0]!.answer.figures.map((figure) => figure.label));
    expect(sharedFigures([])).toEqual([]);
    const of = (...labels: string[]) => ({
      ...emptyRun(),
      answer: { sentence: "", figures: labels.map((label) => ({ label, value: "1", unit: "" })) },
    });
    const many = [of("a", "b", "c", "d", "e"), of("e", "f", "g"), of("f", "g")];
    expect(sharedFigures(many)).toEqual(["a", "b", "c", "e", "f", "g"]);
  });

  test("a figure that the answer of a run does not have is that of its summary", () => {
    const lateness = { p99: { ns: 20_479, beyond_timeout: false } };
    const summary = { sent_qps: 5000, answered_qps: 4990.4, loss_share: 0.002, lateness };
    const figures = [{ label: "held", value: "4,990", unit: "queries/s" }];
    const held = { ...emptyRun(), answer: { sentence: "", figures }, summary };
    const labels = ["held", "answered", "sent", "loss", "lateness p99", "p50 there"];
    const texts = labels.map((label) => figure(held, label));
    expect(texts).toEqual(["4,990 queries/s", "4,990 queries/s", "5,000 queries/s", "0.20 %", "20.5 µs", "-"]);
    expect(figure({ ...held, send_only: true }, "answered")).toBe("-");
    expect(figure({ ...held, summary: null }, "answered")).toBe("-");
  });

  test("differences have a sign, and those of shares are in points", () => {
    const texts = [0.051, -0.08, 0, -0.0001, 0.99].map((share) => change(share, { difference: share, unit: "ns" }));
    expect(texts).toEqual(["+5.1 %", "-8.0 %", "0.0 %", "0.0 %", "+99.0 %"]);
    expect(change(0.002, { difference: 0.002, unit: "share" })).toBe("+0.20 points");
    expect(change(null, { difference: null, unit: "ns" })).toBe("-");
  });

  test("sides that differ much are told by their factor, and the interval as its estimate", () => {
    const upwards = { difference: 177.4, unit: "qps" } as const;
    expect([177.4, 0.5, 1233.6].map((share) => change(share, upwards))).toEqual(["× 178", "× 1.5", "× 1,235"]);
    const downwards = { difference: -0.9, unit: "ns" } as const;
    expect([-0.9, -0.75, -1].map((share) => change(share, downwards))).toEqual(["÷ 10.0", "÷ 4.0", "÷ ∞"]);
    expect(change(0.9, { difference: 0.9, unit: "share" })).toBe("+90.00 points");
  });
});

describe("sentences", () => {
  test("a figure and its unit are one piece, and all pieces are the sentence", () => {
    const sentence = "Held 21,000 queries/s with p99 9.24 ms; 2.46 % were not answered in 5 seconds (95 % interval -0.3 to 6.2 %).";
    const pieces = figuresApart(sentence);
    expect(pieces.filter((_, at) => at % 2 === 1)).toEqual(["21,000 queries/s", "9.24 ms", "2.46 %", "95 %", "6.2 %"]);
    expect(pieces.join("")).toBe(sentence);
  });

  test("a text of any kind stays as it is", () => {
    for (const text of ["", "<b>5 ms</b>", "1,".repeat(10_000), "192.0.2.1 ms", "\u202e5 s"]) expect(figuresApart(text).join("")).toBe(text);
  });
});
