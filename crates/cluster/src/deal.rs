//! Deals the workers of a run to its agents: each worker of all agents has the same share of the load.

use crate::error::ClusterError;

/// An agent, as far as its share depends on it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hand {
    /// The weight that the user gave it.
    pub(crate) weight: Option<u32>,
    /// Its CPUs.
    pub(crate) cpus: u32,
    /// The speed of one of them against those of the others.
    pub(crate) speed: f64,
}

/// How many workers a run needs over all agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Needed {
    /// The user wants so many.
    Exactly(u32),
    /// Its load needs so many, or more.
    AtLeast(u32),
    /// As many as there are CPUs.
    AllCpus,
}

/// The workers of each agent, at least one. Where the user gave weights, they are kept exactly.
///
/// # Errors
/// So many workers cannot be divided so.
pub(crate) fn deal(hands: &[Hand], needed: Needed) -> Result<Vec<u32>, ClusterError> {
    let agents = hands.len() as u32;
    let cpus: u32 = hands.iter().map(|hand| hand.cpus.max(1)).sum();
    if let Needed::Exactly(workers) = needed
        && workers < agents
    {
        return Err(ClusterError::FewWorkers { workers, agents });
    }
    if hands.iter().any(|hand| hand.weight.is_some()) {
        let weights: Vec<u32> = hands.iter().map(|hand| hand.weight.unwrap_or(1)).collect();
        let divisor = weights.iter().copied().fold(0, greatest_common_divisor).max(1);
        let weights: Vec<u32> = weights.iter().map(|weight| weight / divisor).collect();
        let sum: u32 = weights.iter().sum();
        let times = match needed {
            Needed::Exactly(workers) if workers.is_multiple_of(sum) => workers / sum,
            Needed::Exactly(workers) => return Err(ClusterError::Weights { workers, sum }),
            Needed::AtLeast(workers) => workers.div_ceil(sum),
            Needed::AllCpus => cpus.div_ceil(sum),
        };
        return Ok(weights.iter().map(|weight| weight * times.max(1)).collect());
    }
    let wanted = match needed {
        Needed::Exactly(workers) => workers,
        Needed::AtLeast(workers) => workers.clamp(agents, cpus.max(agents)),
        Needed::AllCpus => cpus.max(agents),
    };
    // One each, and the rest one by one to the agent that has most CPU for each of its workers.
    let mut dealt = vec![1; hands.len()];
    for _ in agents..wanted {
        let load_with_one_more = |agent: &usize| {
            f64::from(dealt[*agent] + 1) / (f64::from(hands[*agent].cpus.max(1)) * hands[*agent].speed)
        };
        let least = (0..hands.len())
            .min_by(|one, other| load_with_one_more(one).total_cmp(&load_with_one_more(other)));
        least.iter().for_each(|agent| dealt[*agent] += 1);
    }
    Ok(dealt)
}

fn greatest_common_divisor(one: u32, other: u32) -> u32 {
    if other == 0 { one } else { greatest_common_divisor(other, one % other) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hands(of: &[(Option<u32>, u32)]) -> Vec<Hand> {
        of.iter().map(|&(weight, cpus)| Hand { weight, cpus, speed: 1.0 }).collect()
    }

    #[test]
    fn without_weights_agents_have_workers_by_their_cpus_and_at_least_one() {
        let three = hands(&[(None, 2), (None, 16), (None, 2)]);
        assert_eq!(deal(&three, Needed::AllCpus).unwrap(), [2, 16, 2]);
        assert_eq!(deal(&three, Needed::AtLeast(1)).unwrap(), [1, 1, 1]);
        assert_eq!(deal(&three, Needed::AtLeast(8)).unwrap(), [1, 6, 1]);
        assert_eq!(deal(&three, Needed::Exactly(40)).unwrap(), [4, 32, 4]);
        assert_eq!(deal(&three, Needed::AtLeast(1_000)).unwrap(), [2, 16, 2]);
        assert!(deal(&three, Needed::Exactly(2)).is_err());
    }

    #[test]
    fn a_faster_host_has_more_of_the_load_for_each_of_its_cpus() {
        let mut two = hands(&[(None, 4), (None, 4)]);
        two[1].speed = 2.0;
        assert_eq!(deal(&two, Needed::AllCpus).unwrap(), [3, 5]);
        assert_eq!(deal(&two, Needed::Exactly(12)).unwrap(), [4, 8]);
        assert_eq!(deal(&two, Needed::AtLeast(2)).unwrap(), [1, 1]);
    }

    #[test]
    fn weights_are_kept_exactly_whatever_the_cpus_are() {
        let two = hands(&[(Some(4), 2), (Some(2), 64)]);
        assert_eq!(deal(&two, Needed::AtLeast(1)).unwrap(), [2, 1]);
        assert_eq!(deal(&two, Needed::AtLeast(7)).unwrap(), [6, 3]);
        assert_eq!(deal(&two, Needed::Exactly(6)).unwrap(), [4, 2]);
        assert!(deal(&two, Needed::Exactly(7)).is_err());
        let one_unnamed = hands(&[(Some(3), 1), (None, 1)]);
        assert_eq!(deal(&one_unnamed, Needed::AtLeast(2)).unwrap(), [3, 1]);
    }
}
