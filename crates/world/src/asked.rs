//! Questions for a resolver that has the world for its Internet: drawn names, most of which are there; and those of
//! which a share is in its cache.
//!
//! ```text
//!   number of the question   0 1 2 … W-1 │ W W+1 W+2 …
//!                            asked before │ new ones, each once
//!   --hit 75% --warm W       w w w W  w w w W+1  w w w W+2 …     w: one of those asked before, drawn
//! ```

use std::collections::HashSet;

use dnsdyno_wire::type_name;
use domain::base::iana::Rtype;

use crate::draw::Purpose;
use crate::name::{Name, below, text};
use crate::tree::{Hierarchy, Kind, Zone};
use crate::world::World;

/// What a question is for.
#[derive(Clone, Copy, Debug)]
enum Sought {
    Host(Rtype),
    /// A name that is not there.
    NoName,
    /// The start of authority of a host, which only a zone has.
    NoType,
}

impl World {
    /// The question with this number, as a line of a query file: name and type. Each number has the same question in
    /// the same world; names of a list are asked in the order of the list, and then again, and so are the questions
    /// that a capture has for names that are there.
    pub fn question(&self, number: u64) -> String {
        let (name, rtype) = self.hierarchy.question(number);
        line_of(&name, rtype)
    }
}

/// Questions of which a share was asked before.
#[derive(Debug)]
pub struct Repeating<'a> {
    world: &'a World,
    warm: u64,
    /// Of a million questions, so many are new.
    new_ppm: u64,
    /// How many were given.
    given: u64,
    /// The number of the next question that may be new.
    next: u64,
    known: HashSet<Box<str>>,
}

impl World {
    /// Questions of which the share `hit`, from 0 to 1, repeats one of the first `warm` questions of the world, and
    /// each other one is new: no other question has its name and type, and it is not that of a name server, which a
    /// resolver asks for by itself. New ones are evenly spread: of the first N, the whole part of (1 − hit) N are
    /// new.
    pub fn repeating(&self, hit: f64, warm: u64) -> Repeating<'_> {
        let known = (0..warm).map(|number| self.question(number).into()).collect();
        let new_ppm = ((1.0 - hit) * MILLION as f64).round() as u64;
        Repeating { world: self, warm, new_ppm, given: 0, next: warm, known }
    }
}

impl Repeating<'_> {
    /// The next question; `None` where a new one is wanted and the world has no other.
    pub fn next_question(&mut self) -> Option<String> {
        let is_new = (self.given + 1) * self.new_ppm / MILLION > self.given * self.new_ppm / MILLION;
        self.given += 1;
        match is_new || self.warm == 0 {
            true => self.new_question(),
            false => {
                let draw = self.world.hierarchy.rules.draw.nth(self.given).at(Purpose::Repeated);
                Some(self.world.question(draw.below(self.warm)))
            }
        }
    }

    fn new_question(&mut self) -> Option<String> {
        for _ in 0..MOST_DRAWS {
            let (name, rtype) = self.world.hierarchy.question(self.next);
            self.next += 1;
            let question = line_of(&name, rtype);
            if !self.world.hierarchy.is_name_server(&name) && self.known.insert(question.as_str().into()) {
                return Some(question);
            }
        }
        None
    }
}

fn line_of(name: &Name, rtype: Rtype) -> String {
    let name = text(name);
    let name = if name.len() > 1 { name.trim_end_matches('.') } else { &name };
    format!("{name} {}", type_name(rtype.to_int()))
}

impl Hierarchy {
    /// Whether a name is the host of a name server.
    fn is_name_server(&self, name: &Name) -> bool {
        let path = self.path(name);
        let Some(zone) = path.last() else { return false };
        self.server_labels(zone).iter().any(|labels| {
            labels.iter().fold(zone.apex.clone(), |parent, label| below(label, &parent)) == *name
        })
    }

    fn question(&self, number: u64) -> (Name, Rtype) {
        if let Some(captured) = self.population.captured() {
            return captured.question(number);
        }
        if let Some(list) = self.population.list() {
            let (turn, at) = (number / list.len() as u64, (number % list.len() as u64) as usize);
            let name = list.labels(at).fold(Name::root_bytes(), |parent, label| below(label, &parent));
            // With each turn through the list the next type of a name.
            let types: Vec<Rtype> = list.types(list.key(at)).into_iter().flatten().collect();
            let rtype = types.get((turn % types.len().max(1) as u64) as usize).copied();
            return (name, rtype.unwrap_or(Rtype::A));
        }
        let draw = self.rules.draw.nth(number).at(Purpose::Asked);
        let apex = self.population.drawn_zone(draw);
        let zone = self.path(&apex).pop().unwrap_or_else(|| self.root());
        let asked = draw.at(Purpose::AskedKind).pick(&ASKED).unwrap_or(Sought::NoName);
        let host = || self.asked_host(&zone, draw.at(Purpose::AskedLabel));
        match asked {
            Sought::Host(rtype) => self.suited(host(), rtype),
            Sought::NoType => (below("www", &zone.apex), Rtype::SOA),
            Sought::NoName => {
                (below(format!("x{:x}", draw.at(Purpose::AskedLabel).value()), &zone.apex), Rtype::A)
            }
        }
    }

    /// A host of a zone: its apex, www, or one of the others.
    fn asked_host(&self, zone: &Zone, draw: crate::draw::Draw) -> Name {
        match draw.unit() {
            0.0..0.5 => below("www", &zone.apex),
            0.5..0.7 => zone.apex.clone(),
            _ => {
                let mut names = self.names(zone);
                let is_host = |name: &Name| {
                    let is_cut = self.cut(zone, name).is_some();
                    !is_cut
                        && name.first().as_slice() != b"*"
                        && self.node(zone, name).is_some_and(|sets| !sets.is_empty())
                };
                names.retain(is_host);
                let at = draw.nth(1).below(names.len() as u64) as usize;
                names.get(at).cloned().unwrap_or_else(|| zone.apex.clone())
            }
        }
    }

    /// The type that is asked of a name: the one of its records, where it has no addresses.
    fn suited(&self, name: Name, rtype: Rtype) -> (Name, Rtype) {
        let path = self.path(&name);
        let sets = path.last().filter(|zone| zone.kind == Kind::Leaf).and_then(|zone| self.node(zone, &name));
        let has = |rtype: Rtype| sets.iter().flatten().any(|set| set.rtype == rtype);
        let only = sets.iter().flatten().next().map(|set| set.rtype);
        match only {
            Some(only @ (Rtype::TXT | Rtype::SRV | Rtype::NAPTR)) if !has(Rtype::A) => (name, only),
            _ => (name, rtype),
        }
    }
}

/// What is asked, with its share; that AAAA is asked of names without it makes more negative answers.
const ASKED: [(f64, Sought); 6] = [
    (0.7, Sought::Host(Rtype::A)),
    (0.15, Sought::Host(Rtype::AAAA)),
    (0.04, Sought::Host(Rtype::HTTPS)),
    (0.02, Sought::Host(Rtype::MX)),
    (0.06, Sought::NoName),
    (0.03, Sought::NoType),
];

const MILLION: u64 = 1_000_000;

/// Draws for one new question: in a world in which nearly all of them were given, more do not help.
const MOST_DRAWS: u32 = 20_000;

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::options::tests::options;
    use crate::resolver::Resolver;
    use crate::tree::tests::{listed, name};

    #[test]
    fn questions_are_the_same_again_and_end_in_all_ways() {
        let world = World::new(&options("--zones 1M")).unwrap();
        let mut ends = BTreeMap::new();
        for number in 0..300 {
            let question = world.question(number);
            assert_eq!(question, world.question(number));
            let (asked, rtype) = question.split_once(' ').unwrap();
            let rtype = Rtype::from_int(dnsdyno_wire::parse_type(rtype).unwrap());
            let found = Resolver::new(&world).resolve(&name(asked), rtype).unwrap();
            *ends.entry((found.rcode.to_int(), found.count > 0)).or_insert(0) += 1;
        }
        assert!(ends[&(0, true)] > 200 && ends[&(0, false)] > 20 && ends[&(3, false)] > 8, "{ends:?}");
    }

    #[test]
    fn a_share_of_questions_was_asked_before_exactly_and_the_others_are_asked_once() {
        let world = World::new(&options("--zones 1M")).unwrap();
        let warm: HashSet<String> = (0..200).map(|number| world.question(number)).collect();
        for (hit, new) in [(0.0, 1_000), (0.5, 500), (0.9, 100), (0.99, 10), (0.999, 1), (1.0, 0)] {
            let mut questions = world.repeating(hit, 200);
            let lines: Vec<String> = (0..1_000).map(|_| questions.next_question().unwrap()).collect();
            let others: Vec<&String> = lines.iter().filter(|line| !warm.contains(*line)).collect();
            assert_eq!(others.len(), new, "{hit}");
            assert_eq!(others.iter().collect::<HashSet<_>>().len(), new, "{hit}: each once");
            let windows =
                lines.chunks(100).map(|part| part.iter().filter(|line| !warm.contains(*line)).count());
            assert!(windows.clone().max().unwrap() - windows.min().unwrap() <= 1, "{hit}: evenly spread");
        }
        // Nearly all that were asked before are repeated.
        let mut questions = world.repeating(1.0, 200);
        let repeated: HashSet<_> = (0..2_000).map(|_| questions.next_question().unwrap()).collect();
        assert!(repeated.len() >= warm.len() - 2, "{} of {}", repeated.len(), warm.len());
    }

    #[test]
    fn new_questions_are_not_those_that_a_resolver_asks_by_itself_and_end_with_the_world() {
        let world = World::of(listed("", &["b.example.com MX", "a.example.com", "c.example.com"]));
        let mut questions = world.repeating(0.0, 1);
        let rest: Vec<_> = (0..3).map_while(|_| questions.next_question()).collect();
        assert_eq!(rest, ["b.example.com MX", "c.example.com A"]);
        let world = World::new(&options("--zones 1k --share own=100%")).unwrap();
        let mut questions = world.repeating(0.0, 10);
        let names: Vec<_> = (0..2_000).map(|_| questions.next_question().unwrap()).collect();
        assert!(!names.iter().any(|name| name.starts_with("ns1.") || name.starts_with("ns2.")));
        assert!((0..2_000).any(|number| world.question(number).starts_with("ns1.")), "others are");
    }

    #[test]
    fn names_of_a_list_are_asked_in_its_order_with_their_types() {
        let world = World::of(listed("", &["b.example.com MX", "a.example.com"]));
        let lines: Vec<_> = (0..3).map(|number| world.question(number)).collect();
        assert_eq!(lines, ["a.example.com A", "b.example.com MX", "a.example.com A"]);
    }
}
