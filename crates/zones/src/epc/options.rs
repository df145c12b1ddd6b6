//! What a mobile operator's zones are made from.

use crate::DataError;
use crate::zone::check_ttl;

/// What `dnsdyno data epc` makes.
#[derive(Debug, Clone, PartialEq)]
pub struct EpcOptions {
    /// The mobile country code: three digits.
    pub mcc: String,
    /// The mobile network code: two or three digits, three in names.
    pub mnc: String,
    /// How many tracking area codes.
    pub tacs: u32,
    /// Whether each has a name of its own; otherwise a wildcard stands for those of one high byte.
    pub each_tac: bool,
    /// How many access points. All gateways serve the first, a fifth of them each of the others.
    pub apns: u32,
    /// How many serving gateways.
    pub sgws: u32,
    /// How many gateways to the packet network.
    pub pgws: u32,
    /// How many nodes for mobility management (MME): the clients of the description.
    pub mmes: u32,
    /// How unequally the clients use tracking areas: the exponent of Zipf's law, 0 is evenly.
    pub tac_zipf: f64,
    /// The same of access points.
    pub apn_zipf: f64,
    /// The length of the answers for tracking areas.
    pub per_answer: PerAnswer,
    /// Addresses, and whether there is a change.
    pub addresses: Addresses,
    /// Of a change: the part of the users who need the new gateways, 0 to 1.
    pub v6_users: f64,
    /// How many entries each client's cache has, or of a change, records; `None`: 10,000, or of a change a tenth more
    /// than the records before it need.
    pub cache_entries: Option<u32>,
    /// How many name servers each zone has.
    pub name_servers: u32,
    /// The TTL of all records in seconds.
    pub ttl_s: u32,
    /// Of which tracking areas are the most used.
    pub seed: u64,
}

/// How much the NAPTR answer for a tracking area holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PerAnswer {
    /// As many records as there are serving gateways.
    Gateways,
    /// So many records.
    Records(u32),
    /// So many octets of the response: header, question, answer and OPT.
    Octets(u32),
}

/// The addresses of hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Addresses {
    /// IPv4.
    V4,
    /// IPv4 and IPv6.
    Dual,
    /// IPv4, and a change that adds gateways for users with IPv6 alone: half as many as there are.
    V6Added,
}

impl Addresses {
    pub(super) fn has_change(self) -> bool {
        self == Addresses::V6Added
    }
}

impl EpcOptions {
    /// The zone `epc` or `5gc` of the operator, with the final dot.
    pub(super) fn zone_of(&self, system: &str) -> String {
        format!("{system}.mnc{:0>3}.mcc{}.3gppnetwork.org.", self.mnc, self.mcc)
    }

    /// The network identifiers of the access points, the most used first. Some have dots.
    pub(super) fn apn_names(&self) -> Vec<String> {
        let name = |index: u32| match index {
            0 => "internet".to_owned(),
            1 => "ims".to_owned(),
            _ if index % 5 == 2 => format!("apn{index:03}.corp.example"),
            _ => format!("apn{index:03}"),
        };
        (0..self.apns).map(name).collect()
    }

    /// Checks what can be said before anything is made.
    pub(super) fn check(&self) -> Result<(), DataError> {
        let is_code = |text: &str, lengths: &[usize]| {
            lengths.contains(&text.len()) && text.bytes().all(|digit| digit.is_ascii_digit())
        };
        let wrong = |text: String| Err(DataError::Option(text));
        if !is_code(&self.mcc, &[3]) {
            return wrong(format!("--mcc: `{}` is no mobile country code: write three digits", self.mcc));
        }
        if !is_code(&self.mnc, &[2, 3]) {
            return wrong(format!(
                "--mnc: `{}` is no mobile network code: write two or three digits",
                self.mnc
            ));
        }
        let bounds = [
            ("--tacs", self.tacs, MOST_TACS),
            ("--apns", self.apns, 10_000),
            ("--sgws", self.sgws, 10_000),
            ("--pgws", self.pgws, 10_000),
            ("--mmes", self.mmes, 1_000),
            ("--name-servers", self.name_servers, 99),
        ];
        for (flag, value, most) in bounds {
            if value == 0 || value > most {
                return wrong(format!("{flag}: {value} cannot be made: between 1 and {most}"));
            }
        }
        for (flag, value) in [("--tac-zipf", self.tac_zipf), ("--apn-zipf", self.apn_zipf)] {
            if !(0.0..=MOST_ZIPF).contains(&value) {
                return wrong(format!("{flag}: {value} cannot be used: between 0 (evenly) and {MOST_ZIPF}"));
            }
        }
        if !(0.0..=1.0).contains(&self.v6_users) {
            return wrong(format!(
                "--v6-users: {} is no part of the users: give 0 % to 100 %",
                self.v6_users
            ));
        }
        if let PerAnswer::Records(0) = self.per_answer {
            return wrong("--per-answer: an answer has at least one record".into());
        }
        check_ttl(self.ttl_s)
    }
}

/// All of 16 bits but the two that are reserved.
pub(super) const MOST_TACS: u32 = 65_534;

/// With it, all but one in a thousand ask for the first name.
const MOST_ZIPF: f64 = 10.0;
