//! How long connections live: kept and asked over and over, or closed after some queries.

use crate::draft::Draft;
use crate::error::PlanError;
use crate::plan::TransportKind;
use crate::units::{format_duration_ns, parse_duration_ns};
use crate::validate::read;

/// The life of the connections of a run; each client has one at a time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ConnectionPlan {
    /// After how many queries a connection is closed; `None` = it is kept.
    pub queries_each: Option<u32>,
    /// How long a connection without a query under way is kept, in nanoseconds; `None` = for ever.
    pub idle_timeout_ns: Option<u64>,
    /// Whether the first query may travel with the SYN (RFC 7413), where the server allows it.
    pub fast_open: bool,
}

impl ConnectionPlan {
    /// Reads what a draft says of it, and refuses what its transport cannot obey.
    pub(crate) fn of(draft: &Draft, transport: TransportKind) -> Result<ConnectionPlan, PlanError> {
        let idle_timeout_ns = read("idle-timeout", &draft.idle_timeout, parse_duration_ns)?;
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
        Ok(ConnectionPlan {
            queries_each: draft.queries_per_connection.filter(|queries| *queries > 0),
            idle_timeout_ns,
            fast_open: draft.fast_open.unwrap_or(false),
        })
    }

    /// Says it in the words of a draft.
    pub(crate) fn to_draft(self, draft: &mut Draft) {
        draft.queries_per_connection = self.queries_each;
        draft.idle_timeout = self.idle_timeout_ns.map(format_duration_ns);
        draft.fast_open = self.fast_open.then_some(true);
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
        ConnectionPlan::of(&Draft::from_toml(text).expect("a plan file"), transport)
    }

    #[test]
    fn connections_are_kept_unless_a_number_of_queries_ends_them() {
        let tcp = |text: &str| of(text, TransportKind::Tcp).expect("a good plan");
        assert_eq!(tcp(""), ConnectionPlan::default());
        assert_eq!(tcp("queries-per-connection = 0"), ConnectionPlan::default());
        let all = tcp("queries-per-connection = 10\nidle-timeout = \"2s\"\nfast-open = true");
        assert_eq!(
            all,
            ConnectionPlan { queries_each: Some(10), idle_timeout_ns: Some(2_000_000_000), fast_open: true }
        );
        let mut said = Draft::default();
        all.to_draft(&mut said);
        assert_eq!(ConnectionPlan::of(&said, TransportKind::Tcp), Ok(all));
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
