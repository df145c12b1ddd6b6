//! The trace of a run: which queries, and where it is written.

use std::path::{Path, PathBuf};

use dnsdyno_text::notation::parse_count;

use crate::draft::Draft;
use crate::error::PlanError;
use crate::values::{absolute, read_as};

/// What is traced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TracePlan {
    /// One query of each so many; at least 1.
    pub every: u64,
    /// The file; `None` = in the folder of the run.
    pub file: Option<PathBuf>,
}

impl TracePlan {
    pub(crate) fn of(draft: &mut Draft, working_dir: &Path) -> Result<Option<TracePlan>, PlanError> {
        let Some(every) = read_as("trace", &draft.trace, every, EXPECTED)? else { return Ok(None) };
        let file = draft.trace_file.as_mut().map(|path| absolute(path, working_dir));
        let inputs = [&draft.queries, &draft.replay, &draft.zone, &draft.tsig_file, &draft.ca];
        let is_input = |path: &String| Some(working_dir.join(path)) == file;
        if let Some(text) = inputs.into_iter().flatten().find(|path| is_input(path)) {
            let (option, text) = ("trace-file", text.clone());
            return Err(PlanError::Value { option, text, expected: "a file to write: the run reads it" });
        }
        Ok(Some(TracePlan { every, file }))
    }
}

/// Reads `1/1000`, or `1000` for the same.
fn every(text: &str) -> Option<u64> {
    let text = text.trim();
    let number = match text.split_once('/') {
        Some((one, every)) if one.trim() == "1" => every,
        Some(_) => return None,
        None => text,
    };
    parse_count(number.trim()).ok().filter(|every| *every > 0)
}

const EXPECTED: &str = "one query of so many: write 1/1000, or 1/1 for each";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_one_of_so_many() {
        for (text, expected) in
            [("1/1000", 1_000), ("1/10k", 10_000), ("1000", 1_000), (" 1 / 5 ", 5), ("1", 1)]
        {
            assert_eq!(every(text), Some(expected), "{text}");
        }
        for text in ["0", "1/0", "2/1000", "0.001", "1%", "", "1/", "/5", "1/2/3"] {
            assert_eq!(every(text), None, "{text}");
        }
    }
}
