//! What the server answered before the load, in lines.

use dnsdyno_measure::shown;
use dnsdyno_record::{Check, TlsCheck};

use crate::units::duration;

/// What was found over one transport: `udp: NOERROR in 412 µs, "BIND 9.18.41", NSID ns1`.
pub fn check_line(check: &Check) -> String {
    let mut parts = Vec::new();
    parts.push(match (&check.problem, &check.rcode) {
        (Some(problem), _) => shown(problem, LONGEST).into_owned(),
        (None, Some(rcode)) => format!("{} in {}", shown(rcode, LONGEST), duration(check.took_ns)),
        (None, None) => "no answer".to_owned(),
    });
    if check.truncated {
        parts.push("truncated".to_owned());
    }
    if check.attempts > 1 && check.problem.is_none() {
        parts.push(format!("after {} attempts", check.attempts));
    }
    parts.extend(check.version.iter().map(|version| format!("\"{}\"", shown(version, LONGEST))));
    parts.extend(check.nsid.iter().map(|nsid| format!("NSID {}", shown(nsid, LONGEST))));
    parts.extend(check.tls.iter().map(tls));
    format!("{}: {}", shown(&check.transport, LONGEST), parts.join(", "))
}

fn tls(tls: &TlsCheck) -> String {
    let alpn = tls.alpn.iter().map(|alpn| format!(" ({})", shown(alpn, LONGEST))).collect::<String>();
    let name = |title: &str, name: &str| match name.is_empty() {
        true => String::new(),
        false => format!(", {title} {}", shown(name, LONGEST)),
    };
    let version = shown(&tls.version, LONGEST);
    format!("{version}{alpn}{}{}", name("certificate of", &tls.subject), name("by", &tls.issuer))
}

/// The sentence for a server that refuses service: `None` unless it answered REFUSED or SERVFAIL over every transport.
pub fn refusal(checks: &[Check]) -> Option<String> {
    let refused = |check: &Check| match check.rcode.as_deref() {
        Some(rcode @ ("REFUSED" | "SERVFAIL")) => Some(rcode.to_owned()),
        _ => None,
    };
    let rcodes: Vec<String> = checks.iter().map(refused).collect::<Option<_>>()?;
    let query = shown(&checks.first()?.query, LONGEST);
    Some(match rcodes.first()?.as_str() {
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

/// Characters shown of a foreign text.
const LONGEST: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(rcode: &str) -> Check {
        Check {
            transport: "dot".into(),
            query: "www.example A".into(),
            rcode: Some(rcode.into()),
            attempts: 1,
            took_ns: 412_000,
            ..Check::default()
        }
    }

    #[test]
    fn the_line_names_the_answer_and_the_server() {
        assert_eq!(check_line(&answered("NOERROR")), "dot: NOERROR in 412 µs");
        let check = Check {
            version: Some("BIND 9.18".into()),
            nsid: Some("ns1\u{1b}[2J".into()),
            attempts: 2,
            truncated: true,
            tls: Some(TlsCheck {
                version: "TLS 1.3".into(),
                alpn: Some("dot".into()),
                subject: "dns.example".into(),
                issuer: "Example CA".into(),
                ..TlsCheck::default()
            }),
            ..answered("NXDOMAIN")
        };
        assert_eq!(
            check_line(&check),
            "dot: NXDOMAIN in 412 µs, truncated, after 2 attempts, \"BIND 9.18\", NSID ns1\\u{1b}[2J, TLS 1.3 (dot), \
             certificate of dns.example, by Example CA"
        );
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
