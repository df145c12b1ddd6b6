//! Queries that are changed when they are sent (a unique label, a signature): what is needed, by slot, to pair their
//! responses and to send them again.

use dnsdyno_plan::source::{Maker, Queries};
use dnsdyno_transport::Batch;
use dnsdyno_wire::{HEADER_LEN, patch_id, peek};

/// The changed queries; empty if queries are sent unchanged.
#[derive(Default)]
pub(crate) struct Made {
    slots: Box<[Slot]>,
    message: Vec<u8>,
}

#[derive(Clone, Copy, Default)]
struct Slot {
    number: u64,
    question_hash: u64,
}

/// A query to copy into a batch.
#[derive(Clone, Copy)]
pub(crate) struct Copied {
    /// Its number in the run.
    pub(crate) number: u64,
    pub(crate) question: u32,
    pub(crate) id: u16,
    /// Its slot in the table.
    pub(crate) slot: u32,
    /// Whether it is sent without the sections after its question.
    pub(crate) is_bare: bool,
}

impl Made {
    /// For a table with this many slots.
    pub(crate) fn new(queries: &Queries, slots: usize) -> Self {
        match queries.maker() {
            Some(_) => {
                Made { slots: vec![Slot::default(); slots].into(), message: Vec::with_capacity(USUAL_LENGTH) }
            }
            None => Made::default(),
        }
    }

    /// The number of the query in this slot; 0 if queries are sent unchanged.
    pub(crate) fn number(&self, slot: u32) -> u64 {
        self.slots.get(slot as usize).map_or(0, |made| made.number)
    }

    /// Whether queries are sent unchanged.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Whether this is the question sent from the slot.
    #[cold]
    pub(crate) fn is_question(&self, slot: u32, question: &[u8]) -> bool {
        self.slots.get(slot as usize).is_some_and(|made| made.question_hash == hash(question))
    }

    /// Copies a query into the batch, with the changes that it needs.
    pub(crate) fn put(&mut self, queries: &Queries, batch: &mut Batch, query: Copied) {
        let question = query.question as usize;
        let message = queries.message(question);
        if let Some(maker) = queries.maker() {
            self.put_made(maker, message, batch, query);
        } else if query.is_bare {
            put_bare(message, queries.question(question).len(), batch, query.id);
        } else {
            patch_id(batch.push(message), query.id);
        }
    }

    fn put_made(&mut self, maker: &dyn Maker, message: &[u8], batch: &mut Batch, query: Copied) {
        self.message.clear();
        self.message.extend_from_slice(message);
        patch_id(&mut self.message, query.id);
        maker.make(query.number, &mut self.message);
        let question = peek(&self.message).map_or(&[][..], |made| made.question);
        if let Some(slot) = self.slots.get_mut(query.slot as usize) {
            *slot = Slot { number: query.number, question_hash: hash(question) };
        }
        match query.is_bare {
            true => put_bare(&self.message, question.len(), batch, query.id),
            false => drop(batch.push(&self.message)),
        }
    }
}

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
    use dnsdyno_plan::source::QueriesBuilder;
    use dnsdyno_wire::QueryForm;
    use std::sync::Arc;

    /// Writes the number into the first label, and appends an OPT record.
    #[derive(Debug)]
    struct Numbered;

    impl Maker for Numbered {
        fn make(&self, number: u64, message: &mut Vec<u8>) {
            message[HEADER_LEN + 1] = b'A' + number as u8;
            message.extend_from_slice(b"\0\0\x29\x04\xd0\0\0\0\0\0\0");
            message[ADDITIONAL_COUNT + 1] = 1;
        }
    }

    #[test]
    fn a_retried_query_is_changed_in_the_same_way_and_may_be_sent_without_edns() {
        let mut builder = QueriesBuilder::new(QueryForm::default(), 0);
        builder.push(b"\x03www\x07example\x00", 1).unwrap();
        let queries = builder.finish().made_by(Arc::new(Numbered));
        let (mut made, mut batch) = (Made::new(&queries, 4), Batch::new(8, 64));
        let query = Copied { number: 3, question: 0, id: 7, slot: 2, is_bare: false };
        made.put(&queries, &mut batch, query);
        made.put(&queries, &mut batch, Copied { number: made.number(2), slot: 1, is_bare: true, ..query });
        let sent: Vec<_> = batch.iter().map(|message| peek(message).unwrap()).collect();
        assert_eq!((sent[0].id, sent[0].question), (7, &b"\x03Dww\x07example\x00\0\x01\0\x01"[..]));
        assert_eq!((sent[1].id, sent[1].question), (7, sent[0].question));
        let bare = batch.messages().get(1);
        assert_eq!(&bare[ADDITIONAL_COUNT..], [&[0, 0], sent[0].question].concat());
        for slot in [1, 2] {
            assert!(made.is_question(slot, b"\x03dww\x07EXAMPLE\x00\0\x01\0\x01"));
            assert!(!made.is_question(slot, b"\x03eww\x07example\x00\0\x01\0\x01"));
        }
    }
}
