//! Queries as `dnsperf -B` reads them: the length of each in two octets, and then its message.

use dnsdyno_measure::WrittenCounts;

use crate::message::DnsMessage;

pub(super) fn encode(message: &DnsMessage<'_>, out: &mut Vec<u8>, counts: &mut WrittenCounts) -> bool {
    if message.is_response() {
        counts.responses_left_out += 1;
        return false;
    }
    let Ok(len) = u16::try_from(message.bytes.len()) else {
        counts.unsuitable_left_out += 1;
        return false;
    };
    out.extend(len.to_be_bytes());
    out.extend_from_slice(message.bytes);
    true
}
