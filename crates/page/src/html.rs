//! The HTML file: the page's program, its data and the series of its runs, with nothing from elsewhere.
//!
//! What a record says never becomes markup: in the data, `<` is written as an escape of JSON, and everything else is
//! escaped or Base64.

use std::io::{self, Write};
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use dnsdyno_record::open_regular;
use dnsdyno_text::escaped;
use serde_json::json;

use crate::data::{Message, PageData, Run};
use crate::error::PageError;
use crate::run::Blob;

/// The page as one HTML file; `blobs` are the series of its runs, in their order.
///
/// # Errors
/// None that a page can have; it is an error of the library.
pub fn html(page: &PageData, blobs: &[Blob]) -> Result<Vec<u8>, PageError> {
    let packed: usize = blobs.iter().map(|blob| blob.len() * 4 / 3 + 100).sum();
    let mut out = Vec::with_capacity(packed + SCRIPT.len() + STYLE.len() + 100_000);
    // A page that is served asks for newer data.
    let connect = if page.live.is_some() { "; connect-src 'self'" } else { "" };
    let title = escaped(&page.title);
    write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n{GENERATOR} {}\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}{connect}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{title}</title>\n<style>\n{STYLE}\n</style>\n</head>\n<body>\n<div id=\"app\"></div>\n",
        escaped(page.made_by.trim_start_matches("dnsdyno ")),
    )?;
    if page.folder.is_some() {
        writeln!(out, "<footer><a href=\"/history\">History: steps over time or versions</a></footer>")?;
    }
    write_without_script(&mut out, page)?;
    writeln!(out, "<script type=\"application/json\" id=\"page-data\">{}</script>", script_json(page)?)?;
    for (number, blob) in blobs.iter().enumerate() {
        let text = STANDARD.encode(blob);
        writeln!(out, "<script type=\"text/plain\" id=\"blob-{number}\">{text}</script>")?;
    }
    write!(out, "<script>\n{SCRIPT}\n</script>\n</body>\n</html>\n")?;
    Ok(out)
}

/// What a page that is open asks for again: its data and the series of its runs.
///
/// # Errors
/// As [`html`].
pub fn live_json(page: &PageData, blobs: &[Blob]) -> Result<Vec<u8>, PageError> {
    let blobs: Vec<_> = blobs.iter().map(|blob| STANDARD.encode(blob)).collect();
    Ok(serde_json::to_vec(&json!({ "data": page, "blobs": blobs }))?)
}

/// Whether the file at `path` is a page that this program has made.
pub fn is_ours(path: &Path) -> bool {
    let mut start = [0; 512];
    let read = open_regular(path).and_then(|mut file| io::Read::read(&mut file, &mut start));
    let read = read.unwrap_or(0);
    start[..read].windows(GENERATOR.len()).any(|window| window == GENERATOR.as_bytes())
}

/// For a browser that runs no scripts: the answers, and the figures that they are of.
fn write_without_script(out: &mut Vec<u8>, page: &PageData) -> io::Result<()> {
    writeln!(out, "<noscript>\n<h1>{}</h1>", escaped(&page.title))?;
    if let Some(comparison) = &page.comparison {
        writeln!(out, "<p>{}</p>", escaped(&comparison.sentence))?;
    }
    for run in &page.runs {
        write_run(out, run)?;
    }
    for run in page.folder.iter().flat_map(|folder| &folder.runs) {
        writeln!(out, "<h2>{}</h2>\n<p>{}</p>", escaped(&run.folder), escaped(&run.sentence))?;
    }
    writeln!(out, "<p>Charts need a browser that runs scripts.</p>\n</noscript>")
}

fn write_run(out: &mut Vec<u8>, run: &Run) -> io::Result<()> {
    writeln!(out, "<h2>{}</h2>\n<p>{}</p>\n<ul>", escaped(&run.label), escaped(&run.answer.sentence))?;
    let facts = run.facts.iter().map(|fact| format!("{}: {}", fact.label, fact.value));
    let expectations =
        run.expectations.iter().map(|one| format!("{} {}: {}", one.state, one.text, one.measured));
    let messages = run.messages.iter().map(|Message { text, .. }| text.clone());
    let verdict = [run.verdict.word.to_owned()].into_iter().chain(run.verdict.doubts.clone());
    for line in messages.chain(facts).chain(verdict).chain(expectations) {
        writeln!(out, "<li>{}</li>", escaped(&line))?;
    }
    writeln!(out, "</ul>")?;
    for table in &run.tables {
        let row = |tag: &str, cells: Vec<&str>| {
            let cells: String =
                cells.iter().map(|cell| format!("<{tag}>{}</{tag}>", escaped(cell))).collect();
            format!("<tr>{cells}</tr>")
        };
        writeln!(out, "<table><caption>{}</caption>", escaped(table.title))?;
        writeln!(out, "{}", row("th", table.columns.iter().map(|column| column.title.as_str()).collect()))?;
        for cells in &table.rows {
            writeln!(out, "{}", row("td", cells.iter().map(String::as_str).collect()))?;
        }
        writeln!(out, "</table>")?;
    }
    Ok(())
}

/// JSON that cannot end its script element, nor begin a comment in it, and that an editor shows as it is. Such
/// characters are only within strings, where they can be escaped.
fn script_json(page: &PageData) -> Result<String, PageError> {
    let json = serde_json::to_string(page)?;
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        match c == '<' || dnsdyno_text::acts_on_a_terminal(c) {
            true => {
                c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| out.push_str(&format!("\\u{unit:04x}")))
            }
            false => out.push(c),
        }
    }
    Ok(out)
}

/// How a page of ours begins, up to the version of the program that made it.
const GENERATOR: &str = "<meta name=\"generator\" content=\"dnsdyno";

/// Nothing from elsewhere, and nothing to elsewhere.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; \
                      img-src data: blob:; worker-src blob:";

/// The page's program, built from `web/`.
const SCRIPT: &str = include_str!("../../../web/dist/page.js");

/// Its look.
pub(crate) const STYLE: &str = include_str!("../../../web/dist/page.css");
