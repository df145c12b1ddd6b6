//! What a trial has shown, as its file keeps it.

use dnsdyno_campaign::tune::{Figures, Shown};
use serde::{Deserialize, Serialize};

/// As [`Shown`].
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum KeptShown {
    Counted {
        gain: f64,
        moved: Vec<bool>,
        #[serde(default)]
        accounts_for: Vec<f64>,
        is_saturated: bool,
        memory_bytes: Option<u64>,
    },
    Doubtful(String),
    Failed(String),
    NotSet(Vec<(usize, String)>),
}

impl From<Shown> for KeptShown {
    fn from(shown: Shown) -> KeptShown {
        match shown {
            Shown::Counted(Figures { gain, moved, accounts_for, is_saturated, memory_bytes }) => {
                KeptShown::Counted { gain, moved, accounts_for, is_saturated, memory_bytes }
            }
            Shown::Doubtful(why) => KeptShown::Doubtful(why),
            Shown::Failed(why) => KeptShown::Failed(why),
            Shown::NotSet(which) => KeptShown::NotSet(which),
        }
    }
}

impl From<KeptShown> for Shown {
    fn from(kept: KeptShown) -> Shown {
        match kept {
            KeptShown::Counted { gain, moved, accounts_for, is_saturated, memory_bytes } => {
                Shown::Counted(Figures { gain, moved, accounts_for, is_saturated, memory_bytes })
            }
            KeptShown::Doubtful(why) => Shown::Doubtful(why),
            KeptShown::Failed(why) => Shown::Failed(why),
            KeptShown::NotSet(which) => Shown::NotSet(which),
        }
    }
}
