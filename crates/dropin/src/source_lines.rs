//! The lines of a data file as they are written: for the warnings about malformed ones, and for `-v`.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};

use dnsdyno_queries::{BadLine, BadReason, dnsperf_lines, dnsperf_query};
use dnsdyno_text::encoding::after_mark;
use dnsdyno_text::shown;

/// dnsperf's warning about a malformed line.
pub(crate) fn warning_of(bad: &BadLine) -> String {
    let text = printable;
    let mut words = bad.text.split([' ', '\t']).filter(|word| !word.is_empty());
    match &bad.reason {
        BadReason::Update(mistake) => text(&mistake.in_words_of_dnsperf(&bad.text)),
        BadReason::NoType | BadReason::LeadingBlank => {
            format!("invalid query input format: {}", text(&bad.text))
        }
        BadReason::UnknownType(qtype) => format!("invalid qtype: {}", text(qtype)),
        _ => format!("invalid domain name (or out of space): {}", text(words.next().unwrap_or_default())),
    }
}

/// The lines of a file that are queries, for [`Printing`](crate::printer::Printing).
pub(crate) fn texts(file: &str) -> io::Result<Vec<Box<str>>> {
    let mut input = BufReader::new(File::open(file)?);
    let (mut texts, mut line, mut name_wire) = (Vec::new(), Vec::new(), Vec::new());
    let mut is_first = true;
    loop {
        line.clear();
        if input.by_ref().take(LONGEST_READ).read_until(b'\n', &mut line)? == 0 {
            return Ok(texts);
        }
        let line = if is_first { after_mark(&line) } else { &line };
        is_first = false;
        for text in dnsperf_lines(line) {
            name_wire.clear();
            if dnsperf_query(text, &mut name_wire).is_ok() {
                texts.push(printable(&String::from_utf8_lossy(text)).into());
            }
        }
    }
}

/// A text of a file, without what would control a terminal; tabs are kept.
fn printable(text: &str) -> String {
    let parts = text.split('\t').map(|part| shown(part, LONGEST_SHOWN));
    parts.collect::<Vec<_>>().join("\t")
}

/// Characters of a line that are shown.
const LONGEST_SHOWN: usize = 4_000;

/// Octets of a line that are read at once.
const LONGEST_READ: u64 = 64 * 1024;
