//! The counters of BIND as series, by the keys that its statistics channel has for them as JSON, in whatever way they
//! were read: `["nsstats", "QryUDP"]`.

use crate::source::Reading;

/// Adds what is 0 where BIND does not mention it, when all that it mentions was added. It leaves out most counters that
/// are 0; but before 9.10 it does not count queries by their transport at all.
pub(super) fn complete(reading: &mut Reading) {
    ALWAYS.iter().for_each(|name| reading.counter(*name, 0));
    let has_queries = reading.counters.get("queries").is_some_and(|queries| *queries > 0);
    if !has_queries || TRANSPORTS.iter().any(|name| reading.counters.contains_key(*name)) {
        TRANSPORTS.iter().for_each(|name| reading.counter(*name, 0));
    }
}

/// Adds a number of its statistics.
pub(super) fn add(path: &[&str], value: u64, reading: &mut Reading) {
    let raw = format!("raw.{}", path.join("."));
    if is_gauge(path) {
        reading.gauge(raw, value);
    } else {
        reading.counter(raw, value);
    }
    match path {
        ["opcodes", "QUERY"] => reading.counter("queries", value),
        ["qtypes", name] => reading.query_type(name, value),
        ["rcodes", name] if value > 0 || !name.starts_with("RESERVED") => reading.rcode(name, value),
        ["nsstats", name] => server_counter(name, value, reading),
        ["views", "_default", "resolver", "cachestats", "QueryHits"] => reading.counter("cache.hits", value),
        ["views", "_default", "resolver", "cachestats", "QueryMisses"] => {
            reading.counter("cache.misses", value)
        }
        _ => {}
    }
}

fn server_counter(name: &str, value: u64, reading: &mut Reading) {
    match name {
        "QryUDP" => reading.transport("udp", value),
        "QryTCP" => reading.transport("tcp", value),
        "Response" => reading.counter("responses", value),
        "TruncatedResp" => reading.counter("responses.truncated", value),
        "RateDropped" => reading.dropped("rate-limit", value),
        "RateSlipped" => reading.counter("responses.slipped", value),
        "QryDropped" | "RecLimitDropped" => reading.dropped("recursion", value),
        "QryDuplicate" => reading.dropped("duplicate", value),
        "UpdateQuota" => reading.dropped("update-quota", value),
        "TCPConnHighWater" => reading.gauge("tcp.high_water", value),
        "RecursClients" => reading.gauge("recursing", value),
        _ => {}
    }
}

/// Of many documents these say how it is now; the others count.
fn is_gauge(path: &[&str]) -> bool {
    let name = path.last().copied().unwrap_or_default();
    match path {
        ["nsstats", ..] => ["TCPConnHighWater", "RecursClients", "RecursHighwater"].contains(&name),
        ["sockstats", ..] => name.ends_with("Active") || name.ends_with("Clients"),
        ["resstats", ..] | ["views", _, "resolver", "stats", ..] => {
            name.starts_with("QueryCur") || ["NumFetch", "BucketSize"].contains(&name)
        }
        ["views", _, "resolver", "cachestats", ..] => {
            name.starts_with("Cache") && !["CacheHits", "CacheMisses"].contains(&name) || name.contains("Mem")
        }
        ["views", _, "resolver", "cache" | "adb", ..] => true,
        _ => false,
    }
}

const ALWAYS: [&str; 6] = [
    "queries",
    "responses",
    "responses.truncated",
    "dropped.rate-limit",
    "dropped.recursion",
    "dropped.duplicate",
];

const TRANSPORTS: [&str; 2] = ["queries.udp", "queries.tcp"];
