//! How long HTTP caches may keep a response (RFC 8484 §5.1).

use domain::base::iana::Rtype;
use domain::base::{Message, ParsedName};
use domain::rdata::Soa;

/// The smallest TTL in the answer section, in seconds; where that is empty, what the SOA record of the
/// authority section allows for a negative response; 0 where nothing is known.
pub(crate) fn freshness_s(message: &[u8]) -> u32 {
    let Ok(message) = Message::from_octets(message) else { return 0 };
    let Ok(answers) = message.answer() else { return 0 };
    let ttls = answers.filter_map(Result::ok).map(|record| record.ttl().as_secs());
    ttls.min().or_else(|| negative_s(message)).unwrap_or(0)
}

fn negative_s(message: Message<&[u8]>) -> Option<u32> {
    let record =
        message.authority().ok()?.filter_map(Result::ok).find(|record| record.rtype() == Rtype::SOA)?;
    let ttl_s = record.ttl().as_secs();
    let record = record.into_record::<Soa<ParsedName<&[u8]>>>().ok()??;
    Some(ttl_s.min(record.data().minimum().as_secs()))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use dnsdyno_wire::{QueryForm, encode_name, parse_type};

    use super::*;
    use crate::answer::{Rule, Via, answer};
    use crate::zone::Zone;

    #[test]
    fn a_response_is_fresh_for_its_smallest_ttl_and_a_negative_one_as_the_soa_says() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("example.zone");
        let zone =
            "@ 500 IN SOA a. b. 1 2 3 4 60\n@ 500 IN NS a.\nalias 30 CNAME www\nwww 300 IN A 192.0.2.1\n";
        std::fs::write(&file, zone).unwrap();
        let rule = Rule::Zone(Arc::new(Zone::load(&file, Some("example.")).unwrap()));
        for (name, expected) in
            [("www.example.", 300), ("alias.example.", 30), ("no.example.", 60), ("example.net.", 0)]
        {
            let (mut wire, mut query, mut out) = (Vec::new(), Vec::new(), Vec::new());
            encode_name(name.as_bytes(), &mut wire).unwrap();
            QueryForm::default().encode(&wire, parse_type("A").unwrap(), &mut query);
            answer(&rule, &query, Via::Tcp, &mut out);
            assert_eq!(freshness_s(&out), expected, "{name}");
        }
        assert_eq!(freshness_s(b"short"), 0);
    }
}
