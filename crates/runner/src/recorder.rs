//! Writes the record of a run to a folder, or keeps its summary in memory.

use std::io::Write;
use std::path::{Path, PathBuf};

use dnsdyno_plan::{Plan, Queries, QuerySource};
use dnsdyno_record::{Digest, Event, FinishedRun, Header, HostInfo, Interval, RunWriter, Sum, WriteError};

use crate::error::RunError;

/// Where the records of runs are written.
#[derive(Clone, Debug, Default)]
pub enum Keep {
    /// In a folder under `runs`, named by date and time.
    #[default]
    Dated,
    /// In this folder, which has no run yet.
    Folder(PathBuf),
    /// In memory: the summary only.
    Memory,
}

impl Keep {
    /// The folder of a run that starts now; `None` where it has none.
    pub(crate) fn folder(&self, plan: &Plan) -> Option<PathBuf> {
        match self {
            Keep::Dated => Some(folder_of_now(plan)),
            Keep::Folder(folder) => Some(folder.clone()),
            Keep::Memory => None,
        }
    }
}

/// The record of the current run.
pub(crate) enum Recorder {
    Folder(Box<RunWriter>),
    Memory(Box<Digest>),
}

impl Recorder {
    /// Creates a record; a folder gets a plan that repeats the run.
    pub(crate) fn begin(
        plan: &Plan,
        folder: Option<&Path>,
        header: &Header,
        host: &HostInfo,
    ) -> Result<Self, RunError> {
        let Some(folder) = folder else { return Ok(Recorder::Memory(Box::new(Digest::new(header.clone())))) };
        let mut draft = plan.to_draft();
        if plan.source == QuerySource::Stdin {
            let kept = folder.join(KEPT_QUERIES);
            draft.queries = Some(std::path::absolute(&kept).unwrap_or(kept).display().to_string());
        }
        let plan_toml = draft.to_toml().map_err(RunError::PlanFile)?;
        Ok(Recorder::Folder(Box::new(RunWriter::create(folder, header, &plan_toml, host)?)))
    }

    /// Bytes that are not on the disk yet.
    pub(crate) fn unsaved_bytes(&self) -> u64 {
        match self {
            Recorder::Folder(writer) => writer.unsaved().bytes,
            Recorder::Memory(_) => 0,
        }
    }

    pub(crate) fn interval(&mut self, interval: &Interval) -> Result<(), WriteError> {
        match self {
            Recorder::Folder(writer) => writer.interval(interval),
            Recorder::Memory(digest) => {
                digest.interval(interval);
                Ok(())
            }
        }
    }

    pub(crate) fn event(&mut self, event: &Event) -> Result<(), WriteError> {
        match self {
            Recorder::Folder(writer) => writer.event(event),
            Recorder::Memory(digest) => {
                digest.event(event);
                Ok(())
            }
        }
    }

    /// Adds the verdict to the sum, and ends the record with it.
    pub(crate) fn finish(self, sum: Sum) -> FinishedRun {
        match self {
            Recorder::Folder(mut writer) => {
                let verdict = writer.digest().judge(Some(&sum));
                let sum = sum.judged(verdict);
                let incomplete = writer.finish(&sum).err();
                let folder = Some(writer.dir().to_owned());
                FinishedRun { digest: writer.digest().clone(), folder, incomplete }
            }
            Recorder::Memory(mut digest) => {
                let verdict = digest.judge(Some(&sum));
                let sum = sum.judged(verdict);
                digest.sum(&sum);
                FinishedRun { digest: *digest, folder: None, incomplete: None }
            }
        }
    }
}

/// Writes the queries from standard input into the run's folder, so that its plan can be repeated. Never overwrites
/// those of another run.
pub(crate) fn keep_queries(queries: &Queries, folder: &Path) -> Result<(), RunError> {
    let path = folder.join(KEPT_QUERIES);
    let write = || -> std::io::Result<()> {
        std::fs::create_dir_all(folder)?;
        let mut file = std::io::BufWriter::new(std::fs::File::create_new(&path)?);
        for i in 0..queries.len() {
            let question = queries.question(i);
            let (name, fixed) = question.split_at(question.len() - 4);
            let qtype = u16::from_be_bytes([fixed[0], fixed[1]]);
            writeln!(file, "{} {}", dnsdyno_wire::name_to_text(name), dnsdyno_wire::type_name(qtype))?;
        }
        file.flush()
    };
    write().map_err(|source| RunError::KeepQueries { path: path.clone(), source })
}

/// `runs/2026-03-09T14-05-00`, with the run's name where it has one.
fn folder_of_now(plan: &Plan) -> PathBuf {
    let stamp = jiff::Zoned::now().strftime("%Y-%m-%dT%H-%M-%S").to_string();
    let name = match &plan.name {
        Some(name) => format!("{stamp}-{}", name.replace(|c: char| !c.is_alphanumeric(), "-")),
        None => stamp,
    };
    let first = Path::new("runs").join(&name);
    let numbered = (2..).map(|i| Path::new("runs").join(format!("{name}-{i}")));
    std::iter::once(first).chain(numbered).find(|folder| !folder.exists()).unwrap_or_default()
}

/// The file of the queries from standard input, in the run's folder.
const KEPT_QUERIES: &str = "queries.txt";
