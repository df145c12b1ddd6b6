//! Parts of a load on the simulated link: together they are the load of one process, and the joined record is its
//! record but for who has sent.

use std::cell::RefCell;
use std::sync::{Arc, Mutex};

use dnsdyno_measure::Histogram;
use dnsdyno_plan::Draft;
use dnsdyno_record::{AgentInfo, Digest, Header, Interval, Join, Line, Sum, join_headers};
use dnsdyno_runner::{Control, How, Keep, QueryEnd, QueryLog, RunJob, Runner, SimConfig, SimulatedRunner};

/// What became of single queries: response and service times of those that were answered.
#[derive(Clone, Default)]
struct Times(Arc<Mutex<Vec<(u64, u64)>>>);

impl QueryLog for Times {
    fn ended(&mut self, end: &QueryEnd<'_>) {
        if end.how == How::Answered {
            self.0.lock().unwrap().push((end.at_ns - end.due_ns, end.at_ns - end.sent_ns));
        }
    }
}

/// The record of a run: its header and lines, as they would go over a link.
fn lines_of(draft: &Draft) -> (Header, Vec<Line>) {
    lines_and_times_of(draft, 0, &Times::default())
}

fn lines_and_times_of(draft: &Draft, jitter_ns: u64, times: &Times) -> (Header, Vec<Line>) {
    let mut runner = SimulatedRunner { server: SimConfig { jitter_ns, ..SimConfig::default() } };
    let plans = runner.validate(draft).unwrap();
    let lines = RefCell::new(Vec::<Vec<u8>>::new());
    let copy = |line: &[u8]| lines.borrow_mut().push(line.to_vec());
    let log_of = |_: u32| Box::new(times.clone()) as Box<dyn QueryLog>;
    let job = RunJob { copy: Some(&copy), query_logs: Some(&log_of), ..RunJob::new(&plans, Keep::Memory) };
    runner.run(&job, &Control::default(), &mut ()).unwrap();
    let mut lines = lines.into_inner().into_iter();
    let header = Header::decode(&lines.next().unwrap()).unwrap();
    let lines = lines.map(|line| Line::decode(&line, &header).unwrap().unwrap()).collect();
    (header, lines)
}

/// The records of these parts, joined.
fn joined(draft: &Draft, parts: &[&str]) -> (Vec<Interval>, Sum) {
    let records: Vec<(Header, Vec<Line>)> =
        parts.iter().map(|part| lines_of(&part_of(draft, part))).collect();
    joined_records(records, parts)
}

fn part_of(draft: &Draft, part: &str) -> Draft {
    Draft { part: Some(part.to_owned()), ..draft.clone() }
}

fn joined_records(records: Vec<(Header, Vec<Line>)>, parts: &[&str]) -> (Vec<Interval>, Sum) {
    let headers: Vec<Header> = records.iter().map(|(header, _)| header.clone()).collect();
    let agent = |name: &&str| AgentInfo { name: (*name).to_owned(), workers: 1, ..AgentInfo::default() };
    let header = join_headers(&headers, parts.iter().map(agent).collect()).unwrap();
    let mut join = Join::new(&header, &headers);
    for (agent, (_, lines)) in records.into_iter().enumerate() {
        for line in lines {
            match line {
                Line::Interval(interval) => assert!(join.interval(agent, *interval)),
                Line::Sum(sum) => join.sum(agent, *sum),
                Line::Event(event) => panic!("{event:?}"),
            }
        }
    }
    let intervals: Vec<Interval> = std::iter::from_fn(|| join.take_next()).collect();
    (intervals, join.finish(None))
}

fn draft(load: &str) -> Draft {
    let base = "server = \"127.0.0.1\"\nask = [\"a.test\", \"b.test A\", \"c.test AAAA\"]\nclients = 6\nseed = 9\n\
                interval = \"100ms\"\ntimeout = \"200ms\"\n";
    Draft::from_toml(&format!("{base}{load}")).unwrap()
}

#[test]
fn the_joined_record_of_three_parts_is_that_of_one_process() {
    for load in [
        "rate = 700\nfor = \"1s\"",
        "rate = 700\ncount = 501",
        "ramp = \"100..1000\"\nover = \"1s\"",
        "stair = \"200..600\"\nstep = 200\nhold = \"300ms\"",
        "burst = \"100..900\"\nevery = \"500ms\"\nhold = \"100ms\"\nfor = \"1s\"",
    ] {
        let (_, whole) = lines_of(&draft(load));
        let (intervals, sum) = joined(&draft(load), &["1/3", "2/3", "3/3"]);
        let alone: Vec<&Interval> = whole
            .iter()
            .filter_map(|line| if let Line::Interval(one) = line { Some(&**one) } else { None })
            .collect();
        assert_eq!(intervals.len(), alone.len(), "{load}");
        for (one, other) in intervals.iter().zip(alone) {
            let what = format!("{load}, interval {}", one.index);
            assert_eq!(
                (one.from_ns, one.to_ns, one.covered_ns),
                (other.from_ns, other.to_ns, other.covered_ns),
                "{what}"
            );
            assert_eq!(
                (one.asked_qps, one.tally.scheduled),
                (other.asked_qps, other.tally.scheduled),
                "{what}"
            );
            assert_eq!(one.tally.ends, other.tally.ends, "{what}");
            assert_eq!(one.tally.types, other.tally.types, "{what}");
            assert_eq!(
                (&one.tally.response, &one.tally.service),
                (&other.tally.response, &other.tally.service),
                "{what}"
            );
            assert_eq!(one.agents.len(), 3, "{what}");
            // No agent has more of an interval than a query beside the others.
            let of_agents: Vec<u64> = one.agents.iter().flatten().map(|agent| agent.scheduled).collect();
            assert_eq!(of_agents.iter().sum::<u64>(), one.tally.scheduled, "{what}");
            assert!(
                of_agents.iter().max().unwrap() - of_agents.iter().min().unwrap() <= 1,
                "{what}: {of_agents:?}"
            );
        }
        let Some(Line::Sum(alone)) = whole.last() else { panic!("no sum") };
        assert_eq!(
            (&sum.ended, sum.schedule_ns, sum.passes),
            (&alone.ended, alone.schedule_ns, alone.passes),
            "{load}"
        );
        assert_eq!(sum.tally, alone.tally, "{load}");
        assert_eq!(sum.evidence.sockets, alone.evidence.sockets, "{load}");
    }
}

#[test]
fn joined_histograms_are_those_of_the_single_queries_of_all_agents() {
    let parts = ["1/3", "2/3", "3/3"];
    let times = Times::default();
    let load = draft("rate = 2000\nfor = \"2s\"");
    let record = |part: &&str| lines_and_times_of(&part_of(&load, part), 3_000_000, &times);
    let (_, sum) = joined_records(parts.iter().map(record).collect(), &parts);
    let (mut response, mut service) = (Histogram::new(), Histogram::new());
    for (response_ns, service_ns) in times.0.lock().unwrap().iter() {
        response.record(*response_ns);
        service.record(*service_ns);
    }
    assert!(response.count() > 3_900, "{}", response.count());
    assert_eq!((&sum.tally.response, &sum.tally.service), (&response, &service));
}

#[test]
fn the_window_and_the_limit_of_a_closed_loop_are_divided() {
    let load = "outstanding = 7\ncount = 1000";
    let (intervals, sum) = joined(&draft(load), &["1/3", "2/3", "3/3"]);
    assert_eq!((sum.tally.scheduled, sum.tally.ends.answered), (1_000, 1_000));
    assert!(intervals.iter().all(|interval| interval.arrivals.in_flight_max <= 7));
    let load = "outstanding = 30\nrate-limit = 90\nfor = \"2s\"";
    let (_, sum) = joined(&draft(load), &["1/3", "2/3", "3/3"]);
    assert_eq!(sum.tally.scheduled, 180);
}

#[test]
fn a_part_that_does_not_fit_is_refused_in_a_sentence() {
    let runner = SimulatedRunner { server: SimConfig::default() };
    let refused = |more: &str, words: &str| {
        let error = runner.validate(&draft(more)).unwrap_err().to_string();
        assert!(error.contains(words), "{more}: {error}");
    };
    refused("rate = 5\nfor = \"1s\"\npart = \"4/3\"", "write WORKER/ALL or FIRST-LAST/ALL");
    refused("rate = 5\nfor = \"1s\"\npart = \"1-2/7\"", "--clients 6 leaves some of them without any");
    refused("outstanding = 2\npart = \"1/3\"", "--outstanding 2 leaves some of them without any");
    refused("rate = 5\nfor = \"1s\"\npart = \"1-2/3\"\nworkers = 1", "1-2/3 is 2 workers");
}

#[test]
fn the_start_of_a_run_may_come_from_outside_or_not_at_all() {
    let mut runner = SimulatedRunner { server: SimConfig::default() };
    let plans = runner.validate(&draft("rate = 100\nfor = \"1s\"")).unwrap();
    let start = |preparation_ns: u64| (preparation_ns > 0).then_some(5);
    let job = RunJob { start: Some(&start), ..RunJob::new(&plans, Keep::Memory) };
    let digest: Digest = runner.run(&job, &Control::default(), &mut ()).unwrap().digest;
    assert_eq!(digest.tally().scheduled, 100);
    let never = |_: u64| None;
    let job = RunJob { start: Some(&never), ..job };
    assert!(runner.run(&job, &Control::default(), &mut ()).is_err());
}
