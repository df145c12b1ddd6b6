//! The first answers that differ from the recorded ones, kept as text in the folder of the run.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use dnsdyno_queries::replay::Compared;
use dnsdyno_text::shown;
use dnsdyno_text::units::length;
use dnsdyno_wire::{name_to_text, peek, rcode_name, type_name};
use domain::base::Message;
use domain::base::message::RecordSection;
use domain::base::name::ParsedName;
use domain::rdata::AllRecordData;

/// The first answers that differ, as text.
#[derive(Default)]
pub(super) struct Differing {
    kept: usize,
    text: String,
}

impl Differing {
    /// Keeps an answer that differs, if it is among the first.
    pub(super) fn add(
        &mut self,
        compared: Compared,
        due_ns: u64,
        query: &[u8],
        recorded: &[u8],
        present: &[u8],
    ) {
        if self.kept >= MOST_KEPT {
            return;
        }
        self.kept += 1;
        let how = match compared {
            Compared::Better => "better",
            Compared::Worse => "worse",
            Compared::Same | Compared::Different => "different",
        };
        let asked = peek(query).map_or_else(
            |_| "a query without a question".to_owned(),
            |query| format!("{} {}", name_to_text(query.qname()), type_name(query.qtype().unwrap_or(0))),
        );
        let at = length(due_ns);
        // Writing to a string does not fail.
        let _ = writeln!(self.text, "{how}: {} at {at}", shown(&asked, LONGEST_LINE));
        self.answer("recorded", recorded);
        self.answer("now", present);
        self.text.push('\n');
    }

    fn answer(&mut self, when: &str, bytes: &[u8]) {
        let rcode =
            peek(bytes).map_or_else(|error| error.to_string(), |found| rcode_name(found.rcode).into_owned());
        let _ = writeln!(self.text, "  {when}: {rcode}, {} octets", bytes.len());
        let Ok(message) = Message::from_octets(bytes) else { return };
        for (name, section) in [("answer", message.answer()), ("authority", message.authority())] {
            if let Ok(section) = section {
                self.records(name, section);
            }
        }
    }

    fn records(&mut self, name: &str, section: RecordSection<'_, &[u8]>) {
        for record in section.take(MOST_RECORDS).flatten() {
            let parsed = record.to_any_record::<AllRecordData<&[u8], ParsedName<&[u8]>>>();
            let text = parsed.map_or_else(|error| error.to_string(), |record| record.to_string());
            let _ = writeln!(self.text, "    {name}: {}", shown(&text, LONGEST_LINE));
        }
    }

    /// Writes them into the folder of a run; nothing if there are none.
    pub(super) fn write(&self, folder: &Path) -> io::Result<()> {
        if self.kept == 0 {
            return Ok(());
        }
        let mut file = File::create(folder.join(FILE))?;
        file.write_all(self.text.as_bytes())
    }
}

/// Its file in the folder of a run.
const FILE: &str = "answers-that-differ.txt";

/// Answers that are kept.
const MOST_KEPT: usize = 100;

/// Records of a section that are shown, and characters of each.
const MOST_RECORDS: usize = 50;
const LONGEST_LINE: usize = 400;
