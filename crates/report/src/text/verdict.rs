//! The end of a summary: whether the generator is in doubt, and the rate, which depends on it.

use dnsdyno_record::Digest;
use dnsdyno_wire::rcode_name;

use crate::check::are_refusals;
use crate::figures::{
    RATE_NEEDS_NS, RATE_NEEDS_QUERIES, carries_a_rate, judged, lost, run_rate, sent, share,
};
use crate::foreign::safe;
use crate::layout::{NOTHING, paragraph};
use crate::steps::Steps;
use crate::units::{count, length, percent, rate};

/// Appends the verdict.
pub(super) fn write(out: &mut String, digest: &Digest, width: usize) {
    let warnings = digest.warnings();
    out.push('\n');
    match (&digest.sum, warnings.as_slice()) {
        (Some(sum), []) => {
            // Too short a run has no measurement of its CPU use.
            let used = match sum.evidence.busiest_worker_cpu * 100.0 {
                cpu if cpu < 0.5 => String::new(),
                cpu => format!(" (the busiest worker used {cpu:.0} % of a CPU)"),
            };
            paragraph(out, &format!("generator: ok{used}"), 0, 2, width);
        }
        (None, []) => paragraph(out, "generator: no verdict, the run did not end normally", 0, 2, width),
        (_, warnings) => {
            out.push_str("generator: in doubt\n");
            let texts = warnings.iter().map(|warning| format!("- {}", safe(&warning.to_string())));
            texts.for_each(|text| paragraph(out, &text, 2, 4, width));
        }
    }
    for note in digest.notes() {
        let text = format!("noted, without effect on the figures: {}", safe(&note.to_string()));
        paragraph(out, &text, 2, 4, width);
    }
    let doubt = match (warnings.is_empty(), digest.is_complete()) {
        (false, _) => " (the generator was in doubt: this is not the server's limit)",
        (true, false) => " so far",
        (true, true) => "",
    };
    paragraph(out, &format!("{}{doubt}", rate_line(digest)), 0, 2, width);
    if let Some(text) = refusals(digest) {
        paragraph(out, &text, 0, 2, width);
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
    let per_second = |n| run_rate(digest, n).map_or(NOTHING.to_owned(), rate);
    match digest.header.send_only {
        true => format!("rate: {} queries/s sent", per_second(sent(tally))),
        false => format!("rate: {} answered/s, loss {}", per_second(tally.ends.answered), loss()),
    }
}

/// A run in which the server did not do what is measured, by all of its responses or by the first ones.
fn refusals(digest: &Digest) -> Option<String> {
    let codes: Vec<_> = digest.tally().rcodes.iter().map(|(code, _)| rcode_name(code)).collect();
    if are_refusals(codes.iter().map(AsRef::as_ref)) {
        let names = codes.join(" or ");
        return Some(format!(
            "ALL RESPONSES WERE {names}: the figures above are those of this error, not of answers. Ask for names that \
             the server serves, from an address that it serves."
        ));
    }
    let first = || digest.header.checks.iter().filter_map(|check| check.rcode.as_deref());
    are_refusals(first())
        .then(|| format!("Before the load the server answered {}.", first().collect::<Vec<_>>().join(", ")))
}
