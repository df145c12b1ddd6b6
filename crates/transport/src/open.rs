//! Opens the transports of a run from their description, whatever kind they are of, and hands them on as what
//! they are: the engine is compiled for each of them.

use crate::Transport;
use crate::description::{Description, Kind, Open, OpenError, PartKind};
use crate::table::transports;
use crate::xdp::{XdpFacts, XdpTransport};

/// Does the same with the transports of a run, whatever kind they are of.
pub trait Visitor {
    /// What it gives back.
    type Out;

    /// Takes the transports, one for each worker.
    fn visit<T: Transport + Send>(self, transports: Vec<T>) -> Self::Out;
}

macro_rules! opened {
    (
        parts { $($(#[$part_doc:meta])* $part:ident: $($part_type:ident)::+,)+ }
        alone { $($(#[$doc:meta])* $kind:ident: $($type:ident)::+,)+ }
    ) => {
        /// The transports of a run, one for each worker.
        pub enum Opened {
            $($(#[$part_doc])* $part(Vec<$crate::$($part_type)::+>),)+
            $($(#[$doc])* $kind(Vec<$crate::$($type)::+>),)+
        }

        /// Opens transports of this kind.
        ///
        /// # Errors
        /// Where the host, or what the description names, does not allow it.
        pub fn open(kind: Kind, description: &Description) -> Result<Opened, OpenError> {
            Ok(match kind {
                $(Kind::Part(PartKind::$part) => Opened::$part(Open::open_all(description)?),)+
                $(Kind::$kind => Opened::$kind(Open::open_all(description)?),)+
            })
        }

        /// How many files transports of this kind open, over all workers.
        pub fn files(kind: Kind, description: &Description) -> usize {
            match kind {
                $(Kind::Part(PartKind::$part) => <$crate::$($part_type)::+ as Open>::files(description),)+
                $(Kind::$kind => <$crate::$($type)::+ as Open>::files(description),)+
            }
        }

        impl Kind {
            /// Whether its channels are clients with a connection each, some of them at least.
            pub fn connects(self) -> bool {
                match self {
                    $(Kind::Part(PartKind::$part) => <$crate::$($part_type)::+ as Transport>::CONNECTS,)+
                    $(Kind::$kind => <$crate::$($type)::+ as Transport>::CONNECTS,)+
                }
            }
        }

        impl Opened {
            /// Hands the transports to `visitor`.
            pub fn visit<V: Visitor>(self, visitor: V) -> V::Out {
                match self {
                    $(Opened::$part(transports) => visitor.visit(transports),)+
                    $(Opened::$kind(transports) => visitor.visit(transports),)+
                }
            }
        }
    };
}

transports!(opened);

impl Opened {
    /// What was found of AF_XDP, with the number of its workers and that of their source ports; `None` where it
    /// is another kind.
    pub fn xdp(&self) -> Option<(&XdpFacts, usize, usize)> {
        let Opened::Xdp(transports) = self else { return None };
        let channels = transports.iter().map(Transport::channels).sum();
        Some((transports.first().map(XdpTransport::facts)?, transports.len(), channels))
    }
}
