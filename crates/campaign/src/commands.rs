//! What a command of the user did beside a run: a line of `commands.ndjson` in the folder of its record.

use serde::{Deserialize, Serialize};

/// The result of one command, or of all attempts to see what it should have done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandResult {
    /// The task that it belongs to.
    pub task: String,
    /// The round of the task, from 1.
    pub round: u32,
    /// What was looked for; `None` = the command of the task itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub look_for: Option<String>,
    /// When it began, after the first query was due, in ns.
    pub at_ns: u64,
    /// How long it took, in ns; of what was looked for, from the end of the task's command until it was seen.
    pub took_ns: u64,
    /// How often it was started.
    pub attempts: u32,
    /// How it ended.
    pub outcome: CommandOutcome,
    /// Its exit code, the last one; `None` = it has none, because a signal ended it or it was not started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The last line that it printed, shortened; of several attempts, that of the last one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub output: String,
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandOutcome {
    /// With the expected exit code.
    Ok,
    /// With another one, or by a signal.
    Failed,
    /// It had not ended in time and was ended, or what was looked for was not seen in time.
    TimedOut,
    /// It could not be started.
    NotStarted,
}
