//! Tuning: an experiment whose variants are computed. The decisions are of `campaign::tune`; here trials are made with
//! what they change, and the host is left as it was.
//!
//! ```text
//!   catalogue ──► chosen (what can be changed here) ──► campaign::tune::Tuner ── next ──► a trial
//!                                                             ▲                       │ restore, set (keeper)
//!                                                             │ learn                 │ start the server (apply)
//!                                                             └──── journal ◄─────────┘ load, record
//! ```

mod apply;
mod carry_out;
mod chosen;
mod host;
mod how;
mod kept_shown;
mod list;
mod options;
mod output;
mod setup;
mod summary;

pub use carry_out::{Tuned, tune};
pub use chosen::NotHere;
pub use host::{On, There};
pub use list::{ListedParameter, list};
pub use options::TuneOptions;
pub use output::write_results;
pub use setup::{TuneSetup, TunedServer};
pub use summary::summary;
