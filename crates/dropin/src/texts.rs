//! Texts that several programs print in the same way.

use std::fmt::Write;

use dnsdyno_measure::Statuses;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

/// `Thu Jan  1 00:00:00 1970`: an instant in local time as ctime(3) writes it, without the end of the line.
pub(crate) fn ctime(instant: Timestamp) -> String {
    Zoned::new(instant, TimeZone::system()).strftime("%a %b %e %H:%M:%S %Y").to_string()
}

/// Microseconds as seconds with six decimals.
pub(crate) fn seconds(micros: u64) -> String {
    format!("{}.{:06}", micros / MICROS, micros % MICROS)
}

/// A share in percent; 0 of nothing.
pub(crate) fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { 100.0 * part as f64 / whole as f64 }
}

/// `NOERROR 9 (90.00%), NXDOMAIN 1 (10.00%)`: counts by RCODE, as shares of the answered queries.
pub(crate) fn rcodes(counts: &[u64; RCODES.len()], answered: u64) -> String {
    let shown = RCODES.iter().zip(counts).filter(|(_, count)| **count > 0);
    let one = |(name, count): (&&str, &u64)| format!("{name} {count} ({:.2}%)", percent(*count, answered));
    shown.map(one).collect::<Vec<_>>().join(", ")
}

/// The block of statistics over HTTP that follows all others with `doh`; `resumed` = resumed sessions, where they are
/// counted.
pub(crate) fn http_statistics(statuses: &Statuses, resumed: Option<u64>) -> String {
    let known: Vec<String> =
        known_statuses(statuses).into_iter().map(|(status, count)| format!("{status}: {count}")).collect();
    let codes = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    let mut text = String::from("DNS-over-HTTPS statistics:\n\n");
    let _ = write!(text, "  HTTP/2 return codes:  {codes}\n\n");
    if let Some(resumed) = resumed {
        let _ = writeln!(text, "  TLS sessions resumed: {resumed}");
    }
    text.push('\n');
    text
}

/// The same over TLS, where sessions are resumed.
pub(crate) fn tls_statistics(resumed: u64) -> String {
    format!("DNS-over-TLS statistics:\n\n  TLS sessions resumed: {resumed}\n\n")
}

/// Status codes in their order, and those that the originals do not know, together.
pub(crate) fn known_statuses(statuses: &Statuses) -> Vec<(String, u64)> {
    let mut known = Vec::new();
    let mut unknown = 0;
    for (status, count) in statuses.iter() {
        match status {
            KNOWN_FROM..KNOWN_TO => known.push((status.to_string(), count)),
            _ => unknown += count,
        }
    }
    if unknown > 0 {
        known.push(("unknown".to_owned(), unknown));
    }
    known
}

/// The version of dnsperf and resperf that scripts look for.
pub(crate) const VERSION: &str = "2.16.0";

/// The names of the RCODEs in the header of a message.
pub(crate) const RCODES: [&str; 16] = [
    "NOERROR", "FORMERR", "SERVFAIL", "NXDOMAIN", "NOTIMP", "REFUSED", "YXDOMAIN", "YXRRSET", "NXRRSET",
    "NOTAUTH", "NOTZONE", "rcode11", "rcode12", "rcode13", "rcode14", "rcode15",
];

const MICROS: u64 = 1_000_000;

/// The status codes that are counted each: 100 to 599.
const KNOWN_FROM: u16 = 100;
const KNOWN_TO: u16 = 600;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn response_codes_are_listed_in_their_order_with_their_shares() {
        let mut counts = [0; 16];
        assert_eq!(rcodes(&counts, 0), "");
        (counts[3], counts[0], counts[11]) = (1, 2, 3);
        assert_eq!(rcodes(&counts, 6), "NOERROR 2 (33.33%), NXDOMAIN 1 (16.67%), rcode11 3 (50.00%)");
    }

    #[test]
    fn times_have_six_decimals() {
        assert_eq!([seconds(0), seconds(1_000_001)], ["0.000000", "1.000001"]);
    }
}
