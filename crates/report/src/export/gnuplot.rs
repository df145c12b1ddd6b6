//! The plot file of resperf: a line for each interval in which queries were due.
//!
//! | column | resperf | here |
//! |---|---|---|
//! | time | middle of the bucket, s | middle of the interval |
//! | target_qps, actual_qps | to be sent, and sent | asked (0 in a closed loop), and sent |
//! | responses_per_sec | responses to the queries of the bucket | the same, if they were in time, and right |
//! | failures_per_sec | those with another RCODE in the header than NOERROR and NXDOMAIN | the same |
//! | avg_latency | from the sending, s | average service time, which is from the sending too |
//! | connections, conn_avg_latency | established, and until the handshake is done | the same |

use std::io::Write;

use dnsdyno_measure::{Arrivals, Histogram, Tally};
use dnsdyno_record::Header;
use dnsdyno_record::figures::{rate_qps, sent};

use crate::export::{ExportError, Run};

pub(crate) fn write(run: &Run, out: &mut dyn Write) -> Result<(), ExportError> {
    writeln!(out, "{TITLES}")?;
    let schedule_ns = run.digest.schedule_ns();
    for interval in run.intervals()? {
        let interval = interval?;
        if interval.is_partial() {
            // A comment, so that the line of the plot ends before it.
            let (from_s, to_s) = (interval.from_ns as f64 * 1e-9, interval.to_ns as f64 * 1e-9);
            writeln!(
                out,
                "# partial from {from_s:.3} to {to_s:.3}: no rates without the part of an agent\n"
            )?;
            continue;
        }
        let tally = &interval.tally;
        // After the last query is due, the generator only waits for responses.
        let (covered_ns, left_ns) = (interval.covered_ns(), schedule_ns.saturating_sub(interval.from_ns));
        let length_ns = covered_ns.min(left_ns);
        if length_ns == 0 {
            continue;
        }
        let per_second = |count: u64| rate_qps(count, length_ns);
        let (connections, connect_s) = connections(&run.digest.header, &interval.arrivals);
        let time_s = (interval.from_ns as f64 + length_ns as f64 / 2.0) * 1e-9;
        // An older record has the rate over the whole interval.
        let lasted = covered_ns as f64 / length_ns as f64;
        writeln!(
            out,
            "{time_s:7.3} {:8.2} {:8.2} {:8.2} {:8.2} {:8.6} {:8.2} {connect_s:8.6}",
            interval.asked_qps * lasted,
            per_second(sent(tally)),
            per_second(tally.ends.answered),
            per_second(failures(tally)),
            mean_s(&tally.service),
            per_second(connections),
        )?;
    }
    Ok(())
}

fn failures(tally: &Tally) -> u64 {
    let is_failure = |(code, _): &(u16, u64)| !matches!(*code & 0xF, NOERROR | NXDOMAIN);
    tally.rcodes_in_time().filter(is_failure).map(|(_, count)| count).sum()
}

/// The connections established, and how long they took: over TLS with the handshake. A QUIC connection is established
/// when its handshake is done.
fn connections(header: &Header, arrivals: &Arrivals) -> (u64, f64) {
    let Some(connections) = &arrivals.connections else { return (0, 0.0) };
    let over_tls =
        connections.encrypted.as_ref().filter(|_| !matches!(header.transport.as_str(), "doq" | "doh3"));
    let handshakes = over_tls.map_or(0.0, |encrypted| {
        let mut all = Histogram::new();
        encrypted.handshakes.iter().for_each(|(_, kind)| all.merge(kind));
        mean_s(&all)
    });
    (connections.established, mean_s(&connections.connect) + handshakes)
}

/// The average in seconds; 0 of nothing, as resperf has it.
fn mean_s(durations: &Histogram) -> f64 {
    durations.mean_ns().map_or(0.0, |ns| ns as f64 * 1e-9)
}

/// The first line, as resperf writes it.
const TITLES: &str = "# time target_qps actual_qps responses_per_sec failures_per_sec avg_latency connections \
                      conn_avg_latency";

const NOERROR: u16 = 0;
const NXDOMAIN: u16 = 3;

#[cfg(test)]
mod tests {
    use dnsdyno_measure::{Connections, Encrypted, HandshakeKind};

    use super::*;
    use crate::export::sample;

    fn lines(run: &sample::Recorded) -> Vec<Vec<f64>> {
        let mut out = Vec::new();
        write(&run.run, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let mut lines = text.lines();
        assert_eq!(lines.next().unwrap().split_whitespace().count(), 9, "# and eight titles");
        lines.map(|line| line.split_whitespace().map(|cell| cell.parse().unwrap()).collect()).collect()
    }

    #[test]
    fn a_line_has_what_was_asked_sent_and_answered() {
        let mut second = sample::second(1, 4_000, 100);
        second.tally.rcodes.add(2, 40);
        let run = sample::recorded(&sample::header(), &[sample::second(0, 2_000, 0), second]);
        let lines = lines(&run);
        assert_eq!(lines[0], [0.5, 2_000.0, 2_000.0, 2_000.0, 0.0, 0.000_895, 0.0, 0.0]);
        assert_eq!(lines[1][..5], [1.5, 4_000.0, 4_000.0, 3_900.0, 40.0]);
    }

    #[test]
    fn responses_and_failures_are_those_in_time_by_the_rcode_in_the_header() {
        let mut second = sample::second(0, 2_000, 500);
        (second.tally.ends.timed_out, second.tally.ends.answered_late) = (200, 200);
        second.tally.ends.answered_wrong = 100;
        second.tally.rcodes.add(2, 300 + 40);
        second.tally.rcodes_late_or_wrong.add(2, 300);
        // BADVERS is NOERROR in the header.
        second.tally.rcodes.add(16, 5);
        let lines = lines(&sample::recorded(&sample::header(), &[second]));
        assert_eq!(lines[0][..5], [0.5, 2_000.0, 2_000.0, 1_500.0, 40.0]);
    }

    #[test]
    fn a_connection_over_tls_takes_its_handshake_too_and_a_quic_connection_is_one() {
        let mut connections = Connections { established: 3, ..Connections::default() };
        connections.connect.record(1_000_000);
        let mut encrypted = Encrypted::default();
        encrypted.add_handshake(HandshakeKind::Full, 2_000_000);
        connections.encrypted = Some(Box::new(encrypted));
        let mut second = sample::second(0, 100, 0);
        second.arrivals.connections = Some(Box::new(connections));
        for (transport, took_s) in [("dot", 0.003), ("doq", 0.001), ("doh3", 0.001)] {
            let header = Header { transport: transport.into(), ..sample::header() };
            let lines = lines(&sample::recorded(&header, std::slice::from_ref(&second)));
            assert_eq!(lines[0][6..], [3.0, took_s], "{transport}");
        }
    }

    #[test]
    fn the_rates_of_the_last_interval_are_over_the_time_that_the_load_covers() {
        let mut last = sample::second(1, 2_000, 0);
        (last.covered_ns, last.asked_qps) = (Some(sample::SECOND / 2), 4_000.0);
        let lines = lines(&sample::recorded(&sample::header(), &[sample::second(0, 4_000, 0), last]));
        assert_eq!(
            (&lines[0][..3], &lines[1][..3]),
            (&[0.5, 4_000.0, 4_000.0][..], &[1.25, 4_000.0, 4_000.0][..])
        );
    }

    #[test]
    fn intervals_after_the_last_query_have_no_line() {
        let seconds = [sample::second(0, 100, 0), sample::second(1, 0, 0)];
        assert_eq!(lines(&sample::recorded(&sample::header(), &seconds)).len(), 1);
    }
}
