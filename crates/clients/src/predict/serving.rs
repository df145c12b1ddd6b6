//! What a server's slowness and losses make of a question: how many queries it takes, how long it is asked, and whether
//! it is answered.
//!
//! A client asks at once, after `first_s`, after twice that more, and so on, until a response comes, whichever query it
//! is to. A server that takes 4 s is so asked twice for each question (`first_s` 3): its load doubles.

use crate::description::Retries;

/// How the server of a prediction responds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Serving {
    /// The largest response over UDP, in octets: that of EDNS, or of the server if it allows less.
    pub payload_octets: u16,
    /// How long a response takes, in seconds.
    pub response_s: f64,
    /// The part of the queries that is never answered, 0 to 1.
    pub lost: f64,
}

/// A server that answers each query at once.
impl From<u16> for Serving {
    fn from(payload_octets: u16) -> Self {
        Serving { payload_octets, response_s: 0.0, lost: 0.0 }
    }
}

/// What a question takes, on average.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Asking {
    /// Queries, the first included.
    pub queries: f64,
    /// The part of the questions that are answered; the others are given up.
    pub answered: f64,
    /// How long a question is asked, in seconds.
    pub pending_s: f64,
}

impl Asking {
    /// Of clients that ask again in this way.
    pub fn of(retries: &Retries, serving: &Serving) -> Asking {
        let asked_s = |retry: u32| retries.first_s * (2_f64.powi(retry as i32) - 1.0);
        let end_s = asked_s(retries.retries + 1);
        let sent_before = |s: f64| (0..=retries.retries).filter(|retry| asked_s(*retry) < s).count() as u32;
        let mut asking = Asking { queries: 0.0, answered: 0.0, pending_s: 0.0 };
        let mut left = 1.0;
        // By which query is the first that is not lost; at last, that all are.
        for retry in 0..=retries.retries + 1 {
            let is_one = retry <= retries.retries;
            let part = if is_one { left * (1.0 - serving.lost) } else { left };
            left -= part;
            let at_s = asked_s(retry) + serving.response_s;
            if is_one && at_s < end_s {
                asking.answered += part;
                asking.pending_s += part * at_s;
                // The query that is answered was sent, however soon its response comes.
                asking.queries += part * f64::from(sent_before(at_s).max(retry + 1));
            } else {
                asking.pending_s += part * end_s;
                asking.queries += part * f64::from(retries.retries + 1);
            }
        }
        asking
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asking(response_s: f64, lost: f64) -> Asking {
        Asking::of(&Retries::default(), &Serving { payload_octets: 1_232, response_s, lost })
    }

    fn assert_is(found: Asking, queries: f64, answered: f64, pending_s: f64) {
        let near = |a: f64, b: f64| (a - b).abs() < 1e-9;
        let is = near(found.queries, queries)
            && near(found.answered, answered)
            && near(found.pending_s, pending_s);
        assert!(is, "{found:?}");
    }

    #[test]
    fn a_slow_server_is_asked_once_more_for_each_timer_that_ends() {
        // Asked after 0, 3 and 9 s, given up after 21 s.
        assert_is(asking(0.0, 0.0), 1.0, 1.0, 0.0);
        assert_is(asking(2.9, 0.0), 1.0, 1.0, 2.9);
        assert_is(asking(4.0, 0.0), 2.0, 1.0, 4.0);
        assert_is(asking(10.0, 0.0), 3.0, 1.0, 10.0);
        assert_is(asking(21.0, 0.0), 3.0, 0.0, 21.0);
    }

    #[test]
    fn what_is_lost_is_asked_again_and_at_last_given_up() {
        assert_is(asking(0.0, 1.0), 3.0, 0.0, 21.0);
        // Half of all are lost: one query, two, three; an eighth is given up.
        assert_is(
            asking(0.0, 0.5),
            0.5 + 2.0 * 0.25 + 3.0 * 0.25,
            0.875,
            0.25 * 3.0 + 0.125 * 9.0 + 0.125 * 21.0,
        );
        // The second query leaves while the response to the first is on its way; its own comes before the third.
        assert_is(
            asking(4.0, 0.5),
            0.5 * 2.0 + 0.25 * 2.0 + 0.25 * 3.0,
            0.875,
            0.5 * 4.0 + 0.25 * 7.0 + 0.125 * 13.0 + 0.125 * 21.0,
        );
    }
}
