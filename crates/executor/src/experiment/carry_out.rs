//! Makes the runs of an experiment, from where its journal ends.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use dnsdyno_campaign::experiment::{Cell, Experiment, Found, Next, Outcome};
use dnsdyno_lab::VethPair;
use dnsdyno_plan::Draft;
use dnsdyno_report::answer;
use dnsdyno_runner::{Control, FinishedRun, Keep, RunError, RunJob, Runner, StopCause};
use dnsdyno_sys::thread::allowed_cpus;
use dnsdyno_text::secret::Masked;

use super::cpus::Cpus;
use super::error::ExperimentError;
use super::facts;
use super::found::{self, SearchEnd};
use super::generator::{Beginning, at_generator};
use super::happen::{Clock, EventRecord, happen};
use super::place::{Place, clean_up};
use super::replay::replay;
use super::servers::{AUTO, Standing, Starter};
use super::setup::{NamespaceUse, Setup};
use super::stop::Stop;
use super::timetable::{Action, Event as Planned};
use super::watcher::Watcher;
use super::way::LoadMethod;
use crate::Journal;

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

/// Makes the runs of an experiment in `folder`, from where its journal ends, until all are made or it is stopped.
///
/// # Errors
/// This host cannot start a server, one that has never started does not start, a run cannot be made, or files cannot be
/// written. What was measured is kept, and the next call goes on with it.
pub fn carry_out(
    setup: &Setup,
    folder: &Path,
    runner: &mut dyn Runner,
    stop: &Stop,
    watcher: &mut dyn Watcher,
) -> Result<Carried, ExperimentError> {
    // Before anything is made. One that was begun needs this host only where runs are left.
    let is_begun = Journal::is_in(folder);
    if !is_begun {
        setup.check_host()?;
    }
    let mut journal = Journal::open(folder, &setup.identity)?;
    clean_up(journal.places()).iter().for_each(|line| watcher.says(line));
    let mut experiment = Experiment::new(setup.design.clone());
    replay(&mut experiment, &mut journal, watcher)?;
    if experiment.next() == Next::Done {
        return Ok(Carried { experiment, journal, stopped: None });
    }
    if is_begun {
        setup.check_host()?;
    }
    let place = Place::make(&mut journal)?;
    let cpus = cpus(setup, watcher);
    let in_namespaces = in_namespaces(setup, watcher)?;
    let (cancel, kept) = (stop.cancel(), RefCell::default());
    let starter = Starter { setup, place: &place, cpus: &cpus, in_namespaces, cancel, kept };
    let mut maker = Maker::new(setup, starter, runner, stop, watcher);
    let made = maker.make(&mut experiment, &mut journal);
    // Before the place is removed, and servers before their helpers.
    maker.kept.clear();
    drop(maker.starter.kept.take());
    made?;
    Ok(Carried { experiment, journal, stopped: stop.cause() })
}

/// The CPUs of generator and servers.
pub(super) fn cpus(setup: &Setup, watcher: &mut dyn Watcher) -> Cpus {
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
pub(super) fn in_namespaces(setup: &Setup, watcher: &mut dyn Watcher) -> Result<bool, ExperimentError> {
    if setup.namespace == NamespaceUse::Never || !setup.starts_servers() {
        return Ok(false);
    }
    match VethPair::new(1) {
        Ok(_) => Ok(true),
        Err(error) if setup.namespace == NamespaceUse::Always => Err(ExperimentError::Host(error)),
        Err(error) => {
            watcher.says(&format!("servers run on the loopback interface of this host, because {error}"));
            Ok(false)
        }
    }
}

/// Makes the runs.
pub(super) struct Maker<'a> {
    setup: &'a Setup,
    starter: Starter<'a>,
    runner: &'a mut dyn Runner,
    stop: &'a Stop,
    watcher: &'a mut dyn Watcher,
    /// By number of the subject: the servers that are kept from run to run.
    kept: BTreeMap<usize, Standing>,
}

impl<'a> Maker<'a> {
    /// One that keeps no server.
    pub(super) fn new(
        setup: &'a Setup,
        starter: Starter<'a>,
        runner: &'a mut dyn Runner,
        stop: &'a Stop,
        watcher: &'a mut dyn Watcher,
    ) -> Maker<'a> {
        Maker { setup, starter, runner, stop, watcher, kept: BTreeMap::new() }
    }

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
                // Its start was called off.
                Err(_) if self.stop.cause().is_some() => return Ok(()),
                // A server that has run before may do so again.
                Err(error) if has_run(experiment, cell.subject) => {
                    journal.begin(&why)?;
                    let reason = error.to_string();
                    journal.fail(&reason)?;
                    let outcome = experiment.learn_failed(&reason);
                    self.watcher.ended(&outcome, "");
                    continue;
                }
                Err(error) => return Err(facts::with_log_kept(error, journal.folder())),
            };
            if self.stop.cause().is_some() {
                return Ok(());
            }
            let folder = match self.setup.loads.get(cell.load).map(|load| &load.way) {
                Some(LoadMethod::Search(_)) => journal.go_on(&why)?,
                _ => journal.begin(&why)?,
            };
            let (outcome, says) = match self.run(cell, &why, &folder, &standing)? {
                Ran::Whole(run) => {
                    journal.end()?;
                    (experiment.learn(&run.digest), answer(&run.digest).sentence)
                }
                Ran::Found(found) => {
                    found::keep(&folder, &found)?;
                    journal.end()?;
                    let says = found.answer.clone();
                    (experiment.learn_found(*found), says)
                }
                Ran::Failed(reason) => {
                    journal.fail(&reason)?;
                    (experiment.learn_failed(&reason), String::new())
                }
                Ran::Stopped => return Ok(()),
            };
            self.watcher.ended(&outcome, &says);
            // A server that something is wrong with is not kept.
            let is_good = !matches!(outcome, Outcome::Discarded(_)) && standing.ended().is_none();
            if !self.setup.is_fresh && is_good {
                self.kept.insert(cell.subject, standing);
            }
        }
        Ok(())
    }

    /// Makes a run, with its events.
    pub(super) fn run(
        &mut self,
        cell: Cell,
        why: &str,
        folder: &Path,
        standing: &Standing,
    ) -> Result<Ran, ExperimentError> {
        let name = |names: Option<&String>| names.cloned().unwrap_or_default();
        let subject = name(self.setup.design.subjects.get(cell.subject).map(|subject| &subject.name));
        let load = name(self.setup.design.loads.get(cell.load).map(|load| &load.name));
        let draft = Draft { name: Some(format!("{subject} {load}")), ..self.draft(cell.load, standing) };
        let how = self.setup.loads.get(cell.load);
        let way = how.map_or(&LoadMethod::Run, |how| &how.way);
        let is_event =
            |event: &&Planned| event.is_of(&subject, &load) && !matches!(way, LoadMethod::Search(_));
        let events: Vec<Planned> = self.setup.events.iter().filter(is_event).cloned().collect();
        // A server that is kept has the path that the events of the run before have left.
        if let Err(error) = standing.restore_paths() {
            return Ok(Ran::Failed(format!("{subject}: its path cannot be restored: {error}")));
        }
        if let Some(before) = how.and_then(|how| how.before.as_ref()) {
            let queries = draft.queries.as_deref().map(Path::new);
            match standing.make_before(before, &self.starter.cpus.generator, queries)? {
                Some(_) if self.stop.cause().is_some() => return Ok(Ran::Stopped),
                Some(why) => return Ok(why_ended(Ran::Failed(why), &subject, standing)),
                None => {}
            }
        }
        let (clock, control) = (Clock::default(), self.stop.of_run());
        let (made, happened) = thread::scope(|scope| {
            let happening = scope.spawn(|| happen(&events, standing, &clock));
            let made = match way {
                LoadMethod::Run => self.measured(&draft, why, folder, standing, &control, &clock),
                LoadMethod::Search(options) => {
                    let search =
                        || found::search(options, &draft, folder, self.runner, &control, self.watcher);
                    let failed =
                        |source| ExperimentError::Search { why: why.to_owned(), source: Box::new(source) };
                    let came = at_generator(standing, self.starter.cpus, search);
                    came.map_err(ExperimentError::from).and_then(|came| came.map(Ran::from).map_err(failed))
                }
                LoadMethod::Program(program) => {
                    clock.begin(Instant::now());
                    let came =
                        found::run_program(program, &draft, folder, standing, self.starter.cpus, self.stop);
                    came.map(Ran::from)
                }
            };
            clock.end();
            let happened = happening.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            (made, happened)
        });
        let made = match made? {
            ran @ (Ran::Whole(_) | Ran::Found(_)) => ran,
            ran @ (Ran::Failed(_) | Ran::Stopped) => return Ok(why_ended(ran, &subject, standing)),
        };
        facts::write(folder, standing, &happened, self.starter.cpus)?;
        for one in happened.iter().filter(|one| !one.succeeded) {
            self.watcher.says(&format!("event: `{}` {}", one.what, one.outcome));
        }
        let is_stopped = control.cause().is_some_and(StopCause::is_signal);
        Ok(match standing.ended().filter(|_| !was_killed(&events, &happened)) {
            _ if is_stopped => Ran::Stopped,
            Some(how) => Ran::Failed(format!("{subject}: {how}")),
            None => behind_path(made, &subject, standing.lost_by_paths()),
        })
    }

    /// The options of a run of a load at a server that stands: what was known of it only now is filled in.
    fn draft(&self, load: usize, standing: &Standing) -> Draft {
        let mut draft = self.setup.draft(load, "", standing.is_allowed);
        draft.server = Some(standing.target_over(draft.transport));
        // A file that a command of the experiment makes is in a folder that is known now.
        draft.queries = draft.queries.map(|path| standing.filled(&path));
        let words_of = |word: &Masked| match word.exposed() == AUTO {
            true => standing.watched().into_iter().map(Masked::from).collect(),
            false => vec![Masked::from(standing.filled(word.exposed()))],
        };
        draft.watch = draft.watch.map(|words| words.iter().flat_map(words_of).collect());
        draft
    }

    /// Makes a run of ours.
    fn measured(
        &mut self,
        draft: &Draft,
        why: &str,
        folder: &Path,
        standing: &Standing,
        control: &Arc<Control>,
        clock: &Clock,
    ) -> Result<Ran, ExperimentError> {
        let made = at_generator(standing, self.starter.cpus, || {
            let plans = self.runner.validate(draft)?;
            let job = RunJob::new(&plans, Keep::Folder(folder.to_owned()));
            self.runner.run(&job, control, &mut Beginning { clock, watcher: self.watcher })
        })?;
        match made {
            Ok(FinishedRun { incomplete: Some(source), .. }) => Err(ExperimentError::Disk { source }),
            Ok(run) => Ok(Ran::Whole(Box::new(run))),
            Err(RunError::StoppedBefore(_)) => Ok(Ran::Stopped),
            Err(RunError::Check(check)) => {
                Ok(Ran::Failed(format!("it did not answer as it should before the load: {check}")))
            }
            Err(error) => Err(ExperimentError::Run { why: why.to_owned(), source: Box::new(error) }),
        }
    }
}

/// What came of a run.
pub(super) enum Ran {
    /// Its record is whole.
    Whole(Box<FinishedRun>),
    /// It was a search or a program, and has found this.
    Found(Box<Found>),
    /// It does not count, because of its server.
    Failed(String),
    /// The user has stopped it.
    Stopped,
}

impl From<SearchEnd> for Ran {
    fn from(came: SearchEnd) -> Ran {
        match came {
            SearchEnd::Found(found) => Ran::Found(found),
            SearchEnd::Failed(why) => Ran::Failed(why),
            SearchEnd::Stopped => Ran::Stopped,
        }
    }
}

/// A run that has failed, with its subject: the end of the server says more than what came of it.
fn why_ended(ran: Ran, subject: &str, standing: &Standing) -> Ran {
    match ran {
        Ran::Failed(why) => Ran::Failed(format!("{subject}: {}", standing.ended().unwrap_or(why))),
        other => other,
    }
}

/// A run behind a path that has lost datagrams by itself: a run of ours says nothing then. Searches and programs go
/// beyond what is held, and there the path may lose too: the server holds at least what they found.
fn behind_path(made: Ran, subject: &str, lost: u64) -> Ran {
    match made {
        made if lost == 0 => made,
        Ran::Found(mut found) => {
            found.answer.push_str(&format!(
                "; at least, because the path to it has lost {lost} datagrams by itself: it was too slow"
            ));
            found.figure.iter_mut().for_each(|figure| figure.is_at_least = true);
            Ran::Found(found)
        }
        _ => {
            Ran::Failed(format!("the path of {subject} has lost {lost} datagrams by itself: it was too slow"))
        }
    }
}

/// Whether a subject has made a run already.
fn has_run(experiment: &Experiment, subject: usize) -> bool {
    experiment.outcomes().iter().any(|(cell, _)| cell.subject == subject)
}

/// Whether an event has ended the server on purpose.
fn was_killed(events: &[Planned], happened: &[EventRecord]) -> bool {
    let mut kills = events.iter().filter(|event| event.action == Action::Kill);
    // A command of the user that kills it is none of these.
    kills.any(|event| happened.iter().any(|one| one.succeeded && one.what == event.words()))
}
