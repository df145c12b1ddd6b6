//! The step summary of a GitHub workflow: Markdown with the answer, the expectations, the figures and the verdict.

use std::io::Write;

use dnsdyno_measure::PERCENTILES;
use dnsdyno_record::Headline;
use dnsdyno_record::expect::{Decision, EachOutcome, Judged};
use dnsdyno_record::figures::{judged, longest, lost};
use dnsdyno_text::markdown::{Table, text};
use dnsdyno_text::units::{count, percent};

use crate::bounds::cell;
use crate::expect::{each_measured_text, missed_texts, outcome_measured_text};
use crate::export::{ExportError, Run};
use crate::{State, answer, ends_with_words, quantile, row_asked, row_rate, row_rate_cell, share};

pub(crate) fn write(runs: &[Run], out: &mut dyn Write) -> Result<(), ExportError> {
    for run in runs {
        out.write_all(section(run)?.as_bytes())?;
    }
    Ok(())
}

fn section(run: &Run) -> Result<String, ExportError> {
    let (_, judged) = run.judged()?;
    let told = answer(&run.digest);
    let header = &run.digest.header;
    let mut out = format!("## {}\n\n{}\n\n", title(run, &judged), text(&told.sentence));
    out += &expectations(&judged);
    out += &figures(run);
    out += &steps(run);
    let sign = if told.verdict.state == State::Ok { MET } else { DOUBT };
    out += &format!("{sign} {}\n\n", told.verdict.word);
    for line in told.verdict.doubts.iter().chain(&told.verdict.notes) {
        out += &format!("- {}\n", text(line));
    }
    if !told.verdict.doubts.is_empty() || !told.verdict.notes.is_empty() {
        out.push('\n');
    }
    out += &format!(
        "Server {} over {}: {}. dnsdyno {}, run {}.\n\n",
        text(&header.target),
        text(&header.transport),
        text(&header.load),
        text(&header.version),
        text(&header.run_id)
    );
    Ok(out)
}

/// The name of the run, and whether it did what was expected.
fn title(run: &Run, judged: &Judged) -> String {
    let name = text(run.digest.header.name.as_deref().unwrap_or(&run.name()));
    let decisions = || {
        let of_each = judged.of_each.iter().map(EachOutcome::decision);
        judged.of_run.iter().map(|outcome| outcome.decision).chain(of_each)
    };
    let of = |decision| decisions().filter(|one| *one == decision).count();
    match (of(Decision::NotMet), of(Decision::Undecided), decisions().count()) {
        (.., 0) => name,
        (0, 0, 1) => format!("{MET} {name}: expectation met"),
        (0, 0, _) => format!("{MET} {name}: all expectations met"),
        (0, _, 1) => format!("{DOUBT} {name}: expectation undecided"),
        (0, undecided, all) => format!("{DOUBT} {name}: {undecided} of {all} expectations undecided"),
        (.., 1) => format!("{NOT_MET} {name}: expectation not met"),
        (missed, _, all) => format!("{NOT_MET} {name}: {missed} of {all} expectations not met"),
    }
}

fn expectations(judged: &Judged) -> String {
    let mut table = Table::default();
    table.left("").left("expectation").left("measured");
    let sign = |decision: Decision| match decision {
        Decision::Met => format!("{MET} met"),
        Decision::NotMet => format!("{NOT_MET} not met"),
        Decision::Undecided => format!("{DOUBT} undecided"),
    };
    for outcome in &judged.of_run {
        let measured = outcome_measured_text(outcome);
        table.row([sign(outcome.decision), text(&outcome.text), text(&measured)]);
    }
    for outcome in &judged.of_each {
        let missed = missed_texts(outcome).take(MISSED_SHOWN).map(|missed| format!("<br>{}", text(&missed)));
        let measured = text(&each_measured_text(outcome)) + &missed.collect::<String>();
        table.row([sign(outcome.decision()), format!("each {}", text(&outcome.text)), measured]);
    }
    table.lines()
}

/// How the queries ended, the responses by RCODE, and the latency.
fn figures(run: &Run) -> String {
    let (tally, timeout_ns) = (run.digest.tally(), run.digest.header.timeout_ns);
    let mut table = Table::default();
    table.left("figure").right("value");
    table.row(["queries due".to_owned(), count(tally.scheduled)]);
    for (name, n) in ends_with_words(&run.digest) {
        if n > 0 {
            table.row([name.to_owned(), count(n)]);
        }
    }
    for (code, n) in tally.rcodes.iter() {
        table.row([dnsdyno_wire::rcode_name(code).into_owned(), count(n)]);
    }
    if !run.digest.header.send_only {
        let latency = run.latency(tally);
        for (_, name, q) in PERCENTILES {
            if let Some(at) = run.digest.percentile(q) {
                let figure = format!("{name} of the {} time", run.latency_word());
                table.row([figure, text(&cell(Some(at), timeout_ns))]);
            }
        }
        let longest = text(&quantile(longest(latency), timeout_ns));
        table.row([format!("longest {} time", run.latency_word()), longest]);
    }
    table.lines()
}

/// The steps of the load, where it has any.
fn steps(run: &Run) -> String {
    let digest = &run.digest;
    if !digest.rows_are_phases() || digest.header.headline == Headline::Service || digest.header.send_only {
        return String::new();
    }
    let mut table = Table::default();
    table.left("step").right("asked/s").right("answered/s").right("lost").right("p50").right("p99");
    for row in digest.rows() {
        let label = row.label.as_deref().map(text).unwrap_or_default();
        let loss = share(lost(&row.tally), judged(&row.tally)).map_or("-".to_owned(), percent);
        let rates = [row_asked(row), row_rate(row, row.tally.ends.answered)].map(row_rate_cell);
        let cells = [0.5, 0.99].map(|q| text(&cell(digest.percentile_of(row, q), digest.header.timeout_ns)));
        table.row([label].into_iter().chain(rates).chain([loss]).chain(cells));
    }
    table.lines()
}

/// Signs beside the words: nothing is told by a sign alone.
const MET: &str = "✅";
const NOT_MET: &str = "❌";
const DOUBT: &str = "⚠️";

/// Steps or intervals that are named; the rest is in the record.
const MISSED_SHOWN: usize = 10;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::sample;

    fn written(run: &sample::Recorded) -> String {
        let mut out = Vec::new();
        write(std::slice::from_ref(&run.run), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_summary_has_the_answer_the_expectations_and_the_figures() {
        let seconds = [sample::second(0, 2_000, 0), sample::second(1, 4_000, 100)];
        let plan = "expect = [\"p50<1s\", \"loss<1%\"]\n";
        let run = sample::planned(plan, &sample::header(), &seconds);
        let text = written(&run);
        assert!(text.starts_with("## ❌ "), "{text}");
        assert!(text.contains(": 1 of 2 expectations not met\n"), "{text}");
        assert!(text.contains("Held 2,000 queries/s; lost 2.50 % at 4,000/s"), "{text}");
        assert!(text.contains("| ❌ not met | loss&#60;1% | 1.67 % (100 of 6,000) |"), "{text}");
        assert!(text.contains("| timed out | 100 |"), "{text}");
        assert!(text.contains("✅ generator: ok"), "{text}");
    }

    #[test]
    fn a_load_with_steps_has_a_row_for_each() {
        let seconds = [sample::second(0, 2_000, 0), sample::second(1, 4_000, 100)];
        let text = written(&sample::recorded(&sample::with_steps(2), &seconds));
        assert!(text.contains("| step 1 | 4,000 | 3,900 | 2.50 % | 514 µs | &#62;5 s |"), "{text}");
    }
}
