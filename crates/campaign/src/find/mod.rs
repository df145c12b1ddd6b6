//! Finds the highest load that meets criteria.
//!
//! ```text
//!   Options, Draft ──► Settings ──► a Finder ── next ──► Request ──► (a run) ──► Digest ── learn ──► … ──► Finding
//!                                      │
//!          search   doubling, then trials near the limit (belief, trend)
//!          stair    one run in steps             ramp     one run, its knee by rule
//!          window   a ladder of windows          rfc2544, rfc8219   repeated binary search
//!          mlrsearch   RFC 9971: the bounds of several loss ratios
//! ```

mod belief;
mod book;
mod criteria;
#[cfg(test)]
mod disturbed;
mod error;
mod finder;
mod finding;
mod goal;
mod goals;
#[cfg(test)]
pub(crate) mod imaginary;
mod lengths;
mod mlrsearch;
mod notes;
mod options;
mod order;
mod quantities;
mod ramp;
mod refuse;
pub mod report;
#[cfg(test)]
mod score;
mod search;
mod settings;
#[cfg(test)]
mod several;
mod stair;
mod steps;
mod trend;
mod trial;
#[cfg(test)]
mod truth;
mod window;
mod written;

pub use book::BookSearch;
pub use criteria::{ANSWERS, BY_CHANCE, Criteria, STEADY};
pub use error::{FindError, TooFew};
pub use finder::{Finder, TrialsSoFar};
pub use finding::{FindNote, Finding, GoalFinding, IntervalKind, Outcome, Reason, Why};
pub use goal::Goal;
pub use goals::GoalSearch;
pub use mlrsearch::{
    Classified, DurationSums, ExceedRatios, GoalResult, Irregular, LoadClass, MultipleLossRatio, SearchGoal,
};
pub use options::{Method, Options, What};
pub use ramp::Ramp;
pub use search::Search;
pub use settings::Settings;
pub use stair::Stair;
pub use trial::{OfCriterion, OfGoal, Purpose, Trial, TrialVerdict, Undecided};
pub use window::Window;
pub use written::GoalError;

/// The campaign of a method.
pub fn finder(settings: Settings) -> Box<dyn Finder> {
    match settings.method() {
        Method::Search if settings.has_names() => Box::new(GoalSearch::new(settings)),
        Method::Search => Box::new(Search::new(settings)),
        Method::Stair => Box::new(Stair::new(settings)),
        Method::Ramp => Box::new(Ramp::new(settings)),
        Method::Window => Box::new(Window::new(settings)),
        Method::Rfc2544 | Method::Rfc8219 => Box::new(BookSearch::new(settings)),
        Method::MlrSearch => Box::new(MultipleLossRatio::new(settings)),
    }
}
