//! How a load is put on the servers: by a run, by a search for the limit, or by another program.

use std::path::{Path, PathBuf};
use std::time::Duration;

use dnsdyno_campaign::Step;
use dnsdyno_campaign::experiment::LoadKind;
use dnsdyno_campaign::find::{Options, Settings, finder};
use dnsdyno_plan::{Draft, Group};
use dnsdyno_runner::Runner;

use super::load_file::{FindTable, LoadKeys};
use super::text::Text;
use super::timetable::Event;
use super::values::duration;

/// How a load is put on the servers.
#[derive(Clone, Debug)]
pub(super) enum LoadMethod {
    /// A run of ours.
    Run,
    /// A search for the limit, with these options.
    Search(Box<Options>),
    /// Another program.
    Program(Program),
}

/// A program that is run in the place of our generator.
#[derive(Clone, Debug)]
pub(super) struct Program {
    /// As the shell reads it, with placeholders.
    pub(super) command: String,
    /// The words in its output before its figure.
    pub(super) figure: Option<String>,
    /// How long it may take.
    pub(super) within: Duration,
}

/// How a load is put on the servers.
#[derive(Clone, Debug)]
pub(super) struct LoadSetup {
    /// The options of its runs, but for the server.
    pub(super) draft: Draft,
    pub(super) way: LoadMethod,
    /// What is done before each run.
    pub(super) before: Option<Before>,
}

/// A command of the shell before each run of a load, at the place of the generator: such as one that fills a cache.
#[derive(Clone, Debug)]
pub(super) struct Before {
    /// As the shell reads it, with placeholders.
    pub(super) command: String,
    /// How long it may take.
    pub(super) within: Duration,
}

impl Before {
    /// That of a load, by its keys.
    pub(super) fn of(keys: &LoadKeys) -> Result<Option<Before>, String> {
        let within = duration("within", keys.within.as_ref())?.map_or(BEFORE_WITHIN, Duration::from_nanos);
        Ok(keys.before.clone().map(|command| Before { command, within }))
    }
}

impl LoadMethod {
    /// What a load is, by its keys.
    pub(super) fn of(keys: &LoadKeys) -> Result<LoadMethod, String> {
        match (&keys.find, &keys.command) {
            (Some(_), Some(_)) => Err("it has `find` and `command`: make one load of each".to_owned()),
            (Some(find), None) => Ok(LoadMethod::Search(Box::new(options(&find.0)))),
            (None, Some(command)) => {
                let within = duration("within", keys.within.as_ref())?.unwrap_or(WITHIN_NS);
                Ok(LoadMethod::Program(Program {
                    command: command.clone(),
                    figure: keys.figure.clone(),
                    within: Duration::from_nanos(within),
                }))
            }
            (None, None) => Ok(LoadMethod::Run),
        }
    }

    pub(super) fn kind(&self) -> LoadKind {
        match self {
            LoadMethod::Run => LoadKind::Run,
            LoadMethod::Search(_) => LoadKind::Search,
            LoadMethod::Program(_) => LoadKind::Program,
        }
    }

    /// The options of all runs, as a load of this kind takes them: a search makes loads of its own, and a program knows
    /// none of ours.
    pub(super) fn base(&self, run: &Draft) -> Draft {
        let mut base = run.clone();
        if self.kind() != LoadKind::Run {
            for group in [Group::Shape, Group::Window, Group::End] {
                base.clear(group);
            }
        }
        base
    }

    /// Runs that count, and runs before them that do not, where the load says nothing else. A search has its own
    /// warm-up and repeats its trials.
    pub(super) fn usual_runs(&self, repeats: u32, dropped: u32) -> (u32, u32) {
        match self {
            LoadMethod::Search(_) => (1, 0),
            LoadMethod::Run | LoadMethod::Program(_) => (repeats, dropped),
        }
    }

    /// Checks what runs have in another way; returns how long it may take. `own` are the options that the load itself
    /// gives, `draft` has those of all runs too.
    pub(super) fn checked(
        &self,
        keys: &LoadKeys,
        own: &Draft,
        draft: &Draft,
        events: &[&Event],
        runner: &dyn Runner,
    ) -> Result<Option<u64>, String> {
        let is_given = [
            ("steady", keys.steady.is_some(), LoadKind::Run),
            ("answers", keys.answers.is_some(), LoadKind::Run),
            ("course", keys.course.is_some(), LoadKind::Run),
            ("within", keys.within.is_some() && keys.before.is_none(), LoadKind::Program),
            ("figure", keys.figure.is_some(), LoadKind::Program),
        ];
        if let Some((key, _, of)) = is_given.into_iter().find(|(_, given, of)| *given && *of != self.kind()) {
            let of = if of == LoadKind::Run {
                "a load of `dnsdyno run`"
            } else {
                "a load with `command` or `before`"
            };
            return Err(format!("`{key}` is of {of}: remove it"));
        }
        match self {
            LoadMethod::Run => Ok(None),
            LoadMethod::Search(options) => {
                if events.iter().any(|event| event.names_loads()) {
                    return Err(
                        "an [[event]] is at a time of a run, and a search has many: remove it from `loads`"
                            .to_owned(),
                    );
                }
                let at_home = Draft { server: Some("127.0.0.1".to_owned()), ..draft.clone() };
                let settings = Settings::new(options, &at_home).map_err(|error| error.to_string())?;
                if let Step::Run(first) = finder(settings.clone()).next() {
                    runner.validate(&first.draft).map_err(|error| error.to_string())?;
                }
                Ok(Some(settings.longest_ns()))
            }
            LoadMethod::Program(program) => {
                program.checked(own, draft)?;
                Ok(Some(u64::try_from(program.within.as_nanos()).unwrap_or(u64::MAX)))
            }
        }
    }
}

impl Program {
    fn checked(&self, own: &Draft, draft: &Draft) -> Result<(), String> {
        let queries = Draft { name: own.name.clone(), queries: own.queries.clone(), ..Draft::default() };
        if *own != (Draft { ask: own.ask.clone(), ..queries }) {
            return Err("the options of a program are words of its `command`; beside it there are `queries` and `ask`, \
                        for {queries}: remove the others"
                .to_owned());
        }
        if self.figure.as_ref().is_some_and(|words| words.trim().is_empty()) {
            return Err(
                "`figure` has the words before the figure, such as \"Queries per second:\"".to_owned()
            );
        }
        match self.command.contains(QUERIES) && draft.queries.is_none() && draft.ask.is_none() {
            true => Err("{queries} is the file of `queries`, or one of the names of `ask`: give one of them"
                .to_owned()),
            false => Ok(()),
        }
    }

    /// The file of the queries, which is written to `folder` where the options have the queries themselves.
    pub(super) fn queries(&self, draft: &Draft, folder: &Path) -> std::io::Result<Option<PathBuf>> {
        match (&draft.queries, &draft.ask) {
            _ if !self.command.contains(QUERIES) => Ok(None),
            (Some(file), _) => Ok(Some(PathBuf::from(file))),
            (None, Some(names)) => {
                let path = std::path::absolute(folder.join(QUERY_FILE))?;
                std::fs::write(&path, names.join("\n") + "\n")?;
                Ok(Some(path))
            }
            (None, None) => Ok(None),
        }
    }

    /// The figure in what the program has printed: the number after the last of the words.
    pub(super) fn figure_in(&self, printed: &str) -> Option<f64> {
        let (_, after) = printed.rsplit_once(self.figure.as_deref()?)?;
        let after = after.trim_start_matches([' ', '\t']);
        let end = after.find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | ',')).unwrap_or(after.len());
        after.get(..end)?.replace(',', "").parse().ok()
    }
}

fn options(table: &FindTable) -> Options {
    let text = |text: &Option<Text>| text.as_ref().map(|text| text.0.clone());
    Options {
        what: table.find.clone(),
        method: table.method.clone(),
        criteria: table.r#while.clone(),
        goals: Vec::new(),
        start: text(&table.from),
        least: text(&table.least),
        most: text(&table.most),
        trial: text(&table.trial),
        rest: text(&table.rest),
        precision: text(&table.precision),
        trials: text(&table.trials),
        per_client: text(&table.per_client),
        repeats: text(&table.repeats),
    }
}

/// Stands for the file of queries in a command.
pub(super) const QUERIES: &str = "{queries}";

/// In the folder of a run.
const QUERY_FILE: &str = "queries.txt";

/// As long as resperf's ramp, and its wait for the last answers.
const WITHIN_NS: u64 = 110_000_000_000;

/// Filling a cache takes its time.
const BEFORE_WITHIN: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    fn program(figure: &str) -> Program {
        Program { command: String::new(), figure: Some(figure.to_owned()), within: Duration::ZERO }
    }

    #[test]
    fn the_figure_is_the_number_after_the_last_of_the_words() {
        let dnsperf = "Statistics:\n\n  Queries per second:   4612.335119\n";
        assert_eq!(program("Queries per second:").figure_in(dnsperf), Some(4612.335119));
        let twice = "rate: 1,200 qps\nrate:\t1,300 qps";
        assert_eq!(program("rate:").figure_in(twice), Some(1300.0));
        assert_eq!(program("rate:").figure_in("rate: none"), None);
        assert_eq!(program("rate:").figure_in("nothing"), None);
    }
}
