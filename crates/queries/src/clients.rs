//! Simulated clients with caches as the source of a run: `epc:FILE`, `stub:FILE`.

use std::path::{Path, PathBuf};

use dnsdyno_clients::{CheckedKinds, Kinds};
use dnsdyno_wire::QUESTION_FIXED_LEN;

use super::clients_kind::ClientsKind;
use super::error::SourceError;
use super::queries::{Full, QueriesBuilder};
use super::reading::Reading;
use super::text::{IdnNames, Loaded};

/// Simulated clients, and the file that describes them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientsSource {
    /// What they are.
    pub kind: ClientsKind,
    /// Their description; the path is absolute in a validated plan.
    pub path: PathBuf,
    /// Whether the number of sockets was given; otherwise each client has one of its own.
    pub has_sockets: bool,
}

impl ClientsSource {
    /// Reads `epc:FILE` or `stub:FILE`.
    pub fn parse(text: &str, has_sockets: bool) -> Option<ClientsSource> {
        let (kind, path) = text.split_once(':').filter(|(_, path)| !path.is_empty())?;
        let kind = match kind {
            "epc" => ClientsKind::Epc,
            "stub" => ClientsKind::Stub,
            _ => return None,
        };
        Some(ClientsSource { kind, path: Path::new(path).to_owned(), has_sockets })
    }

    /// Reads the description, and checks its values. Where it has several kinds of clients, it is that of a mobile core
    /// if one of them is.
    ///
    /// # Errors
    /// If it cannot be read, cannot be used, or describes other clients.
    pub fn open(&self) -> Result<CheckedKinds, SourceError> {
        let checked = Kinds::read(&self.path)?.check(MOST_CACHE_OCTETS)?;
        let kind = if checked.has_mobile() { ClientsKind::Epc } else { ClientsKind::Stub };
        if kind != self.kind {
            return Err(SourceError::OtherClients { path: self.path.clone(), kind });
        }
        Ok(checked)
    }

    /// The queries with which procedures begin: with these the server is checked, and by them the source is known.
    pub(super) fn first_questions(&self, reading: &Reading) -> Result<Loaded, SourceError> {
        let checked = self.open()?;
        let origin = self.path.display().to_string();
        let mut builder = QueriesBuilder::of(reading, 0);
        for question in checked.first_questions() {
            let (name, fixed) = question.split_at(question.len().saturating_sub(QUESTION_FIXED_LEN));
            let qtype = fixed.first_chunk().map_or(0, |qtype| u16::from_be_bytes(*qtype));
            builder.push(name, qtype).map_err(|full: Full| SourceError::TooLarge {
                origin: origin.clone(),
                line: 0,
                most_bytes: full.most_bytes,
            })?;
        }
        Loaded::new(builder, origin, IdnNames::default(), reading)
    }
}

/// The memory that all caches of a run may take.
const MOST_CACHE_OCTETS: u64 = 8 << 30;
