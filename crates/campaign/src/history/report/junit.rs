//! A history as JUnit XML: a test suite with a test case for each gate and row.
//!
//! A gate that is exceeded is a failure; one that is not judged is an error: the test itself could not tell. So the
//! suite has a failure exactly where `dnsdyno history` ends with exit code 1, and errors alone where it ends with 2.
//! Without a gate there is one case, which passes and says what was found.

use dnsdyno_report::export::Element;

use super::words::{gate, notes, row_name, sentence};
use crate::history::{GateOutcome, GateState, History};

/// The document.
pub fn history_junit(history: &History) -> String {
    let number_of = |is: fn(&GateState) -> bool| history.gates.iter().filter(|gate| is(&gate.state)).count();
    let failures = number_of(|state| matches!(state, GateState::Exceeded { .. }));
    let errors = number_of(|state| matches!(state, GateState::NotJudged(_)));
    let mut cases: Vec<Element> = history.gates.iter().map(|outcome| case(history, outcome)).collect();
    if cases.is_empty() {
        cases.push(test_case("no gate").elements(vec![output(sentence(history))]));
    }
    let tests = cases.len();
    let counted = |element: Element| {
        element
            .with("name", "dnsdyno history")
            .with("tests", tests)
            .with("skipped", 0)
            .with("failures", failures)
            .with("errors", errors)
    };
    let lines = [sentence(history)].into_iter().chain(notes(history));
    cases.push(output(lines.collect::<Vec<_>>().join("\n")));
    let suite = counted(Element::new("testsuite")).elements(cases);
    counted(Element::new("testsuites")).elements(vec![suite]).to_string()
}

fn case(history: &History, outcome: &GateOutcome) -> Element {
    let (word, why) = gate(history, outcome);
    let said = format!("{word}: {why}");
    let not_passed =
        |name: &'static str| Element::new(name).with("message", &said).with("type", "gate").text("");
    let not_passed = match outcome.state {
        GateState::Kept { .. } => None,
        GateState::Exceeded { .. } => Some(not_passed("failure")),
        GateState::NotJudged(_) => Some(not_passed("error")),
    };
    let row = outcome.row.and_then(|at| history.rows.get(at)).map(|(row, _)| row_name(row));
    let name = row.map_or_else(|| outcome.gate.clone(), |row| format!("{}, {row}", outcome.gate));
    test_case(&name).elements(not_passed.into_iter().chain([output(said.clone())]).collect())
}

fn test_case(name: &str) -> Element {
    Element::new("testcase").with("name", name).with("classname", "dnsdyno.history")
}

fn output(text: String) -> Element {
    Element::new("system-out").text(text + "\n")
}
