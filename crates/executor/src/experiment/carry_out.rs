//! Makes the runs of an experiment, from where its journal ends.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use dnsdyno_campaign::experiment::{Cell, Experiment, Next, Outcome};
use dnsdyno_lab::VethPair;
use dnsdyno_record::{Digest, FinishedRun, Header};
use dnsdyno_runner::{Control, Keep, LocalRunner, Note, Observer, PlanRunner, RunError, StopCause, validate};
use dnsdyno_sys::thread::{allowed_cpus, run_on_cpus};

use super::error::ExperimentError;
use super::facts;
use super::happen::{Clock, Happened, happen};
use super::place::{Place, clean_up};
use super::servers::{AUTO, Cpus, Standing, Starter};
use super::setup::{Setup, Wanted};
use super::stop::Stop;
use super::timetable::{Action, Event};
use crate::Journal;
use crate::journal::Earlier;

/// How far an experiment was carried out.
#[derive(Debug)]
pub struct Carried {
    /// The experiment, with the outcomes of all its runs so far.
    pub experiment: Experiment,
    /// Its journal, which knows where the records are.
    pub journal: Journal,
    /// What has stopped it; `None` where all runs are made.
    pub stopped: Option<StopCause>,
}

/// Who is told how an experiment goes on.
pub trait Watcher {
    /// Something that a person should know.
    fn says(&mut self, text: &str);

    /// So many runs of earlier parts were read again, and so many of them had been cut off.
    fn resumed(&mut self, ended: u32, cut: u32);

    /// A run begins; so many are left with it, if none is discarded.
    fn begins(&mut self, why: &str, left: u64);

    /// A run has ended, with this record, if it has one.
    fn ended(&mut self, outcome: &Outcome, run: Option<&Digest>);
}

/// Makes the runs of an experiment in `folder`, from where its journal ends, until all are made or it is stopped.
///
/// # Errors
/// A server that has never started does not start, a run cannot be made, or files cannot be written. What was measured
/// is kept, and the next call goes on with it.
pub fn carry_out(
    setup: &Setup,
    folder: &Path,
    stop: &Stop,
    watcher: &mut dyn Watcher,
) -> Result<Carried, ExperimentError> {
    let mut journal = Journal::open(folder, &setup.identity)?;
    clean_up(journal.places()).iter().for_each(|line| watcher.says(line));
    let mut experiment = Experiment::new(setup.design.clone());
    replay(&mut experiment, &mut journal, watcher)?;
    if experiment.next() == Next::Done {
        return Ok(Carried { experiment, journal, stopped: None });
    }
    let place = Place::make(&mut journal)?;
    let cpus = cpus(setup, watcher);
    let in_namespaces = in_namespaces(setup, watcher)?;
    let starter = Starter { setup, place: &place, cpus: &cpus, in_namespaces, kept: RefCell::default() };
    let mut maker = Maker { setup, starter, stop, watcher, kept: BTreeMap::new() };
    let made = maker.make(&mut experiment, &mut journal);
    // Before the place is removed, and servers before their helpers.
    maker.kept.clear();
    drop(maker.starter.kept.take());
    made?;
    Ok(Carried { experiment, journal, stopped: stop.cause() })
}

fn replay(
    experiment: &mut Experiment,
    journal: &mut Journal,
    watcher: &mut dyn Watcher,
) -> Result<(), ExperimentError> {
    let (mut ended, mut cut) = (0, 0);
    while let Some(earlier) = journal.earlier()? {
        match earlier {
            Earlier::Ended(digest, _) => {
                experiment.learn(&digest);
                ended += 1;
            }
            Earlier::Failed(why) => {
                experiment.learn_failed(&why);
                ended += 1;
            }
            // It is made again, and says nothing: nobody knows whether the server stood still with the host.
            Earlier::Cut(..) => cut += 1,
        }
    }
    if ended + cut > 0 {
        watcher.resumed(ended, cut);
    }
    Ok(())
}

fn cpus(setup: &Setup, watcher: &mut dyn Watcher) -> Cpus {
    if !setup.pin || !setup.starts_servers() {
        return Cpus::default();
    }
    let cpus = Cpus::halves(&allowed_cpus().unwrap_or_default());
    if cpus == Cpus::default() {
        watcher.says("this host has one CPU: generator and servers share it, and the figures show it");
    }
    cpus
}

/// Whether servers get namespaces of their own.
fn in_namespaces(setup: &Setup, watcher: &mut dyn Watcher) -> Result<bool, ExperimentError> {
    if setup.namespace == Wanted::Never || !setup.starts_servers() {
        return Ok(false);
    }
    match VethPair::new(1) {
        Ok(_) => Ok(true),
        Err(error) if setup.namespace == Wanted::Always => Err(ExperimentError::Host(error)),
        Err(error) => {
            watcher.says(&format!("servers run on the loopback interface of this host, because {error}"));
            Ok(false)
        }
    }
}

/// Makes the runs.
struct Maker<'a> {
    setup: &'a Setup,
    starter: Starter<'a>,
    stop: &'a Stop,
    watcher: &'a mut dyn Watcher,
    /// By number of the subject: the servers that are kept from run to run.
    kept: BTreeMap<usize, Standing>,
}

impl Maker<'_> {
    fn make(&mut self, experiment: &mut Experiment, journal: &mut Journal) -> Result<(), ExperimentError> {
        while let Next::Run { cell, why } = experiment.next() {
            self.watcher.begins(&why, experiment.left());
            let rest = Duration::from_nanos(self.setup.design.rest_ns);
            if !self.stop.wait(rest) {
                return Ok(());
            }
            let standing = match self.kept.remove(&cell.subject) {
                Some(standing) => Ok(standing),
                None => self.starter.start(cell.subject),
            };
            let standing = match standing {
                Ok(standing) => standing,
                // A server that has run before may do so again.
                Err(error) if has_run(experiment, cell.subject) => {
                    journal.begin(&why)?;
                    let reason = error.to_string();
                    journal.fail(&reason)?;
                    let outcome = experiment.learn_failed(&reason);
                    self.watcher.ended(&outcome, None);
                    continue;
                }
                Err(error) => return Err(facts::with_log_kept(error, journal.folder())),
            };
            if self.stop.cause().is_some() {
                return Ok(());
            }
            let folder = journal.begin(&why)?;
            let outcome = match self.run(cell, &why, &folder, &standing)? {
                Ran::Whole(run) => {
                    journal.end()?;
                    let outcome = experiment.learn(&run.digest);
                    self.watcher.ended(&outcome, Some(&run.digest));
                    outcome
                }
                Ran::Failed(reason) => {
                    journal.fail(&reason)?;
                    let outcome = experiment.learn_failed(&reason);
                    self.watcher.ended(&outcome, None);
                    outcome
                }
                Ran::Stopped => return Ok(()),
            };
            // A server that something is wrong with is not kept.
            let is_good = !matches!(outcome, Outcome::Discarded(_)) && standing.ended().is_none();
            if !self.setup.is_fresh && is_good {
                self.kept.insert(cell.subject, standing);
            }
        }
        Ok(())
    }

    /// Makes a run, with its events.
    fn run(
        &mut self,
        cell: Cell,
        why: &str,
        folder: &Path,
        standing: &Standing,
    ) -> Result<Ran, ExperimentError> {
        let name = |names: Option<&String>| names.cloned().unwrap_or_default();
        let subject = name(self.setup.design.subjects.get(cell.subject).map(|subject| &subject.name));
        let load = name(self.setup.design.loads.get(cell.load).map(|load| &load.name));
        let mut draft = self.setup.draft(cell.load, &standing.target, standing.is_allowed);
        let expanded = |word: String| if word == AUTO { standing.watched() } else { vec![word] };
        draft.watch = draft.watch.map(|words| words.into_iter().flat_map(expanded).collect());
        draft.name = Some(format!("{subject} {load}"));
        let events: Vec<Event> =
            self.setup.events.iter().filter(|event| event.is_of(&subject, &load)).cloned().collect();
        let (clock, control) = (Clock::default(), self.stop.of_run());
        let (made, happened) = thread::scope(|scope| {
            let happening = scope.spawn(|| happen(&events, standing, &clock));
            let made = self.made(&draft, folder, standing, &control, &clock);
            clock.end();
            let happened = happening.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            (made, happened)
        });
        let made = match made {
            Ok(made) => made,
            Err(RunError::StoppedBefore) => return Ok(Ran::Stopped),
            Err(RunError::Check(check)) => {
                return Ok(Ran::Failed(format!(
                    "{subject} did not answer as it should before the load: {check}"
                )));
            }
            Err(error) => {
                return Err(ExperimentError::Run { why: why.to_owned(), source: Box::new(error) });
            }
        };
        if made.incomplete.is_some() {
            return made.incomplete.map_or(Ok(Ran::Stopped), |source| Err(ExperimentError::Disk { source }));
        }
        facts::write(folder, standing, &happened, self.starter.cpus)?;
        for one in happened.iter().filter(|one| !one.succeeded) {
            self.watcher.says(&format!("event: `{}` {}", one.what, one.outcome));
        }
        let is_stopped = control.cause().is_some_and(StopCause::is_signal);
        Ok(match standing.ended().filter(|_| !was_killed(&events, &happened)) {
            _ if is_stopped => Ran::Stopped,
            Some(how) => Ran::Failed(format!("{subject}: {how}")),
            None if standing.lost_by_paths() > 0 => {
                let lost = standing.lost_by_paths();
                Ran::Failed(format!(
                    "the path of {subject} has lost {lost} datagrams by itself: it was too slow"
                ))
            }
            None => Ran::Whole(Box::new(made)),
        })
    }

    /// Makes a run where its server can be reached, on the CPUs of the generator.
    fn made(
        &mut self,
        draft: &dnsdyno_plan::Draft,
        folder: &Path,
        standing: &Standing,
        control: &Arc<Control>,
        clock: &Clock,
    ) -> Result<FinishedRun, RunError> {
        let lab = |error: dnsdyno_lab::LabError| RunError::Observer(Box::new(error));
        let _stay = standing.pair().map(|pair| pair.near().stay()).transpose().map_err(lab)?;
        let _pinned = Pinned::to(&self.starter.cpus.generator);
        let plan = validate(draft)?;
        let mut observer = Beginning { clock, watcher: self.watcher };
        let keep = Keep::Folder(folder.to_owned());
        let observer = &mut observer;
        LocalRunner { keep, over_sockets: None, control, observer, query_logs: None }.run(&plan)
    }
}

/// What came of a run.
enum Ran {
    /// Its record is whole.
    Whole(Box<FinishedRun>),
    /// It does not count, because of its server.
    Failed(String),
    /// The user has stopped it.
    Stopped,
}

/// Whether a subject has made a run already.
fn has_run(experiment: &Experiment, subject: usize) -> bool {
    experiment.outcomes().iter().any(|(cell, _)| cell.subject == subject)
}

/// Whether an event has ended the server on purpose.
fn was_killed(events: &[Event], happened: &[Happened]) -> bool {
    let mut kills = events.iter().filter(|event| event.action == Action::Kill);
    // A command of the user that kills it is none of these.
    kills.any(|event| happened.iter().any(|one| one.succeeded && one.what == event.words()))
}

/// Keeps the calling thread, and those that it starts, on some CPUs until it is dropped.
struct Pinned {
    before: Vec<usize>,
}

impl Pinned {
    fn to(cpus: &[usize]) -> Option<Pinned> {
        let before = allowed_cpus().ok().filter(|_| !cpus.is_empty())?;
        run_on_cpus(cpus).ok()?;
        Some(Pinned { before })
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // It was allowed to run there before.
        let _ = run_on_cpus(&self.before);
    }
}

/// Tells the clock of the events when a run begins, and the user what a run says.
struct Beginning<'a> {
    clock: &'a Clock,
    watcher: &'a mut dyn Watcher,
}

impl Observer for Beginning<'_> {
    fn begins(&mut self, _: &Header, _: Option<u64>) -> Result<(), Box<dyn Error + Send + Sync>> {
        self.clock.begin();
        Ok(())
    }

    fn note(&mut self, note: &Note<'_>) {
        if let Note::RecordTrouble(error) = note {
            self.watcher.says(&error.to_string());
        }
    }
}
