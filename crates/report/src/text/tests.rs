//! Whole summaries as text.

use dnsdyno_measure::Warning;

use super::*;
use crate::sample;

const DOUBTFUL_AT_80: &str = r#"server     ns1.example (192.0.2.1:53) over udp
load       stair from 2,000 to 4,000 queries/s, 1,000 a step, each held for 2 s
source     10,000 queries, 2 malformed lines skipped, 1.80 passes
generator  dnsdyno 0.1.0, 2 workers, 8 sockets, timeout 5 s
ran        6 s, ended by the user

  queries
  scheduled               18,000  3,000/s    100 %
  sent                    17,990  2,998/s  99.94 %
  answered                17,808  2,968/s  98.93 %
  answered late                2   0.33/s   0.01 %
  timed out                  150   25.0/s   0.83 %
  refused by the network      20   3.33/s   0.11 %
  not sent                    10   1.67/s   0.06 %
  interrupted                 10   1.67/s   0.06 %
  not sent: generator late 7, no route 3
  our own sockets dropped at least 120 packets: this many of the timeouts are
    not the server's loss
  other   duplicates 4   malformed 1   truncated 12
  RCODE   NOERROR 17,508 (98.32 %)   NXDOMAIN 300 (1.68 %)
  type    A 14,990 (98.79 % answered)   AAAA 3,000 (100 % answered)

response time, from the instant the query was due, timeouts included
  min 411 µs   avg 906 µs   p50 512 µs   p90 594 µs   p95 602 µs   p99 >5 s
  p99.9 >5 s   max >5 s   (min and avg: answered only)
service time, from the actual send:   p50 504 µs   p99 40.0 ms   max >5 s
lateness (actual send after it was due):   p50 9.92 µs   p99 14.8 µs
  max 14.9 µs

  from s  asked/s  answered/s    loss     p50      p99    p99.9      max
       0    2,000       2,000     0 %  510 µs   610 µs  40.0 ms  40.0 ms
       2    3,000       2,999  0.03 %  510 µs  40.0 ms  40.0 ms     >5 s
       4    4,000       3,905  2.38 %  514 µs     >5 s     >5 s     >5 s

at 5 s: the server began to refuse queries (ICMP port unreachable)

generator: in doubt
  - sends missing: 10 of 18000 queries were never sent; see the reasons under
    "not sent"
  - socket drops: our own sockets dropped at least 120 packets (152 queries
    timed out); these losses are not the server's: raise --receive-buffer and
    net.core.rmem_max, or add --workers
rate: 2,968 answered/s, loss 1.01 % (the generator was in doubt: this is not the
  server's limit)
"#;

const STAIR_AT_50: &str = r#"server     ns1.example (192.0.2.1:53) over udp
load       stair from 2,000 to 4,000 queries/s,
           1,000 a step, each held for 2 s
source     10,000 queries, 2 malformed lines
           skipped, 1.80 passes
generator  dnsdyno 0.1.0, 2 workers, 8 sockets,
           timeout 5 s
ran        6 s, to the end of the schedule

  queries
  scheduled  18,000  3,000/s    100 %
  sent       18,000  3,000/s    100 %
  answered   17,808  2,968/s  98.93 %
  timed out     192   32.0/s   1.07 %
  RCODE   NOERROR 17,508 (98.32 %)
          NXDOMAIN 300 (1.68 %)
  type    A 15,000 (98.72 % answered)
          AAAA 3,000 (100 % answered)

response time, from the instant the query was due,
  timeouts included
  min 411 µs   avg 906 µs   p50 512 µs
  p90 594 µs   p95 606 µs   p99 >5 s   p99.9 >5 s
  max >5 s   (min and avg: answered only)
service time, from the actual send:   p50 504 µs
  p99 >5 s   max >5 s
lateness (actual send after it was due):
  p50 9.92 µs   p99 14.8 µs   max 14.9 µs

  from s  asked/s  answered/s    loss      p99
       0    2,000       2,000     0 %   610 µs
       2    3,000       2,999  0.03 %  40.0 ms
       4    4,000       3,905  2.38 %     >5 s

generator: ok (the busiest worker used 31 % of a
  CPU)
rate: 2,968 answered/s, loss 1.07 %
"#;

#[test]
fn a_run_in_doubt_at_80_columns() {
    assert_eq!(summary(&sample::doubtful(), 80), DOUBTFUL_AT_80);
}

#[test]
fn a_stair_at_50_columns_wraps_lines_and_keeps_the_important_columns() {
    assert_eq!(summary(&sample::stair(), 50), STAIR_AT_50);
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    let all = [
        sample::stair(),
        sample::doubtful(),
        sample::killed(),
        sample::closed_loop(),
        sample::send_only(),
        sample::silent(),
    ];
    for digest in &all {
        for width in 46..=120 {
            let text = summary(digest, width);
            let widest = text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
            assert!(widest <= width, "{widest} columns instead of {width}:\n{text}");
        }
    }
}

#[test]
fn the_rate_of_a_generator_in_doubt_is_never_reported_as_the_limit() {
    let doubt = "not the server's limit";
    assert!(summary(&sample::doubtful(), 200).contains(&format!(
        "rate: 2,968 answered/s, loss 1.01 % (the generator was in doubt: this is {doubt})"
    )));
    let calm = summary(&sample::stair(), 200);
    assert!(!calm.contains(doubt) && calm.contains("generator: ok"), "{calm}");
}

#[test]
fn a_summary_of_an_incomplete_record_says_so_first_and_has_no_verdict() {
    let mut killed = sample::killed();
    let text = summary(&killed, 200);
    assert!(text.starts_with("INCOMPLETE: the run was cut off"), "{text}");
    assert!(text.contains("the record ends at 6 s.") && text.contains("generator: no verdict"), "{text}");
    killed.torn = true;
    assert!(summary(&killed, 200).contains("its last line is incomplete"));
}

#[test]
fn a_failure_is_the_first_line() {
    let mut failed = sample::killed();
    let mut sum = sample::calm_sum(&failed);
    sum.ended = Ended::Failed { why: "worker 1 lost its socket".into() };
    failed.sum(&sum);
    assert!(summary(&failed, 80).starts_with("FAILED: worker 1 lost its socket."));
}

#[test]
fn a_closed_loop_shows_its_service_time_first_and_what_was_sent() {
    let text = summary(&sample::closed_loop(), 80);
    let service = text.find("service time, from the actual send, timeouts included").unwrap();
    assert!(service < text.find("response time,").unwrap(), "{text}");
    assert!(text.contains("  from s  sent/s  answered/s  loss     p50"), "{text}");
    assert!(!text.contains("lateness") && !text.contains("malformed line"), "{text}");
}

#[test]
fn a_send_only_run_shows_no_responses() {
    let text = summary(&sample::send_only(), 80);
    assert!(text.contains("send-only: no wait for responses"), "{text}");
    assert!(text.contains("rate: 1,000 queries/s sent"), "{text}");
    assert!(!text.contains("answered") && !text.contains("response time"), "{text}");
}

#[test]
fn a_silent_server_has_losses_but_no_latency() {
    let text = summary(&sample::silent(), 80);
    assert!(text.contains("no query was answered in time"), "{text}");
    assert!(text.contains("  timed out  600  600/s  100 %"), "{text}");
    assert!(text.contains("server     [::1]:53 over udp"), "{text}");
}

#[test]
fn events_beyond_a_handful_are_counted() {
    let mut digest = sample::doubtful();
    let event = digest.events[0].clone();
    (0..7).for_each(|_| digest.event(&event));
    let text = summary(&digest, 80);
    assert_eq!(text.matches("at 5 s: the server began to refuse").count(), EVENTS_SHOWN);
    assert!(text.contains("and 3 more events in the record"), "{text}");
}

#[test]
fn what_moved_no_figure_is_noted_under_a_verdict_that_stays_ok() {
    let mut digest = sample::stair();
    let mut sum = sample::calm_sum(&digest);
    sum.notes = vec![Warning::CpuStarved { share: 0.2 }];
    sum.evidence.busiest_worker_cpu = 0.0;
    digest.header.workers_reason = Some("enough for\u{1b} 4k qps".into());
    digest.sum(&sum);
    let text = summary(&digest, 200);
    let noted = "\ngenerator: ok\n  noted, without effect on the figures: CPU starved: a worker waited for a CPU 20 %";
    assert!(text.contains(noted), "the use of a CPU is not known, and not shown:\n{text}");
    assert!(text.contains("2 workers (enough for\\u{1b} 4k qps)") && !text.contains("in doubt"), "{text}");
}
