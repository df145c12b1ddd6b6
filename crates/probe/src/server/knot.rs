//! Knot DNS: its control socket, or the file that it writes its statistics to.
//!
//! ```text
//!   a message   units, the last one BLOCK               (libknot, control.c)
//!   a unit      kind: 0 END, 1 DATA, 2 EXTRA, 3 BLOCK   one octet
//!               items of DATA and EXTRA                 0x10 + index, length in 2 octets, text
//! ```
//!
//! What it counts, it counts in the module mod-stats, as far as that is switched on.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use dnsdyno_measure::Watched;
use dnsdyno_servers::StatisticsKind;
use dnsdyno_text::shown;
use socket2::SockAddr;

use super::common::LONGEST_TEXT;
use super::control::Timed;
use super::parameters::parameters_of;
use super::statistics::Statistics;
use crate::source::{OpenError, ReadError, Reading};

pub(super) struct Knot {
    path: PathBuf,
    is_file: bool,
    /// The process that has answered.
    process: Cell<Option<u32>>,
}

/// A value with what leads to it: `mod-stats`, `query-type`, `A`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Row {
    section: String,
    item: String,
    id: String,
    value: String,
    /// The server's reason for not answering.
    error: String,
}

impl Knot {
    pub(super) fn new(path: &Path) -> Result<Knot, OpenError> {
        let metadata = path.metadata().map_err(|error| {
            OpenError::new(format!(
                "{}: {error}: is knotd running, with this control socket?",
                path.display()
            ))
        })?;
        Ok(Knot { path: path.to_owned(), is_file: metadata.is_file(), process: Cell::new(None) })
    }

    fn statistics(&self) -> Result<Vec<Row>, ReadError> {
        if !self.is_file {
            // With the flag F also what is 0.
            return self.ask(&[(COMMAND, "stats"), (FLAGS, "F")]);
        }
        let mut bytes = Vec::new();
        let file =
            File::open(&self.path).and_then(|file| file.take(LONGEST_ANSWER_BYTES).read_to_end(&mut bytes));
        file.map_err(|error| self.error(&error))?;
        match rows_of_file(&String::from_utf8_lossy(&bytes)) {
            rows if rows.is_empty() => {
                Err(ReadError(format!("{} is not a file of statistics of Knot DNS", self.path.display())))
            }
            rows => Ok(rows),
        }
    }

    fn ask(&self, items: &[(u8, &str)]) -> Result<Vec<Row>, ReadError> {
        let exchange = || -> io::Result<Vec<Row>> {
            let mut socket = Timed::connect(&SockAddr::unix(&self.path)?)?;
            self.process.set(socket.process());
            socket.write_all(&message(items))?;
            let rows = read_rows(&mut (&mut socket).take(LONGEST_ANSWER_BYTES))?;
            // Says goodbye; who has closed already does not mind.
            let _ = socket.write_all(&[END]);
            Ok(rows)
        };
        let rows = exchange().map_err(|error| self.error(&error))?;
        match rows.iter().find(|row| !row.error.is_empty()) {
            Some(row) => Err(ReadError(format!("the server refuses: {}", shown(&row.error, LONGEST_TEXT)))),
            None => Ok(rows),
        }
    }

    fn error(&self, error: &io::Error) -> ReadError {
        let reason = match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => "no answer in time".to_owned(),
            ErrorKind::UnexpectedEof => {
                "what answers there closed the connection within its answer".to_owned()
            }
            _ => error.to_string(),
        };
        ReadError(format!("{}: {reason}", self.path.display()))
    }
}

impl Statistics for Knot {
    fn describe(&mut self, watched: &mut Watched) -> Result<(), ReadError> {
        let rows = self.statistics()?;
        missing(&rows, watched);
        if self.is_file {
            watched
                .missing
                .push("version and parameters: give the control socket instead of the file".to_owned());
            return Ok(());
        }
        let status = self.ask(&[(COMMAND, "status"), (FLAGS, ""), (TYPE, "version")])?;
        let version = status.iter().find_map(|row| row.value.strip_prefix("Version: "));
        watched.version = version.map(|version| shown(version, LONGEST_TEXT).into_owned());
        // Only what is set.
        let set = |section| self.ask(&[(COMMAND, "conf-read"), (FLAGS, ""), (SECTION, section)]);
        add_settings("", &set("server")?, watched);
        watched.unset.extend(unset(watched, |name| !name.starts_with(RATE_LIMITS)));
        // A server without the module has no such section.
        if let Ok(rows) = set(RRL) {
            add_settings(RATE_LIMITS, &rows, watched);
            watched.unset.extend(unset(watched, |name| name.starts_with(RATE_LIMITS)));
        }
        Ok(())
    }

    fn process(&self) -> Option<u32> {
        self.process.get()
    }

    fn read(&mut self) -> Result<Reading, ReadError> {
        let mut reading = Reading::default();
        add(&self.statistics()?, &mut reading);
        Ok(reading)
    }
}

/// The settings of a section; one that is set several times has all of its values.
fn add_settings(prefix: &str, rows: &[Row], watched: &mut Watched) {
    for row in rows.iter().filter(|row| !row.item.is_empty()) {
        let value = shown(&row.value, LONGEST_TEXT).into_owned();
        watched
            .settings
            .entry(format!("{prefix}{}", shown(&row.item, LONGEST_TEXT)))
            .and_modify(|values| *values = format!("{values}, {value}"))
            .or_insert(value);
    }
}

/// Those of these parameters that are not set.
fn unset(watched: &Watched, is_one: impl Fn(&str) -> bool) -> Vec<String> {
    let names = parameters_of(StatisticsKind::Knot);
    names.filter(|name| is_one(name) && !watched.settings.contains_key(*name)).map(str::to_owned).collect()
}

/// How the names of the parameters of `mod-rrl` begin.
const RATE_LIMITS: &str = "mod-rrl.";

/// What is not counted, and how to have it counted.
fn missing(rows: &[Row], watched: &mut Watched) {
    let has = |section: &str, item: &str| {
        rows.iter().any(|row| row.section == section && (item.is_empty() || row.item == item))
    };
    if !has("mod-stats", "") {
        watched.missing.push(
            "queries and responses: load the module mod-stats for all zones (`global-module: mod-stats` in the default \
             template of knot.conf)"
                .to_owned(),
        );
        return;
    }
    for (item, what) in [("query-type", "queries by type"), ("flag-presence", "truncated responses")] {
        if !has("mod-stats", item) {
            watched.missing.push(format!("{what}: set `{item}: on` in the section mod-stats of knot.conf"));
        }
    }
}

/// The series of statistics.
pub(super) fn add(rows: &[Row], reading: &mut Reading) {
    for row in rows {
        let Ok(value) = row.value.parse::<u64>() else { continue };
        let Row { section, item, id, .. } = row;
        let name = if id.is_empty() {
            format!("raw.{section}.{item}")
        } else {
            format!("raw.{section}.{item}.{id}")
        };
        if section == "server" {
            reading.gauge(name, value);
        } else {
            reading.counter(name, value);
        }
        match (section.as_str(), item.as_str()) {
            ("mod-stats", "request-protocol") => reading.transport(transport(id), value),
            ("mod-stats", "server-operation") if id == "query" => reading.counter("queries", value),
            ("mod-stats", "response-code") => {
                reading.counter("responses", value);
                reading.rcode(id, value);
            }
            ("mod-stats", "flag-presence") if id == "TC" => reading.counter("responses.truncated", value),
            ("mod-stats", "query-type") => reading.query_type(id, value),
            ("mod-rrl", "dropped") => reading.dropped("rate-limit", value),
            ("mod-rrl", "slipped") => reading.counter("responses.slipped", value),
            _ => {}
        }
    }
}

/// `udp4`, `tcp6`, `quic4`, `tls6`, and with `-xdp` at the end.
fn transport(protocol: &str) -> &'static str {
    match protocol {
        protocol if protocol.starts_with("tcp") => "tcp",
        protocol if protocol.starts_with("quic") => "doq",
        protocol if protocol.starts_with("tls") => "dot",
        _ => "udp",
    }
}

fn message(items: &[(u8, &str)]) -> Vec<u8> {
    let mut message = vec![DATA];
    for (index, text) in items {
        let length = u16::try_from(text.len()).unwrap_or(0);
        message.push(FIRST_ITEM + index);
        message.extend(length.to_be_bytes());
        message.extend(&text.as_bytes()[..usize::from(length)]);
    }
    message.push(BLOCK);
    message
}

fn strange() -> io::Error {
    io::Error::other("what answers there does not speak the control protocol of Knot DNS")
}

/// Reads the units of an answer.
pub(super) fn read_rows(from: &mut impl Read) -> io::Result<Vec<Row>> {
    let mut from = io::BufReader::new(from);
    let mut octet = || -> io::Result<(u8, Option<String>)> {
        let mut head = [0];
        from.read_exact(&mut head)?;
        match head[0] {
            unit @ ..FIRST_ITEM => return Ok((unit, None)),
            FIRST_ITEM..=LAST_ITEM => {}
            _ => return Err(strange()),
        }
        let mut length = [0; 2];
        from.read_exact(&mut length)?;
        let mut text = vec![0; usize::from(u16::from_be_bytes(length))];
        from.read_exact(&mut text)?;
        Ok((head[0] - FIRST_ITEM, Some(String::from_utf8_lossy(&text).into_owned())))
    };
    let (mut rows, mut row) = (Vec::new(), None::<Row>);
    loop {
        match octet()? {
            (DATA | EXTRA, None) if rows.len() < MOST_ROWS => rows.extend(row.replace(Row::default())),
            (BLOCK | END, None) => {
                rows.extend(row);
                return Ok(rows);
            }
            (index, Some(text)) => {
                let row = row.get_or_insert_default();
                match index {
                    ERROR => row.error = text,
                    SECTION => row.section = text,
                    ITEM => row.item = text,
                    ID => row.id = text,
                    VALUE => row.value = text,
                    _ => {}
                }
            }
            _ => return Err(strange()),
        }
    }
}

/// Reads the file of statistics: YAML of three levels, each one space deeper. Statistics of single zones are left out.
pub(super) fn rows_of_file(text: &str) -> Vec<Row> {
    let (mut section, mut item) = ("", "");
    let mut rows = Vec::new();
    for line in text.lines().take(MOST_ROWS) {
        let Some((key, value)) = line.split_once(": ").or_else(|| Some((line.strip_suffix(':')?, ""))) else {
            continue;
        };
        let (depth, key, value) = (key.len() - key.trim_start().len(), key.trim(), value.trim());
        let (row_item, id) = match depth {
            0 => {
                (section, item) = (key, "");
                continue;
            }
            1 => {
                item = key;
                (key, "")
            }
            2 => (item, key),
            _ => continue,
        };
        if !value.is_empty() && section != "zone" {
            rows.push(Row {
                section: section.to_owned(),
                item: row_item.to_owned(),
                id: id.to_owned(),
                value: value.to_owned(),
                error: String::new(),
            });
        }
    }
    rows
}

/// Response rate limiting.
const RRL: &str = "mod-rrl";

/// Kinds of units.
const END: u8 = 0;
const DATA: u8 = 1;
const EXTRA: u8 = 2;
const BLOCK: u8 = 3;

/// The codes of items, and the indexes of those that are used.
const FIRST_ITEM: u8 = 0x10;
const LAST_ITEM: u8 = 0x1f;
const COMMAND: u8 = 0;
const FLAGS: u8 = 1;
const ERROR: u8 = 2;
const SECTION: u8 = 3;
const ITEM: u8 = 4;
const ID: u8 = 5;
const TYPE: u8 = 9;
const VALUE: u8 = 10;

const LONGEST_ANSWER_BYTES: u64 = 16 << 20;

const MOST_ROWS: usize = 100_000;
