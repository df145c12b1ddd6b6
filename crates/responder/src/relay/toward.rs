//! The two directions.

/// A direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Toward {
    Server,
    Client,
}

impl Toward {
    pub(crate) const BOTH: [Toward; 2] = [Toward::Server, Toward::Client];

    pub(crate) fn index(self) -> usize {
        self as usize
    }

    pub(crate) fn opposite(self) -> Toward {
        if self == Toward::Server { Toward::Client } else { Toward::Server }
    }
}
