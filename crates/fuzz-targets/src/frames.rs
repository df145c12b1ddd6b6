//! Frames of a network, as AF_XDP hands them over.

use std::net::{IpAddr, SocketAddr};

use dnsdyno_transport::xdp::frame::read;
use etherparse::{NetSlice, SlicedPacket, TransportSlice};

/// A frame: what `etherparse` reads of a whole UDP packet in it is what we read.
pub fn xdp_frame(frame: &[u8]) {
    let Some(ours) = read(frame) else { return };
    assert!(ours.payload.len() + 42 <= frame.len(), "Ethernet, IP and UDP are in front of it");
    let Ok(theirs) = SlicedPacket::from_ethernet(frame) else { return };
    let (source, target): (IpAddr, IpAddr) = match &theirs.net {
        Some(NetSlice::Ipv4(ip)) => (ip.header().source_addr().into(), ip.header().destination_addr().into()),
        Some(NetSlice::Ipv6(ip)) => (ip.header().source_addr().into(), ip.header().destination_addr().into()),
        _ => return,
    };
    let Some(TransportSlice::Udp(udp)) = &theirs.transport else { return };
    assert_eq!(ours.source, SocketAddr::new(source, udp.source_port()));
    assert_eq!(ours.target, SocketAddr::new(target, udp.destination_port()));
    assert_eq!(ours.payload, udp.payload());
}
