//! What a change of clients, caches or TTLs does to the load.

use crate::description::check::Checked;
use crate::description::{Description, DescriptionError, Names, Policy};
use crate::zone::{MOST_TTL_S, Zone};

use super::{Prediction, curve, predict};

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
    payload_octets: u16,
    /// The load.
    pub prediction: Prediction,
}

impl Case {
    /// Predicts the load of a description; `payload_octets` as for [`predict`].
    ///
    /// # Errors
    /// If a value of the description cannot be used, or it does not say what the zones hold.
    pub fn new(description: Description, payload_octets: u16) -> Result<Case, DescriptionError> {
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
        let prediction = predict(&checked, &zone, payload_octets)?;
        Ok(Case { checked, zone, payload_octets, prediction })
    }

    /// The same with a change.
    ///
    /// # Errors
    /// As [`new`](Case::new).
    pub fn with(&self, change: &Change) -> Result<Case, DescriptionError> {
        let mut description = self.description().clone();
        change.apply(&mut description);
        Case::new(description, self.payload_octets)
    }

    /// Queries a second with caches of other sizes, in the order of `entries`.
    ///
    /// # Errors
    /// As [`predict`].
    pub fn curve(&self, entries: &[u32]) -> Result<Vec<f64>, DescriptionError> {
        let predictions = curve(&self.checked, &self.zone, self.payload_octets, entries)?;
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
