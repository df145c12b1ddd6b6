//! The threat model names the tests that hold it: each of them is there.

use std::fs;
use std::path::Path;

#[test]
fn each_test_that_the_threat_model_names_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = fs::read_to_string(root.join("docs/threats.md")).unwrap();
    // Every second part between backticks is one: a file, or the name of a test in the file before it.
    let mut source = String::new();
    let mut named = 0;
    for part in text.split('`').skip(1).step_by(2) {
        if part.starts_with("crates/") {
            source = fs::read_to_string(root.join(part)).unwrap_or_else(|error| panic!("{part}: {error}"));
        } else if is_name(part) {
            assert!(source.contains(&format!("fn {part}()")), "{part}");
            named += 1;
        }
    }
    assert!(named >= 35, "{named} tests are named");
}

/// Whether this is the name of a test, not that of an option or of a field.
fn is_name(part: &str) -> bool {
    part.contains('_') && part.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}
