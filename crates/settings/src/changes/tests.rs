//! Changes on an imagined host that can be cut off at any moment.

use std::collections::BTreeMap;
use std::fs;
use std::io;

use tempfile::TempDir;

use super::*;
use crate::error::HostError;
use crate::journal::FORMAT;
use crate::namespace::Namespace;

/// A host whose values are in memory. Each call for it is a moment at which the power may be cut.
#[derive(Clone, Default)]
struct Imagined {
    values: BTreeMap<String, String>,
    /// Where the journal is; at each moment, what it has and what the values are.
    journals: PathBuf,
    moments: Vec<(Vec<u8>, BTreeMap<String, String>)>,
}

impl Imagined {
    fn new(journals: &TempDir) -> Imagined {
        let values =
            [(TTL, "64"), (BUFFER, "212990"), (FIELDS, "10 20 30"), (ODD, "7 (seven)"), (FILE, "a: 1\n")];
        let values = values.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        Imagined { values, journals: journals.path().to_owned(), moments: Vec::new() }
    }

    fn moment(&mut self) {
        let path = journal::all_in(&self.journals).unwrap().pop();
        let lines = path.map(|path| fs::read(path).unwrap()).unwrap_or_default();
        self.moments.push((lines, self.values.clone()));
    }

    /// What a value of the kernel becomes, and whether it is refused.
    fn made_of(name: &str, value: &str) -> (Option<String>, bool) {
        let number = value.parse::<u64>();
        match (name, number) {
            (FILE, _) => (Some(value.to_owned()), false),
            (TTL, Ok(number @ 1..=255)) => (Some(number.to_string()), false),
            // Buffers are rounded to tens.
            (BUFFER, Ok(number)) => (Some((number / 10 * 10).to_string()), false),
            // A wrong field leaves those before it written.
            (FIELDS, _) if value.ends_with('x') => (Some("99 20 30".to_owned()), true),
            (FIELDS, _) => (Some(value.to_owned()), false),
            // What it shows, it does not take.
            (ODD, Ok(number)) => (Some(format!("{number} (a number)")), false),
            _ => (None, true),
        }
    }
}

impl Host for Imagined {
    fn resolved(&self, item: &Item) -> Result<Item, HostError> {
        item.check().map_err(HostError::Place)?;
        Ok(item.clone())
    }

    fn read(&mut self, item: &Item) -> Result<Option<String>, HostError> {
        self.moment();
        Ok(self.values.get(&item.to_string()).cloned())
    }

    fn write(&mut self, item: &Item, value: &str) -> Result<(), HostError> {
        self.moment();
        let name = item.to_string();
        let (becomes, is_refused) = Imagined::made_of(&name, value);
        if let Some(becomes) = becomes {
            self.values.insert(name, becomes);
        }
        self.moment();
        if is_refused { Err(HostError::Write(io::ErrorKind::InvalidInput.into())) } else { Ok(()) }
    }

    fn clean_up(&mut self, _: &Item) {
        self.moment();
    }
}

const TTL: &str = "net.ipv4.ip_default_ttl";
const BUFFER: &str = "net.core.rmem_max";
const FIELDS: &str = "net.ipv4.tcp_rmem";
const ODD: &str = "net.odd";
const FILE: &str = "/etc/nsd.conf";

fn item(name: &str) -> Item {
    match name.starts_with('/') {
        true => Item::File { path: name.into() },
        false => Item::Kernel { path: format!("/proc/sys/{}", name.replace('.', "/")).into() },
    }
}

/// In memory where that is possible: the journal is written to the disk again and again.
fn folder() -> TempDir {
    TempDir::new_in("/dev/shm").or_else(|_| TempDir::new()).unwrap()
}

fn header() -> Header {
    let namespace = Namespace { name: None, inode: 7, is_of_host: true };
    Header { format: FORMAT, boot: "boot".to_owned(), root: "/".into(), namespace }
}

fn begin() -> (TempDir, Imagined, Changes) {
    let folder = folder();
    let (host, changes) = (Imagined::new(&folder), Changes::none(folder.path(), header()));
    (folder, host, changes)
}

/// The changes that a process left, from its journal.
fn left(folder: &TempDir) -> Changes {
    let path = journal::all_in(folder.path()).unwrap().pop().unwrap();
    let (journal, contents) = Journal::adopt(&path).unwrap().unwrap();
    Changes::left(journal, contents, header())
}

fn is_empty(folder: &TempDir) -> bool {
    fs::read_dir(folder.path()).unwrap().next().is_none()
}

/// Writes of all kinds, refused ones too, and their end.
fn night(host: &mut Imagined, changes: &mut Changes) {
    let mut write =
        |name: &str, value: &str| changes.write(host, &item(name), value).map_err(|e| e.to_string());
    write(BUFFER, "425987").unwrap();
    write(FILE, "a: 2 # \"ä\"\n").unwrap();
    write(TTL, "999").unwrap_err();
    write(BUFFER, "999999").unwrap();
    write(FIELDS, "1 2 x").unwrap_err();
    write(FIELDS, "1 2 3").unwrap();
    write(FIELDS, "4 5 x").unwrap_err();
    write(TTL, "65").unwrap();
    write(TTL, "64").unwrap();
    host.moment();
    assert!(changes.undo(host, false).iter().all(Restored::is_settled));
}

/// Each state of the host and journal that a power cut can leave: the lines that are whole are those whose write was
/// waited for, and a part of the next one may be there.
fn cuts(moments: &[(Vec<u8>, BTreeMap<String, String>)]) -> Vec<(Vec<u8>, BTreeMap<String, String>)> {
    let mut cuts = Vec::new();
    let mut written = 0;
    for (lines, values) in moments {
        // A journal that is shorter than before is a new one.
        let from = if lines.len() < written { 0 } else { written };
        cuts.extend((from..=lines.len()).map(|end| (lines[..end].to_vec(), values.clone())));
        written = lines.len();
    }
    cuts
}

/// The host after its changes were undone by the next process; with the moments of that.
fn undone(lines: &[u8], values: BTreeMap<String, String>) -> Imagined {
    let folder = folder();
    let mut host = Imagined { values, journals: folder.path().to_owned(), moments: Vec::new() };
    let path = folder.path().join("1-0.ndjson");
    fs::write(&path, lines).unwrap();
    let (journal, contents) = Journal::adopt(&path).unwrap().unwrap();
    let restored = Changes::left(journal, contents, header()).undo(&mut host, false);
    assert!(restored.iter().all(Restored::is_settled), "{restored:?}");
    assert!(is_empty(&folder));
    host
}

#[test]
fn a_journal_that_is_cut_at_any_octet_gives_the_old_state() {
    let (folder, mut host, mut changes) = begin();
    let original = host.values.clone();
    night(&mut host, &mut changes);
    assert_eq!(host.values, original);
    assert!(is_empty(&folder));
    let cuts = cuts(&host.moments);
    assert!(cuts.len() > 1_500, "{}", cuts.len());
    for (lines, values) in cuts {
        let text = String::from_utf8_lossy(&lines).into_owned();
        assert_eq!(undone(&lines, values.clone()).values, original, "{values:?}\n{text}");
    }
}

#[test]
fn who_restores_may_be_cut_off_as_well() {
    let (_folder, mut host, mut changes) = begin();
    let original = host.values.clone();
    night(&mut host, &mut changes);
    let mut all = 0;
    for (lines, values) in &host.moments {
        for (lines, values) in undone(lines, values.clone()).moments {
            all += 1;
            assert_eq!(undone(&lines, values).values, original, "{}", String::from_utf8_lossy(&lines));
        }
    }
    assert!(all > 500, "{all}");
}

#[test]
fn the_value_before_the_first_write_is_restored_and_what_the_kernel_rounds_is_told() {
    let (folder, mut host, mut changes) = begin();
    let written = changes.write(&mut host, &item(BUFFER), "425987").unwrap();
    assert_eq!((written.old.as_str(), written.became.as_str()), ("212990", "425980"));
    let written = changes.write(&mut host, &item(BUFFER), "100").unwrap();
    assert_eq!((written.old.as_str(), written.became.as_str()), ("425980", "100"));
    let restored = Restored { item: item(BUFFER), outcome: RestoredOutcome::Restored };
    assert_eq!(changes.undo(&mut host, false), [restored]);
    assert_eq!(host.values[BUFFER], "212990");
    assert!(is_empty(&folder));
    // The same keeper goes on, with a journal of its own.
    changes.write(&mut host, &item(TTL), "1").unwrap();
    assert!(!is_empty(&folder));
    changes.undo(&mut host, false);
    assert_eq!((host.values[TTL].as_str(), is_empty(&folder)), ("64", true));
}

#[test]
fn the_last_change_is_undone_first() {
    let (_folder, mut host, mut changes) = begin();
    for name in [TTL, FILE, FIELDS, TTL] {
        changes.write(&mut host, &item(name), "5").unwrap();
    }
    let order: Vec<Item> = changes.undo(&mut host, false).into_iter().map(|restored| restored.item).collect();
    assert_eq!(order, [FIELDS, FILE, TTL].map(item));
}

#[test]
fn a_value_that_someone_else_has_changed_is_left_and_told() {
    let (folder, mut host, mut changes) = begin();
    for name in [TTL, FILE, BUFFER] {
        changes.write(&mut host, &item(name), "100").unwrap();
    }
    host.values.insert(TTL.to_owned(), "17".to_owned());
    host.values.insert(FILE.to_owned(), "key: s3cret".to_owned());
    assert!(matches!(changes.write(&mut host, &item(TTL), "3"), Err(Refusal::ChangedByOther)));
    let restored = changes.undo(&mut host, false);
    let found = |found: Option<&str>| RestoredOutcome::ChangedByOther { found: found.map(str::to_owned) };
    let outcomes: Vec<_> = restored.into_iter().map(|restored| restored.outcome).collect();
    assert_eq!(outcomes, [RestoredOutcome::Restored, found(None), found(Some("17"))]);
    assert_eq!((host.values[TTL].as_str(), host.values[FILE].as_str()), ("17", "key: s3cret"));
    assert!(is_empty(&folder));
}

/// A keeper that was killed before it could write down what its value became.
fn killed_after_a_write(value: &str) -> (TempDir, Imagined) {
    let (folder, mut host, mut changes) = begin();
    changes.announce(1, &item(BUFFER), "212990", value).unwrap();
    host.write(&item(BUFFER), value).unwrap();
    (folder, host)
}

#[test]
fn what_the_kernel_has_rounded_is_known_although_it_was_not_written_down() {
    let (folder, mut host) = killed_after_a_write("425987");
    assert_eq!(host.values[BUFFER], "425980");
    let restored = left(&folder).undo(&mut host, false);
    assert_eq!(restored[0].outcome, RestoredOutcome::Restored);
    assert_eq!(host.values[BUFFER], "212990");

    let (folder, mut host) = killed_after_a_write("425987");
    host.values.insert(BUFFER.to_owned(), "300000".to_owned());
    let restored = left(&folder).undo(&mut host, false);
    assert_eq!(restored[0].outcome, RestoredOutcome::ChangedByOther { found: Some("300000".to_owned()) });
    assert_eq!(host.values[BUFFER], "300000");
    assert!(is_empty(&folder));
}

#[test]
fn a_look_at_what_a_value_becomes_may_be_cut_off_too() {
    let (folder, mut host) = killed_after_a_write("425987");
    host.values.insert(BUFFER.to_owned(), "300000".to_owned());
    let expected = host.values.clone();
    host.moments.clear();
    left(&folder).undo(&mut host, false);
    for (lines, values) in cuts(&host.moments).into_iter().filter(|(lines, _)| lines.contains(&b'\n')) {
        // A cut within the line that announces the change is of the time before all this.
        if lines.iter().filter(|octet| **octet == b'\n').count() >= 2 {
            assert_eq!(undone(&lines, values).values, expected, "{}", String::from_utf8_lossy(&lines));
        }
    }
}

#[test]
fn after_a_reboot_values_of_the_kernel_are_compared_only() {
    let night = || {
        let (folder, mut host, mut changes) = begin();
        changes.write(&mut host, &item(BUFFER), "425987").unwrap();
        changes.write(&mut host, &item(FILE), "a: 2\n").unwrap();
        changes.announce(3, &item(TTL), "64", "65").unwrap();
        (folder, host)
    };
    let outcomes = |folder: &TempDir, host: &mut Imagined| {
        let restored = left(folder).undo(host, true);
        restored.into_iter().map(|restored| restored.outcome).collect::<Vec<_>>()
    };
    let (folder, mut host) = night();
    host.values.insert(BUFFER.to_owned(), "212990".to_owned());
    assert_eq!(
        outcomes(&folder, &mut host),
        [RestoredOutcome::WasAlready, RestoredOutcome::Restored, RestoredOutcome::WasAlready]
    );
    assert_eq!(host.values, Imagined::new(&folder).values);

    let (folder, mut host) = night();
    host.values.insert(BUFFER.to_owned(), "5000".to_owned());
    host.values.insert(TTL.to_owned(), "255".to_owned());
    let left = |value: &str| RestoredOutcome::ChangedByOther { found: Some(value.to_owned()) };
    assert_eq!(outcomes(&folder, &mut host), [left("255"), RestoredOutcome::Restored, left("5000")]);
    assert_eq!((host.values[BUFFER].as_str(), host.values[TTL].as_str()), ("5000", "255"));
    assert!(is_empty(&folder));
}

#[test]
fn a_refused_write_leaves_the_old_value_and_no_journal() {
    let (folder, mut host, mut changes) = begin();
    let original = host.values.clone();
    for (name, value) in [(TTL, "999"), (FIELDS, "1 2 x"), ("net.none", "1"), ("/etc/none", "1")] {
        changes.write(&mut host, &item(name), value).unwrap_err();
        assert_eq!((&host.values, is_empty(&folder)), (&original, true), "{name}");
    }
    // Between two that are taken, what the first has written stays.
    changes.write(&mut host, &item(FIELDS), "1 2 3").unwrap();
    changes.write(&mut host, &item(FIELDS), "4 5 x").unwrap_err();
    assert_eq!(host.values[FIELDS], "1 2 3");
    changes.write(&mut host, &item(FIELDS), "7 8 9").unwrap();
    assert_eq!(changes.undo(&mut host, false)[0].outcome, RestoredOutcome::Restored);
    assert_eq!(host.values, original);
}

#[test]
fn nothing_is_changed_without_a_journal_or_where_it_changes_nothing() {
    let (folder, mut host, _) = begin();
    fs::write(folder.path().join("file"), "").unwrap();
    let mut changes = Changes::none(&folder.path().join("file/changes"), header());
    let refused = changes.write(&mut host, &item(TTL), "1");
    assert!(matches!(refused, Err(Refusal::Journal(_))));
    assert_eq!(changes.undo(&mut host, false), []);
    assert_eq!(host.values[TTL], "64");
    changes.journal = Some(Journal::on_full_disk(folder.path()));
    assert!(matches!(changes.write(&mut host, &item(TTL), "1"), Err(Refusal::Journal(_))));
    assert_eq!(host.values[TTL], "64");
    assert!(!host.moments.iter().any(|(_, values)| values[TTL] != "64"));
    // A value that is there already needs no journal.
    assert_eq!(changes.write(&mut host, &item(TTL), "64").unwrap().became, "64");
}

#[test]
fn a_disk_that_is_full_keeps_no_value_from_being_restored() {
    let (folder, mut host, mut changes) = begin();
    let original = host.values.clone();
    for name in [TTL, FILE, BUFFER] {
        changes.write(&mut host, &item(name), "101").unwrap();
    }
    let journal = changes.journal.replace(Journal::on_full_disk(folder.path()));
    assert!(matches!(changes.write(&mut host, &item(TTL), "1"), Err(Refusal::Journal(_))));
    assert_eq!(host.values[TTL], "101");
    let restored = changes.undo(&mut host, false);
    assert!(restored.iter().all(|of| of.outcome == RestoredOutcome::Restored), "{restored:?}");
    assert_eq!(host.values, original);
    drop(journal);
    // The lines that could not be written are not missed.
    let restored = left(&folder).undo(&mut host, false);
    assert!(restored.iter().all(|of| of.outcome == RestoredOutcome::WasAlready), "{restored:?}");
}

#[test]
fn a_value_that_another_keeper_has_changed_is_refused_until_that_has_ended() {
    let (folder, mut host, mut changes) = begin();
    changes.write(&mut host, &item(TTL), "1").unwrap();
    let mut second = Changes::none(folder.path(), header());
    let refused = second.write(&mut host, &item(TTL), "2");
    assert!(matches!(refused, Err(Refusal::Held(path)) if path.starts_with(folder.path())));
    second.write(&mut host, &item(BUFFER), "100").unwrap();
    changes.undo(&mut host, false);
    second.write(&mut host, &item(TTL), "2").unwrap();
    second.undo(&mut host, false);
    assert_eq!(host.values, Imagined::new(&folder).values);
    assert!(is_empty(&folder));
}

#[test]
fn what_cannot_be_restored_stays_in_the_journal() {
    let (folder, mut host, mut changes) = begin();
    changes.write(&mut host, &item(ODD), "8").unwrap();
    changes.write(&mut host, &item(TTL), "8").unwrap();
    let restored = changes.undo(&mut host, false);
    assert_eq!(restored[0].outcome, RestoredOutcome::Restored);
    assert!(
        matches!(&restored[1].outcome, RestoredOutcome::Failed(why) if why.ends_with("\"7 (seven)\"")),
        "{restored:?}"
    );
    drop(changes);
    // It is tried again, and found as somebody has set it by hand.
    assert!(!left(&folder).undo(&mut host, false)[0].is_settled());
    host.values.insert(ODD.to_owned(), "7 (seven)".to_owned());
    assert_eq!(left(&folder).undo(&mut host, false)[0].outcome, RestoredOutcome::WasAlready);
    assert!(is_empty(&folder));
}

#[test]
fn a_value_that_is_no_more_is_gone() {
    let (folder, mut host, mut changes) = begin();
    changes.write(&mut host, &item(TTL), "8").unwrap();
    host.values.remove(TTL);
    assert_eq!(changes.undo(&mut host, false)[0].outcome, RestoredOutcome::Gone);
    assert!(is_empty(&folder));
}
