//! Finds the highest load that meets criteria.
//!
//! ```text
//!   Options, Draft ──► Settings ──► a Finder ── next ──► Request ──► (a run) ──► Digest ── learn ──► … ──► Finding
//!                                      │
//!          search   doubling, then trials near the limit (belief, trend)
//!          stair    one run in steps             ramp     one run, its knee by rule
//!          window   a ladder of windows          rfc2544, rfc8219   repeated binary search
//! ```

mod belief;
mod book;
mod criteria;
mod error;
mod finding;
#[cfg(test)]
mod imaginary;
mod notes;
mod options;
mod ramp;
mod refuse;
mod search;
mod settings;
mod stair;
mod trend;
mod trial;
#[cfg(test)]
mod truth;
mod window;

pub use book::BookSearch;
pub use criteria::{ANSWERS, BY_CHANCE, Criteria, STEADY};
pub use error::{FindError, TooFew};
pub use finding::{FindNote, Finding, IntervalKind, Outcome, Why};
pub use options::{Method, Options, What};
pub use ramp::Ramp;
pub use search::Search;
pub use settings::Settings;
pub use stair::Stair;
pub use trial::{Purpose, Trial, TrialVerdict, Unmet};
pub use window::Window;

use crate::step::Campaign;

/// A campaign that finds a limit, by any method.
pub trait Finder: Campaign<Result = Finding> {
    /// What it has so far.
    fn made(&self) -> Made<'_>;
}

/// What a search has so far.
#[derive(Clone, Copy, Debug)]
pub struct Made<'a> {
    /// Its trials.
    pub trials: &'a [Trial],
    /// Between which loads the limit is, with a probability of 95 %; `None` where it cannot be said yet.
    pub bracket: Option<(f64, f64)>,
}

/// The campaign of a method.
pub fn finder(settings: Settings) -> Box<dyn Finder> {
    match settings.method() {
        Method::Search => Box::new(Search::new(settings)),
        Method::Stair => Box::new(Stair::new(settings)),
        Method::Ramp => Box::new(Ramp::new(settings)),
        Method::Window => Box::new(Window::new(settings)),
        Method::Rfc2544 | Method::Rfc8219 => Box::new(BookSearch::new(settings)),
    }
}
