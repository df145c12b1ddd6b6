//! Progress of a run: a live block on a terminal, plain lines elsewhere.
//!
//! It is written to standard error, so that standard output has only the summary.

use std::error::Error;
use std::io::IsTerminal;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dnsdyno_measure::shown;
use dnsdyno_record::{Check, Digest, Header, Headline};
use dnsdyno_report::units::{count, counted, length};
use dnsdyno_report::{LiveFigures, check_line, refusal, summary};
use dnsdyno_runner::{Control, Live, Note, Observer};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::message::print_error;

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

    /// What the server answered before the load; of a quiet run only what makes the run worthless.
    fn checked(&self, checks: &[Check]) {
        if !matches!(self.kind, Kind::Quiet) {
            checks.iter().for_each(|check| self.print(&format!("check: {}", check_line(check))));
        }
        refusal(checks).iter().for_each(|sentence| self.print(&format!("dnsdyno: {sentence}")));
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

    /// The figures of an interval.
    fn figures<'a>(&self, live: &'a Live<'_>) -> LiveFigures<'a> {
        LiveFigures {
            to_ns: live.to_ns,
            interval_ns: live.to_ns / (live.index + 1),
            asked_qps: self.is_open.then_some(live.asked_qps),
            timeout_ns: self.timeout_ns,
            arrivals: live.arrivals,
        }
    }
}

impl Observer for Screen {
    fn note(&mut self, note: &Note<'_>) {
        self.print(&match note {
            Note::Checked(checks) => return self.checked(checks),
            Note::SkippedLine(bad) => format!("dnsdyno: skipped {bad}"),
            Note::SkippedMore(lines) => {
                let lines = counted(*lines, "more malformed line", "more malformed lines");
                format!("dnsdyno: skipped {lines}")
            }
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
        if matches!(self.kind, Kind::Lines) && is_capable_terminal() {
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
            Kind::Lines => print_error(&self.figures(live).line(width_of_lines())),
            Kind::Terminal(bar) => {
                if let Some(end_ns) = bar.length() {
                    bar.set_position(live.to_ns.min(end_ns));
                    bar.set_prefix(match end_ns.saturating_sub(live.to_ns) {
                        0 => "waiting for responses".to_owned(),
                        left_ns => format!("{} left", length(left_ns)),
                    });
                }
                let width = width_of(std::io::stderr()).saturating_sub(BLOCK_INDENT.len());
                let block = self.figures(live).block(width);
                bar.set_message(block.replace('\n', &format!("\n{BLOCK_INDENT}")));
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
    let color = if has_colors() { ":.cyan" } else { "" };
    let first = match schedule_end_ns {
        Some(_) => format!("{{wide_bar{color}}} {{elapsed_precise}} {{prefix}}"),
        None => "{spinner} {elapsed_precise} {prefix}".to_owned(),
    };
    let template = format!("{first}\n{BLOCK_INDENT}{{msg}}");
    // Each of the templates is valid, as a run on a terminal shows.
    let style = ProgressStyle::with_template(&template).unwrap_or_else(|_| ProgressStyle::default_bar());
    bar.set_style(style.progress_chars("━╸─"));
    bar.set_prefix(match schedule_end_ns {
        Some(end_ns) => format!("{} left", length(end_ns)),
        None => shown(&header.load, LONGEST_LOAD).into_owned(),
    });
    bar.set_message("waiting for the first interval");
    bar.enable_steady_tick(std::time::Duration::from_millis(250));
    bar
}

/// Whether standard error is a terminal that can move its cursor: on any other, lines are printed.
fn is_capable_terminal() -> bool {
    let is_dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    std::io::stderr().is_terminal() && !is_dumb
}

/// Columns of a line of figures: a log has any.
fn width_of_lines() -> usize {
    if std::io::stderr().is_terminal() { width_of(std::io::stderr()) } else { usize::MAX }
}

/// By the convention of no-color.org.
fn has_colors() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Width of standard output in columns: that of the terminal, or the default.
pub(crate) fn width_of_terminal() -> usize {
    width_of(std::io::stdout())
}

fn width_of(output: impl AsFd) -> usize {
    terminal_size::terminal_size_of(output).map_or(PAGE_WIDTH, |(width, _)| usize::from(width.0))
}

/// How much of a message with text of the user is shown.
const MAX_SHOWN: usize = 200;

/// Columns of a summary that goes to a file or a pipe.
const PAGE_WIDTH: usize = 80;

/// Before each line of figures under the bar.
const BLOCK_INDENT: &str = "  ";

/// Characters of the load beside the time of a run without an end.
const LONGEST_LOAD: usize = 60;
