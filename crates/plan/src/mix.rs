//! A mix: the share of the queries of each transport.

use crate::draft::Draft;
use crate::error::PlanError;
use crate::kinds::TransportKind;

/// One transport of a mix.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MixMember {
    /// The transport.
    pub transport: TransportKind,
    /// Its weight against those of the others; above 0.
    pub weight: f64,
    /// The server's port; `None` = the port of the run for UDP and TCP, the usual port of the transport for
    /// encrypted ones.
    pub port: Option<u16>,
}

impl MixMember {
    /// The server's port for it, where `port` is the port of the run.
    pub fn port(&self, port: u16) -> u16 {
        self.port.unwrap_or(if self.transport.is_encrypted() { self.transport.default_port() } else { port })
    }
}

/// The transports of a mix, at least two and none twice; empty where there is only one.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Mix {
    /// In the given order.
    pub members: Vec<MixMember>,
}

impl Mix {
    /// Reads the mix of a draft, and the resulting transport.
    pub(crate) fn of(draft: &mut Draft) -> Result<(Mix, TransportKind), PlanError> {
        let Some(text) = &draft.mix else {
            return Ok((Mix::default(), *draft.transport.get_or_insert_default()));
        };
        let mix = Mix::parse(text).map_err(|reason| PlanError::BadMix { text: text.clone(), reason })?;
        Ok((mix, TransportKind::Mix))
    }

    /// Whether there are several transports.
    pub fn is_some(&self) -> bool {
        !self.members.is_empty()
    }

    /// The share of a member, 0 to 1.
    pub fn share(&self, member: &MixMember) -> f64 {
        member.weight / self.members.iter().map(|member| member.weight).sum::<f64>()
    }

    /// Its transports, or `alone` where there is no mix.
    pub(crate) fn transports(&self, alone: TransportKind) -> Vec<TransportKind> {
        match self.is_some() {
            true => self.members.iter().map(|member| member.transport).collect(),
            false => vec![alone],
        }
    }

    /// `udp=60,tcp=15,dot@8853=25`.
    fn parse(text: &str) -> Result<Mix, String> {
        let mut members: Vec<MixMember> = Vec::new();
        for item in text.split(',') {
            let (name, weight) = item
                .split_once('=')
                .ok_or_else(|| format!("`{}` has no weight; write TRANSPORT=WEIGHT", item.trim()))?;
            let (name, port) = match name.split_once('@') {
                None => (name, None),
                Some((name, port)) => {
                    let number = port.trim().parse().ok().filter(|number| *number > 0);
                    (name, Some(number.ok_or_else(|| format!("`{}` is not a port", port.trim()))?))
                }
            };
            let transport: TransportKind = name.trim().parse()?;
            let weight: f64 = weight
                .trim()
                .trim_end_matches('%')
                .parse()
                .ok()
                .filter(|weight: &f64| *weight > 0.0 && *weight <= HEAVIEST)
                .ok_or_else(|| format!("`{}` is not a weight above 0", weight.trim()))?;
            if members.iter().any(|member| member.transport == transport) {
                return Err(format!("{transport} is given twice"));
            }
            members.push(MixMember { transport, weight, port });
        }
        match members.len() {
            0 | 1 => Err("a mix needs two transports: use --transport for one".to_owned()),
            _ => Ok(Mix { members }),
        }
    }
}

/// Allows shares of a millionth; excludes infinite weights.
const HEAVIEST: f64 = 1e9;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mix_is_read_with_its_weights_and_ports() {
        let mix = Mix::parse("udp=60, udp+tcp = 15%,tcp=2.5,dot@8853=2,doh=0.5").unwrap();
        assert_eq!(mix.members.len(), 5);
        let second = MixMember { transport: TransportKind::UdpTcp, weight: 15.0, port: None };
        assert_eq!(mix.members[1], second);
        assert_eq!(mix.share(&mix.members[0]), 60.0 / 80.0);
        let ports: Vec<_> = mix.members.iter().map(|member| member.port(5300)).collect();
        assert_eq!(ports, [5300, 5300, 5300, 8853, 443]);
    }

    #[test]
    fn an_invalid_mix_is_refused_with_the_reason() {
        for (text, reason) in [
            ("udp", "no weight"),
            ("udp=1", "--transport"),
            ("udp=1,udp=2", "twice"),
            ("udp=1,tcp=0", "not a weight"),
            ("udp=1,tcp=inf", "not a weight"),
            ("udp=1,tcp=x", "not a weight"),
            ("udp=1,pigeon=1", "pigeon"),
            ("udp=1,dot@0=1", "not a port"),
            ("udp=1,dot@x=1", "not a port"),
            ("udp=1,mix=1", "mix"),
            ("", "no weight"),
        ] {
            let told = Mix::parse(text).expect_err(text);
            assert!(told.contains(reason), "{text}: {told}");
        }
    }
}
