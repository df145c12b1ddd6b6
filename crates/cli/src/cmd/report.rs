//! `dnsdyno report`: writes runs as one HTML page.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, anyhow};
use clap::Args;
use dnsdyno_page::{Options, SearchLinks, is_ours, is_search, runs_in};
use dnsdyno_text::shown;

use crate::exit::{Failure, OK, Outcome};

#[derive(Debug, Args)]
pub(crate) struct ReportFlags {
    /// Folders of runs; a folder that is none stands for all runs in it. Or the folder of a search (`dnsdyno find`)
    #[arg(required = true, value_name = "RUN")]
    pub(crate) runs: Vec<PathBuf>,
    /// The page to write [default: RUN/report.html; of several runs report.html in this folder]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Title of the page [default: the name of the run]
    #[arg(long, value_name = "TEXT")]
    pub(crate) title: Option<String>,
}

pub(crate) fn report(flags: &ReportFlags) -> Outcome {
    if let [folder] = flags.runs.as_slice()
        && is_search(folder)
    {
        let file = write_search(folder, flags)?;
        writeln!(std::io::stdout(), "{}", named(&file)).map_err(Failure::run_failed)?;
        return Ok(OK);
    }
    let mut runs = Vec::new();
    for path in &flags.runs {
        runs.extend(runs_in(path).map_err(Failure::bad_input)?);
    }
    let file = write_page(&runs, flags.out.clone(), flags.title.clone())?;
    writeln!(std::io::stdout(), "{}", named(&file)).map_err(Failure::run_failed)?;
    Ok(OK)
}

/// Writes the page of a search, and returns its file. Its trials are links where the page is in the folder of the
/// search: to the page of the run if it has one, otherwise to its folder.
fn write_search(folder: &Path, flags: &ReportFlags) -> Result<PathBuf, Failure> {
    let file = flags.out.clone().unwrap_or_else(|| folder.join(PAGE_FILE));
    may_be_written(&file, OUT)?;
    let is_beside = file.parent().is_some_and(|parent| is_same_folder(parent, folder));
    let link = |run: &str| {
        let of_run = format!("runs/{run}/");
        let page = format!("{of_run}{PAGE_FILE}");
        let at = |path: &str| Some(path.to_owned()).filter(|_| folder.join(path).exists());
        at(&page).or_else(|| at(&of_run)).filter(|_| is_beside)
    };
    let links = SearchLinks { run: &link, home: None };
    let page = dnsdyno_page::search(folder, &links, &options(flags.title.clone()))
        .context("cannot make the page")
        .map_err(Failure::bad_input)?;
    write(&file, &page, OUT)?;
    Ok(file)
}

fn is_same_folder(one: &Path, other: &Path) -> bool {
    let one = if one.as_os_str().is_empty() { Path::new(".") } else { one };
    one.canonicalize().ok().zip(other.canonicalize().ok()).is_some_and(|(one, other)| one == other)
}

/// Writes the page of these runs, and returns its file.
pub(crate) fn write_page(
    runs: &[PathBuf],
    out: Option<PathBuf>,
    title: Option<String>,
) -> Result<PathBuf, Failure> {
    let file = out.unwrap_or_else(|| default_file(runs));
    may_be_written(&file, OUT)?;
    let page = dnsdyno_page::report(runs, &options(title))
        .context("cannot make the page")
        .map_err(Failure::bad_input)?;
    write(&file, &page, OUT)?;
    Ok(file)
}

/// How a page is made that this program writes now.
pub(crate) fn options(title: Option<String>) -> Options {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Options {
        title,
        made_by: format!("dnsdyno {}", env!("CARGO_PKG_VERSION")),
        made_unix_ns: u64::try_from(now.as_nanos()).unwrap_or(u64::MAX),
    }
}

/// Beside the record of one run; in the working folder for several.
fn default_file(runs: &[PathBuf]) -> PathBuf {
    match runs {
        [run] if run.is_dir() => run.join(PAGE_FILE),
        [run] => run.with_file_name(PAGE_FILE),
        _ => PathBuf::from(PAGE_FILE),
    }
}

/// A file that this program has not made is not overwritten. `option` names the file.
pub(crate) fn may_be_written(file: &Path, option: &str) -> Result<(), Failure> {
    if file.exists() && !is_ours(file) {
        let name = named(file);
        let why = format!("{name} exists, and is not a page of dnsdyno: name another file with {option}");
        return Err(Failure::bad_input(anyhow!(why)));
    }
    Ok(())
}

/// Writes the page whole, or leaves what was there. `option` names the file.
pub(crate) fn write(file: &Path, page: &[u8], option: &str) -> Result<(), Failure> {
    let mut unfinished = file.as_os_str().to_owned();
    unfinished.push(".part");
    let unfinished = PathBuf::from(unfinished);
    let written = fs::write(&unfinished, page).and_then(|()| fs::rename(&unfinished, file));
    if written.is_err() {
        // Best effort: the first error is the one that the user gets.
        let _ = fs::remove_file(&unfinished);
    }
    written
        .with_context(|| {
            format!("cannot write {}; name a file that you may write with {option}", named(file))
        })
        .map_err(Failure::run_failed)
}

/// A path for a terminal.
pub(crate) fn named(path: &Path) -> String {
    shown(&path.to_string_lossy(), LONGEST_PATH).into_owned()
}

/// The option that names the page.
const OUT: &str = "-o";

/// The page in the folder of a run.
const PAGE_FILE: &str = "report.html";

/// Characters of a path, which no system exceeds.
const LONGEST_PATH: usize = 4_096;
