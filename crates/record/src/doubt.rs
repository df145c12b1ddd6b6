//! The generator's doubt in the record: the evidence, and the warnings it gave.

use std::collections::BTreeMap;

use dnsdyno_measure::{Evidence, Warning};
use serde::{Deserialize, Serialize};

use crate::own::{ShapeError, finite};

#[derive(Serialize, Deserialize)]
pub(crate) struct WarningShape {
    name: String,
    text: String,
    figures: BTreeMap<String, Figure>,
}

/// A figure of a warning: a whole number where it is one, so that it is read back as it was.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(untagged)]
enum Figure {
    Whole(u64),
    Signed(i64),
    Share(f64),
}

#[derive(Serialize, Deserialize)]
pub(crate) struct EvidenceShape {
    open_loop: bool,
    schedule_ns: u64,
    socket_drops: u64,
    #[serde(default)]
    fragments: u64,
    #[serde(default)]
    interface_packets: Option<u64>,
    #[serde(default)]
    datagrams_only: bool,
    #[serde(default)]
    lasted_ns: u64,
    id_waits: u64,
    #[serde(default)]
    connection_waits: u64,
    #[serde(default)]
    connects_without_port: u64,
    sockets: u64,
    busiest_worker_cpu: f64,
    worst_worker_wait: f64,
    clock_step_ns: i64,
}

impl From<&Evidence> for EvidenceShape {
    fn from(evidence: &Evidence) -> Self {
        EvidenceShape {
            open_loop: evidence.open_loop,
            schedule_ns: evidence.schedule_ns,
            socket_drops: evidence.socket_drops,
            fragments: evidence.fragments,
            interface_packets: evidence.interface_packets,
            datagrams_only: evidence.datagrams_only,
            lasted_ns: evidence.lasted_ns,
            id_waits: evidence.id_waits,
            connection_waits: evidence.connection_waits,
            connects_without_port: evidence.connects_without_port,
            sockets: evidence.sockets,
            busiest_worker_cpu: finite(evidence.busiest_worker_cpu),
            worst_worker_wait: finite(evidence.worst_worker_wait),
            clock_step_ns: evidence.clock_step_ns,
        }
    }
}

impl From<EvidenceShape> for Evidence {
    fn from(shape: EvidenceShape) -> Self {
        Evidence {
            open_loop: shape.open_loop,
            schedule_ns: shape.schedule_ns,
            socket_drops: shape.socket_drops,
            fragments: shape.fragments,
            interface_packets: shape.interface_packets,
            datagrams_only: shape.datagrams_only,
            lasted_ns: shape.lasted_ns,
            id_waits: shape.id_waits,
            connection_waits: shape.connection_waits,
            connects_without_port: shape.connects_without_port,
            sockets: shape.sockets,
            busiest_worker_cpu: shape.busiest_worker_cpu,
            worst_worker_wait: shape.worst_worker_wait,
            clock_step_ns: shape.clock_step_ns,
        }
    }
}

impl From<&Warning> for WarningShape {
    fn from(warning: &Warning) -> Self {
        use Figure::{Share, Signed, Whole};
        let figures: Vec<(&str, Figure)> = match *warning {
            Warning::SendsLate { p99_lateness_ns, gap_ns } => {
                vec![("p99_lateness_ns", Whole(p99_lateness_ns)), ("gap_ns", Whole(gap_ns))]
            }
            Warning::SendsMissing { not_sent, scheduled } => {
                vec![("not_sent", Whole(not_sent)), ("scheduled", Whole(scheduled))]
            }
            Warning::SendsVanished { taken, packets } => {
                vec![("taken", Whole(taken)), ("packets", Whole(packets))]
            }
            Warning::SocketDrops { packets, timed_out } => {
                vec![("packets", Whole(packets)), ("timed_out", Whole(timed_out))]
            }
            Warning::AnswersInFragments { fragments, timed_out } => {
                vec![("fragments", Whole(fragments)), ("timed_out", Whole(timed_out))]
            }
            Warning::CpuSaturated { share } => vec![("share", Share(finite(share)))],
            Warning::CpuStarved { share } => vec![("share", Share(finite(share)))],
            Warning::IdsExhausted { waits, sockets } => {
                vec![("waits", Whole(waits)), ("sockets", Whole(sockets))]
            }
            Warning::ClientsBusy { waits, clients } => {
                vec![("waits", Whole(waits)), ("clients", Whole(clients))]
            }
            Warning::PortsExhausted { connects } => vec![("connects", Whole(connects))],
            Warning::ClockStepped { step_ns } => vec![("step_ns", Signed(step_ns))],
        };
        WarningShape {
            name: warning.name().to_owned(),
            text: warning.to_string(),
            figures: figures.into_iter().map(|(key, figure)| (key.to_owned(), figure)).collect(),
        }
    }
}

impl TryFrom<WarningShape> for Warning {
    type Error = ShapeError;

    fn try_from(shape: WarningShape) -> Result<Self, ShapeError> {
        shape.read().ok_or(ShapeError::UnknownWarning(shape.name))
    }
}

impl WarningShape {
    fn read(&self) -> Option<Warning> {
        Some(match self.name.as_str() {
            "sends_late" => Warning::SendsLate {
                p99_lateness_ns: self.whole("p99_lateness_ns")?,
                gap_ns: self.whole("gap_ns")?,
            },
            "sends_missing" => Warning::SendsMissing {
                not_sent: self.whole("not_sent")?,
                scheduled: self.whole("scheduled")?,
            },
            "sends_vanished" => {
                Warning::SendsVanished { taken: self.whole("taken")?, packets: self.whole("packets")? }
            }
            "socket_drops" => {
                Warning::SocketDrops { packets: self.whole("packets")?, timed_out: self.whole("timed_out")? }
            }
            "answers_in_fragments" => Warning::AnswersInFragments {
                fragments: self.whole("fragments")?,
                timed_out: self.whole("timed_out")?,
            },
            "cpu_saturated" => Warning::CpuSaturated { share: self.share("share")? },
            "cpu_starved" => Warning::CpuStarved { share: self.share("share")? },
            "ids_exhausted" => {
                Warning::IdsExhausted { waits: self.whole("waits")?, sockets: self.whole("sockets")? }
            }
            "clients_busy" => {
                Warning::ClientsBusy { waits: self.whole("waits")?, clients: self.whole("clients")? }
            }
            "ports_exhausted" => Warning::PortsExhausted { connects: self.whole("connects")? },
            "clock_stepped" => Warning::ClockStepped { step_ns: self.signed("step_ns")? },
            _ => return None,
        })
    }

    fn whole(&self, key: &str) -> Option<u64> {
        match *self.figures.get(key)? {
            Figure::Whole(figure) => Some(figure),
            Figure::Signed(_) | Figure::Share(_) => None,
        }
    }

    fn signed(&self, key: &str) -> Option<i64> {
        match *self.figures.get(key)? {
            Figure::Whole(figure) => i64::try_from(figure).ok(),
            Figure::Signed(figure) => Some(figure),
            Figure::Share(_) => None,
        }
    }

    fn share(&self, key: &str) -> Option<f64> {
        match *self.figures.get(key)? {
            Figure::Whole(figure) => Some(figure as f64),
            Figure::Signed(_) => None,
            Figure::Share(figure) => Some(figure),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_warning_is_read_back_as_it_was_written() {
        let warnings = [
            Warning::SendsLate { p99_lateness_ns: 3_100_000, gap_ns: 20_000 },
            Warning::SendsMissing { not_sent: 3, scheduled: 9 },
            Warning::SocketDrops { packets: 805, timed_out: 812 },
            Warning::SendsVanished { taken: 900, packets: 7 },
            Warning::AnswersInFragments { fragments: 6, timed_out: 3 },
            Warning::CpuSaturated { share: 0.1 + 0.2 },
            Warning::CpuStarved { share: 1.0 },
            Warning::IdsExhausted { waits: 1, sockets: 2 },
            Warning::ClockStepped { step_ns: -7_000_000 },
            Warning::ClockStepped { step_ns: 7_000_000 },
        ];
        for warning in warnings {
            let json = serde_json::to_string(&WarningShape::from(&warning)).unwrap();
            let again: WarningShape = serde_json::from_str(&json).unwrap();
            assert_eq!(Warning::try_from(again).unwrap(), warning, "{json}");
        }
    }

    #[test]
    fn a_warning_of_a_kind_not_known_here_is_an_error_that_names_it() {
        let shape: WarningShape =
            serde_json::from_str(r#"{"name":"moon_full","text":"","figures":{}}"#).unwrap();
        assert!(Warning::try_from(shape).unwrap_err().to_string().contains("moon_full"));
    }
}
