//! Transactions of two halves, and the members of a mix, in the record.

use std::collections::BTreeMap;

use dnsdyno_measure::{Fallback, Half, HalfFailure, MemberTally};
use serde::{Deserialize, Serialize};

use crate::own::{EndsShape, HistogramShape, ShapeError};

#[derive(Serialize, Deserialize)]
pub(crate) struct FallbackShape {
    begun: u64,
    answered: u64,
    udp_requests: u64,
    tcp_requests: u64,
    tcp_asked_again: u64,
    udp_failed: BTreeMap<String, u64>,
    tcp_failed: BTreeMap<String, u64>,
    udp: HistogramShape,
    waiting: HistogramShape,
    connect: HistogramShape,
    query: HistogramShape,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct MemberShape {
    scheduled: u64,
    sent: u64,
    ends: EndsShape,
    response: HistogramShape,
    service: HistogramShape,
}

impl From<&Fallback> for FallbackShape {
    fn from(fallback: &Fallback) -> Self {
        let failed =
            |half| fallback.failures_of(half).map(|(why, count)| (why.key().to_owned(), count)).collect();
        FallbackShape {
            begun: fallback.begun,
            answered: fallback.answered,
            udp_requests: fallback.udp_requests,
            tcp_requests: fallback.tcp_requests,
            tcp_asked_again: fallback.tcp_asked_again,
            udp_failed: failed(Half::Udp),
            tcp_failed: failed(Half::Tcp),
            udp: (&fallback.udp).into(),
            waiting: (&fallback.waiting).into(),
            connect: (&fallback.connect).into(),
            query: (&fallback.query).into(),
        }
    }
}

impl TryFrom<FallbackShape> for Fallback {
    type Error = ShapeError;

    fn try_from(shape: FallbackShape) -> Result<Self, ShapeError> {
        let mut fallback = Fallback {
            begun: shape.begun,
            answered: shape.answered,
            udp_requests: shape.udp_requests,
            tcp_requests: shape.tcp_requests,
            tcp_asked_again: shape.tcp_asked_again,
            udp: shape.udp.try_into()?,
            waiting: shape.waiting.try_into()?,
            connect: shape.connect.try_into()?,
            query: shape.query.try_into()?,
            ..Fallback::default()
        };
        for (half, failed) in [(Half::Udp, shape.udp_failed), (Half::Tcp, shape.tcp_failed)] {
            for (key, count) in failed {
                let is_it = |why: &HalfFailure| why.half() == half && why.key() == key;
                let known = HalfFailure::ALL.into_iter().find(is_it);
                fallback.add_failed(known.ok_or(ShapeError::UnknownFailure(key))?, count);
            }
        }
        Ok(fallback)
    }
}

impl From<&MemberTally> for MemberShape {
    fn from(member: &MemberTally) -> Self {
        MemberShape {
            scheduled: member.scheduled,
            sent: member.sent,
            ends: (&member.ends).into(),
            response: (&member.response).into(),
            service: (&member.service).into(),
        }
    }
}

impl TryFrom<MemberShape> for MemberTally {
    type Error = ShapeError;

    fn try_from(shape: MemberShape) -> Result<Self, ShapeError> {
        Ok(MemberTally {
            scheduled: shape.scheduled,
            sent: shape.sent,
            ends: shape.ends.try_into()?,
            response: shape.response.try_into()?,
            service: shape.service.try_into()?,
        })
    }
}
