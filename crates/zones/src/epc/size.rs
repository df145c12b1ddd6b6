//! Answers of a wanted size: by the number of candidates, and for the rest by the length of their names.

use crate::DataError;
use crate::epc::areas::{Area, areas, codes};
use crate::epc::fleet::{Digits, Fleet};
use crate::epc::options::{EpcOptions, PerAnswer};
use crate::record::{Record, response_octets};

/// What gives the answers for tracking areas their size.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    /// Records of an answer, before the change.
    pub(super) records: usize,
    pub(super) digits: Digits,
}

/// The shape of the answers that are asked for.
///
/// # Errors
/// If no answer has that size.
pub(super) fn shape(options: &EpcOptions) -> Result<Shape, DataError> {
    let wanted = match options.per_answer {
        PerAnswer::Gateways => return Ok(Shape { records: options.sgws as usize, digits: SHORT }),
        PerAnswer::Records(records) => {
            let most = (LONGEST / LEAST_RECORD) as u32;
            return match records {
                records if records > most => Err(DataError::Option(format!(
                    "--per-answer: {records} records are longer than a response can be ({LONGEST} bytes): at most \
                     {most}"
                ))),
                records => Ok(Shape { records: records as usize, digits: SHORT }),
            };
        }
        PerAnswer::Octets(octets) => octets as usize,
    };
    if wanted > LONGEST {
        return Err(DataError::Option(format!(
            "--answer-size: a response has at most {LONGEST} bytes: ask for less than {wanted}"
        )));
    }
    let fleet = Fleet::new(options, SHORT);
    let area = first_area(options, &fleet)?;
    let octets = |records: usize| size_of(&area, &area.answer(&fleet, records, false));
    let least = octets(1);
    if wanted < least {
        return Err(DataError::Option(format!(
            "--answer-size: {wanted} bytes are fewer than an answer with one record has: at least {least}"
        )));
    }
    // Sizes rise with the number of records.
    let (mut fits, mut too_many) = (1, LONGEST / LEAST_RECORD + 1);
    while too_many - fits > 1 {
        let middle = fits + (too_many - fits) / 2;
        if octets(middle) <= wanted { fits = middle } else { too_many = middle }
    }
    // Every candidate has the region and the site in its name.
    let missing = (wanted - octets(fits)) as f64 / fits as f64;
    let digits = missing.round() as usize;
    let to_region = digits.min(MOST_DIGITS - SHORT.region);
    Ok(Shape {
        records: fits,
        digits: Digits {
            region: SHORT.region + to_region,
            site: (SHORT.site + digits - to_region).min(MOST_DIGITS),
        },
    })
}

/// The octets of the response for an area.
pub(super) fn size_of(area: &Area, answer: &[Record]) -> usize {
    response_octets(&area.asked, answer)
}

/// Whether a size is the one that was asked for.
pub(super) fn is_near(octets: usize, wanted: usize) -> bool {
    octets.abs_diff(wanted) * 50 <= wanted
}

fn first_area(options: &EpcOptions, fleet: &Fleet) -> Result<Area, DataError> {
    let first = areas(options, &codes(1), &fleet.origin).into_iter().next();
    first.ok_or_else(|| DataError::Option("--tacs: there are no tracking areas: at least 1".into()))
}

/// The largest response over TCP.
pub(super) const LONGEST: usize = 65_535;

/// A bound from below of the octets of a candidate.
const LEAST_RECORD: usize = 100;

const SHORT: Digits = Digits { region: 2, site: 3 };

/// A label has 63 octets, `region` among them.
const MOST_DIGITS: usize = 57;
