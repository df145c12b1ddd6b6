//! The data of a page: what `web/src/data/types.ts` describes, where each property has its meaning. A change here is
//! a change there.
#![allow(missing_docs)]

use dnsdyno_measure::{PerClient, Quantile};
use dnsdyno_report::HELD_RULE;
use serde::Serialize;
use serde_json::Value;

/// Counts the changes of these types.
pub const FORMAT: u32 = 1;

#[derive(Clone, Debug, Serialize)]
pub struct PageData {
    pub format: u32,
    pub kind: Kind,
    pub title: String,
    pub made_by: String,
    pub made_at: String,
    pub runs: Vec<Run>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_response: Option<LoadResponse>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comparison: Option<Comparison>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<Folder>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub live: Option<Live>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub home: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Report,
    Comparison,
    Folder,
}

#[derive(Clone, Debug, Serialize)]
pub struct Live {
    pub url: String,
    pub every_ms: u64,
}

#[derive(Clone, Debug, Serialize)]
pub struct Run {
    pub label: String,
    pub run_id: String,
    pub facts: Vec<Fact>,
    pub answer: Answer,
    pub verdict: Verdict,
    pub expectations: Vec<Expectation>,
    pub messages: Vec<Message>,
    pub headline: &'static str,
    pub send_only: bool,
    pub watch_only: bool,
    pub members: Vec<String>,
    pub members_by: Option<&'static str>,
    pub started_unix_ns: String,
    pub interval_ns: u64,
    pub timeout_ns: u64,
    pub to_ns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<String>,
    pub phases: Vec<Phase>,
    pub events: Vec<Event>,
    pub more_events: u64,
    pub watched: Vec<Watched>,
    pub diagnosis: Option<Diagnosis>,
    pub tables: Vec<Table>,
    pub curves: Vec<Curve>,
    pub load_response: Option<LoadResponse>,
    pub clients: Option<Vec<PerClient>>,
    pub made: RunConditions,
    pub summary: Value,
    pub series: Series,
}

#[derive(Clone, Debug, Serialize)]
pub struct Fact {
    pub label: String,
    pub value: String,
}

#[derive(Clone, Debug, Serialize)]
pub struct Answer {
    pub sentence: String,
    pub figures: Vec<Figure>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Figure {
    pub label: String,
    pub value: String,
    pub unit: String,
}

#[derive(Clone, Debug, Serialize)]
pub struct Verdict {
    pub state: &'static str,
    pub word: &'static str,
    pub doubts: Vec<String>,
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Expectation {
    pub text: String,
    pub measured: String,
    pub state: &'static str,
}

#[derive(Clone, Debug, Serialize)]
pub struct Message {
    pub kind: &'static str,
    pub text: String,
}

#[derive(Clone, Debug, Serialize)]
pub struct Phase {
    pub label: String,
    pub from_ns: u64,
    pub to_ns: u64,
}

#[derive(Clone, Debug, Serialize)]
pub struct Event {
    pub at_ns: u64,
    pub kind: String,
    pub message: String,
}

#[derive(Clone, Debug, Serialize)]
pub struct Diagnosis {
    pub verdict: String,
    pub findings: Vec<Finding>,
    pub cross_check: Vec<String>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    pub sentence: String,
    pub evidence: Vec<String>,
    pub parameters: Vec<Parameter>,
    pub check: String,
}

#[derive(Clone, Debug, Serialize)]
pub struct Parameter {
    pub name: String,
    pub of: String,
    pub value: String,
    pub r#try: String,
}

#[derive(Clone, Debug, Serialize)]
pub struct Watched {
    pub kind: &'static str,
    pub label: String,
    pub moved: usize,
    pub series: Vec<WatchedSeries>,
}

#[derive(Clone, Debug, Serialize)]
pub struct WatchedSeries {
    pub name: String,
    pub column: String,
    pub kind: &'static str,
    pub unit: &'static str,
    pub rank: u8,
}

#[derive(Clone, Debug, Serialize)]
pub struct Table {
    pub id: &'static str,
    pub title: &'static str,
    pub columns: Vec<TableColumn>,
    pub rows: Vec<Vec<String>>,
}

#[derive(Clone, Debug, Serialize)]
pub struct TableColumn {
    pub title: String,
    pub unit: String,
    pub align: &'static str,
}

#[derive(Clone, Debug, Serialize)]
pub struct Curve {
    pub title: String,
    pub count: u64,
    pub unanswered: u64,
    pub slowest: Vec<f64>,
    pub ns: Vec<Option<u64>>,
}

#[derive(Clone, Debug, Serialize)]
pub struct LoadResponse {
    pub points: Vec<LoadPoint>,
    pub knee: Option<Knee>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Knee {
    pub held_qps: Option<f64>,
    pub lost_qps: Option<f64>,
    pub rule: &'static str,
}

#[derive(Clone, Debug, Serialize)]
pub struct LoadPoint {
    pub asked_qps: f64,
    pub sent_qps: f64,
    pub answered_qps: f64,
    pub failed_qps: f64,
    pub answered_share: Option<f64>,
    pub avg_ns: Option<u64>,
    pub p50_ns: Option<Bounded>,
    pub p99_ns: Option<Bounded>,
    pub from_ns: u64,
    pub to_ns: u64,
}

/// A percentile: nanoseconds, or the word for beyond the timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Bounded {
    Ns(u64),
    Word(&'static str),
}

#[derive(Clone, Debug, Serialize)]
pub struct RunConditions {
    pub command: String,
    pub plan: String,
    pub host: Vec<Fact>,
    pub facts: Vec<Fact>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Series {
    pub blob: usize,
    pub bytes: usize,
    pub levels: Vec<Level>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Level {
    pub factor: u64,
    pub rows: u64,
    pub columns: Vec<Column>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heat: Option<Place>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
}

/// Bytes of the inflated blob.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Place {
    pub offset: usize,
    pub bytes: usize,
}

#[derive(Clone, Debug, Serialize)]
pub struct Column {
    pub name: String,
    pub unit: Unit,
    #[serde(flatten)]
    pub place: Place,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    Count,
    Ns,
    Micro,
    Bytes,
    Gauge,
}

#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    pub sentence: String,
    pub state: String,
    pub a: Side,
    pub b: Side,
    pub first: String,
    pub metrics: Vec<ComparedMetric>,
    pub steps: Vec<ComparedMetric>,
    pub unlike: Vec<String>,
    pub notes: Vec<String>,
    pub fail_if: Vec<Expectation>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Side {
    pub title: String,
    pub runs: Vec<String>,
}

#[derive(Clone, Debug, Serialize)]
pub struct ComparedMetric {
    pub name: String,
    pub unit: String,
    pub less_is_better: bool,
    pub a: String,
    pub b: String,
    pub a_values: Vec<Option<f64>>,
    pub b_values: Vec<Option<f64>>,
    pub difference: Option<f64>,
    pub from: Option<f64>,
    pub to: Option<f64>,
    pub p_value: Option<f64>,
    pub p_adjusted: Option<f64>,
    pub effect: Option<f64>,
    pub verdict: String,
    pub words: String,
}

#[derive(Clone, Debug, Serialize)]
pub struct Folder {
    pub path: String,
    pub runs: Vec<FolderRun>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub more: Option<u64>,
}

#[derive(Clone, Debug, Serialize)]
pub struct FolderRun {
    pub folder: String,
    pub name: String,
    pub note: String,
    pub target: String,
    pub transport: String,
    pub load: String,
    pub started: String,
    pub started_unix_ns: String,
    pub length: String,
    pub sentence: String,
    pub verdict: &'static str,
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

/// The word for the state of a verdict.
pub fn state_word(state: dnsdyno_report::State) -> &'static str {
    match state {
        dnsdyno_report::State::Ok => "ok",
        dnsdyno_report::State::Doubt => "doubt",
        dnsdyno_report::State::Unknown => "unknown",
    }
}

impl From<dnsdyno_report::Verdict> for Verdict {
    fn from(verdict: dnsdyno_report::Verdict) -> Verdict {
        let dnsdyno_report::Verdict { state, word, doubts, ours, notes } = verdict;
        let notes = ours.into_iter().chain(notes).collect();
        Verdict { state: state_word(state), word, doubts, notes }
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
