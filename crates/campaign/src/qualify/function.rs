//! The timetable of the function test: commands of the user that are carried out under load, and what is looked for
//! after them.
//!
//! ```toml
//! for = "10m"                       # the length of the test
//!
//! [[task]]
//! name = "add a record"
//! every = "30s"                     # or: at = ["10s", "5m"]
//! run = "nsupdate -k key < add.txt" # a line for `sh -c`
//!
//! [[task.look-for]]
//! name = "secondary 1"
//! run = "kdig @192.0.2.2 +short new.example | grep -q 192.0.2.9"
//! within = "10s"                    # started again and again until it succeeds; its delay is the figure
//! ```

use dnsdyno_text::notation::{UnitError, format_duration_ns, parse_duration_ns};
use dnsdyno_text::shown;
use serde::Deserialize;

/// The function test.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// Its length, in ns.
    pub for_ns: u64,
    /// What is carried out.
    pub tasks: Vec<Task>,
}

/// Something that is carried out again and again.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// Its name.
    pub name: String,
    /// When its rounds begin, after the first query was due, in ns; ascending, at least one.
    pub at_ns: Vec<u64>,
    /// The line for `sh -c`; `None` = it only looks for something.
    pub run: Option<String>,
    /// The expected exit code.
    pub exit_code: i32,
    /// How long a command may take, in ns; of what is looked for, each attempt.
    pub timeout_ns: u64,
    /// What must be seen when the command has ended.
    pub look_for: Vec<LookFor>,
}

/// Something that must be seen.
#[derive(Clone, Debug, PartialEq)]
pub struct LookFor {
    /// Its name.
    pub name: String,
    /// The line for `sh -c`; exit code 0 = it is seen.
    pub run: String,
    /// When it must be seen at the latest, after the end of the task's command, in ns.
    pub within_ns: u64,
    /// The pause between two attempts, in ns.
    pub retry_ns: u64,
}

/// Why a timetable cannot be used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum FunctionError {
    /// It is not TOML, or has an unknown key or a missing one.
    #[error("{0}")]
    Toml(String),
    /// It has a value that cannot be read.
    #[error("task {task}: {key}: {source}")]
    Value {
        /// The name of the task.
        task: String,
        /// The key.
        key: &'static str,
        /// Why.
        source: UnitError,
    },
    /// A task is not complete or contradicts itself.
    #[error("task {task}: {why}")]
    Task {
        /// The name of the task.
        task: String,
        /// What is wrong, and what to do.
        why: String,
    },
    /// There are none, or too many.
    #[error("there are {tasks} tasks: write 1 to {MOST_TASKS}, each as [[task]]")]
    Tasks {
        /// How many.
        tasks: usize,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct FileText {
    #[serde(rename = "for")]
    length: Option<String>,
    #[serde(default)]
    task: Vec<TaskText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct TaskText {
    name: String,
    every: Option<String>,
    after: Option<String>,
    at: Option<Vec<String>>,
    run: Option<String>,
    exit_code: Option<i32>,
    timeout: Option<String>,
    #[serde(default)]
    look_for: Vec<LookForText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct LookForText {
    name: String,
    run: String,
    within: Option<String>,
    retry: Option<String>,
}

impl Function {
    /// Reads a timetable.
    ///
    /// # Errors
    /// It cannot be carried out as it stands; the message says what to change.
    pub fn from_toml(text: &str) -> Result<Function, FunctionError> {
        let file: FileText =
            toml::from_str(text).map_err(|error| FunctionError::Toml(error.to_string().trim().to_owned()))?;
        if !(1..=MOST_TASKS).contains(&file.task.len()) {
            return Err(FunctionError::Tasks { tasks: file.task.len() });
        }
        let for_ns = duration("(all)", "for", file.length.as_deref(), DEFAULT_FOR_NS)?;
        let tasks = file.task.iter().map(|task| task.read(for_ns)).collect::<Result<Vec<_>, _>>()?;
        let names: std::collections::BTreeSet<_> = tasks.iter().map(|task| &task.name).collect();
        if let Some(task) = (names.len() < tasks.len()).then(|| tasks.last()).flatten() {
            return Err(task_error(&task.name, "two tasks have the same name: name them apart"));
        }
        Ok(Function { for_ns, tasks })
    }

    /// How many results there must be.
    pub fn results(&self) -> usize {
        let of_round = |task: &Task| usize::from(task.run.is_some()) + task.look_for.len();
        self.tasks.iter().map(|task| task.at_ns.len() * of_round(task)).sum()
    }
}

impl Task {
    /// How long a round takes at most, in ns.
    pub fn longest_round_ns(&self) -> u64 {
        let of_command = if self.run.is_some() { self.timeout_ns } else { 0 };
        let looked_for = self.look_for.iter().map(|look_for| look_for.within_ns).max().unwrap_or(0);
        of_command.saturating_add(looked_for)
    }
}

impl TaskText {
    fn read(&self, for_ns: u64) -> Result<Task, FunctionError> {
        let wrong = |why: &str| Err(task_error(&self.name, why));
        let read = |key, text: &Option<String>, default| duration(&self.name, key, text.as_deref(), default);
        if self.name.is_empty() || (self.run.is_none() && self.look_for.is_empty()) {
            return wrong("it needs a name, and something to run or to look for");
        }
        if self.look_for.len() > MOST_LOOKED_FOR {
            return wrong("it looks for too many things at once: make several tasks");
        }
        let look_for = self.look_for.iter().map(|look_for| {
            Ok(LookFor {
                name: look_for.name.clone(),
                run: look_for.run.clone(),
                within_ns: read("within", &look_for.within, DEFAULT_WITHIN_NS)?,
                retry_ns: read("retry", &look_for.retry, DEFAULT_RETRY_NS)?,
            })
        });
        let mut task = Task {
            name: self.name.clone(),
            at_ns: Vec::new(),
            run: self.run.clone(),
            exit_code: self.exit_code.unwrap_or(0),
            timeout_ns: read("timeout", &self.timeout, DEFAULT_TIMEOUT_NS)?,
            look_for: look_for.collect::<Result<_, _>>()?,
        };
        // A round must end before the load does.
        let longest_ns = task.longest_round_ns();
        let Some(last_ns) = for_ns.checked_sub(longest_ns) else {
            return wrong(&format!(
                "a round may take {}, and the test lasts {}: lengthen `for`, or shorten `timeout` or `within`",
                format_duration_ns(longest_ns),
                format_duration_ns(for_ns)
            ));
        };
        task.at_ns = match (&self.at, &self.every) {
            (Some(at), None) if self.after.is_none() => {
                let instants = at.iter().map(|at| duration_or_zero(&self.name, "at", at));
                let mut instants = instants.collect::<Result<Vec<_>, _>>()?;
                instants.sort_unstable();
                if instants.last().is_none_or(|last| *last > last_ns) {
                    return wrong(&format!(
                        "`at` needs instants up to {}: a later round may not end before the test",
                        format_duration_ns(last_ns)
                    ));
                }
                instants
            }
            (None, Some(every)) => {
                let every_ns = duration(&self.name, "every", Some(every), 0)?;
                let after_ns = match &self.after {
                    Some(after) => duration_or_zero(&self.name, "after", after)?,
                    None => 0,
                };
                let rounds = (0..).map(|n: u64| after_ns.saturating_add(n.saturating_mul(every_ns)));
                rounds.take_while(|at_ns| *at_ns <= last_ns).take(MOST_ROUNDS + 1).collect()
            }
            _ => return wrong("it needs either `every`, with `after` if you want, or `at`"),
        };
        match task.at_ns.len() {
            0 => wrong("no round of it fits into the test: lengthen `for`, or lower `after`"),
            rounds if rounds > MOST_ROUNDS => wrong("it has too many rounds: raise `every`"),
            _ => Ok(task),
        }
    }
}

fn task_error(task: &str, why: &str) -> FunctionError {
    FunctionError::Task { task: shown(task, MOST_SHOWN).into_owned(), why: why.to_owned() }
}

fn duration_or_zero(task: &str, key: &'static str, text: &str) -> Result<u64, FunctionError> {
    parse_duration_ns(text).map_err(|source| FunctionError::Value {
        task: shown(task, MOST_SHOWN).into_owned(),
        key,
        source,
    })
}

fn duration(
    task: &str,
    key: &'static str,
    text: Option<&str>,
    default_ns: u64,
) -> Result<u64, FunctionError> {
    match text.map(|text| duration_or_zero(task, key, text)).transpose()? {
        Some(0) => Err(task_error(task, &format!("{key} must be above 0"))),
        given => Ok(given.unwrap_or(default_ns)),
    }
}

const SECOND_NS: u64 = 1_000_000_000;

/// As long as the burst.
const DEFAULT_FOR_NS: u64 = 600 * SECOND_NS;

/// Of a command.
const DEFAULT_TIMEOUT_NS: u64 = 10 * SECOND_NS;

/// NOTIFY and a transfer take well under a second; a secondary that missed the NOTIFY asks after its refresh time.
const DEFAULT_WITHIN_NS: u64 = 30 * SECOND_NS;

/// Short enough for a delay of a second, long enough to be no load.
const DEFAULT_RETRY_NS: u64 = SECOND_NS / 5;

/// Each has a thread.
const MOST_TASKS: usize = 64;

/// At the same time.
const MOST_LOOKED_FOR: usize = 64;

/// A round a second for more than a day.
const MOST_ROUNDS: usize = 100_000;

/// Characters of a name in a message.
const MOST_SHOWN: usize = 60;

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = SECOND_NS;

    #[test]
    fn a_timetable_has_its_rounds_and_its_defaults() {
        let function = Function::from_toml(
            "for = \"1m\"\n[[task]]\nname = \"add\"\nevery = \"10s\"\nafter = \"5s\"\nrun = \"true\"\n\
             [[task.look-for]]\nname = \"s1\"\nrun = \"x\"\nwithin = \"20s\"\n\
             [[task]]\nname = \"look\"\nat = [\"9s\", \"0\"]\n[[task.look-for]]\nname = \"s2\"\nrun = \"y\"\n",
        )
        .unwrap();
        let [add, look] = &function.tasks[..] else { panic!("{function:?}") };
        // A round takes 30 s at most, so that none begins in the last 30 s.
        assert_eq!(add.at_ns, [5 * SECOND, 15 * SECOND, 25 * SECOND]);
        assert_eq!((add.timeout_ns, add.look_for[0].retry_ns), (10 * SECOND, SECOND / 5));
        assert_eq!(look.at_ns, [0, 9 * SECOND]);
        assert_eq!(function.results(), 3 * 2 + 2);
    }

    #[test]
    fn a_timetable_that_cannot_be_carried_out_says_what_to_change() {
        let said = |text: &str| Function::from_toml(text).unwrap_err().to_string();
        assert!(said("").contains("0 tasks"));
        assert!(said("[[task]]\nname = \"a\"\nevery = \"1s\"\n").contains("something to run"));
        assert!(said("[[task]]\nname = \"a\"\nrun = \"x\"\n").contains("either `every`"));
        assert!(
            said("[[task]]\nname = \"a\"\nrun = \"x\"\nevery = \"1s\"\nat = [\"1s\"]").contains("either")
        );
        assert!(said("[[task]]\nname = \"a\"\nrun = \"x\"\nevry = \"1s\"\n").contains("evry"));
        assert!(said("[[task]]\nname = \"a\"\nrun = \"x\"\nevery = \"0s\"\n").contains("above 0"));
        assert!(said("[[task]]\nname = \"a\"\nrun = \"x\"\nevery = \"soon\"\n").contains("every: `soon`"));
        assert!(
            said("for = \"5s\"\n[[task]]\nname = \"a\"\nrun = \"x\"\nevery = \"1s\"\n").contains("take 10s")
        );
        assert!(said("[[task]]\nname = \"a\"\nrun = \"x\"\nat = [\"10m\"]\n").contains("up to 590s"));
        let twice = "[[task]]\nname = \"a\"\nrun = \"x\"\nevery = \"1m\"\n".repeat(2);
        assert!(said(&twice).contains("the same name"));
    }
}
