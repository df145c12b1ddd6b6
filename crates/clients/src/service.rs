//! The service field of NAPTR: `x-3gpp-<node>:<protocol>[:<protocol>]`, each protocol with what the node can do.

use crate::description::Lookups;
use crate::sets::{PGW, SGW, of_users};

/// For which gateways of which users a service field is wanted: bits of [`of_users`].
pub(crate) fn gateways(field: &[u8], lookups: &Lookups) -> u8 {
    let mut parts = field.split(|byte| *byte == b':');
    let (gateway, protocols) = match parts.next() {
        Some(node) if node.eq_ignore_ascii_case(b"x-3gpp-sgw") => (SGW, &lookups.sgw),
        Some(node) if node.eq_ignore_ascii_case(b"x-3gpp-pgw") => (PGW, &lookups.pgw),
        _ => return 0,
    };
    let others = lookups.others.iter().map(|users| users.capability.as_deref());
    let wanted = || std::iter::once(lookups.capability.as_deref()).chain(others.clone()).zip(0..);
    let mut bits = 0;
    for part in parts {
        let (name, capabilities) = split_protocol(part);
        if protocols.iter().any(|protocol| name.eq_ignore_ascii_case(protocol.as_bytes())) {
            let capable = wanted().filter(|(capability, _)| is_capable(capabilities, *capability));
            bits |= capable.fold(0, |bits, (_, users)| bits | of_users(gateway, users));
        }
    }
    bits
}

/// A protocol, and what follows its first `+`.
fn split_protocol(part: &[u8]) -> (&[u8], &[u8]) {
    match part.iter().position(|byte| *byte == b'+') {
        Some(at) => (&part[..at], &part[at + 1..]),
        None => (part, &[]),
    }
}

/// Whether `nc-nr.5gs+ue-1.2` has the capability that is wanted: one of the dotted ones equals it (TS 29.303 B.4).
/// Without a wanted one it must have none. Usage types (`+ue-`) are not looked at: the users of this simulation have
/// none.
fn is_capable(suffixes: &[u8], wanted: Option<&str>) -> bool {
    let mut capabilities = suffixes
        .split(|byte| *byte == b'+')
        .filter_map(|suffix| {
            let (head, list) = suffix.split_at_checked(3)?;
            head.eq_ignore_ascii_case(b"nc-").then_some(list)
        })
        .flat_map(|list| list.split(|byte| *byte == b'.'));
    match wanted {
        Some(wanted) => capabilities.any(|capability| capability.eq_ignore_ascii_case(wanted.as_bytes())),
        None => capabilities.next().is_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::description::OtherUsers;

    fn wanted(field: &str, capability: Option<&str>) -> u8 {
        let lookups = Lookups { capability: capability.map(str::to_owned), ..Lookups::default() };
        gateways(field.as_bytes(), &lookups)
    }

    #[test]
    fn a_record_is_for_a_gateway_and_a_protocol() {
        assert_eq!(wanted("x-3gpp-sgw:x-s5-gtp:x-s8-gtp", None), SGW);
        assert_eq!(wanted("X-3GPP-PGW:x-s8-gtp:X-S5-GTP", None), PGW);
        for other in
            ["x-3gpp-mme:x-s3:x-s10", "x-3gpp-sgw:x-s8-gtp", "x-3gpp-sgw", "", "x-3gpp-sgw:x-s5-gtpp"]
        {
            assert_eq!(wanted(other, None), 0, "{other}");
        }
    }

    #[test]
    fn a_capability_equals_one_of_the_dotted_ones() {
        for field in ["x-s5-gtp+nc-nr", "x-s5-gtp+nc-nr.5gs", "x-s5-gtp+nc-5gs.NR", "x-s5-gtp+ue-1.2+nc-nr"] {
            assert_eq!(wanted(&format!("x-3gpp-sgw:{field}"), Some("nr")), SGW, "{field}");
            assert_eq!(wanted(&format!("x-3gpp-sgw:{field}"), None), 0, "{field}");
        }
        for field in
            ["x-s5-gtp+nc-nrs", "x-s5-gtp", "x-s5-gtp+ue-nr", "x-s8-gtp+nc-nr", "x-s5-gtp:x-s8-gtp+nc-nr"]
        {
            assert_eq!(wanted(&format!("x-3gpp-sgw:{field}"), Some("nr")), 0, "{field}");
        }
        assert_eq!(wanted("x-3gpp-sgw:x-s5-gtp:x-s8-gtp+nc-nr.5gs+ue-1.2", None), SGW);
    }

    #[test]
    fn a_record_may_be_for_several_kinds_of_users() {
        let others = ["v6", "nr"].map(|capability| OtherUsers {
            part: 0.1,
            capability: Some(capability.to_owned()),
            ipv4: false,
            ipv6: true,
        });
        let lookups = Lookups { others: others.into(), ..Lookups::default() };
        let of = |field: &str| gateways(field.as_bytes(), &lookups);
        assert_eq!(of("x-3gpp-sgw:x-s5-gtp"), SGW);
        assert_eq!(of("x-3gpp-pgw:x-s5-gtp+nc-v6"), of_users(PGW, 1));
        assert_eq!(of("x-3gpp-sgw:x-s5-gtp+nc-nr.v6"), of_users(SGW, 1) | of_users(SGW, 2));
        assert_eq!(of("x-3gpp-sgw:x-s5-gtp+nc-5gs"), 0);
    }
}
