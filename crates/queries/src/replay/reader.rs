//! The queries of a capture, in the order of time.

use std::net::IpAddr;

use dnsdyno_capture::{CaptureError, CaptureReader, DnsMessage, SkipReason};
use dnsdyno_measure::ReplayCounts;
use dnsdyno_text::units::counted;
use dnsdyno_wire::peek;

use crate::SourceError;

use super::answers::Answers;
use super::clock::Clock;
use super::servers::CapturedServer;

/// Reads the queries of a capture.
pub struct QueryReader {
    reader: CaptureReader,
    servers: Vec<CapturedServer>,
    counts: ReplayCounts,
    clock: Clock,
    answers: Option<Answers>,
    message: Vec<u8>,
    expected: Vec<u8>,
}

/// A query of a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CapturedQuery<'a> {
    /// When it was captured, in nanoseconds since 1970; later, after a clock was set back.
    pub at_unix_ns: u64,
    /// Who sent it.
    pub client: IpAddr,
    /// The message, with ID 0.
    pub message: &'a [u8],
    /// The response that was captured; `None` where answers are not compared, empty where there was none.
    pub expected: Option<&'a [u8]>,
}

impl QueryReader {
    pub(super) fn new(reader: CaptureReader, servers: Vec<CapturedServer>, check_answers: bool) -> Self {
        QueryReader {
            reader,
            servers,
            counts: ReplayCounts::default(),
            clock: Clock::default(),
            answers: check_answers.then(Answers::default),
            message: Vec::new(),
            expected: Vec::new(),
        }
    }

    /// What was read so far.
    pub fn counts(&self) -> ReplayCounts {
        ReplayCounts { capture: *self.reader.counts(), ..self.counts }
    }

    /// The name of the capture, as in errors.
    pub fn origin(&self) -> &str {
        self.reader.origin()
    }

    /// The error of a capture that has ended without a query.
    pub fn no_query(&self) -> SourceError {
        SourceError::NoQueryInCapture { origin: self.origin().to_owned(), skipped: skipped(&self.counts()) }
    }

    /// The next query; `None` at the end of the capture.
    ///
    /// # Errors
    /// The capture cannot be read further. What was given before is sound.
    pub fn next_query(&mut self) -> Result<Option<CapturedQuery<'_>>, CaptureError> {
        let Some((at_unix_ns, client)) = self.read()? else { return Ok(None) };
        let expected = self.answers.is_some().then_some(&self.expected[..]);
        Ok(Some(CapturedQuery { at_unix_ns, client, message: &self.message, expected }))
    }

    /// Reads up to the next query that can be given, and copies it.
    fn read(&mut self) -> Result<Option<(u64, IpAddr)>, CaptureError> {
        let QueryReader { reader, servers, counts, clock, answers, message: own, expected } = self;
        loop {
            if let Some(ready) = answers.as_mut().and_then(Answers::take_ready) {
                (*own, *expected) = (ready.message, ready.response.unwrap_or_default());
                counts.without_recorded_answer += u64::from(expected.is_empty());
                return Ok(Some((ready.at_unix_ns, ready.client.ip())));
            }
            if let Some(error) = answers.as_mut().and_then(Answers::take_error) {
                return Err(error);
            }
            let captured = match reader.next() {
                Ok(Some(captured)) => {
                    let at_unix_ns = clock.instant(captured.at_unix_ns);
                    DnsMessage { at_unix_ns, ..captured }
                }
                Ok(None) if answers.as_ref().is_some_and(|answers| !answers.is_empty()) => {
                    answers.iter_mut().for_each(Answers::end);
                    continue;
                }
                Ok(None) => return Ok(None),
                // What was read before the error is sent.
                Err(error) => match answers.as_mut().filter(|answers| !answers.is_empty()) {
                    Some(answers) => {
                        answers.fail(error);
                        continue;
                    }
                    None => return Err(error),
                },
            };
            if captured.is_response() {
                let is_its = answers.as_mut().is_some_and(|answers| answers.respond(&captured));
                counts.responses += u64::from(!is_its);
                continue;
            }
            if !is_wanted(&captured, servers, counts) {
                continue;
            }
            counts.queries += 1;
            if let Some(answers) = answers {
                answers.ask(&captured);
                continue;
            }
            own.clear();
            own.extend_from_slice(captured.bytes);
            own[..ID_BYTES].fill(0);
            return Ok(Some((captured.at_unix_ns, captured.source.ip())));
        }
    }
}

/// Whether a query is sent; counts the others.
fn is_wanted(captured: &DnsMessage<'_>, servers: &[CapturedServer], counts: &mut ReplayCounts) -> bool {
    let is_of_server = servers.is_empty() || servers.iter().any(|server| server.is(captured.destination));
    if !is_of_server {
        counts.to_other_servers += 1;
    } else if peek(captured.bytes).is_err() {
        counts.malformed += 1;
    } else {
        return true;
    }
    false
}

/// The message ID is the first field of the header.
const ID_BYTES: usize = 2;

/// `; it has 12 responses and 3 queries to other servers`; empty where it has nothing.
pub(super) fn skipped(counts: &ReplayCounts) -> String {
    let of = [
        (counts.responses, "response", "responses"),
        (counts.to_other_servers, "query to another server", "queries to other servers"),
        (counts.malformed, "query that is not valid", "queries that are not valid"),
    ];
    let parts: Vec<_> = of
        .into_iter()
        .filter(|(count, ..)| *count > 0)
        .map(|(count, one, many)| counted(count, one, many))
        .chain(
            counts
                .capture
                .skipped
                .iter()
                .filter(|(_, count)| **count > 0)
                .map(|(reason, count)| format!("{count} × {}", reason.words())),
        )
        .collect();
    let advice = match counts.capture.skipped.of(SkipReason::OtherPort) {
        0 => "",
        _ => "; for queries to another port than 53 add --captured-server ADDRESS:PORT",
    };
    if parts.is_empty() { String::new() } else { format!("; it has {}{advice}", parts.join(", ")) }
}
