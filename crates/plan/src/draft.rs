//! A plan as the user gives it: by flags, by a plan file, or both. Nothing is checked yet, nothing filled in.
//!
//! Flags and plan file say the same in the same words: `--edns-size 1232` is `edns-size = 1232`. Quantities
//! stay as the text the user wrote until [`Draft::validate`] reads them.

use std::fmt;
use std::path::Path;

use serde::de::{Deserializer, Visitor};
use serde::{Deserialize, Serialize};

use crate::encryption::{HttpMethod, TlsVersions};
use crate::error::PlanError;
use crate::plan::{Family, TransportKind};
use crate::target::has_port;

/// What the user asked for. Each field is a flag of the same name and a key of the plan file; `None` = not
/// said. Text fields with a unit hold what [`crate::units`] reads, such as `50k` or `1.5s`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Draft {
    /// A name for the run.
    pub name: Option<String>,
    /// A remark, kept in the record.
    pub note: Option<String>,

    /// The server: `name`, `address`, `address:port`, `[v6]:port` or `address@port`.
    pub server: Option<String>,
    /// The server's port.
    pub port: Option<u16>,
    /// Which addresses of the server may be used.
    pub family: Option<Family>,
    /// How messages travel.
    pub transport: Option<TransportKind>,
    /// Several transports by weight: `udp=60,tcp=40`.
    pub mix: Option<String>,
    /// The user's word that this server may be loaded. Needed for public addresses.
    pub i_may_load_this_server: Option<bool>,

    /// The query file; `-` = standard input.
    pub queries: Option<String>,
    /// Questions given one by one: `name`, `name TYPE` or `name/TYPE`.
    pub ask: Option<Vec<String>>,
    /// Whether a bad line of the query file is an error.
    pub strict: Option<bool>,
    /// Ask in the order of the file, even where putting questions of one length together would be faster.
    pub keep_order: Option<bool>,
    /// The RD bit.
    pub recursion_desired: Option<bool>,
    /// The CD bit.
    pub checking_disabled: Option<bool>,
    /// The AD bit.
    pub authentic_data: Option<bool>,
    /// The DO bit; brings EDNS with it.
    pub dnssec_ok: Option<bool>,
    /// The EDNS UDP payload size in bytes; brings EDNS with it.
    pub edns_size: Option<u16>,
    /// Ask for the server's identifier; brings EDNS with it.
    pub nsid: Option<bool>,
    /// The class of every question: `IN`, `CH`, `CLASSnnn`.
    pub class: Option<String>,

    /// Closed loop: how many queries are outstanding at any time. Open loop: a query is held back while so many are.
    pub outstanding: Option<u32>,
    /// Open loop: one rate.
    #[serde(deserialize_with = "quantity")]
    pub rate: Option<String>,
    /// Open loop: `A..B`, with `over` and perhaps `hold`.
    pub ramp: Option<String>,
    /// How long a ramp takes.
    #[serde(deserialize_with = "quantity")]
    pub over: Option<String>,
    /// Open loop: `A..B`, with `step` and `hold`.
    pub stair: Option<String>,
    /// How much the rate changes from step to step of a stair.
    #[serde(deserialize_with = "quantity")]
    pub step: Option<String>,
    /// Open loop: `BASE..PEAK`, with `every`, `hold` and `for`.
    pub burst: Option<String>,
    /// From one burst to the next.
    #[serde(deserialize_with = "quantity")]
    pub every: Option<String>,
    /// How long each step of a stair, each burst, or the end of a ramp lasts.
    #[serde(deserialize_with = "quantity")]
    pub hold: Option<String>,

    /// Ends the run after this time.
    #[serde(rename = "for", deserialize_with = "quantity")]
    pub duration: Option<String>,
    /// Ends the run after this many queries.
    #[serde(deserialize_with = "quantity")]
    pub count: Option<String>,
    /// Ends the run after the queries were asked this many times.
    pub passes: Option<u64>,

    /// How long an answer is waited for.
    #[serde(deserialize_with = "quantity")]
    pub timeout: Option<String>,
    /// How long an interval of the record is.
    #[serde(deserialize_with = "quantity")]
    pub interval: Option<String>,
    /// Threads that send and receive.
    pub workers: Option<usize>,
    /// Whether each of them stays on one CPU.
    pub pin: Option<bool>,
    /// Sockets, in all workers together.
    pub clients: Option<usize>,
    /// How many queries a connection carries before it is closed; 0 = any number.
    pub queries_per_connection: Option<u32>,
    /// How long a connection without a query under way is kept.
    #[serde(deserialize_with = "quantity")]
    pub idle_timeout: Option<String>,
    /// Whether the first query may travel with the SYN.
    pub fast_open: Option<bool>,
    /// Whether any certificate is believed.
    pub insecure: Option<bool>,
    /// A PEM file with the certificates to trust, instead of those of the system.
    pub ca: Option<String>,
    /// The name that the server's certificate must be for.
    pub sni: Option<String>,
    /// The one version of TLS to speak: `1.2` or `1.3`.
    pub tls_version: Option<TlsVersions>,
    /// Whether TLS sessions are resumed.
    pub resumption: Option<bool>,
    /// Whether queries travel with the first flight of a resumed handshake (0-RTT).
    pub early_data: Option<bool>,
    /// How long a handshake may take.
    #[serde(deserialize_with = "quantity")]
    pub handshake_timeout: Option<String>,
    /// How HTTP asks: `get` or `post`.
    pub http_method: Option<HttpMethod>,
    /// The path that HTTP asks at.
    pub http_path: Option<String>,
    /// What of EDNS a query carries that is asked again over TCP: `same` or `none`.
    pub tcp_edns: Option<String>,
    /// The address to send from; over TCP also `ADDRESS/LENGTH`.
    pub local_address: Option<String>,
    /// The ports to send from: `A..B`, `A-B` or one port.
    #[serde(deserialize_with = "quantity")]
    pub local_ports: Option<String>,
    /// How packets leave: `sockets`, `xdp` or `auto`.
    pub backend: Option<String>,
    /// AF_XDP: the interface.
    pub interface: Option<String>,
    /// AF_XDP: the Ethernet address to send to.
    pub next_hop: Option<String>,
    /// AF_XDP: the 802.1Q tag of the queries.
    pub vlan: Option<u16>,
    /// AF_XDP: addresses to send from, `ADDRESS/LENGTH`.
    pub source_prefix: Option<String>,
    /// AF_XDP: `auto`, `native` or `generic`.
    pub xdp_mode: Option<String>,
    /// AF_XDP: `auto`, `zero-copy` or `copy`.
    pub xdp_copy: Option<String>,
    /// The receive buffer asked of the system for each socket.
    #[serde(deserialize_with = "quantity")]
    pub receive_buffer: Option<String>,
    /// Whether answers are neither awaited nor counted.
    pub send_only: Option<bool>,
    /// What random choices start from. Text, because TOML has no room for all of u64.
    #[serde(deserialize_with = "quantity")]
    pub seed: Option<String>,

    /// Open loop: any pieces, in the order of time.
    pub piece: Option<Vec<PieceDraft>>,
}

/// One piece of a load in a plan file.
///
/// ```toml
/// [[piece]]
/// rate = "0..10k"
/// for = "30s"
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PieceDraft {
    /// One rate, or `A..B` for one that changes evenly; 0 = a pause.
    #[serde(deserialize_with = "needed_quantity")]
    pub rate: String,
    /// How long the piece lasts.
    #[serde(rename = "for", deserialize_with = "needed_quantity")]
    pub duration: String,
    /// What a report calls it; its rate where this is not said.
    #[serde(default)]
    pub label: Option<String>,
}

impl Draft {
    /// Reads a plan file.
    pub fn read(path: &Path) -> Result<Draft, PlanError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| PlanError::ReadPlan { path: path.to_owned(), reason: source.to_string() })?;
        Draft::from_toml(&text).map_err(|reason| PlanError::BadPlan { path: path.to_owned(), reason })
    }

    /// Reads the text of a plan file. The error names the line, and the key where that is unknown.
    pub fn from_toml(text: &str) -> Result<Draft, String> {
        toml::from_str(text).map_err(|error| error.to_string().trim_end().to_owned())
    }

    /// The text of a plan file that says the same.
    pub fn to_toml(&self) -> Result<String, PlanError> {
        toml::to_string(self).map_err(|error| PlanError::WritePlan(error.to_string()))
    }

    /// This draft with `flags` laid over it: what both say, the flags say.
    ///
    /// Some things are said in groups, and a group is taken from the flags as a whole: the shape of the load
    /// (a rate on the command line replaces the ramp of the file), where queries come from, and what ends
    /// the run. The permission to load a server goes with the server it was given for.
    ///
    /// `outstanding` beside a shape is its window. It stays when the flags replace the shape, and flags that say
    /// `outstanding` alone change it. Where the file has no window, `outstanding` alone is another load (closed
    /// loop) and replaces the shape; a shape replaces a closed loop.
    pub fn overlay(mut self, flags: Draft) -> Draft {
        let (has_shape, had_shape) =
            (flags.load_shapes().next().is_some(), self.load_shapes().next().is_some());
        if has_shape && !had_shape {
            self.outstanding = None;
        }
        let is_new_shape = has_shape && !flags.load_shapes().eq(self.load_shapes());
        if is_new_shape || (!has_shape && flags.outstanding.is_some() && self.outstanding.is_none()) {
            self.forget_shape();
        }
        if flags.queries.is_some() || flags.ask.is_some() {
            (self.queries, self.ask) = (None, None);
        }
        if flags.duration.is_some() || flags.count.is_some() || flags.passes.is_some() {
            (self.count, self.passes) = (None, None);
            // The time is a part of the shape of bursts.
            if self.burst.is_none() {
                self.duration = None;
            }
        }
        if flags.transport.is_some() || flags.mix.is_some() {
            (self.transport, self.mix) = (None, None);
        }
        if let Some(server) = &flags.server {
            self.i_may_load_this_server = None;
            if has_port(server) {
                self.port = None;
            }
        }
        self.or_from(flags)
    }

    /// The options that each choose the shape of an open loop, of those that were given.
    pub(crate) fn load_shapes(&self) -> impl Iterator<Item = &'static str> + use<> {
        [
            ("rate", self.rate.is_some()),
            ("ramp", self.ramp.is_some()),
            ("stair", self.stair.is_some()),
            ("burst", self.burst.is_some()),
            ("piece", self.piece.is_some()),
        ]
        .into_iter()
        .filter_map(|(option, given)| given.then_some(option))
    }

    fn forget_shape(&mut self) {
        (self.rate, self.piece) = (None, None);
        (self.ramp, self.over, self.hold) = (None, None, None);
        (self.stair, self.step) = (None, None);
        (self.burst, self.every) = (None, None);
    }

    /// Field by field, what `top` says or else what this says.
    fn or_from(self, top: Draft) -> Draft {
        // Naming every field makes a forgotten one an error of the compiler.
        macro_rules! either {
            ($($field:ident)*) => { Draft { $($field: top.$field.or(self.$field)),* } };
        }
        either!(
            name note server port family transport mix i_may_load_this_server queries ask strict keep_order
            recursion_desired checking_disabled authentic_data dnssec_ok edns_size nsid class outstanding
            rate ramp over stair step burst every hold duration count passes timeout interval workers pin
            clients queries_per_connection idle_timeout fast_open tcp_edns insecure ca sni tls_version
            resumption early_data handshake_timeout http_method http_path local_address local_ports backend
            interface next_hop vlan source_prefix xdp_mode xdp_copy receive_buffer send_only seed piece
        )
    }
}

/// Reads a quantity that is written as text or as a bare number.
fn quantity<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    needed_quantity(deserializer).map(Some)
}

fn needed_quantity<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    deserializer.deserialize_any(QuantityVisitor)
}

struct QuantityVisitor;

impl Visitor<'_> for QuantityVisitor {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number, or a text such as \"50k\" or \"1.5s\"")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<String, E> {
        Ok(text.to_owned())
    }

    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<String, E> {
        Ok(number.to_string())
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<String, E> {
        Ok(number.to_string())
    }

    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<String, E> {
        if number.is_finite() { Ok(number.to_string()) } else { Err(E::custom("not a finite number")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft(text: &str) -> Draft {
        Draft::from_toml(text).expect("a good plan file")
    }

    #[test]
    fn quantities_may_be_text_or_bare_numbers() {
        let read = draft("rate = 50000\nfor = 1.5\ntimeout = \"5s\"\ncount = \"1M\"\nseed = 7");
        assert_eq!(read.rate.as_deref(), Some("50000"));
        assert_eq!(read.duration.as_deref(), Some("1.5"));
        assert_eq!(read.timeout.as_deref(), Some("5s"));
        assert_eq!((read.count.as_deref(), read.seed.as_deref()), (Some("1M"), Some("7")));
    }

    #[test]
    fn an_unknown_key_is_an_error_that_names_it() {
        let error = Draft::from_toml("rate = 1\nretries = 3\n").expect_err("no such key");
        assert!(error.contains("retries") && error.contains("line 2"), "{error}");
        let error = Draft::from_toml("[[piece]]\nrate = 1\nfor = 1\nholds = 2").expect_err("no such key");
        assert!(error.contains("holds"), "{error}");
    }

    #[test]
    fn a_piece_without_a_length_and_a_value_of_the_wrong_kind_are_errors() {
        assert!(Draft::from_toml("[[piece]]\nrate = 1").expect_err("no length").contains("for"));
        assert!(Draft::from_toml("rate = true").expect_err("no number").contains("a number, or a text"));
        assert!(Draft::from_toml("family = \"v5\"").expect_err("no family").contains("v5"));
        assert!(Draft::from_toml("port = 70000").is_err());
        assert!(Draft::from_toml("rate = inf").is_err());
    }

    #[test]
    fn flags_win_over_the_file_and_leave_the_rest() {
        let both = draft("server = \"a\"\ntimeout = \"2s\"\nworkers = 3").overlay(draft("timeout = \"1s\""));
        assert_eq!(both, draft("server = \"a\"\ntimeout = \"1s\"\nworkers = 3"));
    }

    #[test]
    fn a_load_on_the_command_line_replaces_another_kind_and_refines_the_same() {
        let file = draft("stair = \"1k..5k\"\nstep = \"1k\"\nhold = \"10s\"");
        assert_eq!(file.clone().overlay(draft("rate = 7")), draft("rate = 7"));
        assert_eq!(
            file.clone().overlay(draft("hold = \"1s\"")),
            draft("stair = \"1k..5k\"\nstep = \"1k\"\nhold = \"1s\"")
        );
        assert_eq!(
            file.overlay(draft("stair = \"2k..3k\"")),
            draft("stair = \"2k..3k\"\nstep = \"1k\"\nhold = \"10s\"")
        );
    }

    #[test]
    fn a_window_stays_beside_another_shape_and_alone_it_is_another_load() {
        let polite = draft("ramp = \"1..5k\"\nover = 10\noutstanding = 50");
        assert_eq!(polite.clone().overlay(draft("rate = 7")), draft("rate = 7\noutstanding = 50"));
        assert_eq!(
            polite.clone().overlay(draft("outstanding = 9")),
            draft("ramp = \"1..5k\"\nover = 10\noutstanding = 9")
        );
        let both = draft("rate = 7\noutstanding = 9");
        assert_eq!(polite.overlay(both.clone()), both);
        assert_eq!(draft("rate = 7").overlay(draft("outstanding = 9")), draft("outstanding = 9"));
        assert_eq!(draft("outstanding = 9").overlay(draft("rate = 7")), draft("rate = 7"));
        assert_eq!(draft("outstanding = 9").overlay(both.clone()), both);
    }

    #[test]
    fn what_ends_the_run_and_where_queries_come_from_are_replaced_as_a_whole() {
        let file = draft("passes = 1\nqueries = \"file\"");
        assert_eq!(file.overlay(draft("for = 60\nask = [\"a\"]")), draft("for = 60\nask = [\"a\"]"));
        let bursts = draft("burst = \"1..2\"\nfor = 60\ncount = 5");
        assert_eq!(bursts.overlay(draft("passes = 2")), draft("burst = \"1..2\"\nfor = 60\npasses = 2"));
    }

    #[test]
    fn a_permission_goes_with_its_server_and_a_port_in_the_server_wins() {
        let file = draft("server = \"a\"\nport = 5300\ni-may-load-this-server = true");
        assert_eq!(file.clone().overlay(draft("server = \"b:53\"")), draft("server = \"b:53\""));
        assert_eq!(file.overlay(draft("server = \"b\"")), draft("server = \"b\"\nport = 5300"));
    }

    #[test]
    fn a_draft_survives_the_way_through_its_file() {
        let text = "server = \"a\"\nask = [\"x AAAA\"]\nrate = \"5\"\nfor = \"1s\"\nseed = \"18446744073709551615\"\n\
                    [[piece]]\nrate = \"0..5k\"\nfor = \"3s\"\nlabel = \"warm-up\"\n";
        let read = draft(text);
        assert_eq!(draft(&read.to_toml().expect("a plan file")), read);
    }
}
