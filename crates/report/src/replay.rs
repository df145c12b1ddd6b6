//! What a replay has read from its capture, how far it was behind it, and how its answers compare with the recorded
//! ones.

use dnsdyno_measure::{AnswerChecks, AnswerCounts, Latency, Quantile, ReplayCounts};
use dnsdyno_record::{Digest, Headline};
use dnsdyno_text::layout::flow_after;
use dnsdyno_text::units::{count, counted, duration, percent};

use crate::figures::{lateness, share};

/// Appends the section; nothing where no capture was replayed.
pub(crate) fn write(out: &mut String, digest: &Digest, width: usize) {
    let lines = lines(digest);
    if !lines.is_empty() {
        out.push('\n');
    }
    for (key, items) in lines {
        flow_after(out, &format!("  {key:<8}"), items, "   ", 10, width);
    }
}

/// Each line by its name, as items.
pub(crate) fn lines(digest: &Digest) -> Vec<(&'static str, Vec<String>)> {
    let Some(sum) = &digest.sum else { return Vec::new() };
    let mut lines = Vec::new();
    if let Some(counts) = &sum.replay {
        lines.push(("capture", capture(counts)));
        if digest.header.headline == Headline::Response {
            lines.extend(drift(lateness(digest.tally())).map(|items| ("drift", items)));
        }
    }
    if let Some(counts) = &sum.answers {
        lines.push(("answers", answers(counts)));
    }
    if let Some(checks) = &sum.answer_checks {
        lines.push(("answers", answers_checked(checks)));
        lines.push(("asked", asked_before(checks)));
    }
    lines
}

/// How far queries were behind the capture.
fn drift(lateness: Latency<'_>) -> Option<Vec<String>> {
    let Quantile::At(p99_ns) = lateness.quantile(0.99)? else { return None };
    let worst_ns = lateness.answered.exact()?.max_ns;
    Some(vec![format!("p99 {}", duration(p99_ns)), format!("worst {}", duration(worst_ns))])
}

/// What was read, and what was passed over.
fn capture(counts: &ReplayCounts) -> Vec<String> {
    let one_of = |number: u64, one, many| (number > 0).then(|| counted(number, one, many));
    let mut items = vec![format!(
        "{} of {}",
        counted(counts.queries, "query", "queries"),
        counted(counts.clients, "client", "clients")
    )];
    items.extend(one_of(counts.to_other_servers, "query to another server", "queries to other servers"));
    items.extend(one_of(counts.malformed, "query not valid", "queries not valid"));
    let skipped = counts.capture.skipped.by_reason();
    items.extend(skipped.map(|(reason, number)| format!("{} {}", reason.words(), count(number))));
    items.extend(one_of(counts.capture.tcp_gaps, "gap in a TCP stream", "gaps in TCP streams"));
    let capture = &counts.capture;
    let order = [
        (capture.reordered, "put in order"),
        (capture.out_of_order, "too late to be put in order"),
        (capture.without_instant, "without an instant of their own"),
    ];
    items.extend(order.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{} {what}", count(*n))));
    items
}

/// The answers under load, held against those before it.
fn answers_checked(checks: &AnswerChecks) -> Vec<String> {
    let checked = checks.checked();
    let share =
        |number| share(number, checked).map_or(String::new(), |share| format!(" ({})", percent(share)));
    let mut items = vec![
        format!("right {}{}", count(checks.right), share(checks.right)),
        format!("wrong {}{}", count(checks.wrong), share(checks.wrong)),
    ];
    let not_checked = [
        (checks.not_checked_changing, "of changing answers"),
        (checks.not_checked_unanswered, "not answered before the load"),
        (checks.not_checked_not_asked, "not asked before the load"),
        (checks.not_checked_truncated, "truncated"),
    ];
    let not_checked = not_checked.into_iter().filter(|(number, _)| *number > 0);
    items.extend(not_checked.map(|(number, words)| format!("not checked: {words} {}", count(number))));
    items
}

/// What the questions of the source got before the load.
fn asked_before(checks: &AnswerChecks) -> Vec<String> {
    let mut items = vec![counted(checks.questions, "question", "questions")];
    let kinds = [
        (checks.questions_known, "with one answer"),
        (checks.questions_changing, "with changing answers"),
        (checks.questions_unanswered, "without an answer"),
        (checks.questions_not_asked, "not asked"),
    ];
    items.extend(kinds.iter().filter(|(n, _)| *n > 0).map(|(n, words)| format!("{} {words}", count(*n))));
    items
}

/// The answers that were compared, as shares of them.
fn answers(counts: &AnswerCounts) -> Vec<String> {
    let compared = counts.compared();
    let part = |number: u64, words: &str| {
        let share = share(number, compared).map_or(String::new(), |share| format!(" ({})", percent(share)));
        format!("{words} {}{share}", count(number))
    };
    let mut items = vec![part(counts.same, "same")];
    let others = [(counts.different, "different"), (counts.better, "better"), (counts.worse, "worse")];
    items.extend(
        others.into_iter().filter(|(number, _)| *number > 0).map(|(number, words)| part(number, words)),
    );
    let uncompared = [
        (counts.unanswered, "not answered now"),
        (counts.only_now, "not answered in the capture"),
        (counts.not_compared, "not compared"),
    ];
    items.extend(
        uncompared
            .into_iter()
            .filter(|(number, _)| *number > 0)
            .map(|(number, words)| format!("{words} {}", count(number))),
    );
    items
}
