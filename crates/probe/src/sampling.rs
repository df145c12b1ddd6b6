//! Reads every source at the ends of the intervals, and gives each interval its samples.
//!
//! ```text
//!   intervals        0         1         2         3
//!               ├─────────┼─────────┼─────────┼─────────┤
//!   readings   0          1         2  ········3 (slow)  4
//!   samples         0 ──► 1   1 ──► 2     2 ──────────► 3 (the reading before was late: this has both)
//! ```

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::time::{Duration, Instant};

use dnsdyno_measure::{Samples, Watched};
use dnsdyno_sys::{clock, thread};

use crate::rise::Rise;
use crate::source::{ReadError, Reading, Source};

/// When intervals begin, on the monotonic clock.
#[derive(Clone, Copy, Debug)]
pub struct SamplingClock {
    /// The first instant of the first interval.
    pub epoch_ns: u64,
    /// The length of an interval.
    pub interval_ns: u64,
}

impl SamplingClock {
    /// The last instant of an interval, in nanoseconds of the monotonic clock.
    fn end_ns(self, index: u64) -> u64 {
        self.epoch_ns.saturating_add((index + 1).saturating_mul(self.interval_ns))
    }

    /// The interval in which this instant is.
    fn index_at(self, now_ns: u64) -> u64 {
        now_ns.saturating_sub(self.epoch_ns) / self.interval_ns
    }
}

/// What sources are read beside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beside {
    /// A load: a source that a reading disturbs is read before and after it only.
    Load,
    /// None.
    Nothing,
}

/// Something that has happened to a source during a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchEvent {
    /// When, since the start of the first interval.
    pub at_ns: u64,
    /// The number of the source.
    pub source: usize,
    /// `watch_lost`, `watch_back` or `watch_restart`.
    pub kind: &'static str,
    /// A sentence.
    pub message: String,
}

/// Sources whose counters before the run are known, where they could be read.
#[derive(Default)]
pub struct Begun(Vec<Beginning>);

struct Beginning {
    source: Box<dyn Source>,
    rise: Rise,
    has_begun: bool,
}

impl Begun {
    /// Reads every source for the first time. What is counted from then on belongs to the run, so that no query may be
    /// sent before this returns, and those sent earlier are not counted.
    ///
    /// What a reading disturbs changes what others read: NSD starts its processes anew, and the CPU time of the old
    /// ones is known again when they have been waited for. So the others are read before it, to know that time, and
    /// begin with what they read after it.
    pub fn read(sources: Vec<Box<dyn Source>>) -> Begun {
        let begin = |source| Beginning { source, rise: Rise::default(), has_begun: false };
        let mut all: Vec<_> = sources.into_iter().map(begin).collect();
        if all.iter().any(|beginning| beginning.source.is_disturbed()) {
            read_at_once(&mut all, false);
            read_at_once(&mut all, true);
        }
        read_at_once(&mut all, false);
        Begun(all)
    }

    /// Adds a source whose counters count from just before the first instant of the first interval on, not from now.
    pub fn add_from_start(&mut self, source: Box<dyn Source>) {
        self.0.push(Beginning { source, rise: Rise::default(), has_begun: false });
    }

    /// Whether there is nothing to read.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Reads the sources that their reading disturbs, or the others.
fn read_at_once(all: &mut [Beginning], disturbed: bool) {
    std::thread::scope(|scope| {
        for beginning in all.iter_mut().filter(|one| one.source.is_disturbed() == disturbed) {
            // Without a thread it has not begun: its first reading is that of the first interval.
            let _ = std::thread::Builder::new().spawn_scoped(scope, || {
                if let Ok(reading) = beginning.source.read()
                    && !reading.is_repeated
                {
                    beginning.rise.begin(&reading);
                    beginning.has_begun = true;
                }
            });
        }
    });
}

/// The threads that read the sources of a run.
pub struct Sampling {
    clock: SamplingClock,
    watched: Vec<Watched>,
    threads: Vec<Thread>,
    events: Vec<WatchEvent>,
}

/// The thread of one source.
struct Thread {
    stop: SyncSender<()>,
    /// Its source is read before and after the load only.
    is_seldom: bool,
    messages: Receiver<Message>,
    /// Samples that no interval has taken yet, by their interval.
    waiting: BTreeMap<u64, Samples>,
    /// The samples of the intervals before this one are known, or it is known that there are none.
    known_to: u64,
    /// Every series, over the run.
    total: Option<Samples>,
}

enum Message {
    /// Of the intervals up to this one.
    Samples(u64, Samples),
    /// Nothing was read at the end of this interval.
    Nothing(u64),
    Event {
        kind: &'static str,
        at_ns: u64,
        message: String,
    },
}

impl Sampling {
    /// Starts to read these sources at the end of each interval. The threads do not use the CPUs in `taken`, where
    /// there are others.
    pub fn start(Begun(sources): Begun, clock: SamplingClock, beside: Beside, taken: &[usize]) -> Sampling {
        let watched = sources.iter().map(|begun| begun.source.watched().clone()).collect();
        let cpus: Vec<usize> = thread::allowed_cpus()
            .unwrap_or_default()
            .into_iter()
            .filter(|cpu| !taken.contains(cpu))
            .collect();
        let thread = |beginning: Beginning| {
            let is_seldom = beside == Beside::Load && beginning.source.is_disturbed();
            Thread::start(beginning, clock, is_seldom, cpus.clone())
        };
        let threads = sources.into_iter().map(thread).collect();
        Sampling { clock, watched, threads, events: Vec::new() }
    }

    /// The sources, in their order.
    pub fn watched(&self) -> &[Watched] {
        &self.watched
    }

    /// The samples of an interval, by source; `None` where they must be waited for: a source has not been read at its
    /// end yet, and [`PATIENCE_NS`] has not passed. Each interval is asked for in turn, until it has its samples.
    pub fn take(&mut self, index: u64) -> Option<Vec<Option<Samples>>> {
        self.receive();
        let is_late = clock::monotonic_ns() >= self.clock.end_ns(index).saturating_add(PATIENCE_NS);
        let is_known = self.threads.iter().all(|thread| thread.known_to > index);
        (is_known || is_late)
            .then(|| self.threads.iter_mut().map(|thread| thread.take_up_to(index)).collect())
    }

    /// What has happened to sources since the last call.
    pub fn events(&mut self) -> Vec<WatchEvent> {
        self.receive();
        std::mem::take(&mut self.events)
    }

    /// Reads every source once more, last those that their reading disturbs, and ends the threads. No interval has to
    /// wait for its samples any more.
    pub fn stop(&mut self) {
        // A thread that still waits for its source then ends with the program.
        let deadline = Instant::now() + LAST_READING;
        for seldom in [false, true] {
            let all = self.threads.iter_mut().enumerate();
            let asked: Vec<_> = all.filter(|(_, thread)| thread.is_seldom == seldom).collect();
            for (_, thread) in &asked {
                let _ = thread.stop.try_send(());
            }
            for (number, thread) in asked {
                while let Ok(message) =
                    thread.messages.recv_timeout(deadline.saturating_duration_since(Instant::now()))
                {
                    thread.receive(number, message, &mut self.events);
                }
                thread.known_to = u64::MAX;
            }
        }
    }

    /// The samples that no interval has taken, by source: what happened after the last one.
    pub fn take_rest(&mut self) -> Vec<Option<Samples>> {
        self.threads.iter_mut().map(|thread| thread.take_up_to(u64::MAX)).collect()
    }

    /// Every series of each source, over the run.
    pub fn totals(&self) -> Vec<Option<Samples>> {
        self.threads.iter().map(|thread| thread.total.clone()).collect()
    }

    fn receive(&mut self) {
        for (number, thread) in self.threads.iter_mut().enumerate() {
            while let Ok(message) = thread.messages.try_recv() {
                thread.receive(number, message, &mut self.events);
            }
        }
    }
}

impl Thread {
    fn start(beginning: Beginning, clock: SamplingClock, is_seldom: bool, cpus: Vec<usize>) -> Thread {
        let (stop, stopped) = sync_channel(1);
        let (sender, messages) = channel();
        // Without a thread nothing is read: the messages end at once.
        let _ = std::thread::Builder::new().spawn(move || {
            // Where it fails, the thread runs where the kernel puts it.
            let _ = thread::run_on_cpus(&cpus);
            // Intervals end for all samplers and workers at once: a worker that is due then goes first.
            let _ = thread::give_way();
            let Beginning { source, rise, has_begun } = beginning;
            Readings { source, clock, is_seldom, rise, has_begun, is_lost: false, sender }.run(&stopped);
        });
        Thread { stop, is_seldom, messages, waiting: BTreeMap::new(), known_to: 0, total: None }
    }

    fn receive(&mut self, number: usize, message: Message, events: &mut Vec<WatchEvent>) {
        match message {
            Message::Samples(index, samples) => {
                self.total.get_or_insert_default().merge(&samples);
                // What rose over the whole run is not of the interval in which it was read.
                if !self.is_seldom {
                    self.waiting.entry(index).or_default().merge(&moved(samples));
                }
                self.known_to = self.known_to.max(index + 1);
            }
            Message::Nothing(index) => self.known_to = self.known_to.max(index + 1),
            Message::Event { kind, at_ns, message } => {
                events.push(WatchEvent { at_ns, source: number, kind, message });
            }
        }
    }

    /// The samples of this interval and of those before it that were late.
    fn take_up_to(&mut self, index: u64) -> Option<Samples> {
        let mut taken = None;
        while let Some(first) = self.waiting.first_entry().filter(|first| *first.key() <= index) {
            taken.get_or_insert_with(Samples::default).merge(&first.remove());
        }
        taken
    }
}

/// Without the counters that have not risen, and the gauges that are 0.
fn moved(mut samples: Samples) -> Samples {
    samples.counters.retain(|_, rise| *rise > 0);
    samples.gauges.retain(|_, value| *value > 0);
    samples
}

/// Reads one source, on a thread of its own.
struct Readings {
    source: Box<dyn Source>,
    clock: SamplingClock,
    /// It is read at the end of the run only.
    is_seldom: bool,
    rise: Rise,
    /// The counters before the first interval are known.
    has_begun: bool,
    /// The last reading has failed.
    is_lost: bool,
    sender: Sender<Message>,
}

impl Readings {
    fn run(mut self, stopped: &Receiver<()>) {
        let first_ns = self.clock.epoch_ns.saturating_sub(FIRST_BEFORE_NS);
        let mut next_ns = if self.has_begun { self.clock.end_ns(0) } else { first_ns };
        loop {
            let wait = Duration::from_nanos(next_ns.saturating_sub(clock::monotonic_ns()));
            let is_last = !matches!(stopped.recv_timeout(wait), Err(RecvTimeoutError::Timeout));
            let from_ns = if is_last { clock::monotonic_ns() } else { next_ns };
            let is_heard = match self.is_seldom && !is_last {
                true => self.sender.send(Message::Nothing(self.index(from_ns))).is_ok(),
                false => self.read(from_ns),
            };
            if !is_heard || is_last {
                return;
            }
            // A reading that took longer than an interval: those that ended meanwhile have none of their own.
            let ended = self.clock.index_at(clock::monotonic_ns().max(next_ns));
            next_ns = self.clock.end_ns(ended);
        }
    }

    /// Reads the source for the interval that ends at this instant, or in which it is. Returns whether somebody waits
    /// for what was read.
    fn read(&mut self, from_ns: u64) -> bool {
        let reading = self.source.read();
        let index = self.index(from_ns);
        let at_ns = from_ns.saturating_sub(self.clock.epoch_ns);
        let is_lost = reading.is_err();
        let was_lost = std::mem::replace(&mut self.is_lost, is_lost);
        match &reading {
            Err(ReadError(why)) if !was_lost => {
                self.event("watch_lost", at_ns, format!("cannot be read: {why}"))
            }
            Ok(_) if was_lost => self.event("watch_back", at_ns, "can be read again".to_owned()),
            _ => {}
        }
        let message = match reading {
            Err(_) => Message::Nothing(index),
            Ok(reading) if reading.is_repeated => Message::Nothing(index),
            Ok(reading) => self.message(index, at_ns, reading),
        };
        // Before the first interval ends, nothing is said of it.
        matches!(message, Message::Nothing(_)) && from_ns <= self.clock.epoch_ns
            || self.sender.send(message).is_ok()
    }

    /// The interval that ends at this instant, or in which it is.
    fn index(&self, from_ns: u64) -> u64 {
        self.clock.index_at(from_ns.saturating_sub(1).max(self.clock.epoch_ns))
    }

    fn message(&mut self, index: u64, at_ns: u64, reading: Reading) -> Message {
        if !std::mem::replace(&mut self.has_begun, true) {
            self.rise.begin(&reading);
            return Message::Nothing(index);
        }
        let risen = self.rise.next(reading);
        if risen.restarted {
            self.event(
                "watch_restart",
                at_ns,
                "has restarted: its counters have begun again with 0".to_owned(),
            );
        }
        Message::Samples(index, risen.samples)
    }

    fn event(&self, kind: &'static str, at_ns: u64, message: String) {
        let label = &self.source.watched().label;
        let _ = self.sender.send(Message::Event { kind, at_ns, message: format!("{label} {message}") });
    }
}

/// So long before the start, the counters are read that have not begun: what is read at the start itself would take a
/// CPU from the workers, whose first queries are due, and miss what happens meanwhile.
const FIRST_BEFORE_NS: u64 = 6_000_000;

/// How long an interval waits for samples that are late, after its end. They then belong to a later one.
const PATIENCE_NS: u64 = 2_000_000_000;

/// How long the last reading of a run may take.
const LAST_READING: Duration = Duration::from_secs(3);

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use dnsdyno_measure::{Side, WatchedKind};

    use super::*;

    /// A counter that is what the test says; it fails while that is `u64::MAX`, and repeats itself while it is `SAME`.
    struct Told {
        value: Arc<AtomicU64>,
        watched: Watched,
        is_disturbed: bool,
    }

    impl Told {
        fn source(is_disturbed: bool) -> (Arc<AtomicU64>, Box<dyn Source>) {
            let value = Arc::new(AtomicU64::new(7));
            let watched = Watched {
                kind: WatchedKind::Server,
                side: Side::Server,
                label: "the server".into(),
                software: None,
                version: None,
                settings: BTreeMap::new(),
                unset: Vec::new(),
                missing: Vec::new(),
            };
            (value.clone(), Box::new(Told { value, watched, is_disturbed }))
        }
    }

    impl Source for Told {
        fn watched(&self) -> &Watched {
            &self.watched
        }

        fn watched_mut(&mut self) -> &mut Watched {
            &mut self.watched
        }

        fn is_disturbed(&self) -> bool {
            self.is_disturbed
        }

        fn read(&mut self) -> Result<Reading, ReadError> {
            let value = self.value.load(Ordering::SeqCst);
            if value == u64::MAX {
                return Err(ReadError("it is gone".into()));
            }
            let mut reading = Reading { is_repeated: value == SAME, ..Reading::default() };
            reading.counter("queries", value);
            reading.gauge("open", value % 3);
            Ok(reading)
        }
    }

    const SAME: u64 = u64::MAX - 1;

    fn wait_for(sampling: &mut Sampling, index: u64) -> Vec<Option<Samples>> {
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            match sampling.take(index) {
                Some(samples) => return samples,
                None if Instant::now() > deadline => panic!("interval {index} has no samples"),
                None => std::thread::sleep(Duration::from_millis(5)),
            }
        }
    }

    #[test]
    fn the_rises_of_all_intervals_add_up_to_that_of_the_run_whatever_was_late() {
        let (value, source) = Told::source(false);
        let epoch_ns = clock::monotonic_ns() + 50_000_000;
        let clock = SamplingClock { epoch_ns, interval_ns: 100_000_000 };
        let begun = Begun::read(vec![source]);
        // A query that is answered before the first interval begins would be lost here.
        value.fetch_add(3, Ordering::SeqCst);
        let mut sampling = Sampling::start(begun, clock, Beside::Load, &[]);
        let mut sum = Vec::new();
        for index in 0..5 {
            merge(&mut sum, wait_for(&mut sampling, index));
            value.fetch_add(10 + index, Ordering::SeqCst);
        }
        sampling.stop();
        merge(&mut sum, sampling.take_rest());
        // What was there before the first reading is not counted.
        let total = sampling.totals()[0].as_ref().unwrap().counter("queries");
        assert_eq!(sum[0].as_ref().unwrap().counter("queries"), total);
        assert_eq!(total, 63);
        assert_eq!(sampling.events(), []);
    }

    #[test]
    fn what_a_reading_disturbs_is_read_before_and_after_a_load_only() {
        for (beside, is_read) in [(Beside::Load, false), (Beside::Nothing, true)] {
            let (value, source) = Told::source(true);
            let clock = SamplingClock { epoch_ns: clock::monotonic_ns(), interval_ns: 100_000_000 };
            let mut sampling = Sampling::start(Begun::read(vec![source]), clock, beside, &[]);
            let mut next = |index| {
                let taken = wait_for(&mut sampling, index);
                value.fetch_add(10, Ordering::SeqCst);
                taken[0].is_some()
            };
            assert_eq!([next(0), next(1)], [is_read; 2]);
            sampling.stop();
            assert_eq!(sampling.totals()[0].as_ref().unwrap().counter("queries"), 20);
            // Of the whole load, and of no interval of it.
            assert!(is_read || sampling.take_rest()[0].is_none());
        }
    }

    /// A source that says how many readings there were before.
    struct Counting {
        told: Box<dyn Source>,
        readings: Arc<AtomicU64>,
    }

    impl Source for Counting {
        fn watched(&self) -> &Watched {
            self.told.watched()
        }

        fn watched_mut(&mut self) -> &mut Watched {
            self.told.watched_mut()
        }

        fn is_disturbed(&self) -> bool {
            self.told.is_disturbed()
        }

        fn read(&mut self) -> Result<Reading, ReadError> {
            let mut reading = self.told.read()?;
            let earlier = self.readings.fetch_add(1, Ordering::SeqCst);
            reading.counter("earlier readings", earlier);
            Ok(reading)
        }
    }

    #[test]
    fn what_a_reading_disturbs_is_read_after_the_others_and_they_begin_after_it() {
        let readings = Arc::new(AtomicU64::new(0));
        let source = |is_disturbed| -> Box<dyn Source> {
            Box::new(Counting { told: Told::source(is_disturbed).1, readings: Arc::clone(&readings) })
        };
        // An interval that does not end.
        let clock = SamplingClock { epoch_ns: clock::monotonic_ns() + 1, interval_ns: 1 << 60 };
        let begun = Begun::read(vec![source(true), source(false)]);
        let mut sampling = Sampling::start(begun, clock, Beside::Load, &[]);
        sampling.stop();
        let risen = |number: usize| sampling.totals()[number].as_ref().unwrap().counter("earlier readings");
        // The others are read first (0), third (2) and fourth (3), what is disturbed second (1) and last (4).
        assert_eq!((risen(0), risen(1)), (4 - 1, 3 - 2));
    }

    #[test]
    fn an_interval_of_which_a_source_says_nothing_new_has_no_figures_and_the_next_one_has_both() {
        let (value, source) = Told::source(false);
        let clock = SamplingClock { epoch_ns: clock::monotonic_ns(), interval_ns: 50_000_000 };
        let mut sampling = Sampling::start(Begun::read(vec![source]), clock, Beside::Load, &[]);
        value.store(SAME, Ordering::SeqCst);
        // The reading of the first interval may have begun before.
        wait_for(&mut sampling, 0);
        assert_eq!([1, 2].map(|index| wait_for(&mut sampling, index)[0].is_some()), [false; 2]);
        value.store(9, Ordering::SeqCst);
        sampling.stop();
        assert_eq!(sampling.totals()[0].as_ref().unwrap().counter("queries"), 2);
        assert_eq!(sampling.events(), []);
    }

    fn merge(sum: &mut Vec<Option<Samples>>, samples: Vec<Option<Samples>>) {
        dnsdyno_measure::merge_samples(sum, &samples);
    }

    #[test]
    fn a_source_that_is_lost_gives_one_event_and_another_one_when_it_is_back() {
        let (value, source) = Told::source(false);
        let clock = SamplingClock { epoch_ns: clock::monotonic_ns(), interval_ns: 50_000_000 };
        let mut sampling = Sampling::start(Begun::read(vec![source]), clock, Beside::Load, &[]);
        wait_for(&mut sampling, 0);
        value.store(u64::MAX, Ordering::SeqCst);
        (1..5).for_each(|index| drop(wait_for(&mut sampling, index)));
        value.store(9, Ordering::SeqCst);
        (5..9).for_each(|index| drop(wait_for(&mut sampling, index)));
        value.store(1, Ordering::SeqCst);
        (9..12).for_each(|index| drop(wait_for(&mut sampling, index)));
        sampling.stop();
        let kinds: Vec<_> = sampling.events().into_iter().map(|event| (event.kind, event.message)).collect();
        let expected = [
            ("watch_lost", "the server cannot be read: it is gone"),
            ("watch_back", "the server can be read again"),
            ("watch_restart", "the server has restarted: its counters have begun again with 0"),
        ];
        assert_eq!(kinds, expected.map(|(kind, message)| (kind, message.to_owned())));
        assert_eq!(sampling.totals()[0].as_ref().unwrap().counter("queries"), 2 + 1);
    }
}
