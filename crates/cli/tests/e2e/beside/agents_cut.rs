//! Agents that are cut off, or whose disk is full: what they do alone, and what becomes of the record.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use dnsdyno_record::{Digest, Ended};
use dnsdyno_responder::Faults;
use rustix::process::Pid;

use crate::beside::agents::{ended_within, received, run_on};
use crate::support::{DNSDYNO, Remote, Workplace, check_record, may_unshare, responder};

#[test]
fn an_agent_whose_disk_is_full_says_so_and_the_joined_record_is_whole() {
    if !may_unshare("-m") {
        return;
    }
    let work = Workplace::with_queries();
    let server = responder(Faults::default());
    // One agent has a small disk of its own.
    work.write(
        "small.sh",
        "mkdir -p small && mount -t tmpfs -o size=64k none small && XDG_CACHE_HOME=$PWD/small exec \"$@\"",
    );
    let words = format!(
        "run -s {} -d q.txt --rate 500 --for 3s --interval 10ms --on 'local,exec:unshare -m sh small.sh {DNSDYNO}' \
         -o joined --plain",
        server.address()
    );
    let ran = run_on(&work, &words).wait().gives(0);
    assert!(ran.stderr.contains("No space left"), "{}", ran.stderr);
    assert!(ran.stderr.contains("its own record is not whole"), "{}", ran.stderr);
    let joined = work.record("joined");
    assert_eq!((joined.tally().scheduled, joined.tally().ends.answered), (1_500, 1_500));
    assert_eq!((received(&server), joined.partial_intervals()), (1_500, 0));
    // What has come of the agent is whole too.
    for agent in &joined.header.agents {
        assert!(check_record(&work.path("joined/agents").join(&agent.name)).is_complete(), "{}", agent.name);
    }
}

/// Lets nothing of SSH through the near end of the pair, or everything again.
fn cut(remote: &Remote, is_cut: bool) {
    let name = remote.pair.near().name();
    let rules = match is_cut {
        true => {
            "add table inet cut; \
             add chain inet cut in { type filter hook input priority 0; }; \
             add chain inet cut out { type filter hook output priority 0; }; \
             add rule inet cut in tcp sport 2222 drop; \
             add rule inet cut out tcp dport 2222 drop"
        }
        false => "delete table inet cut",
    };
    let done = Command::new("ip").args(["netns", "exec", name, "nft", rules]).status();
    assert!(done.unwrap().success());
}

/// The records that agents at the far end have kept.
fn kept_there(remote: &Remote) -> Vec<PathBuf> {
    let folders = fs::read_dir(remote.path("cache/dnsdyno")).into_iter().flatten().flatten();
    folders.map(|folder| folder.path().join("run-1")).filter(|folder| folder.exists()).collect()
}

/// The process of an agent, by the folder of its record: `agent-NUMBER/run-1`.
fn agent_of(record: &Path) -> Pid {
    let folder = record.parent().and_then(Path::file_name).unwrap().to_str().unwrap();
    Pid::from_raw(folder.strip_prefix("agent-").unwrap().parse().unwrap()).unwrap()
}

fn unix_now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap()
}

fn ended_at(record: &Digest) -> Duration {
    Duration::from_nanos(record.header.started_unix_ns + record.to_ns())
}

#[test]
fn an_agent_behind_a_cut_network_ends_its_load_and_its_record_fills_the_gap() {
    let Some(remote) = Remote::start("") else { return };
    let Some(server) = remote.server("nsd") else { return };
    let work = Workplace::with_queries();
    let words = format!(
        "-s {} -d q.txt --rate 300 --for 10s --timeout 1s --interval 500ms --on local,{}{DNSDYNO} \
         --if-an-agent-fails continue -o cut --plain",
        server.address(),
        remote.address()
    );
    let mut run = remote.run(&work, &words);
    run.until("intervals settle", || work.intervals("cut").len() > 3);
    cut(&remote, true);
    let cut_at = unix_now();
    run.until("it is named", || {
        work.stderr().contains(&format!("{} has said nothing for", remote.pair.far().ipv4))
    });
    run.wait().gives(0);
    let kept = kept_there(&remote);
    assert_eq!(kept.len(), 1, "{kept:?}");
    // Nothing comes through, not even the end of the link: it takes its coordinator for gone after half a minute.
    ended_within(&[agent_of(&kept[0])], Duration::from_secs(50));
    cut(&remote, false);
    let joined = check_record(&work.path("cut"));
    assert_eq!(joined.tally().scheduled, joined.tally().ends.total());
    assert!(joined.partial_intervals() > 0);
    let alone = check_record(&kept[0]);
    assert!(alone.is_complete() && alone.ended() == Some(&Ended::HungUp), "{:?}", alone.ended());
    let went_on = ended_at(&alone).saturating_sub(cut_at);
    assert!(went_on < Duration::from_secs(5), "the load went on for {went_on:?}");
    // What it has done alone is not lost.
    let name = remote.pair.far().ipv4.to_string();
    let there = work.path("cut/agents").join(&name);
    let had = Digest::read(&there).unwrap().tally().scheduled;
    assert!(alone.tally().scheduled > had, "{} and {had}", alone.tally().scheduled);
    fs::remove_dir_all(&there).unwrap();
    fs::create_dir(&there).unwrap();
    for file in fs::read_dir(&kept[0]).unwrap().flatten() {
        fs::copy(file.path(), there.join(file.file_name())).unwrap();
    }
    work.dnsdyno("merge cut").gives(0);
    let filled = check_record(&work.path("cut"));
    assert!(filled.partial_intervals() < joined.partial_intervals());
    assert_eq!(filled.tally().scheduled, joined.tally().scheduled + alone.tally().scheduled - had);
}
