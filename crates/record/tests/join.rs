//! The records of agents are joined to one: exactly where each has given its part, and with nothing made up where not.

mod common;

use common::{SECOND, header, interval, sum};
use dnsdyno_measure::{Arrivals, LossBeside, MemberTally, Samples, Tally, TestBed, Warning};
use dnsdyno_record::{
    AgentEnd, AgentInfo, ClockOffset, Digest, Ended, Header, Headline, HostInfo, InterfaceCounts, Interval,
    Join, Line, RunReader, RunWriter, Sum, join_headers,
};

/// The header of the joined record of `agents` agents with two workers each, and theirs.
fn headers(agents: usize) -> (Header, Vec<Header>) {
    let own = vec![header(Headline::Response, 0); agents];
    let info = |number: usize| AgentInfo {
        name: format!("lg{}", number + 1),
        workers: 2,
        first_worker: 2 * number as u32,
        ..AgentInfo::default()
    };
    let joined = join_headers(&own, (0..agents).map(info).collect()).unwrap();
    (joined, own)
}

/// Interval `index` of an agent, other than those of the others.
fn part(agent: usize, index: u64) -> Interval {
    let place = Interval { tally: Tally::new(3), arrivals: Arrivals::default(), ..interval(index) };
    let figures = interval(index + 20 * agent as u64);
    Interval { tally: figures.tally, arrivals: figures.arrivals, ..place }
}

fn parts(agent: usize, count: u64) -> Vec<Interval> {
    (0..count).map(|index| part(agent, index)).collect()
}

/// The sum of an agent, whose load has ended with these intervals.
fn sum_of(intervals: &[Interval]) -> Sum {
    let sum = sum(intervals);
    Sum { evidence: dnsdyno_measure::Evidence { partial_intervals: 0, ..sum.evidence.clone() }, ..sum }
}

/// Takes the intervals that are complete.
fn taken(join: &mut Join) -> Vec<Interval> {
    std::iter::from_fn(|| join.take_next()).collect()
}

/// Two agents that have given `counts` intervals and their sums.
fn joined(counts: [u64; 2]) -> (Header, Vec<Interval>, Sum) {
    let (header, own) = headers(2);
    let mut join = Join::new(&header, &own);
    let mut intervals = Vec::new();
    for (agent, count) in counts.into_iter().enumerate() {
        let parts = parts(agent, count);
        parts.iter().for_each(|part| assert!(join.interval(agent, part.clone())));
        join.sum(agent, sum_of(&parts));
        intervals.extend(taken(&mut join));
    }
    assert!(join.is_over());
    (header, intervals, join.finish(None))
}

/// Writes a record, reads it back with its checks, and returns its summary.
fn written(header: &Header, intervals: &[Interval], sum: &Sum) -> Digest {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = RunWriter::create(dir.path(), header, "", &HostInfo::default()).unwrap();
    intervals.iter().for_each(|interval| writer.interval(interval).unwrap());
    let verdict = writer.digest().judge(Some(sum));
    writer.finish(&sum.clone().judged(verdict)).unwrap();
    let lines: Vec<Line> = RunReader::open(dir.path()).unwrap().map(Result::unwrap).collect();
    let is_same =
        |(line, interval): (&Line, &Interval)| matches!(line, Line::Interval(one) if **one == *interval);
    assert_eq!(lines.len(), intervals.len() + 1);
    assert!(lines.iter().zip(intervals).all(is_same));
    let digest = Digest::read(dir.path()).unwrap();
    assert_eq!(&digest, writer.digest());
    digest
}

#[test]
fn the_sum_of_agents_is_that_of_their_queries_bucket_by_bucket() {
    let (header, intervals, sum) = joined([6, 6]);
    let mut all = Tally::new(3);
    let mut arrivals = Arrivals::default();
    for index in 0..6 {
        let (one, other) = (part(0, index), part(1, index));
        let mut tally = one.tally.clone();
        tally.merge(&other.tally);
        assert_eq!(intervals[index as usize].tally, tally, "every counter and every bucket");
        let mut both = one.arrivals.clone();
        both.merge(&other.arrivals);
        assert_eq!(intervals[index as usize].arrivals, both);
        all.merge(&tally);
        arrivals.merge_in_time(&both);
    }
    // One of each agent came after its interval had settled.
    all.ends.came_late_after_all(2);
    assert_eq!((sum.late_after_settled, &sum.tally, &sum.arrivals), (2, &all, &arrivals));
    assert_eq!(sum.agents.iter().map(|end| end.tally.scheduled).sum::<u64>(), all.scheduled);
    let response: Vec<u64> = sum.agents.iter().map(|end| end.tally.response.count()).collect();
    assert_eq!(response.iter().sum::<u64>(), all.response.count());
    assert_eq!((sum.evidence.workers, sum.evidence.partial_intervals), (4, 0));
    assert_eq!(sum.ended, Ended::ByTime);
    let digest = written(&header, &intervals, &sum);
    assert_eq!((digest.tally(), digest.partial_intervals()), (&all, 0));
    assert!(digest.warnings().iter().all(|warning| warning.name() != "partial_intervals"));
    assert_eq!(digest.agents().len(), 2);
    assert_eq!(digest.workers().len(), 4);
}

#[test]
fn what_a_host_has_counted_is_joined_once_and_each_agent_keeps_its_losses() {
    let (mut header, own) = headers(2);
    header.agents.iter_mut().for_each(|agent| agent.host = "one".to_owned());
    let mut join = Join::new(&header, &own);
    for agent in 0..2 {
        let mut part = part(agent, 0);
        let stolen = LossBeside { time_ns: 9, lossy_ns: 7, lost: 50 };
        part.arrivals.bed = Some(Box::new(TestBed { steal_ns: 5, stolen, ..TestBed::default() }));
        assert!(join.interval(agent, part));
    }
    let bed = join.take_next().unwrap().arrivals.bed.unwrap();
    let stolen = LossBeside { time_ns: 9, lossy_ns: 7, lost: 100 };
    assert_eq!(*bed, TestBed { steal_ns: 5, stolen, ..TestBed::default() });
    for agent in 0..2 {
        let mut sum = sum_of(&parts(agent, 1));
        sum.interface = Some(InterfaceCounts { name: "eth0".to_owned(), ..InterfaceCounts::default() });
        sum.evidence.interface_packets = Some(100 + agent as u64);
        sum.evidence.interface_send_drops = 30;
        join.sum(agent, sum);
    }
    let evidence = join.finish(None).evidence;
    assert_eq!((evidence.interface_packets, evidence.interface_send_drops), (Some(101), 30));
}

#[test]
fn a_joined_interval_is_given_when_each_agent_has_given_its_part() {
    let (header, own) = headers(3);
    let mut join = Join::new(&header, &own);
    for agent in [2, 0] {
        assert!(join.interval(agent, part(agent, 0)));
        assert!(join.take_next().is_none(), "agent 1 is awaited");
    }
    assert_eq!(join.awaited().collect::<Vec<_>>(), [1]);
    assert!(join.interval(1, part(1, 0)));
    assert!(!join.interval(1, part(1, 0)), "it is here already");
    let given = taken(&mut join);
    assert_eq!(given.iter().map(|one| (one.index, one.is_partial())).collect::<Vec<_>>(), [(0, false)]);
    let scheduled: Vec<_> = given[0].agents.iter().flatten().map(|agent| agent.scheduled).collect();
    assert_eq!(scheduled, [0, 1, 2].map(|agent| part(agent, 0).tally.scheduled));
}

#[test]
fn an_agent_that_is_lost_leaves_partial_intervals_and_no_figure_is_made_up() {
    let (header, own) = headers(2);
    let mut join = Join::new(&header, &own);
    parts(0, 5).into_iter().for_each(|part| assert!(join.interval(0, part)));
    parts(1, 2).into_iter().for_each(|part| assert!(join.interval(1, part)));
    let mut intervals = taken(&mut join);
    assert_eq!(intervals.len(), 2, "the third waits for the second agent");
    join.lost(1, "the connection has ended");
    intervals.extend(taken(&mut join));
    join.sum(0, sum_of(&parts(0, 5)));
    let partial: Vec<bool> = intervals.iter().map(Interval::is_partial).collect();
    assert_eq!(partial, [false, false, true, true, true]);
    for interval in &intervals[2..] {
        assert_eq!(interval.tally, part(0, interval.index).tally, "that of the first agent alone");
        assert_eq!(interval.workers.len(), 4, "a worker keeps its place");
        assert_eq!(interval.workers[2..], [Default::default(), Default::default()]);
    }
    let sum = join.finish(None);
    let AgentEnd { lost, missing_intervals, tally, .. } = &sum.agents[1];
    assert_eq!((lost.as_deref(), *missing_intervals), (Some("the connection has ended"), 3));
    assert_eq!(tally.scheduled, part(1, 0).tally.scheduled + part(1, 1).tally.scheduled);
    let digest = written(&header, &intervals, &sum);
    assert_eq!(digest.partial_intervals(), 3);
    assert!(digest.warnings().contains(&Warning::PartialIntervals { intervals: 3 }));
    let partial: Vec<u64> = digest.rows().iter().map(|row| row.partial_intervals).collect();
    assert_eq!(partial, [0, 0, 1, 1, 1]);
}

#[test]
fn a_record_whose_coordinator_was_killed_is_in_doubt_by_its_partial_intervals() {
    let (header, own) = headers(2);
    let mut join = Join::new(&header, &own);
    join.lost(1, "stopped");
    assert!(join.interval(0, part(0, 0)));
    let mut digest = Digest::new(header);
    digest.interval(&join.take_next().unwrap());
    assert!(digest.warnings().contains(&Warning::PartialIntervals { intervals: 1 }));
}

#[test]
fn an_agent_that_comes_back_late_gives_what_was_not_given_away_without_it() {
    let (header, own) = headers(2);
    let mut join = Join::new(&header, &own);
    parts(0, 4).into_iter().for_each(|part| assert!(join.interval(0, part)));
    join.lost(1, "no message for 5 s");
    let mut intervals = taken(&mut join);
    assert_eq!(intervals.len(), 4);
    join.found(1);
    // It sends all that it has, and goes on.
    let late: Vec<bool> = (0..6).map(|index| join.interval(1, part(1, index))).collect();
    assert_eq!(late, [false, false, false, false, true, true]);
    assert!(join.take_next().is_none(), "the first agent is awaited");
    (4..6).for_each(|index| assert!(join.interval(0, part(0, index))));
    for agent in 0..2 {
        join.sum(agent, sum_of(&parts(agent, 6)));
    }
    intervals.extend(taken(&mut join));
    let partial: Vec<bool> = intervals.iter().map(Interval::is_partial).collect();
    assert_eq!(partial, [true, true, true, true, false, false]);
    let sum = join.finish(None);
    assert_eq!((sum.agents[1].missing_intervals, sum.evidence.partial_intervals), (4, 4));
    assert_eq!(sum.agents[1].lost.as_deref(), Some("no message for 5 s"), "it was, and 4 intervals lack it");
    written(&header, &intervals, &sum);
}

#[test]
fn agents_that_end_at_different_intervals_lack_nothing_after_their_end() {
    let (header, intervals, sum) = joined([3, 5]);
    assert_eq!(intervals.len(), 5);
    assert!(intervals.iter().all(|interval| !interval.is_partial()));
    assert_eq!(intervals[4].agents[0], Some(MemberTally::default()));
    assert_eq!(intervals[4].tally, part(1, 4).tally);
    assert_eq!((sum.schedule_ns, sum.evidence.partial_intervals), (5 * SECOND, 0));
    written(&header, &intervals, &sum);
}

#[test]
fn intervals_that_are_missing_before_the_end_of_an_agent_are_partial_though_its_sum_is_there() {
    let (header, own) = headers(2);
    let mut join = Join::new(&header, &own);
    for index in 0..6 {
        assert!(join.interval(0, part(0, index)));
        // Its disk was full for a time: its record has a gap, and no last interval.
        assert!(index == 2 || index >= 4 || join.interval(1, part(1, index)));
    }
    join.sum(0, sum_of(&parts(0, 6)));
    join.sum(1, sum_of(&parts(1, 5)));
    let intervals = taken(&mut join);
    let partial: Vec<bool> = intervals.iter().map(Interval::is_partial).collect();
    // The sixth begins after the end of its load.
    assert_eq!(partial, [false, false, true, false, true, false]);
    written(&header, &intervals, &join.finish(None));
}

#[test]
fn an_interval_that_every_agent_lacks_has_its_place_without_a_figure() {
    let (header, own) = headers(2);
    let mut join = Join::new(&header, &own);
    for agent in 0..2 {
        for index in [0, 3] {
            assert!(join.interval(agent, part(agent, index)));
        }
        let given = [part(agent, 0), part(agent, 3)];
        join.sum(agent, sum_of(&given));
    }
    let intervals = taken(&mut join);
    let places: Vec<_> =
        intervals.iter().map(|one| (one.index, one.from_ns, one.tally.scheduled > 0)).collect();
    assert_eq!(places, [(0, 0, true), (1, SECOND, false), (2, 2 * SECOND, false), (3, 3 * SECOND, true)]);
    assert_eq!(intervals[1].agents, [None, None]);
    let digest = written(&header, &intervals, &join.finish(None));
    assert_eq!(digest.partial_intervals(), 2);
}

#[test]
fn a_number_that_no_run_has_counted_to_costs_nothing() {
    let (header, own) = headers(2);
    let mut join = Join::new(&header, &own);
    join.lost(1, "gone");
    let far = 1 << 40;
    assert!(join.interval(0, Interval { index: far, ..part(0, 0) }));
    assert_eq!(join.take_next().map(|interval| interval.index), Some(far));
}

#[test]
fn the_sources_of_agents_stand_side_by_side_with_their_names() {
    let (header, intervals, sum) = joined([3, 3]);
    let labels: Vec<_> = header.watched.iter().map(|watched| watched.label.as_str()).collect();
    let server = "BIND at 127.0.0.1:8053";
    let named = |agent: &str| [format!("{agent}: this host"), format!("{agent}: {server}")];
    assert_eq!(labels, [named("lg1"), named("lg2")].concat());
    let own = |agent| part(agent, 1).watched;
    assert_eq!(intervals[1].watched, [own(0), own(1)].concat());
    assert_eq!(sum.watched.len(), 4);
    let digest = written(&header, &intervals, &sum);
    let is_of_run = |samples: &Option<Samples>| samples.as_ref().is_some_and(|all| !all.counters.is_empty());
    assert!(digest.watched().iter().all(is_of_run));
}

#[test]
fn more_sources_than_a_record_can_have_are_left_out_everywhere() {
    let agents = 1 + dnsdyno_measure::MOST_WATCHED / 2;
    let (header, own) = headers(agents);
    assert_eq!(header.watched.len(), dnsdyno_measure::MOST_WATCHED);
    let mut join = Join::new(&header, &own);
    for agent in 0..agents {
        assert!(join.interval(agent, part(0, 0)));
        join.sum(agent, sum_of(&[part(0, 0)]));
    }
    let intervals = taken(&mut join);
    written(&header, &intervals, &join.finish(None));
}

#[test]
fn the_worst_end_of_an_agent_is_that_of_the_run() {
    let (header, own) = headers(2);
    let mut join = Join::new(&header, &own);
    for (agent, ended) in [Ended::ByTime, Ended::Failed { why: "no memory".into() }].into_iter().enumerate() {
        join.sum(agent, Sum { ended, ..sum_of(&[]) });
    }
    assert_eq!(join.finish(None).ended, Ended::Failed { why: "no memory".into() });
}

#[test]
fn the_starts_lie_as_far_apart_as_the_clocks_are_sure() {
    let agent = |bound_ns| AgentInfo {
        clock: Some(ClockOffset { bound_ns, ..ClockOffset::default() }),
        ..AgentInfo::default()
    };
    let end = |late| AgentEnd { first_send_late_ns: late, ..AgentEnd::default() };
    let agents = [agent(10), agent(30), agent(20)];
    let ends = [end(Some(500)), end(Some(200)), end(None)];
    assert_eq!(AgentEnd::start_spread_ns(&agents, &ends), Some((300, Some(40))));
    assert_eq!(AgentEnd::start_spread_ns(&agents, &ends[1..]), None, "one start has no spread");
    let unknown = [agent(10), AgentInfo::default(), agent(20)];
    assert_eq!(AgentEnd::start_spread_ns(&unknown, &ends), Some((300, None)));
}
