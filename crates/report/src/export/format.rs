//! The formats, one row each.

use std::fmt;
use std::io::Write;

use crate::export::{ExportError, Run, github, gnuplot, hgrm, hlog, junit, shotgun, tables};

/// A format.
pub struct Format {
    /// The word that chooses it.
    pub name: &'static str,
    /// What it is and who reads it, in a few words.
    pub about: &'static str,
    /// How the names of its files end, without the dot.
    pub extension: &'static str,
    writer: Writer,
}

/// Writes a run, or all runs into one file.
#[derive(Clone, Copy)]
enum Writer {
    One(fn(&Run, &mut dyn Write) -> Result<(), ExportError>),
    All(fn(&[Run], &mut dyn Write) -> Result<(), ExportError>),
}

/// All formats.
pub static FORMATS: [Format; 8] = [
    Format {
        name: "json",
        about: "the summary with all intervals, as of `show --json`; its schema is in docs/formats",
        extension: "json",
        writer: Writer::One(tables::json),
    },
    Format {
        name: "csv",
        about: "every counter and percentile, a line for each interval: DuckDB, pandas, spreadsheets",
        extension: "csv",
        writer: Writer::All(tables::csv),
    },
    Format {
        name: "hlog",
        about: "HdrHistogram log, a histogram for each interval",
        extension: "hlog",
        writer: Writer::One(hlog::write),
    },
    Format {
        name: "hgrm",
        about: "HdrHistogram percentiles of the run as text, in ms",
        extension: "hgrm",
        writer: Writer::One(hgrm::write),
    },
    Format {
        name: "gnuplot",
        about: "the plot file of resperf (resperf.gnuplot)",
        extension: "gnuplot",
        writer: Writer::One(gnuplot::write),
    },
    Format {
        name: "shotgun",
        about: "the JSON of DNS Shotgun, for its plot-*.py and merge-data.py",
        extension: "json",
        writer: Writer::One(shotgun::write),
    },
    Format {
        name: "junit",
        about: "JUnit XML: a test case for each expectation of the plan",
        extension: "xml",
        writer: Writer::All(junit::write),
    },
    Format {
        name: "github",
        about: "Markdown for the step summary of a GitHub workflow",
        extension: "md",
        writer: Writer::All(github::write),
    },
];

impl Format {
    /// The format of this name.
    pub fn named(name: &str) -> Option<&'static Format> {
        FORMATS.iter().find(|format| format.name == name)
    }

    /// Whether a file can hold several runs.
    pub fn holds_several(&self) -> bool {
        matches!(self.writer, Writer::All(_))
    }

    /// Writes the runs, one after the other where a file can hold only one.
    ///
    /// # Errors
    /// A record cannot be read, does not have what the format needs, or `out` cannot be written.
    pub fn write(&self, runs: &[Run], out: &mut dyn Write) -> Result<(), ExportError> {
        match self.writer {
            Writer::One(write) => runs.iter().try_for_each(|run| write(run, out))?,
            Writer::All(write) => write(runs, out)?,
        }
        Ok(out.flush()?)
    }
}

impl fmt::Debug for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Format").field(&self.name).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::sample;

    #[test]
    fn every_format_writes_a_run_of_every_kind() {
        for (kind, run) in sample::runs() {
            for format in &FORMATS {
                let mut out = Vec::new();
                let written = format.write(std::slice::from_ref(&run.run), &mut out);
                assert!(written.is_ok() && !out.is_empty(), "{kind} as {}: {written:?}", format.name);
                let text = String::from_utf8(out).unwrap();
                let is_control = |c: char| c != '\n' && dnsdyno_text::acts_on_a_terminal(c);
                assert!(!text.contains(is_control), "{kind} as {}: {text:?}", format.name);
            }
        }
    }
}
