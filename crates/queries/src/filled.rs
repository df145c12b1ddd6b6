//! Fills in the placeholders of names when queries are sent.

use std::sync::Arc;

use super::maker::{Maker, QueryToMake, WorkerMaker, WorkerShare};
use super::template::{Filling, Placeholders};

/// The placeholders of all queries of a source. The same seed gives the same names.
#[derive(Debug, Clone)]
pub(super) struct Filled {
    /// The template of each query; empty where all have the same one.
    templates: Arc<[u32]>,
    /// The first is for queries without placeholders.
    fillings: Arc<[Box<[Filling]>]>,
    /// The template of all queries, where `templates` is empty.
    only: u32,
}

impl Filled {
    /// `templates` has the template of each query: 0 = none, else its index in `placeholders` + 1.
    pub(super) fn new(placeholders: &[Placeholders], templates: &[u32], seed: u64) -> Filled {
        let of_one = |places: &Placeholders| -> Box<[Filling]> {
            places.iter().enumerate().map(|(i, place)| Filling::new(*place, i, seed)).collect()
        };
        let fillings = std::iter::once(Box::default()).chain(placeholders.iter().map(of_one)).collect();
        let only = templates.first().copied().unwrap_or(0);
        let is_one = templates.iter().all(|template| *template == only);
        Filled { templates: if is_one { Arc::default() } else { templates.into() }, fillings, only }
    }
}

impl Maker for Filled {
    fn begin(&self, _: WorkerShare) -> Box<dyn WorkerMaker> {
        Box::new(self.clone())
    }
}

impl WorkerMaker for Filled {
    #[inline]
    fn make(&mut self, query: &QueryToMake, message: &mut Vec<u8>) {
        let template = self.templates.get(query.question as usize).copied().unwrap_or(self.only);
        let fillings = self.fillings.get(template as usize).map_or(&[][..], |fillings| fillings);
        for filling in fillings.iter().rev() {
            filling.fill(query.number, message);
        }
    }
}
