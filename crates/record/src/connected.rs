//! Connections, handshakes and streams in the record.

use std::collections::BTreeMap;

use dnsdyno_measure::{
    ConnectFailure, ConnectionEnd, Connections, Encrypted, HandshakeFailure, HandshakeKind, StreamFailure,
};
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
    // Not in records from before there was any.
    #[serde(default)]
    encrypted: Option<EncryptedShape>,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct EncryptedShape {
    handshakes: BTreeMap<String, HistogramShape>,
    failed: BTreeMap<String, u64>,
    early_rejected: u64,
    statuses: BTreeMap<u16, u64>,
    streams: BTreeMap<String, u64>,
}

impl From<&Encrypted> for EncryptedShape {
    fn from(encrypted: &Encrypted) -> Self {
        let handshakes =
            HandshakeKind::ALL.map(|kind| (kind.key().to_owned(), encrypted.handshake(kind).into()));
        let failed = HandshakeFailure::ALL.map(|why| (why.key().to_owned(), encrypted.failed(why)));
        let streams = StreamFailure::ALL.map(|why| (why.key().to_owned(), encrypted.stream(why)));
        EncryptedShape {
            handshakes: handshakes.into(),
            failed: failed.into(),
            early_rejected: encrypted.early_rejected,
            statuses: encrypted.statuses.iter().collect(),
            streams: streams.into(),
        }
    }
}

impl TryFrom<EncryptedShape> for Encrypted {
    type Error = ShapeError;

    fn try_from(shape: EncryptedShape) -> Result<Self, ShapeError> {
        let mut encrypted = Encrypted { early_rejected: shape.early_rejected, ..Encrypted::default() };
        for (key, histogram) in shape.handshakes {
            let known = HandshakeKind::ALL.into_iter().find(|kind| kind.key() == key);
            let kind = known.ok_or(ShapeError::UnknownEnd(key))?;
            encrypted.handshakes[kind as usize] = histogram.try_into()?;
        }
        for (key, count) in shape.failed {
            let known = HandshakeFailure::ALL.into_iter().find(|why| why.key() == key);
            encrypted.add_failed(known.ok_or(ShapeError::UnknownEnd(key))?, count);
        }
        for (key, count) in shape.streams {
            let known = StreamFailure::ALL.into_iter().find(|why| why.key() == key);
            encrypted.add_stream(known.ok_or(ShapeError::UnknownEnd(key))?, count);
        }
        shape.statuses.into_iter().for_each(|(status, count)| encrypted.statuses.add(status, count));
        Ok(encrypted)
    }
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
            encrypted: connections.encrypted.as_deref().map(Into::into),
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
            encrypted: shape.encrypted.map(|shape| shape.try_into().map(Box::new)).transpose()?,
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
