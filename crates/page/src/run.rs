//! One run as the page has it: what the summary tells, and its series.

use std::path::Path;

use dnsdyno_record::expect::{Decision, Expectations, Judged};
use dnsdyno_record::{Digest, Event, Line, Row, RunReader};
use dnsdyno_report::expect::{each_measured_text, missed_texts, outcome_measured_text};
use dnsdyno_report::{PointsOfLoad, answer, head, hint_texts, summary_json, tables as summary_tables};
use dnsdyno_text::units;

use crate::data::{self, Answer, Expectation, Fact, Message, Phase, Run, Series};
use crate::error::PageError;
use crate::levels::{Levels, rows_of_whole_levels};
use crate::pack::Packer;
use crate::partial::Partials;
use crate::walk::MOST_AGENTS;
use crate::watched::Chosen;
use crate::{curves, limits, made, tables};

/// The packed series of a run.
pub type Blob = Vec<u8>;

/// A run and its series, for a page of its own.
///
/// # Errors
/// The record cannot be read.
pub fn run_data(path: &Path, label: String) -> Result<(Run, Blob), PageError> {
    of_digest(path, &Digest::read(path)?, label, MOST_SERIES_BYTES)
}

/// The run at `path`, whose summary is `digest`, with packed series of about `most_bytes`.
pub(crate) fn of_digest(
    path: &Path,
    digest: &Digest,
    label: String,
    most_bytes: usize,
) -> Result<(Run, Blob), PageError> {
    let header = &digest.header;
    let rows = rows_of_whole_levels(digest.intervals);
    let chosen = Chosen::of(digest, rows, most_bytes / PART_OF_WATCHED);
    let watched = chosen.sources(digest);
    let mut levels = Levels::new(header, digest.intervals, chosen);
    let mut points = PointsOfLoad::new(digest);
    let mut partials = Partials::new(header);
    for line in RunReader::open(path)? {
        if let Line::Interval(interval) = line? {
            let row = Row::of(&interval);
            partials.add(&interval);
            levels.add(&row);
            points.iter_mut().for_each(|points| points.add(&row));
        }
    }
    let mut packer = Packer::new(most_bytes);
    let levels = levels.finish(&mut packer)?;
    let (blob, bytes) = packer.finish();
    let (expectations, unread) = expectations(path, digest)?;
    let answer = answer(digest);
    let clients = digest.sum.as_ref().map(|sum| sum.queries_per_client.clone());
    let run = Run {
        label,
        run_id: header.run_id.clone(),
        facts: facts(digest),
        answer: Answer {
            sentence: answer.sentence,
            figures: answer.figures.into_iter().map(data::Figure::from).collect(),
        },
        verdict: answer.verdict.into(),
        expectations,
        messages: unread.into_iter().chain(messages(digest)).collect(),
        headline: header.headline,
        send_only: header.send_only,
        watch_only: header.is_watch_only(),
        members: header.mix.iter().map(|member| member.label().to_owned()).collect(),
        members_by: header.members_by(),
        agents: header.agents.iter().take(MOST_AGENTS).map(|agent| agent.name.clone()).collect(),
        partial: partials.finish(),
        started_unix_ns: header.started_unix_ns.to_string(),
        interval_ns: header.interval_ns,
        timeout_ns: header.timeout_ns,
        to_ns: digest.to_ns(),
        files: None,
        phases: phases(digest),
        events: digest.events.iter().map(event).collect(),
        more_events: digest.more_events,
        watched,
        diagnosis: diagnosis(path, digest)?,
        tables: tables::of(digest),
        curves: curves::curves(digest),
        load_response: points.map(|points| points.finish().into()),
        clients: clients.filter(|clients| !clients.is_empty()),
        made: made::of(path, digest),
        summary: summary_json(digest),
        series: Series { blob: 0, bytes, levels },
    };
    Ok((run, blob))
}

/// What the watched series say about the trouble of a run; `None` where nothing was watched, or nothing sent.
fn diagnosis(path: &Path, digest: &Digest) -> Result<Option<data::Diagnosis>, PageError> {
    if digest.header.watched.is_empty() || digest.header.is_watch_only() {
        return Ok(None);
    }
    let diagnosis = dnsdyno_report::diagnosis(path)?;
    Ok(Some(diagnosis.into()).filter(|diagnosis: &data::Diagnosis| !diagnosis.verdict.is_empty()))
}

/// The first line of the page.
fn facts(digest: &Digest) -> Vec<Fact> {
    let header = &digest.header;
    let of_head = head(digest).into_iter().filter(|(key, _)| matches!(*key, "server" | "load" | "note"));
    let mut facts: Vec<_> = of_head.map(|(key, text)| Fact::new(key, text)).collect();
    facts.push(Fact::new("started", made::utc(header.started_unix_ns)));
    if let Some(start) = summary_tables::agents_start(digest) {
        facts.push(Fact::new("agents", format!("{}, {start}", units::count(header.agents.len() as u64))));
    }
    facts.push(Fact::new("length", units::length(digest.to_ns())));
    facts
}

fn messages(digest: &Digest) -> impl Iterator<Item = Message> {
    let of_kind = |kind| move |text| Message { kind, text };
    let warnings = summary_tables::warnings(digest).into_iter().map(of_kind("warning"));
    warnings.chain(hint_texts(digest).into_iter().map(of_kind("hint")))
}

/// The outcomes of the expectations in the plan of the run; a message where it cannot be read.
fn expectations(path: &Path, digest: &Digest) -> Result<(Vec<Expectation>, Option<Message>), PageError> {
    let kept = match Expectations::of_plan(path) {
        Ok(kept) => kept,
        Err(error) => {
            let text = format!("the expectations of this run are not known: {error}");
            return Ok((Vec::new(), Some(Message { kind: "warning", text })));
        }
    };
    let Judged { of_run, of_each } = kept.judge(digest, path)?;
    let headline = digest.header.headline;
    let of_run = of_run.iter().zip(&kept.of_run).map(|(outcome, expectation)| Expectation {
        text: outcome.text.clone(),
        measured: outcome_measured_text(outcome),
        state: state(outcome.decision),
        limit: limits::limit(expectation, headline),
    });
    let of_each = of_each.iter().zip(&kept.of_each).map(|(outcome, expectation)| Expectation {
        text: format!("each {}", outcome.text),
        measured: [each_measured_text(outcome)]
            .into_iter()
            .chain(missed_texts(outcome))
            .collect::<Vec<_>>()
            .join("; "),
        state: state(outcome.decision()),
        limit: limits::limit(expectation, headline),
    });
    Ok((of_run.chain(of_each).collect(), None))
}

fn state(decision: Decision) -> &'static str {
    match decision {
        Decision::Met => "pass",
        Decision::NotMet => "fail",
        Decision::Undecided => "undecided",
    }
}

/// The parts of the load as far as the run came; one alone is the whole run.
fn phases(digest: &Digest) -> Vec<Phase> {
    let phases =
        digest.header.phases.iter().take_while(|phase| phase.from_ns < digest.to_ns()).take(MOST_PHASES);
    let phase = |phase: &dnsdyno_record::Phase| Phase {
        label: phase.label.clone(),
        from_ns: phase.from_ns,
        to_ns: phase.to_ns.min(digest.to_ns()),
    };
    let phases: Vec<_> = phases.map(phase).collect();
    if phases.len() > 1 { phases } else { Vec::new() }
}

fn event(event: &Event) -> data::Event {
    data::Event { at_ns: event.at_ns, kind: event.kind.clone(), message: event.words() }
}

/// Of a page of one run: it has at most 15 MiB, of which four bytes stand for three of these.
pub(crate) const MOST_SERIES_BYTES: usize = 11_200_000;

/// The part of the series that may be watched ones, in the levels that leave none out.
const PART_OF_WATCHED: usize = 4;

/// More bands than the pixels of a screen show nothing.
const MOST_PHASES: usize = 2_000;
