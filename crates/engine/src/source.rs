//! Where the queries of a run come from: a block that is repeated, chunks of a stream, or clients that ask.

use dnsdyno_queries::{Picker, Queries};

use crate::clients::{ClientModels, ClientQueries};
use crate::feed::Feeds;
use crate::share::Share;
use crate::stream::StreamedQueries;
use crate::supply::Supply;

/// Where the queries of a run come from.
#[derive(Clone, Copy)]
pub enum Source<'a> {
    /// One block, repeated until the run ends.
    Whole(&'a Queries),
    /// Chunks, which are given to the workers while they run.
    Fed(&'a Feeds),
    /// What clients ask, given the responses that they get.
    Clients(&'a ClientModels),
}

impl<'a> Source<'a> {
    /// The query types, in the order of their slots.
    pub fn types(&self) -> &[u16] {
        match self {
            Source::Whole(queries) => queries.types(),
            Source::Fed(feeds) => feeds.types(),
            Source::Clients(models) => models.types(),
        }
    }

    /// The block, where the source is one.
    pub(crate) fn whole(&self) -> Option<&'a Queries> {
        match *self {
            Source::Whole(queries) => Some(queries),
            Source::Fed(_) | Source::Clients(_) => None,
        }
    }

    /// The queries of this worker of the process, for a table with so many slots.
    pub(crate) fn supply(&self, worker: u32, slots: usize) -> Box<dyn Supply + 'a> {
        match *self {
            Source::Whole(queries) => Box::new(queries),
            Source::Fed(feeds) => Box::new(StreamedQueries::new(feeds, worker, slots)),
            Source::Clients(models) => Box::new(ClientQueries::new(models, worker, slots)),
        }
    }

    /// Chooses the next query of a block. That of a chunk is the next one there.
    pub(crate) fn picker(&self, Share { worker, workers, .. }: Share) -> Picker {
        match self.whole() {
            Some(queries) => queries.picker(worker, workers),
            None => Queries::default().picker(worker, workers),
        }
    }

    /// The number of queries, where it is known.
    pub(crate) fn len(&self) -> Option<usize> {
        self.whole().map(Queries::len)
    }
}
