//! Progress of a run: a live block on a terminal, plain lines elsewhere.
//!
//! It is written to standard error, so that standard output has only the summary.

use std::error::Error;
use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dnsdyno_measure::{Latency, Quantile, shown};
use dnsdyno_record::{Digest, Header, Headline};
use dnsdyno_report::summary;
use dnsdyno_report::units::{count, duration, rate};
use dnsdyno_runner::{Control, Live, Note, Observer};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Shows the progress of a run.
pub(crate) struct Screen {
    kind: Kind,
    timeout_ns: u64,
    is_open: bool,
    /// Stops the run.
    control: Arc<Control>,
    /// Lets signals stop the run, not the program, once it has started.
    handle_signals: fn(Arc<Control>) -> std::io::Result<()>,
    /// Set when the user asks for the state of the run.
    state_requests: Arc<AtomicBool>,
}

enum Kind {
    Quiet,
    Lines,
    Terminal(ProgressBar),
}

impl Screen {
    /// A screen for a run that `control` can stop.
    pub(crate) fn new(
        quiet: bool,
        control: Arc<Control>,
        handle_signals: fn(Arc<Control>) -> std::io::Result<()>,
        state_requests: Arc<AtomicBool>,
    ) -> Self {
        let kind = if quiet { Kind::Quiet } else { Kind::Lines };
        Screen { kind, timeout_ns: 0, is_open: true, control, handle_signals, state_requests }
    }

    /// Prints a message between the figures.
    fn print(&self, message: &str) {
        match &self.kind {
            Kind::Terminal(bar) => bar.suspend(|| print_error(message)),
            Kind::Quiet | Kind::Lines => print_error(message),
        }
    }

    /// Removes the live block.
    pub(crate) fn finish(&mut self) {
        if let Kind::Terminal(bar) = &self.kind {
            bar.finish_and_clear();
        }
    }

    /// One interval as a line, for logs.
    fn line(&self, live: &Live<'_>) -> String {
        let rates = self.rates(live);
        let losses = self.losses(live);
        let losses = if losses.is_empty() { String::new() } else { format!("  {losses}") };
        format!("{:>8}  {rates}  {}{losses}", duration(live.to_ns), self.percentiles(live))
    }

    /// One interval as the lines of the live block.
    fn block(&self, live: &Live<'_>) -> String {
        let losses = self.losses(live);
        let losses = if losses.is_empty() { "no losses".to_owned() } else { losses };
        format!("{}\n  {}\n  {losses}", self.rates(live), self.percentiles(live))
    }

    fn rates(&self, live: &Live<'_>) -> String {
        let seconds = self.seconds(live);
        let per_second = |n: u64| rate(n as f64 / seconds);
        let (sent, answered) = (per_second(live.arrivals.sent), per_second(live.arrivals.answered));
        if self.is_open {
            format!("asked {}  sent {sent}  answered {answered}", rate(live.asked_qps))
        } else {
            format!("sent {sent}  answered {answered}")
        }
    }

    fn percentiles(&self, live: &Live<'_>) -> String {
        let latency = Latency {
            answered: &live.arrivals.latency,
            unanswered: live.arrivals.timed_out + live.arrivals.refused,
        };
        let shown = |q: f64| match latency.quantile(q) {
            Some(Quantile::At(ns)) => duration(ns),
            Some(Quantile::BeyondTimeout) => format!(">{}", duration(self.timeout_ns)),
            None => "-".to_owned(),
        };
        format!("p50 {}  p99 {}  p99.9 {}", shown(0.5), shown(0.99), shown(0.999))
    }

    /// Losses and anomalies of the interval; empty if there were none.
    fn losses(&self, live: &Live<'_>) -> String {
        let arrivals = live.arrivals;
        let anomalies = &arrivals.anomalies;
        let parts = [
            ("timed out", arrivals.timed_out),
            ("late", arrivals.late),
            ("refused", arrivals.refused),
            ("not sent", arrivals.not_sent),
            ("dropped at our own sockets", arrivals.socket_drops),
            ("duplicates", anomalies.duplicates),
            ("unexpected", anomalies.unexpected),
            ("wrong question", anomalies.wrong_question),
            ("malformed", anomalies.malformed),
        ];
        let parts = parts.iter().filter(|(_, n)| *n > 0).map(|(what, n)| format!("{} {what}", count(*n)));
        parts.collect::<Vec<_>>().join("  ")
    }

    /// The length of the interval, in seconds.
    fn seconds(&self, live: &Live<'_>) -> f64 {
        (live.to_ns as f64 / (live.index + 1) as f64) * 1e-9
    }
}

impl Observer for Screen {
    fn note(&mut self, note: &Note<'_>) {
        self.print(&match note {
            Note::SkippedLine(bad) => format!("dnsdyno: skipped {bad}"),
            Note::SkippedMore(lines) => format!("dnsdyno: skipped {lines} more malformed lines"),
            Note::InternationalizedNames { count: names, name, sent } => {
                let (names, are) = (count(*names), if *names == 1 { "name is" } else { "names are" });
                format!("dnsdyno: {names} internationalized {are} sent with A-labels, the first `{name}` as `{sent}`")
            }
            Note::SocketsInstead(why) => {
                format!("dnsdyno: using sockets, because AF_XDP is not available: {why}")
            }
            Note::Event(event) => format!("dnsdyno: {}", event.message),
            Note::RecordTrouble(error) => format!("dnsdyno: {error}"),
            Note::Stopping(event) => {
                let message = shown(&event.message, MAX_SHOWN);
                format!("stopping ({message}): waiting for outstanding queries (Ctrl-C again ends immediately)")
            }
        });
    }

    /// From here on, signals stop the run, not the program.
    fn begins(
        &mut self,
        header: &Header,
        schedule_end_ns: Option<u64>,
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        (self.handle_signals)(Arc::clone(&self.control))?;
        self.timeout_ns = header.timeout_ns;
        self.is_open = header.headline == Headline::Response;
        if matches!(self.kind, Kind::Lines) && std::io::stderr().is_terminal() {
            self.kind = Kind::Terminal(bar(header, schedule_end_ns));
        }
        Ok(())
    }

    fn idle(&mut self, digest: &Digest) {
        if self.state_requests.swap(false, Ordering::Relaxed) {
            self.print(&summary(digest, width_of_terminal()));
        }
    }

    fn passed(&mut self, live: &Live<'_>) {
        match &self.kind {
            Kind::Quiet => {}
            Kind::Lines => print_error(&self.line(live)),
            Kind::Terminal(bar) => {
                if let Some(end_ns) = bar.length() {
                    bar.set_position(live.to_ns.min(end_ns));
                    bar.set_prefix(match end_ns.saturating_sub(live.to_ns) {
                        0 => "waiting for responses".to_owned(),
                        left_ns => format!("{} left", duration(left_ns)),
                    });
                }
                bar.set_message(self.block(live));
            }
        }
    }
}

/// The live block: the progress of the run, then the figures of the last interval.
fn bar(header: &Header, schedule_end_ns: Option<u64>) -> ProgressBar {
    let bar = match schedule_end_ns {
        Some(end_ns) => ProgressBar::new(end_ns),
        None => ProgressBar::no_length(),
    };
    bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(5));
    let template = if schedule_end_ns.is_some() {
        "{wide_bar:.cyan} {elapsed_precise} {prefix}\n  {msg}"
    } else {
        "{spinner} {elapsed_precise} {prefix}\n  {msg}"
    };
    // The template is a constant: a test builds it.
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    bar.set_style(style.progress_chars("━╸─"));
    bar.set_prefix(match schedule_end_ns {
        Some(end_ns) => format!("{} left", duration(end_ns)),
        None => header.load.clone(),
    });
    bar.set_message("waiting for the first interval");
    bar.enable_steady_tick(std::time::Duration::from_millis(250));
    bar
}

/// Prints a message to standard error. A failure is ignored: a closed terminal or pipe must not end a run.
pub(crate) fn print_error(message: &str) {
    let _ = writeln!(std::io::stderr(), "{message}");
}

/// Width of standard output in columns: that of the terminal, or the default.
pub(crate) fn width_of_terminal() -> usize {
    terminal_size::terminal_size_of(std::io::stdout()).map_or(PAGE_WIDTH, |(width, _)| usize::from(width.0))
}

/// How much of a message with text of the user is shown.
const MAX_SHOWN: usize = 200;

/// Columns of a summary that goes to a file or a pipe.
const PAGE_WIDTH: usize = 80;
