//! What a change of clients, caches or TTLs does to the load.

use crate::description::check::Checked;
use crate::description::{Description, DescriptionError, Names, Policy};
use crate::zone::{MOST_TTL_S, Zone};

use super::{Prediction, Serving, curve, predict};

/// Memory that is no limit: nothing is stored.
const ANY_MEMORY: u64 = u64::MAX;

/// What is changed; `None`: it stays as it is.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Change {
    /// The number of clients. Their users are as many as before.
    pub clients: Option<u32>,
    /// Entries of each cache.
    pub entries: Option<u32>,
    /// What is evicted.
    pub policy: Option<Policy>,
    /// The TTL of all records, in seconds.
    pub ttl_s: Option<u32>,
    /// By how much each TTL is longer.
    pub ttl_factor: Option<f64>,
    /// Attaches a second, or lookups of hosts.
    pub attaches: Option<f64>,
    /// Handovers a second.
    pub handovers: Option<f64>,
}

impl Change {
    fn apply(&self, description: &mut Description) {
        fn set<T: Copy>(value: &mut T, to: Option<T>) {
            *value = to.unwrap_or(*value);
        }
        set(&mut description.clients, self.clients);
        set(&mut description.cache.entries, self.entries);
        set(&mut description.cache.policy, self.policy);
        set(&mut description.arrivals.attaches, self.attaches);
        set(&mut description.arrivals.handovers, self.handovers);
        let factor = self.ttl_factor.unwrap_or(1.0);
        for question in description.zone.iter_mut().flat_map(Zone::questions_mut) {
            let longer_s = (f64::from(question.ttl_s) * factor).min(f64::from(MOST_TTL_S)) as u32;
            question.ttl_s = self.ttl_s.unwrap_or(longer_s);
        }
    }
}

/// Refuses a TTL that no record can have.
fn check_ttls(zone: &Zone) -> Result<(), DescriptionError> {
    match zone.questions().map(|question| question.ttl_s).find(|ttl_s| *ttl_s > MOST_TTL_S) {
        None => Ok(()),
        Some(ttl_s) => Err(DescriptionError::Value {
            key: "ttl_s".to_owned(),
            problem: format!("{ttl_s} is too long: a TTL is at most {MOST_TTL_S} seconds (RFC 2181)"),
        }),
    }
}

/// A description, and the load that is to be expected of it.
#[derive(Debug, Clone)]
pub struct Case {
    checked: Checked,
    zone: Zone,
    serving: Serving,
    /// The load.
    pub prediction: Prediction,
}

impl Case {
    /// Predicts the load of a description; `serving` as for [`predict`].
    ///
    /// # Errors
    /// If a value of the description cannot be used, or it does not say what the zones hold.
    pub fn new(description: Description, serving: impl Into<Serving>) -> Result<Case, DescriptionError> {
        let serving = serving.into();
        let checked = description.check(ANY_MEMORY)?;
        let Some(zone) = checked.description().zone.clone() else {
            return Err(DescriptionError::Value {
                key: "zone".to_owned(),
                problem:
                    "it is needed to predict the load: `dnsdyno data epc` writes it, or see docs/clients.md"
                        .to_owned(),
            });
        };
        check_ttls(&zone)?;
        let prediction = predict(&checked, &zone, serving)?;
        Ok(Case { checked, zone, serving, prediction })
    }

    /// The same with a change.
    ///
    /// # Errors
    /// As [`new`](Case::new).
    pub fn with(&self, change: &Change) -> Result<Case, DescriptionError> {
        let mut description = self.description().clone();
        change.apply(&mut description);
        Case::new(description, self.serving)
    }

    /// The same with a server that responds in another way.
    ///
    /// # Errors
    /// As [`predict`].
    pub fn served(&self, serving: impl Into<Serving>) -> Result<Case, DescriptionError> {
        Case::new(self.description().clone(), serving)
    }

    /// The same in the busiest second of the day: with the rates at their highest factor. `None` where the description
    /// has no curve.
    ///
    /// # Errors
    /// As [`new`](Case::new).
    pub fn at_peak(&self) -> Result<Option<(f64, Prediction)>, DescriptionError> {
        let arrivals = &self.description().arrivals;
        let Some(factor) = arrivals.curve.iter().copied().reduce(f64::max) else { return Ok(None) };
        let (attaches, handovers) = (arrivals.attaches * factor, arrivals.handovers * factor);
        let busiest = Change { attaches: Some(attaches), handovers: Some(handovers), ..Change::default() };
        Ok(Some((factor, self.with(&busiest)?.prediction)))
    }

    /// Queries a second with caches of other sizes, in the order of `entries`.
    ///
    /// # Errors
    /// As [`predict`].
    pub fn curve(&self, entries: &[u32]) -> Result<Vec<f64>, DescriptionError> {
        let predictions = curve(&self.checked, &self.zone, self.serving, entries)?;
        Ok(predictions.into_iter().map(|prediction| prediction.queries_per_s).collect())
    }

    /// The description.
    pub fn description(&self) -> &Description {
        self.checked.description()
    }

    /// The TTL in seconds of what procedures ask for first.
    pub fn ttl_s(&self) -> u32 {
        let first = match self.description().names {
            Names::Epc(_) => &self.zone.tac,
            Names::Stub(_) => &self.zone.stub,
        };
        first.first().map_or(0, |question| question.ttl_s)
    }
}
