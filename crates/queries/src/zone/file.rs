//! Reads zone files, with the files that they include.

use std::collections::HashSet;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use dnsdyno_capture::unpack;
use dnsdyno_text::encoding::{NotUtf8, after_mark, is_utf16};
use dnsdyno_text::shown;
use dnsdyno_text::units::bytes;
use dnsdyno_wire::{EntryError, has_open_parenthesis, next_entry, zone_text};
use domain::base::iana::Class;
use domain::base::name::{Name, ToName};
use domain::zonefile::inplace::{Entry, Zonefile};

use super::record_set::RecordSet;
use crate::bounds::{Bounded, InputBounds};
use crate::error::SourceError;

/// Reads the sets of records of a zone file, each once, in the order of the file.
pub(super) fn read_records(
    path: &Path,
    origin: Option<&str>,
    bounds: &Arc<InputBounds>,
) -> Result<Vec<RecordSet>, SourceError> {
    let name = path.display().to_string();
    let origin = origin.map(|text| origin_of(text, &name)).transpose()?;
    // Of the text, its records take no less memory.
    let most_bytes = MOST_BYTES.min(bounds.most_kept_bytes as u64);
    let bounds = Arc::clone(bounds);
    let mut records = Records { bounds, most_bytes, bytes_left: most_bytes, ..Records::default() };
    records.read_file(path, origin)?;
    Ok(records.sets)
}

/// Reads the text of a zone without included files.
pub(super) fn read_text_of_zone(text: &[u8], zone: &str) -> Result<Vec<RecordSet>, SourceError> {
    let origin = origin_of(zone, "zone")?;
    let mut records = Records { files: MOST_FILES, ..Records::default() };
    records.read_text(text, Path::new("zone"), Some(origin))?;
    Ok(records.sets)
}

type Origin = Name<bytes::Bytes>;

fn origin_of(text: &str, file: &str) -> Result<Origin, SourceError> {
    let wrong = |_| zone_error(file, format!("its origin `{}` is not a name", shown(text, MOST_SHOWN)));
    text.parse::<Name<bytes::Bytes>>().map_err(wrong)
}

#[derive(Default)]
struct Records {
    bounds: Arc<InputBounds>,
    most_bytes: u64,
    /// Files read so far: a file may include itself.
    files: usize,
    bytes_left: u64,
    sets: Vec<RecordSet>,
    known: HashSet<(Vec<u8>, u16)>,
}

impl Records {
    fn read_file(&mut self, path: &Path, origin: Option<Origin>) -> Result<(), SourceError> {
        let name = path.display().to_string();
        self.files += 1;
        if self.files > MOST_FILES {
            return Err(zone_error(&name, format!("more than {MOST_FILES} files include each other")));
        }
        let cannot_open = |source| SourceError::OpenZone { path: path.to_owned(), source };
        let file = File::open(path).map_err(cannot_open)?;
        if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
            return Err(SourceError::Folder { path: path.to_owned() });
        }
        let cannot_read = |source| SourceError::Read { origin: name.clone(), source };
        let mut text = Vec::new();
        let input = unpack(Box::new(file)).map_err(cannot_read)?;
        let input = Bounded { input, bounds: Arc::clone(&self.bounds) };
        input.take(self.bytes_left + 1).read_to_end(&mut text).map_err(cannot_read)?;
        let rest = self.bytes_left.checked_sub(text.len() as u64);
        self.bytes_left = rest.ok_or_else(|| {
            zone_error(&name, format!("it is larger than {}", bytes(self.most_bytes as f64)))
        })?;
        self.read_text(&text, path, origin)
    }

    fn read_text(&mut self, text: &[u8], path: &Path, origin: Option<Origin>) -> Result<(), SourceError> {
        let name = path.display().to_string();
        if is_utf16(text) {
            return Err(zone_error(&name, NotUtf8::Utf16.to_string()));
        }
        let text = &*zone_text(after_mark(text), origin.as_ref().map(Name::as_slice));
        if let Some(line) = generate_line(text) {
            return Err(zone_error(&name, format!("line {line} has $GENERATE: {WITHOUT_GENERATE}")));
        }
        if has_open_parenthesis(text) {
            return Err(zone_error(&name, "a parenthesis is not closed".to_owned()));
        }
        let mut zone = Zonefile::from(text);
        // The last line may have no end.
        zone.extend_from_slice(b"\n");
        zone.set_default_class(Class::IN);
        let mut zone = zone.allow_invalid();
        if let Some(origin) = &origin {
            zone.set_origin(origin.clone());
        }
        let has_origin = origin.is_some();
        let wrong = |error: domain::zonefile::inplace::Error| {
            let advice =
                if has_origin { "" } else { "; if the name of the zone is missing, add --origin NAME" };
            // The parser may have read the end of the line already.
            zone_error(&name, format!("near line {}{advice}", shown(&error.to_string(), MOST_SHOWN)))
        };
        loop {
            let entry = next_entry(&mut zone).map_err(|error| match error {
                EntryError::Syntax(error) => wrong(error),
                EntryError::Name => zone_error(&name, error.to_string()),
                EntryError::Unreadable => zone_error(&name, UNREADABLE.to_owned()),
            })?;
            let Some(entry) = entry else { break };
            match entry {
                Entry::Record(record) => {
                    let owner: Name<Vec<u8>> = record.owner().to_vec();
                    let owner = owner.as_slice().to_ascii_lowercase();
                    let rtype = record.rtype().to_int();
                    if self.known.insert((owner.clone(), rtype)) {
                        self.sets.push(RecordSet { owner, rtype });
                    }
                }
                Entry::Include { path: included, origin } => {
                    let folder = path.parent().unwrap_or(Path::new(""));
                    let included: &str = included.as_ref();
                    let included = included.strip_suffix('"').unwrap_or(included);
                    let origin = origin.or_else(|| zone.origin().ok());
                    self.read_file(&folder.join(included), origin)?;
                }
            }
        }
        Ok(())
    }
}

const UNREADABLE: &str = "an entry cannot be read; look for odd quotes, brackets or escapes";

/// The first line with $GENERATE, which only BIND and a few others know.
fn generate_line(text: &[u8]) -> Option<usize> {
    let is_generate =
        |line: &[u8]| line.get(..GENERATE.len()).is_some_and(|start| start.eq_ignore_ascii_case(GENERATE));
    text.split(|byte| *byte == b'\n').position(is_generate).map(|line| line + 1)
}

fn zone_error(file: &str, reason: String) -> SourceError {
    SourceError::Zone { origin: file.to_owned(), reason }
}

const GENERATE: &[u8] = b"$GENERATE";

const WITHOUT_GENERATE: &str = "expand it first, with named-compilezone -o - ZONE FILE, and give the result";

/// All files of a zone together; the reader keeps them in memory.
const MOST_BYTES: u64 = 2 << 30;

/// Files that a zone may include, directly or not.
const MOST_FILES: usize = 100;

/// How much of a text of the file is shown.
const MOST_SHOWN: usize = 200;
