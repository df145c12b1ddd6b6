//! How long connections live: kept and asked over and over, or closed after some queries.

use crate::draft::Draft;
use crate::error::PlanError;
use crate::mix::Mix;
use crate::plan::TransportKind;
use crate::units::{format_duration_ns, parse_duration_ns};
use crate::validate::read;

/// The life of the connections of a run; each client has one at a time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ConnectionPlan {
    /// After how many queries a connection is closed; `None` = it is kept.
    pub queries_each: Option<u32>,
    /// The same for connections on which truncated answers are asked again: 1 unless the user says otherwise.
    pub queries_each_again: Option<u32>,
    /// How long a connection without a query under way is kept, in nanoseconds; `None` = for ever.
    pub idle_timeout_ns: Option<u64>,
    /// Whether the first query may travel with the SYN (RFC 7413), where the server allows it.
    pub fast_open: bool,
    /// Whether what is asked again over TCP goes without the OPT record that it had over UDP.
    pub strips_edns: bool,
}

impl ConnectionPlan {
    /// Reads what a draft says of it, and refuses what its transport cannot obey.
    pub(crate) fn of(
        draft: &Draft,
        transport: TransportKind,
        mix: &Mix,
    ) -> Result<ConnectionPlan, PlanError> {
        let idle_timeout_ns = read("idle-timeout", &draft.idle_timeout, parse_duration_ns)?;
        let falls_back =
            transport == TransportKind::UdpTcp || mix.has(|other| other == TransportKind::UdpTcp);
        if draft.tcp_edns.is_some() && !falls_back {
            return Err(PlanError::NoFallback { option: "tcp-edns" });
        }
        if !transport.connects() {
            let about_connections = [
                ("queries-per-connection", draft.queries_per_connection.is_some()),
                ("idle-timeout", idle_timeout_ns.is_some()),
                ("fast-open", draft.fast_open == Some(true)),
            ];
            return match about_connections.into_iter().find(|(_, is_given)| *is_given) {
                Some((option, _)) => Err(PlanError::NoConnections { option, transport }),
                None => Ok(ConnectionPlan::default()),
            };
        }
        if let Some((option, why)) = refused(draft) {
            return Err(PlanError::NotOverConnections { option, transport, why });
        }
        if idle_timeout_ns == Some(0) {
            return Err(PlanError::Zero { option: "idle-timeout" });
        }
        let each = |usual: u32| Some(draft.queries_per_connection.unwrap_or(usual)).filter(|each| *each > 0);
        let again = if falls_back { each(1) } else { None };
        Ok(ConnectionPlan {
            queries_each: if transport == TransportKind::UdpTcp { again } else { each(0) },
            queries_each_again: again,
            idle_timeout_ns,
            fast_open: draft.fast_open.unwrap_or(false),
            strips_edns: strips_edns(draft)?,
        })
    }

    /// Says it in the words of a draft.
    pub(crate) fn to_draft(self, draft: &mut Draft) {
        draft.queries_per_connection = match (self.queries_each, self.queries_each_again) {
            (Some(each), _) => Some(each),
            // Where a mix keeps some connections and not those of the fallback, that is what it does unasked.
            (None, Some(_)) => None,
            // And so it does not go without saying that it keeps them all.
            (None, None) => {
                matches!(draft.transport, Some(TransportKind::UdpTcp | TransportKind::Mix)).then_some(0)
            }
        };
        draft.tcp_edns = self.strips_edns.then(|| "none".to_owned());
        draft.idle_timeout = self.idle_timeout_ns.map(format_duration_ns);
        draft.fast_open = self.fast_open.then_some(true);
    }
}

/// `same` or `none`; the same where nothing is said.
fn strips_edns(draft: &Draft) -> Result<bool, PlanError> {
    match draft.tcp_edns.as_deref() {
        None | Some("same") => Ok(false),
        Some("none") => Ok(true),
        Some(text) => Err(PlanError::Value {
            option: "tcp-edns",
            text: text.to_owned(),
            expected: "one of its two values: use same or none",
        }),
    }
}

/// The first option of a draft that no connection can obey, and why.
fn refused(draft: &Draft) -> Option<(&'static str, &'static str)> {
    let options = [
        (
            "send-only",
            draft.send_only == Some(true),
            "a connection stands still once nobody reads its answers: leave it out",
        ),
        (
            "backend",
            draft.backend.as_deref().is_some_and(|backend| backend != "sockets"),
            "AF_XDP sends datagrams only: leave it out",
        ),
        (
            "local-ports",
            draft.local_ports.is_some(),
            "a port rests after its connection, so the kernel must choose: leave it out, and use \
             --local-address for more of them",
        ),
    ];
    options.into_iter().find(|(_, is_given, _)| *is_given).map(|(option, _, why)| (option, why))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, transport: TransportKind) -> Result<ConnectionPlan, PlanError> {
        ConnectionPlan::of(&Draft::from_toml(text).expect("a plan file"), transport, &Mix::default())
    }

    #[test]
    fn connections_are_kept_unless_a_number_of_queries_ends_them() {
        let tcp = |text: &str| of(text, TransportKind::Tcp).expect("a good plan");
        assert_eq!(tcp(""), ConnectionPlan::default());
        assert_eq!(tcp("queries-per-connection = 0"), ConnectionPlan::default());
        let all = tcp("queries-per-connection = 10\nidle-timeout = \"2s\"\nfast-open = true");
        assert_eq!(
            all,
            ConnectionPlan {
                queries_each: Some(10),
                idle_timeout_ns: Some(2_000_000_000),
                fast_open: true,
                ..ConnectionPlan::default()
            }
        );
        let mut said = Draft::default();
        all.to_draft(&mut said);
        assert_eq!(ConnectionPlan::of(&said, TransportKind::Tcp, &Mix::default()), Ok(all));
    }

    #[test]
    fn what_is_asked_again_gets_a_new_connection_each_unless_they_are_to_be_kept() {
        let fallback = |text: &str| of(text, TransportKind::UdpTcp).expect("a good plan");
        assert_eq!(fallback("").queries_each_again, Some(1));
        assert_eq!(fallback("queries-per-connection = 0").queries_each_again, None);
        assert!(fallback("tcp-edns = \"none\"").strips_edns && !fallback("tcp-edns = \"same\"").strips_edns);
        for text in ["", "queries-per-connection = 0", "queries-per-connection = 3\ntcp-edns = \"none\""] {
            let mut said = Draft { transport: Some(TransportKind::UdpTcp), ..Draft::default() };
            fallback(text).to_draft(&mut said);
            assert_eq!(
                ConnectionPlan::of(&said, TransportKind::UdpTcp, &Mix::default()),
                Ok(fallback(text)),
                "{text}"
            );
        }
        let error = of("tcp-edns = \"none\"", TransportKind::Tcp).expect_err("no fallback").to_string();
        assert!(error.contains("--transport udp+tcp"), "{error}");
        let error = of("tcp-edns = \"some\"", TransportKind::UdpTcp).expect_err("no value").to_string();
        assert!(error.contains("same or none"), "{error}");
    }

    #[test]
    fn udp_takes_no_word_of_connections_and_tcp_none_that_it_cannot_obey() {
        for (text, option) in [
            ("queries-per-connection = 1", "queries-per-connection"),
            ("idle-timeout = 1", "idle-timeout"),
            ("fast-open = true", "fast-open"),
        ] {
            let error = of(text, TransportKind::Udp).expect_err(text).to_string();
            assert!(error.contains(&format!("--{option}")) && error.contains("--transport tcp"), "{error}");
        }
        for (text, option) in [
            ("send-only = true", "send-only"),
            ("backend = \"xdp\"", "backend"),
            ("local-ports = \"1..9\"", "local-ports"),
        ] {
            let error = of(text, TransportKind::Tcp).expect_err(text).to_string();
            assert!(error.contains(&format!("--{option}")) && error.contains("--transport tcp"), "{error}");
        }
        assert_eq!(
            of("idle-timeout = 0", TransportKind::Tcp),
            Err(PlanError::Zero { option: "idle-timeout" })
        );
    }
}
