//! Records of one name and type, as answers have them.

use bytes::Bytes;
use domain::base::iana::Rtype;
use domain::rdata::ZoneRecordData;

use crate::name::Name;

/// The data of a record.
pub(crate) type Data = ZoneRecordData<Bytes, Name>;

/// Records of one name and type.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RrSet {
    pub(crate) owner: Name,
    pub(crate) rtype: Rtype,
    pub(crate) ttl_s: u32,
    pub(crate) data: Vec<Data>,
    /// The wildcard that the records were made from, where they were.
    pub(crate) wildcard: Option<Name>,
}

impl RrSet {
    pub(crate) fn new(owner: &Name, rtype: Rtype, ttl_s: u32, data: Vec<Data>) -> RrSet {
        RrSet { owner: owner.clone(), rtype, ttl_s, data, wildcard: None }
    }
}

/// The type of the record that a name has of which only types are known that it does not have: one of those for private
/// use (RFC 6895 §3.1).
pub(crate) const PLACEHOLDER: Rtype = Rtype::from_int(65_280);
