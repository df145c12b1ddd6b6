//! The generator's own share of a closed loop.
//!
//! In a closed loop the generator keeps N queries outstanding, and what it adds to each round lowers the rate. By
//! Little's law, λ · W of them are with the server on average, where λ is the rate and W the time from sending to the
//! arrival of the response. The others wait here: to be read, or to be sent. A constant rate that its window does not
//! let through is a closed loop too.
//!
//! ```text
//!   N = 100 outstanding: │████████████████████ 93 with the server ██│ 7 with us │     own share 7 %
//! ```

use crate::{Arrivals, Evidence, Tally};

/// The share of the window that was with the generator, 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OwnShare {
    /// At the least: 1 − λ · W / N.
    pub least: f64,
    /// At the most: with the time that queries were with this host's kernel before they left, where it was measured.
    pub most: f64,
}

impl OwnShare {
    /// The rate may be higher by as much as a percentile may be apart.
    pub const WIDE_FACTOR: f64 = 1.25;

    /// That of a run; `None` in an open loop whose window was not always full, and in a run that is mostly its start
    /// and its end.
    pub fn of(tally: &Tally, arrivals: &Arrivals, evidence: &Evidence) -> Option<OwnShare> {
        let load_ns = if evidence.open_loop { full_ns(tally, evidence)? } else { evidence.schedule_ns };
        if evidence.window == 0 || load_ns == 0 {
            return None;
        }
        // How long a query that was refused or interrupted was with the server is not known.
        if tally.ends.interrupted > 0 || tally.ends.refused > tally.ends.total() / REFUSED_PART {
            return None;
        }
        let answered_ns = tally.service.exact().map_or(0, |exact| exact.sum_ns) as f64;
        // A query that was lost has held its place until the timeout, or to the end of the load.
        let lost = tally.ends.timed_out + tally.ends.answered_late;
        let (timeout, load) = (evidence.timeout_ns as f64, load_ns as f64);
        let held_ns = if timeout < load { timeout - timeout * timeout / (2.0 * load) } else { load / 2.0 };
        // A wrong answer has no place in the histogram. It has taken as long as the others, where there are any.
        let wrong = tally.ends.answered_wrong;
        if wrong > 0 && tally.ends.answered == 0 {
            return None;
        }
        let wrong_ns = wrong as f64 * answered_ns / tally.ends.answered.max(1) as f64;
        let with_server_ns = answered_ns + wrong_ns + lost as f64 * held_ns;
        let queries = tally.ends.answered + wrong + lost;
        let departed_ns = departure_ns(arrivals) * queries as f64;
        // A client pauses where its connections fail: meanwhile its part of the window is with nobody.
        let of_client = evidence.window as f64 / evidence.sockets.max(1) as f64;
        let paused_ns = arrivals.connections.as_ref().map_or(0, |all| all.paused_ns) as f64 * of_client;
        let whole_ns = (evidence.window as f64 * load - paused_ns).max(1.0);
        let share = |with_server_ns: f64| (1.0 - with_server_ns / whole_ns).clamp(0.0, 1.0);
        (queries >= ROUNDS * evidence.window).then(|| OwnShare {
            least: share(with_server_ns),
            most: share((with_server_ns - departed_ns).max(0.0)),
        })
    }

    /// How many times the rate a generator without a part of its own would have had, at the most: where the server
    /// answered each query as fast as it did.
    pub fn rate_factor(&self) -> f64 {
        1.0 / (1.0 - self.most).max(SMALLEST_REST)
    }

    /// Whether the rate cannot be called the server's: it may have been more than a quarter higher.
    pub fn is_wide(&self) -> bool {
        self.rate_factor() > OwnShare::WIDE_FACTOR
    }
}

/// How long the window of an open loop was full; `None` where it was not all the time.
fn full_ns(tally: &Tally, evidence: &Evidence) -> Option<u64> {
    let was_full =
        evidence.overrun_ns() > 0 && tally.held_back > tally.scheduled - tally.scheduled / FREE_PART;
    was_full.then_some(evidence.scheduled_until_ns)
}

/// The mean time between the instant of sending and the kernel's stamp; 0 where there is none.
fn departure_ns(arrivals: &Arrivals) -> f64 {
    arrivals.send_stamps.as_deref().and_then(|stamps| stamps.delay.mean_ns()).unwrap_or(0) as f64
}

/// Where as many as this part of the queries were refused, they held a part of the window that is not known.
const REFUSED_PART: u64 = 100;

/// The window of an open loop was full all the time where it held back all but this part of the queries.
const FREE_PART: u64 = 20;

/// How often each place of the window must have been used: at the start and at the end, places are empty.
const ROUNDS: u64 = 20;

/// A rate is never called more than a thousand times as high.
const SMALLEST_REST: f64 = 0.001;

#[cfg(test)]
mod tests {
    use super::*;

    /// A second with a window of 10, in which `answered` queries took 100 µs each.
    fn share(answered: u64, timed_out: u64) -> OwnShare {
        with_wrong(answered, timed_out, 0)
    }

    fn with_wrong(answered: u64, timed_out: u64, wrong: u64) -> OwnShare {
        let mut tally = Tally::new(1);
        (0..answered).for_each(|_| tally.service.record(100_000));
        tally.ends.answered_wrong = wrong;
        tally.ends.answered = answered;
        tally.ends.timed_out = timed_out;
        let evidence = Evidence {
            window: 10,
            schedule_ns: 1_000_000_000,
            timeout_ns: 500_000_000,
            ..Evidence::default()
        };
        OwnShare::of(&tally, &Arrivals::default(), &evidence).unwrap()
    }

    #[test]
    fn what_is_not_with_the_server_is_with_us() {
        let half = share(50_000, 0);
        assert!((half.least - 0.5).abs() < 1e-6 && (half.rate_factor() - 2.0).abs() < 1e-6, "{half:?}");
        assert!(half.is_wide() && !share(81_000, 0).is_wide());
        // More than the window allows is rounding.
        assert_eq!(share(100_100, 0).least, 0.0);
    }

    #[test]
    fn a_query_with_a_wrong_answer_was_with_the_server_as_long_as_the_others() {
        let (half, all) = (with_wrong(40_000, 0, 10_000), with_wrong(50_000, 0, 50_000));
        assert!((half.least - 0.5).abs() < 1e-6 && all.least.abs() < 1e-6, "{half:?} {all:?}");
    }

    #[test]
    fn a_client_that_pauses_because_its_connections_fail_is_not_our_share() {
        let mut arrivals = Arrivals::default();
        // Both clients, for half of the second.
        arrivals.connections_mut().paused_ns = 1_000_000_000;
        let evidence = Evidence { window: 10, sockets: 2, schedule_ns: 1_000_000_000, ..Evidence::default() };
        let mut tally = Tally::new(1);
        (0..50_000).for_each(|_| tally.service.record(100_000));
        tally.ends.answered = 50_000;
        let share = OwnShare::of(&tally, &arrivals, &evidence).unwrap();
        assert!(share.least.abs() < 1e-6, "{share:?}");
    }

    #[test]
    fn a_lost_query_was_with_the_server_until_its_timeout() {
        // Of a second with a timeout of half of it, a query is lost at any instant: it held 0.375 s on average.
        assert!((share(50_000, 10).least - 0.125).abs() < 1e-6);
    }

    #[test]
    fn a_run_of_few_rounds_has_none() {
        let evidence = Evidence { window: 100, schedule_ns: 1, ..Evidence::default() };
        let mut tally = Tally::new(1);
        tally.ends.answered = 1_999;
        assert_eq!(OwnShare::of(&tally, &Arrivals::default(), &evidence), None);
        tally.ends.answered = 2_000;
        assert!(OwnShare::of(&tally, &Arrivals::default(), &evidence).is_some());
    }

    #[test]
    fn the_time_until_a_query_has_left_is_ours_too() {
        let mut arrivals = Arrivals::default();
        arrivals.send_stamps_mut().delay.record(20_000);
        let evidence = Evidence { window: 10, schedule_ns: 1_000_000_000, ..Evidence::default() };
        let mut tally = Tally::new(1);
        (0..50_000).for_each(|_| tally.service.record(100_000));
        tally.ends.answered = 50_000;
        let share = OwnShare::of(&tally, &arrivals, &evidence).unwrap();
        // 80 of 100 µs at the least were with the server.
        assert!((share.least - 0.5).abs() < 1e-6 && (share.most - 0.6).abs() < 1e-6, "{share:?}");
    }

    #[test]
    fn a_rate_that_its_window_did_not_let_through_has_one() {
        let evidence = Evidence {
            open_loop: true,
            window: 10,
            schedule_ns: 1_000_000_000,
            scheduled_until_ns: 2_000_000_000,
            ..Evidence::default()
        };
        let mut tally = Tally { scheduled: 100_000, held_back: 99_000, ..Tally::new(1) };
        (0..100_000).for_each(|_| tally.service.record(100_000));
        tally.ends.answered = 100_000;
        let share = |tally: &Tally, evidence: &Evidence| OwnShare::of(tally, &Arrivals::default(), evidence);
        assert!((share(&tally, &evidence).unwrap().least - 0.5).abs() < 1e-6);
        // The schedule was kept.
        let kept = Evidence { scheduled_until_ns: 1_000_000_000, ..evidence.clone() };
        assert_eq!(share(&tally, &kept), None);
        // For a tenth of the queries, the window was not full.
        assert_eq!(share(&Tally { held_back: 90_000, ..tally }, &evidence), None);
    }

    #[test]
    fn an_open_loop_has_none() {
        let evidence = Evidence { open_loop: true, window: 10, schedule_ns: 1, ..Evidence::default() };
        assert_eq!(OwnShare::of(&Tally::new(1), &Arrivals::default(), &evidence), None);
    }
}
