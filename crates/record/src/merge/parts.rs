//! The records that are joined: which part of the load each is, and whether they are parts of one.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use dnsdyno_plan::{Draft, Part};
use dnsdyno_text::units::{counted, setting};

use super::error::MergeError;
use crate::lock::is_in_progress;
use crate::{AgentInfo, Digest, HOST_FILE, Header, HostInfo, MemberInfo, PLAN_FILE, ReadError, RunReader};

/// The record of a part, or the place of one that is missing.
pub(super) struct Member {
    pub(super) path: PathBuf,
    /// `None` where there is no record.
    pub(super) reader: Option<RunReader>,
    pub(super) header: Header,
    pub(super) part: Part,
    pub(super) plan_toml: String,
    pub(super) host: HostInfo,
    pub(super) info: AgentInfo,
    /// Why there is no record.
    pub(super) lost: Option<String>,
    /// How far it was read.
    pub(super) to_ns: u64,
}

/// Whether a run has records of agents in its folder.
pub fn has_agents(run: &Path) -> bool {
    run.join(AGENTS).is_dir()
}

/// Opens the record of a part.
pub(super) fn read(path: &Path) -> Result<Member, MergeError> {
    if is_in_progress(path) {
        return Err(MergeError::InProgress { path: path.to_owned() });
    }
    let reader = RunReader::open(path)?;
    let plan = path.join(PLAN_FILE);
    let of_plan = |why: String| MergeError::Plan { path: plan.clone(), why };
    let plan_toml = fs::read_to_string(&plan).map_err(|error| of_plan(error.to_string()))?;
    let draft = Draft::from_toml(&plan_toml).map_err(of_plan)?;
    let text = draft.part.ok_or_else(|| MergeError::Whole { path: path.to_owned() })?;
    let part = Part::parse(&text).ok_or_else(|| of_plan(format!("its `part` is `{text}`, not as in 3/6")))?;
    let (header, host) = (reader.header().clone(), host_of(path));
    let info = AgentInfo {
        name: file_name(path),
        version: header.version.clone(),
        host: host.boot_id.clone().unwrap_or_default(),
        kernel: host.kernel_release.clone().unwrap_or_default(),
        cpus: host.cpus_allowed.as_deref().map_or(0, cpus_in),
        workers: part.workers,
        first_worker: part.first,
        ..AgentInfo::default()
    };
    let (path, reader) = (path.to_owned(), Some(reader));
    Ok(Member { path, reader, header, part, plan_toml, host, info, lost: None, to_ns: 0 })
}

/// Gives each record a name of its own: its folder, or the whole path where two folders have the same name.
pub(super) fn name(members: &mut [Member]) {
    let mut times: BTreeMap<String, u32> = BTreeMap::new();
    members.iter().for_each(|member| *times.entry(member.info.name.clone()).or_default() += 1);
    for member in members {
        if times.get(&member.info.name).is_some_and(|times| *times > 1) {
            member.info.name = member.path.display().to_string();
        }
    }
}

/// The agents of a run, with their records where these are in its folder.
pub(super) fn present(run: &Path, digest: &Digest) -> Result<Vec<Member>, MergeError> {
    let folder = run.join(AGENTS);
    let entries =
        fs::read_dir(&folder).map_err(|source| MergeError::Place { path: folder.clone(), source })?;
    let mut folders: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    folders.sort();
    let mut members = Vec::new();
    for folder in &folders {
        match read(folder) {
            Ok(member) => members.push(member),
            // Its host was lost, or its disk was full, before the load.
            Err(MergeError::Read(ReadError::Empty { .. } | ReadError::Open { .. })) => {}
            Err(error) => return Err(error),
        }
    }
    let infos = &digest.header.agents;
    for member in &mut members {
        let is_named = |info: &&AgentInfo| info.name == member.info.name;
        let is_part = |info: &&AgentInfo| info.first_worker == member.part.first;
        if let Some(info) = infos.iter().find(is_named).or_else(|| infos.iter().find(is_part)) {
            member.info = info.clone();
        }
    }
    let Some(of) = members.first().map(|member| member.part.of) else { return Err(MergeError::Nothing) };
    let ends = digest.sum.as_ref().map_or(&[][..], |sum| &sum.agents);
    for (number, info) in infos.iter().enumerate() {
        if members.iter().all(|member| member.info.name != info.name) {
            let part = Part { first: info.first_worker, workers: info.workers, of };
            let why = ends.get(number).and_then(|end| end.lost.clone());
            let why = why.unwrap_or_else(|| format!("its record is not in {}", folder.display()));
            let missing = missing(&members[0].header, part, why);
            members.push(Member { info: info.clone(), ..missing });
        }
    }
    Ok(members)
}

/// The records in the order of their workers, and what is missing between them. They are parts of one load, and none
/// has workers of another.
pub(super) fn in_order(mut members: Vec<Member>) -> Result<(Vec<Member>, Vec<String>), MergeError> {
    members.sort_by_key(|member| member.part.first);
    let Some(first) = members.first() else { return Err(MergeError::Nothing) };
    let (header, of) = (first.header.clone(), first.part.of);
    for other in &members[1..] {
        let mut differences = differences(&header, &other.header);
        if other.part.of != of {
            differences.insert(0, format!("the workers of the load ({of}, {})", other.part.of));
        }
        if !differences.is_empty() {
            let (one, other) = (first.path.clone(), other.path.clone());
            return Err(MergeError::Differ { one, other, differences });
        }
    }
    if let Some([one, other]) = members.windows(2).find(|pair| end(&pair[0]) > pair[1].part.first) {
        return Err(MergeError::Overlap {
            one: one.path.clone(),
            one_part: one.part.to_string(),
            other: other.path.clone(),
            other_part: other.part.to_string(),
        });
    }
    let mut told = Vec::new();
    let (mut all, mut next) = (Vec::new(), 0);
    for member in members.into_iter().map(Some).chain([None]) {
        let from = member.as_ref().map_or(of, |member| member.part.first);
        if from > next {
            let part = Part { first: next, workers: from - next, of };
            told.push(format!(
                "part {part} is missing: {} of the load, so every interval is partial and no rate is made of them",
                counted(u64::from(part.workers), "worker", "workers")
            ));
            all.push(missing(&header, part, "no record of it was given".to_owned()));
        }
        next = member.as_ref().map_or(of, end);
        all.extend(member);
    }
    Ok((all, told))
}

fn end(member: &Member) -> u32 {
    member.part.first + member.part.workers
}

/// The place of a part without a record.
fn missing(header: &Header, part: Part, why: String) -> Member {
    let info = AgentInfo {
        name: format!("part {part}"),
        workers: part.workers,
        first_worker: part.first,
        ..AgentInfo::default()
    };
    let header = Header {
        workers: part.workers,
        clients: 0,
        udp_sockets: header.udp_sockets.map(|_| 0),
        watched: Vec::new(),
        ..header.clone()
    };
    Member {
        path: PathBuf::new(),
        reader: None,
        header,
        part,
        plan_toml: String::new(),
        host: HostInfo::default(),
        info,
        lost: Some(why),
        to_ns: 0,
    }
}

/// What two runs that are parts of one load have in common, where it differs.
fn differences(one: &Header, other: &Header) -> Vec<String> {
    let of = |header: &Header| {
        [
            ("the load", header.load.clone()),
            ("the queries", header.queries_hash.clone().unwrap_or_default()),
            ("the server", format!("{} over {}", header.address, header.transport)),
            ("the servers", header.mix.iter().map(member_of_mix).collect::<Vec<_>>().join(", ")),
            ("the kinds of clients", header.client_kinds.join(", ")),
            ("the interval", setting(header.interval_ns)),
            ("the timeout", setting(header.timeout_ns)),
            ("the query types", header.types.iter().map(|one| one.to_string()).collect::<Vec<_>>().join(" ")),
            ("the latency that is shown first", format!("{:?}", header.headline).to_lowercase()),
            ("whether they wait for responses", (!header.send_only).to_string()),
        ]
    };
    let both = of(one).into_iter().zip(of(other));
    both.filter(|(one, other)| one.1 != other.1)
        .map(|((what, one), (_, other))| format!("{what} ({one}, {other})"))
        .collect()
}

fn member_of_mix(member: &MemberInfo) -> String {
    let MemberInfo { name, transport, address, share, .. } = member;
    format!("{name} {address} over {transport}, {share}")
}

/// The plan of the whole load.
pub(super) fn whole_plan(plan_toml: &str) -> String {
    let is_part = |line: &&str| line.split('=').next().is_some_and(|key| key.trim() == "part");
    plan_toml.lines().filter(|line| !is_part(line)).fold(String::new(), |text, line| text + line + "\n")
}

pub(super) fn host_of(run: &Path) -> HostInfo {
    let text = fs::read_to_string(run.join(HOST_FILE)).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

fn file_name(path: &Path) -> String {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    absolute.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// CPUs in a list of the kernel: `0-3,8`.
fn cpus_in(list: &str) -> u32 {
    let of_range = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        last.checked_sub(first)?.checked_add(1)
    };
    list.split(',').filter_map(of_range).fold(0, u32::saturating_add)
}

/// The folder of the agents' records in that of their run.
const AGENTS: &str = "agents";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_against_other_servers_are_no_parts_of_one_load() {
        let of = |address: &str| {
            let (server, address) = (address.to_owned(), address.parse().unwrap());
            let mix = vec![MemberInfo {
                name: server.clone(),
                transport: "udp".to_owned(),
                server,
                share: 0.5,
                address,
            }];
            Header { mix, ..Header::default() }
        };
        let (one, other) = (of("192.0.2.1:53"), of("192.0.2.2:53"));
        assert_eq!(differences(&one, &one), [""; 0]);
        assert!(
            differences(&one, &other)[0].starts_with("the servers (192.0.2.1:53 192.0.2.1:53 over udp, 0.5")
        );
    }

    #[test]
    fn a_list_of_cpus_is_counted() {
        let counts = ["0-3,8", "5", "", "0-1,4-5, 9", "3-1"].map(cpus_in);
        assert_eq!(counts, [5, 1, 0, 5, 0]);
    }

    #[test]
    fn the_plan_of_the_whole_load_has_no_part() {
        let text = "server = \"::1\"\npart = \"1/3\"\nworkers = 2\n[partner]\n";
        assert_eq!(whole_plan(text), "server = \"::1\"\nworkers = 2\n[partner]\n");
    }
}
