//! Whole summaries as text.

use dnsdyno_measure::Warning;
use dnsdyno_record::Ended;

use super::*;
use crate::sample;

const DOUBTFUL_AT_80: &str = r#"server     ns1.example (192.0.2.1:53) over udp
load       stair from 2,000 to 4,000 queries/s, 1,000 a step, each for 2 s
source     10,000 queries, 2 malformed lines skipped, repeated 1.80 times
generator  dnsdyno 0.1.0, 2 workers, 8 sockets, timeout 5 s
ran        load 6 s, ended by the user

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
  type    A 14,990 (98.79 % of those sent answered)
          AAAA 3,000 (100 % of those sent answered)
  size    queries 40 bytes on average, 52 at most
          responses 110 bytes on average, 1,232 at most

response time from when the query was due, service time from when it was sent;
  timeouts included, except in min and avg
                     avg      p50      p90      p95      p99    p99.9      max
  response time   906 µs   512 µs   594 µs   602 µs    ~>5 s    ~>5 s     >5 s
  ours, at most           19.0 µs  23.0 µs  19.0 µs      all      all
  service time    897 µs   504 µs   586 µs   594 µs  40.0 ms     >5 s     >5 s
  send lateness  9.95 µs  9.92 µs  14.0 µs  14.5 µs  14.8 µs  14.9 µs  14.9 µs

  from s  phase      asked/s  answered/s    loss     p50      p99      max
       0  2,000 q/s    2,000       2,000     0 %  510 µs   610 µs  40.0 ms
       2  3,000 q/s    3,000       2,999  0.03 %  510 µs  40.0 ms     >5 s
       4  4,000 q/s    4,000       3,905  2.38 %  514 µs     >5 s     >5 s

at 5 s: the server began to refuse queries (ICMP port unreachable)

generator: in doubt
  - sends missing: 10 of 18,000 queries never sent; see the reasons under "not
    sent"
  - socket drops: our own sockets dropped at least 120 packets (152 queries
    timed out); these losses are not the server's: raise --receive-buffer and
    net.core.rmem_max, or add --workers
  ~ p99 >5 s (which may be ours), p99.9 >5 s (which may be ours)
steps: held 2,000 to 3,000 queries/s; lost 2.38 % at 4,000/s (in doubt: this is
  not the server's limit)
"#;

const STAIR_AT_50: &str = r#"server     ns1.example (192.0.2.1:53) over udp
load       stair from 2,000 to 4,000 queries/s,
           1,000 a step, each for 2 s
source     10,000 queries, 2 malformed lines
           skipped, repeated 1.80 times
generator  dnsdyno 0.1.0, 2 workers, 8 sockets,
           timeout 5 s
ran        load 6 s

  queries
  scheduled  18,000  3,000/s    100 %
  sent       18,000  3,000/s    100 %
  answered   17,808  2,968/s  98.93 %
  timed out     192   32.0/s   1.07 %
  RCODE   NOERROR 17,508 (98.32 %)
          NXDOMAIN 300 (1.68 %)
  type    A 15,000 (98.72 % answered)
          AAAA 3,000 (100 % answered)
  size    queries 40 bytes on average, 52 at most
          responses 110 bytes on average, 1,232 at
          most

response time from when the query was due, service
  time from when it was sent; timeouts included,
  except in min and avg
                     p50      p99      max
  response time   512 µs     >5 s     >5 s
  service time    504 µs     >5 s     >5 s
  send lateness  9.92 µs  14.8 µs  14.9 µs

  from s  asked/s  answered/s    loss      p99
       0    2,000       2,000     0 %   610 µs
       2    3,000       2,999  0.03 %  40.0 ms
       4    4,000       3,905  2.38 %     >5 s

generator: ok (the busiest worker used 31 % of a
  CPU)
steps: held 2,000 to 3,000 queries/s; lost 2.38 %
  at 4,000/s
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
        sample::over_tcp(),
        sample::over_doh(),
        sample::falling_back(),
        sample::mixed(),
        sample::ten_queries(),
        sample::checked(),
    ];
    for digest in &all {
        for width in (40..=120).chain([200]) {
            let text = summary(digest, width);
            let widest = text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
            assert!(widest <= width, "{widest} columns instead of {width}:\n{text}");
        }
    }
}

#[test]
fn the_last_row_has_its_rates_over_the_time_that_the_load_covers() {
    let mut digest = Digest::new(dnsdyno_record::Header { phases: Vec::new(), ..sample::header() });
    digest.interval(&sample::second(0, 4_000, 0));
    let mut last = sample::second(1, 800, 0);
    (last.covered_ns, last.asked_qps) = (Some(sample::SECOND / 5), 4_000.0);
    digest.interval(&last);
    digest.sum(&sample::calm_sum(&digest));
    let text = summary(&digest, 120);
    let rows = text.lines().skip_while(|line| !line.contains("from s")).nth(2).unwrap();
    let row = rows.split_whitespace().take(3).collect::<Vec<_>>();
    assert_eq!(row, ["1", "4,000", "4,000"], "{text}");
    let json = crate::summary_json(&digest);
    assert_eq!(json["rows"][1]["answered_qps"], 4_000.0);
    assert_eq!(json["rows"][1]["covered_ns"], sample::SECOND / 5);
    assert_eq!(digest.schedule_ns(), 6 * sample::SECOND / 5);
}

#[test]
fn the_rate_of_a_generator_in_doubt_is_never_reported_as_the_limit() {
    let doubt = "not the server's limit";
    let text = summary(&sample::doubtful(), 200);
    let steps = "steps: held 2,000 to 3,000 queries/s; lost 2.38 % at 4,000/s";
    assert!(text.contains(&format!("{steps} (in doubt: this is {doubt})")), "{text}");
    let calm = summary(&sample::stair(), 200);
    assert!(!calm.contains(doubt) && calm.contains("generator: ok"), "{calm}");
}

#[test]
fn a_summary_of_an_incomplete_record_says_so_first_and_has_no_verdict() {
    let mut killed = sample::killed();
    let text = summary(&killed, 200);
    assert!(
        text.starts_with("INCOMPLETE: nothing writes this record any more, and it ends at 6 s"),
        "{text}"
    );
    assert!(text.contains("before the end of its run.") && text.contains("generator: no verdict"), "{text}");
    killed.torn = true;
    assert!(summary(&killed, 200).contains("its last line is incomplete"));
}

#[test]
fn a_summary_of_a_run_in_progress_says_so_and_does_not_call_it_incomplete() {
    let mut running = sample::killed();
    running.in_progress = true;
    let text = summary(&running, 200);
    assert!(text.starts_with("IN PROGRESS: the record goes to 6 s so far."), "{text}");
    assert!(text.contains("load 6 s so far") && !text.contains("INCOMPLETE"), "{text}");
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
    let service = text.find("\n  service time  ").unwrap();
    assert!(service < text.find("\n  response time  ").unwrap(), "{text}");
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
fn what_somebody_said_is_shown_whatever_was_measured() {
    let mut digest = sample::doubtful();
    let event = digest.events[0].clone();
    (0..7).for_each(|_| digest.event(&event));
    digest.event(&Event::note(5_500_000_000, "cache \u{1b}[2J flushed".into()));
    let text = summary(&digest, 80);
    assert!(text.contains("at 5.5 s: note: cache \\u{1b}[2J flushed\nand 3 more events"), "{text}");
}

#[test]
fn ten_queries_in_2_us_have_no_rate_and_no_percentiles() {
    let text = summary(&sample::ten_queries(), 80);
    assert!(text.contains("ran        load 2.00 µs, after 10 queries"), "{text}");
    assert!(text.contains("  answered   10  100 %\n"), "{text}");
    assert!(text.contains("rate: loss 0 %; no rate, because that needs 100 queries over 1 s"), "{text}");
    assert!(text.contains("no p50 and above: 10 queries are too few"), "{text}");
    assert!(text.contains("size    queries 30 bytes on average, 40 at most   responses 99 bytes"), "{text}");
    assert!(text.contains("generator: ok\n"), "the CPU use of no time is not known: {text}");
}

#[test]
fn a_rate_is_never_above_the_one_that_was_asked() {
    let mut digest = sample::at_rates(&[(1_000, 0)]);
    digest.sum.as_mut().unwrap().schedule_ns = 1_900_000_000;
    let text = summary(&digest, 80);
    assert!(text.contains("rate: 1,000 answered/s"), "{text}");
}

#[test]
fn the_service_time_stands_beneath_the_response_time_with_the_same_percentiles() {
    let text = summary(&sample::stair(), 100);
    let lines: Vec<_> =
        text.lines().skip_while(|line| !line.starts_with("  response time")).take(2).collect();
    assert!(lines[1].starts_with("  service time"), "{text}");
    assert_eq!(lines[0].split_whitespace().count(), lines[1].split_whitespace().count());
}

#[test]
fn a_run_whose_responses_are_all_refusals_says_so_last() {
    let mut digest = sample::closed_loop();
    let tally = &mut digest.sum.as_mut().unwrap().tally;
    let total = tally.rcodes.total();
    tally.rcodes = Default::default();
    tally.rcodes.add(5, total);
    let text = summary(&digest, 400);
    assert!(text.lines().last().unwrap().starts_with("ALL RESPONSES WERE REFUSED: the figures"), "{text}");
    digest.sum.as_mut().unwrap().tally.rcodes.add(0, 1);
    assert!(!summary(&digest, 200).contains("ALL RESPONSES"));
    digest.header.checks = sample::checked().header.checks;
    digest.header.checks[0].rcode = Some("SERVFAIL".into());
    let text = summary(&digest, 200);
    assert_eq!(text.lines().last(), Some("Before the load the server answered SERVFAIL."));
}

#[test]
fn what_was_found_before_the_load_is_in_the_head() {
    let text = summary(&sample::checked(), 100);
    let shown = "
check      NOERROR over dot in 843 µs, version BIND 9.18.28, NSID ns1-ams, TLS 1.3, certificate
           until 2027-01-31, issued by Example CA
check      no answer over udp: connection refused
";
    assert!(text.contains(shown), "{text}");
}

#[test]
fn no_text_of_a_record_can_act_on_a_terminal() {
    for digest in sample::hostile() {
        for width in [40, 80, 200] {
            let text = summary(&digest, width) + &crate::workers(&digest, width);
            let acts = text.chars().find(|c| *c != '\n' && dnsdyno_text::acts_on_a_terminal(*c));
            assert_eq!(acts, None, "{text:?}");
            assert!(text.contains("\\u{1b}]0;"), "the texts are shown: {text}");
        }
        let mut json = Vec::new();
        crate::write_json(
            &mut json,
            &digest,
            serde_json::Map::new(),
            [Ok::<_, std::io::Error>(sample::second(0, 9_999, 0))],
        )
        .unwrap();
        let json = String::from_utf8(json).unwrap();
        assert!(!json.chars().any(|c| c != '\n' && dnsdyno_text::acts_on_a_terminal(c)));
        let back: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(back["run"]["target"], sample::HOSTILE);
        let mut csv = Vec::new();
        let mut lines = crate::Csv::new(&mut csv).unwrap();
        digest.rows().iter().for_each(|row| lines.row(&digest, row).unwrap());
        lines.finish().unwrap();
        let csv = String::from_utf8(csv).unwrap();
        assert!(!csv.chars().any(|c| c != '\n' && dnsdyno_text::acts_on_a_terminal(c)), "{csv:?}");
    }
}

#[test]
fn what_touched_neither_rate_nor_loss_is_noted_under_a_verdict_that_stays_ok() {
    let mut digest = sample::stair();
    let mut sum = sample::calm_sum(&digest);
    sum.notes = vec![Warning::CpuStarved { share: 0.2 }];
    sum.evidence.busiest_worker_cpu = 0.0;
    digest.header.workers_reason = Some("enough for\u{1b} 4k qps".into());
    digest.sum(&sum);
    let text = summary(&digest, 200);
    let noted = "\ngenerator: ok\n  noted: CPU starved: a worker waited for a CPU 20 %";
    assert!(text.contains(noted), "the use of a CPU is not known, and not shown:\n{text}");
    assert!(text.contains("2 workers (enough for\\u{1b} 4k qps)") && !text.contains("in doubt"), "{text}");
}
