//! The table of the kinds of transport. A new kind is a module that implements [`Open`], and a row here.
//!
//! [`Open`]: crate::Open

/// Calls the macro `$rows` with the arguments `$given` and the rows: first the kinds that can be part of a mix, then
/// the others.
macro_rules! transports {
    ($rows:ident $($given:tt)*) => {
        $rows! {
            $($given)*
            parts {
                /// UDP sockets.
                Udp: udp::UdpTransport,
                /// Clients with one TCP connection each.
                Tcp: stream::TcpTransport,
                /// Clients with one TLS connection each.
                Dot: stream::DotTransport,
                /// Clients with one HTTP/2 connection over TLS each.
                Doh: stream::DohTransport,
                /// Clients with one QUIC connection each.
                Doq: quic::DoqTransport,
                /// Clients with one HTTP/3 connection each.
                Doh3: quic::Doh3Transport,
            }
            alone {
                /// A mix of transports by weight, and the fallback from UDP to TCP.
                Mixed: mixed::Mixed,
                /// AF_XDP.
                Xdp: xdp::XdpTransport,
                /// The simulated link.
                Sim: sim::SimTransport,
            }
        }
    };
}

pub(crate) use transports;
