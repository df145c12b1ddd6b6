//! The difference of two versions of a zone, as dynamic updates (RFC 2136) in the language of `nsupdate`.

use std::collections::HashSet;
use std::io::{self, Write};

use crate::record::{Data, Record};
use crate::zone::Zone;

/// The updates that turn one version of a zone into another.
#[derive(Debug)]
pub(crate) struct Change {
    origin: String,
    ttl_s: u32,
    /// Each is sent as one message. The last has the new SOA record.
    messages: Vec<Vec<Step>>,
}

#[derive(Debug)]
struct Step {
    is_added: bool,
    record: Record,
}

impl Change {
    /// What turns `before` into `after`, whose serial number is set: a server counts each message as a version, and the
    /// last message names the serial number that it would have reached.
    pub(crate) fn between(before: &Zone, after: &mut Zone) -> Self {
        let set = |zone: &Zone| zone.records.iter().cloned().collect::<HashSet<_>>();
        let (old, new) = (set(before), set(after));
        let mut added: Vec<&Record> = after.records.iter().filter(|record| !old.contains(*record)).collect();
        let mut removed: Vec<&Record> =
            before.records.iter().filter(|record| !new.contains(*record)).collect();
        // What is referred to comes before the records that refer to it, and goes after them.
        added.sort_by_key(|record| rank(record));
        removed.sort_by_key(|record| std::cmp::Reverse(rank(record)));
        let steps = added.into_iter().map(|record| (true, record));
        let steps = steps.chain(removed.into_iter().map(|record| (false, record)));

        let mut messages: Vec<Vec<Step>> = vec![Vec::new()];
        let mut octets = 0;
        for (is_added, record) in steps {
            octets += record.plain_octets();
            if octets > MOST_OCTETS {
                messages.push(Vec::new());
                octets = record.plain_octets();
            }
            if let Some(message) = messages.last_mut() {
                message.push(Step { is_added, record: record.clone() });
            }
        }
        after.serial = before.serial.wrapping_add(u32::try_from(messages.len()).unwrap_or(u32::MAX));
        if let Some(message) = messages.last_mut() {
            message.push(Step { is_added: true, record: after.soa() });
        }
        Change { origin: after.origin.to_string(), ttl_s: after.ttl_s, messages }
    }

    /// How many messages it is.
    pub(crate) fn messages(&self) -> usize {
        self.messages.len()
    }

    /// Writes the script for `nsupdate` or `knsupdate`, which lacks the server only.
    pub(crate) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        for message in &self.messages {
            writeln!(out, "zone {}", self.origin)?;
            for Step { is_added, record: Record { owner, data } } in message {
                let (kind, text) = (data.type_name(), data.text(""));
                match is_added {
                    true => writeln!(out, "update add {owner} {} {kind} {text}", self.ttl_s)?,
                    false => writeln!(out, "update del {owner} {kind} {text}")?,
                }
            }
            writeln!(out, "send")?;
        }
        Ok(())
    }
}

/// How many kinds of records stand between this one and an address.
fn rank(record: &Record) -> u8 {
    match &record.data {
        Data::A(_) | Data::Aaaa(_) => 0,
        Data::Srv(_) => 1,
        Data::Naptr(naptr) if naptr.flags.is_empty() => 3,
        Data::Naptr(_) => 2,
        _ => 4,
    }
}

/// Of the records of one message. It has 65,535 with its header and zone, and this leaves room for a signature.
const MOST_OCTETS: usize = 60_000;
