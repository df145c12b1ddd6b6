//! Outstanding queries: one slot for each (channel, ID), and a line of them by age.
//!
//! ```text
//!  channel 0  | slot | slot | slot | ...     IDs of a channel are used in turn, so that an ID
//!  channel 1  | slot | slot | slot | ...     rests as long as possible before it is used again
//!                 |     ^
//!                 +-----+--- oldest ◄─► ... ◄─► newest     (the live ones, by sending)
//! ```
//!
//! The timeout is the same for all, so the oldest live query is always the next to expire. A
//! slot keeps what it held after its query has ended, until its ID is used again: that is how a
//! late response and a duplicate differ from an unexpected one.
//!
//! Queries of the TCP part of a fallback stand in a line of their own, by their first sending: their
//! timeout runs from there. Of both lines the older head expires next.

use std::ops::Range;

/// The table of one worker.
pub(crate) struct InFlight {
    slots: Box<[Slot]>,
    lanes: Box<[Lane]>,
    lines: [Line; 2],
    /// Slots of the TCP part of a fallback; none in most runs.
    fallback: Range<u32>,
    live: u32,
    timeout_ns: u64,
}

/// The slots of a channel.
#[derive(Clone, Copy)]
struct Lane {
    /// Its first slot.
    base: u32,
    /// How many there are: a power of two, or 0.
    ids: u32,
    /// Places that were looked at for a free slot so far; the next one is the rest of that by the
    /// number of IDs.
    hand: u32,
    /// The hand when its connection before was lost, or that of the oldest query that was
    /// outstanding then.
    since: u32,
}

/// The ends of a line of live slots.
#[derive(Clone, Copy)]
struct Line {
    oldest: u32,
    newest: u32,
}

/// Channels of one kind that follow one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lanes {
    /// How many.
    pub(crate) channels: usize,
    /// IDs of each: a power of two, at most 65,536, or none.
    pub(crate) ids: u32,
    /// Whether they are the TCP part of a fallback.
    pub(crate) are_fallback: bool,
}

/// An outstanding query, as it was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SentQuery {
    /// The instant at which it was due.
    pub(crate) intended_ns: u64,
    /// The instant at which it was sent.
    pub(crate) sent_ns: u64,
    /// Which of the plan's questions it asks.
    pub(crate) question: u32,
    /// Which member of a mix it belongs to; 0 where there is no mix.
    pub(crate) member: u8,
}

/// What a response with some ID turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Match {
    /// That of an outstanding query.
    Response(SentQuery),
    /// That of an outstanding query, whose timeout has passed without being counted yet.
    Overdue(SentQuery),
    /// That of a query that was counted as timed out.
    Late(SentQuery),
    /// One more of an answered query.
    Duplicate,
    /// The ID of an outstanding query, but another question.
    WrongQuestion,
    /// No query was sent with this ID.
    Unexpected,
}

/// A place taken for a message about to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    index: u32,
    /// The message ID that belongs to it.
    pub(crate) id: u16,
}

impl Place {
    /// The number of its slot in the table.
    pub(crate) fn slot(self) -> u32 {
        self.index
    }

    /// The place of a message whose response is not waited for; IDs follow the numbers of the queries.
    pub(crate) fn none(number: u64) -> Self {
        Place { index: NONE, id: number as u16 }
    }
}

/// 32 bytes, half a cache line: a departure is spread out so that nothing pads it.
#[derive(Clone, Copy)]
struct Slot {
    intended_ns: u64,
    sent_ns: u64,
    question: u32,
    /// Towards the older and the newer live query, or [`NONE`].
    older: u32,
    newer: u32,
    state: State,
    member: u8,
}

impl Slot {
    fn departure(&self) -> SentQuery {
        let Slot { intended_ns, sent_ns, question, member, .. } = *self;
        SentQuery { intended_ns, sent_ns, question, member }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The ID was not used, or its message was not sent.
    Free,
    /// Its message is in the batch that is about to be sent.
    Taken,
    Live,
    Answered,
    Expired,
    /// The network refused it, or the user ended the run: no response to it is expected.
    Abandoned,
}

impl InFlight {
    /// A table for channels of one kind.
    #[cfg(test)]
    pub(crate) fn new(channels: usize, ids: u32, timeout_ns: u64) -> Self {
        Self::of(&[Lanes { channels, ids, are_fallback: false }], timeout_ns)
    }

    /// A table for channels of these kinds; at most one of them is the TCP part of a fallback.
    pub(crate) fn of(kinds: &[Lanes], timeout_ns: u64) -> Self {
        let empty = Slot {
            intended_ns: 0,
            sent_ns: 0,
            question: 0,
            older: NONE,
            newer: NONE,
            state: State::Free,
            member: 0,
        };
        let (mut lanes, mut slots, mut fallback) = (Vec::new(), 0, 0..0);
        for &Lanes { channels, ids, are_fallback } in kinds {
            let first = slots;
            for _ in 0..channels {
                lanes.push(Lane { base: slots, ids, hand: 0, since: 0 });
                slots += ids;
            }
            if are_fallback {
                fallback = first..slots;
            }
        }
        InFlight {
            slots: vec![empty; slots as usize].into(),
            lanes: lanes.into(),
            lines: [Line { oldest: NONE, newest: NONE }; 2],
            fallback,
            live: 0,
            timeout_ns,
        }
    }

    /// How many slots there are.
    pub(crate) fn slots(&self) -> usize {
        self.slots.len()
    }

    /// Slots of the TCP part of a fallback.
    pub(crate) fn fallback(&self) -> Range<u32> {
        self.fallback.clone()
    }

    /// Outstanding queries.
    pub(crate) fn live(&self) -> u32 {
        self.live
    }

    /// Whether nearly every ID is in use: then a search that finds none is no accident.
    pub(crate) fn is_nearly_full(&self) -> bool {
        self.live as usize >= self.slots.len() / 10 * 9
    }

    /// Takes an ID that no live query of this channel uses. Its message either is sent
    /// ([`depart`](Self::depart)) or is not ([`give_back`](Self::give_back)).
    ///
    /// Looks at a bounded number of places and goes on from there the next time, so a table that
    /// is nearly full costs little a call. `None` says that none was free there.
    #[inline]
    pub(crate) fn take_free(&mut self, channel: usize) -> Option<Place> {
        let lane = &mut self.lanes[channel];
        for _ in 0..PLACES_AT_ONCE.min(lane.ids) {
            let hand = lane.hand & (lane.ids - 1);
            lane.hand = lane.hand.wrapping_add(1);
            let state = &mut self.slots[(lane.base + hand) as usize].state;
            if !matches!(state, State::Live | State::Taken) {
                *state = State::Taken;
                return Some(Place { index: lane.base + hand, id: hand as u16 });
            }
        }
        None
    }

    /// Gives back the place of a message that was not sent; its ID is the next to be used if the
    /// places are given back in the order in which they were taken, newest first.
    pub(crate) fn give_back(&mut self, channel: usize, place: Place) {
        self.slots[place.index as usize].state = State::Free;
        let lane = &mut self.lanes[channel];
        let id = place.index - lane.base;
        let back = (lane.hand.wrapping_sub(id + 1) & (lane.ids - 1)) + 1;
        lane.hand = lane.hand.wrapping_sub(back);
    }

    /// Puts a query that was sent at its place: the newest of the line.
    #[inline]
    pub(crate) fn depart(&mut self, place: Place, departure: SentQuery) {
        let older = self.lines[FIRST].newest;
        self.stand_in_line(FIRST, place.index, departure, older, NONE);
    }

    /// The same in the TCP part of a fallback: in its line by its first sending.
    pub(crate) fn depart_in_fallback(&mut self, place: Place, departure: SentQuery) {
        let (mut older, mut newer) = (self.lines[FALLBACK].newest, NONE);
        // They are sent in the order of their first sending: only where one has waited in vain
        // for a client or a port is there anything to pass.
        while let Some(slot) = self.slots.get(older as usize)
            && slot.sent_ns > departure.sent_ns
        {
            (older, newer) = (slot.older, older);
        }
        self.stand_in_line(FALLBACK, place.index, departure, older, newer);
    }

    #[inline]
    fn stand_in_line(&mut self, line: usize, index: u32, departure: SentQuery, older: u32, newer: u32) {
        let SentQuery { intended_ns, sent_ns, question, member } = departure;
        self.slots[index as usize] =
            Slot { intended_ns, sent_ns, question, older, newer, state: State::Live, member };
        match self.slots.get_mut(older as usize) {
            Some(slot) => slot.newer = index,
            None => self.lines[line].oldest = index,
        }
        match self.slots.get_mut(newer as usize) {
            Some(slot) => slot.older = index,
            None => self.lines[line].newest = index,
        }
        self.live += 1;
    }

    /// Pairs a response that was received at `now_ns` with its query; `asks` says whether it carries the
    /// question of the query in this slot, with this number.
    #[inline]
    pub(crate) fn pair(
        &mut self,
        channel: usize,
        id: u16,
        now_ns: u64,
        asks: impl FnOnce(u32, u32) -> bool,
    ) -> Match {
        let Some(index) = self.slot_of(channel, id) else { return Match::Unexpected };
        let (departure, state) = (self.slots[index as usize].departure(), self.slots[index as usize].state);
        if !matches!(state, State::Live | State::Answered | State::Expired) {
            return Match::Unexpected;
        }
        if !asks(index, departure.question) {
            return if state == State::Live { Match::WrongQuestion } else { Match::Unexpected };
        }
        match state {
            State::Live => {
                self.end(index, State::Answered);
                if now_ns.saturating_sub(departure.sent_ns) >= self.timeout_ns {
                    Match::Overdue(departure)
                } else {
                    Match::Response(departure)
                }
            }
            State::Expired => {
                self.slots[index as usize].state = State::Answered;
                Match::Late(departure)
            }
            _ => Match::Duplicate,
        }
    }

    /// Ends a query that the network refused; `None` where it is not outstanding.
    pub(crate) fn refuse(
        &mut self,
        channel: usize,
        id: u16,
        asks: impl FnOnce(u32, u32) -> bool,
    ) -> Option<SentQuery> {
        let index = self.slot_of(channel, id)?;
        let slot = self.slots[index as usize];
        if slot.state != State::Live || !asks(index, slot.question) {
            return None;
        }
        self.end(index, State::Abandoned);
        Some(slot.departure())
    }

    /// The ID that follows `id` in its channel.
    pub(crate) fn id_after(&self, channel: usize, id: u16) -> u16 {
        ((u32::from(id) + 1) % self.lanes[channel].ids.max(1)) as u16
    }

    /// The outstanding query with this ID, if there is one.
    pub(crate) fn live_at(&self, channel: usize, id: u16) -> Option<SentQuery> {
        let slot = &self.slots[self.slot_of(channel, id)? as usize];
        (slot.state == State::Live).then(|| slot.departure())
    }

    /// Ends the oldest query if its timeout has passed at `now_ns`, and names its slot.
    #[inline]
    pub(crate) fn expire_oldest(&mut self, now_ns: u64) -> Option<(u32, SentQuery)> {
        if self.next_expiry_ns()? > now_ns {
            return None;
        }
        self.end_oldest(State::Expired)
    }

    /// Names each outstanding query of a channel that was sent since this was last called or was
    /// outstanding then: with connections, those that are lost with the present one.
    ///
    /// It looks at the places used in that time, so that a short connection costs little.
    pub(crate) fn each_since_last(&mut self, channel: usize, mut name: impl FnMut(u16, SentQuery)) {
        let Lane { ids, hand, since, .. } = self.lanes[channel];
        let used = hand.wrapping_sub(since).min(ids);
        let mut oldest = hand;
        for back in (1..=used).rev() {
            let place = hand.wrapping_sub(back);
            let id = (place & (ids - 1)) as u16;
            let Some(departure) = self.live_at(channel, id) else { continue };
            if oldest == hand {
                oldest = place;
            }
            name(id, departure);
        }
        self.lanes[channel].since = oldest;
    }

    /// Ends the oldest query, whatever its age, because its response is not waited for any more.
    pub(crate) fn abandon_oldest(&mut self) -> Option<(u32, SentQuery)> {
        self.end_oldest(State::Abandoned)
    }

    /// When the oldest query will expire.
    #[inline]
    pub(crate) fn next_expiry_ns(&self) -> Option<u64> {
        self.slots.get(self.oldest() as usize).map(|slot| slot.sent_ns + self.timeout_ns)
    }

    /// The slot of the oldest query, or [`NONE`].
    #[inline]
    fn oldest(&self) -> u32 {
        let [first, fallback] = self.lines.map(|line| line.oldest);
        if fallback == NONE {
            return first;
        }
        let sent_ns = |index: u32| self.slots.get(index as usize).map_or(u64::MAX, |slot| slot.sent_ns);
        if sent_ns(fallback) < sent_ns(first) { fallback } else { first }
    }

    fn end_oldest(&mut self, state: State) -> Option<(u32, SentQuery)> {
        let oldest = self.oldest();
        let departure = self.slots.get(oldest as usize)?.departure();
        self.end(oldest, state);
        Some((oldest, departure))
    }

    /// The channel whose slot this is; the last one where it is no slot.
    pub(crate) fn channel_of(&self, index: u32) -> usize {
        self.lanes.partition_point(|lane| lane.base <= index).saturating_sub(1)
    }

    /// The slot of an ID of a channel; `None` where the channel has no such ID.
    #[inline]
    pub(crate) fn slot_of(&self, channel: usize, id: u16) -> Option<u32> {
        let lane = &self.lanes[channel];
        let id = u32::from(id);
        (id < lane.ids).then_some(lane.base + id)
    }

    /// Takes a live slot out of the line.
    #[inline]
    fn end(&mut self, index: u32, state: State) {
        let Slot { older, newer, .. } = self.slots[index as usize];
        let line = if self.fallback.contains(&index) { FALLBACK } else { FIRST };
        match self.slots.get_mut(older as usize) {
            Some(slot) => slot.newer = newer,
            None => self.lines[line].oldest = newer,
        }
        match self.slots.get_mut(newer as usize) {
            Some(slot) => slot.older = older,
            None => self.lines[line].newest = older,
        }
        self.slots[index as usize].state = state;
        self.live -= 1;
    }
}

/// IDs of each channel when `channels` channels share [`SLOTS_OF_A_RUN`]: all there are for a few
/// channels; fewer for many, for memory's sake, but always twice what a window of `outstanding`
/// queries needs of a channel.
pub(crate) fn ids_per_channel(channels: usize, outstanding: Option<u64>) -> u32 {
    let channels = channels.max(1);
    // Rounded down to a power of two, so that the bound holds.
    let shared = 1u64 << (SLOTS_OF_A_RUN / channels).max(1).ilog2();
    let wanted = outstanding.map_or(0, |o| (2 * o.div_ceil(channels as u64)).next_power_of_two());
    shared.max(wanted).clamp(1_024, 65_536) as u32
}

/// The same for clients with connections: there may be tens of thousands, with a few queries each,
/// and a connection that carries `most` queries needs no more IDs than for two of them.
pub(crate) fn ids_per_client(clients: usize, outstanding: Option<u64>, most: Option<u32>) -> u32 {
    let clients = clients.max(1);
    let shared = 1u64 << (SLOTS_OF_A_RUN / clients).max(1).ilog2();
    let wanted = outstanding.map_or(0, |o| (2 * o.div_ceil(clients as u64)).next_power_of_two());
    let of_two = most.map_or(u64::MAX, |most| (2 * u64::from(most)).next_power_of_two());
    shared.max(wanted).min(of_two).clamp(FEWEST_IDS_OF_A_CLIENT, 65_536) as u32
}

/// IDs of a client with a connection: enough for a duplicate to be no unexpected response.
const FEWEST_IDS_OF_A_CLIENT: u64 = 16;

/// The lines of live slots: of queries that are sent for the first time, and of those that fall back.
const FIRST: usize = 0;
const FALLBACK: usize = 1;

/// No slot: an index past every table.
const NONE: u32 = u32::MAX;

/// Places that one search looks at: a stretch of live slots this long means that nearly all IDs
/// are in use, and then the queries wait for responses anyway.
const PLACES_AT_ONCE: u32 = 4_096;

/// Slots of all channels of a run together: 64 MiB.
const SLOTS_OF_A_RUN: usize = 1 << 21;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    const TIMEOUT_NS: u64 = 1_000;

    fn depart_at(table: &mut InFlight, now_ns: u64, question: u32) -> u16 {
        let place = table.take_free(0).unwrap();
        table.depart(place, SentQuery { intended_ns: now_ns, sent_ns: now_ns, question, member: 0 });
        place.id
    }

    #[test]
    fn a_response_ends_its_query_and_a_second_one_is_a_duplicate() {
        let mut table = InFlight::new(1, 1_024, TIMEOUT_NS);
        let id = depart_at(&mut table, 5, 7);
        assert_eq!(table.pair(0, id, 10, |_, q| q == 8), Match::WrongQuestion);
        assert!(matches!(table.pair(0, id, 10, |_, q| q == 7), Match::Response(d) if d.question == 7));
        assert_eq!(table.pair(0, id, 11, |_, q| q == 7), Match::Duplicate);
        assert_eq!(table.pair(0, id, 11, |_, _| false), Match::Unexpected);
        assert_eq!(table.pair(0, id + 1, 11, |_, _| true), Match::Unexpected);
        assert_eq!(table.live(), 0);
    }

    #[test]
    fn a_response_after_the_timeout_is_late_whether_or_not_it_was_counted() {
        let mut table = InFlight::new(1, 1_024, TIMEOUT_NS);
        let (swept, unswept) = (depart_at(&mut table, 0, 1), depart_at(&mut table, 0, 2));
        assert!(table.expire_oldest(TIMEOUT_NS - 1).is_none());
        assert!(table.expire_oldest(TIMEOUT_NS).is_some_and(|(_, d)| d.question == 1));
        assert!(matches!(table.pair(0, swept, 2_000, |_, _| true), Match::Late(d) if d.question == 1));
        assert_eq!(table.pair(0, swept, 2_001, |_, _| true), Match::Duplicate);
        assert!(matches!(table.pair(0, unswept, 2_000, |_, _| true), Match::Overdue(d) if d.question == 2));
    }

    #[test]
    fn an_old_query_does_not_keep_the_ids_around_it_from_being_used() {
        let mut table = InFlight::new(1, 1_024, TIMEOUT_NS);
        let held = depart_at(&mut table, 0, 0);
        for i in 0..5_000 {
            let id = depart_at(&mut table, i, 1);
            assert_ne!(id, held);
            assert!(matches!(table.pair(0, id, i, |_, _| true), Match::Response(_)));
        }
        assert_eq!(table.live(), 1);
    }

    #[test]
    fn queries_that_fell_back_expire_by_their_first_sending_among_the_others() {
        let kinds = [
            Lanes { channels: 1, ids: 1_024, are_fallback: false },
            Lanes { channels: 2, ids: 16, are_fallback: true },
        ];
        let mut table = InFlight::of(&kinds, TIMEOUT_NS);
        assert_eq!(table.fallback(), 1_024..1_056);
        for sent_ns in [10, 30, 50] {
            depart_at(&mut table, sent_ns, 0);
        }
        for (channel, sent_ns) in [(1, 20), (2, 5), (1, 40), (2, 15)] {
            let place = table.take_free(channel).unwrap();
            let again = SentQuery { intended_ns: sent_ns, sent_ns, question: 1, member: 0 };
            table.depart_in_fallback(place, again);
            assert_eq!(table.channel_of(place.slot()), channel);
        }
        // One from the middle of each line.
        assert!(matches!(table.pair(2, 1, 60, |_, _| true), Match::Response(d) if d.sent_ns == 15));
        assert!(matches!(table.pair(0, 1, 60, |_, _| true), Match::Response(d) if d.sent_ns == 30));
        let mut expired = Vec::new();
        while let Some((slot, departure)) = table.expire_oldest(2_000) {
            expired.push((table.channel_of(slot), departure.sent_ns));
        }
        assert_eq!(expired, [(2, 5), (0, 10), (1, 20), (1, 40), (0, 50)]);
        assert_eq!((table.live(), table.next_expiry_ns()), (0, None));
    }

    #[test]
    fn a_full_channel_says_so_and_the_other_goes_on() {
        let mut table = InFlight::new(2, 1_024, TIMEOUT_NS);
        (0..1_024).for_each(|_| {
            depart_at(&mut table, 0, 0);
        });
        assert_eq!(table.take_free(0), None);
        assert!(table.take_free(1).is_some());
    }

    #[test]
    fn a_batch_never_takes_an_id_twice_and_gives_back_what_was_not_sent() {
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
        let id = depart_at(&mut table, 0, 1);
        assert!(table.abandon_oldest().is_some());
        assert_eq!(table.pair(0, id, 1, |_, _| true), Match::Unexpected);
    }

    #[test]
    fn a_slot_is_half_a_cache_line() {
        assert_eq!(size_of::<Slot>(), 32);
    }

    #[test]
    fn a_window_always_has_ids_to_spare() {
        assert_eq!(ids_per_channel(2, None), 65_536);
        assert_eq!(ids_per_channel(33, None), 32_768);
        assert_eq!(ids_per_channel(256, None), 8_192);
        assert_eq!(ids_per_channel(50_000, None), 1_024);
        assert_eq!(ids_per_channel(256, Some(256 * 10_000)), 32_768);
        assert_eq!(ids_per_channel(1, Some(65_536)), 65_536);
    }

    #[test]
    fn clients_by_the_ten_thousand_have_a_few_ids_each() {
        assert_eq!(ids_per_client(50_000, None, None), 32);
        assert_eq!(ids_per_client(1, None, None), 65_536);
        assert_eq!(ids_per_client(10, Some(100), Some(1)), 16);
        assert_eq!(ids_per_client(1_000, None, Some(100)), 256);
        assert_eq!(ids_per_client(50_000, Some(5_000_000), None), 256);
    }

    #[test]
    fn a_lost_connection_names_what_is_outstanding_and_so_does_the_next() {
        let mut table = InFlight::new(2, 8, TIMEOUT_NS);
        let lost = |table: &mut InFlight| {
            let mut named = Vec::new();
            table.each_since_last(0, |id, departure| named.push((id, departure.question)));
            named
        };
        let ids: Vec<_> = (0..4).map(|question| depart_at(&mut table, 0, question)).collect();
        for id in &ids[1..3] {
            table.pair(0, *id, 1, |_, _| true);
        }
        assert_eq!(lost(&mut table), [(0, 0), (3, 3)]);
        // They are retried under the same ID, and two more.
        for question in 4..6 {
            depart_at(&mut table, 1, question);
        }
        assert_eq!(lost(&mut table), [(0, 0), (3, 3), (4, 4), (5, 5)]);
        for id in [0, 3, 4] {
            table.pair(0, id, 1, |_, _| true);
        }
        assert_eq!(lost(&mut table), [(5, 5)]);
        table.pair(0, 5, 1, |_, _| true);
        assert_eq!(lost(&mut table), []);
        // More than there are places.
        (0..20).for_each(|question| {
            let id = depart_at(&mut table, 1, question);
            table.pair(0, id, 1, |_, _| question < 19);
        });
        assert_eq!(lost(&mut table).iter().map(|(_, question)| *question).collect::<Vec<_>>(), [19]);
    }

    proptest! {
        /// Against a plain map: whatever happens, each query ends once, in order of age where
        /// it expires, and what is live is live in both.
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
                            let departure =
                                SentQuery { intended_ns: now_ns, sent_ns: now_ns, question, member: 0 };
                            table.depart(place, departure);
                            prop_assert!(live.insert(place.id, departure).is_none());
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
