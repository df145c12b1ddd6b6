//! What is watched from this host beside a load that others make: what is reached over SSH.

use dnsdyno_measure::{Samples, Watched};
use dnsdyno_plan::{Plan, Watch};
use dnsdyno_probe::{Begun, Beside, SamplingClock};
use dnsdyno_record::{Event, Interval};

use crate::error::RunError;
use crate::observer::Observer;
use crate::watching::{Watching, open_watched};

/// Sources that are open, and were read for the first time.
pub struct OpenHere(Begun);

/// The same in a run, with the intervals that wait for their samples.
pub struct WatchedHere(Watching);

impl OpenHere {
    /// Opens those of the sources of a plan that are reached from here.
    ///
    /// # Errors
    /// One cannot be watched.
    pub fn open(plan: &Plan, observer: &mut dyn Observer) -> Result<OpenHere, RunError> {
        let here: Vec<Watch> = plan.watch.iter().filter(|watch| is_here(watch)).cloned().collect();
        let servers = plan.mix.servers().chain([&plan.target]);
        Ok(OpenHere(open_watched(&here, servers, observer)?))
    }

    /// Reads them in each interval of a run that starts at this instant of the monotonic clock.
    pub fn start(self, epoch_ns: u64, interval_ns: u64) -> WatchedHere {
        let clock = SamplingClock { epoch_ns, interval_ns };
        WatchedHere(Watching::start(self.0, None, clock, Beside::Load, &[]))
    }
}

impl WatchedHere {
    /// The sources, for the header.
    pub fn watched(&self) -> &[Watched] {
        self.0.watched()
    }

    /// An interval waits for its samples; it is returned at once where there will be none.
    pub fn add(&mut self, interval: Interval) -> Option<Interval> {
        if self.0.is_off() {
            return Some(interval);
        }
        self.0.add(&interval);
        None
    }

    /// The next interval with its samples, if they are known.
    pub fn take_next(&mut self) -> Option<Interval> {
        self.0.next()
    }

    /// What has happened to the sources.
    pub fn events(&mut self) -> Vec<Event> {
        self.0.events()
    }

    /// Reads the sources for the last time. Returns the intervals that are left, and the samples of the run.
    pub fn finish(&mut self) -> (Vec<Interval>, Vec<Option<Samples>>) {
        self.0.finish()
    }
}

/// Whether a source is reached from the host of the user, not by each agent.
pub fn is_here(watch: &Watch) -> bool {
    matches!(watch, Watch::Ssh(_))
}
