//! Loads the queries of a plan.

use dnsdyno_plan::Plan;
use dnsdyno_queries::Loaded;

use crate::error::RunError;
use crate::observer::{Note, Observer};

/// Reads the queries, and reports the malformed lines.
pub(crate) fn load(plan: &Plan, observer: &mut dyn Observer) -> Result<Loaded, RunError> {
    let mut loaded = plan.source.load(&plan.reading())?;
    plan.refuse_too_few(Some(loaded.queries.len() as u64))?;
    for bad in &loaded.first_bad {
        observer.note(&Note::SkippedLine(bad));
    }
    let more = loaded.bad_lines - loaded.first_bad.len() as u64;
    if more > 0 {
        observer.note(&Note::SkippedMore(more));
    }
    if let Some((name, sent)) = &loaded.first_idn {
        observer.note(&Note::InternationalizedNames { count: loaded.idn_names, name, sent });
    }
    for maker in plan.messages.makers()? {
        loaded.queries = loaded.queries.made_by(maker);
    }
    Ok(loaded)
}
