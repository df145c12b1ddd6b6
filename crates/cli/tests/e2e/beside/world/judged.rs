//! Whether what a resolver answers is what the world has: the RCODE, the records of the answer, whether it was
//! validated.

use std::collections::BTreeSet;

use domain::base::{Message, ParsedName, Rtype};
use domain::rdata::AllRecordData;
use serde_json::Value;

/// How an answer is judged by the truth about its name, which `dnsdyno world explain --json` prints. What the world has
/// planned is first, then what resolvers may make of that, then what nothing explains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Judged {
    /// The records that are there, or that there are none.
    Found,
    /// SERVFAIL, and by the world's faults no resolver that validates can find it; or nothing, where servers are
    /// silent.
    LostAsPlanned,
    /// It can be found by queries without EDNS only, and was not found.
    NotAskedWithoutEdns,
    /// SERVFAIL where one of the servers of a signed zone knows no EDNS, and so gives no signatures: some resolvers do
    /// not ask another one then.
    NotAskedElsewhere,
    /// SERVFAIL where a server on the way is silent or slow: the resolver had no more time.
    GivenUp,
    /// SERVFAIL, or nothing, for a name that can be found.
    NotFound,
    NoAnswer,
    /// A name that cannot be found.
    FoundAgainstThePlan,
    WrongRcode,
    WrongRecords,
    /// Every zone on the way is signed, and the answer has no AD bit.
    NotValidated,
    /// A zone on the way is not signed, and the answer has an AD bit.
    WronglyValidated,
}

impl Judged {
    /// Judges an answer; `None` where none came.
    pub(crate) fn of(rtype: &str, truth: &Value, answer: Option<&Message<Vec<u8>>>) -> Judged {
        let is_lost = !truth["unreachable"].is_null() || !truth["unverifiable"].is_null();
        let needs_plain = !truth["needs_plain"].is_null();
        let rcode = answer.map(|answer| answer.header().rcode().to_int());
        let (Some(answer), Some(NOERROR | NXDOMAIN)) = (answer, rcode) else {
            return match rcode {
                Some(SERVFAIL) if is_lost => Judged::LostAsPlanned,
                Some(SERVFAIL) | None if needs_plain => Judged::NotAskedWithoutEdns,
                Some(SERVFAIL) if meets(truth, &["edns-formerr"]) => Judged::NotAskedElsewhere,
                Some(SERVFAIL) if meets(truth, &WAITS) => Judged::GivenUp,
                None if is_lost && meets(truth, &WAITS) => Judged::LostAsPlanned,
                Some(SERVFAIL) => Judged::NotFound,
                Some(_) => Judged::WrongRcode,
                None => Judged::NoAnswer,
            };
        };
        let is_there = truth["outcome"] != "no_name";
        let path = aliases(truth);
        if is_lost {
            return Judged::FoundAgainstThePlan;
        }
        if rcode != Some(if is_there { NOERROR } else { NXDOMAIN }) {
            return Judged::WrongRcode;
        }
        if told(answer) != expected(rtype, &path) {
            return Judged::WrongRecords;
        }
        let zones = path.iter().flat_map(|name| name["zones"].as_array().into_iter().flatten());
        let is_signed = zones.into_iter().all(|zone| zone["is_signed"] == true);
        match (is_signed, answer.header().ad()) {
            (true, false) => Judged::NotValidated,
            (false, true) => Judged::WronglyValidated,
            _ => Judged::Found,
        }
    }
}

/// The name that was asked, and those that it is an alias of.
fn aliases(truth: &Value) -> Vec<&Value> {
    std::iter::successors(Some(truth), |name| Some(&name["alias_of"]).filter(|next| !next.is_null()))
        .collect()
}

/// Whether a zone on the way to a name has a server with one of these faults.
fn meets(truth: &Value, faults: &[&str]) -> bool {
    let path = aliases(truth).into_iter().flat_map(|name| name["zones"].as_array().into_iter().flatten());
    let mut servers = path.flat_map(|zone| zone["servers"].as_array().into_iter().flatten());
    servers.any(|server| server["fault"].as_str().is_some_and(|fault| faults.contains(&fault)))
}

/// The records of an answer without signatures: name, type and data of each.
fn told(answer: &Message<Vec<u8>>) -> BTreeSet<String> {
    let section = answer.answer().unwrap().limit_to::<AllRecordData<_, ParsedName<_>>>();
    let records = section.map(|record| record.unwrap());
    let records = records.filter(|record| record.rtype() != Rtype::RRSIG);
    let text = |owner: String, rtype: Rtype, data: String| format!("{owner}. {rtype} {data}").to_lowercase();
    records
        .map(|record| text(record.owner().to_string(), record.rtype(), record.data().to_string()))
        .collect()
}

/// The same of the truth: each alias on the way, and at its end what was asked for.
fn expected(rtype: &str, path: &[&Value]) -> BTreeSet<String> {
    let mut records = BTreeSet::new();
    for name in path {
        for record in name["records"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            // TTL, type and data.
            let (_, record) = record.split_once(' ').unwrap();
            if record.starts_with("CNAME ") || record.split(' ').next() == Some(rtype) {
                records.insert(format!("{} {record}", name["name"].as_str().unwrap()).to_lowercase());
            }
        }
    }
    records
}

/// Faults for which a resolver has to wait.
const WAITS: [&str; 3] = ["silent", "slow", "edns-dropped"];

const NOERROR: u8 = 0;
pub(crate) const SERVFAIL: u8 = 2;
pub(crate) const NXDOMAIN: u8 = 3;
