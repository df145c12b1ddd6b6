//! Connections in the record.

use std::collections::BTreeMap;

use dnsdyno_measure::{ConnectFailure, ConnectionEnd, Connections};
use serde::{Deserialize, Serialize};

use crate::own::{HistogramShape, ShapeError};

#[derive(Serialize, Deserialize)]
pub(crate) struct ConnectionsShape {
    opened: u64,
    established: u64,
    failed: BTreeMap<String, u64>,
    ended: BTreeMap<String, u64>,
    reused: u64,
    open_max: u64,
    connect: HistogramShape,
    first_byte: HistogramShape,
    query: HistogramShape,
}

impl From<&Connections> for ConnectionsShape {
    fn from(connections: &Connections) -> Self {
        let failed = ConnectFailure::ALL.map(|why| (why.key().to_owned(), connections.failed(why)));
        let ended = ConnectionEnd::ALL.map(|end| (end.key().to_owned(), connections.ended(end)));
        ConnectionsShape {
            opened: connections.opened,
            established: connections.established,
            failed: failed.into(),
            ended: ended.into(),
            reused: connections.reused,
            open_max: connections.open_max,
            connect: (&connections.connect).into(),
            first_byte: (&connections.first_byte).into(),
            query: (&connections.query).into(),
        }
    }
}

impl TryFrom<ConnectionsShape> for Connections {
    type Error = ShapeError;

    fn try_from(shape: ConnectionsShape) -> Result<Self, ShapeError> {
        let mut connections = Connections {
            opened: shape.opened,
            established: shape.established,
            reused: shape.reused,
            open_max: shape.open_max,
            connect: shape.connect.try_into()?,
            first_byte: shape.first_byte.try_into()?,
            query: shape.query.try_into()?,
            ..Connections::default()
        };
        for (key, count) in shape.failed {
            let known = ConnectFailure::ALL.into_iter().find(|why| why.key() == key);
            connections.add_failed(known.ok_or(ShapeError::UnknownEnd(key))?, count);
        }
        for (key, count) in shape.ended {
            let known = ConnectionEnd::ALL.into_iter().find(|end| end.key() == key);
            connections.add_ended(known.ok_or(ShapeError::UnknownEnd(key))?, count);
        }
        Ok(connections)
    }
}
