//! A comparison as Markdown, for the comment on a pull request.

use dnsdyno_text::markdown::{Table, text};

use super::bounds::bound;
use super::text::unlike_lines;
use super::words::{figure, interval, note, probability, sentence, signed, verdict_words};
use crate::compare::{Compared, Comparison, Outcome, Verdict};

/// A short comment: the sentence, a table, the bounds, and what a reader must know.
pub fn comparison_markdown(comparison: &Comparison) -> String {
    let sign = match comparison.outcome {
        Outcome::Better => BETTER,
        Outcome::Worse | Outcome::Mixed => WORSE,
        Outcome::NoDifference => SAME,
        Outcome::Undecided | Outcome::TooFew => UNKNOWN,
    };
    let mut out = format!("{sign} **{}**\n\n", text(&sentence(comparison)));
    out.push_str(&table("metric", &comparison.metrics));
    if let (Some(first), false) = (comparison.metrics.first(), comparison.steps.is_empty()) {
        out.push_str(&format!("{} by step:\n\n", text(&first.name)));
        out.push_str(&table("step", &comparison.steps));
    }
    for outcome in &comparison.bounds {
        let (word, change) = bound(comparison, outcome);
        out.push_str(&format!("- {word}: {} ({})\n", text(&outcome.text), text(&change)));
    }
    unlike_lines(&comparison.unlike)
        .lines()
        .for_each(|line| out.push_str(&format!("- not asked alike: {}\n", text(line))));
    comparison.notes.iter().for_each(|about| out.push_str(&format!("- {}\n", text(&note(about)))));
    if !out.ends_with("\n\n") {
        out.push('\n');
    }
    let (candidate, baseline) = (comparison.candidate.len(), comparison.baseline.len());
    let asked = text(&comparison.asked);
    out.push_str(&format!(
        "Medians of {candidate} runs (candidate) and {baseline} runs (baseline); {asked}.\n"
    ));
    out
}

fn table(title: &str, metrics: &[Compared]) -> String {
    let mut table = Table::default();
    table.left("").left(title).right("baseline").right("candidate").right("change").right("95 % interval");
    table.right("p").left("");
    for metric in metrics {
        let sign = match metric.verdict {
            Verdict::Better => BETTER,
            Verdict::Worse => WORSE,
            Verdict::NoDifference => SAME,
            Verdict::MayBeOurs | Verdict::NotCompared | Verdict::TooFew => UNKNOWN,
        };
        let varies = !metric.is_constant;
        let ends = metric.change.and_then(|change| interval(metric.kind, &change)).filter(|_| varies);
        let p = (varies && metric.verdict != Verdict::TooFew).then(|| probability(metric.probability.alone));
        let cells = [
            sign.to_owned(),
            text(&metric.name),
            text(&figure(metric.kind, metric.baseline_median)),
            text(&figure(metric.kind, metric.candidate_median)),
            signed(metric).unwrap_or_default(),
            ends.unwrap_or_default(),
            text(&p.unwrap_or_default()),
            verdict_words(metric),
        ];
        table.row(cells);
    }
    table.lines()
}

const BETTER: &str = "✅";
const WORSE: &str = "❌";
const SAME: &str = "➖";
const UNKNOWN: &str = "❔";
