//! Clients of several kinds in one run, such as the MMEs and the SGSNs of an operator: each kind with names, caches,
//! timers and users of its own.

use std::path::Path;

use dnsdyno_measure::MOST_KINDS;
use dnsdyno_text::encoding::read_text;
use serde_json::Value;

use crate::description::check::{Checked, require, value};
use crate::description::{Description, DescriptionError, Names};

/// A kind of clients.
#[derive(Debug, Clone, PartialEq)]
pub struct Kind {
    /// What it is called; empty where the file describes one kind alone.
    pub name: String,
    /// The clients.
    pub description: Description,
}

/// The kinds of clients of a run, as a file describes them: one description, or `{"kinds": [...]}` with a list of
/// descriptions, each with a `name`.
#[derive(Debug, Clone, PartialEq)]
pub struct Kinds(pub Vec<Kind>);

/// The same, whose values can be used.
#[derive(Debug, Clone)]
pub struct CheckedKinds {
    names: Vec<String>,
    kinds: Vec<Checked>,
}

/// A name is a column of tables.
const LONGEST_NAME: usize = 40;

impl Kinds {
    /// Reads a file. Whether its values can be used is said by [`check`](Self::check).
    ///
    /// # Errors
    /// If the file cannot be read, does not describe clients, or has a key that does not exist.
    pub fn read(path: &Path) -> Result<Self, DescriptionError> {
        let shown = || path.display().to_string();
        let text = read_text(path).map_err(|error| DescriptionError::Unreadable { path: shown(), error })?;
        let mut kinds =
            Self::parse(&text).map_err(|problem| DescriptionError::Wrong { path: shown(), problem })?;
        if let Some(folder) = path.parent() {
            kinds.0.iter_mut().for_each(|kind| kind.description.find_queries_in(folder));
        }
        Ok(kinds)
    }

    /// Reads them from their text.
    ///
    /// # Errors
    /// What is wrong with it, as a sentence.
    pub fn parse(text: &str) -> Result<Self, String> {
        let given: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let Some(list) = given.get("kinds") else {
            let description = Description::parse(text)?;
            return Ok(Kinds(vec![Kind { name: String::new(), description }]));
        };
        if let Some(other) = given.as_object().and_then(|object| object.keys().find(|key| *key != "kinds")) {
            return Err(format!("there is no key `{other}` beside `kinds`: write it into each kind"));
        }
        let Some(list) = list.as_array() else {
            return Err("`kinds` is no list: write descriptions in brackets, each with a `name`".to_owned());
        };
        let number = list.len();
        if !(1..=MOST_KINDS).contains(&number) {
            return Err(format!("kinds: {number} cannot be used: give 1 to {MOST_KINDS} kinds of clients"));
        }
        list.iter().enumerate().map(|(at, given)| kind(at, given)).collect::<Result<_, _>>().map(Kinds)
    }

    /// The clients of one kind. Without a name there must be only one kind.
    ///
    /// # Errors
    /// There is no such kind, or there are several and none is named.
    pub fn one(self, name: Option<&str>) -> Result<Description, DescriptionError> {
        let names = self.0.iter().map(|kind| kind.name.as_str()).collect::<Vec<_>>().join(", ");
        let (number, mut kinds) = (self.0.len(), self.0.into_iter());
        let found = match name {
            Some(name) => kinds.find(|kind| kind.name == name),
            None => kinds.next().filter(|_| number == 1),
        };
        found.map(|kind| kind.description).ok_or_else(|| {
            let problem = match name {
                Some(name) => format!("there is no kind `{name}`: name one of these: {names}"),
                None => format!("there are {number} kinds of clients: name one with --kind: {names}"),
            };
            value("kinds", &problem)
        })
    }

    /// Checks all values. `memory_octets` is what all caches may take.
    ///
    /// # Errors
    /// The first value that cannot be used, with what to do.
    pub fn check(self, memory_octets: u64) -> Result<CheckedKinds, DescriptionError> {
        let mut left = memory_octets;
        let (mut names, mut kinds): (Vec<String>, Vec<Checked>) = (Vec::new(), Vec::new());
        for (at, Kind { name, description }) in self.0.into_iter().enumerate() {
            let key = if name.is_empty() { String::new() } else { format!("kinds.{at}.") };
            require(!names.contains(&name), &format!("{key}name"), || {
                format!("`{name}` is there twice: rename one")
            })?;
            let checked = description.check(left).map_err(|error| match error {
                DescriptionError::Value { key: own, problem } => value(&format!("{key}{own}"), &problem),
                other => other,
            })?;
            left = left.saturating_sub(checked.cache_octets());
            names.push(name);
            kinds.push(checked);
        }
        Ok(CheckedKinds { names, kinds })
    }
}

fn kind(at: usize, given: &Value) -> Result<Kind, String> {
    let mut given = given.clone();
    let name = given.as_object_mut().and_then(|object| object.remove("name"));
    let name = name.as_ref().and_then(Value::as_str).unwrap_or_default();
    let is_printable = |name: &str| name.chars().all(|c| c.is_alphanumeric() || " -_.".contains(c));
    if name.is_empty() || name.chars().count() > LONGEST_NAME || !is_printable(name) {
        return Err(format!(
            "kinds.{at}: a kind has a `name`, such as \"MME\": letters, digits, spaces and -_., at most {LONGEST_NAME}"
        ));
    }
    let description =
        Description::parse(&given.to_string()).map_err(|problem| format!("kinds.{at}: {problem}"))?;
    Ok(Kind { name: name.to_owned(), description })
}

impl CheckedKinds {
    /// The kinds, in their order.
    pub fn kinds(&self) -> &[Checked] {
        &self.kinds
    }

    /// Their names; empty where there is only one.
    pub fn names(&self) -> &[String] {
        if self.kinds.len() > 1 { &self.names } else { &[] }
    }

    /// How many clients there are.
    pub fn clients(&self) -> u64 {
        self.kinds.iter().map(|kind| u64::from(kind.description().clients)).sum()
    }

    /// What procedures begin with: name, type and class on the wire.
    pub fn first_questions(&self) -> impl Iterator<Item = &[u8]> {
        self.kinds.iter().flat_map(Checked::first_questions)
    }

    /// Whether there are clients of a mobile core.
    pub fn has_mobile(&self) -> bool {
        self.kinds.iter().any(|kind| matches!(kind.description().names, Names::Epc(_)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MME: &str =
        r#"{"name": "MME", "kind": "epc", "mcc": "440", "mnc": "010", "tacs": [1], "apns": ["net"]}"#;
    const SGSN: &str = r#"{"name": "SGSN", "kind": "epc", "mcc": "440", "mnc": "010", "tacs": [2], "apns": ["net"],
        "clients": 3, "cache": {"entries": 7}, "arrivals": {"clients_per_tac": 3}, "retries": {"first_s": 1}}"#;

    fn parse(kinds: &[&str]) -> Result<Kinds, String> {
        Kinds::parse(&format!("{{\"kinds\": [{}]}}", kinds.join(",")))
    }

    #[test]
    fn each_kind_has_values_of_its_own() {
        let checked = parse(&[MME, SGSN]).unwrap().check(1 << 32).unwrap();
        assert_eq!((checked.names(), checked.clients()), (&["MME".to_owned(), "SGSN".to_owned()][..], 4));
        let entries = checked.kinds().iter().map(|kind| kind.description().cache.entries);
        assert_eq!(entries.collect::<Vec<_>>(), [10_000, 7]);
        assert_eq!(checked.first_questions().count(), 4);
        let one = Kinds::parse(&MME.replace(r#""name": "MME", "#, "")).unwrap();
        assert_eq!(one.check(1 << 32).unwrap().names(), [] as [String; 0]);

        let both = parse(&[MME, SGSN]).unwrap();
        assert_eq!(both.clone().one(Some("SGSN")).unwrap().clients, 3);
        let unnamed = both.clone().one(None).unwrap_err().to_string();
        assert!(unnamed.contains("name one with --kind: MME, SGSN"), "{unnamed}");
        assert!(both.one(Some("GGSN")).unwrap_err().to_string().contains("no kind `GGSN`"));
        assert_eq!(parse(&[MME]).unwrap().one(None).unwrap().clients, 1);
    }

    #[test]
    fn what_is_wrong_with_a_kind_is_said_with_its_place() {
        let wrong = |kinds: &[&str]| match parse(kinds) {
            Err(problem) => problem,
            Ok(kinds) => kinds.check(1 << 32).unwrap_err().to_string(),
        };
        assert!(wrong(&[MME, &SGSN.replace("SGSN", "")]).starts_with("kinds.1: a kind has a `name`"));
        assert!(wrong(&[MME, MME]).contains("`MME` is there twice"));
        assert!(wrong(&[MME, &SGSN.replace("cache", "cahce")]).contains("kinds.1: there is no key `cahce`"));
        assert!(wrong(&[MME, &SGSN.replace("[2]", "[]")]).contains("kinds.1.tacs: there is none"));
        assert!(wrong(&[]).contains("give 1 to 16 kinds"));
        // 10,000 entries of MME are 2 MB, and there is no room for as many of others.
        let many = SGSN.replace("\"entries\": 7", "\"entries\": 10000");
        let error = parse(&[MME, &many]).unwrap().check(3_000_000).unwrap_err().to_string();
        assert!(error.contains("kinds.1.cache.entries: 10000 entries for each of 3 clients"), "{error}");
        assert!(
            Kinds::parse(r#"{"kinds": [], "clients": 3}"#).unwrap_err().contains("no key `clients` beside")
        );
    }
}
