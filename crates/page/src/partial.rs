//! The times of a run that lack the part of an agent.

use dnsdyno_record::{AgentInfo, Header, Interval, missing_words};

use crate::data::Phase;

/// Collects them: intervals that follow each other and lack the same agents are one time.
pub(crate) struct Partials<'a> {
    agents: &'a [AgentInfo],
    times: Vec<Phase>,
}

impl<'a> Partials<'a> {
    /// Of the run of this header.
    pub(crate) fn new(header: &'a Header) -> Partials<'a> {
        Partials { agents: &header.agents, times: Vec::new() }
    }

    /// Adds an interval, in order.
    pub(crate) fn add(&mut self, interval: &Interval) {
        let Interval { from_ns, to_ns, .. } = *interval;
        let Some(label) = missing_words(self.agents, &interval.agents) else { return };
        let is_full = self.times.len() >= MOST_TIMES;
        match self.times.last_mut() {
            Some(time) if time.to_ns == from_ns && time.label == label => time.to_ns = to_ns,
            _ if is_full => {}
            _ => self.times.push(Phase { label, from_ns, to_ns }),
        }
    }

    /// All of them.
    pub(crate) fn finish(self) -> Vec<Phase> {
        self.times
    }
}

/// More are not told apart on a screen; the rates of the others are left out too.
const MOST_TIMES: usize = 500;

#[cfg(test)]
mod tests {
    use dnsdyno_measure::{Arrivals, MemberTally, Tally};

    use super::*;

    fn interval(index: u64, missing: &[usize]) -> Interval {
        let agent = |number: usize| (!missing.contains(&number)).then(MemberTally::default);
        Interval {
            index,
            from_ns: index * 10,
            to_ns: (index + 1) * 10,
            covered_ns: None,
            asked_qps: 0.0,
            tally: Tally::new(0),
            arrivals: Arrivals::default(),
            workers: Vec::new(),
            agents: (0..3).map(agent).collect(),
            watched: Vec::new(),
        }
    }

    #[test]
    fn intervals_that_lack_the_same_agents_are_one_time() {
        let names = ["lg1", "lg2", "lg3"];
        let agents = names.map(|name| AgentInfo { name: name.into(), ..AgentInfo::default() });
        let header = Header { agents: agents.into(), ..Header::default() };
        let mut partials = Partials::new(&header);
        let missing: [&[usize]; 7] = [&[], &[1], &[1], &[0, 1, 2], &[], &[1, 2], &[]];
        (0..).zip(missing).for_each(|(index, missing)| partials.add(&interval(index, missing)));
        let time = |from_ns: u64, to_ns: u64, text: &str| (format!("partial: {text}"), from_ns, to_ns);
        let times = [
            time(10, 30, "lg2 is missing"),
            time(30, 40, "lg1 and 2 more are missing"),
            time(50, 60, "lg2 and lg3 are missing"),
        ];
        let found: Vec<_> =
            partials.finish().into_iter().map(|time| (time.label, time.from_ns, time.to_ns)).collect();
        assert_eq!(found, times);
    }
}
