//! The path of a counter in the record: `ends.not_sent.no_route`, `rcodes.NOERROR`, `types.A.answered`.

use dnsdyno_record::Header;
use dnsdyno_wire::{rcode_name, type_name};

/// A path that is entered key by key, in the order of the visitor.
pub(crate) struct CounterPath<'a> {
    header: &'a Header,
    text: String,
}

impl<'a> CounterPath<'a> {
    /// The path of no counter.
    pub(crate) fn new(header: &'a Header) -> CounterPath<'a> {
        CounterPath { header, text: String::new() }
    }

    /// The path so far.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Enters a key of the current group, by its name where it is the number of a type or an RCODE; returns the
    /// length to [leave](Self::leave) to.
    pub(crate) fn enter(&mut self, key: &str) -> usize {
        let length = self.text.len();
        let number = || key.parse::<u16>().ok();
        let rtype = || self.header.types.get(usize::from(number()?));
        let name = match self.text.as_str() {
            "rcodes" => number().map(rcode_name),
            "types" => rtype().map(|rtype| type_name(*rtype)),
            _ => None,
        };
        if length > 0 {
            self.text.push('.');
        }
        self.text.push_str(name.as_deref().unwrap_or(key));
        length
    }

    /// Goes back to the group that had this length.
    pub(crate) fn leave(&mut self, length: usize) {
        self.text.truncate(length);
    }
}
