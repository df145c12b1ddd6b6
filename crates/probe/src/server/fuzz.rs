//! Entry point for `fuzz/`: what a server may send as its statistics. It returns, whatever the bytes are.

use std::io::Cursor;

use super::{
    bind, common, dnsdist, knot, knot_resolver, mariadb, nsd, openmetrics, parameters, pdns, unbound, world,
};
use crate::source::Reading;

/// The series of an answer; the kind says of which server, and in which of its ways.
pub fn server_statistics(kind: u8, bytes: &[u8]) -> Reading {
    let mut reading = Reading::default();
    let text = String::from_utf8_lossy(bytes);
    let json = || serde_json::from_slice(bytes).unwrap_or_default();
    match kind {
        b'b' => bind::add(&json(), &mut reading),
        b'x' => bind::xml::add(&bind::xml::document(&text).unwrap_or_default(), &mut reading),
        b't' => bind::dump::add(&newest(bytes), &mut reading),
        b'u' => unbound::add(&text, &mut reading),
        b'n' => nsd::add(&text, &mut reading),
        b'k' => knot::add(&knot::read_rows(&mut &*bytes).unwrap_or_default(), &mut reading),
        b'y' => knot::add(&knot::rows_of_file(&text), &mut reading),
        b'r' => knot_resolver::add(&json(), &mut reading),
        b'm' => mariadb::add(&mariadb::read_rows(&mut &*bytes).unwrap_or_default(), &mut reading),
        b'p' => pdns::add_items(&json(), &mut reading),
        b's' => pdns::add_text(&text, &mut reading),
        b'd' => dnsdist::add(&json(), &mut reading),
        b'f' => dnsdist::add_server(&json(), &mut reading),
        b'w' => world::add(&json(), &mut reading),
        b'o' => openmetrics::add(&text, &mut reading),
        b'c' => drop((parameters::of_bind(&text), parameters::of_nsd(&text))),
        _ => {
            let seconds = common::pairs(&text, '=').filter_map(|(_, value)| common::seconds_as_ns(value));
            seconds.for_each(|ns| reading.gauge("seconds", ns));
        }
    }
    reading
}

/// The newest dump in the statistics file of BIND.
fn newest(bytes: &[u8]) -> String {
    let dump = bind::dump::Dump::newest(&mut Cursor::new(bytes)).ok().flatten();
    dump.map(|dump| dump.text).unwrap_or_default()
}
