//! Files of experiments, and the journal of a campaign.

use std::io::Write;

use dnsdyno_executor::Journal;
use dnsdyno_executor::experiment::{Given, Setup, summary};
use dnsdyno_runner::{SimConfig, SimulatedRunner};
use serde_json::json;

use crate::folder::{in_folder, write};
use crate::plain::is_plain;

/// The file of an experiment, at both scales. Nothing in it is carried out.
pub fn experiment_file(text: &[u8]) {
    in_folder("experiment_file", |folder| {
        let path = folder.join("x.toml");
        write(&path, text);
        let runner = SimulatedRunner { server: SimConfig::default() };
        for full in [false, true] {
            match Setup::read(&path, &Given { full, ..Given::default() }, &runner) {
                Ok(setup) => {
                    assert!(!setup.design.subjects.is_empty() && !setup.design.loads.is_empty());
                    drop(summary(&setup));
                }
                Err(error) => assert!(!error.to_string().is_empty()),
            }
        }
    });
}

/// The journal of a campaign that was cut off: what is resumed is the same each time.
pub fn journal(lines: &[u8]) {
    in_folder("journal", |folder| {
        let campaign = json!({});
        let _ = std::fs::remove_dir_all(folder);
        let mut journal = Journal::open(folder, &campaign).expect("a folder of our own");
        assert!(journal.left().is_none());
        drop(journal);
        let path = folder.join(JOURNAL);
        let mut file = std::fs::OpenOptions::new().append(true).open(&path).expect("it was begun");
        file.write_all(lines).expect("the disk has space");
        drop(file);
        let read = || -> Result<_, String> {
            let mut journal = Journal::open(folder, &campaign).map_err(|error| error.to_string())?;
            let left: Vec<_> =
                std::iter::from_fn(|| journal.left().map(|left| format!("{left:?}"))).collect();
            Ok((left, journal.places().to_vec()))
        };
        if let Ok(mut journal) = Journal::open(folder, &campaign) {
            // The records that it names are not there.
            while let Ok(Some(_)) = journal.earlier() {}
        }
        let first = read();
        if let Err(error) = &first {
            is_plain(error);
        }
        assert_eq!(first, read(), "a journal is resumed alike");
    });
}

const JOURNAL: &str = "journal.ndjson";
