//! Names as this crate handles them: absolute, in lower case, cheap to copy.

use bytes::Bytes;
use domain::base::ToName;

/// An absolute domain name.
pub(crate) type Name = domain::base::Name<Bytes>;

/// The name with `label` in front of `parent`. The names that a world makes have an apex of a few labels and a short
/// label, so they fit into 255 octets; should one not fit, it is the parent itself.
pub(crate) fn below(label: impl AsRef<[u8]>, parent: &Name) -> Name {
    let label = label.as_ref();
    let mut octets = Vec::with_capacity(1 + label.len() + parent.len());
    octets.push(label.len() as u8);
    octets.extend_from_slice(label);
    octets.extend_from_slice(parent.as_slice());
    Name::from_octets(Bytes::from(octets)).unwrap_or_else(|_| parent.clone())
}

/// The name in lower case.
pub(crate) fn lower(name: &impl ToName) -> Name {
    name.to_canonical_name()
}

/// The labels of a name from the right, without that of the root.
pub(crate) fn labels(name: &Name) -> Vec<&[u8]> {
    let mut labels: Vec<&[u8]> = name.iter().map(|label| label.as_slice()).collect();
    labels.pop();
    labels.reverse();
    labels
}

/// The last `count` labels of a name, before that of the root; the whole name where it has no more.
pub(crate) fn suffix(name: &Name, count: usize) -> Name {
    let skipped = (name.label_count() - 1).saturating_sub(count);
    let at: usize = name.iter().take(skipped).map(|label| label.len() + 1).sum();
    name.range_from(at)
}

/// A name as text with the final dot.
pub(crate) fn text(name: &Name) -> String {
    name.fmt_with_dot().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_taken_apart_and_put_together() {
        let name: Name = lower(&"WWW.Example.com.".parse::<domain::base::Name<Vec<u8>>>().unwrap());
        assert_eq!(text(&name), "www.example.com.");
        assert_eq!(labels(&name), [&b"com"[..], b"example", b"www"]);
        let suffixes = [0, 1, 2, 3, 9].map(|count| text(&suffix(&name, count)));
        assert_eq!(suffixes, [".", "com.", "example.com.", "www.example.com.", "www.example.com."]);
        assert_eq!(below("www", &suffix(&name, 2)), name);
        assert_eq!(below("com", &Name::root_bytes()), suffix(&name, 1));
        assert!(labels(&Name::root_bytes()).is_empty());
    }
}
