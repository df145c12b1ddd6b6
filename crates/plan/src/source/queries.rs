//! Every query of a run, encoded once, in one block of memory.
//!
//! ```text
//! arena   | message 0 | message 1 | message 2      | ...
//! ends                ^           ^                ^        u32 each
//! slots     0           0           1                       u8 each: an index into types()
//! ```
//!
//! That is five bytes per query in addition to its message. Ten million queries take some 400 MB, and sending one
//! copies a slice and sets its ID.
//!
//! Queries of one form need no more. Optional attributes (a tail of another length, an instant, a client) have their
//! own columns, which are empty where no query has them. A [`Maker`] changes messages when they are sent.

use std::sync::Arc;

use dnsdyno_wire::{HEADER_LEN, QueryForm, peek};
use ring::digest::{Context, SHA256};

use super::maker::Maker;

/// Represents, in [`Queries::types`], all types beyond the 255 that have their own slot. As a type number it is
/// reserved by IANA and not queried.
pub const OTHER_TYPES: u16 = 0xFFFF;

/// The messages of a run, in the order they are sent (see [`Queries::group_by_length`]).
#[derive(Debug, Clone)]
pub struct Queries {
    pub(super) arena: Vec<u8>,
    pub(super) ends: Vec<u32>,
    pub(super) type_slots: Vec<u8>,
    types: Vec<u16>,
    /// The octets after the question, in messages without their own length.
    tail_len: usize,
    /// The octets after the question of each message; empty where all have the same number.
    pub(super) tail_lens: Vec<u16>,
    /// When each query is due, in nanoseconds since the start; empty where the load determines it.
    instants: Vec<u64>,
    /// The client that sends each query; empty where any client may.
    pub(super) clients: Vec<u32>,
    maker: Option<Arc<dyn Maker>>,
}

/// Optional attributes of a query; all queries of a source have the same ones.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Own {
    /// When it is due, in nanoseconds since the start of the run; not before the preceding query.
    pub at_ns: Option<u64>,
    /// The number of the client that sends it, counted over all workers, modulo the number of clients.
    pub client: Option<u32>,
}

impl Queries {
    /// The number of queries.
    #[inline]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Message `i`, with ID 0. Panics if `i` is not below [`Queries::len`].
    #[inline]
    pub fn message(&self, i: usize) -> &[u8] {
        let start = if i == 0 { 0 } else { self.ends[i - 1] as usize };
        &self.arena[start..self.ends[i] as usize]
    }

    /// The question of message `i` as on the wire: name, type, class. Responses are matched by it; where it
    /// is empty, by the ID alone. Panics as [`Queries::message`] does.
    #[inline(always)]
    pub fn question(&self, i: usize) -> &[u8] {
        let message = self.message(i);
        let tail_len = if self.tail_lens.is_empty() { self.tail_len } else { usize::from(self.tail_lens[i]) };
        &message[HEADER_LEN..message.len() - tail_len]
    }

    /// When each query is due, for a load with the instants of the source; empty where they have none.
    pub fn instants(&self) -> &[u64] {
        &self.instants
    }

    /// The client that sends query `i`; `None` where any client may.
    #[inline]
    pub fn client(&self, i: usize) -> Option<u32> {
        self.clients.get(i).copied()
    }

    /// The maker that changes each message when it is sent; `None` where they are sent unchanged.
    #[inline]
    pub fn maker(&self) -> Option<&dyn Maker> {
        self.maker.as_deref()
    }

    /// These queries with a maker that changes each when it is sent.
    pub fn made_by(self, maker: Arc<dyn Maker>) -> Queries {
        Queries { maker: Some(maker), ..self }
    }

    /// The index in [`Queries::types`] of the QTYPE of message `i`. Panics as
    /// [`Queries::message`] does.
    #[inline]
    pub fn type_slot(&self, i: usize) -> usize {
        usize::from(self.type_slots[i])
    }

    /// The QTYPEs, in the order they first appear: 256 at most. With more than 255, the last entry
    /// is [`OTHER_TYPES`] and stands for the rest.
    pub fn types(&self) -> &[u16] {
        &self.types
    }

    /// A hash of the messages in their order: the first 64 bits of the SHA-256 of all of them, each after its length
    /// (16 bits), as 16 hexadecimal digits.
    pub fn hash(&self) -> String {
        let mut context = Context::new(&SHA256);
        for i in 0..self.len() {
            let message = self.message(i);
            context.update(&(message.len() as u16).to_be_bytes());
            context.update(message);
        }
        let digest = context.finish();
        digest.as_ref().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
    }

    /// The size of all messages, in bytes.
    pub fn encoded_bytes(&self) -> usize {
        self.arena.len()
    }
}

/// The messages do not fit: their block is addressed with 32 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Full;

/// Collects [`Queries`].
#[derive(Debug)]
pub struct QueriesBuilder {
    form: QueryForm,
    queries: Queries,
    /// The slot of each type, or [`NO_SLOT`]. A table, because it is used for every line of a file.
    slot_of_type: Box<[u16]>,
}

impl QueriesBuilder {
    /// Queries of this form, with capacity for about `bytes_hint` bytes of messages.
    pub fn new(form: QueryForm, bytes_hint: usize) -> QueriesBuilder {
        QueriesBuilder {
            form,
            queries: Queries {
                arena: Vec::with_capacity(bytes_hint.min(MAX_ARENA_BYTES)),
                ends: Vec::new(),
                type_slots: Vec::new(),
                types: Vec::new(),
                tail_len: form.tail_len(),
                tail_lens: Vec::new(),
                instants: Vec::new(),
                clients: Vec::new(),
                maker: None,
            },
            slot_of_type: vec![NO_SLOT; usize::from(u16::MAX) + 1].into_boxed_slice(),
        }
    }

    /// Adds a query for a name in wire format.
    #[inline]
    pub fn push(&mut self, name_wire: &[u8], qtype: u16) -> Result<(), Full> {
        let queries = &mut self.queries;
        if self.form.message_len(name_wire.len()) > MAX_ARENA_BYTES - queries.arena.len() {
            return Err(Full);
        }
        self.form.encode(name_wire, qtype, &mut queries.arena);
        if !queries.tail_lens.is_empty() {
            queries.tail_lens.push(queries.tail_len as u16);
        }
        self.end_message(qtype);
        Ok(())
    }

    /// Adds a complete message, with ID 0, and its attributes. Where it does not have exactly one readable question,
    /// its response is matched by the ID alone, and its type is 0.
    pub fn push_message(&mut self, message: &[u8], own: Own) -> Result<(), Full> {
        let queries = &mut self.queries;
        if message.len() > MAX_MESSAGE_BYTES || message.len() > MAX_ARENA_BYTES - queries.arena.len() {
            return Err(Full);
        }
        let found = peek(message).ok();
        let question_len = found.as_ref().map_or(0, |peek| peek.question.len());
        queries.tail_lens.resize(queries.ends.len(), queries.tail_len as u16);
        queries.tail_lens.push(message.len().saturating_sub(HEADER_LEN + question_len) as u16);
        queries.instants.extend(own.at_ns);
        queries.clients.extend(own.client);
        queries.arena.extend_from_slice(message);
        self.end_message(found.and_then(|peek| peek.qtype()).unwrap_or(0));
        Ok(())
    }

    fn end_message(&mut self, qtype: u16) {
        let slot = match self.slot_of_type[usize::from(qtype)] {
            NO_SLOT => self.new_slot(qtype),
            slot => slot as u8,
        };
        self.queries.ends.push(self.queries.arena.len() as u32);
        self.queries.type_slots.push(slot);
    }

    /// The number of queries so far.
    pub fn len(&self) -> usize {
        self.queries.len()
    }

    /// Whether there are none yet.
    pub fn is_empty(&self) -> bool {
        self.queries.is_empty()
    }

    /// The queries; unused reserved memory is freed.
    pub fn finish(mut self) -> Queries {
        self.queries.arena.shrink_to_fit();
        self.queries.ends.shrink_to_fit();
        self.queries.type_slots.shrink_to_fit();
        self.queries
    }

    /// Assigns a slot to a new type.
    #[cold]
    fn new_slot(&mut self, qtype: u16) -> u8 {
        let types = &mut self.queries.types;
        let slot = types.len().min(LAST_SLOT);
        if types.len() < LAST_SLOT {
            types.push(qtype);
        } else if types.len() == LAST_SLOT {
            types.push(OTHER_TYPES);
        }
        self.slot_of_type[usize::from(qtype)] = slot as u16;
        slot as u8
    }
}

/// The longest DNS message.
const MAX_MESSAGE_BYTES: usize = u16::MAX as usize;

/// The maximum of an end of type u32.
const MAX_ARENA_BYTES: usize = u32::MAX as usize;

/// The slot shared by all types after the others are used.
const LAST_SLOT: usize = 255;

/// No slot yet; above every slot.
const NO_SLOT: u16 = u16::MAX;

#[cfg(test)]
mod tests {
    use super::*;
    use dnsdyno_wire::peek;

    fn wire(text: &str) -> Vec<u8> {
        let mut out = Vec::new();
        dnsdyno_wire::encode_name(text.as_bytes(), &mut out).expect("a test name");
        out
    }

    #[test]
    fn each_message_has_its_question_and_type() {
        for form in [QueryForm::default(), QueryForm { nsid: true, dnssec_ok: true, ..QueryForm::default() }]
        {
            let mut builder = QueriesBuilder::new(form, 0);
            let expected = [("a.example", 1), (".", 2), ("b.example", 28), ("c", 1)];
            for (name, qtype) in expected {
                assert_eq!(builder.push(&wire(name), qtype), Ok(()));
            }
            let queries = builder.finish();
            assert_eq!(queries.len(), 4);
            assert_eq!(queries.types(), [1, 2, 28]);
            for (i, (name, qtype)) in expected.into_iter().enumerate() {
                let found = peek(queries.message(i)).expect("a whole message");
                assert_eq!((found.qname(), found.qtype()), (&wire(name)[..], Some(qtype)));
                assert_eq!(queries.question(i), found.question);
                assert_eq!(queries.types()[queries.type_slot(i)], qtype);
            }
            let sum: usize = (0..4).map(|i| queries.message(i).len()).sum();
            assert_eq!(queries.encoded_bytes(), sum);
        }
    }

    #[test]
    fn messages_with_tails_of_different_length_keep_their_questions() {
        let form = QueryForm { nsid: true, ..QueryForm::default() };
        let mut builder = QueriesBuilder::new(form, 0);
        let mut message = Vec::new();
        QueryForm::default().encode(&wire("b.example"), 28, &mut message);
        for tail in [0, 11, 300] {
            assert_eq!(
                builder.push_message(&[&message[..], &vec![7; tail]].concat(), Own::default()),
                Ok(())
            );
        }
        assert_eq!(builder.push(&wire("b.example"), 28), Ok(()));
        // Two questions: matched by the ID alone.
        let two = [0, 0, 1, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 1, 0, 1];
        assert_eq!(builder.push_message(&two, Own { at_ns: Some(3), client: Some(9) }), Ok(()));
        let queries = builder.finish();
        assert_eq!(
            (0..5).map(|i| queries.question(i)).collect::<Vec<_>>(),
            [&[&message[HEADER_LEN..]; 4][..], &[&[]]].concat()
        );
        assert_eq!(queries.types(), [28, 0]);
    }

    #[test]
    fn types_beyond_255_share_the_last_slot() {
        let mut builder = QueriesBuilder::new(QueryForm::default(), 0);
        for qtype in 1..=300 {
            assert_eq!(builder.push(b"\0", qtype), Ok(()));
        }
        let queries = builder.finish();
        assert_eq!(queries.types().len(), 256);
        assert_eq!(queries.types()[255], OTHER_TYPES);
        assert_eq!((queries.type_slot(254), queries.types()[254]), (254, 255));
        assert!((255..300).all(|i| queries.type_slot(i) == 255));
    }
}
