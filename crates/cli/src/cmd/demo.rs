//! `dnsdyno demo`: measures the built-in responder, without any set-up.

use std::io::Write;
use std::time::Duration;

use dnsdyno_plan::Draft;
use dnsdyno_record::Digest;
use dnsdyno_report::answer;
use dnsdyno_responder::{Book, Config, Delay, Faults, Responder};
use dnsdyno_runner::{LocalRunner, RunJob, Runner};
use dnsdyno_text::layout::paragraph;
use dnsdyno_text::units::{count, duration};

use crate::args::DemoFlags;
use crate::cmd::{report, run};
use crate::exit::{Failure, Outcome};
use crate::message::print_error;
use crate::metrics::Exporters;
use crate::screen::{progress, width_of_terminal};
use crate::summary::Form;

pub(crate) fn demo(flags: &DemoFlags) -> Outcome {
    let faults = Faults {
        delay: Some(Delay::LogNormal { median: MEDIAN_DELAY, sigma: DELAY_SPREAD }),
        seed: 1,
        ..Faults::default()
    };
    let running = Responder::start(Config { faults, ..Config::default() }).map_err(Failure::run_failed)?;
    let draft = Draft {
        name: Some("demo".into()),
        server: Some(running.address().to_string()),
        ask: Some(["www.example A", "www.example AAAA", "mail.example A"].map(Into::into).to_vec()),
        stair: Some("2k..20k".into()),
        step: Some("2k".into()),
        hold: Some("2s".into()),
        ..Draft::default()
    };
    if !flags.quiet {
        print_error("a stair from 2,000 to 20,000 queries per second against the built-in responder");
        print_error("(it delays each response by a lognormal time with median 0.5 ms)\n");
    }
    let form = Form { json: flags.json, verbose: false };
    let progress = progress(flags.quiet, flags.plain);
    let mut runner = LocalRunner;
    let plans = runner.validate(&draft)?;
    let job = RunJob::new(&plans, run::kept_in(flags.out.clone()));
    let outcome = run::execute(&mut runner, &job, progress, form, Exporters::default());
    let book = running.stop();
    let run = outcome?;
    if !flags.json {
        writeln!(std::io::stdout(), "{}", responder_counts(&book)).map_err(Failure::run_failed)?;
    }
    if let Some(folder) = run.folder {
        let page = report::write_page(&[folder], None, None)?;
        if !flags.json {
            let text = format!("the page of this run, to open in a browser: {}", report::named(&page));
            writeln!(std::io::stdout(), "{text}").map_err(Failure::run_failed)?;
        }
    }
    if !flags.json {
        write!(std::io::stdout(), "{}", last_words(&run.digest)).map_err(Failure::run_failed)?;
    }
    Ok(run.code)
}

/// What the demo has shown, in a sentence, and what to do next.
fn last_words(digest: &Digest) -> String {
    let next = "now measure your own server: dnsdyno run -s ADDRESS -d queries.txt --rate 5k --for 30s";
    let mut text = String::from("\n");
    paragraph(&mut text, &answer(digest).sentence, 0, 0, width_of_terminal());
    format!("{text}{next}\n")
}

/// The responder's counts, to compare with the summary.
fn responder_counts(book: &Book) -> String {
    let counts = &book.udp.counts;
    let delay = |quantile| book.udp.hold_ns(quantile).map_or("-".into(), duration);
    format!(
        "\nthe responder counted: {} queries received (the check before the load has sent 2), {} answered,\n\
         delay p50 {} p99 {}",
        count(counts.received),
        count(counts.answered),
        delay(0.5),
        delay(0.99)
    )
}

const MEDIAN_DELAY: Duration = Duration::from_micros(500);

const DELAY_SPREAD: f64 = 0.4;
