//! JUnit XML: a test suite for each run, and a test case for each expectation of its plan.
//!
//! An expectation that is not met is a failure; one that is undecided, because what was measured may be the
//! generator's, is an error: the test itself could not tell.
//!
//! Two cases are in each suite: `answers`, which fails where no query was answered, and `generator`, which is skipped
//! where the generator may have limited rate or loss: then the others say less of the server. So a suite has a failure
//! exactly where `dnsdyno run` ended with exit code 1, and errors alone where it ended with 5.

use std::io::Write;

use dnsdyno_record::expect::{Decision, EachOutcome, Outcome};
use dnsdyno_record::figures::judged;
use dnsdyno_text::shown;
use dnsdyno_text::units::count;

use crate::expect::{each_measured_text, missed_texts, outcome_measured_text};
use crate::export::xml::Element;
use crate::export::{ExportError, Run};
use crate::{State, answer, servers};

pub(crate) fn write(runs: &[Run], out: &mut dyn Write) -> Result<(), ExportError> {
    let mut all = Vec::new();
    let mut suites = Vec::new();
    for run in runs {
        let cases = cases(run)?;
        all.extend(cases.iter().map(|case| case.result));
        suites.push(suite(run, cases));
    }
    let report = Element::new("testsuites")
        .with("name", "dnsdyno")
        .with("tests", all.len())
        .with("skipped", number_of(&all, CaseResult::Skipped))
        .with("failures", number_of(&all, CaseResult::Failure))
        .with("errors", number_of(&all, CaseResult::Error))
        .elements(suites);
    // Into memory first: its error would hide that of a closed pipe.
    Ok(out.write_all(report.to_string().as_bytes())?)
}

/// The element of a run with its cases.
fn suite(run: &Run, cases: Vec<Case>) -> Element {
    let (digest, name) = (&run.digest, safe(&run.name()));
    let header = &digest.header;
    let properties = [
        ("run_id", &header.run_id),
        ("target", &header.target),
        ("server", &servers(header)),
        ("transport", &header.transport),
        ("load", &header.load),
        ("version", &header.version),
    ];
    let property =
        |(key, text): (&str, &String)| Element::new("property").with("name", key).with("value", safe(text));
    let results: Vec<CaseResult> = cases.iter().map(|case| case.result).collect();
    let told = answer(digest);
    let lines = [&told.sentence].into_iter().chain(&told.verdict.doubts).chain(&told.verdict.notes);
    let output: String = lines.map(|line| format!("{}\n", safe(line))).collect();
    let mut elements = vec![Element::new("properties").elements(properties.map(property).into())];
    elements.extend(cases.into_iter().map(|case| case.element(&name)));
    elements.push(Element::new("system-out").text(output));
    Element::new("testsuite")
        .with("name", &name)
        .with("tests", results.len())
        .with("skipped", number_of(&results, CaseResult::Skipped))
        .with("errors", number_of(&results, CaseResult::Error))
        .with("failures", number_of(&results, CaseResult::Failure))
        .with("time", format_args!("{:.3}", digest.to_ns() as f64 * 1e-9))
        .elements(elements)
}

/// What was tested, and what came of it.
struct Case {
    name: String,
    result: CaseResult,
    /// Why it has not passed, in a line and at length.
    message: String,
    details: String,
    output: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CaseResult {
    Success,
    Skipped,
    Failure,
    Error,
}

impl Case {
    fn element(self, suite: &str) -> Element {
        let not_passed = |name| Element::new(name).with("message", &self.message);
        let expectation = |name| not_passed(name).with("type", "expectation").text(self.details.as_str());
        let not_passed = match self.result {
            CaseResult::Success => None,
            CaseResult::Skipped => Some(not_passed("skipped")),
            CaseResult::Failure => Some(expectation("failure")),
            CaseResult::Error => Some(expectation("error")),
        };
        let output = Element::new("system-out").text(self.output.as_str());
        Element::new("testcase")
            .with("name", &self.name)
            .with("classname", format_args!("dnsdyno.{suite}"))
            .elements(not_passed.into_iter().chain([output]).collect())
    }
}

fn number_of(results: &[CaseResult], wanted: CaseResult) -> usize {
    results.iter().filter(|result| **result == wanted).count()
}

fn cases(run: &Run) -> Result<Vec<Case>, ExportError> {
    let (expectations, judged) = run.judged()?;
    let of_run = |outcome: &Outcome| {
        case(&outcome.text, outcome.decision, &outcome_measured_text(outcome), String::new())
    };
    let of_each = |outcome: &EachOutcome| {
        let missed = missed_texts(outcome).map(|text| text + "\n").collect();
        case(&format!("each {}", outcome.text), outcome.decision(), &each_measured_text(outcome), missed)
    };
    let mut cases: Vec<Case> =
        judged.of_run.iter().map(of_run).chain(judged.of_each.iter().map(of_each)).collect();
    if expectations.need_answers() && !run.digest.header.send_only {
        cases.push(answers(run));
    }
    cases.push(generator(run));
    Ok(cases)
}

/// A case with what was measured, as a message where it was not met for certain.
fn case(expectation: &str, decision: Decision, measured: &str, details: String) -> Case {
    let (result, message) = match decision {
        Decision::Met => (CaseResult::Success, String::new()),
        Decision::NotMet => (CaseResult::Failure, format!("not met: {measured}")),
        Decision::Undecided => (CaseResult::Error, format!("undecided: {measured}")),
    };
    Case { name: safe(expectation), result, message, details, output: format!("measured: {measured}\n") }
}

/// Whether the server answered at all, which every run must show unless it expects otherwise.
fn answers(run: &Run) -> Case {
    let tally = run.digest.tally();
    let measured =
        format!("{} of {} queries answered in time", count(tally.ends.answered), count(judged(tally)));
    let answers =
        if tally.ends.answered > 0 || judged(tally) == 0 { Decision::Met } else { Decision::NotMet };
    case("answers", answers, &measured, String::new())
}

fn generator(run: &Run) -> Case {
    let verdict = answer(&run.digest).verdict;
    let result = if verdict.state == State::Ok { CaseResult::Success } else { CaseResult::Skipped };
    Case {
        name: "generator".to_owned(),
        result,
        message: verdict.word.to_owned(),
        details: String::new(),
        output: verdict.doubts.iter().map(|doubt| format!("{}\n", safe(doubt))).collect(),
    }
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
    use crate::export::sample;

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
        assert!(text.contains("<property name=\"server\" value=\"ns1.example (192.0.2.1:53)\"/>"), "{text}");
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
