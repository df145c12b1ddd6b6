//! The table of the kinds of transport: a row each. A new kind is a module of its own, with its [`Open`], and a
//! row here.
//!
//! [`Open`]: crate::Open

/// Gives the rows to the macro `$rows`, behind what is `$given`: first the kinds that can be part of a mix, then
/// those that stand alone.
macro_rules! transports {
    ($rows:ident $($given:tt)*) => {
        $rows! {
            $($given)*
            parts {
                /// UDP sockets.
                Udp: udp::UdpTransport,
                /// Clients with a TCP connection each.
                Tcp: stream::TcpTransport,
                /// The same, over TLS.
                Dot: stream::DotTransport,
                /// The same, over HTTP/2 in TLS.
                Doh: stream::DohTransport,
                /// Clients with a QUIC connection each.
                Doq: quic::QuicTransport,
            }
            alone {
                /// Several parts by weight, and the fallback from UDP to TCP.
                Mixed: mixed::Mixed,
                /// AF_XDP.
                Xdp: xdp::XdpTransport,
                /// The imaginary link.
                Sim: sim::SimTransport,
            }
        }
    };
}

pub(crate) use transports;
