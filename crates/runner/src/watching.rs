//! What is watched beside the load, and the test bed: an interval is recorded when its samples are known.

use std::collections::{BTreeSet, VecDeque};

use dnsdyno_measure::{LossesBeside, Samples, TestBed, Watched, merge_samples};
use dnsdyno_plan::{Target, Watch};
use dnsdyno_probe::{Bed, Begun, Beside, Opened, Sampling, SamplingClock, Targets};
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

/// The test bed of a load that goes to these servers.
pub(crate) fn open_bed<'a>(servers: impl Iterator<Item = &'a Target>) -> Bed {
    let addresses: BTreeSet<_> = servers.map(|target| target.address).collect();
    Bed::open(&Targets { addresses: addresses.into_iter().collect() })
}

/// The sources of a run, and the intervals that wait for their samples.
pub(crate) struct Watching {
    sampling: Option<Sampling>,
    watched: Vec<Watched>,
    /// Where the last source is the test bed, which is in the arrivals of an interval and no source of the record.
    bed: Option<RunBed>,
    waiting: VecDeque<Interval>,
}

/// The test bed of a run.
#[derive(Default)]
struct RunBed {
    beside: LossesBeside,
    /// That of the intervals so far.
    sum: Option<Box<TestBed>>,
}

impl Watching {
    /// Starts to read the sources, and the test bed of a load, away from the CPUs of the workers.
    pub(crate) fn start(
        mut sources: Begun,
        bed: Option<Bed>,
        clock: SamplingClock,
        beside: Beside,
        taken: &[usize],
    ) -> Watching {
        let run_bed = bed.is_some().then(RunBed::default);
        if let Some(bed) = bed {
            sources.add_from_start(Box::new(bed));
        }
        let sampling = (!sources.is_empty()).then(|| Sampling::start(sources, clock, beside, taken));
        let mut watched = sampling.as_ref().map_or_else(Vec::new, |sampling| sampling.watched().to_vec());
        run_bed.iter().for_each(|_| drop(watched.pop()));
        Watching { sampling, watched, bed: run_bed, waiting: VecDeque::new() }
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
        let mut interval = self.waiting.pop_front()?;
        self.complete(&mut interval, samples);
        Some(interval)
    }

    /// Adds its samples to an interval, and what the test bed did in it.
    fn complete(&mut self, interval: &mut Interval, mut samples: Vec<Option<Samples>>) {
        if let Some(bed) = &mut self.bed {
            let of_bed = samples.get(self.watched.len()).and_then(Option::as_ref).map(Bed::in_interval);
            let length_ns = interval.to_ns.saturating_sub(interval.from_ns);
            interval.arrivals.bed = of_bed.map(Box::new);
            bed.beside.count(length_ns, &interval.tally, &mut interval.arrivals);
            dnsdyno_measure::Counter::merge_in_time(&mut bed.sum, &interval.arrivals.bed);
        }
        samples.truncate(self.watched.len());
        // After those of agents, in a run that they make.
        interval.watched.extend(samples);
    }

    /// The test bed over the intervals that were recorded.
    pub(crate) fn bed(&mut self) -> Option<Box<TestBed>> {
        self.bed.as_mut()?.sum.take()
    }

    /// What has happened to the sources.
    pub(crate) fn events(&mut self) -> Vec<Event> {
        let mut events = self.sampling.as_mut().map(Sampling::events).unwrap_or_default();
        events.retain(|event| event.source < self.watched.len());
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
        let mut left = Vec::from(std::mem::take(&mut self.waiting));
        let samples = left.iter().map(|interval| sampling.take(interval.index).unwrap_or_default());
        let samples: Vec<_> = samples.collect();
        let mut totals = sampling.totals();
        totals.truncate(self.watched.len());
        // What was read after the end of the last interval belongs to its queries.
        let mut rest = if left.is_empty() { Vec::new() } else { sampling.take_rest() };
        rest.truncate(self.watched.len());
        for (interval, samples) in left.iter_mut().zip(samples) {
            self.complete(interval, samples);
        }
        if let Some(last) = left.last_mut() {
            merge_samples(&mut last.watched, &rest);
        }
        (left, totals)
    }
}
