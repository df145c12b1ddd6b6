//! The answer of a run: one sentence, and at most four figures.
//!
//! ```text
//!   Held 48,300 queries/s with no loss and p99 3.10 ms; the generator was not the limit.
//!   └─ what was reached ─────────────────────────────┘ └─ whose figure it is ────────┘
//! ```
//!
//! Where the worst moment is far from the whole, it is named too.

mod worst;

use dnsdyno_measure::{BoundedLatency, Bounds, Latency};
use dnsdyno_record::held::{Growth, HELD_LOSS, Load};
use dnsdyno_record::{Digest, Ended, Headline};
use dnsdyno_text::units::{count, counted, duration, length, percent, rate};

use crate::bounds;
use crate::check::only_refusals;
use crate::figures::{
    RATE_NEEDS_NS, RATE_NEEDS_QUERIES, carries_a_rate, headline, is_partial, judged, lateness, lost,
    run_rate, sent, share,
};
use crate::quantile::quantile;
use crate::steps::Steps;
use crate::verdict::{State, Verdict, verdict};

/// The answer of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// One sentence, or two.
    pub sentence: String,
    /// The figures in it, and those that belong to it.
    pub figures: Vec<Figure>,
    /// Whether the generator may have limited the result.
    pub verdict: Verdict,
}

/// A figure as it is shown: `48,300`, `queries/s`, `held`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Figure {
    /// What it is.
    pub label: String,
    /// The number.
    pub value: String,
    /// Its unit; empty where it has none.
    pub unit: String,
}

/// The answer of a run.
pub fn answer(digest: &Digest) -> Answer {
    let verdict = verdict(digest);
    if digest.header.is_watch_only() {
        return Answer { sentence: watched(digest), figures: Vec::new(), verdict };
    }
    let Reached { words, figures } = reached(digest);
    let so_far = match digest.ended() {
        None if digest.in_progress => "So far: ",
        None => "As far as the record goes: ",
        Some(Ended::Failed { .. }) => "Until it failed: ",
        Some(_) => "",
    };
    let sentence = with_capital(&format!("{so_far}{words}{}", whose(digest, &verdict)));
    Answer { sentence, figures, verdict }
}

/// What was done instead of a load.
fn watched(digest: &Digest) -> String {
    let sources = counted(digest.header.watched.len() as u64, "source was", "sources were");
    format!("Nothing was sent; {sources} watched for {}.", length(digest.to_ns()))
}

/// What a run has reached: a clause without a full stop, and its figures.
struct Reached {
    words: String,
    figures: Vec<Figure>,
}

fn reached(digest: &Digest) -> Reached {
    let tally = digest.tally();
    if tally.scheduled == 0 {
        return Reached { words: "no query was due".to_owned(), figures: Vec::new() };
    }
    if digest.header.send_only {
        return sent_only(digest);
    }
    let waited_for = judged(tally);
    if tally.ends.answered == 0 {
        let figures = vec![plain("answered", "0"), loss_of(1.0)];
        let words = match waited_for {
            0 => "every query was interrupted".to_owned(),
            1 => "the only query was not answered in time".to_owned(),
            _ => format!("none of {} queries was answered in time", count(waited_for)),
        };
        return Reached { words, figures };
    }
    if let Some(names) = only_refusals(digest) {
        let all = count(tally.rcodes.total());
        let words =
            format!("all {all} responses were {names}: the figures are those of this error, not of answers");
        return Reached { words, figures: rates_and_latency(digest, "answered") };
    }
    match (Steps::of(digest), digest.header.headline) {
        (Some(steps), _) => of_steps(digest, &steps),
        _ if !carries_a_rate(digest) => too_short(digest),
        (None, _) if is_partial(digest) => of_a_part(digest),
        (None, Headline::Response) => of_one_rate(digest),
        (None, Headline::Service) => of_a_window(digest),
    }
}

/// Whether the figure is that of the server.
fn whose(digest: &Digest, verdict: &Verdict) -> &'static str {
    match (verdict.state, digest.header.headline, digest.header.send_only) {
        (State::Doubt, ..) => "; rate and loss are in doubt, so these figures are not the server's limit.",
        (State::Unknown, ..) if digest.in_progress => {
            "; there is a verdict on the generator when the run has ended."
        }
        (State::Unknown, ..) => "; the record has no end, and so no verdict on the generator.",
        (State::Ok, Headline::Response, false) if digest.tally().held_back == 0 => {
            "; the generator was not the limit."
        }
        // With a window the server waits for its clients too: no figure of such a run is a limit.
        (State::Ok, ..) => "; the generator was not in doubt.",
    }
}

fn of_one_rate(digest: &Digest) -> Reached {
    let tally = digest.tally();
    let (load, latency) = (Load::of_run(digest), headline(digest, tally));
    let p99 = p99_words(digest, &digest.percentiles(), latency);
    let worst = worst::of_run(digest, load.loss, latency);
    let [asked, answered] = [tally.scheduled, tally.ends.answered].map(|queries| rate_text(digest, queries));
    let loss = loss_words(load.loss);
    let interrupted = share(tally.ends.interrupted, tally.scheduled).unwrap_or(0.0);
    let words = match load {
        _ if interrupted > HELD_LOSS => {
            let cut = percent(interrupted);
            format!(
                "of {asked} queries/s asked, {answered} were answered: {cut} interrupted, {loss} of the others, \
                 {p99}{worst}"
            )
        }
        Load { loss: ..=HELD_LOSS, growth: None } => {
            let words = format!("held {answered} queries/s with {loss} and {p99}{worst}");
            return Reached { words, figures: rates_and_latency(digest, "held") };
        }
        Load { loss: ..=HELD_LOSS, growth: Some(growth) } => {
            format!("did not hold {asked} queries/s: {}, with {loss} and {p99}{worst}", growth_words(growth))
        }
        Load { growth, .. } => {
            let lost = percent(load.loss);
            let grew = growth.map_or(String::new(), |growth| format!(", and {}", growth_words(growth)));
            format!("of {asked} queries/s asked, {answered} were answered: {lost} lost, {p99}{worst}{grew}")
        }
    };
    Reached { words, figures: rates_and_latency(digest, "answered") }
}

/// `the queue grew, by 50.0 ms in each second`
fn growth_words(growth: Growth) -> String {
    format!("the queue grew, by {} in each second", duration(growth.ns_per_s()))
}

fn of_steps(digest: &Digest, steps: &Steps<'_>) -> Reached {
    let highest = steps.held().last();
    let mut figures = vec![match highest {
        Some(highest) => figure("held up to", &rate(highest.asked_qps), "queries/s"),
        None => plain("held", "none of the rates"),
    }];
    if let Some(first) = steps.not_held().next() {
        figures.push(figure("not held from", &rate(first.asked_qps), "queries/s"));
    }
    let row = highest.and_then(|highest| highest.row());
    let Some((row, highest)) = row.as_ref().zip(highest) else {
        return Reached { words: steps.words(), figures };
    };
    let (latency, percentiles) = (headline(digest, &row.tally), digest.percentiles_of(row));
    let p99 = p99_words(digest, &percentiles, latency);
    for (label, q) in [("p50 there", 0.5), ("p99 there", 0.99)] {
        figures.push(of_duration(label, percentiles.at(q), digest));
    }
    let worst = worst::of_steps(digest, steps.held(), latency);
    let words = format!("{}; {p99} at {}/s{worst}", steps.words(), rate(highest.asked_qps));
    Reached { words, figures }
}

/// A closed loop: the rate follows from the window.
fn of_a_window(digest: &Digest) -> Reached {
    let tally = digest.tally();
    let (loss, latency) = (share(lost(tally), judged(tally)).unwrap_or(0.0), headline(digest, tally));
    let outstanding = match digest.arrivals().in_flight_max {
        0 => String::new(),
        most => format!(", with at most {} outstanding", counted(most, "query", "queries")),
    };
    let words = format!(
        "answered {} queries/s with {} and {}{}{outstanding}",
        rate_text(digest, tally.ends.answered),
        loss_words(loss),
        p99_words(digest, &digest.percentiles(), latency),
        worst::of_run(digest, loss, latency)
    );
    Reached { words, figures: rates_and_latency(digest, "answered") }
}

fn sent_only(digest: &Digest) -> Reached {
    let tally = digest.tally();
    let missing = tally.ends.not_sent.total();
    let not_sent = share(missing, tally.scheduled).unwrap_or(0.0);
    let missing = match missing {
        0 => "all that were due".to_owned(),
        _ => format!("{} of those due were not", percent(not_sent)),
    };
    let sent_rate = run_rate(digest, sent(tally)).map(rate);
    let words = match &sent_rate {
        Some(sent_rate) => format!("sent {sent_rate} queries/s, {missing}, without waiting for responses"),
        None => format!("sent {}, {missing}, without waiting for responses", queries(sent(tally))),
    };
    let figures = vec![
        match sent_rate {
            Some(sent_rate) => figure("sent", &sent_rate, "queries/s"),
            None => plain("sent", &count(sent(tally))),
        },
        with_unit("not sent", &percent(not_sent)),
        of_duration("lateness p99", lateness(tally).percentile(0.99).map(Bounds::exact), digest),
    ];
    Reached { words, figures }
}

fn too_short(digest: &Digest) -> Reached {
    let (answered, of) = (digest.tally().ends.answered, judged(digest.tally()));
    let words = format!(
        "answered {} of {}; that is too short for a rate, which needs {} queries over {}",
        count(answered),
        queries(of),
        count(RATE_NEEDS_QUERIES),
        length(RATE_NEEDS_NS)
    );
    let mut figures = rates_and_latency(digest, "answered");
    figures[0] = plain("answered", &format!("{} of {}", count(answered), count(of)));
    Reached { words, figures }
}

/// A run that lacks the part of an agent: what is there says nothing of the rate.
fn of_a_part(digest: &Digest) -> Reached {
    let tally = digest.tally();
    let (loss, latency) = (share(lost(tally), judged(tally)).unwrap_or(0.0), headline(digest, tally));
    let words = format!(
        "of the queries that are known, {} were answered, with {} and {}; {} the part of an agent, so there is no rate",
        count(tally.ends.answered),
        loss_words(loss),
        p99_words(digest, &digest.percentiles(), latency),
        counted(digest.partial_intervals(), "interval lacks", "intervals lack"),
    );
    let mut figures = rates_and_latency(digest, "answered");
    figures[0] = plain("answered", &count(tally.ends.answered));
    Reached { words, figures }
}

/// Answered rate, loss, p50 and p99.
fn rates_and_latency(digest: &Digest, label: &str) -> Vec<Figure> {
    let tally = digest.tally();
    let percentiles = digest.percentiles();
    vec![
        figure(label, &rate_text(digest, tally.ends.answered), "queries/s"),
        loss_of(share(lost(tally), judged(tally)).unwrap_or(0.0)),
        of_duration("p50", percentiles.at(0.5), digest),
        of_duration("p99", percentiles.at(0.99), digest),
    ]
}

fn rate_text(digest: &Digest, queries: u64) -> String {
    run_rate(digest, queries).map_or("-".to_owned(), rate)
}

fn loss_words(loss: f64) -> String {
    if loss > 0.0 { format!("{} loss", percent(loss)) } else { "no loss".to_owned() }
}

/// `p99 3.10 ms`; where the queries are too few for it, the longest.
fn p99_words(digest: &Digest, percentiles: &BoundedLatency<'_>, latency: Latency<'_>) -> String {
    let timeout_ns = digest.header.timeout_ns;
    match percentiles.at(0.99) {
        Some(p99) => format!("p99 {}", bounds::words(p99, timeout_ns)),
        None => format!("a maximum of {}", quantile(crate::figures::longest(latency), timeout_ns)),
    }
}

fn queries(n: u64) -> String {
    counted(n, "query", "queries")
}

fn loss_of(share: f64) -> Figure {
    with_unit("loss", &percent(share))
}

fn of_duration(label: &str, at: Option<Bounds>, digest: &Digest) -> Figure {
    with_unit(label, &bounds::cell(at, digest.header.timeout_ns))
}

/// A text that ends with its unit: `3.10 ms`, `0.03 %`.
fn with_unit(label: &str, text: &str) -> Figure {
    let (value, unit) = text.rsplit_once(' ').unwrap_or((text, ""));
    figure(label, value, unit)
}

fn plain(label: &str, value: &str) -> Figure {
    figure(label, value, "")
}

fn figure(label: &str, value: &str, unit: &str) -> Figure {
    Figure { label: label.to_owned(), value: value.to_owned(), unit: unit.to_owned() }
}

fn with_capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests;
