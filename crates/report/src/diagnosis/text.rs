//! A diagnosis as text for a terminal.

use dnsdyno_measure::series::value_text;
use dnsdyno_text::layout::{NARROWEST, Table, paragraph};
use dnsdyno_text::units::{count, counted};

use super::found::{Comparison, Diagnosis, Evidence, Finding, Parameter};

/// The diagnosis in lines of at most `width` columns (40 at least), with a newline after the last.
pub fn diagnosis_text(diagnosis: &Diagnosis, width: usize) -> String {
    let width = width.max(NARROWEST);
    let mut out = String::new();
    for warning in &diagnosis.generator {
        paragraph(&mut out, &format!("in doubt: {warning}"), 0, 2, width);
    }
    if !diagnosis.generator.is_empty() {
        out.push('\n');
    }
    paragraph(&mut out, &diagnosis.verdict, 0, 0, width);
    for (number, finding) in diagnosis.findings.iter().enumerate() {
        write_finding(&mut out, number + 1, finding, width);
    }
    if !diagnosis.findings.is_empty() && diagnosis.unexplained > 0 {
        out.push('\n');
        let words = counted(diagnosis.unexplained, "query is", "queries are");
        paragraph(&mut out, &format!("{words} left that nothing here explains."), 0, 0, width);
    }
    write_cross_check(&mut out, diagnosis, width);
    out
}

/// The diagnosis as one JSON object.
pub fn diagnosis_json(diagnosis: &Diagnosis) -> String {
    // Its types have string keys and finite figures only.
    serde_json::to_value(diagnosis).map_or_else(|_| "{}".to_owned(), |object| format!("{object:#}"))
}

/// One line for the end of a run: the first finding, and where to read more. `None` where there is nothing to explain.
pub fn first_finding_text(diagnosis: &Diagnosis, run: &str, width: usize) -> Option<String> {
    if diagnosis.trouble.unanswered == 0 && diagnosis.trouble.slow_intervals == 0 {
        return None;
    }
    let said = diagnosis.findings.first().map_or(&diagnosis.verdict, |finding| &finding.sentence);
    let mut out = String::new();
    paragraph(&mut out, &format!("diagnosis: {said}"), 0, 2, width.max(NARROWEST));
    out.push_str(&format!("  more: dnsdyno diagnose {run}\n"));
    Some(out)
}

fn write_finding(out: &mut String, number: usize, finding: &Finding, width: usize) {
    out.push('\n');
    paragraph(out, &format!("{number}. {} [{}]", finding.sentence, finding.rule), 0, 3, width);
    if !finding.evidence.is_empty() {
        let mut table = Table::default();
        let cells = |cell: &dyn Fn(&Evidence) -> String| finding.evidence.iter().map(cell).collect();
        table.left(" evidence", 0, cells(&|evidence| format!(" {}", evidence.series)));
        table.left("of", 1, cells(&|evidence| evidence.source.clone()));
        table.right("over the run", 0, cells(&|evidence| value_text(&evidence.series, evidence.value)));
        table.right("limit", 2, cells(&|evidence| evidence.limit.map_or("-".to_owned(), count)));
        table.write(out, width);
    }
    if !finding.parameters.is_empty() {
        let mut table = Table::default();
        let cells = |cell: &dyn Fn(&Parameter) -> String| finding.parameters.iter().map(cell).collect();
        table.left(" parameter", 0, cells(&|parameter| format!(" {}", parameter.name)));
        table.left("of", 2, cells(&|parameter| parameter.of.clone()));
        table.left("now", 0, cells(&|parameter| parameter.value.clone()));
        table.left("try", 1, cells(&|parameter| parameter.r#try.clone()));
        table.write(out, width);
    }
    paragraph(out, &format!("try: {}", finding.advice), 3, 5, width);
    paragraph(out, &format!("then: {}", finding.check), 3, 5, width);
}

fn write_cross_check(out: &mut String, diagnosis: &Diagnosis, width: usize) {
    if diagnosis.cross_check.is_empty() && diagnosis.not_compared.is_empty() {
        return;
    }
    out.push_str("\nboth sides compared\n");
    for Comparison { sentence, .. } in &diagnosis.cross_check {
        paragraph(out, sentence, 2, 4, width);
    }
    for why in &diagnosis.not_compared {
        paragraph(out, &format!("not compared: {why}"), 2, 4, width);
    }
}
