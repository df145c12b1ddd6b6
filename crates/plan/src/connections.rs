//! The lifetime of connections: kept for all queries of a client, or closed after some.

use dnsdyno_text::notation::parse_duration_ns;

use crate::draft::Draft;
use crate::error::PlanError;
use crate::kinds::TransportKind;
use crate::values::{above_zero, read, read_as};

/// The lifetime of the connections of a run; each client has one at a time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ConnectionPlan {
    /// After how many queries a connection is closed; `None` = it is kept.
    pub queries_each: Option<u32>,
    /// The same for connections on which truncated responses are retried: 1 unless the user says otherwise.
    pub queries_each_again: Option<u32>,
    /// How long a connection without an outstanding query is kept, in nanoseconds; `None` = for ever.
    pub idle_timeout_ns: Option<u64>,
    /// Whether the first query may be sent with the SYN (RFC 7413), where the server allows it.
    pub fast_open: bool,
    /// Whether queries retried over TCP have no OPT record, where they had one over UDP.
    pub strips_edns: bool,
}

impl ConnectionPlan {
    /// Reads the options of connections from a draft. `transports` are those of `transport`.
    pub(crate) fn of(
        draft: &mut Draft,
        transport: TransportKind,
        transports: &[TransportKind],
    ) -> Result<ConnectionPlan, PlanError> {
        if !transport.connects() {
            return Ok(ConnectionPlan::default());
        }
        let falls_back = transports.contains(&TransportKind::UdpTcp);
        let each = |usual: u32| Some(draft.queries_per_connection.unwrap_or(usual)).filter(|each| *each > 0);
        let again = if falls_back { each(1) } else { None };
        let idle_timeout_ns = read("idle-timeout", &draft.idle_timeout, parse_duration_ns)?;
        let strips_edns = read_as("tcp-edns", &draft.tcp_edns, strips_edns, TCP_EDNS)?;
        Ok(ConnectionPlan {
            queries_each: if transport == TransportKind::UdpTcp { again } else { each(0) },
            queries_each_again: again,
            idle_timeout_ns: above_zero("idle-timeout", idle_timeout_ns)?,
            fast_open: *draft.fast_open.get_or_insert(false),
            strips_edns: strips_edns.unwrap_or(false),
        })
    }
}

fn strips_edns(text: &str) -> Option<bool> {
    match text {
        "same" => Some(false),
        "none" => Some(true),
        _ => None,
    }
}

const TCP_EDNS: &str = "a valid value: use same or none";

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, transport: TransportKind) -> Result<ConnectionPlan, PlanError> {
        ConnectionPlan::of(&mut Draft::from_toml(text).expect("a plan file"), transport, &[transport])
    }

    #[test]
    fn connections_are_kept_unless_a_number_of_queries_ends_them() {
        let tcp = |text: &str| of(text, TransportKind::Tcp).expect("a good plan");
        assert_eq!(tcp(""), ConnectionPlan::default());
        assert_eq!(tcp("queries-per-connection = 0"), ConnectionPlan::default());
        let all = tcp("queries-per-connection = 10\nidle-timeout = \"2s\"\nfast-open = true");
        let want = ConnectionPlan {
            queries_each: Some(10),
            idle_timeout_ns: Some(2_000_000_000),
            fast_open: true,
            ..ConnectionPlan::default()
        };
        assert_eq!(all, want);
        let zero = Err(PlanError::Zero { option: "idle-timeout" });
        assert_eq!(of("idle-timeout = 0", TransportKind::Tcp), zero);
    }

    #[test]
    fn each_retry_gets_a_new_connection_unless_connections_are_kept() {
        let fallback = |text: &str| of(text, TransportKind::UdpTcp).expect("a good plan");
        assert_eq!(fallback("").queries_each_again, Some(1));
        assert_eq!(fallback("queries-per-connection = 0").queries_each_again, None);
        assert!(fallback("tcp-edns = \"none\"").strips_edns && !fallback("tcp-edns = \"same\"").strips_edns);
        let error = of("tcp-edns = \"some\"", TransportKind::UdpTcp).expect_err("no value").to_string();
        assert!(error.contains("same or none"), "{error}");
    }
}
