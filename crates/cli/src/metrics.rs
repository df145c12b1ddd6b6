//! What a run tells other programs while it runs, as `--metrics` and `--otlp` ask.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::anyhow;
use clap::Args;
use dnsdyno_record::Digest;
use dnsdyno_runner::{Control, Observer, StopCause};
use dnsdyno_serve::{Metrics, Otlp, OtlpEndpoint, parse_listen};
use dnsdyno_text::notation::parse_duration_ns;
use dnsdyno_text::secret::Masked;

use crate::exit::Failure;
use crate::message::print_error;

#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Metrics")]
pub(crate) struct MetricsFlags {
    /// Serve metrics of the run for Prometheus at http://ADDRESS/metrics; a port alone is one of 127.0.0.1
    #[arg(long, value_name = "ADDRESS", value_parser = parse_listen)]
    pub(crate) metrics: Option<SocketAddr>,
    /// After the run, serve its last metrics until they are read once, at most for this time [default: 0s]
    #[arg(long, value_name = "TIME", requires = "metrics", value_parser = duration)]
    pub(crate) metrics_linger: Option<Duration>,
    /// Send metrics of the run to a receiver of OTLP over HTTP, such as http://127.0.0.1:4318
    #[arg(long, value_name = "URL")]
    pub(crate) otlp: Option<Masked>,
}

/// The programs that a run tells of itself; none without flags.
#[derive(Default)]
pub(crate) struct Exporters {
    metrics: Option<Metrics>,
    linger: Duration,
    otlp: Option<Otlp>,
}

impl Exporters {
    /// Starts to serve, before there is any load.
    pub(crate) fn start(flags: &MetricsFlags, quiet: bool) -> Result<Exporters, Failure> {
        let metrics = flags.metrics.map(Metrics::serve).transpose().map_err(Failure::run_failed)?;
        if let (Some(metrics), false) = (&metrics, quiet) {
            print_error(&format!("dnsdyno: metrics at http://{}/metrics", metrics.address()));
        }
        // Not by `clap`, whose errors have the value.
        let endpoint = |url: &Masked| {
            let wrong = |reason| Failure::bad_input(anyhow!("--otlp {url}: {reason}"));
            OtlpEndpoint::parse(url.exposed()).map_err(wrong)
        };
        let otlp = flags.otlp.as_ref().map(endpoint).transpose()?;
        let otlp = otlp.map(Otlp::start).transpose().map_err(Failure::run_failed)?;
        Ok(Exporters { metrics, linger: flags.metrics_linger.unwrap_or_default(), otlp })
    }

    /// What they learn of the run.
    pub(crate) fn observer(&mut self) -> impl Observer {
        (&mut self.metrics, &mut self.otlp)
    }

    /// The run has ended; a signal ends the wait for the last reader.
    pub(crate) fn finish(self, digest: &Digest, control: &Control) {
        let goes_on = || !control.cause().is_some_and(StopCause::is_signal);
        if let Some(lost) = self.otlp.and_then(|otlp| otlp.finish(digest)) {
            print_error(&format!("dnsdyno: {lost}"));
        }
        if let Some(metrics) = self.metrics {
            metrics.finish(digest, self.linger, goes_on);
        }
    }
}

fn duration(text: &str) -> Result<Duration, String> {
    parse_duration_ns(text).map(Duration::from_nanos).map_err(|error| error.to_string())
}
