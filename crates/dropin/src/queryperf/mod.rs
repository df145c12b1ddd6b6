//! queryperf of BIND 9: keeps a window of queries outstanding, or sends at a rate.

mod rounds;
mod settings;
mod statistics;

use std::error::Error;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use dnsdyno_plan::{Draft, WorkerCount};
use dnsdyno_queries::QueriesFormat;
use dnsdyno_queries::{BadLine, BadReason, SourceError};
use dnsdyno_record::{Digest, Ended, Header};
use dnsdyno_runner::{Control, FinishedRun, Note, Observer, QueryLog, RunError, Runner};
use dnsdyno_text::shown;
use jiff::{SignedDuration, Timestamp};

use crate::console::Console;
use crate::exit::signal_code;
use crate::make::{Wanted, error_text};
use crate::queryperf::rounds::{Counts, Log, Rounds, locked};
use crate::queryperf::settings::Settings;
use crate::queryperf::statistics::Part;
use crate::server::{system_text, with_zone};

/// Runs it, and returns its exit code.
pub(crate) fn run(
    words: &[String],
    runner: &mut dyn Runner,
    control: &Arc<Control>,
    console: &Arc<Console>,
) -> u8 {
    console.print(BANNER);
    let mut settings = match Settings::read(words) {
        Ok(settings) => settings,
        Err(mistake) => {
            console.tell(&format!("{mistake}{USAGE}"));
            return FAILED;
        }
    };
    let ready = settings.check_file().and_then(|()| settings.address().map(drop));
    let measured = ready.and_then(|()| {
        console.line("[Status] Processing input data");
        console.flush();
        follow_directives(&mut settings, console);
        measure(&settings, runner, control, console)
    });
    measured.unwrap_or_else(|mistake| {
        console.tell(&mistake);
        FAILED
    })
}

/// Reads the directives of a file. Of standard input, which can be read only once, they are reported as malformed
/// lines.
fn follow_directives(settings: &mut Settings, console: &Console) {
    // A pipe can be read once only.
    let file = settings.file.as_deref().filter(|name| Path::new(name).is_file());
    let Some(file) = file.and_then(|name| File::open(name).ok()) else { return };
    let (mut input, mut line, mut is_at_start) = (BufReader::new(file), Vec::new(), true);
    loop {
        line.clear();
        // What fails here fails again, and is told, when the queries are read.
        match input.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        match line.first() {
            Some(b'#') => {
                let text = String::from_utf8_lossy(&line);
                settings.follow(text.trim_end_matches(['\n', '\r']), is_at_start, console);
            }
            Some(b';' | b'\n') | None => {}
            Some(_) => is_at_start = false,
        }
    }
}

fn measure(
    settings: &Settings,
    runner: &mut dyn Runner,
    control: &Arc<Control>,
    console: &Arc<Console>,
) -> Result<u8, String> {
    let server = settings.address()?;
    let rounds = Arc::new(Mutex::new(Rounds::new(settings)));
    let mut progress = Progress::new(settings, console, &rounds, format!("{}", server.ip()));
    let mut wanted = Wanted { draft: draft(settings, server), is_recorded: true, runner, control, console };
    let log = |_| Box::new(Log::new(&rounds, console, settings)) as Box<dyn QueryLog>;
    let made = wanted.plans().and_then(|plans| wanted.make(&plans, &mut progress, Some(&log)));
    match made {
        Ok(FinishedRun { digest, .. }) => {
            if let Some(Ended::Failed { why }) = digest.ended() {
                return Err(format!("Error: {why}\n"));
            }
            progress.begin();
            console.line("[Status] Testing complete");
            report(settings, &progress, &digest, console);
            Ok(signal_code(&digest))
        }
        // The original has then sent nothing, and says so.
        Err(RunError::Source(SourceError::Empty { .. } | SourceError::OnlyBadLines { .. })) => {
            console.line("[Status] Testing complete");
            let now = Timestamp::now();
            let (counts, end) = (Counts::default(), Some((1, false)));
            let rcodes = &counts.rcodes;
            let counts = &counts;
            let part =
                Part { settings, counts, rcodes, from: now, to: now, lasted_s: 0.0, sending_s: 0.0, end };
            console.print(&part.text());
            Ok(0)
        }
        Err(error) => Err(format!("Error: {}\n", error_text(&error))),
    }
}

/// The run, as options of ours.
fn draft(settings: &Settings, server: std::net::SocketAddr) -> Draft {
    let passes = settings.is_one_pass.then_some(1);
    let has_rate = settings.target_qps > 0;
    // With no time at all the original sends one query.
    let one = settings.time_limit_s == Some(0);
    Draft {
        server: Some(with_zone(server)),
        port: Some(server.port()),
        queries: Some(match settings.file.as_deref() {
            None => "-".to_owned(),
            Some("-") => "./-".to_owned(),
            Some(name) => name.to_owned(),
        }),
        queries_format: Some(QueriesFormat::Queryperf),
        lenient: Some(true),
        keep_order: Some(true),
        edns_size: settings.has_edns.then_some(EDNS_SIZE),
        dnssec_ok: settings.dnssec_ok.then_some(true),
        recursion_desired: (!settings.recursion_desired).then_some(false),
        // The original gives up what is outstanding rather than fall behind its rate: an open loop.
        rate: has_rate.then(|| settings.target_qps.to_string()),
        outstanding: (!has_rate).then_some(settings.outstanding),
        duration: settings.time_limit_s.filter(|_| !one).map(|seconds| format!("{seconds}s")),
        count: one.then(|| "1".to_owned()),
        passes,
        timeout: Some(match settings.timeout_s {
            0 => SHORTEST_TIMEOUT.to_owned(),
            seconds => format!("{}s", seconds.min(LONGEST_TIMEOUT_S)),
        }),
        // Its socket is not connected.
        any_source: Some(true),
        receive_buffer: settings
            .buffer_kb
            .filter(|kb| *kb > 0)
            .map(|kb| (u64::from(kb) * 1024).min(LARGEST_BUFFER_BYTES).to_string()),
        workers: Some(WorkerCount::Number(1)),
        clients: Some(1),
        ..Draft::default()
    }
}

/// Prints the statistics, and writes the histogram.
fn report(settings: &Settings, progress: &Progress<'_>, digest: &Digest, console: &Console) {
    let rounds = locked(&progress.rounds);
    let lasted_ns = digest.sum.as_ref().and_then(|sum| sum.last_answer_ns).unwrap_or(0);
    // Queries that timed out were waited for.
    let lasted_ns =
        if rounds.all.timed_out > 0 { digest.to_ns() } else { lasted_ns.max(digest.schedule_ns()) };
    let to = progress.from + SignedDuration::from_nanos(i64::try_from(lasted_ns).unwrap_or(i64::MAX));
    let is_by_time = digest.ended() != Some(&Ended::ByPasses);
    let passes = digest.sum.as_ref().map_or(0.0, |sum| sum.passes) as u64;
    let part = Part {
        settings,
        counts: &rounds.all,
        rcodes: &rounds.all.rcodes,
        from: progress.from,
        to,
        lasted_s: lasted_ns as f64 / 1e9,
        sending_s: digest.schedule_ns() as f64 / 1e9,
        end: Some((passes, is_by_time)),
    };
    console.print(&part.text());
    if let Some(name) = &settings.histogram_file
        && let Err(error) = fs::write(name, rounds.histogram(settings.entry_us))
    {
        let name = shown(name, LONGEST_SHOWN);
        console.tell(&format!("Error opening RTT histogram file: {name}: {}\n", system_text(&error)));
    }
}

/// Follows a run: says where it begins, and prints intermediate statistics.
struct Progress<'a> {
    settings: &'a Settings,
    console: &'a Console,
    rounds: Arc<Mutex<Rounds>>,
    server: String,
    has_begun: bool,
    from: Timestamp,
    interval_from: Instant,
}

impl<'a> Progress<'a> {
    fn new(
        settings: &'a Settings,
        console: &'a Console,
        rounds: &Arc<Mutex<Rounds>>,
        server: String,
    ) -> Progress<'a> {
        let (from, interval_from) = (Timestamp::now(), Instant::now());
        let rounds = Arc::clone(rounds);
        Progress { settings, console, rounds, server, has_begun: false, from, interval_from }
    }

    /// Says that queries are sent, once.
    fn begin(&mut self) {
        if !std::mem::replace(&mut self.has_begun, true) {
            self.console.line(&format!("[Status] Sending queries (beginning with {})", self.server));
            self.console.flush();
        }
    }

    fn intermediate(&mut self) {
        let (mut rounds, now) = (locked(&self.rounds), Timestamp::now());
        let lasted = self.interval_from.elapsed();
        let back = SignedDuration::try_from(lasted).unwrap_or_default();
        let part = Part {
            settings: self.settings,
            counts: &rounds.interval,
            rcodes: &rounds.all.rcodes,
            from: now - back,
            to: now,
            lasted_s: lasted.as_secs_f64(),
            sending_s: lasted.as_secs_f64(),
            end: None,
        };
        self.console.print(&part.text());
        self.console.flush();
        rounds.interval = Counts::default();
        drop(rounds);
        self.interval_from = Instant::now();
    }
}

impl Observer for Progress<'_> {
    fn note(&mut self, note: &Note<'_>) {
        match note {
            Note::SkippedLine(bad) if !bad.text.starts_with('#') => self.console.tell(&warning_of(bad)),
            Note::SkippedMore(count) => self.console.tell(&format!("{count} more lines like these\n")),
            _ => {}
        }
    }

    fn begins(&mut self, _: &Header, _: Option<u64>) -> Result<(), Box<dyn Error + Send + Sync>> {
        (self.from, self.interval_from) = (Timestamp::now(), Instant::now());
        self.begin();
        Ok(())
    }

    fn idle(&mut self, _: &Digest) {
        let interval = Duration::from_secs(u64::from(self.settings.interval_s));
        let limit = self.settings.time_limit_s.map(|seconds| Duration::from_secs(u64::from(seconds)));
        let is_within = limit.is_some_and(|limit| {
            SignedDuration::try_from(limit)
                .is_ok_and(|limit| Timestamp::now().duration_since(self.from) < limit)
        });
        if !interval.is_zero() && is_within && self.interval_from.elapsed() > interval {
            self.intermediate();
        }
    }
}

/// queryperf's words about a malformed line.
fn warning_of(bad: &BadLine) -> String {
    let line = shown(&bad.text, LONGEST_SHOWN);
    let what = match &bad.reason {
        BadReason::NoType => format!("Invalid query input format: {line}"),
        BadReason::UnknownType(qtype) => {
            format!("Query type not understood: {}", shown(qtype, LONGEST_SHOWN))
        }
        other => format!("Failed to create query packet: {other}"),
    };
    format!("{what}\nError parsing query: {line}\n")
}

/// The first lines.
const BANNER: &str = "\nDNS Query Performance Testing Tool\n\
                      Version: $Id: queryperf.c,v 1.12 2007/09/05 07:36:04 marka Exp $\n\n";

/// The exit code of any mistake: -1.
const FAILED: u8 = 255;

/// The payload size of the original.
const EDNS_SIZE: u16 = 4_096;

/// The limits of our plans.
const SHORTEST_TIMEOUT: &str = "1ms";
const LONGEST_TIMEOUT_S: u32 = 600;
const LARGEST_BUFFER_BYTES: u64 = 1 << 30;

/// Characters of a text that are shown, and octets of a line that are read at once.
const LONGEST_SHOWN: usize = 4_000;
const LONGEST_LINE: u64 = 64 * 1024;

const USAGE: &str = "
Usage: queryperf [-d datafile] [-s server_addr] [-p port] [-q num_queries]
                 [-b bufsize] [-t timeout] [-n] [-l limit] [-f family] [-1]
                 [-i interval] [-r arraysize] [-u unit] [-H histfile]
                 [-T qps] [-e] [-D] [-R] [-c] [-v] [-h]
  -d specifies the input data file (default: stdin)
  -s sets the server to query (default: 127.0.0.1)
  -p sets the port on which to query the server (default: 53)
  -q specifies the maximum number of queries outstanding (default: 20)
  -t specifies the timeout for query completion in seconds (default: 5)
  -n causes configuration changes to be ignored
  -l specifies how a limit for how long to run tests in seconds (no default)
  -1 run through input only once (default: multiple iff limit given)
  -b set input/output buffer size in kilobytes (default: 32 k)
  -i specifies interval of intermediate outputs in seconds (default: 0=none)
  -f specify address family of DNS transport, inet or inet6 (default: any)
  -r set RTT statistics array size (default: 50000)
  -u set RTT statistics time unit in usec (default: 100)
  -H specifies RTT histogram data file (default: none)
  -T specify the target qps (default: 0=unspecified)
  -e enable EDNS 0
  -D set the DNSSEC OK bit (implies EDNS)
  -R disable recursion
  -c print the number of packets with each rcode
  -v verbose: report the RCODE of each response on stdout
  -h print this usage

";
