//! Results as the programs print them.
//!
//! The files of dnsperf are of dnsperf 2.10.0 and 2.16.0 against `dnsdyno respond --delay 2ms`. Those of k6 and DNS
//! Shotgun are written after the documentation of their formats: k6's of the data of its summaries and the schema
//! 1.0.0, Shotgun's of 20200527 and the example of dns-metrics in its repository.

use dnsdyno_record::Headline;

use super::*;

fn imported(text: &str) -> Imported {
    read_as(text).unwrap().expect("the result of another program")
}

fn read_as(text: &str) -> Result<Option<Imported>, ImportError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("result");
    std::fs::write(&path, text).unwrap();
    import(&path)
}

fn refused(text: &str) -> String {
    read_as(text).unwrap_err().to_string()
}

/// Between which two microseconds a percentile is.
fn percentile_us(result: &Imported, q: f64) -> (u64, u64) {
    let Latencies::Counted(counted) = &result.latencies else { panic!("{:?}", result.latencies) };
    match counted.quantile(q).unwrap() {
        Ends::Between { from_ns, to_ns } => ((from_ns / 1e3).round() as u64, (to_ns / 1e3).round() as u64),
        Ends::BeyondTimeout { timeout_ns } => panic!("beyond {timeout_ns}"),
    }
}

const TEXT: &str = include_str!("samples/dnsperf-2.10.txt");
const HISTOGRAM: &str = include_str!("samples/dnsperf-2.16-histogram.txt");
const JSON: &str = include_str!("samples/dnsperf-2.16-j.ndjson");

#[test]
fn the_text_of_dnsperf_has_its_counts_its_rate_and_its_average() {
    let result = imported(TEXT);
    assert_eq!(result.program, "dnsperf 2.10.0");
    assert_eq!((result.queries, result.answered), (Some(800), Some(796)));
    assert_eq!(result.answered_qps, Some(397.955628));
    assert!((result.sent_qps.unwrap() - 800.0 / 2.000223).abs() < 1e-9);
    assert_eq!(result.average_ns, Some(2_188_000.0));
    assert_eq!((&result.latencies, result.latency_from), (&Latencies::None, Headline::Service));
    assert_eq!(result.rcodes, Some(vec![("NOERROR".to_owned(), 796)]));
    assert_eq!(result.asked.as_deref(), Some("-Q 400 -d q.txt -l 2 -t 1"));
    assert!(!result.is_closed_loop && !result.ended_early);
    let closed = imported(include_str!("samples/dnsperf-2.10-closed.txt"));
    assert!(closed.is_closed_loop);
    assert_eq!((closed.queries, closed.answered_qps), (Some(1_358), Some(677.318219)));
}

#[test]
fn a_histogram_of_dnsperf_gives_percentiles_between_the_ends_of_its_buckets() {
    let result = imported(HISTOGRAM);
    assert_eq!((result.queries, result.answered), (Some(800), Some(789)));
    let Latencies::Counted(counted) = &result.latencies else { panic!("{result:?}") };
    assert_eq!((counted.count(), counted.answered()), (800, 789));
    let (from, to) = percentile_us(&result, 0.5);
    assert!((2_040..2_300).contains(&from) && to - from <= 64, "{from} to {to}");
    // The 11 without an answer are behind all others: of 800, rank 792 is one of them.
    assert_eq!(counted.quantile(0.99), Some(Ends::BeyondTimeout { timeout_ns: 1e9 }));
    let (low, high) = counted.average_ns().unwrap();
    let average = result.average_ns.unwrap();
    assert!(low <= average && average <= high, "{low} {average} {high}");
}

#[test]
fn intervals_and_connections_of_dnsperf_are_not_its_result() {
    let result = imported(include_str!("samples/dnsperf-2.16-intervals.txt"));
    assert_eq!((result.queries, result.answered_qps), (Some(1_166), Some(582.947826)));
    assert_eq!(result.average_ns, Some(2_182_000.0));
    let tcp = imported(include_str!("samples/dnsperf-2.16-j-tcp.ndjson"));
    assert_eq!(tcp.average_ns, Some(5_540_000.0));
    assert_eq!(tcp.latencies, Latencies::None);
}

#[test]
fn the_json_of_dnsperf_has_the_same() {
    let result = imported(JSON);
    assert_eq!(result.program, "dnsperf 2.16.0");
    assert_eq!((result.queries, result.answered), (Some(800), Some(795)));
    assert_eq!(result.asked.as_deref(), Some("-Q 400 -d q.txt -l 2 -t 1"));
    assert!((result.answered_qps.unwrap() - 397.494_435).abs() < 1e-5);
    assert!((result.average_ns.unwrap() - 2_537_000.0).abs() < 1e-3);
    assert!(matches!(&result.latencies, Latencies::Counted(counted) if counted.answered() == 795));
    // Without -O suppress=timeouts each of them is a line of text.
    let noisy = JSON.replacen('{', "[Timeout] Query timed out: msg id 5\n{", 1);
    assert_eq!(imported(&noisy), result);
}

#[test]
fn output_of_dnsperf_that_is_cut_or_changed_is_refused_with_what_is_missing() {
    let cut = TEXT.split("Statistics:").next().unwrap();
    assert!(refused(cut).contains("it has no statistics"), "{}", refused(cut));
    let (kept, lost) = HISTOGRAM.rsplit_once("  0.00").unwrap();
    assert!(refused(&format!("{kept}\n")).contains("of 789 answered queries"), "{lost}");
    let wrong = TEXT.replace("Queries completed:    796", "Queries completed:    many");
    assert!(refused(&wrong).contains("followed by no number"));
    let without_end = JSON.split("{\"statistics\"").next().unwrap();
    assert!(refused(without_end).contains("no statistics of the whole run"));
    assert!(imported(&TEXT.replace("(time limit)", "(interruption)")).ended_early);
}

#[test]
fn the_three_summaries_of_k6_have_the_same_figures() {
    let old = imported(include_str!("samples/k6-summary-export.json"));
    assert_eq!((old.queries, old.answered, old.answered_qps), (Some(3_000), Some(3_000), Some(299.7)));
    let Latencies::Stated(stated) = &old.latencies else { panic!("{old:?}") };
    let expected = [(0.5, 2.3e6), (0.9, 2.9e6), (0.95, 3.4e6)];
    assert!(
        expected.iter().all(|one| stated
            .iter()
            .any(|other| (one.0 - other.0).abs() < 1e-9 && (one.1 - other.1).abs() < 1e-3)),
        "{stated:?}"
    );
    let new = imported(include_str!("samples/k6-machine-readable.json"));
    assert_eq!((new.program.as_str(), new.answered_qps), ("k6 1.5.0", Some(300.0)));
    assert_eq!((&new.latencies, new.average_ns), (&old.latencies, old.average_ns));
    // Without dropped iterations it may be a constant rate of arrivals: nothing says that it waits for answers.
    assert!(!old.is_closed_loop && !new.is_closed_loop);
}

#[test]
fn a_request_of_k6_that_failed_has_no_latency() {
    let result = imported(include_str!("samples/k6-handle-summary.json"));
    assert_eq!((result.queries, result.answered), (Some(3_000), Some(2_970)));
    assert_eq!((result.average_ns, &result.latencies), (Some(2.5e6), &Latencies::None));
    assert!(refused("{\"metrics\":{\"iterations\":{\"count\":1}}}").contains("it has no http_reqs"));
}

#[test]
fn shotguns_milliseconds_are_ends_of_a_latency() {
    let result = imported(include_str!("samples/shotgun-20200527.json"));
    assert_eq!((result.queries, result.answered, result.answered_qps), (Some(1_000), Some(988), Some(494.0)));
    assert_eq!(result.latency_from, Headline::Response);
    assert_eq!(percentile_us(&result, 0.5), (0, 1_000));
    assert_eq!(percentile_us(&result, 0.95), (0, 2_000));
    assert_eq!(percentile_us(&result, 0.98), (1_000, 3_000));
    let nxdomain = result.rcodes.iter().flatten().find(|(name, _)| name == "NXDOMAIN");
    assert_eq!(nxdomain, Some(&("NXDOMAIN".to_owned(), 88)));
    let Latencies::Counted(counted) = &result.latencies else { panic!() };
    assert_eq!(counted.quantile(0.99), Some(Ends::BeyondTimeout { timeout_ns: 2e7 }));
    let other = include_str!("samples/shotgun-20200527.json").replace("20200527", "20300101");
    assert!(refused(&other).contains("20300101"));
}

#[test]
fn packets_that_shotgun_discarded_are_no_requests_without_an_answer() {
    let text = include_str!("samples/shotgun-20200527.json");
    // Of the 17 in the last count, 5 were never requests.
    let with_malformed = text.replace(" 0, 12]}", " 0, 17]}").replace("\"discarded\": 0", "\"discarded\": 5");
    assert_eq!(imported(&with_malformed), imported(text));
    assert!(refused(&text.replace(" 0, 12]}", " 0, 17]}")).contains("damaged"));
}

#[test]
fn shotguns_lines_have_boundaries_and_packets_that_are_no_queries() {
    let result = imported(include_str!("samples/shotgun-dns-metrics.ndjson"));
    assert_eq!(result.program, "DNS Shotgun 20240219");
    assert_eq!((result.queries, result.answered), (Some(1_000), Some(970)));
    assert_eq!(result.asked.as_deref(), Some("-c udp -r clients.pcap -T4"));
    assert_eq!(percentile_us(&result, 0.9), (1_000, 2_000));
    let Latencies::Counted(counted) = &result.latencies else { panic!() };
    assert_eq!(counted.quantile(0.99), Some(Ends::BeyondTimeout { timeout_ns: 2e9 }));
}

#[test]
fn lines_of_other_programs_have_their_own_units_timeouts_and_parameters() {
    let read = |header: &str, sum: &str| {
        let all = "\"since\": 0, \"until\": 2000000, \"queries\": 1000, \"responses\": 970";
        let buckets = "\"response_latency\": {\"buckets\": [[0, 1000, 970]]}";
        imported(&format!(
            "{{\"type\": \"header\", {header}}}\n{{\"type\": \"stats_sum\", {all}, {buckets}{sum}}}\n"
        ))
    };
    let timeout_ns = |result: &Imported| {
        let Latencies::Counted(counted) = &result.latencies else { panic!("{result:?}") };
        counted.quantile(0.99)
    };
    let beyond = |timeout_ns| Some(Ends::BeyondTimeout { timeout_ns });
    let dnsperf = "\"generator\": \"dnsperf 2.11\", \"time_units_per_sec\": 1000000";
    for (timeout, ns) in [("1000000", 1e9), ("500000", 5e8), ("5", 5e9)] {
        let result = read(&format!("{dnsperf}, \"timeout\": {timeout}"), "");
        assert_eq!((timeout_ns(&result), result.sent_qps), (beyond(ns), Some(500.0)), "{timeout}");
    }
    let other = "\"generator\": \"kxdpgun\", \"generator_params\": [\"-Q\", \"1000\"], \"timeout\": 2";
    let result = read(other, ", \"discarded\": {\"queries\": 100}");
    assert_eq!((timeout_ns(&result), result.sent_qps), (beyond(2e9), Some(500_000.0)));
    assert_eq!(result.asked.as_deref(), Some("-Q 1000"));
}

#[test]
fn what_is_no_result_is_refused_with_what_can_be_read() {
    for text in
        ["", "hello", "{}", "{\"a\":1}", "{", "DNS Resolution Performance Testing Tool\n\nStatistics:\n"]
    {
        assert!(refused(text).contains("no result that can be read"), "{text}: {}", refused(text));
    }
    let record = "{\"runid\":\"1\",\"type\":\"header\",\"generator\":\"dnsdyno\"}\n";
    assert!(read_as(record).unwrap().is_none());
}

/// Every sample, cut anywhere or with a number that is too large, is a result or refused: no panic, and no count that
/// is larger than the whole.
#[test]
fn damaged_results_are_refused_or_read() {
    let samples = [
        TEXT,
        HISTOGRAM,
        JSON,
        include_str!("samples/k6-handle-summary.json"),
        include_str!("samples/k6-machine-readable.json"),
        include_str!("samples/shotgun-20200527.json"),
        include_str!("samples/shotgun-dns-metrics.ndjson"),
    ];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("result");
    let check = |text: &str| {
        std::fs::write(&path, text).unwrap();
        let Ok(Some(result)) = import(&path) else { return };
        if let (Some(queries), Some(answered)) = (result.queries, result.answered) {
            assert!(answered <= queries, "{text}");
        }
        let figures = [result.answered_qps, result.sent_qps, result.average_ns];
        assert!(figures.into_iter().flatten().all(|figure| figure.is_finite() && figure >= 0.0), "{text}");
    };
    for sample in samples {
        (0..sample.len()).step_by(7).for_each(|end| check(&sample[..end]));
        for large in ["18446744073709551615", "1e300", "-1"] {
            let numbers: Vec<usize> =
                sample.match_indices(|c: char| c.is_ascii_digit()).map(|(at, _)| at).step_by(11).collect();
            numbers.iter().for_each(|at| check(&format!("{}{large}{}", &sample[..*at], &sample[at + 1..])));
        }
    }
}
