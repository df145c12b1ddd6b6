//! The counters of an interval one by one, each with its path in the record: `ends.not_sent.no_route`,
//! `rcodes.NOERROR`, `types.A.answered`. The columns of a page and the lines of CSV are written from them.

use std::borrow::Cow;
use std::ptr;

use dnsdyno_measure::{Group, Histogram, Latency, Tally, Visitor};
use dnsdyno_record::Header;
use dnsdyno_wire::{rcode_name, type_name};

/// Takes the counters of an interval, in the order of the record.
pub trait Cells {
    /// Whether it takes those that are 0 too: most counters of most intervals are.
    const ZEROS: bool;

    /// A number.
    fn count(&mut self, path: &str, count: u64);

    /// Durations; `may_time_out`: they are those of queries, and the unanswered ones rank among them.
    fn durations(&mut self, path: &mut CounterPath<'_>, latency: Latency<'_>, may_time_out: bool);
}

/// Passes the counters that it visits to `cells`.
pub struct EachCounter<'a, C> {
    tally: &'a Tally,
    /// The path of the current group.
    pub path: CounterPath<'a>,
    /// What takes them.
    pub cells: C,
}

impl<'a, C: Cells> EachCounter<'a, C> {
    /// Of an interval with this tally.
    pub fn new(tally: &'a Tally, path: CounterPath<'a>, cells: C) -> Self {
        EachCounter { tally, path, cells }
    }

    /// Does something at a key of the current group.
    pub fn at(&mut self, key: &str, inside: impl FnOnce(&mut Self)) {
        let length = self.path.enter(key);
        inside(self);
        self.path.leave(length);
    }

    /// The latency of queries that has these durations; `None` of durations without a timeout.
    fn of_queries(&self, durations: &Histogram) -> Option<Latency<'a>> {
        let tally = self.tally;
        let members = tally.members.iter().flat_map(|one| [one.response_latency(), one.service_latency()]);
        let all = [tally.response_latency(), tally.service_latency()].into_iter().chain(members);
        all.into_iter().find(|latency| ptr::eq(latency.answered, durations))
    }
}

impl<C: Cells> Visitor for EachCounter<'_, C> {
    fn count(&mut self, key: &str, count: u64) {
        if C::ZEROS || count > 0 {
            self.at(key, |each| each.cells.count(each.path.text(), count));
        }
    }

    fn histogram(&mut self, key: &str, histogram: &Histogram) {
        let of_queries = self.of_queries(histogram);
        let latency = of_queries.unwrap_or(Latency { answered: histogram, unanswered: 0 });
        if C::ZEROS || latency.count() > 0 {
            self.at(key, |each| each.cells.durations(&mut each.path, latency, of_queries.is_some()));
        }
    }

    fn group(&mut self, key: &str, group: Option<&dyn Group>) {
        if let Some(group) = group {
            self.at(key, |each| group.visit_each(each));
        }
    }
}

/// A path that is entered key by key, in the order of the visitor.
pub struct CounterPath<'a> {
    header: &'a Header,
    members: Vec<Option<String>>,
    text: String,
}

impl<'a> CounterPath<'a> {
    /// The path of no counter; `members` has names that stand for the numbers of members.
    pub fn new(header: &'a Header, members: Vec<Option<String>>) -> CounterPath<'a> {
        CounterPath { header, members, text: String::new() }
    }

    /// The path so far.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Enters a key of the current group, by its name where it is a number that stands for something else; returns
    /// the length to [leave](Self::leave) to.
    pub fn enter(&mut self, key: &str) -> usize {
        let length = self.text.len();
        let number = || key.parse::<u16>().ok();
        let place = || number().map(usize::from);
        let name = match self.text.as_str() {
            "rcodes" => number().map(rcode_name),
            "types" => place().and_then(|place| self.header.types.get(place)).map(|rtype| type_name(*rtype)),
            "members" => place().and_then(|place| self.members.get(place)?.as_deref()).map(Cow::Borrowed),
            _ => None,
        };
        if length > 0 {
            self.text.push('.');
        }
        self.text.push_str(name.as_deref().unwrap_or(key));
        length
    }

    /// Goes back to the group that had this length.
    pub fn leave(&mut self, length: usize) {
        self.text.truncate(length);
    }
}
