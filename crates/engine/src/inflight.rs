//! Outstanding queries: one slot per channel and message ID, and a linked list of them by age.
//!
//! ```text
//!  channel 0  | slot | slot | slot | ...     IDs of a channel are used in turn, so that the time
//!  channel 1  | slot | slot | slot | ...     until an ID is used again is as long as possible
//!                 |     ^
//!                 +-----+--- oldest ◄─► ... ◄─► newest     (live slots, in the order of sending)
//! ```
//!
//! The timeout is the same for all queries, so the oldest live query always expires next. A slot keeps its content
//! after its query has ended, until its ID is used again: this distinguishes late and duplicate responses from
//! unexpected ones.
//!
//! Queries in the TCP part of a fallback have a second list, ordered by their first sending, from which their timeout
//! is counted. The older of the two heads expires next.

use std::ops::Range;

use dnsdyno_measure::ShortDelay;

use crate::query_before::{Before, QueriesBefore};

/// The table of one worker.
pub(crate) struct InFlight {
    slots: Box<[Slot]>,
    before: QueriesBefore,
    channels: Box<[Channel]>,
    lists: [List; 2],
    /// Slots of the TCP part of a fallback; none in most runs.
    fallback: Range<u32>,
    live: u32,
    timeout_ns: u64,
}

/// The slots of a channel.
#[derive(Clone, Copy)]
struct Channel {
    /// Its first slot.
    base: u32,
    /// The number of its slots: a power of two, or 0.
    ids: u32,
    /// Slots searched for a free one so far; modulo the number of slots, this is the next one to search.
    cursor: u32,
    /// The cursor when its last connection was lost, or at the oldest query that was outstanding then.
    since: u32,
}

/// The ends of a list of live slots.
#[derive(Clone, Copy)]
struct List {
    oldest: u32,
    newest: u32,
}

/// The slots of a group of channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GroupSlots {
    /// The number of channels.
    pub(crate) channels: usize,
    /// IDs per channel: a power of two, at most 65,536, or 0.
    pub(crate) ids: u32,
    /// Whether the group is the TCP part of a fallback.
    pub(crate) are_fallback: bool,
}

/// An outstanding query, as it was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SentQuery {
    /// The instant at which it was due.
    pub(crate) intended_ns: u64,
    /// The instant at which it was sent.
    pub(crate) sent_ns: u64,
    /// The index of its question in the plan.
    pub(crate) question: u32,
    /// Its member of the mix; 0 without a mix.
    pub(crate) member: u8,
    /// The slot of its type; 0 before it is sent.
    pub(crate) type_slot: u8,
    /// What late sends may add to its response time.
    pub(crate) own_delay: ShortDelay,
}

/// What a response was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Match {
    /// The response to an outstanding query.
    Response(SentQuery),
    /// The response to an outstanding query whose timeout has passed, but was not counted yet.
    Overdue(SentQuery),
    /// The response to a query that was counted as timed out.
    Late(SentQuery),
    /// Another response to an answered query.
    Duplicate,
    /// A response with the ID of an outstanding query, but another question.
    WrongQuestion,
    /// A response to no query.
    Unexpected,
}

/// A slot reserved for a message about to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    index: u32,
    /// Its message ID.
    pub(crate) id: u16,
}

impl Place {
    /// The number of its slot in the table.
    pub(crate) fn slot(self) -> u32 {
        self.index
    }

    /// For a message whose response is not waited for. Its ID is taken from the number of the query.
    pub(crate) fn none(number: u64) -> Self {
        Place { index: NONE, id: number as u16 }
    }
}

/// 32 bytes, half a cache line: the fields of [`SentQuery`] are repeated here to avoid padding.
#[derive(Clone, Copy)]
struct Slot {
    intended_ns: u64,
    sent_ns: u64,
    question: u32,
    /// The next older and the next newer live slot, or [`NONE`].
    older: u32,
    newer: u32,
    state: State,
    member: u8,
    type_slot: u8,
    own_delay: ShortDelay,
}

impl Slot {
    fn sent_query(&self) -> SentQuery {
        let Slot { intended_ns, sent_ns, question, member, type_slot, own_delay, .. } = *self;
        SentQuery { intended_ns, sent_ns, question, member, type_slot, own_delay }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The ID was not used, or its message was not sent.
    Free,
    /// Its message is in the batch about to be sent.
    Taken,
    Live,
    Answered,
    Expired,
    /// The network refused its query, or the user ended the run: no response is expected.
    Abandoned,
}

impl InFlight {
    /// A table for one group of channels.
    #[cfg(test)]
    pub(crate) fn new(channels: usize, ids: u32, timeout_ns: u64) -> Self {
        Self::of(&[GroupSlots { channels, ids, are_fallback: false }], timeout_ns)
    }

    /// A table for these groups of channels; at most one of them is the TCP part of a fallback.
    pub(crate) fn of(groups: &[GroupSlots], timeout_ns: u64) -> Self {
        let empty = Slot {
            intended_ns: 0,
            sent_ns: 0,
            question: 0,
            older: NONE,
            newer: NONE,
            state: State::Free,
            member: 0,
            type_slot: 0,
            own_delay: ShortDelay::NONE,
        };
        let (mut table, mut slots, mut fallback) = (Vec::new(), 0, 0..0);
        for &GroupSlots { channels, ids, are_fallback } in groups {
            let first = slots;
            for _ in 0..channels {
                table.push(Channel { base: slots, ids, cursor: 0, since: 0 });
                slots += ids;
            }
            if are_fallback {
                fallback = first..slots;
            }
        }
        InFlight {
            slots: vec![empty; slots as usize].into(),
            before: QueriesBefore::default(),
            channels: table.into(),
            lists: [List { oldest: NONE, newest: NONE }; 2],
            fallback,
            live: 0,
            timeout_ns,
        }
    }

    /// The number of slots.
    pub(crate) fn slots(&self) -> usize {
        self.slots.len()
    }

    /// The number of channels.
    pub(crate) fn channels(&self) -> usize {
        self.channels.len()
    }

    /// Slots of the TCP part of a fallback.
    pub(crate) fn fallback(&self) -> Range<u32> {
        self.fallback.clone()
    }

    /// The number of outstanding queries.
    pub(crate) fn live(&self) -> u32 {
        self.live
    }

    /// The same, counted slot by slot.
    #[cfg(debug_assertions)]
    pub(crate) fn live_slots(&self) -> u32 {
        self.slots.iter().filter(|slot| slot.state == State::Live).count() as u32
    }

    /// Whether nearly all IDs are in use. Otherwise a search may fail because it meets many live slots in a row.
    pub(crate) fn is_nearly_full(&self) -> bool {
        self.live as usize >= self.slots.len() / 10 * 9
    }

    /// Reserves an ID that no live query of this channel uses. Afterwards its message either is sent
    /// ([`insert`](Self::insert)) or is not ([`give_back`](Self::give_back)).
    ///
    /// Searches a bounded number of slots, and continues from there the next time, so that each call costs little even
    /// if the table is nearly full. `None` if none of them was free.
    #[inline]
    pub(crate) fn take_free(&mut self, channel: usize) -> Option<Place> {
        let of_channel = &mut self.channels[channel];
        for _ in 0..SLOTS_PER_SEARCH.min(of_channel.ids) {
            let id = of_channel.cursor & (of_channel.ids - 1);
            of_channel.cursor = of_channel.cursor.wrapping_add(1);
            let index = of_channel.base + id;
            let slot = &mut self.slots[index as usize];
            if !matches!(slot.state, State::Live | State::Taken) {
                let state = std::mem::replace(&mut slot.state, State::Taken);
                if state == State::Expired || !self.before.is_empty() {
                    self.note_before(index, state);
                }
                return Some(Place { index, id: id as u16 });
            }
        }
        None
    }

    /// Keeps what a slot had before it is used again.
    #[cold]
    #[inline(never)]
    fn note_before(&mut self, index: u32, state: State) {
        let before = match state {
            State::Expired => Before::TimedOut(self.slots[index as usize].question),
            State::Free => Before::Nothing,
            _ => Before::Ended,
        };
        self.before.note(self.slots.len(), index, &before);
    }

    /// Releases the slot of a message that was not sent. Its ID is the next to be used, if slots are released in
    /// reverse order.
    pub(crate) fn give_back(&mut self, channel: usize, place: Place) {
        self.slots[place.index as usize].state = State::Free;
        let of_channel = &mut self.channels[channel];
        let id = place.index - of_channel.base;
        let back = (of_channel.cursor.wrapping_sub(id + 1) & (of_channel.ids - 1)) + 1;
        of_channel.cursor = of_channel.cursor.wrapping_sub(back);
    }

    /// Stores a query that was sent, as the newest of its list.
    #[inline]
    pub(crate) fn insert(&mut self, place: Place, sent_query: SentQuery) {
        let older = self.lists[FIRST].newest;
        self.insert_between(FIRST, place.index, sent_query, older, NONE);
    }

    /// The same in the TCP part of a fallback: ordered by its first sending.
    pub(crate) fn insert_fallback(&mut self, place: Place, sent_query: SentQuery) {
        let (mut older, mut newer) = (self.lists[FALLBACK].newest, NONE);
        // They are usually sent in this order, so the search is short: only a query that had to wait for a client or a
        // port is inserted before newer ones.
        while let Some(slot) = self.slots.get(older as usize)
            && slot.sent_ns > sent_query.sent_ns
        {
            (older, newer) = (slot.older, older);
        }
        self.insert_between(FALLBACK, place.index, sent_query, older, newer);
    }

    #[inline]
    fn insert_between(&mut self, list: usize, index: u32, sent_query: SentQuery, older: u32, newer: u32) {
        let SentQuery { intended_ns, sent_ns, question, member, type_slot, own_delay } = sent_query;
        let state = State::Live;
        self.slots[index as usize] =
            Slot { intended_ns, sent_ns, question, older, newer, state, member, type_slot, own_delay };
        match self.slots.get_mut(older as usize) {
            Some(slot) => slot.newer = index,
            None => self.lists[list].oldest = index,
        }
        match self.slots.get_mut(newer as usize) {
            Some(slot) => slot.older = index,
            None => self.lists[list].newest = index,
        }
        self.live += 1;
    }

    /// Pairs a response received at `now_ns` with its query. `is_question` returns whether the response has the
    /// question of a query, given its slot and the index of its question.
    #[inline]
    pub(crate) fn pair(
        &mut self,
        channel: usize,
        id: u16,
        now_ns: u64,
        is_question: impl FnOnce(u32, u32) -> bool,
    ) -> Match {
        let Some(index) = self.slot_of(channel, id) else { return Match::Unexpected };
        let (sent_query, state) = (self.slots[index as usize].sent_query(), self.slots[index as usize].state);
        if !matches!(state, State::Live | State::Answered | State::Expired) {
            return Match::Unexpected;
        }
        if !is_question(index, sent_query.question) {
            return if state == State::Live { Match::WrongQuestion } else { Match::Unexpected };
        }
        match state {
            State::Live => {
                self.end(index, State::Answered);
                if now_ns.saturating_sub(sent_query.sent_ns) >= self.timeout_ns {
                    Match::Overdue(sent_query)
                } else {
                    Match::Response(sent_query)
                }
            }
            State::Expired => {
                self.slots[index as usize].state = State::Answered;
                Match::Late(sent_query)
            }
            _ => Match::Duplicate,
        }
    }

    /// Whether a response with the ID of an outstanding query is that to the query before with this ID, which has timed
    /// out, and has the question that `is_question` holds for, by its index. Says so once for each query.
    pub(crate) fn is_of_query_before(
        &mut self,
        channel: usize,
        id: u16,
        is_question: impl Fn(u32) -> bool,
    ) -> bool {
        self.slot_of(channel, id).is_some_and(|index| self.before.take(index, is_question))
    }

    /// Ends a query that the network refused; `None` if it is not outstanding.
    pub(crate) fn refuse(
        &mut self,
        channel: usize,
        id: u16,
        is_question: impl FnOnce(u32, u32) -> bool,
    ) -> Option<SentQuery> {
        let index = self.slot_of(channel, id)?;
        let slot = self.slots[index as usize];
        if slot.state != State::Live || !is_question(index, slot.question) {
            return None;
        }
        self.end(index, State::Abandoned);
        Some(slot.sent_query())
    }

    /// The ID that follows `id` in its channel.
    pub(crate) fn id_after(&self, channel: usize, id: u16) -> u16 {
        ((u32::from(id) + 1) % self.channels[channel].ids.max(1)) as u16
    }

    /// The outstanding query with this ID, if any.
    pub(crate) fn live_at(&self, channel: usize, id: u16) -> Option<SentQuery> {
        let slot = &self.slots[self.slot_of(channel, id)? as usize];
        (slot.state == State::Live).then(|| slot.sent_query())
    }

    /// Whether the query that has this ID, or had it last, was sent after this instant.
    pub(crate) fn is_used_since(&self, channel: usize, id: u16, instant_ns: u64) -> bool {
        let slot = self.slot_of(channel, id).and_then(|index| self.slots.get(index as usize));
        slot.is_some_and(|slot| slot.sent_ns > instant_ns)
    }

    /// Ends the oldest query if its timeout has passed at `now_ns`, and returns it with its slot.
    #[inline]
    pub(crate) fn expire_oldest(&mut self, now_ns: u64) -> Option<(u32, SentQuery)> {
        if self.next_expiry_ns()? > now_ns {
            return None;
        }
        self.end_oldest(State::Expired)
    }

    /// Calls `visit` with each outstanding query of a channel that was sent since the last call or was outstanding
    /// then: the queries that are lost with the present connection.
    ///
    /// Searches only the slots used in that time, so that a short connection costs little.
    pub(crate) fn each_since_last(&mut self, channel: usize, mut visit: impl FnMut(u16, SentQuery)) {
        let Channel { ids, cursor, since, .. } = self.channels[channel];
        let used = cursor.wrapping_sub(since).min(ids);
        let mut oldest = cursor;
        for back in (1..=used).rev() {
            let place = cursor.wrapping_sub(back);
            let id = (place & (ids - 1)) as u16;
            let Some(sent_query) = self.live_at(channel, id) else { continue };
            if oldest == cursor {
                oldest = place;
            }
            visit(id, sent_query);
        }
        self.channels[channel].since = oldest;
    }

    /// Ends the oldest query, because its response is no longer waited for.
    pub(crate) fn abandon_oldest(&mut self) -> Option<(u32, SentQuery)> {
        self.end_oldest(State::Abandoned)
    }

    /// When the oldest query expires.
    #[inline]
    pub(crate) fn next_expiry_ns(&self) -> Option<u64> {
        self.slots.get(self.oldest() as usize).map(|slot| slot.sent_ns + self.timeout_ns)
    }

    /// The slot of the oldest query, or [`NONE`].
    #[inline]
    fn oldest(&self) -> u32 {
        let [first, fallback] = self.lists.map(|list| list.oldest);
        if fallback == NONE {
            return first;
        }
        let sent_ns = |index: u32| self.slots.get(index as usize).map_or(u64::MAX, |slot| slot.sent_ns);
        if sent_ns(fallback) < sent_ns(first) { fallback } else { first }
    }

    fn end_oldest(&mut self, state: State) -> Option<(u32, SentQuery)> {
        let oldest = self.oldest();
        let sent_query = self.slots.get(oldest as usize)?.sent_query();
        self.end(oldest, state);
        Some((oldest, sent_query))
    }

    /// The channel of this slot; the last channel if there is no such slot.
    pub(crate) fn channel_of(&self, index: u32) -> usize {
        self.channels.partition_point(|channel| channel.base <= index).saturating_sub(1)
    }

    /// The channel of this slot, and its ID there.
    pub(crate) fn channel_and_id(&self, index: u32) -> (usize, u16) {
        let channel = self.channel_of(index);
        (channel, (index - self.channels[channel].base) as u16)
    }

    /// The slot of an ID of a channel; `None` if the channel has no such ID.
    #[inline]
    pub(crate) fn slot_of(&self, channel: usize, id: u16) -> Option<u32> {
        let Channel { base, ids, .. } = self.channels[channel];
        let id = u32::from(id);
        (id < ids).then_some(base + id)
    }

    /// Removes a live slot from its list.
    #[inline]
    fn end(&mut self, index: u32, state: State) {
        let Slot { older, newer, .. } = self.slots[index as usize];
        let list = if self.fallback.contains(&index) { FALLBACK } else { FIRST };
        match self.slots.get_mut(older as usize) {
            Some(slot) => slot.newer = newer,
            None => self.lists[list].oldest = newer,
        }
        match self.slots.get_mut(newer as usize) {
            Some(slot) => slot.older = older,
            None => self.lists[list].newest = older,
        }
        self.slots[index as usize].state = state;
        self.live -= 1;
    }
}

/// IDs of each channel when `channels` channels share [`SLOTS_OF_A_RUN`]: all 65,536 for a few channels, fewer for many
/// to save memory, but always twice what a window of `outstanding` queries needs per channel.
pub(crate) fn ids_per_channel(channels: usize, outstanding: Option<u64>) -> u32 {
    let channels = channels.max(1);
    // Rounded down to a power of two, so that the bound holds.
    let shared = 1u64 << (SLOTS_OF_A_RUN / channels).max(1).ilog2();
    let wanted = outstanding.map_or(0, |o| (2 * o.div_ceil(channels as u64)).next_power_of_two());
    shared.max(wanted).clamp(1_024, 65_536) as u32
}

/// The same for clients with connections: there may be tens of thousands, with a few queries each. If a connection
/// carries at most `most` queries, the IDs for two connections are enough.
pub(crate) fn ids_per_client(clients: usize, outstanding: Option<u64>, most: Option<u32>) -> u32 {
    let clients = clients.max(1);
    let shared = 1u64 << (SLOTS_OF_A_RUN / clients).max(1).ilog2();
    let wanted = outstanding.map_or(0, |o| (2 * o.div_ceil(clients as u64)).next_power_of_two());
    let of_two = most.map_or(u64::MAX, |most| (2 * u64::from(most)).next_power_of_two());
    shared.max(wanted).min(of_two).clamp(FEWEST_IDS_OF_A_CLIENT, 65_536) as u32
}

/// IDs of a client with a connection, at least: enough to recognize a duplicate response.
const FEWEST_IDS_OF_A_CLIENT: u64 = 16;

/// The lists of live slots: of queries sent for the first time, and of those that have fallen back.
const FIRST: usize = 0;
const FALLBACK: usize = 1;

/// No slot.
const NONE: u32 = u32::MAX;

/// Slots that one search for a free ID visits, at most. If so many in a row are live, usually nearly all IDs are in
/// use, and queries have to wait for responses anyway.
const SLOTS_PER_SEARCH: u32 = 4_096;

/// Slots of all channels of a run together: 64 MiB.
const SLOTS_OF_A_RUN: usize = 1 << 21;

#[cfg(test)]
mod tests;
