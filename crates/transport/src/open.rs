//! Opens the transports of a run from their description, and passes them on with their concrete type: the engine is
//! compiled for each type.

use crate::Transport;
use crate::description::{Description, Kind, Open, OpenError, PartKind};
use crate::table::transports;
use crate::xdp::{XdpFacts, XdpTransport};

/// A function that is generic over the type of the transports.
pub trait Visitor {
    /// Its result.
    type Out;

    /// Runs with the transports, one per worker.
    fn visit<T: Transport + Send>(self, transports: Vec<T>) -> Self::Out;
}

macro_rules! opened {
    (
        parts { $($(#[$part_doc:meta])* $part:ident: $($part_type:ident)::+,)+ }
        alone { $($(#[$doc:meta])* $kind:ident: $($type:ident)::+,)+ }
    ) => {
        /// The transports of a run, one per worker.
        pub enum Opened {
            $($(#[$part_doc])* $part(Vec<$crate::$($part_type)::+>),)+
            $($(#[$doc])* $kind(Vec<$crate::$($type)::+>),)+
        }

        /// Opens transports of this kind.
        ///
        /// # Errors
        /// If the description cannot be used, or the host does not allow it.
        pub fn open(kind: Kind, description: &Description) -> Result<Opened, OpenError> {
            Ok(match kind {
                $(Kind::Part(PartKind::$part) => Opened::$part(Open::open_all(description)?),)+
                $(Kind::$kind => Opened::$kind(Open::open_all(description)?),)+
            })
        }

        /// The number of files that transports of this kind open, over all workers.
        pub fn files(kind: Kind, description: &Description) -> usize {
            match kind {
                $(Kind::Part(PartKind::$part) => <$crate::$($part_type)::+ as Open>::files(description),)+
                $(Kind::$kind => <$crate::$($type)::+ as Open>::files(description),)+
            }
        }

        impl Kind {
            /// Whether at least some of its channels are clients with connections.
            pub fn connects(self) -> bool {
                match self {
                    $(Kind::Part(PartKind::$part) => <$crate::$($part_type)::+ as Transport>::CONNECTS,)+
                    $(Kind::$kind => <$crate::$($type)::+ as Transport>::CONNECTS,)+
                }
            }
        }

        impl Opened {
            /// Calls `visitor` with the transports.
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
    /// For AF_XDP: the facts about the interface, the number of workers, and the number of source ports. `None` for
    /// other kinds.
    pub fn xdp(&self) -> Option<(&XdpFacts, usize, usize)> {
        let Opened::Xdp(transports) = self else { return None };
        let channels = transports.iter().map(Transport::channels).sum();
        Some((transports.first().map(XdpTransport::facts)?, transports.len(), channels))
    }
}
