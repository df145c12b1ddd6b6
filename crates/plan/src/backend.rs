//! How packets are sent: by the kernel's sockets, or by AF_XDP, which bypasses its network stack.
//!
//! The options are parsed here; interface, queues and addresses are looked up when the run opens them.

use dnsdyno_queries::{SourcePrefix, Sources};

use crate::draft::Draft;
use crate::error::PlanError;
use crate::groups::Group;
use crate::values::{read_as, within};

/// How packets are sent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Backend {
    /// UDP sockets of the kernel.
    #[default]
    Sockets,
    /// AF_XDP sockets on the interface to the server.
    Xdp(XdpPlan),
}

/// The options of AF_XDP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct XdpPlan {
    /// The interface; `None` = that of the route to the server.
    pub interface: Option<String>,
    /// The Ethernet address to send to; `None` = from the host's neighbour table.
    pub next_hop: Option<[u8; 6]>,
    /// The 802.1Q tag of the queries.
    pub vlan: Option<u16>,
    /// Addresses to send from that are routed back to the interface; `None` = the plan's local
    /// address, or the one that the host would choose.
    pub source_prefix: Option<SourcePrefix>,
    /// Where the XDP program runs.
    pub mode: XdpMode,
    /// Whether packets are copied.
    pub copy: XdpCopy,
    /// Whether the number of workers may be reduced to that of the queues, because the user gave none.
    pub fits_workers: bool,
    /// Whether sockets are used where AF_XDP is not available (`--backend auto`).
    pub or_sockets: bool,
}

/// Where the XDP program runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum XdpMode {
    /// In the driver, or else in the kernel's stack.
    #[default]
    Auto,
    /// In the driver.
    Native,
    /// In the kernel's stack.
    Generic,
}

/// Whether packets are copied between driver and program.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum XdpCopy {
    /// Without a copy where the driver supports it.
    #[default]
    Auto,
    /// Without a copy, or not at all.
    ZeroCopy,
    /// With a copy.
    Copy,
}

impl Backend {
    /// The options of AF_XDP, where that is the backend.
    pub fn xdp(&self) -> Option<&XdpPlan> {
        match self {
            Backend::Sockets => None,
            Backend::Xdp(xdp) => Some(xdp),
        }
    }

    /// As the user writes it.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Backend::Sockets => "sockets",
            Backend::Xdp(XdpPlan { or_sockets: true, .. }) => "auto",
            Backend::Xdp(_) => "xdp",
        }
    }

    /// Reads the backend of a draft.
    pub(crate) fn of(draft: &mut Draft) -> Result<Backend, PlanError> {
        let or_sockets = match draft.backend() {
            "sockets" => {
                draft.backend = Some("sockets".to_owned());
                return Ok(Backend::Sockets);
            }
            "xdp" => false,
            "auto" => true,
            text => {
                let expected = "a backend: use sockets, xdp or auto";
                return Err(PlanError::Value { option: "backend", text: text.to_owned(), expected });
            }
        };
        draft.xdp_mode.get_or_insert_with(|| XdpMode::default().word().to_owned());
        draft.xdp_copy.get_or_insert_with(|| XdpCopy::default().word().to_owned());
        Ok(Backend::Xdp(XdpPlan {
            interface: draft.interface.clone(),
            next_hop: read_as("next-hop", &draft.next_hop, parse_mac, MAC)?,
            vlan: within("vlan", draft.vlan, 1..=LAST_VLAN)?,
            source_prefix: read_as("source-prefix", &draft.source_prefix, one_network, PREFIX)?,
            mode: read_as("xdp-mode", &draft.xdp_mode, XdpMode::parse, MODE)?.unwrap_or_default(),
            copy: read_as("xdp-copy", &draft.xdp_copy, XdpCopy::parse, COPY)?.unwrap_or_default(),
            fits_workers: draft.workers.is_none(),
            or_sockets,
        }))
    }
}

impl Draft {
    /// The same draft with sockets instead of AF_XDP, for `--backend auto` where that is not available.
    pub fn by_sockets(mut self) -> Draft {
        self.clear(Group::Backend);
        self.backend = Some("sockets".to_owned());
        self
    }
}

impl XdpMode {
    fn parse(text: &str) -> Option<XdpMode> {
        [XdpMode::Auto, XdpMode::Native, XdpMode::Generic].into_iter().find(|mode| mode.word() == text)
    }

    /// As the user writes it.
    pub const fn word(self) -> &'static str {
        match self {
            XdpMode::Auto => "auto",
            XdpMode::Native => "native",
            XdpMode::Generic => "generic",
        }
    }
}

impl XdpCopy {
    fn parse(text: &str) -> Option<XdpCopy> {
        [XdpCopy::Auto, XdpCopy::ZeroCopy, XdpCopy::Copy].into_iter().find(|copy| copy.word() == text)
    }

    /// As the user writes it.
    pub const fn word(self) -> &'static str {
        match self {
            XdpCopy::Auto => "auto",
            XdpCopy::ZeroCopy => "zero-copy",
            XdpCopy::Copy => "copy",
        }
    }
}

/// An Ethernet address in the usual notation: `02:00:5e:10:00:01`.
pub fn mac_text(mac: &[u8; 6]) -> String {
    mac.map(|byte| format!("{byte:02x}")).join(":")
}

/// Six bytes in hex, separated by `:` or `-`; neither a group address nor all zeros.
fn parse_mac(text: &str) -> Option<[u8; 6]> {
    let mut mac = [0; 6];
    let mut parts = text.split([':', '-']);
    for byte in &mut mac {
        let part = parts.next()?;
        let is_hex = (1..=2).contains(&part.len()) && part.bytes().all(|digit| digit.is_ascii_hexdigit());
        *byte = u8::from_str_radix(part, 16).ok().filter(|_| is_hex)?;
    }
    (parts.next().is_none() && mac[0] & 1 == 0 && mac != [0; 6]).then_some(mac)
}

/// The only network of a list.
fn one_network(text: &str) -> Option<SourcePrefix> {
    SourcePrefix::parse(text).or_else(|| Sources::parse(text)?.only())
}

const MAC: &str = "the Ethernet address of one host: write it like 02:00:5e:10:00:01";
const PREFIX: &str = "a prefix: AF_XDP sends from one, like 10.1.0.0/16 or fd00:1::/64";
const MODE: &str = "a mode: use auto, native or generic";
const COPY: &str = "a copy mode: use auto, zero-copy or copy";

/// 4095 is reserved (IEEE 802.1Q).
const LAST_VLAN: u64 = 4_094;

#[cfg(test)]
mod tests {
    use super::*;

    fn backend(text: &str) -> Result<Backend, PlanError> {
        Backend::of(&mut Draft::from_toml(text).expect("a plan file"))
    }

    fn xdp(text: &str) -> XdpPlan {
        match backend(&format!("backend = \"xdp\"\n{text}")) {
            Ok(Backend::Xdp(xdp)) => xdp,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn ethernet_addresses_are_of_one_host() {
        let mac = |text: &str| xdp(&format!("next-hop = \"{text}\"")).next_hop;
        assert_eq!(mac("02:00:5E:10:00:0a"), Some([2, 0, 0x5E, 0x10, 0, 0xA]));
        assert_eq!(mac("2-0-5e-10-0-1"), Some([2, 0, 0x5E, 0x10, 0, 1]));
        for bad in [
            "",
            "02:00:00:00:00",
            "02:00:00:00:00:01:02",
            "03:00:00:00:00:01",
            "00:00:00:00:00:00",
            "+2:0:0:0:0:1",
        ] {
            assert!(backend(&format!("backend = \"xdp\"\nnext-hop = \"{bad}\"")).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn prefixes_tags_and_words_are_read_or_refused() {
        let prefix = |text: &str| xdp(&format!("source-prefix = \"{text}\"")).source_prefix;
        assert_eq!(
            prefix("10.1.2.3/16").map(|prefix| (prefix.first.to_string(), prefix.length)),
            Some(("10.1.2.3".to_owned(), 16))
        );
        assert_eq!(prefix("fd00::/64").map(|prefix| prefix.length), Some(64));
        for bad in [
            "source-prefix = \"10.0.0.0\"",
            "source-prefix = \"10.0.0.0/33\"",
            "source-prefix = \"10.0.0.0/+8\"",
            "source-prefix = \"fd00::/129\"",
            "vlan = 0",
            "vlan = 4095",
            "xdp-mode = \"fast\"",
            "xdp-copy = \"none\"",
        ] {
            assert!(backend(&format!("backend = \"xdp\"\n{bad}")).is_err(), "{bad}");
        }
        assert_eq!(backend(""), Ok(Backend::Sockets));
        assert!(matches!(backend("backend = \"auto\""), Ok(Backend::Xdp(XdpPlan { or_sockets: true, .. }))));
        assert!(
            backend("backend = \"udp\"")
                .is_err_and(|error| error.to_string().contains("sockets, xdp or auto"))
        );
        let chosen = xdp("xdp-mode = \"generic\"\nxdp-copy = \"zero-copy\"\nvlan = 4094");
        assert_eq!(
            (chosen.mode, chosen.copy, chosen.vlan),
            (XdpMode::Generic, XdpCopy::ZeroCopy, Some(4094))
        );
    }
}
