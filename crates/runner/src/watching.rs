//! What is watched beside the load: an interval is recorded when its samples are known.

use std::collections::{BTreeSet, VecDeque};

use dnsdyno_measure::{Samples, Watched, merge_samples};
use dnsdyno_plan::{Target, Watch};
use dnsdyno_probe::{Begun, Beside, Opened, Sampling, SamplingClock, Targets};
use dnsdyno_record::{Event, Interval};

use crate::error::RunError;
use crate::observer::{Note, Observer};

/// Opens what the plan watches, and reads it for the first time: no query may be sent before.
pub(crate) fn open_watched<'a>(
    watch: &[Watch],
    servers: impl Iterator<Item = &'a Target>,
    observer: &mut dyn Observer,
) -> Result<Begun, RunError> {
    let addresses: BTreeSet<_> = servers.map(|target| target.address).collect();
    let targets = Targets { addresses: addresses.into_iter().collect() };
    let Opened { sources, notes } = dnsdyno_probe::open(watch, &targets)?;
    notes.iter().for_each(|found| observer.note(&Note::Watching(found)));
    Ok(Begun::read(sources))
}

/// The sources of a run, and the intervals that wait for their samples.
pub(crate) struct Watching {
    sampling: Option<Sampling>,
    watched: Vec<Watched>,
    waiting: VecDeque<Interval>,
}

impl Watching {
    /// Starts to read the sources, away from the CPUs of the workers.
    pub(crate) fn start(sources: Begun, clock: SamplingClock, beside: Beside, taken: &[usize]) -> Watching {
        let sampling = (!sources.is_empty()).then(|| Sampling::start(sources, clock, beside, taken));
        let watched = sampling.as_ref().map_or_else(Vec::new, |sampling| sampling.watched().to_vec());
        Watching { sampling, watched, waiting: VecDeque::new() }
    }

    /// The sources, for the header.
    pub(crate) fn watched(&self) -> &[Watched] {
        &self.watched
    }

    /// Whether intervals can be recorded as they are.
    pub(crate) fn is_off(&self) -> bool {
        self.sampling.is_none()
    }

    /// An interval has settled: it waits for its samples.
    pub(crate) fn add(&mut self, interval: &Interval) {
        self.waiting.push_back(interval.clone());
    }

    /// The samples of an interval of a record without load, if they are known.
    pub(crate) fn take(&mut self, index: u64) -> Option<Vec<Option<Samples>>> {
        self.sampling.as_mut()?.take(index)
    }

    /// What was read after the last interval that was taken.
    pub(crate) fn rest(&mut self) -> Vec<Option<Samples>> {
        self.sampling.as_mut().map_or_else(Vec::new, Sampling::take_rest)
    }

    /// The next interval with its samples, if they are known.
    pub(crate) fn next(&mut self) -> Option<Interval> {
        let samples = self.sampling.as_mut()?.take(self.waiting.front()?.index)?;
        let interval = self.waiting.pop_front()?;
        Some(Interval { watched: samples, ..interval })
    }

    /// What has happened to the sources.
    pub(crate) fn events(&mut self) -> Vec<Event> {
        let events = self.sampling.as_mut().map(Sampling::events).unwrap_or_default();
        let event = |event: dnsdyno_probe::WatchEvent| Event {
            at_ns: event.at_ns,
            kind: event.kind.to_owned(),
            message: event.message,
            figures: [("source".to_owned(), event.source.into())].into_iter().collect(),
        };
        events.into_iter().map(event).collect()
    }

    /// Reads the sources for the last time. Returns the intervals that are left, and the series over the run.
    pub(crate) fn finish(&mut self) -> (Vec<Interval>, Vec<Option<Samples>>) {
        let Some(sampling) = &mut self.sampling else { return Default::default() };
        sampling.stop();
        let mut left = Vec::new();
        for mut interval in self.waiting.drain(..) {
            interval.watched = sampling.take(interval.index).unwrap_or_default();
            left.push(interval);
        }
        // What was read after the end of the last interval belongs to its queries.
        if let Some(last) = left.last_mut() {
            merge_samples(&mut last.watched, &sampling.take_rest());
        }
        (left, sampling.totals())
    }
}
