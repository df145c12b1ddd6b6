//! The local ports that connections start from: of each address that which rested longest.
//!
//! The port of a connection that we closed is in TIME_WAIT for a minute. The kernel's own choice searches through all
//! ports for another one; once thousands are in that state, it takes milliseconds for each connection. A port that a
//! program asks for may be used again at once where the connection had timestamps (RFC 6191). Without them it rests:
//! ports are taken in the order in which they became free, and where the first of them still rests, so do all others.

use std::collections::VecDeque;

/// The ports of one worker at one local address: every `step`th of the range, so that workers never meet.
#[derive(Clone, Debug)]
pub(super) struct LocalPorts {
    first: u32,
    step: u32,
    count: u32,
    /// Which of them is the next that was not used yet, and how many of those there are.
    next: u32,
    unused: u32,
    /// The others that are free, and since when (0: another program has it); the longest first.
    rested: VecDeque<(u16, u64)>,
}

/// A port, and where it is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LocalPort {
    /// The number of its address.
    pub(super) address: u32,
    /// The port.
    pub(super) port: u16,
}

impl LocalPorts {
    /// The ports of worker number `worker` of `workers` within `range` (first and last). `start` chooses the first that
    /// is used: ports that an earlier run used rest as well.
    pub(super) fn new(range: (u16, u16), worker: usize, workers: usize, start: u64) -> LocalPorts {
        let (first, step) = (u32::from(range.0) + worker as u32, workers as u32);
        let count = (u32::from(range.1) + 1).saturating_sub(first).div_ceil(step);
        let next = (start % u64::from(count.max(1))) as u32;
        LocalPorts { first, step, count, next, unused: count, rested: VecDeque::new() }
    }

    /// The next port to try, and since when it rests, if a connection of ours had it.
    pub(super) fn take(&mut self) -> Option<(u16, Option<u64>)> {
        if self.unused == 0 {
            let (port, since_ns) = self.rested.pop_front()?;
            return Some((port, (since_ns > 0).then_some(since_ns)));
        }
        let port = (self.first + self.next * self.step) as u16;
        self.next = if self.next + 1 == self.count { 0 } else { self.next + 1 };
        self.unused -= 1;
        Some((port, None))
    }

    /// A connection had it until now.
    pub(super) fn give_back(&mut self, port: u16, now_ns: u64) {
        self.rested.push_back((port, now_ns.max(1)));
    }

    /// Another program has it.
    pub(super) fn leave(&mut self, port: u16) {
        self.rested.push_back((port, 0));
    }

    /// It rests still, and will be the next again.
    pub(super) fn let_rest(&mut self, port: u16, since_ns: u64) {
        self.rested.push_front((port, since_ns));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(ports: &mut LocalPorts) -> Vec<u16> {
        std::iter::from_fn(|| ports.take().map(|(port, _)| port)).collect()
    }

    #[test]
    fn each_worker_has_ports_of_its_own_and_together_they_have_all() {
        let of = |worker| all(&mut LocalPorts::new((40_000, 40_006), worker, 3, 1));
        assert_eq!(
            [of(0), of(1), of(2)],
            [vec![40_003, 40_006, 40_000], vec![40_004, 40_001], vec![40_005, 40_002],]
        );
    }

    #[test]
    fn the_last_port_and_a_range_that_is_too_small_have_no_overflow() {
        assert_eq!(all(&mut LocalPorts::new((65_534, 65_535), 1, 2, u64::MAX)), [65_535]);
        assert_eq!(all(&mut LocalPorts::new((40_000, 40_000), 1, 2, 7)), Vec::<u16>::new());
    }

    #[test]
    fn of_those_that_were_used_the_one_that_ended_first_is_the_next() {
        let mut ports = LocalPorts::new((40_000, 40_002), 0, 1, 0);
        assert_eq!(all(&mut ports), [40_000, 40_001, 40_002]);
        ports.give_back(40_001, 50);
        ports.leave(40_002);
        ports.give_back(40_000, 70);
        assert_eq!(ports.take(), Some((40_001, Some(50))));
        ports.let_rest(40_001, 50);
        assert_eq!(ports.take(), Some((40_001, Some(50))));
        assert_eq!(ports.take(), Some((40_002, None)));
        assert_eq!(ports.take(), Some((40_000, Some(70))));
        assert_eq!(ports.take(), None);
    }
}
