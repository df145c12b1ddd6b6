//! What is written to a host and restored on it: each decision about a value, one after another.
//!
//! At the end a value is compared before it is restored:
//!
//! ```text
//!   what is found                         what it means                        what is done
//!   the old value                         not written, or restored already     nothing
//!   what our write became                 it is ours                           the old value is written
//!   something else                        someone else has written it          left, and told
//!   something else, and it is not known   the kernel may have rounded ours:    as above
//!   what our write became (power cut)     write it again and see
//! ```

use std::path::{Path, PathBuf};

use crate::error::Refusal;
use crate::host::Host;
use crate::item::Item;
use crate::journal::{self, Contents, Header, Journal, Line, Open};
use crate::messages::Written;
use crate::restored::{Restored, RestoredOutcome};

/// The changes of one keeper: those of this process, or those that a killed one left.
pub(crate) struct Changes {
    folder: PathBuf,
    header: Header,
    /// `None` where nothing is changed.
    journal: Option<Journal>,
    contents: Contents,
}

/// Whose a value is that is not the old one.
enum Whose {
    Ours,
    Theirs(String),
}

impl Changes {
    /// No changes yet. Journals are made in `folder`.
    pub(crate) fn none(folder: &Path, header: Header) -> Changes {
        Changes { folder: folder.to_owned(), header, journal: None, contents: Contents::default() }
    }

    /// Those of a journal that was adopted.
    pub(crate) fn left(journal: Journal, contents: Contents, header: Header) -> Changes {
        let folder = journal.path().parent().unwrap_or(Path::new("/")).to_owned();
        Changes { folder, header, journal: Some(journal), contents }
    }

    /// Writes a value; the journal has it first.
    pub(crate) fn write(
        &mut self,
        host: &mut dyn Host,
        item: &Item,
        value: &str,
    ) -> Result<Written, Refusal> {
        let item = host.resolved(item)?;
        let found = host.read(&item)?.ok_or(Refusal::Missing)?;
        let earlier = self.contents.open_of(&item);
        if earlier.is_some_and(|open| open.became.as_deref() != Some(&found)) {
            return Err(Refusal::ChangedByOther);
        }
        if earlier.is_none() && found == value {
            return Ok(Written { became: found.clone(), old: found });
        }
        let id = earlier.map_or(self.contents.last_id + 1, |open| open.id);
        let is_first = earlier.is_none();
        self.announce(id, &item, &found, value)?;
        if is_first && let Err(refusal) = self.check_not_held(&item) {
            self.settle(id);
            return Err(refusal);
        }
        if let Err(error) = host.write(&item, value) {
            self.put_back(host, id, &item, &found);
            return Err(error.into());
        }
        let became = match host.read(&item) {
            Ok(Some(became)) => became,
            unread => {
                self.put_back(host, id, &item, &found);
                return Err(unread.err().map_or(Refusal::Missing, Refusal::Host));
            }
        };
        if let Err(error) = self.note(Line::Became { id, value: became.clone() }) {
            self.put_back(host, id, &item, &found);
            return Err(Refusal::Journal(error));
        }
        Ok(Written { old: found, became })
    }

    /// Restores every value, the last one first. `was_booted_since`: the host has started again after the changes, so
    /// that what is not in files is gone by itself.
    pub(crate) fn undo(&mut self, host: &mut dyn Host, was_booted_since: bool) -> Vec<Restored> {
        let mut restored = Vec::new();
        for change in self.contents.open.iter().rev().cloned().collect::<Vec<_>>() {
            host.clean_up(&change.item);
            let outcome = self.restore(host, &change, was_booted_since);
            let of_item = Restored { item: change.item, outcome };
            if of_item.is_settled() {
                self.note_if_possible(Line::Settled { id: change.id });
            }
            restored.push(of_item);
        }
        self.close_if_settled();
        restored
    }

    /// What is told of each change where nothing can be restored, for this reason.
    pub(crate) fn failed(&self, why: &str) -> Vec<Restored> {
        let outcome = || RestoredOutcome::Failed(why.to_owned());
        let open = self.contents.open.iter().rev();
        open.map(|open| Restored { item: open.item.clone(), outcome: outcome() }).collect()
    }

    /// Writes into the journal what will be changed.
    fn announce(&mut self, id: u32, item: &Item, old: &str, new: &str) -> Result<(), Refusal> {
        if self.journal.is_none() {
            let journal = Journal::create(&self.folder, &self.header).map_err(Refusal::Journal)?;
            self.journal = Some(journal);
        }
        let (item, old, new) = (item.clone(), old.to_owned(), new.to_owned());
        let noted = self.note(Line::Change { id, item, old, new });
        if noted.is_err() {
            self.close_if_settled();
        }
        noted.map_err(Refusal::Journal)
    }

    /// Refuses a value that another keeper has changed. As each announces a change before it looks, at least one of two
    /// sees the other.
    fn check_not_held(&self, item: &Item) -> Result<(), Refusal> {
        let own = self.journal.as_ref().map_or(Path::new(""), Journal::path);
        match journal::holder(&self.folder, own, item, &self.header.namespace) {
            Ok(None) => Ok(()),
            Ok(Some(path)) => Err(Refusal::Held(path)),
            Err(error) => Err(Refusal::Journal(error)),
        }
    }

    /// Takes back a write that failed, perhaps with a part of the value written.
    fn put_back(&mut self, host: &mut dyn Host, id: u32, item: &Item, found: &str) {
        if !matches!(host.read(item), Ok(Some(now)) if now == found) {
            let _ = host.write(item, found);
        }
        let Ok(Some(now)) = host.read(item) else { return };
        let is_original = self.contents.open_of(item).is_some_and(|open| open.original == now);
        self.note_if_possible(Line::Became { id, value: now });
        if is_original {
            self.settle(id);
        }
    }

    fn restore(&mut self, host: &mut dyn Host, change: &Open, was_booted_since: bool) -> RestoredOutcome {
        let found = match host.read(&change.item) {
            Ok(Some(found)) => found,
            Ok(None) => return RestoredOutcome::Gone,
            Err(error) => return failed(change, &error.to_string()),
        };
        if found == change.original && (change.probed.is_none() || was_booted_since) {
            return RestoredOutcome::WasAlready;
        }
        match self.whose(host, change, &found, was_booted_since) {
            Whose::Ours => self.write_original(host, change, found),
            Whose::Theirs(value) => {
                RestoredOutcome::ChangedByOther { found: change.item.is_told().then_some(value) }
            }
        }
    }

    fn whose(&mut self, host: &mut dyn Host, change: &Open, found: &str, was_booted_since: bool) -> Whose {
        let is_file = matches!(change.item, Item::File { .. });
        // A value of the kernel is gone with a boot: who has set it since meant it.
        if was_booted_since && !is_file {
            return Whose::Theirs(found.to_owned());
        }
        if let Some(became) = &change.became {
            return if became == found { Whose::Ours } else { Whose::Theirs(found.to_owned()) };
        }
        if change.probed.is_none() && (found == change.new || found == change.before) {
            return Whose::Ours;
        }
        if is_file {
            return Whose::Theirs(found.to_owned());
        }
        self.probe(host, change, found)
    }

    /// Writes the new value once more, to see what it becomes: if it is what was found, that was ours.
    fn probe(&mut self, host: &mut dyn Host, change: &Open, found: &str) -> Whose {
        if change.probed.is_none() {
            self.note_if_possible(Line::Probe { id: change.id, found: found.to_owned() });
        }
        let _ = host.write(&change.item, &change.new);
        let becomes = host.read(&change.item).ok().flatten();
        let is_as_found = becomes.as_deref() == Some(found);
        let theirs = match &change.probed {
            // What was found is of an earlier probe that was cut off, before which there was something else.
            Some(earlier) if is_as_found && earlier != found => earlier,
            _ if is_as_found => return Whose::Ours,
            _ => found,
        };
        let _ = host.write(&change.item, theirs);
        Whose::Theirs(theirs.to_owned())
    }

    fn write_original(&mut self, host: &mut dyn Host, change: &Open, found: String) -> RestoredOutcome {
        let (id, item) = (change.id, change.item.clone());
        self.note_if_possible(Line::Change { id, item, old: found, new: change.original.clone() });
        let written = host.write(&change.item, &change.original);
        let now = match host.read(&change.item) {
            Ok(Some(now)) => now,
            Ok(None) => return RestoredOutcome::Gone,
            Err(error) => return failed(change, &error.to_string()),
        };
        if now == change.original {
            return RestoredOutcome::Restored;
        }
        self.note_if_possible(Line::Became { id: change.id, value: now });
        match written {
            Ok(()) => failed(change, "its old value was written and became another one"),
            Err(error) => failed(change, &error.to_string()),
        }
    }

    fn settle(&mut self, id: u32) {
        self.note_if_possible(Line::Settled { id });
        self.close_if_settled();
    }

    /// Removes the journal when each of its changes is settled.
    fn close_if_settled(&mut self) {
        if self.contents.open.is_empty()
            && let Some(journal) = self.journal.take()
        {
            journal.remove();
        }
    }

    fn note(&mut self, line: Line) -> std::io::Result<()> {
        if let Some(journal) = &mut self.journal {
            journal.append(&line)?;
        }
        self.contents.apply(line);
        Ok(())
    }

    /// As [`Changes::note`]; a disk that is full must not keep a value from being restored.
    fn note_if_possible(&mut self, line: Line) {
        if let Some(journal) = &mut self.journal {
            let _ = journal.append(&line);
        }
        self.contents.apply(line);
    }
}

/// That it could not be restored, with the value to set by hand where that may be told.
fn failed(change: &Open, why: &str) -> RestoredOutcome {
    RestoredOutcome::Failed(match change.item.is_told() {
        true => format!("{why}; its old value is {:?}", change.original),
        false => why.to_owned(),
    })
}

#[cfg(test)]
mod tests;
