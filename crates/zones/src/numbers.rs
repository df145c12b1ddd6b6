//! Telephone numbers in the DNS (ENUM, RFC 6116): for each number a NAPTR record with the digits in reverse order.

use std::path::PathBuf;

use dnsdyno_wire::encode_name;

use crate::queries::write_queries;
use crate::record::{Data, Name, Naptr, Record, response_octets};
use crate::servers::{Served, write_configuration};
use crate::zone::{Zone, check_ttl};
use crate::{DataError, Folder};

/// What `dnsdyno data enum` makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NumberOptions {
    /// How many numbers.
    pub numbers: u32,
    /// The zone: `e164.arpa`, or that of a private tree.
    pub apex: String,
    /// The TTL of all records in seconds.
    pub ttl_s: u32,
    /// Of the order of the queries.
    pub seed: u64,
}

/// The zone of numbers, checked and ready to be written.
#[derive(Debug)]
pub struct NumberData {
    options: NumberOptions,
    zone: Zone,
    /// How many digits follow the prefix.
    digits: usize,
}

impl NumberData {
    /// Checks the options.
    ///
    /// # Errors
    /// If there are too many, or the apex is no name.
    pub fn make(options: &NumberOptions) -> Result<Self, DataError> {
        let NumberOptions { numbers, apex, ttl_s, .. } = options;
        if *numbers == 0 || *numbers > MOST_NUMBERS {
            return Err(DataError::Option(format!("--numbers: make between 1 and {MOST_NUMBERS} numbers")));
        }
        check_ttl(*ttl_s)?;
        let digits = (numbers - 1).to_string().len();
        let apex = format!("{}.", apex.trim_end_matches('.').to_ascii_lowercase());
        let is_plain = |octet: u8| octet.is_ascii_alphanumeric() || b"-_.".contains(&octet);
        let longest = format!("{}{apex}", "0.".repeat(PREFIX.len() + digits));
        if !apex.bytes().all(is_plain) || encode_name(longest.as_bytes(), &mut Vec::new()).is_err() {
            return Err(DataError::Option(format!(
                "--apex: `{}` cannot be the name of a zone with numbers: write one such as e164.arpa",
                options.apex
            )));
        }
        let zone = Zone::new(&apex, *ttl_s, NAME_SERVERS, true);
        Ok(NumberData { options: options.clone(), zone, digits })
    }

    /// The octets of the response for a number.
    pub fn response_octets(&self) -> usize {
        response_octets(&self.owner(0), &self.records(0))
    }

    /// Writes everything, and returns the folder.
    ///
    /// # Errors
    /// If something cannot be written; then nothing is left.
    pub fn write(&self, mut folder: Folder) -> Result<PathBuf, DataError> {
        let numbers = self.options.numbers;
        folder.write(ZONE_FILE, |out| self.zone.write(out, (0..numbers).flat_map(|at| self.records(at))))?;
        let served =
            || Served { is_changeable: true, ..Served::fixed(Name::clone(&self.zone.origin), ZONE_FILE) };
        write_configuration(&mut folder, || std::iter::once(served()))?;
        folder.write("queries.txt", |out| {
            write_queries(out, numbers, self.options.seed, |at| {
                format!("{} NAPTR", self.owner(at).trim_end_matches('.'))
            })
        })?;
        Ok(folder.finish())
    }

    /// The digits of a number, without the plus sign.
    fn number(&self, at: u32) -> String {
        format!("{PREFIX}{at:0width$}", width = self.digits)
    }

    fn owner(&self, at: u32) -> Name {
        let mut name: String = self.number(at).chars().rev().flat_map(|digit| [digit, '.']).collect();
        name.push_str(&self.zone.origin);
        name.into()
    }

    /// A SIP address, and a telephone URI where it does not answer: the usual pair (RFC 3764, RFC 3966).
    fn records(&self, at: u32) -> [Record; 2] {
        let (number, owner) = (self.number(at), self.owner(at));
        let record = |preference, service: &str, uri: String| {
            let data = Naptr {
                order: 100,
                preference,
                flags: "u",
                service: service.into(),
                regexp: format!("!^.*$!{uri}!").into(),
                replacement: ".".into(),
            };
            Record::new(&owner, Data::Naptr(data))
        };
        [
            record(10, "E2U+sip", format!("sip:+{number}@sip.example")),
            record(20, "E2U+pstn:tel", format!("tel:+{number}")),
        ]
    }
}

const ZONE_FILE: &str = "enum.zone";
const NAME_SERVERS: u32 = 2;
const MOST_NUMBERS: u32 = 10_000_000;

/// What all numbers begin with: a country code that ITU-T holds in reserve, so that they are no one's.
const PREFIX: &str = "999";

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::fs;

    use super::*;
    use crate::zone_files::read_zone;

    fn options() -> NumberOptions {
        NumberOptions { numbers: 1_000, apex: "e164.arpa".into(), ttl_s: 300, seed: 1 }
    }

    #[test]
    fn each_number_has_its_digits_in_reverse_order_and_both_of_its_addresses() {
        let place = tempfile::tempdir().unwrap();
        let data = NumberData::make(&options()).unwrap();
        data.write(Folder::make(&place.path().join("data")).unwrap()).unwrap();
        let read = |name: &str| fs::read_to_string(place.path().join("data").join(name)).unwrap();
        let mut by_owner: HashMap<String, Vec<String>> = HashMap::new();
        for (owner, rtype, data) in read_zone(&read("enum.zone"), "e164.arpa.") {
            if rtype == "NAPTR" {
                by_owner.entry(owner).or_default().push(data);
            }
        }
        assert_eq!(by_owner.len(), 1_000);
        assert_eq!(
            by_owner["7.4.0.9.9.9.e164.arpa."],
            [
                "100 10 \"u\" \"E2U+sip\" \"!^.*$!sip:+999047@sip.example!\" .",
                "100 20 \"u\" \"E2U+pstn:tel\" \"!^.*$!tel:+999047!\" ."
            ]
        );
        let queries = read("queries.txt");
        assert_eq!(queries.lines().count(), 1_000);
        for line in queries.lines() {
            let name = line.strip_suffix(" NAPTR").unwrap();
            assert!(by_owner.contains_key(&format!("{name}.")), "{name}");
        }
    }

    #[test]
    fn wrong_counts_and_names_are_refused() {
        let wrong = [
            NumberOptions { numbers: 0, ..options() },
            NumberOptions { numbers: 10_000_001, ..options() },
            NumberOptions { apex: "a..b".into(), ..options() },
            NumberOptions { apex: "a b".into(), ..options() },
            NumberOptions { apex: "a".repeat(64), ..options() },
        ];
        for options in wrong {
            let error = NumberData::make(&options).unwrap_err();
            assert!(error.is_bad_input() && error.to_string().starts_with("--"), "{options:?}: {error}");
        }
    }
}
