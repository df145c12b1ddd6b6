/**
 * The data of a page, as `crates/page` writes it. One description for both sides: a change here is a change in
 * `crates/page/src/data.rs`, and `FORMAT` counts it.
 *
 * The page has one `<script type="application/json" id="page-data">` with a {@link PageData}, and for each run one
 * `<script type="text/plain" id="blob-N">` with its series: base64 of raw deflate of the columns (see {@link Column}).
 *
 * All instants and durations are nanoseconds (integers below 2^53); instants count from the start of the run. Texts
 * are plain text from records and may contain anything: they become text nodes, never markup. Texts with figures are
 * made by the program that prints the summary, so that a figure is the same on the page and in `dnsdyno show`.
 */
export interface PageData {
  format: 1;
  kind: "report" | "comparison" | "folder";
  /** Of the document and of its first line. */
  title: string;
  /** "dnsdyno 0.1.0" */
  made_by: string;
  /** "2026-11-22 13:50:12 UTC" */
  made_at: string;
  /** One or more; in a comparison those of side A, then those of side B; in a folder none. */
  runs: Run[];
  /** What was answered at each rate, over several runs of one rate each (whose own `load_response` is `null`). */
  load_response?: LoadResponse;
  comparison?: Comparison;
  folder?: Folder;
  /** Only on a page from `dnsdyno serve` of a run in progress, or of a folder: where to ask for a newer `PageData` with
   * its blobs (`{ "data": PageData, "blobs": [base64, ...] }`), and how often. */
  live?: { url: string; every_ms: number };
  /** Only on a page from `dnsdyno serve`: the path of its list of runs. */
  home?: string;
}

export interface Run {
  /** Its name, unique on the page. */
  label: string;
  run_id: string;
  /** The first line of the page: server, transport, load, start, length. */
  facts: Fact[];
  answer: Answer;
  verdict: Verdict;
  /** In the order in which they were given. */
  expectations: Expectation[];
  /** What a reader must know before the figures: the record is incomplete, all answers were REFUSED, hints. */
  messages: Message[];
  /** Which latency is shown first. */
  headline: "response" | "service";
  send_only: boolean;
  /** Whether nothing was sent: there is only what was watched. */
  watch_only: boolean;
  started_unix_ns: string;
  interval_ns: number;
  timeout_ns: number;
  /** Length of the run until its last query ended. */
  to_ns: number;
  /** Parts of the load, in order; bands above the time axis. */
  phases: { label: string; from_ns: number; to_ns: number }[];
  events: { at_ns: number; kind: string; message: string }[];
  /** Further events of the record, which are not on the page. */
  more_events: number;
  /** What was read beside the load, by source. */
  watched: Watched[];
  /** Which bottleneck they show; `null` where nothing was watched, or nothing sent. */
  diagnosis: Diagnosis | null;
  /** By step or by time, by query type, by RCODE, by transport, ends, not sent, connections, fallback, workers, all counters. */
  tables: Table[];
  /** Distributions over the whole run, one per latency that the run has; the headline first. */
  curves: Curve[];
  /** `null` where the load had one rate only. */
  load_response: LoadResponse | null;
  /** How many queries each client (connection or socket) has sent: ascending; `null` where the record does not say. */
  clients: { from_queries: number; to_queries: number; clients: number }[] | null;
  /** Names of the members of a mix, in the order of the columns `members.N`; empty without a mix. */
  members: string[];
  /** What the members differ by; `null` without a mix. */
  members_by: "transport" | "server" | "member" | null;
  made: Made;
  /** The object of `dnsdyno show --json` without its intervals: for the download. */
  summary: unknown;
  /** Only on a page from `dnsdyno serve`: the path below which run.ndjson, plan.toml and host.json are. */
  files?: string;
  series: Series;
}

/** The texts are those of `dnsdyno diagnose`. */
export interface Diagnosis {
  verdict: string;
  /** In the order of how much each explains. */
  findings: Finding[];
  /** What was counted at one place and not at the next, a sentence each. */
  cross_check: string[];
}

export interface Finding {
  sentence: string;
  /** "udp.drops of named (4711): 4,765" */
  evidence: string[];
  parameters: { name: string; of: string; value: string; try: string }[];
  /** How to see that a change has helped. */
  check: string;
}

/** A source: a host, a process, the statistics of a server. */
export interface Watched {
  kind: "host" | "process" | "server";
  label: string;
  /** How many of its series were not 0 all the time. */
  moved: number;
  /** Those of them that the page has. */
  series: WatchedSeries[];
}

export interface WatchedSeries {
  name: string;
  /** The name of its column: the rise of a counter, the highest value of a gauge; no value where it was not read. */
  column: string;
  kind: "counter" | "gauge";
  unit: "count" | "bytes" | "ns" | "hz" | "celsius_milli" | "permille";
  /** 0 for losses, then whole figures, those of one CPU, thread or socket, and a server's own names. */
  rank: number;
}

export interface Fact {
  label: string;
  value: string;
}

/** The answer of a run in one sentence and at most four figures. */
export interface Answer {
  /** "Held 48,300 queries/s with no loss and p99 3.10 ms; the generator was not the limit." */
  sentence: string;
  /** value "48,300", unit "queries/s", label "held" */
  figures: { label: string; value: string; unit: string }[];
}

export interface Verdict {
  state: "ok" | "doubt" | "unknown";
  /** "generator: ok", "generator: in doubt", "test bed: in doubt", "generator: no verdict" */
  word: string;
  doubts: string[];
  notes: string[];
}

export interface Expectation {
  /** As it was given: "p99<5ms" */
  text: string;
  measured: string;
  /** Undecided: the generator's own part in what was measured may decide it, or the runs do not say it. */
  state: "pass" | "fail" | "undecided";
}

export interface Message {
  kind: "warning" | "hint";
  text: string;
}

export interface Table {
  /** Unique in the run; a slug: "steps", "types". */
  id: string;
  title: string;
  columns: { title: string; unit: string; align: "left" | "right" }[];
  /** As shown, with separators and units where they vary. "-" where there is nothing. */
  rows: string[][];
}

/**
 * The logarithmic percentile curve: for a share of the slowest queries, the latency that they have at least.
 *
 * `slowest[i]` falls from 1 to 1 / count; `ns[i]` is the latency at that rank, `null` where it is beyond the timeout.
 */
export interface Curve {
  /** "response time", "service time", "response time over dot", "connect" */
  title: string;
  count: number;
  unanswered: number;
  slowest: number[];
  ns: (number | null)[];
}

/** What was answered at each rate that was asked. */
export interface LoadResponse {
  /** Ascending by `asked_qps`. Rates in queries per second. */
  points: LoadPoint[];
  /** The highest rate that was held, and the first that was not; `null` where all or none were held. */
  knee: { held_qps: number | null; lost_qps: number | null; rule: string } | null;
}

export interface LoadPoint {
  asked_qps: number;
  sent_qps: number;
  answered_qps: number;
  failed_qps: number;
  /** 0 to 1. */
  answered_share: number | null;
  avg_ns: number | null;
  p50_ns: number | null;
  /** `"beyond"`: beyond the timeout. */
  p99_ns: number | "beyond" | null;
  from_ns: number;
  to_ns: number;
}

export interface Made {
  /** A command that makes the same run again, as one would type it. */
  command: string;
  /** plan.toml; empty where the record has none. */
  plan: string;
  host: Fact[];
  /** Hash of the queries, versions. */
  facts: Fact[];
}

/** The intervals of a run, as columns, at several resolutions: finest first. */
export interface Series {
  /** N of `blob-N`. */
  blob: number;
  /** Bytes of the blob after inflating. */
  bytes: number;
  levels: Level[];
}

/** A level with factor 10 has one row where the first level has ten (fewer at the end of a phase or of the run). */
export interface Level {
  factor: number;
  rows: number;
  columns: Column[];
  /**
   * Only at factor 1 of a very long run, whose page would be too large: names of columns that only coarser levels have
   * (they are not 0 here, but unknown), and "heat".
   */
  left_out?: string[];
  /** Latency buckets of the headline latency for the heat map; absent where the run has no latency. See {@link Heat}. */
  heat?: { offset: number; bytes: number };
}

/**
 * A column of integers: `rows` varints (LEB128, unsigned) from `offset` of the inflated blob.
 *
 * 0 is no value (too few queries for this percentile, nothing measured), 1 is "beyond the timeout", and n >= 2 is the
 * zigzag difference to the last value of the column before it (0 before the first): value = last + unzigzag(n - 2).
 * Columns whose values are all 0 are absent, except `from_ns`, `covered_ns`, `scheduled`, `sent`, `ends.answered`.
 *
 * Names are the paths of the counters in the record (docs/formats/run.md): `ends.timed_out`, `rcodes.NOERROR`,
 * `types.A.answered`, `members.0.scheduled`, `arrivals.connections.opened`, `workers.0.cpu_ns`; a duration has the
 * columns `PATH.p50`, `.p99` and so on: the headline latency, with unanswered queries in it, is `latency.` with
 * min, p25, p50, p75, p90, p95, p99, p99_9, max, avg; others have count, p50, p99, max.
 * Columns that are equal may have the same place.
 * Of our own: `from_ns`, `covered_ns` (time that the load covers: divide counts of queries by it for rates), `idle_ns` (the
 * rest of the interval, where there is one), `asked_micro` (scheduled queries in millionths; 0 or absent in closed
 * loop), `sent`. Watched series are `watched.SOURCE.NAME`; see {@link WatchedSeries}.
 */
export interface Column {
  name: string;
  unit: "count" | "ns" | "micro" | "bytes" | "gauge";
  offset: number;
  bytes: number;
}

/**
 * The heat map's cells, row after row: a varint with the number of cells of the row, then for each cell two varints:
 * the distance of its bucket from the one before (from 0 for the first), and its count. Bucket b holds the durations
 * from (8 + b % 8) * 2^(floor(b / 8) - 3) ns up to the next one: eight per octave.
 */
export type Heat = never;

export interface Comparison {
  /** "Slower: p99 5.1 % higher (95 % interval 3.9 to 6.2 %)." */
  sentence: string;
  state: "faster" | "slower" | "mixed" | "no_difference" | "undecided" | "too_few";
  /** The baseline, and the candidate: what the sentence is about. */
  a: { title: string; runs: string[] };
  b: { title: string; runs: string[] };
  /** Name of the metric that is judged first. */
  first: string;
  metrics: ComparedMetric[];
  /** The metric `first` by step of the load, whose label is the `name`; empty where the load has no steps. */
  steps: ComparedMetric[];
  /** What was not asked alike; empty where all was. */
  unlike: string[];
  notes: string[];
  fail_if: Expectation[];
}

export interface ComparedMetric {
  /** "p99" */
  name: string;
  unit: "ns" | "qps" | "share";
  /** Whether less is better. */
  less_is_better: boolean;
  /** Medians over runs, as text. */
  a: string;
  b: string;
  /** Each run's figure; a percentile beyond the timeout is the timeout. */
  a_values: (number | null)[];
  b_values: (number | null)[];
  /**
   * Difference of B to A with its 95 % interval: relative (0.051 is 5.1 % more), for the unit "share" the difference of
   * the shares (0.002 is 0.2 percentage points more). `null` where there is none.
   */
  difference: number | null;
  from: number | null;
  to: number | null;
  p_value: number | null;
  /** With the other metrics taken into account; the verdict follows from it. */
  p_adjusted: number | null;
  /** Probability that a run of B is above a run of A (Vargha-Delaney A12). */
  effect: number | null;
  verdict: "better" | "worse" | "no_difference" | "may_be_ours" | "not_compared" | "too_few";
  words: string;
}

/** A folder of runs, newest first. */
export interface Folder {
  path: string;
  runs: FolderRun[];
  /** Runs that are not listed, because there are too many. */
  more?: number;
}

export interface FolderRun {
  /** The name of its folder: part of the link `runs/NAME/`. */
  folder: string;
  name: string;
  note: string;
  target: string;
  transport: string;
  load: string;
  /** "2026-11-22 13:50:12 UTC" */
  started: string;
  started_unix_ns: string;
  length: string;
  sentence: string;
  verdict: "ok" | "doubt" | "unknown";
  /** In progress, ended, cut short; `error`: it cannot be read, and `sentence` says why. */
  state: "running" | "ended" | "cut_short" | "error";
}
