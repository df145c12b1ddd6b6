//! What a request asks for: its path and its query, decoded once and checked.
//!
//! ```text
//!   /                                     the list of runs        /data            the same for its refresh
//!   /runs/NAME/                           the page of a run       /runs/NAME/data  the same for its refresh
//!   /runs/NAME/files/run.ndjson           a file of its record
//!   /runs/NAME/trials/NNN/                the page of a trial, where NAME is a search
//!   /report?run=NAME&run=NAME             several runs on one page
//!   /compare?a=NAME&a=NAME&b=NAME         two sides against each other
//!   /history                              the steps of all rows of runs
//!   /api/runs                             the list for programs
//! ```

use http::Uri;
use percent_encoding::percent_decode_str;

/// What is asked for; names are single components of a path, and nothing more is known of them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Asked {
    List,
    ListData,
    ListApi,
    Run(String),
    RunData(String),
    File { run: String, file: String },
    Trial { search: String, trial: String },
    Report(Vec<String>),
    Compare { a: Vec<String>, b: Vec<String> },
    History,
}

/// Why a request has no answer: a sentence for the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BadRequest {
    /// Nothing has this path.
    Unknown,
    /// A name that cannot be that of a run.
    Name,
    /// A page needs at least one run.
    NoRuns,
    TooManyRuns,
}

impl BadRequest {
    pub(crate) fn sentence(self) -> String {
        match self {
            BadRequest::Unknown => "There is nothing at this address; the list of runs is at /.".to_owned(),
            BadRequest::Name => {
                "This is not the name of a run: a run is a folder, named without its path.".to_owned()
            }
            BadRequest::NoRuns => {
                "Name the runs: /report?run=NAME&run=NAME, or /compare?a=NAME&b=NAME.".to_owned()
            }
            BadRequest::TooManyRuns => format!("A page shows at most {MOST_RUNS} runs: choose fewer."),
        }
    }
}

impl Asked {
    pub(crate) fn by(uri: &Uri) -> Result<Asked, BadRequest> {
        let path = uri.path().strip_prefix('/').ok_or(BadRequest::Unknown)?;
        let parts = path.split('/').map(decoded).collect::<Result<Vec<_>, _>>()?;
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let query = uri.query().unwrap_or_default();
        match parts[..] {
            [""] => Ok(Asked::List),
            ["data"] => Ok(Asked::ListData),
            ["history"] | ["history", ""] => Ok(Asked::History),
            ["api", "runs"] => Ok(Asked::ListApi),
            ["runs", run] | ["runs", run, ""] => Ok(Asked::Run(name(run)?)),
            ["runs", run, "data"] => Ok(Asked::RunData(name(run)?)),
            ["runs", run, "files", file] => Ok(Asked::File { run: name(run)?, file: file.to_owned() }),
            ["runs", search, "trials", trial] | ["runs", search, "trials", trial, ""] => {
                Ok(Asked::Trial { search: name(search)?, trial: name(trial)? })
            }
            ["report"] => {
                let runs = names(query, "run")?;
                counted(runs.len(), !runs.is_empty())?;
                Ok(Asked::Report(runs))
            }
            ["compare"] => {
                let (a, b) = (names(query, "a")?, names(query, "b")?);
                counted(a.len() + b.len(), !a.is_empty() && !b.is_empty())?;
                Ok(Asked::Compare { a, b })
            }
            _ => Err(BadRequest::Unknown),
        }
    }
}

/// A part of a path without its percent signs.
fn decoded(part: &str) -> Result<String, BadRequest> {
    percent_decode_str(part).decode_utf8().map(|text| text.into_owned()).map_err(|_| BadRequest::Name)
}

/// A name that is one component of a path: the system has no other way out of a folder.
fn name(text: &str) -> Result<String, BadRequest> {
    let is_component = !text.is_empty() && text != "." && text != ".." && !text.contains(['/', '\0']);
    if is_component { Ok(text.to_owned()) } else { Err(BadRequest::Name) }
}

/// The names given for a key of the query.
fn names(query: &str, key: &str) -> Result<Vec<String>, BadRequest> {
    let pairs = query.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    let given = pairs.filter(|(given, _)| form_text(given) == key);
    given.map(|(_, value)| name(&form_text(value))).take(MOST_RUNS + 1).collect()
}

/// A text as forms write it: `+` for a space, and octets as `%20`.
fn form_text(text: &str) -> String {
    percent_decode_str(&text.replace('+', " ")).decode_utf8_lossy().into_owned()
}

fn counted(runs: usize, are_there: bool) -> Result<(), BadRequest> {
    match runs {
        _ if !are_there => Err(BadRequest::NoRuns),
        1..=MOST_RUNS => Ok(()),
        _ => Err(BadRequest::TooManyRuns),
    }
}

/// More lines on a chart cannot be told apart.
const MOST_RUNS: usize = 40;

#[cfg(test)]
mod tests {
    use super::*;

    fn by(path: &str) -> Result<Asked, BadRequest> {
        Asked::by(&path.parse().unwrap())
    }

    #[test]
    fn each_path_asks_for_one_thing() {
        let run = || "a b".to_owned();
        for (path, asked) in [
            ("/", Asked::List),
            ("/?q=1", Asked::List),
            ("/data", Asked::ListData),
            ("/api/runs", Asked::ListApi),
            ("/history", Asked::History),
            ("/runs/a%20b", Asked::Run(run())),
            ("/runs/a%20b/", Asked::Run(run())),
            ("/runs/a%20b/data", Asked::RunData(run())),
            ("/runs/a%20b/files/run.ndjson", Asked::File { run: run(), file: "run.ndjson".into() }),
            ("/runs/a%20b/trials/001/", Asked::Trial { search: run(), trial: "001".into() }),
            ("/report?run=a+b&run=c", Asked::Report(vec![run(), "c".into()])),
            ("/compare?b=c&a=a%20b&a=d", Asked::Compare { a: vec![run(), "d".into()], b: vec!["c".into()] }),
        ] {
            assert_eq!(by(path), Ok(asked), "{path}");
        }
    }

    #[test]
    fn no_name_leads_out_of_the_folder() {
        for path in [
            "/runs/../",
            "/runs/%2e%2e/",
            "/runs/%2E./data",
            "/runs/./",
            "/runs//",
            "/runs/a%2Fb/",
            "/runs/%2Fetc%2Fpasswd/",
            "/runs/a%00b/",
            "/runs/%ff/",
            "/runs/a/trials/%2e%2e/",
            "/runs/../trials/001/",
            "/report?run=..",
            "/report?run=%2Fetc",
            "/compare?a=x&b=../x",
        ] {
            assert_eq!(by(path), Err(BadRequest::Name), "{path}");
        }
        for path in [
            "/runs/a/../../etc",
            "/etc/passwd",
            "//etc/passwd",
            "/runs",
            "/runs/a/files",
            "/runs/a/files/b/c",
        ] {
            assert_eq!(by(path), Err(BadRequest::Unknown), "{path}");
        }
    }

    #[test]
    fn a_page_has_at_least_one_run_and_a_bounded_number() {
        assert_eq!(by("/report"), Err(BadRequest::NoRuns));
        assert_eq!(by("/compare?a=x"), Err(BadRequest::NoRuns));
        let many = format!("/report?{}", "run=a&".repeat(5_000));
        assert_eq!(by(&many), Err(BadRequest::TooManyRuns));
    }
}
