//! Queries that are changed when they are sent (a unique label, a signature): what is needed, by slot, to pair their
//! responses and to send them again; and what was found in the responses that a maker checks.

use dnsdyno_measure::Arrivals;
use dnsdyno_queries::{
    Checked, CookieFound, QueryToMake, ResponseToCheck, TsigFound, WorkerMaker, WorkerShare, strip,
};
use dnsdyno_transport::Batch;
use dnsdyno_wire::{HEADER_LEN, Peek, patch_id, peek, same_question};

use crate::question::{asks, is_error_without_question};
use crate::supply::Supply;

/// The changed queries; empty if queries are sent unchanged.
#[derive(Default)]
pub(crate) struct Rewriter {
    maker: Option<Box<dyn WorkerMaker>>,
    /// Whether the question of a query is known only by its hash.
    changes_question: bool,
    checks_responses: bool,
    /// What was found in the last response, if it was checked.
    found: Option<Checked>,
    slots: Box<[Slot]>,
    message: Vec<u8>,
}

#[derive(Clone, Copy, Default)]
struct Slot {
    number: u64,
    /// 0 where queries keep their question.
    question_hash: u64,
}

/// A query to copy into a batch.
#[derive(Clone, Copy)]
pub(crate) struct Copied {
    /// Its number in the run.
    pub(crate) number: u64,
    pub(crate) question: u32,
    pub(crate) id: u16,
    pub(crate) channel: usize,
    /// Its slot in the table.
    pub(crate) slot: u32,
    /// When it was due.
    pub(crate) due_ns: u64,
    /// When it is sent.
    pub(crate) at_ns: u64,
    /// Whether it is sent without the sections after its question.
    pub(crate) is_bare: bool,
}

impl Rewriter {
    /// For a table with this many slots of this many channels.
    pub(crate) fn new(queries: &dyn Supply, share: WorkerShare, slots: usize, channels: usize) -> Self {
        let Some(maker) = queries.maker() else { return Rewriter::default() };
        let mut of_worker = maker.begin(share);
        of_worker.prepare(slots, channels);
        Rewriter {
            maker: Some(of_worker),
            changes_question: maker.changes_question(),
            checks_responses: maker.checks_responses(),
            found: None,
            slots: vec![Slot::default(); slots].into(),
            message: Vec::with_capacity(USUAL_LENGTH),
        }
    }

    /// The number of the query in this slot; 0 if queries are sent unchanged.
    pub(crate) fn number(&self, slot: u32) -> u64 {
        self.slots.get(slot as usize).map_or(0, |slot| slot.number)
    }

    /// Whether queries are sent unchanged.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Whether the question of a query is not that of its source.
    pub(crate) fn changes_question(&self) -> bool {
        self.changes_question
    }

    /// Whether responses are checked.
    #[inline]
    pub(crate) fn checks_responses(&self) -> bool {
        self.checks_responses
    }

    /// Whether a message from the server is the response to the query in the slot, whose question in the source is
    /// `asked`.
    #[cold]
    pub(crate) fn is_response(&mut self, slot: u32, asked: &[u8], response: &Received<'_>) -> bool {
        let Received { channel, at_ns, peek, bytes } = *response;
        let is_question = match self.changes_question {
            true => is_error_without_question(&peek) || self.is_question(slot, asked, peek.question),
            false => asks(&peek, asked),
        };
        if !is_question || !self.checks_responses {
            return is_question;
        }
        let Some(maker) = &mut self.maker else { return true };
        let found = maker.check(&ResponseToCheck { slot, channel, at_ns, rcode: peek.rcode, bytes });
        self.found = Some(found);
        found.is_accepted()
    }

    /// Whether this is the question sent from the slot.
    #[cold]
    pub(crate) fn is_question(&self, slot: u32, asked: &[u8], question: &[u8]) -> bool {
        match self.changes_question {
            true => self.slots.get(slot as usize).is_some_and(|made| made.question_hash == hash(question)),
            false => same_question(question, asked),
        }
    }

    /// Whether the last response had the question of its query and was not accepted all the same.
    pub(crate) fn has_rejected(&self) -> bool {
        self.found.is_some_and(|found| !found.is_accepted())
    }

    /// Counts what was found in the last response; what is valid only if it has ended a query.
    #[cold]
    pub(crate) fn count_found(&mut self, has_ended_query: bool, rcode: u16, arrivals: &mut Arrivals) {
        let Some(Checked { tsig, cookie }) = self.found.take() else { return };
        match tsig {
            Some(TsigFound::Failed(why)) => arrivals.tsig_mut().failed.add(why, 1),
            Some(TsigFound::Verified(error)) if has_ended_query => {
                arrivals.tsig_mut().verified += 1;
                count_tsig_error(error, arrivals);
            }
            Some(TsigFound::UnsignedError(error)) if has_ended_query => {
                arrivals.tsig_mut().unsigned_errors += 1;
                count_tsig_error(error, arrivals);
            }
            _ => {}
        }
        match cookie {
            Some(CookieFound::WrongClientCookie) => arrivals.cookies_mut().wrong_client_cookie += 1,
            Some(CookieFound::ServerCookie) if has_ended_query => {
                arrivals.cookies_mut().with_server_cookie += 1;
            }
            Some(CookieFound::Absent) if has_ended_query => arrivals.cookies_mut().without += 1,
            Some(CookieFound::Malformed) if has_ended_query => arrivals.cookies_mut().malformed += 1,
            _ => {}
        }
        if cookie.is_some() && has_ended_query && rcode == BADCOOKIE {
            arrivals.cookies_mut().bad_cookie += 1;
        }
    }

    /// Copies a query into the batch, with the changes that it needs.
    pub(crate) fn put(&mut self, queries: &dyn Supply, batch: &mut Batch, query: Copied) {
        let message = queries.message(query.question);
        if self.maker.is_some() {
            self.put_made(message, batch, query);
        } else if query.is_bare {
            put_bare(message, queries.question(query.question).len(), batch, query.id);
        } else {
            patch_id(batch.push(message), query.id);
        }
    }

    fn put_made(&mut self, message: &[u8], batch: &mut Batch, query: Copied) {
        self.message.clear();
        self.message.extend_from_slice(message);
        patch_id(&mut self.message, query.id);
        let Copied { number, question, channel, slot, due_ns, at_ns, is_bare, .. } = query;
        let to_make = QueryToMake { number, question, channel, slot, due_ns, at_ns };
        match &mut self.maker {
            Some(maker) if is_bare => {
                strip(&mut self.message);
                maker.make_bare(&to_make, &mut self.message);
            }
            Some(maker) => maker.make(&to_make, &mut self.message),
            None => {}
        }
        let question_hash = match self.changes_question {
            true => hash(peek(&self.message).map_or(&[], |made| made.question)),
            false => 0,
        };
        if let Some(slot) = self.slots.get_mut(slot as usize) {
            *slot = Slot { number, question_hash };
        }
        batch.push(&self.message);
    }
}

/// A message from the server.
#[derive(Clone, Copy)]
pub(crate) struct Received<'a> {
    /// The channel over which it came.
    pub(crate) channel: usize,
    /// When.
    pub(crate) at_ns: u64,
    pub(crate) peek: Peek<'a>,
    pub(crate) bytes: &'a [u8],
}

fn count_tsig_error(error: u16, arrivals: &mut Arrivals) {
    if error != 0 {
        arrivals.tsig_mut().errors.add(error, 1);
    }
}

/// The RCODE of a server that wants its cookie (RFC 7873).
const BADCOOKIE: u16 = 23;

/// Copies the header and the question of a message into the batch.
fn put_bare(message: &[u8], question_len: usize, batch: &mut Batch, id: u16) {
    let length = HEADER_LEN + question_len;
    let copy = batch.push(&message[..length]);
    patch_id(copy, id);
    if length < message.len() {
        copy[ADDITIONAL_COUNT..HEADER_LEN].fill(0);
    }
}

/// FNV-1a that ignores ASCII case, as the comparison of names does (RFC 4343). A length octet is never a letter.
fn hash(question: &[u8]) -> u64 {
    question.iter().fold(0xCBF2_9CE4_8422_2325, |hash, octet| {
        (hash ^ u64::from(octet.to_ascii_lowercase())).wrapping_mul(0x0100_0000_01B3)
    })
}

/// The position of ARCOUNT in the header.
const ADDITIONAL_COUNT: usize = 10;

/// Capacity for a changed message in octets. A longer message lets the buffer grow once.
const USUAL_LENGTH: usize = 1_024;

#[cfg(test)]
mod tests {
    use super::*;
    use dnsdyno_queries::{Maker, QueriesBuilder};
    use dnsdyno_wire::QueryForm;
    use std::sync::Arc;

    const ALONE: WorkerShare = WorkerShare { worker: 0, workers: 1, start_unix_ns: 0 };

    /// Writes the number into the first label, and appends an OPT record.
    #[derive(Debug)]
    struct Numbered;

    impl Maker for Numbered {
        fn begin(&self, _: WorkerShare) -> Box<dyn WorkerMaker> {
            Box::new(Numbered)
        }
    }

    impl WorkerMaker for Numbered {
        fn make(&mut self, query: &QueryToMake, message: &mut Vec<u8>) {
            message[HEADER_LEN + 1] = b'A' + query.number as u8;
            message.extend_from_slice(b"\0\0\x29\x04\xd0\0\0\0\0\0\0");
            message[ADDITIONAL_COUNT + 1] = 1;
        }
    }

    #[test]
    fn a_retried_query_is_changed_in_the_same_way_and_may_be_sent_without_edns() {
        let mut builder = QueriesBuilder::new(QueryForm::default(), 0);
        builder.push(b"\x03www\x07example\x00", 1).unwrap();
        let queries = builder.finish().made_by(Arc::new(Numbered));
        let queries = &queries;
        let (mut made, mut batch) = (Rewriter::new(&queries, ALONE, 4, 1), Batch::new(8, 64));
        let query = Copied {
            number: 3,
            question: 0,
            id: 7,
            channel: 0,
            slot: 2,
            due_ns: 0,
            at_ns: 0,
            is_bare: false,
        };
        made.put(&queries, &mut batch, query);
        made.put(&queries, &mut batch, Copied { number: made.number(2), slot: 1, is_bare: true, ..query });
        let sent: Vec<_> = batch.iter().map(|message| peek(message).unwrap()).collect();
        assert_eq!((sent[0].id, sent[0].question), (7, &b"\x03Dww\x07example\x00\0\x01\0\x01"[..]));
        assert_eq!((sent[1].id, sent[1].question), (7, sent[0].question));
        let bare = batch.messages().get(1);
        assert_eq!(&bare[ADDITIONAL_COUNT..], [&[0, 0], sent[0].question].concat());
        for slot in [1, 2] {
            assert!(made.is_question(slot, &[], b"\x03dww\x07EXAMPLE\x00\0\x01\0\x01"));
            assert!(!made.is_question(slot, &[], b"\x03eww\x07example\x00\0\x01\0\x01"));
        }
    }
}
