//! Writes the record of a run to a folder, or keeps its summary in memory.

use std::io::Write;
use std::path::{Path, PathBuf};

use dnsdyno_plan::{Draft, Plan};
use dnsdyno_queries::{Queries, QueriesFormat};
use dnsdyno_record::expect::EachOutcome;
use dnsdyno_record::{
    Digest, Event, Header, HostInfo, Interval, PACKED_FILE, RUN_FILE, RunWriter, Sum, WriteError,
};

use dnsdyno_wire::QueryForm;

use crate::error::RunError;
use crate::finished::FinishedRun;

/// Where the records of runs are written.
#[derive(Clone, Debug, Default)]
pub enum Keep {
    /// In a folder under `runs`, named by date and time.
    #[default]
    Dated,
    /// In this folder, which has no run yet; if it holds the folders of runs, in a folder of its own under it, named
    /// by date and time.
    Folder(PathBuf),
    /// In a folder under this one, named by date and time.
    Under(PathBuf),
    /// In memory: the summary only.
    Memory,
}

impl Keep {
    /// The folder of a run that starts now; `None` where it has none.
    pub fn folder(&self, name: Option<&str>) -> Option<PathBuf> {
        match self {
            Keep::Dated => Some(folder_of_now(Path::new("runs"), name)),
            Keep::Under(folder) => Some(folder_of_now(folder, name)),
            Keep::Folder(folder) if holds_runs(folder) => Some(folder_of_now(folder, name)),
            Keep::Folder(folder) => Some(folder.clone()),
            Keep::Memory => None,
        }
    }
}

/// Gets each line of a record too, with its newline.
pub type LineCopy<'a> = &'a dyn Fn(&[u8]);

/// The record of the current run.
pub(crate) struct Recorder<'a> {
    place: Place,
    copy: Option<LineCopy<'a>>,
}

/// Where the record is.
enum Place {
    Folder(Box<RunWriter>),
    Memory(Box<Digest>),
}

/// The options that repeat a run, with the queries that were kept.
pub(crate) fn draft_of(plan: &Plan, kept: Option<KeptQueries>) -> Draft {
    let mut draft = plan.to_draft();
    if let Some(KeptQueries { path, format }) = kept {
        draft.queries = Some(std::path::absolute(&path).unwrap_or(path).display().to_string());
        draft.queries_format = Some(format);
    }
    draft
}

impl<'a> Recorder<'a> {
    /// Creates a record with these options as its plan.
    pub(crate) fn open(
        draft: &Draft,
        folder: Option<&Path>,
        header: &Header,
        host: &HostInfo,
        copy: Option<LineCopy<'a>>,
    ) -> Result<Self, RunError> {
        let place = match folder {
            None => Place::Memory(Box::new(Digest::begun(header.clone()))),
            Some(folder) => {
                let plan_toml = draft.to_toml().map_err(RunError::PlanFile)?;
                Place::Folder(Box::new(RunWriter::create(folder, header, &plan_toml, host)?))
            }
        };
        copy.iter().for_each(|copy| copy(&header.encoded()));
        Ok(Recorder { place, copy })
    }

    fn copy(&self, line: impl FnOnce(&Header) -> Vec<u8>) {
        if let Some(copy) = self.copy {
            copy(&line(&self.digest().header));
        }
    }

    /// The folder of the record, if it has one.
    pub(crate) fn folder(&self) -> Option<&Path> {
        match &self.place {
            Place::Folder(writer) => Some(writer.dir()),
            Place::Memory(_) => None,
        }
    }

    /// Bytes that are not on the disk yet.
    pub(crate) fn unsaved_bytes(&self) -> u64 {
        match &self.place {
            Place::Folder(writer) => writer.unsaved().bytes,
            Place::Memory(_) => 0,
        }
    }

    pub(crate) fn interval(&mut self, interval: &Interval) -> Result<(), WriteError> {
        self.copy(|header| interval.encoded(header));
        match &mut self.place {
            Place::Folder(writer) => writer.interval(interval),
            Place::Memory(digest) => {
                digest.interval(interval);
                Ok(())
            }
        }
    }

    pub(crate) fn event(&mut self, event: &Event) -> Result<(), WriteError> {
        self.copy(|header| event.encoded(header));
        match &mut self.place {
            Place::Folder(writer) => writer.event(event),
            Place::Memory(digest) => {
                digest.event(event);
                Ok(())
            }
        }
    }

    /// What has been recorded so far.
    pub(crate) fn digest(&self) -> &Digest {
        match &self.place {
            Place::Folder(writer) => writer.digest(),
            Place::Memory(digest) => digest,
        }
    }

    /// The sum with its verdict.
    pub(crate) fn judged(&self, sum: Sum) -> Sum {
        let verdict = self.digest().judge(Some(&sum));
        sum.judged(verdict)
    }

    /// Ends the record with its [judged](Recorder::judged) sum.
    pub(crate) fn finish(self, sum: Sum, each: Vec<EachOutcome>) -> FinishedRun {
        self.copy(|header| sum.encoded(header));
        match self.place {
            Place::Folder(mut writer) => {
                let incomplete = writer.finish(&sum).err();
                let folder = Some(writer.dir().to_owned());
                FinishedRun { digest: writer.digest().clone(), each, folder, incomplete }
            }
            Place::Memory(mut digest) => {
                digest.sum(&sum);
                FinishedRun { digest: *digest, each, folder: None, incomplete: None }
            }
        }
    }
}

/// Writes the queries from standard input into the run's folder, so that its plan can be repeated. Never overwrites
/// those of another run.
pub(crate) fn keep_queries(
    queries: &Queries,
    form: QueryForm,
    folder: &Path,
) -> Result<KeptQueries, RunError> {
    let (name, format) = kept_queries(queries, form);
    let path = folder.join(name);
    let write = || -> std::io::Result<()> {
        std::fs::create_dir_all(folder)?;
        let mut file = std::io::BufWriter::new(std::fs::File::create_new(&path)?);
        for i in 0..queries.len() {
            match queries.line(i, form).filter(|_| format == QueriesFormat::Text) {
                Some(line) => writeln!(file, "{line}")?,
                None => {
                    let message = queries.message(i);
                    file.write_all(&(message.len() as u16).to_be_bytes())?;
                    file.write_all(message)?;
                }
            }
        }
        file.flush()
    };
    write().map_err(|source| RunError::KeepQueries { path: path.clone(), source })?;
    Ok(KeptQueries { path, format })
}

/// The queries from standard input in a file.
pub(crate) struct KeptQueries {
    path: PathBuf,
    format: QueriesFormat,
}

/// The file of the queries from standard input, in the run's folder, and its format: text, unless a message is not one
/// that a line of text gives.
fn kept_queries(queries: &Queries, form: QueryForm) -> (&'static str, QueriesFormat) {
    match (0..queries.len()).all(|i| queries.line(i, form).is_some()) {
        true => ("queries.txt", QueriesFormat::Text),
        false => ("queries.bin", QueriesFormat::Binary),
    }
}

/// Whether a folder is not a run, and a folder in it is one.
fn holds_runs(folder: &Path) -> bool {
    let is_run = |folder: &Path| folder.join(RUN_FILE).exists() || folder.join(PACKED_FILE).exists();
    !is_run(folder)
        && std::fs::read_dir(folder)
            .is_ok_and(|mut entries| entries.any(|entry| entry.is_ok_and(|entry| is_run(&entry.path()))))
}

/// `runs/2026-03-09T14-05-00Z`, with the run's name where it has one; in UTC, so that names sort by time everywhere.
fn folder_of_now(parent: &Path, name: Option<&str>) -> PathBuf {
    let stamp = jiff::Timestamp::now().strftime("%Y-%m-%dT%H-%M-%SZ").to_string();
    let name = match name {
        Some(name) => format!("{stamp}-{}", name.replace(|c: char| !c.is_alphanumeric(), "-")),
        None => stamp,
    };
    let first = parent.join(&name);
    let numbered = (2..).map(|i| parent.join(format!("{name}-{i}")));
    std::iter::once(first).chain(numbered).find(|folder| !folder.exists()).unwrap_or_default()
}
