//! Arrivals against the rates, shares and instants that a description gives.

use super::*;
use crate::description::Description;

fn arrivals(json: &str, share: Share) -> Arrivals {
    let checked = Description::parse(json).unwrap().check(1 << 32).unwrap();
    Arrivals::new(&checked, share, 3, 0)
}

const ONE: Share = Share { worker: 0, workers: 1 };

/// All that happens until an instant, with when it happens.
fn until(arrivals: &mut Arrivals, end_s: f64) -> Vec<(f64, Happening)> {
    let mut all = Vec::new();
    while let Some(at_ns) = arrivals.next_ns().filter(|at_ns| (*at_ns as f64) < end_s * NS_PER_S) {
        all.push((at_ns as f64 / NS_PER_S, arrivals.take().unwrap()));
    }
    all
}

fn of(all: &[(f64, Happening)]) -> impl Iterator<Item = Arrival> + '_ {
    all.iter().filter_map(|(_, happening)| match happening {
        Happening::Arrival(arrival) => Some(*arrival),
        Happening::Restart { .. } => None,
    })
}

fn mobile(clients: u32, rest: &str) -> String {
    format!(
        r#"{{"kind": "epc", "mcc": "440", "mnc": "10", "tacs": [1, 2, 3, 4], "apns": ["a", "b"],
            "clients": {clients}, "cache": {{"entries": 10}}, {rest}}}"#
    )
}

/// Whether a count of a Poisson process is as expected: within four standard deviations.
fn is_near(count: usize, expected: f64) -> bool {
    (count as f64 - expected).abs() < 4.0 * expected.sqrt()
}

#[test]
fn rates_and_distributions_are_those_described() {
    let json = mobile(2, r#""arrivals": {"attaches": 300, "handovers": 100, "tac_zipf": 1, "apn_zipf": 2}"#);
    let all = until(&mut arrivals(&json, ONE), 100.0);
    let count = |wanted: &dyn Fn(Arrival) -> bool| of(&all).filter(|arrival| wanted(*arrival)).count();
    assert!(is_near(count(&|arrival| arrival.kind == ProcedureKind::Attach), 30_000.0));
    assert!(is_near(count(&|arrival| arrival.kind == ProcedureKind::Handover), 10_000.0));
    for (area, part) in [12.0 / 25.0, 6.0 / 25.0, 4.0 / 25.0, 3.0 / 25.0].iter().enumerate() {
        assert!(is_near(count(&|arrival| arrival.first == area as u32), 40_000.0 * part), "area {area}");
    }
    assert!(is_near(
        count(&|arrival| arrival.kind == ProcedureKind::Attach && arrival.second == 0),
        24_000.0
    ));
    // Areas 0 and 2 belong to client 0, the others to client 1.
    assert!(of(&all).all(|arrival| arrival.client == arrival.first % 2));
}

#[test]
fn workers_together_have_the_rate_of_one() {
    let json =
        mobile(3, r#""arrivals": {"attaches": 600, "handovers": 0, "tac_zipf": 1, "clients_per_tac": 2}"#);
    let count = |worker, workers| {
        let all = until(&mut arrivals(&json, Share { worker, workers }), 50.0);
        of(&all).count()
    };
    let parts: Vec<usize> = (0..5).map(|worker| count(worker, 5)).collect();
    assert_eq!(parts[3..], [0, 0], "there are three clients");
    assert!(is_near(parts.iter().sum(), 30_000.0), "{parts:?}");
    assert!(is_near(count(0, 1), 30_000.0));
}

#[test]
fn the_same_seed_gives_the_same_arrivals() {
    let json = mobile(2, r#""arrivals": {"attaches": 100}"#);
    let all = |share| until(&mut arrivals(&json, share), 5.0);
    assert_eq!(all(ONE), all(ONE));
    let both = |worker| all(Share { worker, workers: 2 });
    let instants = |worker: u32| both(worker).iter().map(|(at_s, _)| at_s.to_bits()).collect::<Vec<_>>();
    assert_ne!(instants(0), instants(1), "workers do not arrive in step");
}

#[test]
fn a_curve_makes_the_rate_go_up_and_down() {
    let json = mobile(1, r#""arrivals": {"attaches": 1000, "handovers": 0, "curve": [0, 2], "day_s": 40}"#);
    let all = until(&mut arrivals(&json, ONE), 40.0);
    // From 0 to 2 in the first half of the day, and back in the second: a triangle.
    for (from, expected) in [(0.0, 5_000.0), (10.0, 15_000.0), (20.0, 15_000.0), (30.0, 5_000.0)] {
        let count = all.iter().filter(|(at_s, _)| (from..from + 10.0).contains(at_s)).count();
        assert!(is_near(count, expected), "{count} from {from} s");
    }
}

#[test]
fn a_restart_is_of_one_client_and_brings_its_users() {
    let json = mobile(
        2,
        r#""arrivals": {"attaches": 0, "handovers": 0},
           "events": [{"at_s": 10, "event": "restart", "client": 1, "attaches": 1000, "within_s": 5}]"#,
    );
    let all = until(&mut arrivals(&json, ONE), 100.0);
    assert_eq!(all[0], (10.0, Happening::Restart { client: 1 }));
    assert_eq!(of(&all).count(), 1_000);
    assert!(of(&all).all(|arrival| arrival.client == 1 && arrival.first % 2 == 1));
    assert!(all.iter().all(|(at_s, _)| (10.0..=15.0).contains(at_s)));
    let middle = all.iter().filter(|(at_s, _)| *at_s < 12.5).count();
    assert!(is_near(middle, 500.0), "{middle}");
    assert!(until(&mut arrivals(&json, Share { worker: 0, workers: 2 }), 100.0).is_empty());
}

#[test]
fn a_mass_event_has_exactly_its_users_at_all_workers_together() {
    let json = mobile(
        3,
        r#""arrivals": {"attaches": 0, "handovers": 0, "clients_per_tac": 3},
           "events": [{"at_s": 1, "event": "mass", "tac": 3, "attaches": 1000, "within_s": 0}]"#,
    );
    let counts: Vec<usize> = (0..2)
        .map(|worker| {
            let all = until(&mut arrivals(&json, Share { worker, workers: 2 }), 100.0);
            assert!(of(&all).all(|arrival| arrival.first == 2 && arrival.kind == ProcedureKind::Attach));
            of(&all).count()
        })
        .collect();
    assert_eq!(counts, [666, 334]);
}
