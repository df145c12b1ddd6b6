//! Shares are held, seeds decide alike, and a falsified response differs in one thing only.

use super::*;
use proptest::prelude::*;

fn share(value: f64) -> Share {
    Share::new(value).unwrap()
}

fn every_fault(each: f64) -> Faults {
    Faults {
        loss: share(each),
        duplicate: share(each),
        wrong_id: share(each),
        wrong_question: share(each),
        wrong_answer: share(each),
        garbage: share(each),
        reset: share(each),
        ..Faults::default()
    }
}

fn every_fault_of_connections(each: f64) -> Faults {
    Faults {
        cut: share(each),
        wrong_length: share(each),
        dribble: share(each),
        reorder: share(each),
        server_error: share(each),
        stream_reset: share(each),
        goaway: share(each),
        ..Faults::default()
    }
}

fn draws(faults: &Faults, stream: u64, count: usize) -> Vec<Decision> {
    let mut decider = faults.decider(stream).unwrap();
    (0..count).map(|_| decider.decide()).collect()
}

#[test]
fn without_faults_nothing_is_done_to_any_query() {
    assert!(draws(&Faults::default(), 0, 1000).iter().all(|d| *d == Decision::default()));
}

#[test]
fn the_same_seed_decides_the_same_and_another_does_not() {
    let faults =
        Faults { delay: Some(Delay::Exponential { mean: Duration::from_millis(1) }), ..every_fault(0.1) };
    assert_eq!(draws(&faults, 0, 2000), draws(&faults, 0, 2000));
    assert_ne!(draws(&faults, 0, 2000), draws(&faults, 1, 2000));
    assert_ne!(draws(&faults, 0, 2000), draws(&Faults { seed: 1, ..faults.clone() }, 0, 2000));
}

#[test]
fn each_fault_takes_its_share_of_all_queries() {
    for faults in [every_fault(0.1), every_fault_of_connections(0.1)] {
        let decisions = draws(&faults, 7, 100_000);
        for (_, fault) in faults.shares().into_iter().filter(|(share, _)| share.0 > 0.0) {
            let count = decisions.iter().filter(|decision| decision.fault == Some(fault)).count();
            // 10,000 expected, standard deviation 95.
            assert!((9_500..10_500).contains(&count), "{fault:?}: {count}");
        }
    }
}

#[test]
fn connections_draw_their_faults_without_changing_those_of_queries() {
    let with = Faults { silent: share(0.2), tls_alert: share(0.3), ..every_fault(0.1) };
    assert_eq!(draws(&with, 0, 2000), draws(&every_fault(0.1), 0, 2000));
    let mut decider = with.decider(0).unwrap();
    let drawn: Vec<_> = (0..10_000).map(|_| decider.decide_connection()).collect();
    for (fault, expected) in
        [(Some(ConnectionFault::Silent), 2_000), (Some(ConnectionFault::TlsAlert), 3_000), (None, 5_000)]
    {
        let count = drawn.iter().filter(|drawn| **drawn == fault).count();
        assert!((expected - 300..expected + 300).contains(&count), "{fault:?}: {count}");
    }
    let over = Faults { silent: share(0.7), no_handshake: share(0.7), ..Faults::default() };
    assert_eq!(over.validate(), Err(FaultsError::ConnectionsOver100 { percent: 140.0 }));
    let never = Faults { close_after: Some(0), ..Faults::default() };
    assert_eq!(never.validate(), Err(FaultsError::CloseAfter));
}

#[test]
fn the_first_queries_may_get_right_answers() {
    let faults = Faults { wrong_answer: share(0.5), wrong_answer_after: 1_000, ..Faults::default() };
    let wrong = |decisions: &[Decision]| decisions.iter().filter(|decision| decision.fault.is_some()).count();
    let drawn = draws(&faults, 0, 3_000);
    assert_eq!(wrong(&drawn[..1_000]), 0);
    assert!((900..1_100).contains(&wrong(&drawn[1_000..])));
}

#[test]
fn shares_of_100_percent_leave_no_query_out() {
    let all = Faults { loss: share(0.3), garbage: share(0.7), ..Faults::default() };
    assert!(draws(&all, 0, 10_000).iter().all(|decision| decision.fault.is_some()));
}

#[test]
fn impossible_faults_are_refused_with_the_reason() {
    let over = every_fault(0.2).validate().unwrap_err();
    assert_eq!(over, FaultsError::Over100 { percent: 140.0 });
    let ms = Duration::from_millis;
    let stall = Faults { stall: Some(Stall { from: ms(2), to: ms(1) }), ..Faults::default() };
    assert_eq!(stall.validate(), Err(FaultsError::Stall));
    let impossible = [
        Delay::Fixed(Duration::from_secs(3601)),
        Delay::Uniform { from: ms(2), to: ms(1) },
        Delay::Exponential { mean: ms(0) },
        Delay::LogNormal { median: ms(0), sigma: 1.0 },
        Delay::LogNormal { median: ms(1), sigma: -1.0 },
        Delay::LogNormal { median: ms(1), sigma: f64::NAN },
    ];
    for delay in impossible {
        let faults = Faults { delay: Some(delay), ..Faults::default() };
        assert!(matches!(faults.validate(), Err(FaultsError::Delay { .. })), "{delay:?}");
    }
}

proptest! {
    #[test]
    fn a_corrupted_response_differs_in_one_thing_only(name in "[a-zA-Z]{0,20}", seed in any::<u64>()) {
        let mut wire = Vec::new();
        dnsdyno_wire::encode_name(if name.is_empty() { b"." } else { name.as_bytes() }, &mut wire).unwrap();
        let mut query = Vec::new();
        dnsdyno_wire::QueryForm::default().encode(&wire, 1, &mut query);
        dnsdyno_wire::patch_id(&mut query, seed as u16);
        let mut whole = b"kept".to_vec();
        crate::answer::answer(&crate::answer::Rule::default(), &query, crate::answer::Via::Udp, &mut whole);
        let right = dnsdyno_wire::peek(&whole[4..]).unwrap();
        let mut decider = Faults { seed, ..Faults::default() }.decider(0).unwrap();
        let mut corrupted = |fault| {
            let mut bytes = whole.clone();
            assert!(decider.corrupt(fault, &mut bytes, 4));
            assert_eq!(&bytes[..4], b"kept");
            bytes.split_off(4)
        };
        let wrong_id = corrupted(Fault::WrongId);
        let peek = dnsdyno_wire::peek(&wrong_id).unwrap();
        prop_assert_eq!((peek.id, peek.question), (right.id ^ 0x8000, right.question));
        let wrong_question = corrupted(Fault::WrongQuestion);
        let peek = dnsdyno_wire::peek(&wrong_question).unwrap();
        prop_assert_eq!(peek.id, right.id);
        prop_assert!(!dnsdyno_wire::same_question(peek.question, right.question));
        let wrong_answer = corrupted(Fault::WrongAnswer);
        let peek = dnsdyno_wire::peek(&wrong_answer).unwrap();
        prop_assert_eq!((peek.id, peek.question), (right.id, right.question));
        let digest = |bytes: &[u8]| dnsdyno_wire::AnswerDigest::of(bytes).unwrap();
        prop_assert_ne!(digest(&wrong_answer), digest(&whole[4..]));
        let garbage = corrupted(Fault::Garbage);
        prop_assert!(dnsdyno_wire::peek(&garbage).is_err() && !garbage.is_empty());
    }
}
