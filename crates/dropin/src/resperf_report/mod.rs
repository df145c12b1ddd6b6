//! resperf-report: runs resperf, and writes a page with its output and two graphs. The graphs are drawn here; our own
//! report of the run is written beside them.

mod graph;

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use dnsdyno_page::Options;
use dnsdyno_runner::{Control, Runner};
use jiff::Zoned;

use crate::console::Console;
use crate::resperf;
use crate::resperf_report::graph::{Graph, Line};
use crate::server::system_text;

/// Runs it, and returns its exit code.
pub(crate) fn run(
    words: &[String],
    runner: &mut dyn Runner,
    control: &Arc<Control>,
    console: &Arc<Console>,
) -> u8 {
    let name = words.first().map_or("resperf-report", |word| word.rsplit('/').next().unwrap_or(word));
    match make(words, runner, control) {
        Ok(Made { page, .. }) => {
            console.tell(&format!("Done, report is in {page}\n"));
            0
        }
        Err(Failed::Resperf { output, code }) => {
            let output = fs::read_to_string(output).unwrap_or_default();
            console.tell(&format!("{name}: error running resperf:\n{output}"));
            code
        }
        Err(Failed::File { path, error }) => {
            console.tell(&format!("{name}: cannot write {path}: {}\n", system_text(&error)));
            1
        }
    }
}

/// A report that was made.
struct Made {
    page: String,
}

enum Failed {
    /// Its output, and its exit code.
    Resperf {
        output: String,
        code: u8,
    },
    File {
        path: String,
        error: io::Error,
    },
}

fn make(words: &[String], runner: &mut dyn Runner, control: &Arc<Control>) -> Result<Made, Failed> {
    let (id, output) = first_free(&Zoned::now().strftime("%Y%m%d-%H%M").to_string())?;
    let file = |ending: &str| format!("{id}.{ending}");
    let plot = file("gnuplot");
    let given = words.iter().skip(1).cloned();
    let words: Vec<String> = ["resperf", "-P", &plot].map(str::to_owned).into_iter().chain(given).collect();
    let printed = output.try_clone().map_err(|error| Failed::File { path: file("output"), error })?;
    let console = Arc::new(Console::new(Box::new(output), Box::new(printed)));
    let resperf::Made { code, folder } = resperf::make(&words, runner, control, &console);
    console.flush();
    if code != 0 {
        return Err(Failed::Resperf { output: file("output"), code: 1 });
    }
    // Another file where the user gave another -P.
    let plotted = plot_of(&words, &plot);
    let points = fs::read_to_string(&plotted).map_err(|error| Failed::File { path: plotted, error })?;
    let (rate, latency) = (file("rate.svg"), file("latency.svg"));
    write(&rate, &rates(&points).svg())?;
    write(&latency, &latencies(&points).svg())?;
    let own = folder.and_then(|folder| own_report(&folder, &file("report.html")));
    let text = fs::read_to_string(file("output")).unwrap_or_default();
    let page = file("html");
    write(&page, &html(&id, &text, [&rate, &latency], own.as_deref()))?;
    Ok(Made { page })
}

/// The name of a report of this minute that does not exist yet, and its output.
fn first_free(minute: &str) -> Result<(String, File), Failed> {
    let numbered = (2..=MOST_IN_A_MINUTE).map(|number| format!("{minute}-{number}"));
    let mut last = io::Error::from(io::ErrorKind::AlreadyExists);
    for id in std::iter::once(minute.to_owned()).chain(numbered) {
        match OpenOptions::new().append(true).create_new(true).open(format!("{id}.output")) {
            Ok(file) => return Ok((id, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => last = error,
            Err(error) => return Err(Failed::File { path: format!("{id}.output"), error }),
        }
    }
    Err(Failed::File { path: format!("{minute}.output"), error: last })
}

/// The file of the last `-P`.
fn plot_of(words: &[String], usual: &str) -> String {
    resperf::plot_file(words).unwrap_or_else(|| usual.to_owned())
}

/// The columns of a plot, by time.
fn column(points: &str, number: usize) -> Vec<(f64, f64)> {
    let figure = |line: &str, at: usize| line.split_whitespace().nth(at).and_then(|text| text.parse().ok());
    let lines = points.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| Some((figure(line, 0)?, figure(line, number)?))).collect()
}

fn rates(points: &str) -> Graph<'static> {
    let line = |title, number| Line { title, points: column(points, number) };
    Graph {
        title: "Query / response / failure rate",
        lines: vec![
            line("Queries sent per second", 2),
            line("Total responses received per second", 3),
            line("Failure responses received per second", 4),
        ],
    }
}

fn latencies(points: &str) -> Graph<'static> {
    let line = Line { title: "Average latency (seconds)", points: column(points, 5) };
    Graph { title: "Latency", lines: vec![line] }
}

/// Writes our own report beside the others; returns its file. Without it the report is complete, too.
fn own_report(folder: &Path, file: &str) -> Option<String> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let options = Options {
        title: None,
        made_by: format!("dnsdyno {}", env!("CARGO_PKG_VERSION")),
        made_unix_ns: u64::try_from(now.as_nanos()).unwrap_or(u64::MAX),
    };
    let page = dnsdyno_page::report(&[PathBuf::from(folder)], &options).ok()?;
    fs::write(file, page).ok().map(|()| file.to_owned())
}

fn html(id: &str, output: &str, graphs: [&str; 2], own: Option<&str>) -> String {
    let output = output.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let images: String = graphs.iter().map(|graph| format!("<img src=\"{graph}\" />\n")).collect();
    let own =
        own.map(|file| format!("<p><a href=\"{file}\">Report of dnsdyno</a></p>\n")).unwrap_or_default();
    format!(
        "<html><head></head><body>\n<h1>Resperf report {id}</h1>\n<h2>Resperf output</h2>\n<pre>\n{output}</pre>\n\
         <h2>Plots</h2>\n<p>\n{images}</p>\n{own}</body></html>\n"
    )
}

fn write(path: &str, text: &str) -> Result<(), Failed> {
    fs::write(path, text).map_err(|error| Failed::File { path: path.to_owned(), error })
}

/// Reports that may begin in the same minute.
const MOST_IN_A_MINUTE: u32 = 1_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_graph_has_the_columns_of_the_plot() {
        let points = "# time target_qps\n  0.250 1 2 3 4 0.5 0 0\n  0.750 1 20 30 40 0.7 0 0\nnot a line\n";
        assert_eq!(rates(points).lines[1].points, [(0.25, 3.0), (0.75, 30.0)]);
        assert_eq!(latencies(points).lines[0].points, [(0.25, 0.5), (0.75, 0.7)]);
    }

    #[test]
    fn what_a_server_or_a_file_says_is_text_on_the_page() {
        let page = html("20260102-0304", "<script>&", ["a.svg", "b.svg"], None);
        assert!(page.contains("<pre>\n&lt;script&gt;&amp;</pre>") && page.contains("<img src=\"a.svg\" />"));
    }
}
