//! What the zones hold, as far as a prediction of the load needs it.

use serde::{Deserialize, Serialize};

/// What the zones hold that are asked for: the questions of each lookup, in the order in which they are asked.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Zone {
    /// A lookup by tracking area: first its NAPTR records.
    pub tac: Vec<Questions>,
    /// A lookup by access point.
    pub apn: Vec<Questions>,
    /// A lookup of a host.
    pub stub: Vec<Questions>,
    /// With which use of names the questions after the first of a lookup were found; `None`: they hold for any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found_with: Option<NameUse>,
}

/// How unequal the use of names is: the exponents of Zipf's law of a description's arrivals.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NameUse {
    /// Of tracking areas.
    pub tac_zipf: f64,
    /// Of access points.
    pub apn_zipf: f64,
}

fn one() -> u32 {
    1
}

/// The longest TTL (RFC 2181 §8).
pub(crate) const MOST_TTL_S: u32 = i32::MAX as u32;

impl Zone {
    /// All questions.
    pub(crate) fn questions(&self) -> impl Iterator<Item = &Questions> {
        self.tac.iter().chain(&self.apn).chain(&self.stub)
    }

    /// All questions, to be changed.
    pub(crate) fn questions_mut(&mut self) -> impl Iterator<Item = &mut Questions> {
        self.tac.iter_mut().chain(&mut self.apn).chain(&mut self.stub)
    }
}

/// Questions of a lookup that are alike: same type, TTL and size of the response.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Questions {
    /// The type: `NAPTR`, `SRV`, `A`, `AAAA`.
    pub qtype: String,
    /// How many different names are asked for. For the first question of a lookup by all clients together, such as all
    /// tracking areas; for a later one by one client. Names that are asked for more often than others of their type are
    /// questions of their own.
    pub names: u32,
    /// How many of them one lookup needs: one address of the gateway that is chosen, but each branch of NAPTR.
    pub per_lookup: f64,
    /// How many of their RRsets are in the additional section of a response to the first question of the lookup; 0:
    /// they are asked for.
    #[serde(default)]
    pub brought: f64,
    /// The TTL of the response in seconds.
    pub ttl_s: u32,
    /// The size of the whole response in octets: over TCP, or over UDP if it fits.
    pub octets: u32,
    /// How many records the answer has.
    #[serde(default = "one")]
    pub records: u32,
}
