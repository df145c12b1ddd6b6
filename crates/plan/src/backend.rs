//! How packets leave the host: by the kernel's sockets, or by AF_XDP past its network stack.
//!
//! Text from the user is read here; what the host has of it (the interface, its queues, its
//! addresses) is only known when the run opens it.

use std::fmt;
use std::net::IpAddr;

use crate::draft::Draft;
use crate::error::PlanError;

/// How packets leave the host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Backend {
    /// UDP sockets of the kernel.
    #[default]
    Sockets,
    /// AF_XDP sockets on the interface towards the server.
    Xdp(XdpPlan),
}

/// What the user wants of AF_XDP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct XdpPlan {
    /// The interface; `None` = the one that the route leads over.
    pub interface: Option<String>,
    /// The Ethernet address to send to; `None` = from the host's neighbour table.
    pub next_hop: Option<[u8; 6]>,
    /// The 802.1Q tag of the queries.
    pub vlan: Option<u16>,
    /// Addresses to send from that are routed back to the interface; `None` = the plan's local
    /// address, or the one that the host would take.
    pub source_prefix: Option<SourcePrefix>,
    /// Where the program runs that picks out the answers.
    pub mode: XdpMode,
    /// Whether packets are copied.
    pub copy: XdpCopy,
    /// Whether there may be fewer workers, where the interface has fewer queues: the user named
    /// no number.
    pub fits_workers: bool,
    /// Whether sockets will do where AF_XDP cannot be had (`--backend auto`).
    pub or_sockets: bool,
}

/// From one address to the end of its prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SourcePrefix {
    /// The first address.
    pub first: IpAddr,
    /// Length of the prefix in bits; at most as long as the address.
    pub length: u8,
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
    /// Without a copy where the driver can.
    #[default]
    Auto,
    /// Without a copy, or not at all.
    ZeroCopy,
    /// With a copy.
    Copy,
}

impl Backend {
    /// The plan's wishes of AF_XDP, where that is the backend.
    pub fn xdp(&self) -> Option<&XdpPlan> {
        match self {
            Backend::Sockets => None,
            Backend::Xdp(xdp) => Some(xdp),
        }
    }

    /// Reads what a draft says of it.
    pub(crate) fn of(draft: &Draft) -> Result<Backend, PlanError> {
        let word = draft.backend.as_deref().unwrap_or("sockets");
        if !matches!(word, "sockets" | "xdp" | "auto") {
            return Err(wrong("backend", word, "a backend: use sockets, xdp or auto"));
        }
        if word == "sockets" {
            return match first_given(&[&ALWAYS_XDP[..], &OF_XDP[..]].concat(), draft) {
                Some(option) => Err(PlanError::OnlyXdp { option }),
                None => Ok(Backend::Sockets),
            };
        }
        if word == "auto"
            && let Some(option) = first_given(&ALWAYS_XDP, draft)
        {
            return Err(PlanError::NotWithAuto { option });
        }
        Ok(Backend::Xdp(XdpPlan {
            interface: draft.interface.clone(),
            next_hop: read(
                "next-hop",
                &draft.next_hop,
                parse_mac,
                "the Ethernet address of one host: write it like 02:00:5e:10:00:01",
            )?,
            vlan: vlan(draft.vlan)?,
            source_prefix: read(
                "source-prefix",
                &draft.source_prefix,
                SourcePrefix::parse,
                "a prefix: write it like 10.1.0.0/16 or fd00:1::/64",
            )?,
            mode: read("xdp-mode", &draft.xdp_mode, XdpMode::parse, "a mode: use auto, native or generic")?
                .unwrap_or_default(),
            copy: read("xdp-copy", &draft.xdp_copy, XdpCopy::parse, "a way: use auto, zero-copy or copy")?
                .unwrap_or_default(),
            fits_workers: draft.workers.is_none(),
            or_sockets: word == "auto",
        }))
    }

    /// Says it in the words of a draft.
    pub(crate) fn to_draft(&self, draft: &mut Draft) {
        let Backend::Xdp(xdp) = self else {
            draft.backend = Some("sockets".to_owned());
            return;
        };
        draft.backend = Some(if xdp.or_sockets { "auto" } else { "xdp" }.to_owned());
        draft.interface = xdp.interface.clone();
        draft.next_hop = xdp.next_hop.map(|mac| mac_text(&mac));
        draft.vlan = xdp.vlan;
        draft.source_prefix = xdp.source_prefix.map(|prefix| prefix.to_string());
        draft.xdp_mode = Some(xdp.mode.word().to_owned());
        draft.xdp_copy = Some(xdp.copy.word().to_owned());
    }
}

impl Draft {
    /// The same wish with sockets in place of AF_XDP, for `--backend auto` where that cannot be had.
    pub fn by_sockets(mut self) -> Draft {
        self.backend = Some("sockets".to_owned());
        (self.interface, self.next_hop, self.vlan, self.source_prefix) = (None, None, None, None);
        (self.xdp_mode, self.xdp_copy) = (None, None);
        self
    }
}

impl SourcePrefix {
    pub(crate) fn parse(text: &str) -> Option<SourcePrefix> {
        let (first, length) = text.split_once('/')?;
        let first: IpAddr = first.parse().ok()?;
        let most = if first.is_ipv4() { 32 } else { 128 };
        // `parse` would let a sign pass.
        let is_number = !length.is_empty() && length.bytes().all(|byte| byte.is_ascii_digit());
        let length = length.parse().ok().filter(|length| is_number && *length <= most)?;
        Some(SourcePrefix { first, length })
    }
}

impl fmt::Display for SourcePrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.first, self.length)
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

/// An Ethernet address as people write it: `02:00:5e:10:00:01`.
pub fn mac_text(mac: &[u8; 6]) -> String {
    mac.map(|byte| format!("{byte:02x}")).join(":")
}

/// Six bytes in hex, parted by `:` or `-`; of one host, not of a group or of nobody.
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

fn vlan(given: Option<u16>) -> Result<Option<u16>, PlanError> {
    match given {
        Some(id) if !(1..=LAST_VLAN).contains(&id) => Err(PlanError::OutOfRange {
            option: "vlan",
            given: id.to_string(),
            min: "1".to_owned(),
            max: LAST_VLAN.to_string(),
        }),
        given => Ok(given),
    }
}

fn read<T>(
    option: &'static str,
    text: &Option<String>,
    parse: impl Fn(&str) -> Option<T>,
    expected: &'static str,
) -> Result<Option<T>, PlanError> {
    let parsed = text.as_deref().map(|text| parse(text).ok_or_else(|| wrong(option, text, expected)));
    parsed.transpose()
}

fn wrong(option: &'static str, text: &str, expected: &'static str) -> PlanError {
    PlanError::Value { option, text: text.to_owned(), expected }
}

/// An option, and whether a draft says it.
type Given = (&'static str, fn(&Draft) -> bool);

fn first_given(options: &[Given], draft: &Draft) -> Option<&'static str> {
    options.iter().find(|(_, is_given)| is_given(draft)).map(|(option, _)| *option)
}

/// What changes the packets, so that sockets could not take over.
const ALWAYS_XDP: [Given; 3] = [
    ("next-hop", |draft| draft.next_hop.is_some()),
    ("vlan", |draft| draft.vlan.is_some()),
    ("source-prefix", |draft| draft.source_prefix.is_some()),
];

/// What only chooses among the ways of AF_XDP.
const OF_XDP: [Given; 3] = [
    ("interface", |draft| draft.interface.is_some()),
    ("xdp-mode", |draft| draft.xdp_mode.is_some()),
    ("xdp-copy", |draft| draft.xdp_copy.is_some()),
];

/// 4095 is reserved (IEEE 802.1Q).
const LAST_VLAN: u16 = 4_094;

#[cfg(test)]
mod tests {
    use super::*;

    fn backend(text: &str) -> Result<Backend, PlanError> {
        Backend::of(&Draft::from_toml(text).expect("a plan file"))
    }

    fn xdp(text: &str) -> XdpPlan {
        match backend(&format!("backend = \"xdp\"\n{text}")) {
            Ok(Backend::Xdp(xdp)) => xdp,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn sockets_are_the_default_and_take_no_word_of_af_xdp() {
        assert_eq!(backend(""), Ok(Backend::Sockets));
        for (text, option) in [
            ("interface = \"eth0\"", "interface"),
            ("next-hop = \"02:00:00:00:00:01\"", "next-hop"),
            ("vlan = 7", "vlan"),
            ("source-prefix = \"10.0.0.0/8\"", "source-prefix"),
            ("xdp-mode = \"auto\"", "xdp-mode"),
            ("xdp-copy = \"auto\"", "xdp-copy"),
        ] {
            assert_eq!(backend(text), Err(PlanError::OnlyXdp { option }));
            let told = PlanError::OnlyXdp { option }.to_string();
            assert!(told.contains(&format!("--{option}")) && told.contains("--backend xdp"), "{told}");
        }
    }

    #[test]
    fn auto_takes_no_word_that_would_change_the_packets() {
        let auto = |text: &str| backend(&format!("backend = \"auto\"\n{text}"));
        assert!(matches!(auto("interface = \"eth0\""), Ok(Backend::Xdp(XdpPlan { or_sockets: true, .. }))));
        assert_eq!(auto("vlan = 7"), Err(PlanError::NotWithAuto { option: "vlan" }));
        assert_eq!(auto("source-prefix = \"::/0\""), Err(PlanError::NotWithAuto { option: "source-prefix" }));
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
        assert_eq!(prefix("10.1.2.3/16").map(|prefix| prefix.to_string()).as_deref(), Some("10.1.2.3/16"));
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
        assert!(backend("backend = \"udp\"").is_err());
        let chosen = xdp("xdp-mode = \"generic\"\nxdp-copy = \"zero-copy\"\nvlan = 4094");
        assert_eq!(
            (chosen.mode, chosen.copy, chosen.vlan),
            (XdpMode::Generic, XdpCopy::ZeroCopy, Some(4094))
        );
    }
}
