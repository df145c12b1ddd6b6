//! A folder of many runs, made of one record: how long its history takes at first, and with its index, and how much
//! memory.
//!
//! ```text
//! cargo run --release -p dnsdyno-campaign --example history_folder -- RUN FOLDER [RUNS]
//! ```
//!
//! Each copy has its own start, an hour after the one before it, and the figures of the original. The folder stays.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Instant;

use dnsdyno_campaign::history::{History, HistoryOptions, INDEX_FILE};

fn main() -> io::Result<()> {
    let mut words = std::env::args().skip(1);
    let (Some(run), Some(folder)) = (words.next(), words.next()) else {
        return Err(io::Error::other("usage: history_folder RUN FOLDER [RUNS]"));
    };
    let runs: u64 = words.next().and_then(|word| word.parse().ok()).unwrap_or(10_000);
    let (run, folder) = (Path::new(&run), Path::new(&folder));
    let record = fs::read_to_string(run.join("run.ndjson"))?;
    let started =
        started(&record).ok_or_else(|| io::Error::other("the record says not when it was started"))?;
    for at in 0..runs {
        let copy = folder.join(format!("{at:05}"));
        fs::create_dir_all(&copy)?;
        let later = (started.parse::<u64>().unwrap_or_default() + at * HOUR_NS).to_string();
        fs::write(copy.join("run.ndjson"), record.replacen(started, &later, 1))?;
        for file in ["plan.toml", "host.json"] {
            // A record of an older version may lack one.
            let _ = fs::copy(run.join(file), copy.join(file));
        }
    }
    let options = HistoryOptions { may_write: true, seed: 1, ..HistoryOptions::default() };
    for what in ["at first", "with its index"] {
        let since = Instant::now();
        let history = History::read(folder, &options)?;
        println!(
            "{what}: {:.2} s, {} records read, {} entries in {} rows",
            since.elapsed().as_secs_f64(),
            history.read,
            history.entries(),
            history.rows.len()
        );
    }
    println!("index: {} kB", fs::metadata(folder.join(INDEX_FILE))?.len() / 1000);
    let status = fs::read_to_string("/proc/self/status")?;
    let most = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or_default();
    println!("memory: {most}");
    Ok(())
}

/// The start of a run, as its header has it.
fn started(record: &str) -> Option<&str> {
    let rest = record.split_once(STARTED)?.1;
    Some(&rest[..rest.find(|letter: char| !letter.is_ascii_digit())?])
}

const STARTED: &str = "\"started_unix_ns\":";

const HOUR_NS: u64 = 3_600_000_000_000;
