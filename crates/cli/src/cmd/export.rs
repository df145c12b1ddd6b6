//! `dnsdyno export`: writes runs in the format of another program.

use std::ffi::OsStr;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use dnsdyno_record::{HOST_FILE, INDEX_FILE, PACKED_FILE, PLAN_FILE, RUN_FILE, RunWriter, WriteError};
use dnsdyno_report::export::{ExportError, FORMATS, Format, Run, write_file, write_folder};

use crate::exit::{Failure, OK, Outcome};
use crate::message::print_error;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ExportFlags {
    /// The format
    #[arg(value_name = "FORMAT", value_parser = format_parser())]
    pub(crate) format: &'static Format,
    /// Folders of runs
    #[arg(required = true, value_name = "RUN")]
    pub(crate) runs: Vec<PathBuf>,
    /// The file to write; - is standard output; with a / at its end, a folder with a file for each run
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub(crate) out: PathBuf,
}

pub(crate) fn export(flags: &ExportFlags) -> Outcome {
    let runs: Vec<Run> = flags.runs.iter().map(|run| read(run)).collect::<Result<_, _>>()?;
    let format = flags.format;
    if is_folder(&flags.out) {
        for file in write_folder(format, &runs, &flags.out).map_err(failure)? {
            print_error(&format!("dnsdyno: wrote {}", file.display()));
        }
        return Ok(OK);
    }
    if runs.len() > 1 && !format.holds_several() {
        return Err(Failure::bad_input(anyhow!(
            "{} holds one run, and {} were given: `-o FOLDER/` writes a file for each",
            format.name,
            runs.len()
        )));
    }
    if is_of_record(&flags.out) {
        return Err(Failure::bad_input(anyhow!(
            "{} is a file of a record, which is never overwritten: name another",
            flags.out.display()
        )));
    }
    if flags.out.as_os_str() == "-" {
        // Larger than a pipe: fewer system calls.
        let mut out = BufWriter::with_capacity(BUFFER_BYTES, std::io::stdout().lock());
        format.write(&runs, &mut out).map_err(failure)?;
    } else {
        write_file(format, &runs, &flags.out).map_err(failure)?;
    }
    Ok(OK)
}

fn read(run: &Path) -> Result<Run, Failure> {
    Run::read(run).with_context(|| format!("cannot export {}", run.display())).map_err(Failure::bad_input)
}

fn failure(error: ExportError) -> Failure {
    if error.is_bad_input() { Failure::bad_input(error) } else { Failure::run_failed(error) }
}

/// Whether a path is that of a file of a record that is there.
fn is_of_record(out: &Path) -> bool {
    let folder = out.parent().unwrap_or(Path::new(""));
    let files = [RUN_FILE, PACKED_FILE, INDEX_FILE, PLAN_FILE, HOST_FILE];
    files.iter().any(|name| out.ends_with(name))
        && matches!(RunWriter::check_folder(folder), Err(WriteError::AlreadyARun { .. }))
}

/// An existing folder, or a name that ends as one.
fn is_folder(out: &Path) -> bool {
    out.is_dir() || OsStr::as_encoded_bytes(out.as_os_str()).ends_with(b"/")
}

fn format_parser() -> impl TypedValueParser<Value = &'static Format> {
    let values = FORMATS.iter().map(|format| PossibleValue::new(format.name).help(format.about));
    PossibleValuesParser::new(values)
        .try_map(|name| Format::named(&name).ok_or_else(|| format!("there is no format {name}")))
}

const BUFFER_BYTES: usize = 1 << 18;

const EXAMPLES: &str = "\
Examples:
  dnsdyno export csv runs/A runs/B -o runs.csv
  dnsdyno export shotgun runs/* -o shotgun/
  dnsdyno export junit runs/A -o junit.xml
  dnsdyno export github runs/A >> \"$GITHUB_STEP_SUMMARY\"

The record itself, run.ndjson, is valid DNS-OARC dns-metrics: it needs no export. Exit codes: 0 written, 2 the
record cannot be read, 3 the output cannot be written; an expectation that was not met is in the file.";
