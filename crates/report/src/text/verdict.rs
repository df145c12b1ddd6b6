//! The end of a summary: whether rate and loss are in doubt, what of the percentiles may be ours, and the rate.

use dnsdyno_measure::Evidence;
use dnsdyno_record::Digest;
use dnsdyno_record::held::HELD_LOSS;
use dnsdyno_text::layout::{NOTHING, paragraph};
use dnsdyno_text::safe;
use dnsdyno_text::units::{count, counted, length, percent, rate};

use crate::check::refusals;
use crate::figures::{
    RATE_NEEDS_NS, RATE_NEEDS_QUERIES, carries_a_rate, is_partial, judged, lost, run_rate, sent, share,
};
use crate::steps::Steps;
use crate::verdict::{State, verdict};

/// Appends the verdict.
pub(super) fn write(out: &mut String, digest: &Digest, width: usize) {
    let verdict = verdict(digest);
    out.push('\n');
    let more = match (verdict.state, &digest.sum) {
        (State::Ok, Some(sum)) => cpu_used(&sum.evidence),
        (State::Unknown, _) => ", the run did not end normally".to_owned(),
        _ => String::new(),
    };
    paragraph(out, &format!("{}{more}", verdict.word), 0, 2, width);
    for doubt in &verdict.doubts {
        paragraph(out, &format!("- {}", safe(doubt)), 2, 4, width);
    }
    for ours in &verdict.ours {
        paragraph(out, ours, 2, 4, width);
    }
    for note in &verdict.notes {
        paragraph(out, &format!("noted: {}", safe(note)), 2, 4, width);
    }
    let doubt = match (verdict.state, digest.is_complete()) {
        (State::Doubt, _) => " (in doubt: this is not the server's limit)",
        (_, false) => " so far",
        (_, true) => "",
    };
    paragraph(out, &format!("{}{doubt}", rate_line(digest)), 0, 2, width);
    if let Some(text) = refusals(digest) {
        paragraph(out, &text, 0, 2, width);
    }
}

/// Too short a run has no measurement of its CPU use.
fn cpu_used(evidence: &Evidence) -> String {
    match evidence.busiest_worker_cpu * 100.0 {
        cpu if cpu < 0.5 => String::new(),
        cpu => format!(" (the busiest worker used {cpu:.0} % of a CPU)"),
    }
}

/// The rate of the run; of a load with several rates, which of them were held.
fn rate_line(digest: &Digest) -> String {
    let tally = digest.tally();
    if let Some(steps) = Steps::of(digest) {
        return format!("steps: {}", steps.words());
    }
    let loss = || share(lost(tally), judged(tally)).map_or(NOTHING.to_owned(), percent);
    if !carries_a_rate(digest) {
        let loss = if digest.header.send_only { String::new() } else { format!("loss {}; ", loss()) };
        return format!(
            "rate: {loss}no rate, because that needs {} queries over {}",
            count(RATE_NEEDS_QUERIES),
            length(RATE_NEEDS_NS)
        );
    }
    if is_partial(digest) {
        let intervals = counted(digest.partial_intervals(), "interval lacks", "intervals lack");
        return format!(
            "rate: none, because {intervals} the part of an agent; loss of the others {}",
            loss()
        );
    }
    let per_second = |n| run_rate(digest, n).map_or(NOTHING.to_owned(), rate);
    match digest.header.send_only {
        true => format!("rate: {} queries/s sent", per_second(sent(tally))),
        false => {
            // What the user interrupted counts neither as answered nor as lost.
            let cut = share(tally.ends.interrupted, tally.scheduled).filter(|cut| *cut > HELD_LOSS);
            let cut = cut.map_or(String::new(), |cut| format!("; {} interrupted", percent(cut)));
            format!("rate: {} answered/s, loss {}{cut}", per_second(tally.ends.answered), loss())
        }
    }
}
