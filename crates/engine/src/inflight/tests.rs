//! The table of outstanding queries: what each response is, and which query expires next.

use super::*;
use proptest::prelude::*;
use std::collections::HashMap;

const TIMEOUT_NS: u64 = 1_000;

const SENT: SentQuery = SentQuery {
    intended_ns: 0,
    sent_ns: 0,
    question: 0,
    member: 0,
    type_slot: 0,
    own_delay: ShortDelay::NONE,
};

fn send_at(table: &mut InFlight, now_ns: u64, question: u32) -> u16 {
    let place = table.take_free(0).unwrap();
    table.insert(place, SentQuery { intended_ns: now_ns, sent_ns: now_ns, question, ..SENT });
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
fn an_id_is_used_since_an_instant_where_a_later_query_has_it() {
    let mut table = InFlight::new(1, 1, TIMEOUT_NS);
    let id = send_at(&mut table, 10, 7);
    assert!(!table.is_used_since(0, id, 10), "its own stream");
    table.expire_oldest(10 + TIMEOUT_NS).unwrap();
    assert!(!table.is_used_since(0, id, 10), "it has timed out, and its response is late");
    assert_eq!(send_at(&mut table, 11 + TIMEOUT_NS, 7), id);
    assert!(table.is_used_since(0, id, 10));
    assert!(!table.is_used_since(0, id, 11 + TIMEOUT_NS));
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
        let again = SentQuery { intended_ns: sent_ns, sent_ns, question: 1, ..SENT };
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
                            SentQuery { intended_ns: now_ns, sent_ns: now_ns, question, ..SENT };
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
