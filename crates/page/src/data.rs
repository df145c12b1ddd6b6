//! The data of a page. `web/src/data/types.ts` is generated from these types and their comments by
//! `scripts/xtask page-types`; a comment that ends with "One of" and words in backticks says which texts a
//! property has.
//!
//! The page has one `<script type="application/json" id="page-data">` with a [`PageData`], and for each run one
//! `<script type="text/plain" id="blob-N">` with its series: base64 of raw deflate of the columns (see [`Column`]).
//!
//! All instants and durations are nanoseconds (integers below 2^53); instants count from the start of the run. Texts
//! are plain text from records and may contain anything: they become text nodes, never markup. Texts with figures are
//! made by the program that prints the summary, so that a figure is the same on the page and in `dnsdyno show`.

use dnsdyno_measure::series::SeriesUnit;
use dnsdyno_measure::{PerClient, Quantile, WatchedKind};
use dnsdyno_record::{Headline, MembersBy};
use dnsdyno_report::{HELD_RULE, State};
use serde::Serialize;
use serde_json::Value;

/// Counts the changes of these types.
pub const FORMAT: u32 = 1;

/// What a page shows.
#[derive(Clone, Debug, Serialize)]
pub struct PageData {
    /// Counts the changes of these types: 1.
    pub format: u32,
    /// What it is a page of.
    pub kind: Kind,
    /// Of the document and of its first line.
    pub title: String,
    /// "dnsdyno 0.1.0"
    pub made_by: String,
    /// "2026-11-22 13:50:12 UTC"
    pub made_at: String,
    /// One or more; in a comparison those of side A, then those of side B; in a folder none.
    pub runs: Vec<Run>,
    /// What was answered at each rate, over several runs of one rate each (whose own `load_response` is `null`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_response: Option<LoadResponse>,
    /// Only in a comparison.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comparison: Option<Comparison>,
    /// Only of a folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<Folder>,
    /// Only on a page from `dnsdyno serve` of a run in progress, or of a folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub live: Option<Live>,
    /// Only on a page from `dnsdyno serve`: the path of its list of runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub home: Option<String>,
}

/// The kinds of pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Of runs.
    Report,
    /// Of two sets of runs.
    Comparison,
    /// Of a folder of runs.
    Folder,
}

/// Newer data of a page, which is asked for again and again.
#[derive(Clone, Debug, Serialize)]
pub struct Live {
    /// Where: a `PageData` with its blobs (`{ "data": PageData, "blobs": [base64, ...] }`).
    pub url: String,
    /// How often.
    pub every_ms: u64,
}

/// A run.
#[derive(Clone, Debug, Serialize)]
pub struct Run {
    /// Its name, unique on the page.
    pub label: String,
    /// Its name in its record.
    pub run_id: String,
    /// The first line of the page: server, transport, load, start, length.
    pub facts: Vec<Fact>,
    /// What the run says.
    pub answer: Answer,
    /// Whether it may be the generator that was measured.
    pub verdict: Verdict,
    /// In the order in which they were given.
    pub expectations: Vec<Expectation>,
    /// What a reader must know before the figures: the record is incomplete, all answers were REFUSED, hints.
    pub messages: Vec<Message>,
    /// Which latency is shown first.
    pub headline: Headline,
    /// Whether no responses were awaited.
    pub send_only: bool,
    /// Whether nothing was sent: there is only what was watched.
    pub watch_only: bool,
    /// Names of the members of a mix, in the order of the columns `members.N`; empty without a mix.
    pub members: Vec<String>,
    /// What the members differ by; `null` without a mix.
    pub members_by: Option<MembersBy>,
    /// Names of the agents, in the order of the columns `agents.N`; empty of a run of one process.
    pub agents: Vec<String>,
    /// The times that lack the part of an agent, as "partial: lg2 is missing": there are no rates in them.
    pub partial: Vec<Phase>,
    /// When it began, since 1970; as text, because it is above 2^53.
    pub started_unix_ns: String,
    /// Length of its intervals.
    pub interval_ns: u64,
    /// After which a query has no response.
    pub timeout_ns: u64,
    /// Length of the run until its last query ended.
    pub to_ns: u64,
    /// Only on a page from `dnsdyno serve`: the path below which run.ndjson, plan.toml and host.json are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<String>,
    /// Parts of the load, in order; bands above the time axis.
    pub phases: Vec<Phase>,
    /// What happened, in order.
    pub events: Vec<Event>,
    /// Further events of the record, which are not on the page.
    pub more_events: u64,
    /// What was read beside the load, by source.
    pub watched: Vec<Watched>,
    /// Which bottleneck they show; `null` where nothing was watched, or nothing sent.
    pub diagnosis: Option<Diagnosis>,
    /// By step or by time, by query type, by RCODE, by transport, ends, not sent, connections, fallback, workers, all
    /// counters.
    pub tables: Vec<Table>,
    /// Distributions over the whole run, one per latency that the run has; the headline first.
    pub curves: Vec<Curve>,
    /// `null` where the load had one rate only.
    pub load_response: Option<LoadResponse>,
    /// How many queries each client (connection or socket) has sent: ascending; `null` where the record does not say.
    pub clients: Option<Vec<PerClient>>,
    /// How it was made.
    pub made: RunConditions,
    /// The object of `dnsdyno show --json` without its intervals: for the download.
    pub summary: Value,
    /// Its intervals.
    pub series: Series,
}

/// A line of a list.
#[derive(Clone, Debug, Serialize)]
pub struct Fact {
    /// What it is.
    pub label: String,
    /// What it is here.
    pub value: String,
}

/// The answer of a run in one sentence and at most four figures.
#[derive(Clone, Debug, Serialize)]
pub struct Answer {
    /// "Held 48,300 queries/s with no loss and p99 3.10 ms; the generator was not the limit."
    pub sentence: String,
    /// Those that the sentence is of.
    pub figures: Vec<Figure>,
}

/// A figure: label "held", value "48,300", unit "queries/s".
#[derive(Clone, Debug, Serialize)]
pub struct Figure {
    /// What it is.
    pub label: String,
    /// As shown.
    pub value: String,
    /// Empty without one.
    pub unit: String,
}

/// Whether it may be the generator that was measured.
#[derive(Clone, Debug, Serialize)]
pub struct Verdict {
    /// For its colour.
    pub state: State,
    /// "generator: ok", "generator: in doubt", "test bed: in doubt", "generator: no verdict"
    pub word: &'static str,
    /// The reasons for doubt.
    pub doubts: Vec<String>,
    /// What is worth to know, and no reason for doubt.
    pub notes: Vec<String>,
}

/// An expectation, and what became of it.
#[derive(Clone, Debug, Serialize)]
pub struct Expectation {
    /// As it was given: "p99<5ms"
    pub text: String,
    /// What was measured instead, or as well.
    pub measured: String,
    /// Undecided: the generator's own part in what was measured may decide it, or the runs do not say it. One of
    /// `pass`, `fail`, `undecided`
    pub state: &'static str,
    /// Its line in the charts; `null` where none of them shows the figure.
    pub limit: Option<Limit>,
}

/// What an expectation compares a figure with, where a chart shows that figure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Limit {
    /// The figure: the headline latency, how late queries were sent, the rate answered or sent, or the share of the
    /// queries that was not answered. One of `latency`, `lateness`, `rate`, `sent_rate`, `loss`
    pub of: &'static str,
    /// Nanoseconds, queries per second, or 0 to 1.
    pub value: f64,
    /// Of a percentile, the share of the slowest queries: 0.01 of p99; `null` of others.
    pub slowest: Option<f64>,
}

/// What a reader must know before the figures.
#[derive(Clone, Debug, Serialize)]
pub struct Message {
    /// How much it weighs. One of `warning`, `hint`
    pub kind: &'static str,
    /// A sentence or more.
    pub text: String,
}

/// A part of the load.
#[derive(Clone, Debug, Serialize)]
pub struct Phase {
    /// "4,000 q/s"
    pub label: String,
    /// Its begin.
    pub from_ns: u64,
    /// Its end.
    pub to_ns: u64,
}

/// What happened at an instant.
#[derive(Clone, Debug, Serialize)]
pub struct Event {
    /// When.
    pub at_ns: u64,
    /// Its kind in the record.
    pub kind: String,
    /// A sentence.
    pub message: String,
}

/// Which bottleneck a run shows. The texts are those of `dnsdyno diagnose`.
#[derive(Clone, Debug, Serialize)]
pub struct Diagnosis {
    /// A sentence.
    pub verdict: String,
    /// In the order of how much each explains.
    pub findings: Vec<Finding>,
    /// What was counted at one place and not at the next, a sentence each.
    pub cross_check: Vec<String>,
}

/// A bottleneck.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// What it is.
    pub sentence: String,
    /// "udp.drops of named (4711): 4,765"
    pub evidence: Vec<String>,
    /// What may be changed.
    pub parameters: Vec<Parameter>,
    /// How to see that a change has helped.
    pub check: String,
}

/// A parameter of a host or server.
#[derive(Clone, Debug, Serialize)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Of what.
    pub of: String,
    /// Its value during the run.
    pub value: String,
    /// What to try.
    pub r#try: String,
}

/// A source: a host, a process, the statistics of a server.
#[derive(Clone, Debug, Serialize)]
pub struct Watched {
    /// What it is.
    pub kind: WatchedKind,
    /// Its name.
    pub label: String,
    /// How many of its series were not 0 all the time.
    pub moved: usize,
    /// Those of them that the page has.
    pub series: Vec<WatchedSeries>,
}

/// A series of a source.
#[derive(Clone, Debug, Serialize)]
pub struct WatchedSeries {
    /// Its name in the record.
    pub name: String,
    /// The name of its column: the rise of a counter, the highest value of a gauge; no value where it was not read.
    pub column: String,
    /// What it is. One of `counter`, `gauge`
    pub kind: &'static str,
    /// Of its values.
    pub unit: SeriesUnit,
    /// 0 for losses, then whole figures, those of one CPU, thread or socket, and a server's own names.
    pub rank: u8,
}

/// A table, as shown.
#[derive(Clone, Debug, Serialize)]
pub struct Table {
    /// Unique in the run; a slug: "steps", "types".
    pub id: &'static str,
    /// Its heading.
    pub title: &'static str,
    /// Their heads.
    pub columns: Vec<TableColumn>,
    /// As shown, with separators and units where they vary. "-" where there is nothing.
    pub rows: Vec<Vec<String>>,
}

/// The head of a column of a table.
#[derive(Clone, Debug, Serialize)]
pub struct TableColumn {
    /// What is in it.
    pub title: String,
    /// Of all its cells; empty without one.
    pub unit: String,
    /// Where its cells stand. One of `left`, `right`
    pub align: &'static str,
}

/// The logarithmic percentile curve: for a share of the slowest queries, the latency that they have at least.
///
/// `slowest[i]` falls from 1 to 1 / count; `ns[i]` is the latency at that rank, `null` where it is beyond the timeout.
#[derive(Clone, Debug, Serialize)]
pub struct Curve {
    /// "response time", "service time", "response time, dot", "connect"
    pub title: String,
    /// Durations, with those of unanswered queries.
    pub count: u64,
    /// Those beyond the timeout.
    pub unanswered: u64,
    /// Shares.
    pub slowest: Vec<f64>,
    /// Latencies.
    pub ns: Vec<Option<u64>>,
}

/// What was answered at each rate that was asked.
#[derive(Clone, Debug, Serialize)]
pub struct LoadResponse {
    /// Ascending by `asked_qps`. Rates in queries per second.
    pub points: Vec<LoadPoint>,
    /// Which rates were held; `null` where nothing can be said of it.
    pub knee: Option<Knee>,
}

/// Where a server stops to hold the rate.
#[derive(Clone, Debug, Serialize)]
pub struct Knee {
    /// The highest rate that was held; `null` where the lowest was not.
    pub held_qps: Option<f64>,
    /// The first that was not; `null` where all were held.
    pub lost_qps: Option<f64>,
    /// When a rate is held, in words.
    pub rule: &'static str,
}

/// What came of a rate.
#[derive(Clone, Debug, Serialize)]
pub struct LoadPoint {
    /// What was due.
    pub asked_qps: f64,
    /// What was sent of it.
    pub sent_qps: f64,
    /// What was answered of it in time.
    pub answered_qps: f64,
    /// What was not answered of it in time, for any reason.
    pub failed_qps: f64,
    /// 0 to 1.
    pub answered_share: Option<f64>,
    /// The mean of the answered queries.
    pub avg_ns: Option<u64>,
    /// Of the headline latency.
    pub p50_ns: Option<Bounded>,
    /// Of the headline latency.
    pub p99_ns: Option<Bounded>,
    /// The begin of its part of the run.
    pub from_ns: u64,
    /// The end of its part of the run.
    pub to_ns: u64,
}

/// A percentile: nanoseconds, or the word for beyond the timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Bounded {
    /// Nanoseconds.
    Ns(u64),
    /// One of `beyond`
    Word(&'static str),
}

/// How a run was made.
#[derive(Clone, Debug, Serialize)]
pub struct RunConditions {
    /// A command that makes the same run again, as one would type it.
    pub command: String,
    /// plan.toml; empty where the record has none.
    pub plan: String,
    /// The host that made it.
    pub host: Vec<Fact>,
    /// Hash of the queries, versions.
    pub facts: Vec<Fact>,
}

/// The intervals of a run, as columns, at several resolutions: finest first.
#[derive(Clone, Debug, Serialize)]
pub struct Series {
    /// N of `blob-N`.
    pub blob: usize,
    /// Bytes of the blob after inflating.
    pub bytes: usize,
    /// Finest first.
    pub levels: Vec<Level>,
}

/// A level with factor 10 has one row where the first level has ten (fewer at the end of a phase or of the run).
#[derive(Clone, Debug, Serialize)]
pub struct Level {
    /// How many rows of the first level a row stands for.
    pub factor: u64,
    /// Its rows.
    pub rows: u64,
    /// Its columns.
    pub columns: Vec<Column>,
    /// Latency buckets of the headline latency for the heat map; absent where the run has no latency.
    ///
    /// Row after row: a varint with the number of cells of the row, then for each cell two varints: the distance of its
    /// bucket from the one before (from 0 for the first), and its count. Bucket b holds the durations from
    /// (8 + b % 8) * 2^(floor(b / 8) - 3) ns up to the next one: eight per octave.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heat: Option<Place>,
    /// Only at factor 1 of a very long run, whose page would be too large: names of columns that only coarser levels
    /// have (they are not 0 here, but unknown), and "heat".
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
}

/// Bytes of the inflated blob.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Place {
    /// Where they begin.
    pub offset: usize,
    /// How many they are.
    pub bytes: usize,
}

/// A column of integers: `rows` varints (LEB128, unsigned) from `offset` of the inflated blob.
///
/// 0 is no value (too few queries for this percentile, nothing measured), 1 is "beyond the timeout", and n >= 2 is the
/// zigzag difference to the last value of the column before it (0 before the first): value = last + unzigzag(n - 2).
/// Columns whose values are all 0 are absent, except `from_ns`, `covered_ns`, `scheduled`, `sent`, `ends.answered`.
///
/// Names are the paths of the counters in the record (docs/formats/run.md): `ends.timed_out`, `rcodes.NOERROR`,
/// `types.A.answered`, `members.0.scheduled`, `agents.0.scheduled`, `arrivals.connections.opened`, `workers.0.cpu_ns`;
/// a duration has the columns `PATH.p50`, `.p99` and so on: the headline latency, with unanswered queries in it, is
/// `latency.` with min, p25, p50, p75, p90, p95, p99, p99_9, max, avg; others have count, p50, p99, max. Columns that
/// are equal may have the same place. Of our own: `from_ns`, `covered_ns` (time that the load covers: divide counts of
/// queries by it for rates), `idle_ns` (the rest of the interval, where there is one), `asked_micro` (scheduled
/// queries in millionths; 0 or absent in closed loop), `sent`, `partial_intervals` (intervals that lack the part of an
/// agent: no rates). Watched series are `watched.SOURCE.NAME`; see [`WatchedSeries`].
#[derive(Clone, Debug, Serialize)]
pub struct Column {
    /// Unique in its level.
    pub name: String,
    /// Of its values.
    pub unit: Unit,
    /// Its bytes.
    #[serde(flatten)]
    pub place: Place,
}

/// The units of columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// A number of things, which rise.
    Count,
    /// Nanoseconds.
    Ns,
    /// Millionths.
    Micro,
    /// Octets.
    Bytes,
    /// A number of things at an instant.
    Gauge,
}

/// Two sets of runs.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// "Slower: p99 5.1 % higher (95 % interval 3.9 to 6.2 %)."
    pub sentence: String,
    /// What it says. One of `faster`, `slower`, `mixed`, `no_difference`, `undecided`, `too_few`
    pub state: String,
    /// The baseline.
    pub a: Side,
    /// The candidate: what the sentence is about.
    pub b: Side,
    /// Name of the metric that is judged first.
    pub first: String,
    /// Over the whole runs.
    pub metrics: Vec<ComparedMetric>,
    /// The metric `first` by step of the load, whose label is the `name`; empty where the load has no steps.
    pub steps: Vec<ComparedMetric>,
    /// What was not asked alike; empty where all was.
    pub unlike: Vec<String>,
    /// What is worth to know.
    pub notes: Vec<String>,
    /// The bounds that were given.
    pub fail_if: Vec<Expectation>,
}

/// A side of a comparison.
#[derive(Clone, Debug, Serialize)]
pub struct Side {
    /// "baseline", "candidate"
    pub title: String,
    /// The labels of its runs.
    pub runs: Vec<String>,
}

/// A metric of both sides.
#[derive(Clone, Debug, Serialize)]
pub struct ComparedMetric {
    /// "p99"
    pub name: String,
    /// Of its values. One of `ns`, `qps`, `share`
    pub unit: String,
    /// Whether less is better.
    pub less_is_better: bool,
    /// Median over the runs of A, as text.
    pub a: String,
    /// Median over the runs of B, as text.
    pub b: String,
    /// The figure of each run of A; a percentile beyond the timeout is the timeout.
    pub a_values: Vec<Option<f64>>,
    /// The same of B.
    pub b_values: Vec<Option<f64>>,
    /// Difference of B to A, whose 95 % interval is `from` to `to`: relative (0.051 is 5.1 % more), for the unit
    /// "share" the difference of the shares (0.002 is 0.2 percentage points more). `null` where there is none.
    pub difference: Option<f64>,
    /// The begin of its interval.
    pub from: Option<f64>,
    /// The end of its interval.
    pub to: Option<f64>,
    /// Of this metric alone.
    pub p_value: Option<f64>,
    /// With the other metrics taken into account; the verdict follows from it.
    pub p_adjusted: Option<f64>,
    /// Probability that a run of B is above a run of A (Vargha-Delaney A12).
    pub effect: Option<f64>,
    /// What the difference is. One of `better`, `worse`, `no_difference`, `may_be_ours`, `not_compared`, `too_few`
    pub verdict: String,
    /// The difference in words.
    pub words: String,
}

/// A folder of runs, newest first.
#[derive(Clone, Debug, Serialize)]
pub struct Folder {
    /// As the user named it.
    pub path: String,
    /// Newest first.
    pub runs: Vec<FolderRun>,
    /// Runs that are not listed, because there are too many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub more: Option<u64>,
}

/// A run of a folder.
#[derive(Clone, Debug, Serialize)]
pub struct FolderRun {
    /// The name of its folder: part of the link `runs/NAME/`.
    pub folder: String,
    /// Its name.
    pub name: String,
    /// What its user noted.
    pub note: String,
    /// The server, with its address and port.
    pub target: String,
    /// How it was asked.
    pub transport: String,
    /// How much it was asked.
    pub load: String,
    /// "2026-11-22 13:50:12 UTC"
    pub started: String,
    /// The same in nanoseconds.
    pub started_unix_ns: String,
    /// How long it took, as text.
    pub length: String,
    /// Its answer.
    pub sentence: String,
    /// Whether it may be the generator that was measured.
    pub verdict: State,
    /// In progress, ended, cut short; `error`: it cannot be read, and `sentence` says why. One of `running`, `ended`,
    /// `cut_short`, `error`
    pub state: &'static str,
}

impl Fact {
    /// A fact of these texts.
    pub fn new(label: &str, value: impl Into<String>) -> Fact {
        Fact { label: label.to_owned(), value: value.into() }
    }
}

impl Bounded {
    fn of(quantile: Quantile) -> Bounded {
        match quantile {
            Quantile::At(ns) => Bounded::Ns(ns),
            Quantile::BeyondTimeout => Bounded::Word("beyond"),
        }
    }
}

impl From<dnsdyno_report::Verdict> for Verdict {
    fn from(verdict: dnsdyno_report::Verdict) -> Verdict {
        let dnsdyno_report::Verdict { state, word, doubts, ours, notes } = verdict;
        let notes = ours.into_iter().chain(notes).collect();
        Verdict { state, word, doubts, notes }
    }
}

impl From<dnsdyno_report::diagnosis::Diagnosis> for Diagnosis {
    fn from(diagnosis: dnsdyno_report::diagnosis::Diagnosis) -> Diagnosis {
        Diagnosis {
            verdict: diagnosis.verdict,
            findings: diagnosis.findings.into_iter().map(Finding::from).collect(),
            cross_check: diagnosis.cross_check.into_iter().map(|compared| compared.sentence).collect(),
        }
    }
}

impl From<dnsdyno_report::diagnosis::Finding> for Finding {
    fn from(finding: dnsdyno_report::diagnosis::Finding) -> Finding {
        let evidence = |evidence: dnsdyno_report::diagnosis::Evidence| {
            let text = |value| dnsdyno_measure::series::value_text(&evidence.series, value);
            let limit = evidence.limit.map_or(String::new(), |limit| format!(" of {}", text(limit)));
            format!("{} of {}: {}{limit}", evidence.series, evidence.source, text(evidence.value))
        };
        let parameter = |parameter: dnsdyno_report::diagnosis::Parameter| Parameter {
            name: parameter.name,
            of: parameter.of,
            value: parameter.value,
            r#try: parameter.r#try,
        };
        Finding {
            sentence: finding.sentence,
            evidence: finding.evidence.into_iter().map(evidence).collect(),
            parameters: finding.parameters.into_iter().map(parameter).collect(),
            check: finding.check,
        }
    }
}

impl From<dnsdyno_report::Figure> for Figure {
    fn from(figure: dnsdyno_report::Figure) -> Figure {
        Figure { label: figure.label, value: figure.value, unit: figure.unit }
    }
}

impl From<dnsdyno_report::LoadResponse> for LoadResponse {
    fn from(load: dnsdyno_report::LoadResponse) -> LoadResponse {
        let dnsdyno_report::Knee { held_qps, lost_qps } = load.knee;
        let point = |point: dnsdyno_report::LoadPoint| LoadPoint {
            asked_qps: point.asked_qps,
            sent_qps: point.sent_qps,
            answered_qps: point.answered_qps,
            failed_qps: point.failed_qps,
            answered_share: point.answered_share,
            avg_ns: point.avg_ns,
            p50_ns: point.p50.map(Bounded::of),
            p99_ns: point.p99.map(Bounded::of),
            from_ns: point.from_ns,
            to_ns: point.to_ns,
        };
        LoadResponse {
            points: load.points.into_iter().map(point).collect(),
            knee: Some(Knee { held_qps, lost_qps, rule: HELD_RULE }),
        }
    }
}
