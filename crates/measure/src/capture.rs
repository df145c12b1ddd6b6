//! What a reader of captures has met: frames, DNS messages, and what it could not use, by reason.

use crate::By;
use crate::by::keys;
use crate::counter::counters;

counters! {
    /// What was read from a capture.
    #[derive(Copy, Eq)]
    pub struct CaptureCounts {
        /// Frames of a packet capture, or messages of a dnstap file.
        pub frames: u64,
        /// Their octets, as far as they were captured.
        pub frame_bytes: u64,
        /// DNS messages given.
        pub messages: u64,
        /// Frames that were used: a datagram with a message, a segment of a TCP stream, a fragment of a datagram that
        /// was put together, a dnstap message. These and those skipped are all frames.
        pub used: u64,
        /// Frames that gave no DNS message.
        pub skipped: Skipped,
        /// TCP segments that were captured again, or sent again.
        pub tcp_repeated: u64,
        /// TCP segments that were captured before an earlier one, and put in order.
        pub tcp_reordered: u64,
        /// Gaps in TCP streams that no later segment filled.
        pub tcp_gaps: u64,
        /// Octets of TCP that belong to no message that was captured whole.
        pub tcp_lost_bytes: u64,
        /// Lengths in TCP streams that no DNS message has: shorter than a header.
        pub tcp_short_messages: u64,
        /// TCP streams that were in progress when the capture began: read from the first message boundary found.
        pub tcp_without_start: u64,
        /// Streams or fragments that were forgotten because too many were open.
        pub forgotten: u64,
        /// Queries in dnstap messages of responses that have a message of their own too: given once.
        pub repeated_queries: u64,
        /// Blocks of pcapng whose type is not known: they were passed over.
        pub unknown_blocks: u64,
        /// Packets (pcapng's simple ones) or dnstap messages without an instant of their own: they have that of the
        /// response or query beside them, or of what was captured before them.
        pub without_instant: u64,
        /// Messages that were captured after a later one, and were put in order.
        pub reordered: u64,
        /// Messages that came too late to be put in order: their instant is earlier than that of the message before.
        pub out_of_order: u64,
    }
}

counters! {
    /// What was written of the messages of a capture.
    #[derive(Copy, Eq)]
    pub struct WrittenCounts {
        /// Messages written.
        pub messages: u64,
        /// Responses that were not written: the format holds queries only.
        pub responses_left_out: u64,
        /// Messages that the format cannot hold: not one question, not a standard query, or too long for a datagram.
        pub unsuitable_left_out: u64,
        /// Queries whose flags (other than RD, AD and CD) were not written.
        pub flags_lost: u64,
        /// Queries of which not all of the additional section was written: records such as TSIG, long EDNS options.
        pub records_lost: u64,
        /// Messages of DoT, DoH or DoQ, written as TCP on port 53.
        pub transport_lost: u64,
    }
}

keys! {
    /// Why a frame, a datagram or a dnstap message gave no DNS message.
    pub enum SkipReason {
        /// Neither IPv4 nor IPv6, such as ARP.
        NotIp = "not_ip", "not IP";
        /// A packet that was captured before at another interface, in the other direction, or in a tunnel.
        Duplicate = "duplicate", "the same packet at another interface";
        /// A tunnel that is not read: encrypted (ESP, WireGuard, MACsec), L2TP, or too many of them within each other.
        Tunnel = "tunnel", "tunnels that are not read (encrypted, L2TP, nested too deeply)";
        /// IP that is neither UDP nor TCP, such as ICMP.
        NotUdpOrTcp = "not_udp_or_tcp", "neither UDP nor TCP";
        /// UDP or TCP of other ports than those of DNS.
        OtherPort = "other_port", "other ports";
        /// UDP or TCP of a port of encrypted DNS (853, 443): what it carries cannot be read.
        Encrypted = "encrypted", "encrypted (ports 443 and 853)";
        /// Cut short when it was captured (snapshot length).
        CutShort = "cut_short", "cut short by the capture";
        /// A header that contradicts itself or its frame.
        BadHeader = "bad_header", "headers that are not valid";
        /// Fragments of IP whose datagram was not captured whole.
        Fragment = "fragment", "fragments of incomplete datagrams";
        /// Shorter than the header of a DNS message.
        TooShort = "too_short", "shorter than a DNS header";
        /// A frame of an interface whose link type is not supported.
        LinkType = "link_type", "unsupported link type";
        /// A dnstap message of a kind that was not asked for.
        OtherKind = "other_kind", "other kinds of dnstap message";
        /// A dnstap message of a query that the message of its response, which was written before, has too.
        RepeatedQuery = "repeated_query", "queries that a response had already";
        /// A dnstap message without a DNS message, or that is not dnstap.
        NoMessage = "no_message", "dnstap without a DNS message";
    }
}

/// What gave no DNS message, by reason.
pub type Skipped = By<SkipReason, u64, { SkipReason::ALL.len() }>;
