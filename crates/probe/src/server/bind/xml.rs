//! The statistics of BIND as XML: the numbers in them, with the keys that the statistics channel has for them as JSON.
//!
//! ```text
//!   version 3, since BIND 9.9    statistics > server > counters type="nsstat" > counter name="QryUDP"
//!                                statistics > views > view name="_default" > counters, cache > rrset > name, counter
//!   version 2, BIND 9.5 to 9.9   isc > bind > statistics > server > nsstat > name, counter
//!                                … > views > view > name, resstat > name, counter, cache > rrset > name, counter
//! ```
//!
//! As XML it mentions counters that are 0 and that it leaves out as JSON; here they are left out too.

use super::super::xml::Element;
use super::series;
use crate::source::Reading;

/// Reads a document of a statistics channel, as far as it is of use.
///
/// # Errors
/// As [`Element::parse`].
pub(in crate::server) fn document(text: &str) -> Result<Element, String> {
    Element::parse(text, &LEFT_OUT)
}

/// The series of a document.
pub(in crate::server) fn add(document: &Element, reading: &mut Reading) {
    numbers(document, &mut |path, value| series::add(path, value, reading));
    if has_server(document) {
        series::complete(reading);
    }
}

/// The element with the statistics, and the digit of their version; `None` of another document.
fn statistics(document: &Element) -> Option<(&Element, char)> {
    let statistics = match document.name.as_str() {
        "isc" => document.first("bind")?.first("statistics")?,
        _ => document,
    };
    let version = statistics.attribute("version")?.chars().next()?;
    (statistics.name == "statistics" && ['2', '3'].contains(&version)).then_some((statistics, version))
}

/// Whether it is a document of a statistics channel.
pub(super) fn is_statistics(document: &Element) -> bool {
    statistics(document).is_some()
}

/// Whether it has the counters of the server, and not only those of the sizes of its messages.
fn has_server(document: &Element) -> bool {
    let server = statistics(document).and_then(|(statistics, _)| statistics.first("server"));
    server.is_some_and(|server| server.first("counters").is_some() || server.first("requests").is_some())
}

/// The version of the program, which it tells since 9.9.
pub(super) fn version(document: &Element) -> Option<&str> {
    let version = statistics(document)?.0.first("server")?.first("version")?.text();
    (!version.is_empty()).then_some(version)
}

/// Calls `found` with each number of a document, and the keys that lead to it.
fn numbers(document: &Element, found: &mut impl FnMut(&[&str], u64)) {
    let Some((statistics, version)) = statistics(document) else { return };
    let server = statistics.first("server");
    let views = statistics.all("views").flat_map(|views| views.all("view"));
    if version == '2' {
        server.into_iter().for_each(|server| of_server_2(server, found));
        views.for_each(|view| of_view_2(view, found));
        return;
    }
    for counters in server.into_iter().flat_map(|server| server.all("counters")) {
        if let Some(group) = key_of(&OF_SERVER_3, counters.attribute("type")) {
            each_counter(counters, group, &mut |name, value| found(&[group, name], value));
        }
    }
    views.for_each(|view| of_view_3(view, found));
    statistics.all("traffic").for_each(|traffic| of_traffic(traffic, found));
}

fn of_view_3(view: &Element, found: &mut impl FnMut(&[&str], u64)) {
    let Some(name) = view.attribute("name") else { return };
    for counters in view.all("counters") {
        if let Some(group) = key_of(&OF_VIEW_3, counters.attribute("type")) {
            each_counter(counters, group, &mut |counter, value| {
                found(&["views", name, "resolver", group, counter], value)
            });
        }
    }
    of_cache(view, name, found);
}

/// Sizes of messages, in octets from and to.
fn of_traffic(traffic: &Element, found: &mut impl FnMut(&[&str], u64)) {
    for family in &traffic.children {
        for transport in &family.children {
            for counters in transport.all("counters") {
                let Some(what) = key_of(&OF_TRAFFIC, counters.attribute("type")) else { continue };
                let key = format!("dns-{}-{what}-{}", transport.name, family.name);
                each_counter(counters, what, &mut |size, value| found(&["traffic", &key, size], value));
            }
        }
    }
}

fn of_server_2(server: &Element, found: &mut impl FnMut(&[&str], u64)) {
    let of_kinds = ["requests", "queries-in"].map(|name| server.first(name));
    for element in of_kinds.into_iter().flatten().chain([server]) {
        for counter in &element.children {
            let Some(group) = key_of(&OF_SERVER_2, Some(&counter.name)) else { continue };
            each_named(counter, group, &mut |name, value| found(&[group, name], value));
        }
    }
}

fn of_view_2(view: &Element, found: &mut impl FnMut(&[&str], u64)) {
    let Some(name) = view.first("name").map(Element::text) else { return };
    for counter in &view.children {
        if let Some(group) = key_of(&OF_VIEW_2, Some(&counter.name)) {
            each_named(counter, group, &mut |counter, value| {
                found(&["views", name, "resolver", group, counter], value)
            });
        }
    }
    of_cache(view, name, found);
}

/// The record sets in the cache of a view, by type.
fn of_cache(view: &Element, name: &str, found: &mut impl FnMut(&[&str], u64)) {
    for set in view.all("cache").flat_map(|cache| cache.all("rrset")) {
        each_named(set, "cache", &mut |kind, value| {
            found(&["views", name, "resolver", "cache", kind], value);
        });
    }
}

/// `<counter name="QryUDP">7</counter>`, each.
fn each_counter(counters: &Element, group: &str, found: &mut impl FnMut(&str, u64)) {
    for counter in counters.all("counter") {
        let number = counter.text().parse().ok().filter(|value| is_told(group, *value));
        if let (Some(name), Some(value)) = (counter.attribute("name"), number) {
            found(name, value);
        }
    }
}

/// `<nsstat><name>QryUDP</name><counter>7</counter></nsstat>`.
fn each_named(element: &Element, group: &str, found: &mut impl FnMut(&str, u64)) {
    let number = element.first("counter").and_then(|counter| counter.text().parse().ok());
    let number = number.filter(|value| is_told(group, *value));
    if let (Some(name), Some(value)) = (element.first("name").map(Element::text), number) {
        found(name, value);
    }
}

/// Whether a number of this group is told as JSON.
fn is_told(group: &str, value: u64) -> bool {
    value > 0 || ["opcodes", "rcodes", "cachestats"].contains(&group)
}

/// Elements of no use here, of which there may be many: one for each zone, each socket.
const LEFT_OUT: [&str; 4] = ["zones", "socketmgr", "taskmgr", "memory"];

/// What XML calls a group of counters, and what JSON does.
type Keys = [(&'static str, &'static str)];

fn key_of(keys: &'static Keys, name: Option<&str>) -> Option<&'static str> {
    keys.iter().find(|(theirs, _)| Some(*theirs) == name).map(|(_, key)| *key)
}

const OF_SERVER_3: [(&str, &str); 8] = [
    ("opcode", "opcodes"),
    ("rcode", "rcodes"),
    ("qtype", "qtypes"),
    ("nsstat", "nsstats"),
    ("zonestat", "zonestats"),
    ("resstat", "resstats"),
    ("dnstap", "dnstapstats"),
    ("sockstat", "sockstats"),
];

const OF_VIEW_3: [(&str, &str); 4] =
    [("resqtype", "qtypes"), ("resstats", "stats"), ("cachestats", "cachestats"), ("adbstat", "adb")];

const OF_TRAFFIC: [(&str, &str); 2] =
    [("request-size", "requests-sizes-received"), ("response-size", "responses-sizes-sent")];

const OF_SERVER_2: [(&str, &str); 6] = [
    ("opcode", "opcodes"),
    ("rdtype", "qtypes"),
    ("nsstat", "nsstats"),
    ("zonestat", "zonestats"),
    ("resstat", "resstats"),
    ("sockstat", "sockstats"),
];

const OF_VIEW_2: [(&str, &str); 2] = [("rdtype", "qtypes"), ("resstat", "stats")];
