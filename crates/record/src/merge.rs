//! Joins the records that processes have made of the parts of one load, after their runs.
//!
//! ```text
//!   lg1   plan.toml: part = "1-2/3"   run.ndjson ─┐
//!   lg2   plan.toml: part = "3/3"     run.ndjson ─┴─► Join ──► .NAME.joining ──► NAME
//! ```
//!
//! The joined record is written beside its place and put there when it is whole: whoever is killed meanwhile has lost
//! nothing.

mod error;
mod parts;
mod place;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};

use dnsdyno_text::units::length;

pub use self::error::MergeError;
pub use self::parts::has_agents;
use self::parts::{Member, in_order, present, read};
use self::place::Place;
use crate::lock::is_in_progress;
use crate::{
    AgentInfo, ClockOffset, Digest, Event, Header, HostInfo, Join, Line, PLAN_FILE, RunReader, RunWriter,
    join_headers,
};

/// A record that was joined.
#[derive(Debug)]
pub struct Merged {
    /// Its folder.
    pub folder: PathBuf,
    /// Its summary.
    pub digest: Digest,
    /// What a person should know of it beside that, in sentences.
    pub told: Vec<String>,
}

/// Joins the records of processes that each made a part of one load, into the new folder `out`.
///
/// # Errors
/// A record cannot be read, is not of a part, is of another load, or of a part that another one has too; `out` exists
/// or cannot be written.
pub fn merge_parts(runs: &[PathBuf], out: &Path) -> Result<Merged, MergeError> {
    let members: Result<Vec<Member>, MergeError> = runs.iter().map(|run| read(run)).collect();
    let mut members = members?;
    parts::name(&mut members);
    let (members, mut told) = in_order(members)?;
    told.extend(starts_apart(&members));
    let first = members.iter().find(|member| member.reader.is_some()).ok_or(MergeError::Nothing)?;
    let header = Header {
        run_id: format!("{}-joined", first.header.run_id),
        command_line: without_part(&first.header.command_line),
        ..joined_header(&members)?
    };
    let (plan_toml, host) = (parts::whole_plan(&first.plan_toml), first.host.clone());
    let place = Place::new_folder(out)?;
    let joined = Joining { members, header, clocks: BTreeMap::new(), events: VecDeque::new() };
    let digest = joined.write(place.temporary(), &plan_toml, &host)?;
    Ok(Merged { folder: place.put()?, digest, told })
}

/// Joins the records of the agents in the folder `agents` of a run anew: into the new folder `out`, or in place of the
/// record of the run.
///
/// # Errors
/// As [`merge_parts`]; and where the records of the agents have less than the record that they would replace.
pub fn merge_agents(run: &Path, out: Option<&Path>) -> Result<Merged, MergeError> {
    if is_in_progress(run) {
        return Err(MergeError::InProgress { path: run.to_owned() });
    }
    let before = Digest::read(run)?;
    let (members, mut told) = in_order(present(run, &before)?)?;
    if before.header.agents.iter().all(|agent| agent.clock.is_none()) {
        told.extend(starts_apart(&members));
    }
    let header = Header {
        run_id: before.header.run_id.clone(),
        started_unix_ns: before.header.started_unix_ns,
        command_line: before.header.command_line.clone(),
        version: before.header.version.clone(),
        name: before.header.name.clone(),
        note: before.header.note.clone(),
        checks: before.header.checks.clone(),
        ..joined_header(&members)?
    };
    let ends = before.sum.as_ref().map_or(&[][..], |sum| &sum.agents);
    let clocks = before.header.agents.iter().zip(ends).map(|(agent, end)| (agent.name.clone(), end.clock));
    let clocks = clocks.collect();
    let events = RunReader::open(run)?
        .filter_map(|line| if let Ok(Line::Event(event)) = line { Some(event) } else { None });
    let joining = Joining { header, clocks, events: events.collect(), members };
    let plan_toml = fs::read_to_string(run.join(PLAN_FILE)).unwrap_or_default();
    let host = parts::host_of(run);
    let place = match out {
        Some(out) => Place::new_folder(out)?,
        None => Place::in_place_of(run)?,
    };
    let digest = joining.write(place.temporary(), &plan_toml, &host)?;
    if out.is_none() && digest.header.watched.len() < before.header.watched.len() {
        return Err(MergeError::Watched { path: run.to_owned() });
    }
    if out.is_none() && has_less(&digest, &before) {
        return Err(MergeError::Less {
            path: run.to_owned(),
            now: (digest.partial_intervals(), digest.tally().scheduled),
            before: (before.partial_intervals(), before.tally().scheduled),
        });
    }
    Ok(Merged { folder: place.put()?, digest, told })
}

fn has_less(now: &Digest, before: &Digest) -> bool {
    now.partial_intervals() > before.partial_intervals() || now.tally().scheduled < before.tally().scheduled
}

fn joined_header(members: &[Member]) -> Result<Header, MergeError> {
    let headers: Vec<Header> = members.iter().map(|member| member.header.clone()).collect();
    let infos: Vec<AgentInfo> = members.iter().map(|member| member.info.clone()).collect();
    join_headers(&headers, infos).ok_or(MergeError::Nothing)
}

/// The command of the whole load.
fn without_part(words: &[String]) -> Vec<String> {
    let mut kept = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--part" => drop(words.next()),
            _ if word.starts_with("--part=") => {}
            _ => kept.push(word.clone()),
        }
    }
    kept
}

/// Whether the parts were started so far apart that their intervals are not of the same time.
fn starts_apart(members: &[Member]) -> Option<String> {
    let started = members.iter().filter(|member| member.reader.is_some());
    let first = started.clone().min_by_key(|member| member.header.started_unix_ns)?;
    let last = started.max_by_key(|member| member.header.started_unix_ns)?;
    let apart_ns = last.header.started_unix_ns - first.header.started_unix_ns;
    (apart_ns > TOGETHER_NS).then(|| {
        format!(
            "{} started {} after {}, by the clocks of their hosts: what stands in one interval was not sent at one \
             time",
            last.info.name,
            length(apart_ns),
            first.info.name
        )
    })
}

/// The records that are being joined.
struct Joining {
    members: Vec<Member>,
    header: Header,
    /// The clocks of the agents after the run, as a coordinator knew them.
    clocks: BTreeMap<String, Option<ClockOffset>>,
    /// What a coordinator has recorded.
    events: VecDeque<Event>,
}

impl Joining {
    /// Writes the joined record, and returns its summary.
    fn write(mut self, folder: &Path, plan_toml: &str, host: &HostInfo) -> Result<Digest, MergeError> {
        let mut writer = RunWriter::create(folder, &self.header, plan_toml, host)?;
        let known: BTreeSet<(String, String)> =
            self.events.iter().map(|event| (event.kind.clone(), event.message.clone())).collect();
        let headers: Vec<Header> = self.members.iter().map(|member| member.header.clone()).collect();
        let mut join = Join::new(&self.header, &headers);
        for (agent, member) in self.members.iter().enumerate() {
            member.lost.iter().for_each(|why| join.lost(agent, why));
        }
        loop {
            let awaited: Vec<usize> = join.awaited().collect();
            for agent in &awaited {
                self.members[*agent].give(*agent, &mut join, &mut |event| match known
                    .contains(&(event.kind.clone(), event.message.clone()))
                {
                    true => Ok(()),
                    false => writer.event(&event),
                })?;
            }
            while let Some(interval) = join.take_next() {
                self.events_until(interval.to_ns, &mut writer)?;
                writer.interval(&interval)?;
            }
            if awaited.is_empty() {
                break;
            }
        }
        self.events_until(u64::MAX, &mut writer)?;
        self.note_ends(&mut join);
        let sum = join.finish(None);
        let verdict = writer.digest().judge(Some(&sum));
        writer.finish(&sum.judged(verdict))?;
        Ok(writer.digest().clone())
    }

    /// The events of the coordinator up to then.
    fn events_until(&mut self, to_ns: u64, writer: &mut RunWriter) -> Result<(), MergeError> {
        while self.events.front().is_some_and(|event| event.at_ns < to_ns)
            && let Some(event) = self.events.pop_front()
        {
            writer.event(&event)?;
        }
        Ok(())
    }

    /// What is known of the ends of the agents beside their records. The starts of processes that no coordinator has
    /// started are compared by the clocks of their hosts.
    fn note_ends(&self, join: &mut Join) {
        let started = self.members.iter().filter(|member| member.reader.is_some());
        let first_ns = started.map(|member| member.header.started_unix_ns).min().unwrap_or(0);
        for (agent, member) in self.members.iter().enumerate() {
            let end = join.end_mut(agent);
            match (member.info.clock, end.first_send_late_ns) {
                (None, Some(late_ns)) => {
                    let after_ns = member.header.started_unix_ns.saturating_sub(first_ns);
                    end.first_send_late_ns = Some(late_ns.saturating_add(after_ns));
                }
                _ => end.clock = self.clocks.get(&member.info.name).copied().flatten(),
            }
        }
    }
}

impl Member {
    /// Gives the next line of the record.
    fn give(
        &mut self,
        agent: usize,
        join: &mut Join,
        event: &mut dyn FnMut(Event) -> Result<(), crate::WriteError>,
    ) -> Result<(), MergeError> {
        let Some(reader) = &mut self.reader else { return Ok(()) };
        match reader.next().transpose()? {
            Some(Line::Interval(interval)) => {
                self.to_ns = interval.to_ns;
                join.interval(agent, *interval);
            }
            Some(Line::Event(one)) => {
                event(Event { message: format!("{}: {}", self.info.name, one.message), ..one })?;
            }
            Some(Line::Sum(sum)) => join.sum(agent, *sum),
            None => join.lost(agent, &format!("its record ends at {}, before its run", length(self.to_ns))),
        }
        Ok(())
    }
}

/// Below it, starts are told as a figure of the record only.
const TOGETHER_NS: u64 = 1_000_000_000;
