//! Which sends the kernel is asked to stamp: a sample, of which one at a time awaits its stamp.
//!
//! ```text
//!   batches           ▪▪▪  ▪▪▪▪▪▪  ▪  ▪▪▪▪  ▪▪  ▪▪▪▪▪▪▪  ▪▪▪   ─► messages
//!                         │ ahead            │                  a random number of messages, on average those of 5 ms
//!                         └─ stamped         └─ stamped: the run of one of its messages, drawn at random
//! ```
//!
//! A batch is chosen by the number of messages before it, and not by time, which would prefer those that follow a
//! pause. So it is chosen with a probability in proportion to its length, and one of its messages by lot: each message
//! is as likely as its neighbours, whatever the size of its batch and its place in it. Only where a worker sends fewer
//! batches than are to be stamped, each batch is, and messages of small ones are more likely.

use crate::random::Random;

/// Chooses the messages of one worker, and knows what came of them.
pub(super) struct StampSampler {
    random: Random,
    /// Messages to be sent before the batch with the next stamp.
    ahead: u64,
    /// How many messages go by from one stamp to the next, on average.
    stride: u64,
    /// Messages since the last stamp was asked for, and when that was.
    passed: u64,
    asked_ns: u64,
    awaited: Option<Awaited>,
    /// By channel: the least number that its next stamp can have. Some kernels also count sends that failed.
    numbers: Vec<u32>,
    missing_in_a_row: u32,
}

/// A message whose stamp is to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Awaited {
    channel: usize,
    sent_ns: u64,
    /// When to look for its stamp, if nothing is known of it.
    look_ns: u64,
    mark: Option<u64>,
}

impl StampSampler {
    /// For a worker with this many channels.
    pub(super) fn new(channels: usize, seed: u64) -> Self {
        StampSampler {
            random: Random::of_worker(seed, 0),
            ahead: 0,
            stride: 1,
            passed: 0,
            asked_ns: 0,
            awaited: None,
            numbers: vec![0; channels],
            missing_in_a_row: 0,
        }
    }

    /// Which message of the next batch is to be stamped: the marked one, or one by lot if it is time to.
    #[inline]
    pub(super) fn choose(&mut self, messages: usize, marked: Option<(usize, u64)>) -> Option<usize> {
        if self.awaited.is_some() {
            return None;
        }
        match marked {
            Some((message, _)) => Some(message),
            None => (self.ahead < messages as u64).then(|| self.random.below(messages)),
        }
    }

    /// So many messages were sent, the chosen one not among them.
    #[inline]
    pub(super) fn sent(&mut self, messages: usize) {
        let messages = messages as u64;
        self.passed += messages;
        if self.ahead >= messages {
            self.ahead -= messages;
        } else if self.awaited.is_some() {
            // One of these would have been stamped: the next one after the wait is as good only if drawn anew.
            self.draw();
        } else {
            self.ahead = 0;
        }
    }

    /// So many messages were sent over a channel at `sent_ns`, the chosen one among them, which has this mark.
    pub(super) fn sent_chosen(&mut self, channel: usize, messages: usize, sent_ns: u64, mark: Option<u64>) {
        self.passed += messages as u64;
        // The load may have just risen: at most twice as many messages go by as before.
        let elapsed_ns = sent_ns.saturating_sub(self.asked_ns).max(1);
        let wanted = u128::from(self.passed) * u128::from(STAMP_INTERVAL_NS) / u128::from(elapsed_ns);
        self.stride = u64::try_from(wanted).unwrap_or(u64::MAX).clamp(1, 2 * self.stride);
        (self.passed, self.asked_ns) = (0, sent_ns);
        self.draw();
        self.awaited = Some(Awaited { channel, sent_ns, look_ns: sent_ns, mark });
    }

    /// Draws how many messages go by before the next batch with a stamp.
    fn draw(&mut self) {
        self.ahead = self.random.below(2 * self.stride as usize - 1) as u64;
    }

    /// Whether a stamp is awaited.
    #[inline]
    pub(super) fn is_awaiting(&self) -> bool {
        self.awaited.is_some()
    }

    /// The channel whose queue is to be looked at for a stamp: after the send, and if the kernel holds the packet back
    /// where the channel `has_something`, or after twice the time.
    pub(super) fn look(&mut self, now_ns: u64, has_something: impl FnOnce(usize) -> bool) -> Option<usize> {
        let awaited = self.awaited.as_mut()?;
        if now_ns < awaited.look_ns && !has_something(awaited.channel) {
            return None;
        }
        awaited.look_ns = now_ns + now_ns.saturating_sub(awaited.sent_ns);
        Some(awaited.channel)
    }

    /// A stamp came. Returns when the message was sent that it belongs to, and its mark, if that one is awaited.
    pub(super) fn came(&mut self, channel: usize, number: u32) -> Option<(u64, Option<u64>)> {
        let least = &mut self.numbers[channel];
        // Numbers start again from 0 after 2^32.
        if number.wrapping_sub(*least) > u32::MAX / 2 {
            return None;
        }
        let awaited = self.awaited.take_if(|awaited| awaited.channel == channel)?;
        *least = number.wrapping_add(1);
        self.missing_in_a_row = 0;
        Some((awaited.sent_ns, awaited.mark))
    }

    /// Ends the wait for a stamp that would have come by now; returns when its message was sent, and its mark.
    pub(super) fn missing(&mut self, now_ns: u64) -> Option<(u64, Option<u64>)> {
        let is_over = |awaited: &mut Awaited| now_ns > awaited.sent_ns + LONGEST_WAIT_NS;
        let awaited = self.awaited.take_if(is_over)?;
        let least = &mut self.numbers[awaited.channel];
        *least = least.wrapping_add(1);
        self.missing_in_a_row += 1;
        Some((awaited.sent_ns, awaited.mark))
    }

    /// Whether stamps come at all: some network drivers make none.
    pub(super) fn is_in_vain(&self) -> bool {
        self.missing_in_a_row >= MOST_MISSING
    }
}

/// How far apart stamps are on average: each costs a worker some 2 µs.
const STAMP_INTERVAL_NS: u64 = 5_000_000;

/// A stamp that has not come by then is missing: the packet was dropped, or the driver stamps none.
const LONGEST_WAIT_NS: u64 = 100_000_000;

/// After so many missing stamps in a row no more are asked for.
const MOST_MISSING: u32 = 16;

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends batches of these sizes, `gap_ns` apart, each stamped at once where chosen. Gets what was stamped: batch
    /// and message.
    fn stamped(
        sampler: &mut StampSampler,
        sizes: impl Iterator<Item = usize>,
        gap_ns: u64,
    ) -> Vec<(usize, usize)> {
        let (mut chosen, mut number) = (Vec::new(), sampler.numbers[0]);
        let start_ns = sampler.asked_ns;
        for (batch, size) in sizes.enumerate() {
            match sampler.choose(size, None) {
                None => sampler.sent(size),
                Some(message) => {
                    sampler.sent_chosen(0, size, start_ns + (batch as u64 + 1) * gap_ns, None);
                    assert_eq!(sampler.came(0, number), Some((sampler.asked_ns, None)));
                    number += 1;
                    chosen.push((batch, message));
                }
            }
        }
        chosen
    }

    #[test]
    fn some_200_sends_a_second_are_stamped_at_any_rate_and_after_a_change() {
        let mut sampler = StampSampler::new(1, 5);
        // Batches of up to 64 messages for two seconds at each rate, one after the other.
        for (rate_qps, size) in
            [(50, 1), (1_000, 1), (300_000, 10), (20_000, 2), (1_000_000, 64), (100_000, 64)]
        {
            let batches = (2 * rate_qps / size).max(1);
            let gap_ns = 1_000_000_000 * size as u64 / rate_qps as u64;
            let stamps = stamped(&mut sampler, std::iter::repeat_n(size, batches), gap_ns).len();
            // All of a low rate. Until a change of the rate is known, a dozen more or some fewer.
            let expected = 400.min(batches);
            assert!(
                (expected * 8 / 10..=expected * 12 / 10 + 14).contains(&stamps),
                "{rate_qps}/s: {stamps}"
            );
        }
    }

    #[test]
    fn each_message_is_as_likely_whatever_the_size_of_its_batch_and_its_place_in_it() {
        let mut sampler = StampSampler::new(1, 7);
        // After each 32 messages together come 32 alone.
        let size = |batch: usize| if batch.is_multiple_of(33) { 32 } else { 1 };
        let chosen = stamped(&mut sampler, (0..2_000_000).map(size), 10_000);
        let in_large: Vec<_> = chosen.iter().filter(|(batch, _)| size(*batch) == 32).collect();
        assert!(chosen.len() > 3_000, "{}", chosen.len());
        let share = in_large.len() as f64 / chosen.len() as f64;
        assert!((0.46..0.54).contains(&share), "half of the messages are in large batches: {share}");
        let in_first_half = in_large.iter().filter(|(_, message)| *message < 16).count();
        let share = in_first_half as f64 / in_large.len() as f64;
        assert!((0.45..0.55).contains(&share), "half of them in their first half: {share}");
        // Of those alone, not only the first after a large batch.
        let first = chosen.iter().filter(|(batch, _)| batch % 33 == 1).count();
        assert!(first < chosen.len() / 25, "{first} of {}", chosen.len());
    }

    #[test]
    fn a_stamp_that_does_not_come_is_missing_and_is_not_taken_for_the_next() {
        let mut sampler = StampSampler::new(2, 1);
        assert_eq!((sampler.choose(1, None), sampler.choose(0, None)), (Some(0), None));
        sampler.sent_chosen(1, 1, 1_000, None);
        assert_eq!((sampler.is_awaiting(), sampler.choose(1_000_000, None)), (true, None));
        assert!(sampler.missing(1_000 + LONGEST_WAIT_NS).is_none());
        assert!(sampler.missing(1_001 + LONGEST_WAIT_NS).is_some() && !sampler.is_awaiting());
        sampler.sent_chosen(1, 1, 200_000_000, None);
        assert_eq!(sampler.came(1, 0), None, "that of the first send, too late");
        assert_eq!(sampler.came(0, 1), None, "of another channel");
        assert_eq!(sampler.came(1, 1), Some((200_000_000, None)));
        // A kernel that counts failed sends is two ahead.
        sampler.sent_chosen(1, 1, 300_000_000, None);
        assert_eq!(sampler.came(1, 4), Some((300_000_000, None)));
        assert_eq!(sampler.numbers, [0, 5]);
    }

    #[test]
    fn a_driver_without_stamps_is_asked_sixteen_times() {
        let mut sampler = StampSampler::new(1, 1);
        for i in 0..u64::from(MOST_MISSING) {
            assert!(!sampler.is_in_vain());
            sampler.sent_chosen(0, 1, i * 1_000_000_000, None);
            assert!(sampler.missing((i + 1) * 1_000_000_000).is_some());
        }
        assert!(sampler.is_in_vain());
    }

    #[test]
    fn a_stamp_is_looked_for_after_the_send_and_then_rarely_unless_the_socket_has_something() {
        let mut sampler = StampSampler::new(1, 1);
        sampler.sent_chosen(0, 1, 1_000, None);
        assert_eq!(sampler.look(4_000, |_| false), Some(0));
        assert_eq!(sampler.look(6_999, |_| false), None);
        assert_eq!(sampler.look(6_999, |_| true), Some(0));
        let looks =
            (0..10_000_000).step_by(10_000).filter(|now| sampler.look(10_000 + now, |_| false).is_some());
        assert!(looks.count() < 12, "over 10 ms");
    }

    #[test]
    fn a_batch_that_was_not_sent_leaves_the_choice_to_the_next() {
        let mut sampler = StampSampler::new(1, 1);
        assert!(sampler.choose(8, None).is_some());
        sampler.sent(0);
        assert!(sampler.choose(8, None).is_some());
        sampler.sent(2);
        assert!(sampler.choose(8, None).is_some());
    }
}
