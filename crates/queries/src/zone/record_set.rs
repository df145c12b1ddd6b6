//! The sets of records of a zone.

/// A set of records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RecordSet {
    /// The owner on the wire, in lower case.
    pub(super) owner: Vec<u8>,
    pub(super) rtype: u16,
}

/// The label of a wildcard on the wire.
pub(super) const WILDCARD: &[u8] = b"\x01*";
