//! What a capture holds, read once before its replay: without it, neither the number of its clients nor its types are
//! known when the run begins.

use std::collections::HashSet;
use std::net::IpAddr;

use dnsdyno_capture::CaptureError;
use dnsdyno_wire::peek;
use ring::digest::{Context, SHA256};

use super::reader::{QueryReader, skipped};
use crate::OTHER_TYPES;

/// What a capture holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scan {
    /// The queries that are sent.
    pub queries: u64,
    /// The query types, in the order of their first appearance.
    pub types: Vec<u16>,
    /// The hash of the queries, as [`Queries::hash`](crate::Queries::hash) gives it.
    pub hash: String,
    /// The longest query, in octets.
    pub longest_bytes: usize,
    /// From the first query to the last, in nanoseconds.
    pub lasted_ns: u64,
    /// Why the capture cannot be read to its end.
    pub error: Option<String>,
    /// What the capture has beside these queries, in words.
    pub skipped: String,
}

impl Scan {
    /// Reads the whole capture. `client` is called with the address of the client of each query; `proceeds` from time
    /// to time with the number of queries so far: `None` if it returns false.
    ///
    /// # Errors
    /// There is no query before the place where the capture cannot be read further.
    pub fn of(
        mut reader: QueryReader,
        client: &mut dyn FnMut(IpAddr),
        proceeds: &mut dyn FnMut(u64) -> bool,
    ) -> Result<Option<Scan>, CaptureError> {
        let (mut scan, mut context) = (Scan::default(), Context::new(&SHA256));
        let (mut types, mut first_unix_ns, mut last_unix_ns) = (HashSet::new(), None, 0);
        loop {
            let query = match reader.next_query() {
                Ok(Some(query)) => query,
                Ok(None) => break,
                Err(error) if scan.queries == 0 => return Err(error),
                Err(error) => {
                    scan.error = Some(error.to_string());
                    break;
                }
            };
            scan.queries += 1;
            first_unix_ns.get_or_insert(query.at_unix_ns);
            last_unix_ns = query.at_unix_ns.max(last_unix_ns);
            scan.longest_bytes = scan.longest_bytes.max(query.message.len());
            context.update(&(query.message.len() as u16).to_be_bytes());
            context.update(query.message);
            let qtype = peek(query.message).ok().and_then(|query| query.qtype()).unwrap_or(0);
            if scan.types.len() < MOST_TYPES && types.insert(qtype) {
                scan.types.push(qtype);
            }
            client(query.client);
            if scan.queries % TOLD_AFTER == 0 && !proceeds(scan.queries) {
                return Ok(None);
            }
        }
        if scan.types.len() == MOST_TYPES {
            scan.types.push(OTHER_TYPES);
        }
        scan.hash = context.finish().as_ref().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        scan.lasted_ns = last_unix_ns.saturating_sub(first_unix_ns.unwrap_or(0));
        scan.skipped = skipped(&reader.counts());
        Ok(Some(scan))
    }
}

/// The types of a source that is read only once, and all others.
pub const USUAL_TYPES: &[u16] = &[
    1,
    28,
    65,
    15,
    16,
    2,
    6,
    5,
    12,
    33,
    35,
    43,
    46,
    47,
    48,
    50,
    51,
    52,
    64,
    257,
    255,
    99,
    13,
    18,
    29,
    39,
    44,
    45,
    55,
    59,
    60,
    61,
    249,
    250,
    251,
    252,
    256,
    0,
    OTHER_TYPES,
];

/// Types with a slot of their own.
const MOST_TYPES: usize = 255;

/// How often progress is told: several times a second.
const TOLD_AFTER: u64 = 1 << 18;
