//! JUnit XML: a test suite for each run, and a test case for each expectation of its plan.
//!
//! An expectation that is not met is a failure; one that is undecided, because what was measured may be the
//! generator's, is an error: the test itself could not tell.
//!
//! Two cases are in each suite: `answers`, which fails where no query was answered, and `generator`, which is skipped
//! where the generator may have limited rate or loss: then the others say less of the server. So a suite has a failure
//! exactly where `dnsdyno run` ended with exit code 1, and errors alone where it ended with 5.

use std::io::Write;
use std::time::Duration;

use dnsdyno_measure::shown;
use dnsdyno_record::expect::{Decision, EachOutcome, Judged, Outcome};
use dnsdyno_record::figures::judged;
use dnsdyno_report::expect::{each_measured_text, missed_texts, outcome_measured_text};
use dnsdyno_report::units::count;
use dnsdyno_report::{State, answer};
use quick_junit::{NonSuccessKind, Report, SerializeError, TestCase, TestCaseStatus, TestSuite};

use crate::{ExportError, Run};

pub(crate) fn write(runs: &[Run], out: &mut dyn Write) -> Result<(), ExportError> {
    let mut report = Report::new("dnsdyno");
    for run in runs {
        report.add_test_suite(suite(run)?);
    }
    // Into memory first: its error would hide that of a closed pipe.
    let text = report.to_string().map_err(as_io)?;
    Ok(out.write_all(text.as_bytes())?)
}

fn as_io(error: SerializeError) -> std::io::Error {
    std::io::Error::other(error)
}

fn suite(run: &Run) -> Result<TestSuite, ExportError> {
    let (expectations, judged) = run.judged()?;
    let (digest, name) = (&run.digest, safe(&run.name()));
    let header = &digest.header;
    let mut suite = TestSuite::new(name.as_str());
    suite.set_time(Duration::from_nanos(digest.to_ns()));
    for (key, text) in [
        ("run_id", &header.run_id),
        ("target", &header.target),
        ("transport", &header.transport),
        ("load", &header.load),
        ("version", &header.version),
    ] {
        suite.add_property((key, safe(text).as_str()));
    }
    let mut cases = cases(&judged);
    if expectations.need_answers() && !header.send_only {
        cases.push(answers(run));
    }
    cases.push(generator(run));
    for mut case in cases {
        case.set_classname(format!("dnsdyno.{name}"));
        suite.add_test_case(case);
    }
    let told = answer(digest);
    let lines = [&told.sentence].into_iter().chain(&told.verdict.doubts).chain(&told.verdict.notes);
    suite.set_system_out(lines.map(|line| format!("{}\n", safe(line))).collect::<String>());
    Ok(suite)
}

fn cases(judged: &Judged) -> Vec<TestCase> {
    let of_run =
        |outcome: &Outcome| case(&outcome.text, outcome.decision, &outcome_measured_text(outcome), "");
    let of_each = |outcome: &EachOutcome| {
        let missed: String = missed_texts(outcome).map(|text| text + "\n").collect();
        case(&format!("each {}", outcome.text), outcome.decision(), &each_measured_text(outcome), &missed)
    };
    judged.of_run.iter().map(of_run).chain(judged.of_each.iter().map(of_each)).collect()
}

/// A case with what was measured, as a message where it was not met for certain.
fn case(expectation: &str, decision: Decision, measured: &str, details: &str) -> TestCase {
    let not_met = |kind, word: &str| {
        let mut status = TestCaseStatus::non_success(kind);
        status.set_type("expectation").set_message(format!("{word}: {measured}")).set_description(details);
        status
    };
    let status = match decision {
        Decision::Met => TestCaseStatus::success(),
        Decision::NotMet => not_met(NonSuccessKind::Failure, "not met"),
        Decision::Undecided => not_met(NonSuccessKind::Error, "undecided"),
    };
    let mut case = TestCase::new(safe(expectation), status);
    case.set_system_out(format!("measured: {measured}\n"));
    case
}

/// Whether the server answered at all, which every run must show unless it expects otherwise.
fn answers(run: &Run) -> TestCase {
    let tally = run.digest.tally();
    let measured =
        format!("{} of {} queries answered in time", count(tally.ends.answered), count(judged(tally)));
    let answers =
        if tally.ends.answered > 0 || judged(tally) == 0 { Decision::Met } else { Decision::NotMet };
    case("answers", answers, &measured, "")
}

fn generator(run: &Run) -> TestCase {
    let verdict = answer(&run.digest).verdict;
    let mut status = TestCaseStatus::success();
    if verdict.state != State::Ok {
        status = TestCaseStatus::skipped();
        status.set_message(verdict.word);
    }
    let mut case = TestCase::new("generator", status);
    case.set_system_out(verdict.doubts.iter().map(|doubt| format!("{}\n", safe(doubt))).collect::<String>());
    case
}

/// Text of a record on one line.
fn safe(text: &str) -> String {
    shown(text, LONGEST_SHOWN).into_owned()
}

/// Characters of one text: a warning has some sentences.
const LONGEST_SHOWN: usize = 2_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    fn written(run: &sample::Recorded) -> String {
        let mut out = Vec::new();
        write(std::slice::from_ref(&run.run), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn an_expectation_is_a_case_with_what_was_measured() {
        let seconds = [sample::second(0, 2_000, 0), sample::second(1, 4_000, 100)];
        let plan = "expect = [\"p50<1s\", \"loss<1%\"]\nexpect-each = [\"loss<1%\"]\n";
        let text = written(&sample::planned(plan, &sample::header(), &seconds));
        assert!(text.contains("tests=\"4\"") && text.contains("failures=\"2\""), "{text}");
        assert!(text.contains("<testcase name=\"p50&lt;1s\""), "{text}");
        assert!(text.contains("message=\"not met: 1.67 % (100 of 6,000)\""), "{text}");
        assert!(text.contains("measured: in 1 of 2"), "{text}");
    }

    #[test]
    fn an_expectation_that_our_part_may_decide_is_an_error_with_the_reason() {
        let plan = "expect = [\"p50<500us\"]\n";
        let seconds = [sample::second(0, 2_000, 0)];
        let text = written(&sample::planned(plan, &sample::header(), &seconds));
        assert!(text.contains("errors=\"1\"") && text.contains("failures=\"0\""), "{text}");
        assert!(text.contains("<error message=\"undecided: 510 µs, at most"), "{text}");
    }

    #[test]
    fn a_run_without_answers_fails_unless_it_is_expected() {
        let silent = [sample::second(0, 100, 100)];
        let fails = |plan: &str| {
            written(&sample::planned(plan, &sample::header(), &silent)).contains("0 of 100 queries answered")
        };
        assert!(fails(""));
        assert!(!fails("expect = [\"loss=100%\"]\n"));
    }

    #[test]
    fn a_generator_without_a_verdict_is_a_skipped_case() {
        let text = written(&sample::cut_short(&[sample::second(0, 100, 0)]));
        assert!(text.contains("<skipped message=\"generator: no verdict\""), "{text}");
    }
}
