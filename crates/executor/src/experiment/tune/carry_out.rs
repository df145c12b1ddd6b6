//! Makes the trials of a night, from where its journal ends.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use dnsdyno_campaign::experiment::{Cell, doubts};
use dnsdyno_campaign::tune::{
    Acting, Answer, Changes, Figures, Judge, Next, Night, Parameter, RowState, Shown, Trial, Tuner, figures,
};
use dnsdyno_record::Digest;
use dnsdyno_runner::{Runner, StopCause};
use dnsdyno_servers::tuning::{Needs, Values};
use dnsdyno_settings::{Item, Restored, RestoredOutcome};
use dnsdyno_text::units::{duration, rate};
use serde::{Deserialize, Serialize};

use super::apply::{of, started_with, words};
use super::chosen::{Chosen, NotHere, OfStarted, chosen, wanted};
use super::host::{Host, NotSet};
use super::kept_shown::KeptShown;
use super::setup::TuneSetup;
use crate::Journal;
use crate::experiment::carry_out::{Maker, Ran, cpus, in_namespaces};
use crate::experiment::cpus::Cpus;
use crate::experiment::error::ExperimentError;
use crate::experiment::facts::write_file;
use crate::experiment::kind::Kind;
use crate::experiment::place::{Place, clean_up};
use crate::experiment::servers::Starter;
use crate::experiment::stop::Stop;
use crate::experiment::watcher::Watcher;

/// How far a night was carried out.
#[derive(Debug)]
pub struct Tuned {
    /// What it has found; of a night that was stopped, nothing.
    pub answer: Option<Answer>,
    /// The parameters, in the order of the rows of the answer.
    pub(super) chosen: Vec<Chosen>,
    /// Those that could not be changed here.
    pub not_here: Vec<NotHere>,
    /// What has stopped it.
    pub stopped: Option<StopCause>,
    /// How long its trials took together, with all around them, in ns.
    pub(super) took_ns: u64,
    /// The values that were set and do not have their old value again.
    pub not_restored: Vec<Restored>,
}

/// What is kept of a trial beside its record.
#[derive(Serialize, Deserialize)]
struct Kept {
    took_ns: u64,
    changes: Vec<(String, String)>,
    /// What each parameter was without a change; empty in trials of older versions.
    #[serde(default)]
    present: BTreeMap<String, String>,
    shown: KeptShown,
}

/// Carries a night out in `folder`, from where its journal ends, until it has its answer or is stopped. The host is
/// then as it was.
///
/// # Errors
/// This host cannot start the server, it does not start as it is, or a file cannot be written. What was measured is
/// kept, and the next call goes on with it.
pub fn tune(
    setup: &TuneSetup,
    folder: &Path,
    runner: &mut dyn Runner,
    stop: &Stop,
    watcher: &mut dyn Watcher,
) -> Result<Tuned, ExperimentError> {
    // Before anything is made.
    if !Journal::is_in(folder) {
        setup.setup.check_host()?;
    }
    let mut journal = Journal::open(folder, &setup.identity())?;
    clean_up(journal.places()).iter().for_each(|line| watcher.says(line));
    let place = Place::make(&mut journal)?;
    let cpus = cpus(&setup.setup, watcher);
    let in_namespaces = in_namespaces(&setup.setup, watcher)?;
    let host = Host::new(setup.on.clone(), &setup.there);
    let mut bench = Bench { setup, place: &place, cpus: &cpus, in_namespaces, stop, host, is_changed: false };
    let made = bench.carry_out(&mut journal, runner, watcher);
    // Also after an error: the host is as it was before anything else is said.
    let (restored, failed) = bench.restore();
    restored
        .iter()
        .filter(|one| one.outcome != RestoredOutcome::Restored)
        .for_each(|one| watcher.says(&one.to_string()));
    let not_restored = restored.into_iter().filter(|one| !one.is_as_before()).collect();
    ended(made, not_restored, failed)
}

/// How a night has ended, with what could not be restored, also where it has failed itself.
fn ended(
    made: Result<Tuned, ExperimentError>,
    not_restored: Vec<Restored>,
    failed: Option<String>,
) -> Result<Tuned, ExperimentError> {
    let told: Vec<String> = not_restored.iter().map(ToString::to_string).chain(failed.clone()).collect();
    match made {
        Ok(made) if failed.is_none() => Ok(Tuned { not_restored, ..made }),
        Ok(_) => Err(ExperimentError::Settings(told.join("; "))),
        Err(error) if told.is_empty() => Err(error),
        Err(error) => Err(ExperimentError::Settings(format!(
            "{error}; and when the host was to be as it was: {}",
            told.join("; ")
        ))),
    }
}

/// What could be changed here, and what could not; nothing is set.
pub(super) fn looked(
    setup: &TuneSetup,
    stop: &Stop,
    watcher: &mut dyn Watcher,
) -> Result<(Vec<Chosen>, Vec<NotHere>), ExperimentError> {
    setup.setup.check_host()?;
    let folder =
        tempfile::tempdir().map_err(|source| ExperimentError::Write { path: PathBuf::new(), source })?;
    let mut journal = Journal::open(folder.path(), &setup.identity())?;
    let place = Place::make(&mut journal)?;
    let cpus = cpus(&setup.setup, watcher);
    let in_namespaces = in_namespaces(&setup.setup, watcher)?;
    let host = Host::new(setup.on.clone(), &setup.there);
    Bench { setup, place: &place, cpus: &cpus, in_namespaces, stop, host, is_changed: false }.look(watcher)
}

/// Where trials are made.
struct Bench<'a> {
    setup: &'a TuneSetup,
    place: &'a Place,
    cpus: &'a Cpus,
    in_namespaces: bool,
    stop: &'a Stop,
    host: Host,
    /// Whether the configuration of a server that is there was changed since it was started.
    is_changed: bool,
}

impl Bench<'_> {
    fn carry_out(
        &mut self,
        journal: &mut Journal,
        runner: &mut dyn Runner,
        watcher: &mut dyn Watcher,
    ) -> Result<Tuned, ExperimentError> {
        let (chosen, mut not_here) = self.look(watcher)?;
        let mut tuner = Tuner::new(self.night(&chosen));
        replay(&mut tuner, &chosen, journal, watcher)?;
        loop {
            let trial = match tuner.next() {
                Next::Trial(trial) => trial,
                Next::Disturbed(why) => {
                    return Err(ExperimentError::Settings(format!("{DISTURBED}: {why}; {GOES_ON}")));
                }
                Next::Done(answer) => {
                    not_here.extend(not_set(&answer, &chosen));
                    let took_ns = tuner.elapsed_ns();
                    let (answer, not_restored) = (Some(*answer), Vec::new());
                    return Ok(Tuned { answer, chosen, not_here, stopped: None, took_ns, not_restored });
                }
            };
            let why = format!("{}: {}", trial.why, words(&trial.changes, &chosen));
            watcher.begins(&why, 0);
            let began = Instant::now();
            let mut shown = None;
            let rested = self.stop.wait(Duration::from_nanos(self.setup.setup.design.rest_ns));
            let folder = journal.begin(&why)?;
            if rested {
                shown = self.trial(&trial, &chosen, &folder, runner, watcher)?;
            }
            let Some(shown) = shown else {
                let (stopped, took_ns) = (self.stop.cause(), tuner.elapsed_ns());
                let not_restored = Vec::new();
                return Ok(Tuned { answer: None, chosen, not_here, stopped, took_ns, not_restored });
            };
            let took_ns = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
            keep(&folder, &trial.changes, &chosen, &shown, took_ns)?;
            journal.end()?;
            watcher.goes_on(&said(&shown, self.setup.checked.judge));
            tuner.learn(&shown, took_ns);
        }
    }

    /// The parameters that can be changed here, and those that cannot.
    fn look(&mut self, watcher: &mut dyn Watcher) -> Result<(Vec<Chosen>, Vec<NotHere>), ExperimentError> {
        let wanted = wanted(self.setup.server, &self.setup.options).map_err(ExperimentError::Settings)?;
        let (mut found, mut not_here) = (Vec::new(), Vec::new());
        let standing = match self.setup.kind() {
            Some(Kind::Started(_)) => Some(self.starter(&self.setup.setup).start(self.setup.subject)?),
            _ => {
                // Without a keeper nothing can be changed there.
                self.host.begin().map_err(ExperimentError::Settings)?;
                None
            }
        };
        for one in self.host.take_left() {
            if !one.is_settled() {
                return Err(ExperimentError::Settings(one.to_string()));
            }
            watcher.says(&format!("left by a tuning that was killed: {one}"));
            // The server may still run with what the file had.
            self.is_changed |= matches!(one.item, Item::File { .. });
        }
        let config = standing.as_ref().and_then(|standing| standing.files());
        let config = config.and_then(|[config, _]| fs::read_to_string(config).ok()).unwrap_or_default();
        let cpus = self.cpus_of_server();
        for tunable in wanted {
            let looked = match (&tunable.gone, self.setup.kind()) {
                (Some(gone), _) => Err(gone.clone()),
                _ if tunable.cuts_off && !self.setup.options.allows(tunable) => Err(CUTS_OFF.to_owned()),
                (None, Some(Kind::Started(started))) => {
                    let pair = standing.as_ref().and_then(|standing| standing.pair());
                    let of =
                        OfStarted { started, config: &config, server: self.setup.server, pair, cpus: &cpus };
                    of.look(tunable, &mut self.host)
                }
                (None, _) => self
                    .host
                    .look(tunable, self.setup.server, &self.setup.there)
                    .and_then(|looked| {
                        match tunable.needs == Needs::Live || self.setup.there.restart.is_some() {
                            true => Ok(looked),
                            // The server would run on with what it had, and the value would seem to gain nothing.
                            false => Err(NO_RESTART.to_owned()),
                        }
                    })
                    .and_then(|(how, present)| chosen(tunable, how, present, &cpus)),
            };
            match looked {
                Ok(one) => found.push(one),
                Err(why) => {
                    not_here.push(NotHere { id: tunable.id(), numbers: tunable.numbers.clone(), why });
                }
            }
        }
        Ok((found, not_here))
    }

    /// The numbers of the CPUs that the server may use: of one that is there, those of its host.
    fn cpus_of_server(&mut self) -> Vec<u32> {
        let is_started = matches!(self.setup.kind(), Some(Kind::Started(_)));
        let online = (!is_started).then(|| self.host.online_cpus()).flatten();
        let cpus = online.unwrap_or_else(|| match self.cpus.servers.is_empty() {
            true => dnsdyno_sys::thread::allowed_cpus().unwrap_or_else(|_| vec![0]),
            false => self.cpus.servers.clone(),
        });
        cpus.into_iter().filter_map(|cpu| u32::try_from(cpu).ok()).collect()
    }

    fn night(&self, chosen: &[Chosen]) -> Night {
        let first = &self.setup.options.first;
        let is_first = |one: &Chosen| first.iter().any(|name| one.tunable.is_called(name));
        let parameter = |one: &Chosen| Parameter {
            id: one.tunable.id(),
            values: one.values.clone(),
            is_stepped: !matches!(one.tunable.values, Values::Words(_) | Values::CpuMask { .. }),
            has_signs: !one.tunable.signs.is_empty(),
            is_first: is_first(one),
        };
        Night {
            parameters: chosen.iter().map(parameter).collect(),
            smallest_gain: self.setup.checked.smallest_gain,
            pairs: self.setup.checked.pairs,
            lasts_ns: self.setup.checked.lasts_ns,
            trial_ns: self.setup.trial_ns(),
            seed: self.setup.setup.design.seed,
            retries: self.setup.setup.design.retries,
        }
    }

    /// Makes a trial; `None` = it was stopped.
    fn trial(
        &mut self,
        trial: &Trial,
        chosen: &[Chosen],
        folder: &Path,
        runner: &mut dyn Runner,
        watcher: &mut dyn Watcher,
    ) -> Result<Option<Shown>, ExperimentError> {
        // No load is there: the one before has ended.
        if let Some(shown) = self.set(&trial.changes, chosen)? {
            return Ok(Some(shown));
        }
        let mut setup = self.setup.setup.clone();
        if let Some(Kind::Started(started)) = setup.subjects.get_mut(self.setup.subject) {
            **started = started_with(started, &trial.changes, chosen);
        }
        let cell = Cell { subject: self.setup.subject, load: self.setup.load };
        let starter = self.starter(&setup);
        let standing = match starter.start(self.setup.subject) {
            Ok(standing) => standing,
            Err(_) if self.stop.cause().is_some() => return Ok(None),
            Err(error @ ExperimentError::Start { .. }) => return Ok(Some(Shown::Failed(error.to_string()))),
            Err(error) => return Err(error),
        };
        let mut maker = Maker::new(&setup, starter, runner, self.stop, watcher);
        let ran = maker.run(cell, &trial.why, folder, &standing)?;
        drop(maker);
        drop(standing);
        Ok(match ran {
            Ran::Stopped => None,
            Ran::Failed(why) => Some(Shown::Doubtful(why)),
            Ran::Found(found) => Some(match (&found.doubt, &found.figure) {
                (Some(doubt), _) => Shown::Doubtful(doubt.clone()),
                (None, None) => Shown::Doubtful(found.answer.clone()),
                // A search has no counters of one load: each parameter may have an effect.
                (None, Some(figure)) => Shown::Counted(Figures {
                    gain: figure.value,
                    moved: vec![true; chosen.len()],
                    accounts_for: Vec::new(),
                    is_saturated: figure.is_at_least,
                    memory_bytes: None,
                }),
            }),
            Ran::Whole(run) => Some(self.shown(&run.digest, &trial.changes, chosen)),
        })
    }

    /// Restores the host, and starts a server that is there again as it was. Returns what became of each value, and why
    /// the rest could not be done.
    fn restore(&mut self) -> (Vec<Restored>, Option<String>) {
        let restored = match self.host.undo() {
            Ok(restored) => restored,
            Err(why) => return (Vec::new(), Some(why)),
        };
        let restarted = match std::mem::take(&mut self.is_changed) {
            true => self.host.restart(&self.setup.there).and_then(|restarted| restarted),
            false => Ok(()),
        };
        (restored, restarted.err())
    }

    /// Sets the values of the host and of a server that is there, from what they were. Returns what that shows, where
    /// no trial can be made with them.
    fn set(&mut self, changes: &Changes, chosen: &[Chosen]) -> Result<Option<Shown>, ExperimentError> {
        self.undo()?;
        let values: Vec<_> = of(changes, chosen).map(|(one, value)| (&one.how, one.tunable, value)).collect();
        let mut set = self.host.set(&values, self.setup.server, &self.setup.there);
        if matches!(set, Err(NotSet::Ended(_))) {
            // The keeper was killed: another one restores what it had set, and sets the values.
            self.undo()?;
            set = self.host.set(&values, self.setup.server, &self.setup.there);
        }
        match set {
            Ok(()) => {}
            // What was set of the others is restored before the next trial.
            Err(NotSet::Refused(places, why)) => {
                let numbers = places.into_iter().filter_map(|place| changes.keys().nth(place));
                return Ok(Some(Shown::NotSet(numbers.map(|number| (*number, why.clone())).collect())));
            }
            Err(NotSet::Ended(why)) => return Err(ExperimentError::Settings(why)),
        }
        if !matches!(self.setup.kind(), Some(Kind::There { .. })) {
            return Ok(None);
        }
        // The server reads its configuration, and opens its sockets, under these values.
        let needs = !changes.is_empty() || self.is_changed;
        let restarted = if needs { self.host.restart(&self.setup.there) } else { Ok(Ok(())) };
        // One that did not start again may still run with what it had.
        self.is_changed = !changes.is_empty() || !matches!(restarted, Ok(Ok(())));
        Ok(restarted.map_err(ExperimentError::Settings)?.err().map(Shown::Failed))
    }

    /// Gives the host its own values again, without which no trial can be made.
    fn undo(&mut self) -> Result<(), ExperimentError> {
        let restored = self.host.undo().map_err(ExperimentError::Settings)?;
        match restored.iter().find(|one| !one.is_as_before()) {
            Some(one) => Err(ExperimentError::Settings(format!("{one}; {NO_BASE}"))),
            None => Ok(()),
        }
    }

    fn shown(&self, run: &Digest, changes: &Changes, chosen: &[Chosen]) -> Shown {
        let strictness = self.setup.setup.design.loads.get(self.setup.load).map(|load| load.strictness);
        let found = strictness.map_or_else(Vec::new, |strictness| doubts(run, strictness));
        if !found.is_empty() {
            let why: Vec<String> = found.iter().map(ToString::to_string).collect();
            return Shown::Doubtful(why.join("; "));
        }
        let value = |at: usize, one: &Chosen| {
            let set = changes.get(&at).and_then(|value| one.values.get(*value));
            set.or(one.present.as_ref())?.trim().parse::<u64>().ok()
        };
        let acting: Vec<Acting<'_>> = chosen
            .iter()
            .enumerate()
            .map(|(at, one)| Acting { signs: &one.tunable.signs, value: value(at, one) })
            .collect();
        let named = |name: &str| {
            let at = chosen.iter().position(|one| one.tunable.name == name);
            match at {
                Some(at) => chosen.get(at).and_then(|one| value(at, one)),
                None => self.setup.server.default_of(name)?.parse().ok(),
            }
        };
        match figures(run, self.setup.checked.judge, self.setup.errors_count, &acting, named) {
            Some(figures) => Shown::Counted(figures),
            None => Shown::Doubtful(NO_FIGURE.to_owned()),
        }
    }

    fn starter<'s>(&'s self, setup: &'s crate::experiment::setup::Setup) -> Starter<'s> {
        let cancel = self.stop.cancel();
        let (place, cpus, in_namespaces) = (self.place, self.cpus, self.in_namespaces);
        Starter { setup, place, cpus, in_namespaces, cancel, kept: RefCell::default() }
    }
}

/// The parameters that turned out, when they were to be set, to be none that can be changed here.
fn not_set<'a>(answer: &'a Answer, chosen: &'a [Chosen]) -> impl Iterator<Item = NotHere> + 'a {
    answer.rows.iter().zip(chosen).filter_map(|(row, one)| match &row.state {
        RowState::NotSet(why) => {
            Some(NotHere { id: one.tunable.id(), numbers: one.tunable.numbers.clone(), why: why.clone() })
        }
        _ => None,
    })
}

const LONGEST_VALUE: usize = 80;

const NO_FIGURE: &str = "it has no figure to judge it by: no query was answered in time, or none without an error \
                         (FORMERR, SERVFAIL, NOTIMP, REFUSED)";

const DISTURBED: &str = "the server was measured as it is before, and cannot be any more";

const GOES_ON: &str =
    "when the host is quiet again, type the same command: it goes on with the trials that it has";

const NO_RESTART: &str = "it holds only after the server is started again: give --restart";

const NO_BASE: &str =
    "the tuning ends, because its next trials would not begin with the values that the others had";

/// Learns the trials of earlier parts of a night.
fn replay(
    tuner: &mut Tuner,
    chosen: &[Chosen],
    journal: &mut Journal,
    watcher: &mut dyn Watcher,
) -> Result<(), ExperimentError> {
    let (mut ended, mut cut) = (0, 0);
    while let Some(left) = journal.left() {
        let crate::journal::Left::Ended(folder) = left else {
            cut += 1;
            continue;
        };
        let kept = kept(&folder)?;
        // This trial was made after the host was disturbed, if it was.
        tuner.go_on();
        check_same(tuner, chosen, &kept)?;
        tuner.learn(&kept.shown.into(), kept.took_ns);
        ended += 1;
    }
    tuner.go_on();
    if ended + cut > 0 {
        watcher.resumed(ended, cut);
    }
    Ok(())
}

/// Whether a trial that has ended is the one that would be made now, of a host with the same values.
fn check_same(tuner: &mut Tuner, chosen: &[Chosen], kept: &Kept) -> Result<(), ExperimentError> {
    let differ = |was: &str, is: &str| {
        ExperimentError::Settings(format!(
            "the host is not as it was when this tuning began, so that its earlier trials cannot be used: {was} then, \
             and {is} now; make it as it was, or begin another tuning in another folder"
        ))
    };
    let shown = |all: &BTreeMap<String, String>, id: &str| match all.get(id) {
        Some(value) => format!("{id} was {}", dnsdyno_text::shown(value, LONGEST_VALUE)),
        None => format!("{id} could not be changed"),
    };
    let present = present(chosen);
    let is_other = |id: &&String| kept.present.get(*id) != present.get(*id);
    if !kept.present.is_empty()
        && let Some(id) = kept.present.keys().chain(present.keys()).find(is_other)
    {
        let now = shown(&present, id).replacen(" was ", " is ", 1).replacen(" could not ", " cannot ", 1);
        return Err(differ(&shown(&kept.present, id), &now));
    }
    let said = |changes: &[(String, String)]| match changes {
        [] => "a trial without a change".to_owned(),
        _ => changes.iter().map(|(id, value)| format!("{id}={value}")).collect::<Vec<_>>().join(" "),
    };
    match tuner.next() {
        Next::Trial(trial) if named(&trial.changes, chosen) == kept.changes => Ok(()),
        Next::Trial(trial) => Err(differ(&said(&kept.changes), &said(&named(&trial.changes, chosen)))),
        Next::Done(_) | Next::Disturbed(_) => Err(differ(&said(&kept.changes), "no further trial")),
    }
}

/// The changes of a trial, by the names of their parameters.
fn named(changes: &Changes, chosen: &[Chosen]) -> Vec<(String, String)> {
    of(changes, chosen).map(|(one, value)| (one.tunable.id(), value.to_owned())).collect()
}

/// What each parameter that can be changed is without a change.
fn present(chosen: &[Chosen]) -> BTreeMap<String, String> {
    chosen.iter().map(|one| (one.tunable.id(), one.present.clone().unwrap_or_default())).collect()
}

fn keep(
    folder: &Path,
    changes: &Changes,
    chosen: &[Chosen],
    shown: &Shown,
    took_ns: u64,
) -> Result<(), ExperimentError> {
    let (changes, present) = (named(changes, chosen), present(chosen));
    let kept = Kept { took_ns, changes, present, shown: shown.clone().into() };
    let cannot = |source| ExperimentError::Write { path: folder.to_owned(), source };
    fs::create_dir_all(folder).map_err(cannot)?;
    let text = serde_json::to_string_pretty(&kept).map_err(|error| cannot(error.into()))?;
    write_file(&folder.join(TRIAL), text.as_bytes())
}

fn kept(folder: &Path) -> Result<Kept, ExperimentError> {
    let path = folder.join(TRIAL);
    let cannot = |source| ExperimentError::Found { path: path.clone(), source };
    let text = dnsdyno_record::read_regular(&path).map_err(cannot)?;
    serde_json::from_str(&text).map_err(|error| cannot(error.into()))
}

/// A trial in a line.
fn said(shown: &Shown, judge: Judge) -> String {
    match shown {
        Shown::Counted(figures) if judge != Judge::Answered => {
            format!("{} {}", judge.word(), duration((1e9 / figures.gain) as u64))
        }
        Shown::Counted(figures) => {
            let all = if figures.is_saturated { ", all of the load" } else { "" };
            format!("{}{all}", rate(figures.gain))
        }
        Shown::Doubtful(why) => format!("does not count: {why}"),
        Shown::Failed(why) => format!("does not run: {}", why.lines().next().unwrap_or_default()),
        Shown::NotSet(which) => {
            let why: Vec<&str> = which.iter().map(|(_, why)| why.as_str()).collect();
            format!("not made, and goes on without what cannot be set: {}", why.join("; "))
        }
    }
}

/// In the folder of a trial.
const TRIAL: &str = "trial.json";

const CUTS_OFF: &str = "it may cut the host off from the network: allow it with --allow NAME";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_restored_is_told_with_the_error_that_ended_the_night() {
        let error = || ExperimentError::Settings("the link is lost".to_owned());
        let item = Item::Kernel { path: "/proc/sys/vm/swappiness".into() };
        let left = Restored { item, outcome: RestoredOutcome::Failed("read-only".to_owned()) };
        let said = ended(Err(error()), vec![left], Some("it does not start".to_owned())).unwrap_err();
        for words in ["the link is lost", "vm.swappiness", "read-only", "it does not start"] {
            assert!(said.to_string().contains(words), "{words}: {said}");
        }
        assert_eq!(ended(Err(error()), Vec::new(), None).unwrap_err().to_string(), "the link is lost");
    }
}
