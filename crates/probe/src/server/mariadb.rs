//! MariaDB and MySQL, the database behind a server: `SHOW GLOBAL STATUS`, by the client protocol over the local socket.
//!
//! ```text
//!   a packet   length in 3 octets, number in 1 octet, payload
//!   ◄ greeting    ► who we are    ◄ 00 let in, FE another way of proof, FF refused    ► statement
//!   ◄ number of columns    ◄ each column    ◄ FE    ◄ each row    ◄ FE
//! ```
//!
//! It asks as the user of this process, without a password: by its socket a server knows who asks (`unix_socket`), or
//! has a user who needs none. It connects for each reading, as one who may be gone in between.

use std::fs;
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use dnsdyno_measure::Watched;
use dnsdyno_servers::StatisticsKind;
use dnsdyno_sys::process::effective_user;
use dnsdyno_text::shown;
use socket2::SockAddr;

use super::common::LONGEST_TEXT;
use super::control::Timed;
use super::parameters::has_parameter;
use super::statistics::Statistics;
use crate::source::{ReadError, Reading};

pub(super) struct MariaDb {
    path: PathBuf,
}

/// A row of two columns: a name and its value.
type Row = (String, String);

impl MariaDb {
    pub(super) fn new(path: &Path) -> MariaDb {
        MariaDb { path: path.to_owned() }
    }

    fn ask(&self, statement: &str) -> Result<Vec<Row>, ReadError> {
        let exchange = || -> io::Result<Vec<Row>> {
            let mut socket = Timed::connect(&SockAddr::unix(&self.path)?)?;
            log_in(&mut socket, &own_user())?;
            write_packet(&mut socket, 0, &[&[COM_QUERY], statement.as_bytes()].concat())?;
            let rows = read_rows(&mut (&mut socket).take(LONGEST_ANSWER_BYTES))?;
            // Says goodbye, so that it is not counted as a connection that was broken off.
            let _ = write_packet(&mut socket, 0, &[COM_QUIT]);
            Ok(rows)
        };
        exchange().map_err(|error| {
            let reason = match error.kind() {
                ErrorKind::WouldBlock | ErrorKind::TimedOut => "no answer in time".to_owned(),
                ErrorKind::NotFound | ErrorKind::ConnectionRefused => {
                    "nothing listens there: is the database running, with this socket?".to_owned()
                }
                ErrorKind::UnexpectedEof | ErrorKind::InvalidData => {
                    "what answers there does not speak as MariaDB or MySQL".to_owned()
                }
                _ => shown(&error.to_string(), LONGEST_TEXT).into_owned(),
            };
            ReadError(format!("{}: {reason}", self.path.display()))
        })
    }
}

impl Statistics for MariaDb {
    fn describe(&mut self, watched: &mut Watched) -> Result<(), ReadError> {
        for (name, value) in self.ask("SHOW GLOBAL VARIABLES")? {
            let value = shown(&value, LONGEST_TEXT).into_owned();
            match name.as_str() {
                "version" => watched.version = Some(value),
                name if has_parameter(StatisticsKind::MariaDb, name) => {
                    drop(watched.settings.insert(name.to_owned(), value))
                }
                _ => {}
            }
        }
        self.read().map(drop)
    }

    fn read(&mut self) -> Result<Reading, ReadError> {
        let mut reading = Reading::default();
        add(&self.ask("SHOW GLOBAL STATUS")?, &mut reading);
        match reading.counters.is_empty() {
            true => Err(ReadError(format!("{}: it has no counters", self.path.display()))),
            false => Ok(reading),
        }
    }
}

/// The series of `SHOW GLOBAL STATUS`: what is a whole number.
pub(super) fn add(rows: &[Row], reading: &mut Reading) {
    for (name, value) in rows {
        let Ok(value) = value.parse() else { continue };
        match is_gauge(name) {
            true => reading.gauge(format!("raw.{name}"), value),
            false => reading.counter(format!("raw.{name}"), value),
        }
        if let Some((_, series)) = STATEMENTS.iter().find(|(theirs, _)| theirs == name) {
            reading.counter(*series, value);
        }
    }
}

fn is_gauge(name: &str) -> bool {
    const STARTS: [&str; 7] =
        ["Threads_", "Open_", "Uptime", "Max_", "Memory_", "Innodb_buffer_pool_", "Key_blocks_"];
    const ENDS: [&str; 8] = [
        "_pending_reads",
        "_pending_writes",
        "_current_waits",
        "_free",
        "_size",
        "_lsn",
        "_age",
        "_time_avg",
    ];
    // Of the pages of the buffer pool, these are counted.
    const COUNTED: [&str; 5] = ["_requests", "_reads", "_read_ahead", "_flushed", "_wait_free"];
    let is_counted = COUNTED.iter().any(|end| name.ends_with(end)) || name == "Threads_created";
    !is_counted
        && (STARTS.iter().any(|start| name.starts_with(start)) || ENDS.iter().any(|end| name.ends_with(end)))
}

/// Proves who asks, and waits until it is let in.
fn log_in(socket: &mut (impl Read + Write), user: &str) -> io::Result<()> {
    let (_, greeting) = read_packet(socket)?;
    match greeting.first() {
        Some(&PROTOCOL) => {}
        Some(&ERROR) => return Err(refused(&greeting)),
        _ => return Err(ErrorKind::InvalidData.into()),
    }
    let mut answer = CAPABILITIES.to_le_bytes().to_vec();
    answer.extend(LONGEST_PACKET.to_le_bytes());
    answer.push(UTF8);
    answer.extend([0; 23]);
    answer.extend(user.bytes().chain([0]));
    // A proof without octets: there is no password.
    answer.push(0);
    answer.extend(NATIVE.bytes().chain([0]));
    write_packet(socket, 1, &answer)?;
    for _ in 0..MOST_ROUNDS {
        let (number, packet) = read_packet(socket)?;
        match packet.first() {
            Some(&OK) => return Ok(()),
            Some(&ERROR) => return Err(refused(&packet)),
            // It wants another way of proof, in which there is no password either.
            Some(&END) => write_packet(socket, number.wrapping_add(1), &[])?,
            // More of that way: it goes on without us.
            Some(&MORE) => {}
            _ => return Err(ErrorKind::InvalidData.into()),
        }
    }
    Err(io::Error::other("it does not let in who has no password"))
}

/// Reads the answer to a statement with two columns.
///
/// # Errors
/// The server refuses the statement, or the answer is none.
pub(super) fn read_rows(socket: &mut impl Read) -> io::Result<Vec<Row>> {
    let (_, head) = read_packet(socket)?;
    let columns = match head.first() {
        Some(&ERROR) => return Err(refused(&head)),
        Some(&columns @ 1..=MOST_COLUMNS) => columns,
        _ => return Err(ErrorKind::InvalidData.into()),
    };
    // What the columns are is known; an end follows.
    for _ in 0..=columns {
        read_packet(socket)?;
    }
    let mut rows = Vec::new();
    loop {
        let (_, packet) = read_packet(socket)?;
        match packet.first() {
            Some(&END) if packet.len() < SHORTEST_ROW_AFTER_END => return Ok(rows),
            Some(&ERROR) => return Err(refused(&packet)),
            _ => {
                let mut rest = packet.as_slice();
                let row = text(&mut rest).zip(text(&mut rest)).ok_or(ErrorKind::InvalidData)?;
                rows.push(row);
            }
        }
    }
}

/// A text with its length before it: in one octet, or in two or three after a mark.
fn text(rest: &mut &[u8]) -> Option<String> {
    let octets = match rest.first()? {
        0xfc => 2,
        0xfd => 3,
        0..=0xfa => 0,
        // NULL is as good as an empty text here.
        0xfb => {
            *rest = rest.get(1..)?;
            return Some(String::new());
        }
        _ => return None,
    };
    let length = match octets {
        0 => usize::from(*rest.first()?),
        octets => {
            rest.get(1..1 + octets)?.iter().rev().fold(0, |sum, octet| (sum << 8) | usize::from(*octet))
        }
    };
    let begin = 1 + octets;
    let found = String::from_utf8_lossy(rest.get(begin..begin + length)?).into_owned();
    *rest = rest.get(begin + length..)?;
    Some(found)
}

/// A packet, with its number.
fn read_packet(socket: &mut impl Read) -> io::Result<(u8, Vec<u8>)> {
    let mut head = [0; 4];
    socket.read_exact(&mut head)?;
    let [low, middle, high, number] = head;
    let length = usize::from(low) | (usize::from(middle) << 8) | (usize::from(high) << 16);
    let mut payload = Vec::new();
    // Taken as it comes, so that a length alone takes no memory.
    socket.take(length as u64).read_to_end(&mut payload)?;
    if payload.len() == length { Ok((number, payload)) } else { Err(ErrorKind::UnexpectedEof.into()) }
}

fn write_packet(socket: &mut impl Write, number: u8, payload: &[u8]) -> io::Result<()> {
    let [low, middle, high, _] = u32::try_from(payload.len()).map_err(io::Error::other)?.to_le_bytes();
    socket.write_all(&[&[low, middle, high, number], payload].concat())
}

/// The reason that a server gives: its number, the mark of a state with five characters, and a text.
fn refused(packet: &[u8]) -> io::Error {
    let text = packet.get(3..).unwrap_or_default();
    let text = if text.first() == Some(&b'#') { text.get(6..).unwrap_or_default() } else { text };
    let text = shown(&String::from_utf8_lossy(text), LONGEST_TEXT).into_owned();
    io::Error::other(format!(
        "the database refuses: {text}; let this user in by its socket: CREATE USER {}@localhost IDENTIFIED VIA \
         unix_socket",
        own_user()
    ))
}

/// The name of the user of this process.
fn own_user() -> String {
    let named = || {
        let number = effective_user().to_string();
        let users = fs::read_to_string("/etc/passwd").ok()?;
        let mut fields = users.lines().map(|line| line.split(':'));
        fields.find_map(|mut user| {
            let name = user.next()?;
            (user.nth(1)? == number).then(|| name.to_owned())
        })
    };
    named().or_else(|| std::env::var("USER").ok()).unwrap_or_else(|| "root".to_owned())
}

/// Statements by kind, and what they cost, under names that do not look like those of DNS queries. `statements` are all
/// of all clients, with those that read these figures.
const STATEMENTS: [(&str, &str); 7] = [
    ("Questions", "statements"),
    ("Com_select", "statements.select"),
    ("Com_insert", "statements.insert"),
    ("Com_update", "statements.update"),
    ("Com_delete", "statements.delete"),
    ("Handler_commit", "commits"),
    ("Innodb_data_fsyncs", "syncs"),
];

/// Version 10 of the protocol.
const PROTOCOL: u8 = 10;

/// Long passwords, the protocol of 4.1, transactions, proofs of its kind, and named ways of proof.
const CAPABILITIES: u32 = 0x1 | 0x200 | 0x2000 | 0x8000 | 0x0008_0000;

const LONGEST_PACKET: u32 = 1 << 24;

/// `utf8_general_ci`, which every version has.
const UTF8: u8 = 33;

const NATIVE: &str = "mysql_native_password";

const COM_QUIT: u8 = 1;
const COM_QUERY: u8 = 3;

/// What the answers of a server begin with.
const OK: u8 = 0x00;
const MORE: u8 = 0x01;
const END: u8 = 0xfe;
const ERROR: u8 = 0xff;

/// A row may begin as an end does, but is longer.
const SHORTEST_ROW_AFTER_END: usize = 9;

const MOST_COLUMNS: u8 = 16;

/// Ways of proof that a server asks for one after another.
const MOST_ROUNDS: usize = 4;

const LONGEST_ANSWER_BYTES: u64 = 16 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    /// A packet of a server.
    fn packet(number: u8, payload: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        write_packet(&mut bytes, number, payload).unwrap();
        bytes
    }

    #[test]
    fn rows_are_read_whatever_way_their_lengths_are_written() {
        let long = "x".repeat(300);
        let mut row = vec![3];
        row.extend(b"Com");
        row.extend([0xfc, 44, 1]);
        row.extend(long.bytes());
        let end = [END, 0, 0, 2, 0];
        let answer = [
            packet(1, &[2]),
            packet(2, b"name"),
            packet(3, b"value"),
            packet(4, &end),
            packet(5, &row),
            packet(6, &[1, b'a', 0xfb]),
            packet(7, &end),
        ]
        .concat();
        let expected = [("Com".to_owned(), long), ("a".to_owned(), String::new())];
        assert_eq!(read_rows(&mut answer.as_slice()).unwrap(), expected);
        // Cut anywhere, it is an error.
        for length in 0..answer.len() {
            assert!(read_rows(&mut &answer[..length]).is_err(), "{length}");
        }
    }

    #[test]
    fn a_refusal_is_told_with_what_to_do() {
        let answer = packet(1, b"\xff\x15\x04#28000Access denied\x1b[2J");
        let error = read_rows(&mut answer.as_slice()).unwrap_err().to_string();
        assert!(error.contains("the database refuses: Access denied"), "{error:?}");
        assert!(error.contains("unix_socket") && !error.contains(char::is_control), "{error:?}");
    }

    #[test]
    fn counters_and_gauges_are_told_apart_and_what_is_no_number_is_left_out() {
        let rows = [
            ("Com_select", "7"),
            ("Questions", "9"),
            ("Threads_connected", "2"),
            ("Threads_created", "3"),
            ("Innodb_buffer_pool_pages_data", "4"),
            ("Innodb_buffer_pool_read_requests", "5"),
            ("Rpl_status", "OFF"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
        let mut reading = Reading::default();
        add(&rows, &mut reading);
        let names =
            |series: &std::collections::BTreeMap<String, u64>| series.keys().cloned().collect::<Vec<_>>();
        assert_eq!(
            names(&reading.counters),
            [
                "raw.Com_select",
                "raw.Innodb_buffer_pool_read_requests",
                "raw.Questions",
                "raw.Threads_created",
                "statements",
                "statements.select"
            ]
        );
        assert_eq!(names(&reading.gauges), ["raw.Innodb_buffer_pool_pages_data", "raw.Threads_connected"]);
    }
}
