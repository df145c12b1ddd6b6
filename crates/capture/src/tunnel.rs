//! What is around an IP packet: link headers, tags and tunnels, each taken off until IP begins.
//!
//! ```text
//!   Ethernet │ VLAN │ MPLS │ PPPoE ─► PPP ─┐
//!   GRE │ ERSPAN │ EtherIP │ VXLAN │ Geneve ┼─► IP ─► UDP, TCP, or the next tunnel
//!   GTP-U │ IP in IP ──────────────────────┘
//! ```

use dnsdyno_measure::SkipReason;
use etherparse::{IpNumber, UdpSlice};

/// What the octets that follow are.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Layer<'a> {
    Ethernet(&'a [u8]),
    /// Behind a number of the registry of EtherTypes.
    EtherType(u16, &'a [u8]),
    Ppp(&'a [u8]),
    Mpls(&'a [u8]),
    /// IP, which says its version itself.
    Ip(&'a [u8]),
}

impl<'a> Layer<'a> {
    /// The IP packet in it.
    pub(crate) fn ip(mut self) -> Result<&'a [u8], SkipReason> {
        for _ in 0..MOST_HEADERS {
            self = match self {
                Layer::Ip(packet) => return Ok(packet),
                Layer::Ethernet(frame) => Layer::EtherType(word(frame, ETHER_TYPE_AT)?, after(frame, 14)?),
                Layer::EtherType(kind, rest) => behind_ether_type(kind, rest)?,
                Layer::Ppp(rest) => behind_ppp(rest)?,
                Layer::Mpls(rest) => behind_mpls(rest)?,
            };
        }
        Err(SkipReason::Tunnel)
    }
}

fn behind_ether_type(kind: u16, rest: &[u8]) -> Result<Layer<'_>, SkipReason> {
    Ok(match kind {
        0x0800 | 0x86dd => Layer::Ip(rest),
        // VLAN tags, of 802.1Q, 802.1ad and of before it.
        0x8100 | 0x88a8 | 0x9100 | 0x9200 | 0x9300 => Layer::EtherType(word(rest, 2)?, after(rest, 4)?),
        0x8847 | 0x8848 => Layer::Mpls(rest),
        // A session of PPPoE: version and type, code, session 2, length 2.
        0x8864 => Layer::Ppp(after(rest, 6)?),
        0x880b => Layer::Ppp(rest),
        0x6558 => Layer::Ethernet(rest),
        // Provider backbone bridges: flags and service, 4 octets.
        0x88e7 => Layer::Ethernet(after(rest, 4)?),
        0x88e5 | 0x894f => return Err(SkipReason::Tunnel),
        // A length: LLC with a subnetwork header is followed by an EtherType.
        0..=1500 if rest.starts_with(&[0xaa, 0xaa, 3, 0, 0]) => {
            Layer::EtherType(word(rest, 6)?, after(rest, 8)?)
        }
        _ => return Err(SkipReason::NotIp),
    })
}

/// PPP: address and control, which may be left out, and a protocol of one or two octets.
fn behind_ppp(rest: &[u8]) -> Result<Layer<'_>, SkipReason> {
    let rest = rest.strip_prefix(&[0xff, 3]).unwrap_or(rest);
    let (protocol, rest) = match rest {
        // The highest octet may be left out: the lowest is odd.
        [short, rest @ ..] if short & 1 == 1 => (u16::from(*short), rest),
        _ => (word(rest, 0)?, after(rest, 2)?),
    };
    match protocol {
        0x0021 | 0x0057 => Ok(Layer::Ip(rest)),
        0x0281 | 0x0283 => Ok(Layer::Mpls(rest)),
        // Of several links, encrypted, compressed.
        0x003d | 0x0053 | 0x0055 | 0x00fb | 0x00fd => Err(SkipReason::Tunnel),
        _ => Err(SkipReason::NotIp),
    }
}

/// MPLS: labels of 4 octets, of which the last is marked. Nothing says what follows: IP has its version there.
fn behind_mpls(mut rest: &[u8]) -> Result<Layer<'_>, SkipReason> {
    loop {
        let is_last = rest.get(2).ok_or(SkipReason::BadHeader)? & 1 == 1;
        rest = after(rest, 4)?;
        if is_last {
            break;
        }
    }
    match rest.first().ok_or(SkipReason::BadHeader)? >> 4 {
        4 | 6 => Ok(Layer::Ip(rest)),
        // A control word of an emulated line; addresses of Ethernet hardly begin with two octets of 0.
        0 if rest.starts_with(&[0, 0]) => Ok(Layer::Ethernet(after(rest, 4)?)),
        _ => Ok(Layer::Ethernet(rest)),
    }
}

/// What an IP packet carries that is neither UDP nor TCP; `None` where it is no tunnel.
pub(crate) fn in_ip(protocol: IpNumber, payload: &[u8]) -> Result<Option<Layer<'_>>, SkipReason> {
    Ok(Some(match protocol.0 {
        4 | 41 => Layer::Ip(payload),
        GRE => behind_gre(payload)?,
        // EtherIP: its version, 2 octets.
        97 => Layer::Ethernet(after(payload, 2)?),
        137 => Layer::Mpls(payload),
        // ESP, minimal encapsulation, L2TP.
        50 | 55 | 115 => return Err(SkipReason::Tunnel),
        _ => return Ok(None),
    }))
}

/// Whether fragments of this protocol are put together.
pub(crate) fn may_carry(protocol: IpNumber) -> bool {
    matches!(protocol.0, 4 | 41 | GRE | 97 | 137) || [IpNumber::UDP, IpNumber::TCP].contains(&protocol)
}

/// GRE (RFC 2784, RFC 2890; RFC 2637 for PPP), and ERSPAN in it.
fn behind_gre(packet: &[u8]) -> Result<Layer<'_>, SkipReason> {
    let (flags, kind) = (word(packet, 0)?, word(packet, 2)?);
    let version = flags & 7;
    // A route of its sender, which nothing uses.
    if flags & 0x4000 != 0 || version > 1 {
        return Err(SkipReason::Tunnel);
    }
    let has_sequence = flags & 0x1000 != 0;
    let has_acknowledgement = version == 1 && flags & 0x80 != 0;
    // A checksum, a key, a sequence number: 4 octets each.
    let parts = [flags & 0x8000 != 0, flags & 0x2000 != 0, has_sequence, has_acknowledgement];
    let rest = after(packet, 4 + 4 * parts.iter().filter(|is_there| **is_there).count())?;
    Ok(match kind {
        // ERSPAN: type I has no header of its own, and no sequence number in that of GRE; type II has 8 octets.
        0x88be => Layer::Ethernet(after(rest, if has_sequence { 8 } else { 0 })?),
        // Type III has 12 octets, and 8 more where its last bit says so; the type of the frame is before that.
        0x22eb => {
            let last = word(rest, 10)?;
            let rest = after(rest, if last & 1 == 1 { 20 } else { 12 })?;
            if last >> 10 & 0x1f == 2 { Layer::Ip(rest) } else { Layer::Ethernet(rest) }
        }
        kind => Layer::EtherType(kind, rest),
    })
}

/// What a datagram of UDP carries for its destination port; `None` where it is no tunnel.
pub(crate) fn in_udp<'a>(udp: &UdpSlice<'a>) -> Result<Option<Layer<'a>>, SkipReason> {
    let payload = udp.payload();
    match udp.destination_port() {
        // VXLAN: that of its standard, that of Linux before it, and that of its extension.
        4789 | 8472 | 4790 => behind_vxlan(payload),
        6081 => behind_geneve(payload),
        2152 => behind_gtp(payload),
        // L2TP, IPsec through NAT, WireGuard.
        1701 | 4500 | 51820 => Err(SkipReason::Tunnel),
        _ => Ok(None),
    }
}

/// VXLAN (RFC 7348): flags, and the identifier of the network. An extension says what follows in the fourth octet.
fn behind_vxlan(payload: &[u8]) -> Result<Option<Layer<'_>>, SkipReason> {
    let Some([flags, _, _, protocol, ..]) = payload.first_chunk::<8>() else { return Ok(None) };
    if flags & 0x08 == 0 {
        return Ok(None);
    }
    let rest = after(payload, 8)?;
    match (flags & 0x04 != 0, protocol) {
        (false, _) | (true, 3) => Ok(Some(Layer::Ethernet(rest))),
        (true, 1 | 2) => Ok(Some(Layer::Ip(rest))),
        (true, 5) => Ok(Some(Layer::Mpls(rest))),
        (true, _) => Err(SkipReason::Tunnel),
    }
}

/// Geneve (RFC 8926): version and length of the options in words, flags, EtherType 2, network 3, reserved.
fn behind_geneve(payload: &[u8]) -> Result<Option<Layer<'_>>, SkipReason> {
    let Some([first, ..]) = payload.first_chunk::<8>().filter(|header| header[0] >> 6 == 0) else {
        return Ok(None);
    };
    let rest = after(payload, 8 + 4 * usize::from(first & 0x3f))?;
    Ok(Some(Layer::EtherType(word(payload, 2)?, rest)))
}

/// GTP-U (3GPP TS 29.281): flags, type of message, length 2, tunnel 4; then 4 octets where a flag says so, of which the
/// last is the type of the next extension header.
fn behind_gtp(payload: &[u8]) -> Result<Option<Layer<'_>>, SkipReason> {
    let Some([flags, PACKET_OF_USER, ..]) = payload.first_chunk::<8>().filter(|header| header[0] >> 4 == 3)
    else {
        return Ok(None);
    };
    let mut rest = after(payload, if flags & 7 == 0 { 8 } else { 12 })?;
    let mut extension = if flags & 4 == 0 { 0 } else { *payload.get(11).ok_or(SkipReason::BadHeader)? };
    while extension != 0 {
        // Its length in words, its content, and the type of the next one. Each takes octets, so that this ends.
        let length = 4 * usize::from(*rest.first().ok_or(SkipReason::BadHeader)?);
        let last = length.checked_sub(1).ok_or(SkipReason::BadHeader)?;
        extension = *rest.get(last).ok_or(SkipReason::BadHeader)?;
        rest = after(rest, length)?;
    }
    Ok(Some(Layer::Ip(rest)))
}

/// The octets behind a header.
pub(crate) fn after(octets: &[u8], len: usize) -> Result<&[u8], SkipReason> {
    octets.get(len..).ok_or(SkipReason::BadHeader)
}

/// A number of two octets.
pub(crate) fn word(octets: &[u8], at: usize) -> Result<u16, SkipReason> {
    let octets = octets.get(at..).and_then(|rest| rest.first_chunk::<2>());
    octets.map(|octets| u16::from_be_bytes(*octets)).ok_or(SkipReason::BadHeader)
}

const ETHER_TYPE_AT: usize = 12;
const GRE: u8 = 47;

/// The type of a GTP message that carries a packet of a user.
const PACKET_OF_USER: u8 = 0xff;

/// Headers between two IP headers: nothing real has more than four.
const MOST_HEADERS: usize = 12;

#[cfg(test)]
mod tests;
