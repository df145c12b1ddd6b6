//! A record of 48 hours: how large it is, what it takes to write, and how fast it is read.
//!
//! The engine sends each of its 1.7 billion queries over the simulated link, and the record is written as in any
//! run: about half an hour of CPU time. Latencies vary by chance, some responses are slow, some are lost, and the
//! worker wakes up late, so that no histogram has its counts in a few buckets.

use std::path::Path;
use std::time::Instant;

use anyhow::ensure;
use dnsdyno_plan::Draft;
use dnsdyno_record::{INDEX_FILE, Line, PACKED_FILE, RunReader};
use dnsdyno_runner::{Control, FinishedRun, Keep, RunJob, Runner, SimConfig, SimulatedRunner};

use crate::report::{Bar, Sample, Section};
use crate::setting::Setting;

pub(crate) fn run(setting: &Setting) -> anyhow::Result<Section> {
    let folder = setting.rig.work().join("hours");
    let _ = std::fs::remove_dir_all(&folder);
    let since = Instant::now();
    make(&folder, HOURS * HOUR_S, RATE)?;
    let made_s = since.elapsed().as_secs_f64();
    let (size_mb, index_mb) = sizes_mb(&folder)?;
    let shown = show(setting, &folder)?;
    let (hour_s, hour_intervals) = read_hour(&folder)?;
    let _ = std::fs::remove_dir_all(&folder);
    let figures = [
        ("size, MB", size_mb),
        ("of it the index, MB", index_mb),
        ("bytes per interval", size_mb * 1e6 / (HOURS * HOUR_S) as f64),
        ("run on the simulated link, s", made_s),
        ("dnsdyno show, s", shown.seconds),
        ("dnsdyno show, peak MB", shown.peak_mb),
        ("reading one hour from the middle, s", hour_s),
    ];
    let bar = |what: &str, found: f64, most: f64, unit: &str| Bar {
        what: what.to_owned(),
        bound: format!("<= {most} {unit}"),
        found: format!("{found:.1} {unit}"),
        met: Some(found <= most),
    };
    let heading = vec!["figure".to_owned(), "value".to_owned()];
    let rows = figures.iter().map(|(what, value)| vec![(*what).to_owned(), format!("{value:.2}")]);
    Ok(Section {
        name: "hours",
        method: format!(
            "{HOURS} h at {RATE} queries a second over the simulated link, one worker: round trip {DELAY_US} µs and \
             an exponential part of {JITTER_US} µs on average, {SLOW_PERCENT} % of the responses slower by {SLOW_MS} \
             ms on average, {LOST_PERCENT} % lost, wake-ups late by {OVERSLEEP_US} µs on average."
        ),
        table: std::iter::once(heading).chain(rows).collect(),
        bars: vec![
            bar("size on disk", size_mb, 400.0, "MB"),
            bar("dnsdyno show", shown.seconds, 3.0, "s"),
            bar("its largest memory", shown.peak_mb, 300.0, "MB"),
        ],
        notes: vec![format!("The hour from the middle has {hour_intervals} intervals.")],
        commands: vec![format!("{} show {}", setting.dnsdyno.display(), folder.display())],
        samples: figures
            .iter()
            .map(|(figure, value)| Sample { program: "dnsdyno".to_owned(), round: 1, figure, value: *value })
            .collect(),
    })
}

/// Makes the record of a run of so many seconds.
fn make(folder: &Path, seconds: u64, rate: u64) -> anyhow::Result<FinishedRun> {
    let draft = Draft {
        server: Some("127.0.0.1".into()),
        ask: Some(["www.example A", "www.example AAAA"].map(Into::into).into()),
        rate: Some(rate.to_string()),
        duration: Some(format!("{seconds}s")),
        seed: Some("1".into()),
        ..Draft::default()
    };
    let server = SimConfig {
        delay_ns: DELAY_US * 1_000,
        jitter_ns: JITTER_US * 1_000,
        slow: SLOW_PERCENT / 100.0,
        slow_ns: SLOW_MS * 1_000_000,
        oversleep_ns: OVERSLEEP_US * 1_000,
        loss: LOST_PERCENT / 100.0,
        ..SimConfig::default()
    };
    let mut runner = SimulatedRunner { server };
    let plans = runner.validate(&draft)?;
    let job = RunJob::new(&plans, Keep::Folder(folder.to_owned()));
    let run = runner.run(&job, &Control::default(), &mut ())?;
    ensure!(run.incomplete.is_none(), "the record has a gap: {:?}", run.incomplete);
    Ok(run)
}

/// All files of the run, and the index among them.
fn sizes_mb(folder: &Path) -> anyhow::Result<(f64, f64)> {
    ensure!(folder.join(PACKED_FILE).exists(), "the record was not compressed");
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder)? {
        bytes += entry?.metadata()?.len();
    }
    Ok((bytes as f64 * 1e-6, std::fs::metadata(folder.join(INDEX_FILE))?.len() as f64 * 1e-6))
}

struct Shown {
    seconds: f64,
    peak_mb: f64,
}

/// `dnsdyno show`, with its largest resident size as the kernel counted it.
fn show(setting: &Setting, folder: &Path) -> anyhow::Result<Shown> {
    use nix::sys::resource::{UsageWho, getrusage};
    let since = Instant::now();
    let shown = std::process::Command::new(&setting.dnsdyno).arg("show").arg(folder).output()?;
    let seconds = since.elapsed().as_secs_f64();
    ensure!(shown.status.success(), "{}", String::from_utf8_lossy(&shown.stderr));
    // The largest of all child processes so far; of this benchmark it is the only one.
    let peak_mb = getrusage(UsageWho::RUSAGE_CHILDREN)?.max_rss() as f64 * 1024e-6;
    Ok(Shown { seconds, peak_mb })
}

fn read_hour(folder: &Path) -> anyhow::Result<(f64, usize)> {
    let since = Instant::now();
    let from_ns = HOURS / 2 * HOUR_S * SECOND_NS;
    let mut intervals = 0;
    for line in RunReader::open(folder)?.between(from_ns, from_ns + HOUR_S * SECOND_NS)? {
        intervals += usize::from(matches!(line?, Line::Interval(_)));
    }
    Ok((since.elapsed().as_secs_f64(), intervals))
}

const HOURS: u64 = 48;
const HOUR_S: u64 = 3_600;
const SECOND_NS: u64 = 1_000_000_000;
const RATE: u64 = 10_000;
const DELAY_US: u64 = 200;
const JITTER_US: u64 = 300;
const SLOW_PERCENT: f64 = 1.0;
const SLOW_MS: u64 = 20;
const LOST_PERCENT: f64 = 0.05;
const OVERSLEEP_US: u64 = 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_of_the_simulated_link_are_written_compressed_and_no_histogram_is_narrow() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("run");
        let run = make(&folder, 1_100, RATE / 10).unwrap();
        let (size_mb, index_mb) = sizes_mb(&folder).unwrap();
        assert!(size_mb > index_mb);
        let digest = dnsdyno_record::Digest::read(&folder).unwrap();
        assert!(digest == run.digest && digest.is_complete());
        let tally = digest.tally();
        assert_eq!(tally.scheduled, 1_100 * RATE / 10);
        for (histogram, fewest) in [(&tally.response, 500), (&tally.service, 500), (&tally.lateness, 300)] {
            assert!(histogram.buckets().count() > fewest, "{} buckets", histogram.buckets().count());
        }
    }
}
