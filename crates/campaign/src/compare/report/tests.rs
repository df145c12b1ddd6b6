//! The words of comparisons, to the letter.

use super::sample::{hostile, one_against_one, slower};
use super::words::{figure, interval, named, sentence, signed};
use super::*;
use crate::compare::{BoundState, Comparison, Figure, Kind, Needed, NotJudged, Outcome, Verdict};
use crate::statistics::Interval;

#[test]
fn a_difference_is_told_in_one_sentence() {
    assert_eq!(
        sentence(&slower()),
        "Slower: p99 5.1 % higher (95 % interval 3.9 to 6.2 %); also rate 1.4 % lower."
    );
    let mut mixed = slower();
    mixed.metrics[2].verdict = Verdict::Better;
    mixed.outcome = Outcome::Mixed;
    assert_eq!(
        sentence(&mixed),
        "Better in some and worse in others: better rate 1.4 % lower; worse p99 5.1 % higher."
    );
}

#[test]
fn no_difference_comes_with_what_would_have_been_seen() {
    assert_eq!(
        sentence(&hostile()),
        "No difference that these runs could show: p99 5.1 % higher (95 % interval 3.9 to 6.2 %). They would show a \
         change of 4.3 % or more 9 times in 10. If the 5.1 % is real, about 31 runs on each side show it, 21 more."
    );
    let mut constant = hostile();
    constant.metrics[0].is_constant = true;
    assert_eq!(
        sentence(&constant),
        "No difference that these runs could show: p99 is the same in all of them."
    );
}

#[test]
fn a_difference_that_our_part_can_explain_is_undecided() {
    let mut ours = hostile();
    ours.metrics[0].verdict = Verdict::MayBeOurs;
    ours.outcome = Outcome::Undecided;
    assert_eq!(
        sentence(&ours),
        "Undecided: p99 5.1 % higher, which the generator's own part can explain. No other difference that these runs \
         could show."
    );
    assert!(comparison(&ours, 100).contains("  may be ours\n"));
}

#[test]
fn a_percentile_beyond_the_timeout_on_both_sides_is_not_called_the_same() {
    let beyond = Figure { value: 5e9, beyond_timeout: true };
    let mut both = hostile();
    let p99 = &mut both.metrics[0];
    (p99.verdict, p99.change, p99.is_constant) = (Verdict::NotCompared, None, true);
    (p99.baseline_median, p99.candidate_median) = (beyond, beyond);
    both.outcome = Outcome::Undecided;
    both.bounds[0].state = BoundState::NotJudged(NotJudged::BeyondTimeout);
    assert_eq!(
        sentence(&both),
        "Undecided: p99 beyond the timeout on both sides: not compared. No other difference that these runs could show."
    );
    let text = comparison(&both, 200);
    assert!(text.contains("both beyond the timeout: not compared") && !text.contains("the same"), "{text}");
    assert!(text.contains("(p99 beyond the timeout on both sides; either may be any time: "), "{text}");
}

#[test]
fn a_bound_that_is_not_judged_says_why_and_what_would_tell() {
    let told = |why| {
        let mut slower = slower();
        slower.bounds.truncate(1);
        slower.bounds[0].state = BoundState::NotJudged(why);
        comparison(&slower, 400).lines().last().unwrap().to_owned()
    };
    assert_eq!(
        told(NotJudged::ReachesBeyond { needed: Needed::Runs(31) }),
        "NOT JUDGED: p99 +5% (p99 5.1 % higher; the 95 % interval, 3.9 to 6.2 %, reaches beyond the bound: about 31 \
         runs on each side would tell, 21 more)"
    );
    assert!(told(NotJudged::MayBeOurs).contains("the generator's own part may be more than that"));
    assert!(
        told(NotJudged::TooFewRuns)
            .ends_with("too few runs: at least 4 on each side are needed, usually 10)")
    );
    for needed in [Needed::FewMore, Needed::TooMany, Needed::Units(40), Needed::NoPast] {
        let text = told(NotJudged::ReachesBeyond { needed });
        assert!(text.contains("reaches beyond the bound: ") && !text.contains(": )"), "{text}");
    }
}

#[test]
fn one_run_against_one_says_what_it_takes() {
    assert_eq!(
        sentence(&one_against_one()),
        "Too few runs to tell a difference from noise: 1 against 1. Seen: p99 5.1 % higher. It takes at least 4 runs \
         on each side, and usually 10."
    );
}

#[test]
fn the_text_has_the_figures_of_both_sides() {
    let expected = "\
asked      10,000 queries/s for 30 s over udp
candidate  10 runs: new-0, new-1, new-2, new-3, new-4, new-5 and 4 more
baseline   10 runs: old-0, old-1, old-2, old-3, old-4, old-5 and 4 more

  metric  baseline  candidate   change    95 % interval  higher in       p
  p99      2.10 ms    2.21 ms   +5.1 %     3.9 to 6.2 %       96 %   0.002  worse
  p50       212 µs     213 µs  +0.41 %   -0.78 to 1.5 %       96 %   0.410  no difference
  rate     9,990/s    9,850/s   -1.4 %  -2.6 to -0.33 %        4 %  <0.001  worse
  loss         0 %        0 %        0                -          -       -  the same

note: p99.9 is left out: old-3 has too few queries for it, or is too short

Slower: p99 5.1 % higher (95 % interval 3.9 to 6.2 %); also rate 1.4 % lower.
EXCEEDED: p99 +5% (p99 5.1 % higher)
kept: p50 +5% (p50 0.41 % higher)
";
    assert_eq!(comparison(&slower(), 100), expected);
}

#[test]
fn the_text_fits_its_terminal() {
    for width in [40, 60, 80, 100] {
        let text = comparison(&slower(), width);
        assert!(text.lines().all(|line| line.chars().count() <= width), "{width}:\n{text}");
        assert!(text.contains("EXCEEDED: p99 +5%"), "{text}");
    }
}

#[test]
fn text_of_others_reaches_no_terminal_and_is_no_markup() {
    let text = comparison(&hostile(), 80);
    assert!(!text.contains('\u{1b}') && text.contains("NOT ASKED ALIKE"), "{text}");
    let markdown = comparison_markdown(&hostile());
    assert!(
        !markdown.contains('\u{1b}') && !markdown.contains("<img") && !markdown.contains("@all"),
        "{markdown}"
    );
    let columns = markdown.lines().filter(|line| line.starts_with('|'));
    // A bar in a name is no border of a cell.
    assert!(columns.clone().count() == 6, "{markdown}");
    for line in columns {
        assert_eq!(line.replace("\\|", "").matches('|').count(), 9, "{line}");
    }
}

#[test]
fn markdown_is_a_short_comment() {
    assert_eq!(
        comparison_markdown(&slower()),
        "\
❌ **Slower: p99 5.1 % higher (95 % interval 3.9 to 6.2 %); also rate 1.4 % lower.**

|  | metric | baseline | candidate | change | 95 % interval | p |  |
| --- | --- | ---: | ---: | ---: | ---: | ---: | --- |
| ❌ | p99 | 2.10 ms | 2.21 ms | +5.1 % | 3.9 to 6.2 % | 0.002 | worse |
| ➖ | p50 | 212 µs | 213 µs | +0.41 % | -0.78 to 1.5 % | 0.410 | no difference |
| ❌ | rate | 9,990/s | 9,850/s | -1.4 % | -2.6 to -0.33 % | &#60;0.001 | worse |
| ➖ | loss | 0 % | 0 % | 0 |  |  | the same |

- EXCEEDED: p99 +5% (p99 5.1 % higher)
- kept: p50 +5% (p50 0.41 % higher)
- p99.9 is left out: old-3 has too few queries for it, or is too short

Medians of 10 runs (candidate) and 10 runs (baseline); 10,000 queries/s for 30 s over udp.
"
    );
}

#[test]
fn json_has_each_figure_and_the_words() {
    let json = comparison_json(&slower());
    assert_eq!((json["outcome"].as_str(), json["judged_first"].as_str()), (Some("worse"), Some("p99")));
    let p99 = &json["metrics"][0];
    assert_eq!((p99["unit"].as_str(), p99["verdict"].as_str()), (Some("ns"), Some("worse")));
    assert_eq!(p99["candidate"]["median"]["value"].as_f64(), Some(2_210_000.0));
    assert_eq!(p99["candidate"]["runs"].as_array().map(Vec::len), Some(10));
    assert_eq!(p99["change"]["estimate"].as_f64(), Some(0.0512));
    assert_eq!(json["fail_if"][0]["state"].as_str(), Some("exceeded"));
}

/// A comparison whose first metric has changed by this, with this interval.
fn changed_by(estimate: f64, from: f64, to: f64) -> Comparison {
    let mut comparison = slower();
    let change = comparison.metrics[0].change.as_mut().unwrap();
    (change.estimate, change.interval) = (estimate, Some(Interval { from, to }));
    comparison
}

#[test]
fn a_change_of_twice_or_more_is_told_as_a_factor_with_its_interval() {
    let words = |comparison: &Comparison| {
        let metric = &comparison.metrics[0];
        let ends = interval(metric.kind, &metric.change.unwrap()).unwrap();
        (named(metric), signed(metric).unwrap(), ends)
    };
    let told = |name: &str, sign: &str, ends: &str| (name.to_owned(), sign.to_owned(), ends.to_owned());
    let much = changed_by(239.38, 229.0, 250.0);
    assert_eq!(words(&much), told("p99 higher by a factor of 240", "× 240", "230 to 251"));
    assert_eq!(
        sentence(&much),
        "Slower: p99 higher by a factor of 240 (95 % interval 230 to 251); also rate 1.4 % lower."
    );
    // 4 times as low: a change of -75 %, from -80 to -66.7 %.
    let low = changed_by(-0.75, -0.8, -2.0 / 3.0);
    assert_eq!(words(&low), told("p99 lower by a factor of 4.0", "÷ 4.0", "3.0 to 5.0"));
    assert_eq!(
        words(&changed_by(1.0, 0.5, 1.6)),
        told("p99 higher by a factor of 2.0", "× 2.0", "1.5 to 2.6")
    );
    assert_eq!(words(&changed_by(0.99, 0.5, 1.6)), told("p99 99.0 % higher", "+99.0 %", "50.0 to 160 %"));
    assert_eq!(words(&changed_by(-0.49, -0.6, -0.3)).1, "-49.0 %");
    let little = changed_by(-0.00004, -0.00005, 0.0000003);
    assert_eq!(words(&little), told("p99 0.0040 % lower", "-0.0040 %", "-0.0050 to 0.00 %"));
}

#[test]
fn json_has_the_factor_of_each_ratio_and_of_nothing_else() {
    let factor =
        |comparison: &Comparison| comparison_json(comparison)["metrics"][0]["change"]["factor"].clone();
    let much = factor(&changed_by(239.0, 229.0, 250.0));
    assert_eq!(much, serde_json::json!({ "estimate": 240.0, "low": 230.0, "high": 251.0 }));
    let few = factor(&one_against_one());
    assert!(few["estimate"].is_number() && few["low"].is_null(), "{few}");
    let mut shares = slower();
    shares.metrics[0].change.as_mut().unwrap().is_ratio = false;
    assert!(factor(&shares).is_null());
}

#[test]
fn a_figure_beyond_the_timeout_is_a_bound() {
    let beyond = Figure { value: 5e9, beyond_timeout: true };
    assert_eq!(figure(Kind::Duration, beyond), ">5 s");
    let mut dead = slower();
    dead.metrics[0].candidate_median = beyond;
    dead.metrics[0].change.as_mut().unwrap().at_least = true;
    assert_eq!(sentence(&dead), "Slower: p99 beyond the timeout; also rate 1.4 % lower.");
}

#[test]
fn each_bound_is_a_test_case_and_what_cannot_be_judged_is_an_error() {
    let mut both = slower();
    both.bounds[1].state = BoundState::NotJudged(NotJudged::TooFewRuns);
    let text = comparison_junit(&both);
    assert!(
        text.contains(
            "<testsuite name=\"dnsdyno compare\" tests=\"2\" skipped=\"0\" failures=\"1\" errors=\"1\">"
        ),
        "{text}"
    );
    assert!(
        text.contains("<testcase name=\"p99 +5%\"") && text.contains("<failure message=\"EXCEEDED: "),
        "{text}"
    );
    assert_eq!(text.matches("<error message=").count(), 1, "{text}");
    assert!(text.contains("Slower: p99 5.1 % higher"), "{text}");
    let without = comparison_junit(&Comparison { bounds: Vec::new(), ..slower() });
    assert!(
        without.contains("tests=\"1\" skipped=\"0\" failures=\"0\"") && without.contains("\"no bound\""),
        "{without}"
    );
    let hostile = comparison_junit(&hostile());
    assert!(!hostile.contains('\u{1b}') && !hostile.contains("<img"), "{hostile}");
}
