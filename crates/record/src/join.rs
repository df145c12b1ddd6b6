//! Joins the records of agents that made a load together to one record.
//!
//! ```text
//!   agent 1   interval 0   interval 1   interval 2 …   sum ─┐
//!   agent 2   interval 0   interval 1   (lost)              ├──► interval 0   interval 1   interval 2, partial   sum
//!   agent 3   interval 0   interval 1   interval 2 …   sum ─┘
//! ```
//!
//! Counts and histograms of one layout are added, so that the joined percentiles are those of all queries. What an
//! agent has not given is missing: the interval is partial, and nothing is made up for it.

use std::collections::{HashMap, VecDeque};

use dnsdyno_measure::{
    AnswerChecks, Arrivals, Counter, Evidence, LossBeside, MOST_WATCHED, MemberTally, PerClient, Tally,
    TestBed, Truncated, Watched, add_explanations,
};

use crate::figures::rate_qps;
use crate::{AgentEnd, AgentInfo, Ended, Header, Headline, Interval, Sum, WorkerUse};

/// Joins the intervals of agents in their order.
pub struct Join {
    header: Header,
    agents: Vec<Joined>,
    /// How many sources each agent watches.
    watched: Vec<usize>,
    next_index: u64,
    tally: Tally,
    arrivals: Arrivals,
    workers: Vec<WorkerUse>,
    covered_to_ns: u64,
    partial_intervals: u64,
}

/// What an agent has given.
#[derive(Default)]
struct Joined {
    waiting: VecDeque<Interval>,
    end: AgentEnd,
    sum: Option<Box<Sum>>,
    is_lost: bool,
    /// Queries of the intervals that it has given in time.
    scheduled: u64,
}

impl Joined {
    /// Whether it gives no further interval.
    fn is_over(&self) -> bool {
        self.is_lost || self.sum.is_some()
    }

    /// The interval with this number, or whether it lacks: what begins after the end of the agent's load has none.
    fn take(&mut self, index: u64, from_ns: u64) -> Part {
        if self.waiting.front().is_some_and(|interval| interval.index == index) {
            return self.waiting.pop_front().map_or(Part::Missing, |part| Part::Given(Box::new(part)));
        }
        let has_ended = self.waiting.is_empty()
            && self
                .sum
                .as_ref()
                .is_some_and(|sum| sum.tally.scheduled == self.scheduled || from_ns >= sum.schedule_ns);
        if has_ended { Part::Nothing } else { Part::Missing }
    }
}

/// What an agent gives to an interval.
enum Part {
    Given(Box<Interval>),
    /// It has ended before.
    Nothing,
    Missing,
}

impl Part {
    fn given(&self) -> Option<&Interval> {
        if let Part::Given(interval) = self { Some(interval) } else { None }
    }
}

impl Join {
    /// For a record with this [joined](join_headers) header, of which each agent has a part with one of `headers`.
    pub fn new(header: &Header, headers: &[Header]) -> Join {
        Join {
            watched: headers.iter().map(|header| header.watched.len()).collect(),
            agents: header.agents.iter().map(|_| Joined::default()).collect(),
            next_index: 0,
            tally: Tally::new(header.types.len()),
            arrivals: Arrivals::default(),
            workers: Vec::new(),
            covered_to_ns: 0,
            partial_intervals: 0,
            header: header.clone(),
        }
    }

    /// Adds an interval of an agent; they come in order. Returns false where it is not taken: the joined interval was
    /// given away without it, or it is here already.
    pub fn interval(&mut self, agent: usize, interval: Interval) -> bool {
        let joined = &mut self.agents[agent];
        let next = joined.waiting.back().map_or(self.next_index, |last| last.index + 1);
        let is_taken = interval.index >= next;
        if is_taken {
            joined.scheduled = joined.scheduled.saturating_add(interval.tally.scheduled);
            joined.waiting.push_back(interval);
        }
        is_taken
    }

    /// The agent has ended its part.
    pub fn sum(&mut self, agent: usize, sum: Sum) {
        let joined = &mut self.agents[agent];
        joined.end.first_send_late_ns = sum.evidence.first_send_late_ns;
        joined.end.warnings = sum.warnings.clone();
        joined.sum = Some(Box::new(sum));
    }

    /// The agent is lost: its intervals are no longer waited for.
    pub fn lost(&mut self, agent: usize, why: &str) {
        self.agents[agent].is_lost = true;
        self.agents[agent].end.lost.get_or_insert_with(|| why.to_owned());
    }

    /// A lost agent is there again.
    pub fn found(&mut self, agent: usize) {
        self.agents[agent].is_lost = false;
    }

    /// What is known of the end of an agent beside its counts.
    pub fn end_mut(&mut self, agent: usize) -> &mut AgentEnd {
        &mut self.agents[agent].end
    }

    /// Whether an agent has given its sum.
    pub fn has_sum(&self, agent: usize) -> bool {
        self.agents[agent].sum.is_some()
    }

    /// Whether each agent has given its sum or is lost.
    pub fn is_over(&self) -> bool {
        self.agents.iter().all(Joined::is_over)
    }

    /// The agents that the next interval waits for.
    pub fn awaited(&self) -> impl Iterator<Item = usize> {
        let agents = self.agents.iter().enumerate();
        agents.filter(|(_, joined)| joined.waiting.is_empty() && !joined.is_over()).map(|(agent, _)| agent)
    }

    /// The next interval, as soon as each agent has given its part or is lost. One that every agent lacks is there too,
    /// without a figure, if there is one after it.
    pub fn take_next(&mut self) -> Option<Interval> {
        let has_more = self.agents.iter().any(|joined| !joined.waiting.is_empty());
        if !has_more || self.awaited().next().is_some() {
            return None;
        }
        let first =
            self.agents.iter().filter_map(|joined| joined.waiting.front()).map(|one| one.index).min()?;
        let index = if first - self.next_index <= MOST_LACKED { self.next_index } else { first };
        let from_ns = index.saturating_mul(self.header.interval_ns);
        let parts: Vec<Part> = self.agents.iter_mut().map(|joined| joined.take(index, from_ns)).collect();
        for (joined, part) in self.agents.iter_mut().zip(&parts) {
            joined.end.missing_intervals += u64::from(matches!(part, Part::Missing));
        }
        self.next_index = index + 1;
        let joined = self.joined(index, &parts);
        self.partial_intervals += u64::from(joined.is_partial());
        self.tally.merge(&joined.tally);
        self.arrivals.merge_in_time(&joined.arrivals);
        self.workers.merge_in_time(&joined.workers);
        if joined.tally.scheduled > 0 {
            self.covered_to_ns = joined.from_ns.saturating_add(joined.covered_ns());
        }
        for (agent, part) in self.agents.iter_mut().zip(&joined.agents) {
            part.iter().for_each(|part| agent.end.tally.merge(part));
        }
        Some(joined)
    }

    /// The interval of these parts.
    fn joined(&self, index: u64, parts: &[Part]) -> Interval {
        let mut tally = Tally::new(self.header.types.len());
        let mut arrivals = Arrivals::default();
        let mut workers = Vec::new();
        let mut watched = Vec::new();
        for (number, part) in parts.iter().enumerate() {
            let (info, part) = (&self.header.agents[number], part.given());
            let its = part.map_or(&[][..], |part| &part.workers);
            let places = 0..its.len().max(info.workers as usize);
            workers.extend(places.map(|place| its.get(place).cloned().unwrap_or_default()));
            let its = part.map_or(&[][..], |part| &part.watched);
            watched.extend((0..self.watched[number]).map(|source| its.get(source).cloned().flatten()));
            let Some(part) = part else { continue };
            tally.merge(&part.tally);
            // What a host has done is counted once, however many agents it has; each has its own losses.
            let earlier = self.header.agents[..number].iter().zip(parts);
            let mut hosts = earlier.filter(|(_, part)| part.given().is_some()).map(|(info, _)| &info.host);
            match !info.host.is_empty() && hosts.any(|host| *host == info.host) {
                true => {
                    let bed = part.arrivals.bed.as_deref().map(losses_of).map(Box::new);
                    arrivals.merge(&Arrivals { bed, ..part.arrivals.clone() });
                }
                false => arrivals.merge(&part.arrivals),
            }
        }
        watched.truncate(self.header.watched.len());
        let given = || parts.iter().filter_map(Part::given);
        let length_ns = self.header.interval_ns;
        let from_ns = given().next().map_or(index.saturating_mul(length_ns), |part| part.from_ns);
        let to_ns = given().next().map_or(from_ns.saturating_add(length_ns), |part| part.to_ns);
        let length_ns = to_ns.saturating_sub(from_ns);
        // A schedule reaches as far as the next query of whichever agent; a window is open until the last one closes.
        let covered = given().map(Interval::covered_ns);
        let is_open = self.header.headline == Headline::Response;
        let covered_ns = if is_open { covered.min() } else { covered.max() }.unwrap_or(length_ns);
        let of_agent = |part: &Part| match part {
            Part::Given(part) => Some(part_of(&part.tally)),
            Part::Nothing => Some(MemberTally::default()),
            Part::Missing => None,
        };
        Interval {
            index,
            from_ns,
            to_ns,
            covered_ns: (covered_ns < length_ns).then_some(covered_ns),
            asked_qps: if is_open { rate_qps(tally.scheduled, covered_ns) } else { 0.0 },
            tally,
            arrivals,
            workers,
            agents: parts.iter().map(of_agent).collect(),
            watched,
        }
    }

    /// The sum of the intervals that were given away; `ended` says how the run has ended, if not as its agents did.
    pub fn finish(mut self, ended: Option<Ended>) -> Sum {
        let sums = || self.agents.iter().filter_map(|joined| joined.sum.as_deref());
        let late_after_settled = sums().map(|sum| sum.late_after_settled).sum();
        let mut evidence = None;
        let mut counted = HashMap::new();
        for (info, joined) in self.header.agents.iter().zip(&self.agents) {
            let Some(sum) = joined.sum.as_deref() else { continue };
            let its = with_new_packets(sum, &info.host, &mut counted);
            match &mut evidence {
                None => evidence = Some(its),
                Some(evidence) => evidence.join(&its),
            }
        }
        let mut evidence = evidence.unwrap_or_default();
        evidence.partial_intervals = self.partial_intervals;
        let mut explanations = Vec::new();
        sums().for_each(|sum| add_explanations(&mut explanations, sum.explanations.iter().cloned()));
        // As of intervals: a number of queries reaches as far as the next query of whichever agent.
        let by_number = |sum: &Sum| matches!(sum.ended, Ended::ByCount | Ended::ByPasses);
        let schedules = sums().map(|sum| sum.schedule_ns);
        let schedule_ns = match self.header.headline == Headline::Response && sums().all(by_number) {
            true => schedules.min(),
            false => schedules.max(),
        };
        let schedule_ns = schedule_ns.unwrap_or(self.covered_to_ns);
        let to_ns = sums().map(|sum| sum.to_ns).max().unwrap_or(self.covered_to_ns);
        let ended = ended.or_else(|| sums().map(|sum| sum.ended.clone()).reduce(worse_end));
        self.tally.ends.came_late_after_all(late_after_settled);
        let mut watched = Vec::new();
        for (joined, sources) in self.agents.iter().zip(&self.watched) {
            let its = joined.sum.as_ref().map_or(&[][..], |sum| &sum.watched);
            watched.extend((0..*sources).map(|source| its.get(source).cloned().flatten()));
        }
        watched.truncate(self.header.watched.len());
        // Each agent has read the whole capture.
        let replay = sums().find_map(|sum| sum.replay);
        let answers = sums().filter_map(|sum| sum.answers).reduce(|mut all, more| {
            all.merge(&more);
            all
        });
        let answer_checks = sums().filter_map(|sum| sum.answer_checks).reduce(AnswerChecks::joined);
        Sum {
            to_ns,
            arrivals: self.arrivals,
            warnings: Vec::new(),
            notes: Vec::new(),
            ended: ended.unwrap_or(Ended::Interrupted),
            evidence,
            late_after_settled,
            workers: self.workers,
            schedule_ns,
            last_answer_ns: sums().filter_map(|sum| sum.last_answer_ns).max(),
            passes: match (&replay, self.header.queries) {
                (Some(_), _) => sums().map(|sum| sum.passes).fold(0.0, f64::max),
                (None, queries) => self.tally.scheduled as f64 / queries.max(1) as f64,
            },
            interface: None,
            queries_per_client: PerClient::joined(
                sums().flat_map(|sum| sum.queries_per_client.iter().copied()),
            ),
            explanations,
            truncated: Truncated::joined(sums().filter_map(|sum| sum.truncated.as_ref())),
            replay,
            answers,
            answer_checks,
            watched,
            agents: self.agents.iter().map(|joined| joined.end.clone()).collect(),
            tally: self.tally,
        }
    }
}

/// The losses of one agent beside what happened on its host, without what is the same for all agents there.
fn losses_of(bed: &TestBed) -> TestBed {
    let lost = |beside: LossBeside| LossBeside { lost: beside.lost, ..LossBeside::default() };
    TestBed {
        stolen: lost(bed.stolen),
        throttled: lost(bed.throttled),
        server_starved: lost(bed.server_starved),
        server_throttled: lost(bed.server_throttled),
        ..TestBed::default()
    }
}

/// The evidence of an agent, where the packets of an interface are those that no earlier agent of its host has counted.
/// `counted` has the packets of each host and interface: sent, and dropped in each direction.
fn with_new_packets(sum: &Sum, host: &str, counted: &mut HashMap<[String; 2], [u64; 3]>) -> Evidence {
    let evidence = sum.evidence.clone();
    let Some(interface) = sum.interface.as_ref().filter(|_| !host.is_empty()) else { return evidence };
    let known = counted.entry([host.to_owned(), interface.name.clone()]).or_default();
    let mut new = |place: usize, packets: u64| {
        let new = packets.saturating_sub(known[place]);
        known[place] += new;
        new
    };
    Evidence {
        interface_packets: evidence.interface_packets.map(|packets| new(0, packets)),
        interface_send_drops: new(1, evidence.interface_send_drops),
        interface_receive_drops: new(2, evidence.interface_receive_drops),
        ..evidence
    }
}

/// Intervals in a row that are written though every agent lacks them: a day of seconds. A number that is further away
/// was not counted by a run.
const MOST_LACKED: u64 = 86_400;

/// The figures of an agent in an interval.
fn part_of(tally: &Tally) -> MemberTally {
    MemberTally {
        scheduled: tally.scheduled,
        sent: tally.types.iter().map(|of_type| of_type.sent).sum(),
        ends: tally.ends,
        response: tally.response.clone(),
        service: tally.service.clone(),
    }
}

/// Of two ends the one that a reader must know of.
fn worse_end(one: Ended, other: Ended) -> Ended {
    let rank = |ended: &Ended| match ended {
        Ended::Failed { .. } => 4,
        Ended::Terminated | Ended::HungUp | Ended::Interrupted => 3,
        Ended::ByCondition { .. } => 2,
        _ => 1,
    };
    if rank(&other) > rank(&one) { other } else { one }
}

/// The header of a run that these agents make together: `headers` are theirs, in the same order.
pub fn join_headers(headers: &[Header], agents: Vec<AgentInfo>) -> Option<Header> {
    let first = headers.first()?;
    let of_agent = |(header, agent): (&Header, &AgentInfo)| -> Vec<Watched> {
        let named = |watched: &Watched| Watched {
            label: format!("{}: {}", agent.name, watched.label),
            ..watched.clone()
        };
        header.watched.iter().map(named).collect()
    };
    let watched = headers.iter().zip(&agents).flat_map(of_agent).take(MOST_WATCHED).collect();
    Some(Header {
        // By the clock of the first agent: an instant is the same for all.
        started_unix_ns: first.started_unix_ns,
        workers: headers.iter().map(|header| header.workers).sum(),
        workers_reason: None,
        clients: headers.iter().map(|header| header.clients).sum(),
        udp_sockets: headers
            .iter()
            .map(|header| header.udp_sockets)
            .reduce(|sum, more| Some(sum? + more?))?,
        agents,
        watched,
        ..first.clone()
    })
}
