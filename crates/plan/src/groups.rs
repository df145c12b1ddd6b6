//! Which options belong together: the one description of it. A plan file and the flags over it replace some groups as a
//! whole, a rule may be about a group, and a search or an experiment refuses or forgets a group by its name.
//!
//! Each option is in exactly one group, or this file does not compile. The groups are not structs in [`Draft`], because
//! `serde` cannot refuse unknown keys of a struct that has others in it, and loses the lines of errors.

use std::any::Any;

use crate::draft::Draft;

/// Declares the groups: for each its choices, and after `;` its details, as `field = "option"`. An option counts as
/// given where it is set; one that is switched on or off, where it is switched from its default; with `if`, where its
/// value fits too.
macro_rules! groups {
    ($(
        $(#[$doc:meta])*
        $group:ident {
            $($choice:ident = $option:literal $(if $fits:expr)?),+
            $(; $($detail:ident = $further:literal),+)? $(,)?
        }
    )*) => {
        /// Options that belong together. Its *choices* each mean something alone; its *details* say more of a choice.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Group {
            $($(#[$doc])* $group,)*
        }

        impl Draft {
            /// The choices of a group that are given, by the names of their flags.
            pub fn choices(&self, group: Group) -> Vec<&'static str> {
                match group {
                    $(Group::$group => given([$((
                        $option,
                        is_given(&self.$choice, $option) $(&& self.$choice.as_ref().is_some_and($fits))?
                    )),+]),)*
                }
            }

            /// The details of a group that are given, by the names of their flags.
            pub fn details(&self, group: Group) -> Vec<&'static str> {
                match group {
                    $(Group::$group => given([$($(($further, is_given(&self.$detail, $further))),+)?]),)*
                }
            }

            /// Forgets the options of a group.
            pub fn clear(&mut self, group: Group) {
                match group {
                    $(Group::$group => {
                        $(self.$choice = None;)+
                        $($(self.$detail = None;)+)?
                    })*
                }
            }
        }

        /// Each option is in one group: the compiler counts the fields. The format is that of the file.
        const _: fn(Draft) = |draft| {
            let Draft { format: _, $($($choice: _,)+ $($($detail: _,)+)?)* } = draft;
        };

        #[cfg(test)]
        impl Group {
            pub(crate) const ALL: &'static [Group] = &[$(Group::$group,)*];

            /// The names of the flags of its choices.
            pub(crate) fn choices(self) -> &'static [&'static str] {
                match self {
                    $(Group::$group => &[$($option),+],)*
                }
            }

            /// The names of the flags of its details.
            pub(crate) fn details(self) -> &'static [&'static str] {
                match self {
                    $(Group::$group => &[$($($further),+)?],)*
                }
            }
        }

        /// Each field with the name of its flag.
        #[cfg(test)]
        const FIELDS: &[(&str, &str)] =
            &[$($((stringify!($choice), $option),)+ $($((stringify!($detail), $further),)+)?)*];
    };
}

groups! {
    /// The servers. The permission is only for them.
    Servers {
        server = "server",
        servers = "servers";
        i_may_load_this_server = "i-may-load-this-server",
    }
    /// How servers are found and asked first.
    Reach {
        port = "port",
        family = "family",
        check = "no-check",
    }
    /// Where the queries come from.
    Source {
        queries = "queries",
        zone = "zone",
        ask = "ask",
        generator = "generator",
        replay = "replay",
        source = "source";
        queries_format = "queries-format",
        origin = "origin",
        nxdomain = "nxdomain",
        speed = "speed",
        captured_server = "captured-server",
        check_answers = "check-answers",
        first_pass_rate = "first-pass-rate",
        first_pass_for = "first-pass-for",
    }
    /// How a file of queries is read.
    Lines {
        strict = "strict",
        lenient = "lenient",
        keep_order = "keep-order",
    }
    /// Which of the queries are sent, and in which order.
    Selection {
        types = "types",
        order = "order",
        hit_rate = "hit-rate";
        ttl = "ttl",
        hot = "hot",
    }
    /// What is in each query.
    Messages {
        edns_size = "edns-size",
        edns_version = "edns-version" if |version| *version > 0,
        dnssec_ok = "dnssec-ok",
        nsid = "nsid",
        recursion_desired = "no-recursion",
        checking_disabled = "checking-disabled",
        authentic_data = "authentic-data",
        class = "class",
        tsig = "tsig",
        tsig_file = "tsig-file",
        edns_option = "edns-option",
        ecs = "ecs",
        ecs_range = "ecs-range",
        cookie = "cookie",
        padding = "padding";
        ecs_per_client = "ecs-per-client",
        tsig_verify = "no-tsig-verify",
    }
    /// The curve of an open loop.
    Shape {
        rate = "rate",
        ramp = "ramp",
        stair = "stair",
        burst = "burst",
        piece = "piece";
        over = "over",
        step = "step",
        every = "every",
        hold = "hold",
    }
    /// The window of a closed loop, or of a shape.
    Window {
        outstanding = "outstanding",
        rate_limit = "rate-limit",
    }
    /// Whether and how long responses are waited for.
    Waiting {
        send_only = "send-only",
        timeout = "timeout",
    }
    /// What ends the run.
    End {
        duration = "for",
        count = "count",
        passes = "passes",
    }
    /// The transports.
    Transport {
        transport = "transport",
        mix = "mix";
        member = "member",
    }
    /// How long connections live.
    Connections {
        queries_per_connection = "queries-per-connection",
        idle_timeout = "idle-timeout",
        fast_open = "fast-open",
    }
    /// The address that is announced to the server.
    Proxy {
        proxy_protocol = "proxy-protocol",
    }
    /// The retry of truncated responses over TCP.
    Fallback {
        tcp_edns = "tcp-edns",
    }
    /// Encryption.
    Encryption {
        insecure = "insecure",
        ca = "ca",
        sni = "sni",
        tls_version = "tls-version",
        resumption = "no-resumption",
        early_data = "early-data",
        tls_key_log = "tls-key-log",
        handshake_timeout = "handshake-timeout",
    }
    /// HTTP.
    Http {
        http_method = "http-method",
        http_path = "http-path",
    }
    /// What this host uses for the load.
    Generator {
        workers = "workers",
        part = "part",
        pin = "no-pin",
        deep_idle = "deep-idle",
        clients = "clients",
        local_address = "local-address",
        source_prefix = "source-prefix",
        local_ports = "local-ports",
        any_source = "any-source",
        receive_buffer = "receive-buffer",
        send_buffer = "send-buffer",
        seed = "seed",
    }
    /// The network path on this host; the details are of AF_XDP.
    Backend {
        backend = "backend";
        interface = "interface",
        next_hop = "next-hop",
        vlan = "vlan",
        xdp_mode = "xdp-mode",
        xdp_copy = "xdp-copy",
    }
    /// What is expected of the run.
    Expectations {
        expect = "expect",
        expect_each = "expect-each",
    }
    /// What ends the run before its time.
    Conditions {
        stop_when = "stop-when",
    }
    /// What is watched beside the load.
    Watch {
        watch = "watch",
    }
    /// The record.
    Record {
        name = "name",
        note = "note",
        interval = "interval",
        trace = "trace";
        trace_file = "trace-file",
    }
}

impl Draft {
    /// Whether a choice of a group is given.
    pub fn chooses(&self, group: Group) -> bool {
        !self.choices(group).is_empty()
    }

    /// The options of a group that are given, by the names of their flags.
    pub fn given(&self, group: Group) -> Vec<&'static str> {
        [self.choices(group), self.details(group)].concat()
    }
}

/// The names of the options that are given.
fn given<const N: usize>(options: [(&'static str, bool); N]) -> Vec<&'static str> {
    options.into_iter().filter(|(_, is_given)| *is_given).map(|(option, _)| option).collect()
}

/// Whether an option is given: set, or, where it is on or off, not as it is by default. What a flag `--no-…` switches
/// is on by default.
fn is_given<T: Any>(value: &Option<T>, option: &str) -> bool {
    value.as_ref().is_some_and(|value| {
        let switch = (value as &dyn Any).downcast_ref::<bool>();
        switch.is_none_or(|is_on| *is_on != option.starts_with("no-"))
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::{Args, Command, FromArgMatches};

    use super::*;

    #[test]
    fn each_flag_is_in_one_group_by_its_name() {
        let command = Draft::augment_args(Command::new("run"));
        let flags: BTreeSet<(&str, &str)> = command
            .get_arguments()
            .filter_map(|flag| Some((flag.get_id().as_str(), flag.get_long()?)))
            .collect();
        let only_in_files = [("piece", "piece"), ("member", "member")];
        let in_groups: BTreeSet<(&str, &str)> = FIELDS.iter().copied().collect();
        assert_eq!(in_groups, flags.into_iter().chain(only_in_files).collect());
        assert_eq!(in_groups.len(), FIELDS.len());
    }

    #[test]
    fn each_flag_is_a_key_of_the_same_name_and_one_that_switches_off_is_false() {
        let command = Draft::augment_args(Command::new("run").no_binary_name(true));
        let flags: Vec<&str> = command.get_arguments().filter_map(|flag| flag.get_long()).collect();
        assert!(flags.len() > 50, "{flags:?}");
        for flag in flags {
            let parse = |value: &&str| {
                let matches = command.clone().try_get_matches_from([format!("--{flag}{value}")]).ok()?;
                Draft::from_arg_matches(&matches).ok()
            };
            // A file cannot say this, and a key of signatures is written without its secret.
            if flag == "i-may-load-this-server" {
                continue;
            }
            let values = ["", "=1", "=v4", "=udp", "=get", "=1.2", "=csv"];
            let values: &[&str] = if flag == "tsig" { &["=hmac-sha256:key"] } else { &values };
            let draft = values.iter().find_map(parse).expect(flag);
            let text = draft.to_toml().expect(flag);
            assert_eq!(Draft::from_toml(&text).as_ref(), Ok(&draft), "{text}");
            let (key, value) = text.trim_end().split_once(" = ").expect("one key");
            assert!(key == flag || flag.starts_with("no-") && value == "false", "--{flag}: {text}");
        }
    }

    #[test]
    fn what_is_as_it_is_without_the_option_is_not_given() {
        let of = |text: &str, group| Draft::from_toml(text).unwrap().given(group);
        assert_eq!(of("nsid = true", Group::Messages), ["nsid"]);
        assert_eq!(of("nsid = false\nrecursion-desired = true", Group::Messages), [""; 0]);
        assert_eq!(of("recursion-desired = false\nedns-version = 0", Group::Messages), ["no-recursion"]);
        assert_eq!(of("edns-version = 1", Group::Messages), ["edns-version"]);
        assert_eq!(of("hold = 1\nrate = 2\nqueries = \"a\"", Group::Shape), ["rate", "hold"]);
    }

    #[test]
    fn a_group_is_forgotten_with_its_details_and_no_other_is() {
        for group in Group::ALL {
            let mut draft = every_option();
            draft.clear(*group);
            let left: usize = Group::ALL.iter().map(|group| draft.given(*group).len()).sum();
            let own = group.choices().len() + group.details().len();
            assert_eq!(left, FIELDS.len() - own, "{group:?}");
            assert_eq!(draft.given(*group), [""; 0], "{group:?}");
        }
    }

    /// A draft with every option given.
    fn every_option() -> Draft {
        let mut text = String::new();
        for (field, option) in FIELDS {
            let values = [
                "1",
                "\"1\"",
                "true",
                "[\"1\"]",
                "\"any\"",
                "\"csv\"",
                "\"udp\"",
                "\"1.2\"",
                "\"get\"",
                "[{}]",
                "[{ rate = 1, for = 1 }]",
            ];
            let value = if option.starts_with("no-") { Some("false") } else { None };
            let key = if *field == "duration" { "for".to_owned() } else { field.replace('_', "-") };
            let line = |value: &&str| format!("{key} = {value}\n");
            let is_good = |value: &&str| {
                Draft::from_toml(&line(value))
                    .is_ok_and(|draft| Group::ALL.iter().any(|group| !draft.given(*group).is_empty()))
            };
            let value = value.or(values.into_iter().find(|value| is_good(value))).expect(field);
            text.push_str(&line(&value));
        }
        Draft::from_toml(&text).expect("a plan file")
    }
}
