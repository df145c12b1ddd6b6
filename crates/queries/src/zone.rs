//! Names and types of a zone file (master file, RFC 1035, 5), and names in the zone that do not exist.
//!
//! Each set of records is asked for once, by its name and type: what the zone is authoritative for, and the NS and DS
//! records of its delegations. Signatures and the records of denial are left out, and glue, because a query for it gets
//! a referral. A wildcard is asked for by a name that it covers.
//!
//! A name that does not exist is a unique label below a name that does, where no wildcard, delegation or DNAME would
//! answer for it.

mod file;
mod names;
mod record_set;

use std::path::Path;

use dnsdyno_wire::HEADER_LEN;

use self::file::read_records;
use self::names::Names;
use self::record_set::{RecordSet, WILDCARD};
use super::error::SourceError;
use super::queries::{Full, QueriesBuilder};
use super::random::Chance;
use super::reading::Reading;
use super::template::read_template;
use super::text::{IdnNames, Loaded};

/// Reads the queries of a zone file.
pub(super) fn read_zone(path: &Path, origin: Option<&str>, reading: &Reading) -> Result<Loaded, SourceError> {
    let sets = read_records(path, origin, &reading.bounds)?;
    queries_of(&sets, &path.display().to_string(), reading)
}

/// Reads the queries of the text of a zone, which may not include files.
pub fn read_zone_text(text: &[u8], zone: &str, reading: &Reading) -> Result<Loaded, SourceError> {
    queries_of(&file::read_text_of_zone(text, zone)?, "zone", reading)
}

fn queries_of(sets: &[RecordSet], origin: &str, reading: &Reading) -> Result<Loaded, SourceError> {
    let wrong = |reason: &str| SourceError::Zone { origin: origin.to_owned(), reason: reason.to_owned() };
    let names = Names::of(sets).ok_or_else(|| wrong("it has no SOA record, which says what the zone is"))?;
    let existing: Vec<&RecordSet> = sets.iter().filter(|set| names.is_asked_for(set)).collect();
    if existing.is_empty() {
        return Err(SourceError::Empty { origin: origin.to_owned() });
    }
    let share = reading.selection.nxdomain;
    let parents = if share > 0.0 { names.parents_of_nothing() } else { Vec::new() };
    if share > 0.0 && parents.is_empty() {
        return Err(wrong(
            "each name below its names exists, by a wildcard or in another zone: remove --nxdomain",
        ));
    }
    let mut builder = QueriesBuilder::of(reading, 0);
    let too_large = |full: Full| SourceError::TooLarge {
        origin: origin.to_owned(),
        line: 0,
        most_bytes: full.most_bytes,
    };
    // A small zone is repeated until the share can be met.
    let rounds = if share > 0.0 { LEAST_WITH_SHARE.div_ceil(existing.len()) } else { 1 };
    let mut chance = Chance(reading.seed);
    let mut owed = 0.0;
    if share >= 1.0 {
        for parent in &parents {
            push_below(&names, parent, TYPE_OF_NOTHING, &mut builder).map_err(too_large)?;
        }
    } else {
        for set in (0..rounds).flat_map(|_| &existing) {
            push_set(&names, set, &mut builder).map_err(too_large)?;
            owed += share / (1.0 - share);
            while owed >= 1.0 {
                owed -= 1.0;
                let parent = &parents[chance.below(parents.len() as u64) as usize];
                push_below(&names, parent, TYPE_OF_NOTHING, &mut builder).map_err(too_large)?;
            }
        }
    }
    Loaded::new(builder, origin.to_owned(), IdnNames::default(), reading)
}

/// Adds a query for a set of records.
fn push_set(names: &Names, set: &RecordSet, builder: &mut QueriesBuilder) -> Result<(), Full> {
    match set.owner.strip_prefix(WILDCARD) {
        Some(parent) => push_below(names, parent, set.rtype, builder),
        None => builder.push(&set.owner, set.rtype),
    }
}

/// Adds a query for a name with a unique label below `parent`; the label has a length that no label there has.
fn push_below(names: &Names, parent: &[u8], qtype: u16, builder: &mut QueriesBuilder) -> Result<(), Full> {
    let width = names.free_width(parent);
    let Ok((label, placeholders)) = read_template(format!("{{rand:{width}}}").as_bytes(), HEADER_LEN) else {
        return Ok(());
    };
    builder.push(&[&[label.len() as u8], &label[..], parent].concat(), qtype)?;
    builder.set_placeholders(placeholders);
    Ok(())
}

/// The type of queries for names that do not exist.
const TYPE_OF_NOTHING: u16 = dnsdyno_wire::TYPE_A;

/// With so many queries, a share is met to a tenth of a percent.
const LEAST_WITH_SHARE: usize = 1_000;

#[cfg(test)]
mod tests;
