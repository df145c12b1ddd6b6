//! Waiting with a precision of microseconds: sleeping for most of the time, and polling the clock for the rest.
//!
//! ```text
//!   a long sleep                             │ margin │ a short sleep │ margin │
//!  ──────────────────────────────────────────┼────────┼───────────────┼────────┤ the instant
//!                                            asleep   awake, asleep   awake: polling
//! ```
//!
//! A timer wakes a thread some microseconds late: few after a short sleep; tens or hundreds after a long one, from
//! which the CPU has to be woken too, and whose timer the kernel may delay by a thousandth of its length. So the delay
//! is learned by the length of the sleep, and a sleep ends early by the margin that its length needs. Where that is
//! more than should be spent polling, a second, short sleep follows: the CPU has just been woken, and the delay of so
//! short a sleep is small.
//!
//! How much is spent on precision depends on who else wants the CPU. A thread that has it alone ends 99 waits in 100 at
//! their instants. One that [shares](Sharing) it, such as with a server on the same host, would make the others wait
//! while it polls: it polls less, and one wait in four ends late.

use crate::clock;
use crate::thread::RunQueueClock;

/// One thread's sleeps.
#[derive(Debug)]
pub struct Sleeper {
    /// By the length of the sleep, each class four times as long as the one before: the delay that 99 sleeps in 100 do
    /// not exceed.
    nearly_all_ns: [u64; CLASSES],
    /// The delay that three in four do not exceed.
    most_ns: [u64; CLASSES],
    sharing: Sharing,
    run_queue: Option<RunQueueClock>,
}

/// For a thread that is taken to have its CPU alone.
impl Default for Sleeper {
    fn default() -> Self {
        Sleeper {
            nearly_all_ns: FIRST_NEARLY_ALL_NS,
            most_ns: FIRST_MOST_NS,
            sharing: Sharing::default(),
            run_queue: None,
        }
    }
}

impl Sleeper {
    /// For the calling thread, which may share its CPU.
    pub fn of_this_thread() -> Self {
        Sleeper { run_queue: Some(RunQueueClock::of_this_thread()), ..Sleeper::default() }
    }

    /// Nanoseconds that the thread was ready to run and had no CPU, since it started; 0 if unknown.
    pub fn run_queue_wait_ns(&self) -> u64 {
        self.run_queue.as_ref().map_or(0, RunQueueClock::waited_ns)
    }

    /// Waits until `instant_ns` of the monotonic clock; or, if not `exactly`, until about then, without polling.
    ///
    /// `sleep` gets two instants, now and until when to sleep, and returns whether something has arrived, which ends
    /// the wait; if both are the same, it only looks. A signal may end a sleep early.
    pub fn wait_until_ns(&mut self, instant_ns: u64, exactly: bool, mut sleep: impl FnMut(u64, u64) -> bool) {
        let mut now_ns = clock::monotonic_ns();
        if self.sharing.is_look_due(now_ns) {
            self.sharing.look(now_ns, self.run_queue_wait_ns());
        }
        for number in 0..MOST_SLEEPS {
            let Some(end_ns) = self.end_of_sleep_ns(number, now_ns, instant_ns, exactly) else { break };
            if sleep(now_ns, end_ns) {
                return;
            }
            let woken_ns = clock::monotonic_ns();
            if woken_ns >= end_ns {
                self.learn(end_ns - now_ns, woken_ns - end_ns);
            }
            now_ns = woken_ns;
        }
        while exactly && now_ns < instant_ns {
            if now_ns + UNDISTURBED_NS < instant_ns && sleep(now_ns, now_ns) {
                return;
            }
            std::hint::spin_loop();
            now_ns = clock::monotonic_ns();
        }
    }

    /// The delay that three short sleeps in four have lately not exceeded.
    pub fn oversleep_ns(&self) -> u64 {
        self.most_ns[0]
    }

    /// Until when to sleep before `instant_ns`, `number` sleeps of this wait being over; `None` if what is left of it
    /// is too short to sleep.
    fn end_of_sleep_ns(&self, number: usize, now_ns: u64, instant_ns: u64, exactly: bool) -> Option<u64> {
        let wait_ns = instant_ns.saturating_sub(now_ns);
        let class = class_of(wait_ns);
        let (margin_ns, longest_poll_ns, longest_margin_ns) = match self.sharing.is_shared || !exactly {
            true => (self.most_ns[class], SHARED_LONGEST_POLL_NS, SHARED_LONGEST_MARGIN_NS),
            false => (self.nearly_all_ns[class], LONGEST_POLL_NS, LONGEST_POLL_NS),
        };
        let has_second =
            exactly && margin_ns > longest_poll_ns && wait_ns > 2 * (margin_ns + SECOND_SLEEP_NS);
        let early_ns = match (has_second, number) {
            (true, _) => margin_ns + SECOND_SLEEP_NS,
            // Half of each wait is slept: a thread that once overslept by more than its waits last would otherwise poll
            // for ever, and never measure again.
            (false, 0) => margin_ns.min(longest_margin_ns).min(wait_ns / 2),
            (false, _) => margin_ns.min(longest_margin_ns),
        };
        let end_ns = instant_ns.saturating_sub(early_ns);
        (end_ns > now_ns + SHORTEST_SLEEP_NS).then_some(end_ns)
    }

    /// A sleep of this length took so much longer. A margin grows as often as its share of the sleeps is longer, by as
    /// many times more than it shrinks otherwise.
    fn learn(&mut self, asleep_ns: u64, too_long_ns: u64) {
        let class = class_of(asleep_ns);
        // A very long delay is caused by a busy host, not by the timer.
        let most_ns = &mut self.most_ns[class];
        // In proportion: a margin that is ten times too large is as soon mended as a small one.
        let step_ns = SHORTEST_STEP_NS + *most_ns / 64;
        *most_ns = if too_long_ns > *most_ns {
            (*most_ns + 3 * step_ns).min(if class == 0 { SHARED_LONGEST_MARGIN_NS } else { LONGEST_DELAY_NS })
        } else {
            most_ns.saturating_sub(step_ns)
        };
        // No polling would make up for it.
        if too_long_ns > LONGEST_DELAY_NS {
            return;
        }
        let nearly_all_ns = &mut self.nearly_all_ns[class];
        let rise_ns = 99 + *nearly_all_ns / 16;
        *nearly_all_ns = if too_long_ns > *nearly_all_ns {
            (*nearly_all_ns + rise_ns).min(if class == 0 { LONGEST_POLL_NS } else { LONGEST_DELAY_NS })
        } else {
            nearly_all_ns.saturating_sub(rise_ns / 99)
        };
    }
}

/// Whether the thread has its CPU with others: after a sleep it then waits in the run queue, and they wait while it
/// polls.
#[derive(Debug, Default)]
struct Sharing {
    is_shared: bool,
    /// Waits since the last look at the run queue, when that was, and how long the thread had been in the queue by
    /// then.
    waits: u32,
    looked_ns: u64,
    in_queue_ns: u64,
}

impl Sharing {
    /// Whether to look at the run queue before one more wait.
    fn is_look_due(&mut self, now_ns: u64) -> bool {
        self.waits += 1;
        self.waits > FEWEST_WAITS && now_ns > self.looked_ns + LOOK_INTERVAL_NS
    }

    /// The thread has been in the run queue for so long by now.
    fn look(&mut self, now_ns: u64, in_queue_ns: u64) {
        let of_a_wait_ns = in_queue_ns.saturating_sub(self.in_queue_ns) / u64::from(self.waits.max(1));
        let is_first = self.looked_ns == 0;
        self.is_shared = !is_first && of_a_wait_ns > if self.is_shared { ALONE_NS } else { SHARED_NS };
        *self = Sharing { is_shared: self.is_shared, waits: 0, looked_ns: now_ns, in_queue_ns };
    }
}

/// The class of a sleep of this length.
fn class_of(asleep_ns: u64) -> usize {
    let quadruples = (asleep_ns / LENGTH_OF_SHORT_NS).checked_ilog2().map_or(0, |log| log / 2 + 1);
    (quadruples as usize).min(CLASSES - 1)
}

/// Sleeps below 64, 256, 1,024 µs, below 4, 16 and 66 ms, and longer ones.
const CLASSES: usize = 7;
const LENGTH_OF_SHORT_NS: u64 = 64_000;

/// The delays before the first sleep. A second sleep makes up for those of long sleeps that are too large.
const FIRST_MOST_NS: [u64; CLASSES] = [8_000, 10_000, 15_000, 40_000, 60_000, 100_000, 150_000];
const FIRST_NEARLY_ALL_NS: [u64; CLASSES] = [30_000, 35_000, 45_000, 80_000, 120_000, 200_000, 300_000];

/// A wait has a long and a short sleep, and more only if signals end them.
const MOST_SLEEPS: usize = 4;

/// A shorter sleep is not worth a system call.
const SHORTEST_SLEEP_NS: u64 = 4_000;

/// How long the second sleep is: so short that it is woken from soon, and long enough to make up for the usual
/// differences in the delay of the first.
const SECOND_SLEEP_NS: u64 = 50_000;

/// The longest time spent polling before an instant; before a larger margin there is a second sleep. At 1,000 waits a
/// second it is a tenth of a CPU.
const LONGEST_POLL_NS: u64 = 100_000;

/// The same where others want the CPU: a second sleep uses as much of it as polling for so long.
const SHARED_LONGEST_POLL_NS: u64 = 20_000;

/// There it is polled for this long where a wait is too short for two sleeps.
const SHARED_LONGEST_MARGIN_NS: u64 = 30_000;

/// A wake-up that takes longer is the fault of a busy host.
const LONGEST_DELAY_NS: u64 = 300_000;

/// What arrives so shortly before the instant is left until after it: it would make the next send late.
const UNDISTURBED_NS: u64 = 5_000;

/// How fast a small margin follows: within the first few hundred sleeps.
const SHORTEST_STEP_NS: u64 = 50;

/// The run queue is looked at after so many waits, and so much time: a look costs some 3 µs.
const FEWEST_WAITS: u32 = 32;
const LOOK_INTERVAL_NS: u64 = 50_000_000;

/// A thread that waits in the run queue for longer than this in each wait, on average, has its CPU with others. One
/// that has it alone passes through the queue in less than a microsecond.
const SHARED_NS: u64 = 4_000;

/// It has its CPU alone again once it waits for no longer than this.
const ALONE_NS: u64 = 2_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::thread;
    use std::cell::Cell;

    fn sleep(_: u64, until_ns: u64) -> bool {
        clock::sleep_until_ns(until_ns);
        false
    }

    #[test]
    fn a_wait_is_never_too_short() {
        let mut sleeper = Sleeper::default();
        for wait_ns in [1_000, 20_000, 100_000, 1_000_000, 5_000_000] {
            for _ in 0..20 {
                let instant_ns = clock::monotonic_ns() + wait_ns;
                sleeper.wait_until_ns(instant_ns, true, sleep);
                assert!(clock::monotonic_ns() >= instant_ns);
            }
        }
        sleeper.wait_until_ns(0, true, sleep);
    }

    /// A sleeper whose thread has its CPU with others.
    fn shared() -> Sleeper {
        let sharing = Sharing { is_shared: true, ..Sharing::default() };
        Sleeper { sharing, ..Sleeper::default() }
    }

    /// How many of 1,000 waits of this length end late, and for how long is polled on average, if a sleep takes one of
    /// these times longer; after 20,000 of them.
    fn late_and_polled(sleeper: &mut Sleeper, wait_ns: u64, delay_ns: impl Fn(u64) -> u64) -> (usize, u64) {
        let (mut late, mut polled_ns) = (0, 0);
        for i in 0..21_000 {
            let mut now_ns = 0;
            for number in 0..MOST_SLEEPS {
                let Some(end_ns) = sleeper.end_of_sleep_ns(number, now_ns, wait_ns, true) else { break };
                let delay_ns = delay_ns(i);
                sleeper.learn(end_ns - now_ns, delay_ns);
                now_ns = end_ns + delay_ns;
            }
            if i >= 20_000 {
                late += usize::from(now_ns > wait_ns);
                polled_ns += wait_ns.saturating_sub(now_ns);
            }
        }
        (late, polled_ns / 1_000)
    }

    /// 10 to 20 µs, equally likely and without a pattern, but for one in twenty: 20 to 40 µs.
    fn usual_delay_ns(i: u64) -> u64 {
        let drawn = i * 7_919 % 10_000;
        if i % 20 == 7 { 20_000 + 2 * drawn } else { 10_000 + drawn }
    }

    #[test]
    fn a_thread_that_has_its_cpu_alone_ends_99_waits_in_100_in_time() {
        for wait_ns in [120_000, 500_000, 1_000_000] {
            let (late, polled_ns) = late_and_polled(&mut Sleeper::default(), wait_ns, usual_delay_ns);
            assert!(late <= 16, "{late} of 1,000 waits of {wait_ns} ns are late");
            assert!((15_000..28_000).contains(&polled_ns), "{polled_ns} ns are polled in {wait_ns}");
        }
        // One in four is late where others want the CPU.
        let (late, polled_ns) = late_and_polled(&mut shared(), 120_000, usual_delay_ns);
        assert!((200..=300).contains(&late) && polled_ns < 6_000, "{late}, {polled_ns}");
    }

    #[test]
    fn half_of_a_short_wait_is_slept() {
        for mut sleeper in [Sleeper::default(), shared()] {
            (0..10_000).for_each(|_| sleeper.learn(40_000, 250_000));
            assert_eq!(sleeper.end_of_sleep_ns(0, 0, 40_000, true), Some(20_000));
            assert_eq!(sleeper.end_of_sleep_ns(1, 20_000, 40_000, true), None, "and not half of the rest");
        }
    }

    #[test]
    fn the_margins_settle_where_one_sleep_in_four_and_one_in_a_hundred_is_longer() {
        let mut sleeper = Sleeper::default();
        // Delays of 1 to 10 µs, equally likely, without a pattern.
        (0..50_000u64).for_each(|i| sleeper.learn(40_000, (i * 7_919 % 10_000) + 1));
        assert!((6_500..=8_800).contains(&sleeper.oversleep_ns()), "{}", sleeper.oversleep_ns());
        assert!((9_300..=10_500).contains(&sleeper.nearly_all_ns[0]), "{}", sleeper.nearly_all_ns[0]);
        // A host that stands still is no reason to poll for milliseconds, nor for longer than before.
        (0..100_000).for_each(|_| sleeper.learn(40_000, 3_000_000));
        assert_eq!(sleeper.oversleep_ns(), SHARED_LONGEST_MARGIN_NS);
        assert!((9_300..=10_500).contains(&sleeper.nearly_all_ns[0]), "{}", sleeper.nearly_all_ns[0]);
        (0..1_000).for_each(|_| sleeper.learn(40_000, 250_000));
        assert_eq!(sleeper.nearly_all_ns[0], LONGEST_POLL_NS);
    }

    #[test]
    fn the_delay_of_long_sleeps_is_learned_within_seconds_and_apart_from_that_of_short_ones() {
        let mut sleeper = shared();
        let short_ns = sleeper.oversleep_ns();
        (0..100).for_each(|_| sleeper.learn(20_000_000, 250_000));
        let end_ns = sleeper.end_of_sleep_ns(0, 0, 20_000_000, true).unwrap();
        assert!(
            (19_650_000..=19_710_000).contains(&end_ns),
            "250 µs for the delay, 50 for a second sleep: {end_ns}"
        );
        assert_eq!(sleeper.oversleep_ns(), short_ns);
        (0..200).for_each(|_| sleeper.learn(20_000_000, 12_000));
        let end_ns = sleeper.end_of_sleep_ns(0, 0, 20_000_000, true).unwrap();
        assert!((19_984_000..=19_990_000).contains(&end_ns), "no second sleep: {end_ns}");
    }

    #[test]
    fn after_a_long_sleep_a_short_one_follows_and_little_is_polled() {
        let second_after_delay_ns = |sleeper: &Sleeper| {
            let first_ns = sleeper.end_of_sleep_ns(0, 0, 100_000_000, true).unwrap();
            let second_ns = sleeper.end_of_sleep_ns(1, first_ns + 100_000, 100_000_000, true).unwrap();
            assert_eq!(sleeper.end_of_sleep_ns(2, second_ns + 9_000, 100_000_000, true), None);
            (first_ns, second_ns)
        };
        assert_eq!(second_after_delay_ns(&shared()), (99_800_000, 99_990_000));
        assert_eq!(second_after_delay_ns(&Sleeper::default()), (99_650_000, 99_965_000));
        // Without precision, one sleep is enough.
        assert_eq!(Sleeper::default().end_of_sleep_ns(0, 0, 100_000_000, false), Some(99_970_000));
    }

    /// A thread with 100 waits between two looks at the run queue, in which it was for so long in each wait.
    fn shared_after(in_queue_ns: &[u64]) -> bool {
        let mut sharing = Sharing::default();
        let (mut now_ns, mut sum_ns) = (1_000_000_000, 777_000_000);
        sharing.look(now_ns, sum_ns);
        for ns in in_queue_ns {
            (now_ns, sum_ns) = (now_ns + 100_000_000, sum_ns + 100 * ns);
            let due = (0..100).filter(|i| sharing.is_look_due(now_ns - 100 + i)).count();
            assert!(due > 0);
            sharing.look(now_ns, sum_ns);
        }
        sharing.is_shared
    }

    #[test]
    fn a_thread_that_waits_in_the_run_queue_shares_its_cpu_until_it_no_longer_does() {
        assert!(
            !shared_after(&[]) && !shared_after(&[600, 3_900]),
            "what was before the first look does not count"
        );
        assert!(shared_after(&[600, 4_100]) && shared_after(&[40_000, 2_100]));
        assert!(!shared_after(&[40_000, 1_900]) && !shared_after(&[40_000, 1_900, 3_900]));
    }

    #[test]
    fn the_run_queue_is_looked_at_rarely() {
        let looks = |waits: u64, gap_ns: u64| {
            let mut sharing = Sharing::default();
            let look = |now_ns| sharing.is_look_due(now_ns).then(|| sharing.look(now_ns, 0)).is_some();
            (0..waits).map(|i| 1_000_000_000 + i * gap_ns).map(look).filter(|looked| *looked).count()
        };
        // Ten seconds at 20,000 waits a second, and at ten.
        assert_eq!((looks(200_000, 50_000), looks(100, 100_000_000)), (200, 3));
    }

    #[test]
    fn a_thread_beside_a_busy_one_learns_that_it_shares_the_cpu() {
        use std::sync::atomic::{AtomicBool, Ordering};
        static HAS_ENDED: AtomicBool = AtomicBool::new(false);
        if std::fs::File::open("/proc/thread-self/schedstat").is_err() {
            println!("skipped: this kernel keeps no scheduler statistics");
            return;
        }
        let cpu = thread::allowed_cpus().unwrap()[0];
        let busy = std::thread::spawn(move || {
            thread::pin_to_cpu(cpu).unwrap();
            while !HAS_ENDED.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        });
        let shared = std::thread::spawn(move || {
            thread::pin_to_cpu(cpu).unwrap();
            let mut sleeper = Sleeper::of_this_thread();
            let end_ns = clock::monotonic_ns() + 5_000_000_000;
            // It works for half of the time, so that it cannot always go first.
            while !sleeper.sharing.is_shared && clock::monotonic_ns() < end_ns {
                let now_ns = clock::monotonic_ns();
                while clock::monotonic_ns() < now_ns + 500_000 {}
                sleeper.wait_until_ns(now_ns + 1_000_000, true, sleep);
            }
            sleeper.sharing.is_shared
        });
        let is_shared = shared.join();
        HAS_ENDED.store(true, Ordering::Relaxed);
        busy.join().unwrap();
        assert!(is_shared.unwrap());
    }

    #[test]
    fn an_arrival_ends_a_sleep_and_polling_and_teaches_nothing() {
        let mut sleeper = Sleeper::default();
        let far_ns = clock::monotonic_ns() + 3_600_000_000_000;
        sleeper.wait_until_ns(far_ns, true, |_, _| true);
        assert_eq!((sleeper.most_ns, sleeper.nearly_all_ns), (FIRST_MOST_NS, FIRST_NEARLY_ALL_NS));
        // Each sleep ends early, as by a signal; then something arrives.
        let looks = Cell::new(0);
        sleeper.wait_until_ns(far_ns, true, |_, _| {
            looks.set(looks.get() + 1);
            looks.get() > MOST_SLEEPS + 2
        });
        assert_eq!((looks.get(), sleeper.most_ns), (MOST_SLEEPS + 3, FIRST_MOST_NS));
    }

    #[test]
    fn each_length_has_its_class() {
        let classes = [0, 63_999, 64_000, 255_999, 256_000, 1_024_000, 65_000_000, 65_536_000, u64::MAX];
        assert_eq!(classes.map(class_of), [0, 0, 1, 1, 2, 3, 5, 6, 6]);
    }
}
