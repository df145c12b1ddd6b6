//! The statistics at the end of a run.

use dnsdyno_record::Digest;

use crate::figures::Figures;
use crate::resperf::plot::Highest;
use crate::texts::{percent, rcodes, seconds};

/// The whole text. The load lasted for `load_ns`; the run, at least as long.
pub(super) fn statistics(digest: &Digest, load_ns: u64, highest: Highest) -> String {
    let Figures { sent, answered, unexpected, rcodes: counts, connections, .. } = Figures::of(digest);
    let unexpected = match unexpected {
        0 => String::new(),
        count => format!("  Unexpected IDs:       {count}\n"),
    };
    let lost = sent.saturating_sub(answered);
    let (attempts, successful) = (connections.attempts, connections.successful);
    format!(
        "
Statistics:

  Queries sent:         {sent}
  Queries completed:    {answered}
  Queries lost:         {lost}
{unexpected}  Response codes:       {}

  Run time (s):         {}
  Maximum throughput:   {:.6} qps
  Lost at that point:   {:.2}%

  Connection attempts:  {attempts} ({successful} successful, {:.2}%)

",
        rcodes(&counts, answered),
        seconds(digest.to_ns().max(load_ns) / 1_000),
        highest.qps,
        highest.lost_percent,
        percent(successful, attempts),
    )
}
