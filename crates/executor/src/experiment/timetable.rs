//! What is to happen to a server during a run, and when.

use std::time::Duration;

use dnsdyno_campaign::experiment::Subject;
use dnsdyno_text::secret::without_credentials;

use super::file::{EventTable, ServerWord};
use super::kind::Kind;
use super::path::PathChange;
use super::subjects::LeftOut;
use super::values::duration;

/// Something that happens.
#[derive(Clone, Debug)]
pub(super) struct Event {
    /// What it is called, where its action is not said.
    name: Option<String>,
    pub(super) at_ns: u64,
    /// From then on again and again, with this time between.
    pub(super) every_ns: Option<u64>,
    pub(super) action: Action,
    /// The helper that it happens to; `None` = the server.
    pub(super) helper: Option<String>,
    /// Names of subjects, or of servers with all their variants; `None` = all.
    pub(super) on: Option<Vec<String>>,
    /// `None` = all.
    pub(super) loads: Option<Vec<String>>,
}

/// What is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// A command of the shell, which may take its time.
    Command(String),
    /// The server stands still for so long.
    Pause(Duration),
    Stop,
    Continue,
    Kill,
    Restart,
    /// The path to the server, or to a helper, is another one from then on.
    Path(PathChange),
    /// Only its instant is noted.
    Nothing,
}

impl Event {
    /// Whether it happens under a load.
    pub(super) fn is_of_load(&self, load: &str) -> bool {
        self.loads.as_ref().is_none_or(|loads| loads.iter().any(|name| name == load))
    }

    /// Whether it is for loads that it names.
    pub(super) fn names_loads(&self) -> bool {
        self.loads.is_some()
    }

    /// Whether it happens to a subject under a load.
    pub(super) fn is_of(&self, subject: &str, load: &str) -> bool {
        self.is_of_subject(subject) && self.is_of_load(load)
    }

    fn is_of_subject(&self, subject: &str) -> bool {
        let server = subject.split('/').next().unwrap_or(subject);
        self.on.as_ref().is_none_or(|on| on.iter().any(|name| name == subject || name == server))
    }

    /// What is done, for people.
    pub(super) fn words(&self) -> String {
        if let Some(name) = &self.name {
            return name.clone();
        }
        let whom = self.helper.as_deref().unwrap_or("the server");
        match &self.action {
            Action::Command(command) => without_credentials(command).into_owned(),
            Action::Pause(time) => format!("pause {whom} for {time:?}"),
            Action::Stop => format!("stop {whom}"),
            Action::Continue => format!("continue {whom}"),
            Action::Kill => format!("kill {whom}"),
            Action::Restart => format!("restart {whom}"),
            Action::Path(change) => change.said.clone(),
            Action::Nothing => "mark".to_owned(),
        }
    }
}

/// What events may name.
pub(super) struct Known<'a> {
    pub(super) subjects: &'a [Subject],
    /// By number of the subject.
    pub(super) kinds: &'a [Kind],
    pub(super) left_out: &'a [LeftOut],
    pub(super) loads: &'a [String],
    pub(super) helpers: &'a [&'a str],
}

impl Known<'_> {
    /// Whether it is the name of a server or variant, also of one that is left out.
    fn is_subject(&self, name: &str) -> bool {
        let left_out = self.left_out.iter().map(|one| &one.name);
        let mut all = self.subjects.iter().map(|subject| &subject.name).chain(left_out);
        all.any(|known| known == name || known.starts_with(&format!("{name}/")))
    }

    /// Checks that a change of a path is possible on each server that it happens to.
    fn check_path(&self, event: &Event) -> Result<(), String> {
        let Action::Path(change) = &event.action else { return Ok(()) };
        for (subject, kind) in self.subjects.iter().zip(self.kinds) {
            if !event.is_of_subject(&subject.name) {
                continue;
            }
            let own = match kind {
                Kind::Started(started) => started.path.as_ref(),
                Kind::There { .. } => None,
            };
            let own = own.filter(|own| own.helper == change.helper).ok_or_else(|| {
                format!(
                    "an [[event]] changes a path that `{}` does not have: give the server a `path`, `path = {{}}` at \
                     least, or name other servers with `on`",
                    subject.name
                )
            })?;
            change.of(&own.path)?;
        }
        Ok(())
    }
}

/// The events of a file.
pub(super) fn events(tables: &[EventTable], known: &Known<'_>) -> Result<Vec<Event>, String> {
    tables.iter().map(|table| event(table, known)).collect()
}

fn event(table: &EventTable, known: &Known<'_>) -> Result<Event, String> {
    let check = |key: &str, names: &Option<Vec<String>>, known: &dyn Fn(&str) -> bool| match names {
        Some(names) => names.iter().find(|name| !known(name)).map_or(Ok(()), |name| {
            Err(format!("an [[event]] has `{key}` with `{name}`, which is the name of none"))
        }),
        None => Ok(()),
    };
    let at_ns = duration("at", table.at.as_ref())?;
    let at_ns =
        at_ns.ok_or("each [[event]] needs `at`, the time since the start of a run, such as \"10s\"")?;
    let every_ns = duration("every", table.every.as_ref())?;
    if every_ns.is_some_and(|ns| ns < LEAST_EVERY_NS) {
        return Err("`every` of an [[event]] is at least 10ms".to_owned());
    }
    let helper = table.helper.as_ref().map(|helper| vec![helper.clone()]);
    check("on", &table.on, &|name| known.is_subject(name))?;
    check("loads", &table.loads, &|name| known.loads.iter().any(|load| load == name))?;
    check("helper", &helper, &|name| known.helpers.contains(&name))?;
    let event = Event {
        name: table.name.clone(),
        at_ns,
        every_ns,
        action: action(table, known.helpers)?,
        helper: table.helper.clone(),
        on: table.on.clone(),
        loads: table.loads.clone(),
    };
    known.check_path(&event)?;
    Ok(event)
}

/// What an event does.
fn action(table: &EventTable, helpers: &[&str]) -> Result<Action, String> {
    let pause = duration("pause", table.pause.as_ref())?;
    let path = table.path.as_ref().map(|table| PathChange::new(table, helpers)).transpose()?;
    Ok(match (&table.run, table.server, pause, path) {
        (Some(command), None, None, None) => Action::Command(command.clone()),
        (None, Some(word), None, None) => match word {
            ServerWord::Stop => Action::Stop,
            ServerWord::Continue => Action::Continue,
            ServerWord::Kill => Action::Kill,
            ServerWord::Restart => Action::Restart,
        },
        (None, None, Some(ns), None) => Action::Pause(Duration::from_nanos(ns)),
        (None, None, None, Some(change)) => Action::Path(change),
        (None, None, None, None) => Action::Nothing,
        _ => {
            return Err(
                "an [[event]] has one of `run`, `server`, `pause` and `path`: make one of each".to_owned()
            );
        }
    })
}

/// More often, events would be a load of their own.
const LEAST_EVERY_NS: u64 = 10_000_000;
