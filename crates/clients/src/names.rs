//! Names and questions, each kept once for all clients of a worker and known by its number.

use dnsdyno_wire::CLASS_IN;
use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::BuildHasher;

use crate::ids::{NameId, QuestionId, SetId};

/// Where a node is in the network, by the name of its host (TS 29.303 §4.3.2):
/// `<topon|topoff>.<interface>.<canonical name of the node>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    /// The canonical name; of a host that is named otherwise its whole name.
    pub(crate) node: NameId,
    /// Whether closeness by labels counts for it (`topon`).
    pub(crate) topon: bool,
}

#[derive(Debug)]
struct Name {
    from: u32,
    length: u8,
    labels: u8,
    place: Option<Place>,
    parent: Option<NameId>,
}

#[derive(Debug)]
struct Question {
    name: NameId,
    qtype: u16,
    /// Where its wire form is, once it was asked.
    wire: Option<u32>,
    /// What the last response to it said.
    last: Option<SetId>,
}

/// All names and questions.
#[derive(Debug, Default)]
pub(crate) struct Names {
    octets: Vec<u8>,
    names: Vec<Name>,
    by_wire: HashTable<NameId>,
    questions: Vec<Question>,
    by_content: HashTable<QuestionId>,
    hasher: DefaultHashBuilder,
}

impl Names {
    /// The number of a name in wire format, uncompressed and in lower case.
    pub(crate) fn name(&mut self, wire: &[u8]) -> NameId {
        let hash = self.hasher.hash_one(wire);
        let (octets, names) = (&self.octets, &self.names);
        if let Some(known) = self.by_wire.find(hash, |id| wire_of(octets, &names[id.0 as usize]) == wire) {
            return *known;
        }
        let id = NameId(self.names.len() as u32);
        let mut labels = 0;
        let mut at = 0;
        while let Some(length @ 1..) = wire.get(at) {
            labels += 1;
            at += 1 + usize::from(*length);
        }
        let from = self.octets.len() as u32;
        self.names.push(Name { from, length: wire.len() as u8, labels, place: None, parent: None });
        self.octets.extend_from_slice(wire);
        let (octets, names, hasher) = (&self.octets, &self.names, &self.hasher);
        let rehash = |id: &NameId| hasher.hash_one(wire_of(octets, &names[id.0 as usize]));
        self.by_wire.insert_unique(hash, id, rehash);
        id
    }

    /// The number of a question.
    pub(crate) fn question(&mut self, name: NameId, qtype: u16) -> QuestionId {
        let hash = self.hasher.hash_one((name, qtype));
        let questions = &self.questions;
        let same = |id: &QuestionId| {
            let known = &questions[id.0 as usize];
            known.name == name && known.qtype == qtype
        };
        if let Some(known) = self.by_content.find(hash, same) {
            return *known;
        }
        let id = QuestionId(self.questions.len() as u32);
        self.questions.push(Question { name, qtype, wire: None, last: None });
        let (questions, hasher) = (&self.questions, &self.hasher);
        let rehash = |id: &QuestionId| {
            let known = &questions[id.0 as usize];
            hasher.hash_one((known.name, known.qtype))
        };
        self.by_content.insert_unique(hash, id, rehash);
        id
    }

    /// The number of a question given as name, type and class on the wire. The case of its name is not kept.
    pub(crate) fn question_of_wire(&mut self, wire: &[u8]) -> Option<QuestionId> {
        let (name, fixed) = wire.split_last_chunk::<4>()?;
        let name = self.name(&name.to_ascii_lowercase());
        Some(self.question(name, u16::from_be_bytes([fixed[0], fixed[1]])))
    }

    pub(crate) fn name_of(&self, question: QuestionId) -> NameId {
        self.questions[question.0 as usize].name
    }

    pub(crate) fn type_of(&self, question: QuestionId) -> u16 {
        self.questions[question.0 as usize].qtype
    }

    /// Writes the wire form of a question once, so that [`asked`](Self::asked) can lend it.
    pub(crate) fn prepare(&mut self, question: QuestionId) {
        let asked = &mut self.questions[question.0 as usize];
        if asked.wire.is_some() {
            return;
        }
        let name = &self.names[asked.name.0 as usize];
        asked.wire = Some(self.octets.len() as u32);
        let from = name.from as usize;
        self.octets.extend_from_within(from..from + usize::from(name.length));
        self.octets.extend_from_slice(&asked.qtype.to_be_bytes());
        self.octets.extend_from_slice(&CLASS_IN.to_be_bytes());
    }

    /// Name, type and class on the wire; empty for a question that was not prepared.
    pub(crate) fn asked(&self, question: QuestionId) -> &[u8] {
        let asked = &self.questions[question.0 as usize];
        let length = usize::from(self.names[asked.name.0 as usize].length) + 4;
        asked.wire.map_or(&[], |from| &self.octets[from as usize..from as usize + length])
    }

    /// Notes what a response says; returns whether the response before said otherwise.
    pub(crate) fn note_last(&mut self, question: QuestionId, set: SetId) -> bool {
        self.questions[question.0 as usize].last.replace(set).is_some_and(|last| last != set)
    }

    /// How many labels a name has, without the root.
    pub(crate) fn labels(&self, name: NameId) -> u8 {
        self.names[name.0 as usize].labels
    }

    /// The name without its first label; `None` for the root.
    pub(crate) fn parent(&mut self, name: NameId) -> Option<NameId> {
        let known = &self.names[name.0 as usize];
        if known.parent.is_none() && known.labels > 0 {
            let parent = self.suffix(name, 1);
            self.names[name.0 as usize].parent = parent;
        }
        self.names[name.0 as usize].parent
    }

    /// Where the node of a host is.
    pub(crate) fn place(&mut self, host: NameId) -> Place {
        if let Some(place) = self.names[host.0 as usize].place {
            return place;
        }
        let wire = wire_of(&self.octets, &self.names[host.0 as usize]);
        let (topon, topoff) = (wire.starts_with(b"\x05topon"), wire.starts_with(b"\x06topoff"));
        let node = if topon || topoff { self.suffix(host, 2) } else { None };
        let place = Place { node: node.unwrap_or(host), topon: topon && node.is_some() };
        self.names[host.0 as usize].place = Some(place);
        place
    }

    /// About how many octets of memory all of it takes.
    pub(crate) fn memory(&self) -> usize {
        self.octets.len()
            + self.names.len() * (size_of::<Name>() + 8)
            + self.questions.len() * (size_of::<Question>() + 8)
    }

    /// The name without its first labels; `None` if it has no more than those.
    fn suffix(&mut self, name: NameId, without: u8) -> Option<NameId> {
        let known = &self.names[name.0 as usize];
        if known.labels < without {
            return None;
        }
        let wire = wire_of(&self.octets, known);
        let mut at = 0;
        for _ in 0..without {
            at += 1 + usize::from(*wire.get(at)?);
        }
        // A name has at most 255 octets: it is copied, because finding it may move all octets.
        let mut copy = [0; 255];
        let rest = wire.get(at..)?;
        copy[..rest.len()].copy_from_slice(rest);
        let length = rest.len();
        Some(self.name(&copy[..length]))
    }
}

fn wire_of<'a>(octets: &'a [u8], name: &Name) -> &'a [u8] {
    let from = name.from as usize;
    &octets[from..from + usize::from(name.length)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(names: &mut Names, text: &str) -> NameId {
        let mut wire = Vec::new();
        dnsdyno_wire::encode_name(text.as_bytes(), &mut wire).unwrap();
        names.name(&wire)
    }

    #[test]
    fn a_name_and_a_question_have_one_number() {
        let mut names = Names::default();
        let (a, b) = (named(&mut names, "a.example"), named(&mut names, "b.example"));
        assert_ne!(a, b);
        assert_eq!(named(&mut names, "a.example."), a);
        let asked = names.question(a, 35);
        assert_ne!(names.question(a, 1), asked);
        assert_eq!(names.question_of_wire(b"\x01A\x07example\0\0\x23\0\x01"), Some(asked));
        assert_eq!(names.asked(asked), b"");
        names.prepare(asked);
        assert_eq!(names.asked(asked), b"\x01a\x07example\0\0\x23\0\x01");
    }

    #[test]
    fn the_place_of_a_host_is_its_name_without_two_labels() {
        let mut names = Names::default();
        let node = named(&mut names, "gw1.tokyo.node.epc");
        for (host, topon) in [("topon.s5.gw1.tokyo.node.epc", true), ("topoff.s11.gw1.tokyo.node.epc", false)]
        {
            let host = named(&mut names, host);
            assert_eq!(names.place(host), Place { node, topon });
        }
        for plain in ["gw1.tokyo.node.epc", "topon"] {
            let plain = named(&mut names, plain);
            assert_eq!(names.place(plain), Place { node: plain, topon: false });
        }
        let parent = names.parent(node);
        assert_eq!(parent, Some(named(&mut names, "tokyo.node.epc")));
        let root = named(&mut names, ".");
        assert_eq!((names.parent(root), names.labels(root), names.labels(node)), (None, 0, 4));
    }
}
