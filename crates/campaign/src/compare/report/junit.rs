//! A comparison as JUnit XML: a test suite with a test case for each bound of `--fail-if`.
//!
//! A bound that was exceeded is a failure; one of which the runs do not say it is an error: the test itself could not
//! tell. So the suite has a failure exactly where `dnsdyno compare` ends with exit code 1, and errors alone where it
//! ends with 2. Without a bound there is one case, which passes and says what was found.

use dnsdyno_report::export::Element;

use super::bounds::bound;
use super::text::unlike_lines;
use super::words::{note, sentence};
use crate::compare::{BoundOutcome, BoundState, Comparison};

/// The document.
pub fn comparison_junit(comparison: &Comparison) -> String {
    let bounds = &comparison.bounds;
    let number_of = |is: fn(BoundState) -> bool| bounds.iter().filter(|bound| is(bound.state)).count();
    let failures = number_of(|state| state == BoundState::Exceeded);
    let errors = number_of(|state| matches!(state, BoundState::NotJudged(_)));
    let mut cases: Vec<Element> = bounds.iter().map(|outcome| case(comparison, outcome)).collect();
    if cases.is_empty() {
        cases.push(test_case("no bound").elements(vec![output(sentence(comparison))]));
    }
    let counted = |element: Element, tests: usize| {
        element
            .with("name", "dnsdyno compare")
            .with("tests", tests)
            .with("skipped", 0)
            .with("failures", failures)
            .with("errors", errors)
    };
    let tests = cases.len();
    let property =
        |(name, value): (&str, String)| Element::new("property").with("name", name).with("value", value);
    let properties = [
        ("candidate", comparison.candidate.join(", ")),
        ("baseline", comparison.baseline.join(", ")),
        ("asked", comparison.asked.clone()),
    ];
    let mut elements = vec![Element::new("properties").elements(properties.map(property).into())];
    elements.extend(cases);
    let unlike = unlike_lines(&comparison.unlike);
    let notes = comparison.notes.iter().map(note);
    let lines = [sentence(comparison)].into_iter().chain(unlike.lines().map(str::to_owned)).chain(notes);
    elements.push(output(lines.collect::<Vec<_>>().join("\n")));
    let suite = counted(Element::new("testsuite"), tests).elements(elements);
    counted(Element::new("testsuites"), tests).elements(vec![suite]).to_string()
}

fn case(comparison: &Comparison, outcome: &BoundOutcome) -> Element {
    let (word, change) = bound(comparison, outcome);
    let not_passed = |name: &'static str| {
        Element::new(name).with("message", format_args!("{word}: {change}")).with("type", "fail-if").text("")
    };
    let not_passed = match outcome.state {
        BoundState::Kept => None,
        BoundState::Exceeded => Some(not_passed("failure")),
        BoundState::NotJudged(_) => Some(not_passed("error")),
    };
    let elements = not_passed.into_iter().chain([output(format!("{word}: {change}"))]).collect();
    test_case(&outcome.text).elements(elements)
}

fn test_case(name: &str) -> Element {
    Element::new("testcase").with("name", name).with("classname", "dnsdyno.compare")
}

fn output(text: String) -> Element {
    Element::new("system-out").text(text + "\n")
}
