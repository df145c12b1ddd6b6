//! Questions for a resolver that has the world for its Internet: drawn names, most of which are there.

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
    /// the same world; names of a list are asked in the order of the list, and then again.
    pub fn question(&self, number: u64) -> String {
        let (name, rtype) = self.hierarchy.question(number);
        let name = text(&name);
        let name = if name.len() > 1 { name.trim_end_matches('.') } else { &name };
        format!("{name} {}", type_name(rtype.to_int()))
    }
}

impl Hierarchy {
    fn question(&self, number: u64) -> (Name, Rtype) {
        if let Some(list) = &self.population.list {
            let at = (number % list.len() as u64) as usize;
            let name = list.labels(at).fold(Name::root_bytes(), |parent, label| below(label, &parent));
            let rtype = list.types(list.key(at)).and_then(|mut types| types.next());
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
    fn names_of_a_list_are_asked_in_its_order_with_their_types() {
        let world = World::of(listed("", &["b.example.com MX", "a.example.com"]));
        let lines: Vec<_> = (0..3).map(|number| world.question(number)).collect();
        assert_eq!(lines, ["a.example.com A", "b.example.com MX", "a.example.com A"]);
    }
}
