//! What is to happen to a server during a run, and when.

use std::time::Duration;

use dnsdyno_campaign::experiment::Subject;
use dnsdyno_text::secret::without_credentials;

use super::file::{EventTable, ServerWord};
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
        let server = subject.split('/').next().unwrap_or(subject);
        let is_of_subject =
            self.on.as_ref().is_none_or(|on| on.iter().any(|name| name == subject || name == server));
        is_of_subject && self.is_of_load(load)
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
            Action::Nothing => "mark".to_owned(),
        }
    }
}

/// The events of a file.
pub(super) fn events(
    tables: &[EventTable],
    subjects: &[Subject],
    loads: &[String],
    helpers: &[&str],
) -> Result<Vec<Event>, String> {
    let check = |key: &str, names: &Option<Vec<String>>, known: &dyn Fn(&str) -> bool| match names {
        Some(names) => names.iter().find(|name| !known(name)).map_or(Ok(()), |name| {
            Err(format!("an [[event]] has `{key}` with `{name}`, which is the name of none"))
        }),
        None => Ok(()),
    };
    let of = |table: &EventTable| {
        let at_ns = duration("at", table.at.as_ref())?;
        let at_ns =
            at_ns.ok_or("each [[event]] needs `at`, the time since the start of a run, such as \"10s\"")?;
        let every_ns = duration("every", table.every.as_ref())?;
        if every_ns.is_some_and(|ns| ns < LEAST_EVERY_NS) {
            return Err("`every` of an [[event]] is at least 10ms".to_owned());
        }
        let pause = duration("pause", table.pause.as_ref())?;
        let action = match (&table.run, table.server, pause) {
            (Some(command), None, None) => Action::Command(command.clone()),
            (None, Some(word), None) => match word {
                ServerWord::Stop => Action::Stop,
                ServerWord::Continue => Action::Continue,
                ServerWord::Kill => Action::Kill,
                ServerWord::Restart => Action::Restart,
            },
            (None, None, Some(ns)) => Action::Pause(Duration::from_nanos(ns)),
            (None, None, None) => Action::Nothing,
            _ => {
                return Err(
                    "an [[event]] has one of `run`, `server` and `pause`: make one of each".to_owned()
                );
            }
        };
        check("on", &table.on, &|name| {
            subjects
                .iter()
                .any(|subject| subject.name == name || subject.name.starts_with(&format!("{name}/")))
        })?;
        check("loads", &table.loads, &|name| loads.iter().any(|load| load == name))?;
        let helper = table.helper.as_ref().map(|helper| vec![helper.clone()]);
        check("helper", &helper, &|name| helpers.contains(&name))?;
        let (on, loads) = (table.on.clone(), table.loads.clone());
        let (name, helper) = (table.name.clone(), table.helper.clone());
        Ok(Event { name, at_ns, every_ns, action, helper, on, loads })
    };
    tables.iter().map(of).collect()
}

/// More often, events would be a load of their own.
const LEAST_EVERY_NS: u64 = 10_000_000;
