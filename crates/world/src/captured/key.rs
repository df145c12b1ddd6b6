//! Which names a world from a capture can hold.

use crate::list::{is_reserved, key_of};
use crate::name::{Name, labels};

/// The key of a name that a world can hold; `None` of one that it cannot: with an octet 0, a wildcard, which would
/// stand for names that the capture says nothing of, and the names that it gives to its own servers.
pub(super) fn key_to_hold(name: &Name) -> Option<Vec<u8>> {
    let labels = labels(name);
    let is_impossible = |label: &&[u8]| label.contains(&0) || *label == b"*" || is_reserved(label);
    (!labels.iter().any(is_impossible)).then(|| key_of(labels))
}
