//! Figures on the report page are those of the program: `web/src/format/units.ts` is tested with the same cases.

use dnsdyno_text::units;
use serde_json::Value;

#[test]
fn figures_are_written_as_on_the_report_page() {
    let text = include_str!("../../../web/tests/units.json");
    let cases: Value = serde_json::from_str(text).expect("units.json is JSON");
    check(&cases["duration"], |figures| units::duration(whole(&figures[0])));
    check(&cases["setting"], |figures| units::setting(whole(&figures[0])));
    check(&cases["seconds"], |figures| units::seconds(whole(&figures[0]), whole(&figures[1])));
    check(&cases["count"], |figures| units::count(whole(&figures[0])));
    check(&cases["rate"], |figures| units::rate(number(&figures[0])));
    check(&cases["percent"], |figures| units::percent(number(&figures[0])));
}

/// Each case is the figures and, last, their text.
fn check(cases: &Value, write: impl Fn(&[Value]) -> String) {
    for case in cases.as_array().expect("a list of cases") {
        let (text, figures) = case.as_array().and_then(|c| c.split_last()).expect("figures and a text");
        assert_eq!(write(figures), text.as_str().expect("the text is last"), "{figures:?}");
    }
}

fn whole(figure: &Value) -> u64 {
    figure.as_u64().expect("a whole number")
}

fn number(figure: &Value) -> f64 {
    figure.as_f64().expect("a number")
}
