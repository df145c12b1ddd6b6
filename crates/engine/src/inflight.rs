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

/// The table of one worker.
pub(crate) struct InFlight {
    slots: Box<[Slot]>,
    /// By slot: the question of the query before, if that has timed out; else [`NONE`]. Empty until an ID of such a query
    /// is used again.
    timed_out_before: Vec<u32>,
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
    pub(crate) type_slot: u16,
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
    type_slot: u16,
}

impl Slot {
    fn sent_query(&self) -> SentQuery {
        let Slot { intended_ns, sent_ns, question, member, type_slot, .. } = *self;
        SentQuery { intended_ns, sent_ns, question, member, type_slot }
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
            timed_out_before: Vec::new(),
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
                let before = std::mem::replace(&mut slot.state, State::Taken);
                if before == State::Expired || !self.timed_out_before.is_empty() {
                    self.note_before(index, before);
                }
                return Some(Place { index, id: id as u16 });
            }
        }
        None
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
        let SentQuery { intended_ns, sent_ns, question, member, type_slot } = sent_query;
        self.slots[index as usize] =
            Slot { intended_ns, sent_ns, question, older, newer, state: State::Live, member, type_slot };
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

    /// Keeps the question of a query that has timed out, when its ID is used again.
    #[cold]
    fn note_before(&mut self, index: u32, before: State) {
        self.timed_out_before.resize(self.slots.len(), NONE);
        let index = index as usize;
        match before {
            State::Expired => self.timed_out_before[index] = self.slots[index].question,
            // Its message was not sent: what was there before is still the query before.
            State::Free => {}
            _ => self.timed_out_before[index] = NONE,
        }
    }

    /// Whether the query that had this ID before has timed out, and `is_question` holds for the index of its question.
    /// Says so once.
    pub(crate) fn is_of_query_before(
        &mut self,
        channel: usize,
        id: u16,
        is_question: impl FnOnce(u32) -> bool,
    ) -> bool {
        let index = self.slot_of(channel, id).map_or(usize::MAX, |index| index as usize);
        let Some(before) = self.timed_out_before.get_mut(index) else { return false };
        let is_it = *before != NONE && is_question(*before);
        if is_it {
            *before = NONE;
        }
        is_it
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
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    const TIMEOUT_NS: u64 = 1_000;

    fn send_at(table: &mut InFlight, now_ns: u64, question: u32) -> u16 {
        let place = table.take_free(0).unwrap();
        table.insert(
            place,
            SentQuery { intended_ns: now_ns, sent_ns: now_ns, question, member: 0, type_slot: 0 },
        );
        place.id
    }

    #[test]
    fn a_response_ends_its_query_and_a_second_one_is_a_duplicate() {
        let mut table = InFlight::new(1, 1_024, TIMEOUT_NS);
        let id = send_at(&mut table, 5, 7);
        assert_eq!(table.pair(0, id, 10, |_, q| q == 8), Match::WrongQuestion);
        assert!(matches!(table.pair(0, id, 10, |_, q| q == 7), Match::Response(d) if d.question == 7));
        assert_eq!(table.pair(0, id, 11, |_, q| q == 7), Match::Duplicate);
        assert_eq!(table.pair(0, id, 11, |_, _| false), Match::Unexpected);
        assert_eq!(table.pair(0, id + 1, 11, |_, _| true), Match::Unexpected);
        assert_eq!(table.live(), 0);
    }

    #[test]
    fn a_response_that_comes_when_its_id_is_used_again_is_known_by_its_question_once() {
        let mut table = InFlight::new(1, 2, TIMEOUT_NS);
        let (lost, answered) = (send_at(&mut table, 0, 7), send_at(&mut table, 0, 8));
        table.pair(0, answered, 1, |_, _| true);
        assert!(table.expire_oldest(TIMEOUT_NS).is_some_and(|(_, sent)| sent.question == 7));
        // A message that could not be sent changes nothing.
        let place = table.take_free(0).unwrap();
        table.give_back(0, place);
        assert_eq!(send_at(&mut table, 2_000, 9), lost);
        assert_eq!(send_at(&mut table, 2_000, 10), answered);
        let mut is_before = |id, question| table.is_of_query_before(0, id, |before| before == question);
        assert!(!is_before(lost, 9) && !is_before(answered, 8));
        assert!(is_before(lost, 7) && !is_before(lost, 7));
    }

    #[test]
    fn a_response_after_the_timeout_is_late_whether_or_not_it_was_counted() {
        let mut table = InFlight::new(1, 1_024, TIMEOUT_NS);
        let (swept, unswept) = (send_at(&mut table, 0, 1), send_at(&mut table, 0, 2));
        assert!(table.expire_oldest(TIMEOUT_NS - 1).is_none());
        assert!(table.expire_oldest(TIMEOUT_NS).is_some_and(|(_, d)| d.question == 1));
        assert!(matches!(table.pair(0, swept, 2_000, |_, _| true), Match::Late(d) if d.question == 1));
        assert_eq!(table.pair(0, swept, 2_001, |_, _| true), Match::Duplicate);
        assert!(matches!(table.pair(0, unswept, 2_000, |_, _| true), Match::Overdue(d) if d.question == 2));
    }

    #[test]
    fn an_old_query_does_not_block_the_ids_around_it() {
        let mut table = InFlight::new(1, 1_024, TIMEOUT_NS);
        let held = send_at(&mut table, 0, 0);
        for i in 0..5_000 {
            let id = send_at(&mut table, i, 1);
            assert_ne!(id, held);
            assert!(matches!(table.pair(0, id, i, |_, _| true), Match::Response(_)));
        }
        assert_eq!(table.live(), 1);
    }

    #[test]
    fn queries_that_fell_back_expire_by_their_first_sending_among_the_others() {
        let groups = [
            GroupSlots { channels: 1, ids: 1_024, are_fallback: false },
            GroupSlots { channels: 2, ids: 16, are_fallback: true },
        ];
        let mut table = InFlight::of(&groups, TIMEOUT_NS);
        assert_eq!(table.fallback(), 1_024..1_056);
        for sent_ns in [10, 30, 50] {
            send_at(&mut table, sent_ns, 0);
        }
        for (channel, sent_ns) in [(1, 20), (2, 5), (1, 40), (2, 15)] {
            let place = table.take_free(channel).unwrap();
            let again = SentQuery { intended_ns: sent_ns, sent_ns, question: 1, member: 0, type_slot: 0 };
            table.insert_fallback(place, again);
            assert_eq!(table.channel_and_id(place.slot()), (channel, place.id));
        }
        // One from the middle of each list.
        assert!(matches!(table.pair(2, 1, 60, |_, _| true), Match::Response(d) if d.sent_ns == 15));
        assert!(matches!(table.pair(0, 1, 60, |_, _| true), Match::Response(d) if d.sent_ns == 30));
        let mut expired = Vec::new();
        while let Some((slot, sent_query)) = table.expire_oldest(2_000) {
            expired.push((table.channel_of(slot), sent_query.sent_ns));
        }
        assert_eq!(expired, [(2, 5), (0, 10), (1, 20), (1, 40), (0, 50)]);
        assert_eq!((table.live(), table.next_expiry_ns()), (0, None));
    }

    #[test]
    fn a_full_channel_has_no_free_id_and_the_other_channel_is_not_affected() {
        let mut table = InFlight::new(2, 1_024, TIMEOUT_NS);
        (0..1_024).for_each(|_| {
            send_at(&mut table, 0, 0);
        });
        assert_eq!(table.take_free(0), None);
        assert!(table.take_free(1).is_some());
    }

    #[test]
    fn a_batch_never_uses_an_id_twice_and_unsent_ids_are_released() {
        let mut table = InFlight::new(1, 1_024, TIMEOUT_NS);
        let places: Vec<_> = std::iter::from_fn(|| table.take_free(0)).collect();
        assert_eq!(places.len(), 1_024);
        for place in places.iter().rev() {
            table.give_back(0, *place);
        }
        let again: Vec<_> = std::iter::from_fn(|| table.take_free(0)).collect();
        assert_eq!(again, places);
    }

    #[test]
    fn an_abandoned_query_has_no_late_response() {
        let mut table = InFlight::new(1, 1_024, TIMEOUT_NS);
        let id = send_at(&mut table, 0, 1);
        assert!(table.abandon_oldest().is_some());
        assert_eq!(table.pair(0, id, 1, |_, _| true), Match::Unexpected);
    }

    #[test]
    fn a_slot_is_half_a_cache_line() {
        assert_eq!(size_of::<Slot>(), 32);
    }

    #[test]
    fn a_window_always_has_spare_ids() {
        assert_eq!(ids_per_channel(2, None), 65_536);
        assert_eq!(ids_per_channel(33, None), 32_768);
        assert_eq!(ids_per_channel(256, None), 8_192);
        assert_eq!(ids_per_channel(50_000, None), 1_024);
        assert_eq!(ids_per_channel(256, Some(256 * 10_000)), 32_768);
        assert_eq!(ids_per_channel(1, Some(65_536)), 65_536);
    }

    #[test]
    fn tens_of_thousands_of_clients_have_a_few_ids_each() {
        assert_eq!(ids_per_client(50_000, None, None), 32);
        assert_eq!(ids_per_client(1, None, None), 65_536);
        assert_eq!(ids_per_client(10, Some(100), Some(1)), 16);
        assert_eq!(ids_per_client(1_000, None, Some(100)), 256);
        assert_eq!(ids_per_client(50_000, Some(5_000_000), None), 256);
    }

    #[test]
    fn each_lost_connection_lists_the_outstanding_queries() {
        let mut table = InFlight::new(2, 8, TIMEOUT_NS);
        let lost = |table: &mut InFlight| {
            let mut lost = Vec::new();
            table.each_since_last(0, |id, sent_query| lost.push((id, sent_query.question)));
            lost
        };
        let ids: Vec<_> = (0..4).map(|question| send_at(&mut table, 0, question)).collect();
        for id in &ids[1..3] {
            table.pair(0, *id, 1, |_, _| true);
        }
        assert_eq!(lost(&mut table), [(0, 0), (3, 3)]);
        // They are retried with the same ID, and two more are sent.
        for question in 4..6 {
            send_at(&mut table, 1, question);
        }
        assert_eq!(lost(&mut table), [(0, 0), (3, 3), (4, 4), (5, 5)]);
        for id in [0, 3, 4] {
            table.pair(0, id, 1, |_, _| true);
        }
        assert_eq!(lost(&mut table), [(5, 5)]);
        table.pair(0, 5, 1, |_, _| true);
        assert_eq!(lost(&mut table), []);
        // More than there are slots.
        (0..20).for_each(|question| {
            let id = send_at(&mut table, 1, question);
            table.pair(0, id, 1, |_, _| question < 19);
        });
        assert_eq!(lost(&mut table).iter().map(|(_, question)| *question).collect::<Vec<_>>(), [19]);
    }

    proptest! {
        /// Compared with a plain map: each query ends once, queries expire in order of age, and the same queries are
        /// live in both.
        #[test]
        fn the_table_agrees_with_a_plain_map(steps in proptest::collection::vec((0u8..4, 0u16..40), 1..600)) {
            let mut table = InFlight::new(1, 32, TIMEOUT_NS);
            let mut live: HashMap<u16, SentQuery> = HashMap::new();
            let mut now_ns = 0;
            for (i, (what, id)) in steps.into_iter().enumerate() {
                now_ns += 37;
                match what {
                    0 | 1 => match table.take_free(0) {
                        Some(place) => {
                            let question = i as u32;
                            let sent_query =
                                SentQuery { intended_ns: now_ns, sent_ns: now_ns, question, member: 0, type_slot: 0 };
                            table.insert(place, sent_query);
                            prop_assert!(live.insert(place.id, sent_query).is_none());
                        }
                        None => prop_assert_eq!(live.len(), 32),
                    },
                    2 => {
                        let paired = table.pair(0, id, now_ns, |_, _| true);
                        match live.remove(&id) {
                            Some(truth) => prop_assert!(
                                paired == Match::Response(truth) || paired == Match::Overdue(truth)),
                            None => prop_assert!(matches!(
                                paired, Match::Late(_) | Match::Duplicate | Match::Unexpected)),
                        }
                    }
                    _ => while let Some((_, expired)) = table.expire_oldest(now_ns) {
                        let oldest = live.iter().min_by_key(|(_, d)| d.sent_ns).map(|(id, d)| (*id, *d));
                        prop_assert_eq!(oldest.map(|(_, d)| d), Some(expired));
                        live.remove(&oldest.unwrap().0);
                    },
                }
                prop_assert_eq!(table.live() as usize, live.len());
                prop_assert_eq!(
                    table.next_expiry_ns(),
                    live.values().map(|d| d.sent_ns + TIMEOUT_NS).min()
                );
            }
        }
    }
}
