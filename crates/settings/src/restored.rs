//! What became of a value at the end.

use std::fmt;

use dnsdyno_text::safe;
use serde::{Deserialize, Serialize};

use crate::item::Item;

/// A value that was changed, and what became of it. Its text is a sentence without its full stop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restored {
    /// The value. Of a file that was reached by a symbolic link, the file itself.
    pub item: Item,
    /// What became of it.
    pub outcome: RestoredOutcome,
}

/// What became of a value that was changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RestoredOutcome {
    /// It has its old value again.
    Restored,
    /// It had its old value already.
    WasAlready,
    /// Someone else has changed it meanwhile, and it is left as it is.
    ChangedByOther {
        /// Its value; `None` for a file of configuration, whose content is never told.
        found: Option<String>,
    },
    /// It is no more: the file or interface was removed, or the network namespace.
    Gone,
    /// It could not be restored, for this reason; the journal keeps its old value.
    Failed(String),
}

impl Restored {
    /// Whether it has its old value.
    pub fn is_as_before(&self) -> bool {
        matches!(self.outcome, RestoredOutcome::Restored | RestoredOutcome::WasAlready)
    }

    /// Whether nothing more is to be done about it.
    pub fn is_settled(&self) -> bool {
        !matches!(self.outcome, RestoredOutcome::Failed(_))
    }
}

impl fmt::Display for Restored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let item = &self.item;
        match &self.outcome {
            RestoredOutcome::Restored => write!(f, "{item} has its old value again"),
            RestoredOutcome::WasAlready => write!(f, "{item} had its old value already"),
            RestoredOutcome::ChangedByOther { found: Some(found) } => {
                write!(f, "{item} was set to {} by someone else meanwhile and is left as it is", safe(found))
            }
            RestoredOutcome::ChangedByOther { found: None } => {
                write!(f, "{item} was changed by someone else meanwhile and is left as it is")
            }
            RestoredOutcome::Gone => write!(f, "{item} is no more, so that nothing is to be restored"),
            RestoredOutcome::Failed(why) => {
                let next = "remove the cause and type `dnsdyno tune --undo`";
                write!(f, "{item} could not be restored: {}; {next}", safe(why))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_outcome_is_a_sentence() {
        let item = Item::Kernel { path: "/proc/sys/vm/swappiness".into() };
        let text = |outcome| Restored { item: item.clone(), outcome }.to_string();
        assert_eq!(text(RestoredOutcome::Restored), "vm.swappiness has its old value again");
        let found = Some("4096\t16384\t1".to_owned());
        assert_eq!(
            text(RestoredOutcome::ChangedByOther { found }),
            "vm.swappiness was set to 4096\\u{9}16384\\u{9}1 by someone else meanwhile and is left as it is"
        );
        assert_eq!(
            text(RestoredOutcome::Failed("no".to_owned())),
            "vm.swappiness could not be restored: no; remove the cause and type `dnsdyno tune --undo`"
        );
    }
}
