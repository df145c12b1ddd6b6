//! Distributions over a whole run, as the percentile curve of the DNS community: for a share of the slowest queries,
//! the latency that they have at least.

use dnsdyno_measure::{HandshakeKind, Histogram, Latency, ProcedureKind};
use dnsdyno_record::figures::{latency, lateness};
use dnsdyno_record::{Digest, Headline};

use crate::data::Curve;

/// The curves of a run, the headline first.
pub(crate) fn curves(digest: &Digest) -> Vec<Curve> {
    let (tally, first) = (digest.tally(), digest.header.headline);
    let mut curves = Vec::new();
    if !digest.header.send_only {
        let second = match first {
            Headline::Response => Headline::Service,
            Headline::Service => Headline::Response,
        };
        for which in [first, second] {
            curves.push(curve(name_of(which).to_owned(), latency(which, tally)));
        }
    }
    for (info, member) in digest.header.mix.iter().zip(&tally.members) {
        let latency = match first {
            Headline::Response => member.response_latency(),
            Headline::Service => member.service_latency(),
        };
        curves.push(curve(format!("{}, {}", name_of(first), info.label()), latency));
    }
    if first == Headline::Response {
        curves.push(curve("send lateness".to_owned(), lateness(tally)));
    }
    curves.extend(parts(digest).into_iter().map(|(name, part)| curve(name.to_owned(), of(part))));
    curves.retain(|curve| curve.count > 0);
    curves
}

/// The parts of transactions and of connections.
fn parts(digest: &Digest) -> Vec<(&'static str, &Histogram)> {
    let mut parts = Vec::new();
    if let Some(fallback) = &digest.tally().fallback {
        parts.extend([
            ("UDP, to the truncated response", &fallback.udp),
            ("waiting for a client", &fallback.waiting),
            ("connect, of a retry over TCP", &fallback.connect),
            ("TCP query, once connected", &fallback.query),
        ]);
    }
    if let Some(clients) = &digest.arrivals().clients {
        parts.extend(ProcedureKind::ALL.iter().map(|kind| (kind.words(), clients.time(*kind))));
    }
    let Some(connections) = &digest.arrivals().connections else { return parts };
    parts.extend([
        ("connect", &connections.connect),
        ("first byte", &connections.first_byte),
        ("query over its connection", &connections.query),
    ]);
    if let Some(encrypted) = &connections.encrypted {
        parts.extend([
            ("full handshake", encrypted.handshake(HandshakeKind::Full)),
            ("resumed handshake", encrypted.handshake(HandshakeKind::Resumed)),
            ("early handshake (0-RTT)", encrypted.handshake(HandshakeKind::Early)),
        ]);
    }
    parts
}

fn name_of(which: Headline) -> &'static str {
    match which {
        Headline::Response => "response time",
        Headline::Service => "service time",
    }
}

fn of(histogram: &Histogram) -> Latency<'_> {
    Latency { answered: histogram, unanswered: 0 }
}

/// From the slowest of all to all of them, in equal steps of the logarithm.
fn curve(title: String, latency: Latency<'_>) -> Curve {
    let count = latency.count();
    let steps = (POINTS_A_DECADE * (count.max(1) as f64).log10()).ceil() as u32;
    let nth = |step: u32| (10_f64.powf(f64::from(step) / POINTS_A_DECADE).round() as u64).min(count);
    let mut slowest: Vec<u64> = (0..=steps).map(nth).filter(|n| *n > 0).collect();
    slowest.dedup();
    slowest.reverse();
    Curve {
        title,
        count,
        unanswered: latency.unanswered,
        ns: slowest.iter().map(|n| latency.answered.at_rank(count - n + 1)).collect(),
        slowest: slowest.iter().map(|n| *n as f64 / count as f64).collect(),
    }
}

/// Enough for a smooth line.
const POINTS_A_DECADE: f64 = 24.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_goes_from_all_queries_to_the_slowest_one_and_unanswered_ones_are_a_wall() {
        let mut answered = Histogram::new();
        (1..=990).for_each(|n| answered.record(n * 10_000));
        let curve = curve("response time".into(), Latency { answered: &answered, unanswered: 10 });
        assert_eq!((curve.slowest[0], *curve.slowest.last().unwrap()), (1.0, 0.001));
        assert!(curve.slowest.is_sorted_by(|one, next| one > next));
        assert!(curve.ns[0].unwrap().abs_diff(10_000) < 100 && curve.ns.last() == Some(&None));
        for (share, ns) in curve.slowest.iter().zip(&curve.ns) {
            assert_eq!(ns.is_none(), *share < 0.0105, "{share}");
        }
        let tenth = curve.slowest.iter().position(|share| *share == 0.1).unwrap();
        assert!(curve.ns[tenth].unwrap().abs_diff(9_010_000) < 80_000);
    }

    #[test]
    fn one_query_is_a_point_and_none_is_no_curve() {
        let mut answered = Histogram::new();
        let none = curve("connect".into(), of(&answered));
        assert_eq!((none.count, none.slowest.len()), (0, 0));
        answered.record(5_000);
        let one = curve("connect".into(), of(&answered));
        assert_eq!((one.slowest, one.ns), (vec![1.0], vec![Some(5_000)]));
    }
}
