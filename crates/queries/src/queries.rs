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
//! own columns, which are empty where no query has them. A [`Maker`] changes messages when they are sent. A [`Picker`]
//! says which query is next.

use std::collections::HashMap;
use std::sync::Arc;

use dnsdyno_wire::{HEADER_LEN, QUESTION_FIXED_LEN, QueryForm, patch_id, peek};
use ring::digest::{Context, SHA256};

use super::bounds::MOST_KEPT_BYTES;
use super::filled::Filled;
use super::maker::{Maker, QueryToMake, WorkerShare, strip};
use super::makers::Makers;
use super::picker::{Picker, Picking};
use super::reading::Reading;
use super::template::Placeholders;
use super::types_by_weight::TypeWeights;

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
    /// The template of each query, 0 = none, else its index in `placeholders` + 1; empty where no query has one.
    pub(super) templates: Vec<u32>,
    placeholders: Vec<Placeholders>,
    pub(super) maker: Option<Arc<dyn Maker>>,
    picking: Picking,
}

impl Default for Queries {
    /// None.
    fn default() -> Self {
        QueriesBuilder::none(QueryForm::default(), 0)
    }
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

    /// These queries with a maker that changes each when it is sent, after the makers that they have already.
    pub fn made_by(self, maker: Arc<dyn Maker>) -> Queries {
        let maker = match self.maker {
            Some(first) => Arc::new(Makers::chain(first, maker)),
            None => maker,
        };
        Queries { maker: Some(maker), ..self }
    }

    /// These queries, with their placeholders filled in when they are sent. After this their order must stay.
    pub(super) fn filled(mut self, seed: u64) -> Queries {
        let templates = std::mem::take(&mut self.templates);
        if templates.is_empty() {
            return self;
        }
        let maker = Filled::new(&self.placeholders, &templates, seed);
        Queries { templates, ..self.made_by(Arc::new(maker)) }
    }

    /// These queries, sent in another order.
    pub(super) fn picked_by(self, picking: Picking) -> Queries {
        Queries { picking, ..self }
    }

    /// Chooses the queries of one of `workers` workers.
    pub fn picker(&self, worker: u32, workers: u32) -> Picker {
        self.picking.begin(self.len() as u64, worker, workers)
    }

    /// A query to ask the server before the load: a message as it is sent, with this ID and a number that no query of
    /// the run has.
    pub fn check_message(&self, id: u16, start_unix_ns: u64) -> Vec<u8> {
        let share = WorkerShare { worker: 0, workers: 1, start_unix_ns };
        let question = self.picking.check_question();
        let mut message = self.message(question as usize).to_vec();
        patch_id(&mut message, id);
        // The check changes nothing: instead of an update, a query for the zone's SOA record.
        if peek(&message).is_ok_and(|message| message.opcode() == OPCODE_UPDATE) {
            strip(&mut message);
            message[2..4].fill(0);
        }
        if let Some(maker) = self.maker() {
            let query = QueryToMake { number: u64::MAX, question, channel: 0, slot: 0, due_ns: 0, at_ns: 0 };
            let mut worker = maker.begin(share);
            worker.prepare(1, 1);
            worker.make(&query, &mut message);
        }
        message
    }

    /// The placeholders of query `i`.
    pub(super) fn placeholders(&self, i: usize) -> &[super::template::Placeholder] {
        match self.templates.get(i) {
            None | Some(0) => &[],
            Some(template) => &self.placeholders[*template as usize - 1],
        }
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

/// The messages do not fit: their block is addressed with 32 bits, and where memory is scarce it is smaller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Full {
    /// How much does.
    pub most_bytes: usize,
}

/// Collects [`Queries`].
#[derive(Debug)]
pub struct QueriesBuilder {
    form: QueryForm,
    /// How long the block of messages may become.
    most_bytes: usize,
    queries: Queries,
    /// The slot of each type, or [`NO_SLOT`]. A table, because it is used for every line of a file.
    slot_of_type: Box<[u16]>,
    /// Equal placeholders are kept once: usually all lines of a file have the same.
    template_numbers: HashMap<Placeholders, u32>,
}

impl QueriesBuilder {
    /// Queries as `reading` wants them, with capacity for about `bytes_hint` bytes of messages.
    pub(super) fn of(reading: &Reading, bytes_hint: usize) -> QueriesBuilder {
        let most_bytes = reading.bounds.most_kept_bytes;
        QueriesBuilder { most_bytes, ..QueriesBuilder::new(reading.form, bytes_hint.min(most_bytes)) }
    }

    /// Queries of this form, with capacity for about `bytes_hint` bytes of messages.
    pub fn new(form: QueryForm, bytes_hint: usize) -> QueriesBuilder {
        QueriesBuilder {
            form,
            most_bytes: MOST_KEPT_BYTES,
            queries: QueriesBuilder::none(form, bytes_hint),
            slot_of_type: vec![NO_SLOT; usize::from(u16::MAX) + 1].into_boxed_slice(),
            template_numbers: HashMap::new(),
        }
    }

    fn none(form: QueryForm, bytes_hint: usize) -> Queries {
        Queries {
            arena: Vec::with_capacity(bytes_hint.min(MOST_KEPT_BYTES)),
            ends: Vec::new(),
            type_slots: Vec::new(),
            types: Vec::new(),
            tail_len: form.tail_len(),
            tail_lens: Vec::new(),
            instants: Vec::new(),
            clients: Vec::new(),
            templates: Vec::new(),
            placeholders: Vec::new(),
            maker: None,
            picking: Picking::default(),
        }
    }

    /// Queries whose types are already known, for a source that is not loaded as a whole. A type that is not among
    /// them has the slot of the last one.
    pub fn of_types(types: &[u16]) -> QueriesBuilder {
        let mut builder = QueriesBuilder::new(QueryForm::default(), 0);
        for qtype in types.iter().take(LAST_SLOT + 1) {
            builder.slot_of(*qtype);
        }
        let last = builder.queries.types.len().saturating_sub(1) as u16;
        for slot in builder.slot_of_type.iter_mut().filter(|slot| **slot == NO_SLOT) {
            *slot = last;
        }
        builder
    }

    /// The queries so far. The next are collected in the memory of `spent`, whose queries are forgotten.
    pub fn take(&mut self, mut spent: Queries) -> Queries {
        spent.arena.clear();
        spent.ends.clear();
        spent.type_slots.clear();
        spent.tail_lens.clear();
        spent.instants.clear();
        spent.clients.clear();
        let spent = Queries { tail_len: self.queries.tail_len, types: self.queries.types.clone(), ..spent };
        std::mem::replace(&mut self.queries, spent)
    }

    /// Adds a query for a name in wire format.
    #[inline]
    pub fn push(&mut self, name_wire: &[u8], qtype: u16) -> Result<(), Full> {
        let queries = &mut self.queries;
        if self.form.message_len(name_wire.len()) > self.most_bytes.saturating_sub(queries.arena.len()) {
            return Err(Full { most_bytes: self.most_bytes });
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
        if message.len() > MAX_MESSAGE_BYTES
            || message.len() > self.most_bytes.saturating_sub(queries.arena.len())
        {
            return Err(Full { most_bytes: self.most_bytes });
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

    /// Gives the last query its placeholders.
    pub(super) fn set_placeholders(&mut self, placeholders: Placeholders) {
        let queries = &mut self.queries;
        if placeholders.is_empty() || queries.is_empty() {
            return;
        }
        let count = queries.placeholders.len() as u32;
        let number = *self.template_numbers.entry(placeholders).or_insert_with_key(|placeholders| {
            queries.placeholders.push(placeholders.clone());
            count + 1
        });
        queries.templates.resize(queries.ends.len(), 0);
        if let Some(last) = queries.templates.last_mut() {
            *last = number;
        }
    }

    /// Replaces the types by weight. With several types, fewer than [`LEAST_TYPED`] queries are repeated up to there,
    /// each equally often, so that every name is asked for in all types.
    pub(super) fn assign_types(&mut self, types: &TypeWeights, seed: u64) -> Result<(), Full> {
        let mut chooser = types.chooser(seed);
        let given = self.len();
        let least = if types.is_one() { given } else { LEAST_TYPED };
        for i in given..given * least.div_ceil(given.max(1)).max(1) {
            self.push_copy(i % given)?;
        }
        self.queries.types.clear();
        self.slot_of_type.fill(NO_SLOT);
        for i in 0..self.len() {
            self.set_type(i, chooser.next());
        }
        Ok(())
    }

    /// Adds a copy of query `i`.
    fn push_copy(&mut self, i: usize) -> Result<(), Full> {
        let queries = &mut self.queries;
        let start = if i == 0 { 0 } else { queries.ends[i - 1] as usize };
        let end = queries.ends[i] as usize;
        if end - start > self.most_bytes.saturating_sub(queries.arena.len()) {
            return Err(Full { most_bytes: self.most_bytes });
        }
        queries.arena.extend_from_within(start..end);
        queries.ends.push(queries.arena.len() as u32);
        queries.type_slots.extend_from_within(i..=i);
        fn copy<T: Copy>(column: &mut Vec<T>, i: usize) {
            column.extend(column.get(i).copied());
        }
        copy(&mut queries.tail_lens, i);
        copy(&mut queries.instants, i);
        copy(&mut queries.clients, i);
        copy(&mut queries.templates, i);
        Ok(())
    }

    /// Sets the type of query `i`, unless it has no question.
    fn set_type(&mut self, i: usize, qtype: u16) {
        let question_len = self.queries.question(i).len();
        let qtype = if question_len < QUESTION_FIXED_LEN { 0 } else { qtype };
        let slot = self.slot_of(qtype);
        let queries = &mut self.queries;
        queries.type_slots[i] = slot;
        if question_len >= QUESTION_FIXED_LEN {
            let start = if i == 0 { 0 } else { queries.ends[i - 1] as usize };
            let at = start + HEADER_LEN + question_len - QUESTION_FIXED_LEN;
            queries.arena[at..at + 2].copy_from_slice(&qtype.to_be_bytes());
        }
    }

    fn end_message(&mut self, qtype: u16) {
        let slot = self.slot_of(qtype);
        self.queries.ends.push(self.queries.arena.len() as u32);
        self.queries.type_slots.push(slot);
        if !self.queries.templates.is_empty() {
            self.queries.templates.push(0);
        }
    }

    #[inline]
    fn slot_of(&mut self, qtype: u16) -> u8 {
        match self.slot_of_type[usize::from(qtype)] {
            NO_SLOT => self.new_slot(qtype),
            slot => slot as u8,
        }
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

/// The queries that a list with types by weight has at least.
const LEAST_TYPED: usize = 4_096;

const OPCODE_UPDATE: u8 = 5;

/// The longest DNS message.
const MAX_MESSAGE_BYTES: usize = u16::MAX as usize;

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
