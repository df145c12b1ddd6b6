//! What the server answered before the load, in lines.

use dnsdyno_record::figures::are_only_refusals;
use dnsdyno_record::{Check, Digest, TlsCheck};
use dnsdyno_wire::rcode_name;

use dnsdyno_text::safe;
use dnsdyno_text::units::{counted, duration};

/// What was found over one transport of one server: `NOERROR over udp in 412 µs, version BIND 9.18.41, NSID ns1`.
pub fn check_line(check: &Check) -> String {
    let server = check.server.as_ref().map_or(String::new(), |server| format!(" by {}", safe(server)));
    let over = format!("{}{server}", safe(&check.transport));
    let mut parts = match (&check.rcode, &check.problem) {
        (Some(rcode), _) => vec![format!("{} over {over} in {}", safe(rcode), duration(check.took_ns))],
        (None, Some(problem)) => vec![format!("no answer over {over}: {}", safe(problem))],
        (None, None) => vec![format!("no answer over {over}")],
    };
    if check.attempts > 1 && check.rcode.is_some() {
        parts.push(format!("after {}", counted(check.attempts.into(), "attempt", "attempts")));
    }
    if check.truncated {
        parts.push("truncated".to_owned());
    }
    parts.extend(check.version.as_ref().map(|version| format!("version {}", safe(version))));
    parts.extend(check.nsid.as_ref().map(|nsid| format!("NSID {}", safe(nsid))));
    parts.extend(check.tls.as_ref().map(tls));
    parts.join(", ")
}

fn tls(tls: &TlsCheck) -> String {
    let mut parts = vec![safe(&tls.version)];
    parts.extend(tls.alpn.as_ref().map(|alpn| format!("ALPN {}", safe(alpn))));
    let facts = [("for", &tls.subject), ("until", &tls.valid_until), ("issued by", &tls.issuer)];
    let facts = facts.into_iter().filter(|(_, text)| !text.is_empty());
    let facts: Vec<_> = facts.map(|(word, text)| format!("{word} {}", safe(text))).collect();
    if !facts.is_empty() {
        parts.push(format!("certificate {}", facts.join(", ")));
    }
    parts.join(", ")
}

/// The sentence for a server that refuses service: `None` unless it answered REFUSED or SERVFAIL over every transport.
pub fn refusal(checks: &[Check]) -> Option<String> {
    let rcodes: Vec<&str> = checks.iter().map(|check| check.rcode.as_deref().unwrap_or_default()).collect();
    if !are_refusals(rcodes.iter().copied()) {
        return None;
    }
    let query = safe(&checks.first()?.query);
    Some(match *rcodes.first()? {
        "REFUSED" => format!(
            "the server answers `{query}` with REFUSED: it does not serve this name to this client; check its zones \
             and its access list, or the queries"
        ),
        _ => format!(
            "the server answers `{query}` with SERVFAIL: it cannot resolve this name; check its zones, or its way to \
             other servers"
        ),
    })
}

/// A run in which the server did not do what is measured, by all of its responses or by the first ones.
pub(crate) fn refusals(digest: &Digest) -> Option<String> {
    if let Some(names) = only_refusals(digest) {
        return Some(format!(
            "ALL RESPONSES WERE {names}: the figures are those of this error, not of answers. Ask for names that \
             the server serves, from an address that it serves."
        ));
    }
    let first = || digest.header.checks.iter().filter_map(|check| check.rcode.as_deref());
    are_refusals(first())
        .then(|| format!("Before the load the server answered {}.", first().collect::<Vec<_>>().join(", ")))
}

/// The RCODEs of a run whose responses were all refusals: `REFUSED or SERVFAIL`.
pub(crate) fn only_refusals(digest: &Digest) -> Option<String> {
    let tally = digest.tally();
    let codes = || tally.rcodes.iter().map(|(code, _)| rcode_name(code)).collect::<Vec<_>>();
    are_only_refusals(tally).then(|| codes().join(" or "))
}

/// Whether there are names of RCODEs, and all are refusals.
fn are_refusals<'a>(mut rcodes: impl Iterator<Item = &'a str> + Clone) -> bool {
    rcodes.clone().next().is_some() && rcodes.all(|rcode| matches!(rcode, "REFUSED" | "SERVFAIL"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(rcode: &str) -> Check {
        Check {
            transport: "udp".into(),
            query: "www.example A".into(),
            rcode: Some(rcode.into()),
            attempts: 1,
            took_ns: 412_000,
            ..Check::default()
        }
    }

    #[test]
    fn the_line_names_the_answer_and_what_was_unusual() {
        assert_eq!(check_line(&answered("NOERROR")), "NOERROR over udp in 412 µs");
        let check = Check { attempts: 2, truncated: true, ..answered("NXDOMAIN") };
        assert_eq!(check_line(&check), "NXDOMAIN over udp in 412 µs, after 2 attempts, truncated");
    }

    #[test]
    fn a_server_refuses_service_if_it_does_over_every_transport() {
        assert_eq!(refusal(&[]), None);
        assert_eq!(refusal(&[answered("REFUSED"), answered("NOERROR")]), None);
        let told = refusal(&[answered("REFUSED"), answered("REFUSED")]).unwrap();
        assert!(told.contains("`www.example A` with REFUSED"), "{told}");
        assert!(refusal(&[answered("SERVFAIL")]).unwrap().contains("cannot resolve"));
    }
}
