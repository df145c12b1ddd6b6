//! The tables of a summary, for whoever shows them in another form; and the warnings above them.

use dnsdyno_record::Digest;
use dnsdyno_text::layout::Table;

use crate::text::{head, latencies, queries};
use crate::{agents, check, fallback, rows};

/// What a reader must know before the figures: the record is incomplete, an agent is missing in it, or its figures are
/// those of an error.
pub fn warnings(digest: &Digest) -> Vec<String> {
    let agents = agents::missing(digest);
    head::incomplete(digest).into_iter().chain(agents).chain(check::refusals(digest)).collect()
}

/// How the queries ended.
pub fn ends(digest: &Digest) -> Table {
    queries::ends_table(digest)
}

/// Response time, service time and lateness; `None` where nothing was measured.
pub fn latencies(digest: &Digest) -> Option<Table> {
    latencies::table(digest)
}

/// One row for each phase, or for a few seconds; `None` where a single row would repeat the totals.
pub fn rows(digest: &Digest) -> Option<Table> {
    rows::table(digest)
}

/// The transports of a mix; `None` without one.
pub fn mix(digest: &Digest) -> Option<Table> {
    fallback::mix_table(digest)
}

/// The questions whose answers were truncated, the most frequent first; `None` without any.
pub fn truncated(digest: &Digest) -> Option<Table> {
    fallback::truncated_table(digest)
}

/// The agents of a run on several hosts; `None` without any.
pub fn agents(digest: &Digest) -> Option<Table> {
    agents::table(digest)
}

/// How far apart the agents have started, in words; `None` where that is not known.
pub fn agents_start(digest: &Digest) -> Option<String> {
    agents::start(digest)
}

/// The workers; `None` where the record has none.
pub fn workers(digest: &Digest) -> Option<Table> {
    crate::workers::table(digest)
}
