//! The source of the queries, and what is sent of it, as the options say it.

use std::path::Path;
use std::str::FromStr;

use dnsdyno_queries::{ClientsSource, Generator, HitRate, Order, QuerySource, Selection, TypeWeights};
use dnsdyno_text::notation::{format_duration_ns, parse_duration_ns, parse_percent};

use crate::draft::Draft;
use crate::error::PlanError;
use crate::groups::Group;
use crate::values::{absolute, limited, read};

/// The source that the options name.
pub(crate) fn source(draft: &mut Draft, working_dir: &Path) -> Result<QuerySource, PlanError> {
    let mut given = draft.choices(Group::Source);
    if draft.generator.is_some() {
        // It makes queries of the name that is asked for.
        given.retain(|option| *option != "ask");
    }
    if let [first, second, ..] = given[..] {
        return Err(PlanError::TwoSources { first, second });
    }
    if draft.replay.is_some() {
        return Ok(QuerySource::Capture);
    }
    if let Some(text) = &mut draft.source {
        let wrong = || PlanError::Value { option: "source", text: text.clone(), expected: CLIENTS };
        let mut clients = ClientsSource::parse(text, draft.clients.is_some()).ok_or_else(wrong)?;
        let mut path = clients.path.display().to_string();
        clients.path = absolute(&mut path, working_dir);
        *text = format!("{}:{path}", clients.kind);
        return Ok(QuerySource::Clients(clients));
    }
    if let Some(text) = &draft.generator {
        let base = draft.ask.iter().flatten().next().map(String::as_str);
        let wrong = |reason| PlanError::Source { option: "generator", reason };
        return Generator::parse(text, base).map(QuerySource::Made).map_err(wrong);
    }
    match (&mut draft.queries, &mut draft.zone, &draft.ask) {
        (Some(path), ..) if path == "-" => Ok(QuerySource::Stdin),
        (Some(path), ..) => Ok(QuerySource::File(absolute(path, working_dir))),
        (None, Some(path), _) => {
            Ok(QuerySource::Zone { path: absolute(path, working_dir), origin: draft.origin.clone() })
        }
        (None, None, Some(items)) if !items.is_empty() => Ok(QuerySource::Given(items.clone())),
        (None, None, _) => Err(PlanError::NoQueries),
    }
}

/// Reads the options of what is sent.
pub(crate) fn selection(draft: &mut Draft) -> Result<Selection, PlanError> {
    Ok(Selection {
        format: draft.queries_format.unwrap_or_default(),
        types: parsed::<TypeWeights>("types", &draft.types)?,
        nxdomain: share("nxdomain", &draft.nxdomain)?.unwrap_or(0.0),
        order: parsed::<Order>("order", &draft.order)?.unwrap_or_default(),
        hit_rate: hit_rate(draft)?,
    })
}

fn hit_rate(draft: &Draft) -> Result<Option<HitRate>, PlanError> {
    let Some(share) = share("hit-rate", &draft.hit_rate)? else { return Ok(None) };
    let missing = PlanError::Incomplete { load: "hit-rate", missing: "ttl", example: "300s" };
    let ttl_ns = read("ttl", &draft.ttl, parse_duration_ns)?.ok_or(missing)?;
    limited("ttl", ttl_ns, TTL_NS, format_duration_ns)?;
    if draft.hot == Some(0) {
        return Err(PlanError::Zero { option: "hot" });
    }
    Ok(Some(HitRate { share, ttl_ns, hot: draft.hot }))
}

/// Reads a share: 0% to 100%.
fn share(option: &'static str, text: &Option<String>) -> Result<Option<f64>, PlanError> {
    let share = read(option, text, parse_percent)?;
    if share.is_none_or(|share| share <= 1.0) {
        return Ok(share);
    }
    let given = text.clone().unwrap_or_default();
    Err(PlanError::OutOfRange { option, given, min: "0%".to_owned(), max: "100%".to_owned() })
}

/// Reads a value whose own error says what is wrong with it.
fn parsed<T: FromStr<Err = String>>(
    option: &'static str,
    text: &Option<String>,
) -> Result<Option<T>, PlanError> {
    text.as_deref().map(T::from_str).transpose().map_err(|reason| PlanError::Source { option, reason })
}

const CLIENTS: &str = "a source: write epc:FILE or stub:FILE, with the description of the clients (the address to \
     send from is --local-address)";

/// Resolvers count whole seconds; they keep no name for longer than a week.
const TTL_NS: std::ops::RangeInclusive<u64> = 1_000_000_000..=604_800_000_000_000;
