//! Which zone a name is in: the path of delegations from the root to it, found label by label.
//!
//! ```text
//!  www.bafiza.com    .  ──►  com  ──►  bafiza.com
//!                   root     top-level domain (below some of them: a suffix such as co.uk)
//!                                      leaf, hoster, or below a leaf a child
//! ```

use crate::WorldError;
use crate::draw::{Draw, Purpose};
use crate::name::{Name, below, labels, suffix};
use crate::options::Rules;
use crate::population::Population;
use crate::shares::Share;

/// The zones of a world, as a function of names.
#[derive(Debug)]
pub(crate) struct Hierarchy {
    pub(crate) rules: Rules,
    pub(crate) population: Population,
    hosters: Vec<Hoster>,
}

/// A company whose name servers serve the zones of others.
#[derive(Clone, Copy, Debug)]
struct Hoster {
    /// The top-level domain of its zone.
    tld: u32,
    /// The sum of the weights up to this one: the n-th weighs an n-th of the first.
    weight_to: f64,
}

/// A zone.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Zone {
    pub(crate) apex: Name,
    pub(crate) kind: Kind,
    /// From which its properties are drawn.
    pub(crate) draw: Draw,
}

/// What a zone is in the hierarchy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Root,
    /// A top-level domain, by its number.
    Tld(u32),
    /// A zone such as co.uk, in which others register, with the number of its top-level domain.
    Suffix(u32),
    /// The zone with the name servers of a hoster, by its number.
    Hoster(u32),
    /// What is registered.
    Leaf,
    /// A zone below a leaf, with the number of labels of the leaf.
    Child(usize),
}

impl Hierarchy {
    pub(crate) fn new(rules: Rules) -> Result<Hierarchy, WorldError> {
        let population = Population::new(&rules)?;
        Ok(Hierarchy::with(rules, population))
    }

    pub(crate) fn with(rules: Rules, population: Population) -> Hierarchy {
        let mut weight_to = 0.0;
        let hoster = |number: u32| {
            weight_to += f64::from(number + 1).recip();
            let draw = rules.draw.nth(number.into()).at(Purpose::HosterHome);
            let tld = population.tld_of(&population.drawn_zone(draw)).unwrap_or(0);
            Hoster { tld, weight_to }
        };
        let hosters = (0..rules.options.hosters).map(hoster).collect();
        Hierarchy { rules, population, hosters }
    }

    /// The zones from the root to the one that `name` is in.
    pub(crate) fn path(&self, name: &Name) -> Vec<Zone> {
        let mut path = vec![self.root()];
        while let Some(next) = path.last().and_then(|zone| self.cut(zone, name)) {
            path.push(next);
        }
        path
    }

    /// The zone that `zone` delegates and that `name` is in.
    pub(crate) fn cut(&self, zone: &Zone, name: &Name) -> Option<Zone> {
        let parts = labels(name);
        let depth = labels(&zone.apex).len();
        let label = *parts.get(depth)?;
        if let Some(kind) = self.usual_cut(zone, &parts[..depth], label) {
            return Some(self.zone(suffix(name, depth + 1), kind));
        }
        let shown = self.population.shown_cut(&parts, depth)?;
        let kind = match zone.kind {
            Kind::Tld(_) | Kind::Suffix(_) => Kind::Leaf,
            Kind::Leaf => Kind::Child(depth),
            Kind::Child(leaf) => Kind::Child(leaf),
            Kind::Root | Kind::Hoster(_) => return None,
        };
        Some(self.zone(suffix(name, shown), kind))
    }

    /// What a zone is that `zone`, of these labels, delegates at a label, as registries do and as it is by rule.
    fn usual_cut(&self, zone: &Zone, parts: &[&[u8]], label: &[u8]) -> Option<Kind> {
        let registered = || self.population.has_zone(parts, label).then_some(Kind::Leaf);
        match zone.kind {
            Kind::Root => Some(Kind::Tld(self.population.tld_number(label)?)),
            Kind::Tld(tld) if self.population.is_suffix(parts[0], label) => Some(Kind::Suffix(tld)),
            Kind::Tld(tld) => self.hoster_with(tld, label).map(Kind::Hoster).or_else(registered),
            Kind::Suffix(_) => registered(),
            Kind::Leaf => {
                (label == CHILD_LABEL.as_bytes() && self.has_child(zone)).then_some(Kind::Child(parts.len()))
            }
            Kind::Hoster(_) | Kind::Child(_) => None,
        }
    }

    pub(crate) fn root(&self) -> Zone {
        self.zone(Name::root_bytes(), Kind::Root)
    }

    /// The zone of a hoster.
    pub(crate) fn hoster_zone(&self, hoster: u32) -> Zone {
        let tld = self.population.tld(self.hosters[hoster as usize].tld);
        self.zone(below(hoster_label(hoster), &tld), Kind::Hoster(hoster))
    }

    /// The hosters whose zones a top-level domain has, with their labels.
    pub(crate) fn hosters_of(&self, tld: u32) -> impl Iterator<Item = String> {
        let here = self.hosters.iter().enumerate().filter(move |(_, hoster)| hoster.tld == tld);
        here.map(|(number, _)| hoster_label(number as u32))
    }

    /// A hoster, the first more often than the others.
    pub(crate) fn drawn_hoster(&self, draw: Draw) -> u32 {
        let sum = self.hosters.last().map_or(0.0, |hoster| hoster.weight_to);
        let at = draw.unit() * sum;
        let found = self.hosters.partition_point(|hoster| hoster.weight_to <= at);
        found.min(self.hosters.len().saturating_sub(1)) as u32
    }

    /// Whether a leaf delegates a zone below it by rule. Of a list no zone does: it could hide a name of the list.
    pub(crate) fn has_child(&self, leaf: &Zone) -> bool {
        self.population.names().is_none() && leaf.draw.at(Purpose::Child).is(self.rules.share(Share::Child))
    }

    /// Whether a zone is signed: where any is, the root and the zones of registries are, so that the others can have a
    /// chain of trust; a child only if its parent is.
    pub(crate) fn is_signed(&self, zone: &Zone) -> bool {
        let Some(share) = self.rules.options.signed.filter(|share| *share > 0.0) else { return false };
        let is_drawn = |draw: Draw| draw.at(Purpose::Signed).is(share);
        match zone.kind {
            Kind::Root | Kind::Tld(_) | Kind::Suffix(_) => true,
            Kind::Hoster(_) | Kind::Leaf => is_drawn(zone.draw),
            Kind::Child(leaf) => {
                let mut depths = leaf..=labels(&zone.apex).len();
                depths.all(|depth| is_drawn(self.draw_of(&suffix(&zone.apex, depth))))
            }
        }
    }

    fn zone(&self, apex: Name, kind: Kind) -> Zone {
        Zone { draw: self.draw_of(&apex), apex, kind }
    }

    fn draw_of(&self, apex: &Name) -> Draw {
        self.rules.draw.of(apex.as_slice())
    }

    /// The hoster whose zone has this label in a top-level domain.
    fn hoster_with(&self, tld: u32, label: &[u8]) -> Option<u32> {
        let digits = label.strip_prefix(HOSTER_LABEL.0)?.strip_suffix(HOSTER_LABEL.1)?;
        let number: u32 = std::str::from_utf8(digits).ok()?.parse().ok()?;
        let is_it = self.hosters.get(number as usize)?.tld == tld && hoster_label(number).as_bytes() == label;
        is_it.then_some(number)
    }
}

impl Zone {
    /// Whether a registry has it: names below it are zones of others.
    pub(crate) fn is_registry(&self) -> bool {
        matches!(self.kind, Kind::Root | Kind::Tld(_) | Kind::Suffix(_))
    }
}

fn hoster_label(number: u32) -> String {
    format!("dns{number}-hosting")
}

const HOSTER_LABEL: (&[u8], &[u8]) = (b"dns", b"-hosting");

/// The label of a zone that a leaf delegates by rule.
pub(crate) const CHILD_LABEL: &str = "dept";

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::list::tests::list;
    use crate::name::{lower, text};
    use crate::options::tests::options;

    pub(crate) fn hierarchy(flags: &str) -> Hierarchy {
        Hierarchy::new(Rules::new(&options(flags)).unwrap()).unwrap()
    }

    /// A world of these names.
    pub(crate) fn listed(flags: &str, lines: &[&str]) -> Hierarchy {
        Hierarchy::with(Rules::new(&options(flags)).unwrap(), Population::of_list(list(lines)))
    }

    pub(crate) fn name(text: &str) -> Name {
        lower(&text.parse::<domain::base::Name<Vec<u8>>>().unwrap())
    }

    fn path(hierarchy: &Hierarchy, of: &str) -> Vec<String> {
        hierarchy.path(&name(of)).iter().map(|zone| text(&zone.apex)).collect()
    }

    #[test]
    fn a_name_has_the_path_of_its_delegations() {
        let world = hierarchy("--zones 100k --share child=100%");
        let zone = text(&world.population.nth_zone(5));
        assert_eq!(path(&world, &format!("www.{zone}")), [".", "com.", &zone]);
        assert_eq!(path(&world, &format!("a.b.dept.{zone}")), [".", "com.", &zone, &format!("dept.{zone}")]);
        assert_eq!(path(&world, "www.no-zone.com"), [".", "com."]);
        assert_eq!(path(&world, "x.no-tld"), ["."]);
        let hoster = world.hoster_zone(3);
        let tld = text(&suffix(&hoster.apex, 1));
        assert_eq!(path(&world, &format!("ns1.{}", text(&hoster.apex))), [".", &tld, &text(&hoster.apex)]);
        let number = world.population.tld_of(&hoster.apex).unwrap();
        assert!(world.hosters_of(number).any(|label| label == "dns3-hosting"));
    }

    #[test]
    fn a_listed_name_is_cut_where_registries_register() {
        let world = listed("", &["www.shop.co.uk", "a.b.example.com"]);
        assert_eq!(path(&world, "www.shop.co.uk"), [".", "uk.", "co.uk.", "shop.co.uk."]);
        assert_eq!(path(&world, "a.b.example.com"), [".", "com.", "example.com."]);
        assert_eq!(path(&world, "dept.example.com"), [".", "com.", "example.com."]);
        assert_eq!(path(&world, "other.co.uk"), [".", "uk.", "co.uk."]);
    }

    #[test]
    fn the_first_hoster_has_most_and_the_shares_of_signed_zones_hold() {
        let world = hierarchy("--zones 10k --hosters 10 --signed=30% --share child=100%");
        let mut counts = [0; 10];
        (0..10_000).for_each(|n| counts[world.drawn_hoster(Draw::new(1).nth(n)) as usize] += 1);
        // 1/1 of 2.929, the sum of 1/1 to 1/10.
        assert!((3_250..3_580).contains(&counts[0]) && counts[9] > 250, "{counts:?}");
        let zones = (0..10_000).map(|number| world.path(&world.population.nth_zone(number)));
        let signed = zones.filter(|path| world.is_signed(&path[2])).count();
        assert!((2_820..3_180).contains(&signed), "{signed}");
        let children = (0..10_000).map(|n| below("dept", &world.population.nth_zone(n)));
        for path in children.map(|name| world.path(&name)) {
            assert!(!world.is_signed(&path[3]) || world.is_signed(&path[2]));
        }
        assert!(!hierarchy("").is_signed(&world.root()));
    }
}
