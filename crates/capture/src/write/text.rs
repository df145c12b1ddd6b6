//! Queries as text: a name and a type on each line, as dnsperf reads them, and behind them what else the query has, as
//! `dnsdyno run` reads it and dnsperf ignores it: `www.example A class=CH rd=0 edns=1232 do=1`.

use std::io::Write as _;

use dnsdyno_measure::WrittenCounts;
use dnsdyno_wire::{
    CLASS_IN, FLAG_AD, FLAG_CD, FLAG_RD, Peek, class_name, edns_of, name_to_text, peek, type_name,
};

use crate::message::DnsMessage;

pub(super) fn encode(message: &DnsMessage<'_>, out: &mut Vec<u8>, counts: &mut WrittenCounts) -> bool {
    if message.is_response() {
        counts.responses_left_out += 1;
        return false;
    }
    let Some((query, qtype, class)) = question(message.bytes) else {
        counts.unsuitable_left_out += 1;
        return false;
    };
    out.extend(name_to_text(query.qname()).bytes());
    out.push(b' ');
    out.extend(type_name(qtype).bytes());
    if class != CLASS_IN {
        option(out, "class", &class_name(class));
    }
    for (flag, name, usual) in [(FLAG_RD, "rd", true), (FLAG_AD, "ad", false), (FLAG_CD, "cd", false)] {
        let is_set = query.flags & flag != 0;
        if is_set != usual {
            option(out, name, if is_set { "1" } else { "0" });
        }
    }
    counts.flags_lost += u64::from(query.flags & !(FLAG_RD | FLAG_AD | FLAG_CD) != 0);
    let is_whole = encode_edns(message.bytes, out);
    counts.records_lost += u64::from(!is_whole);
    out.push(b'\n');
    true
}

/// Writes the OPT record; gives whether it is written whole, and is the only one of the additional section.
fn encode_edns(bytes: &[u8], out: &mut Vec<u8>) -> bool {
    let additional = bytes.get(10..12).unwrap_or_default();
    let Some(edns) = edns_of(bytes) else { return additional == [0, 0] };
    // 0 on a line means no EDNS. In a query it means 512, as any smaller size does (RFC 6891, 6.2.3).
    let size = if edns.size == 0 { 512 } else { edns.size };
    option(out, "edns", &size.to_string());
    if edns.dnssec_ok {
        option(out, "do", "1");
    }
    let mut room = MAX_OPTION_BYTES;
    let mut has_room = true;
    for (code, data) in edns.options() {
        match room.checked_sub(OPTION_HEAD_BYTES + data.len()) {
            Some(rest) => {
                room = rest;
                let hex: String = data.iter().map(|octet| format!("{octet:02x}")).collect();
                option(out, "opt", &format!("{code}:{hex}"));
            }
            None => has_room = false,
        }
    }
    has_room && additional == [0, 1] && edns.version == 0
}

fn option(out: &mut Vec<u8>, name: &str, value: &str) {
    // Memory can be written.
    let _ = write!(out, " {name}={value}");
}

/// The question of a standard query, its type and its class.
fn question(bytes: &[u8]) -> Option<(Peek<'_>, u16, u16)> {
    let query = peek(bytes).ok().filter(|query| query.opcode() == 0)?;
    let class = query.question.last_chunk::<2>()?;
    Some((query, query.qtype()?, u16::from_be_bytes(*class)))
}

/// What a line may have of EDNS options, with the code and length of each.
const MAX_OPTION_BYTES: usize = 512;
const OPTION_HEAD_BYTES: usize = 4;
