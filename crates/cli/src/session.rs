//! A run from a validated plan to its exit code: opens what is needed, lets the engine work, and
//! hands what comes to the record and the screen.

use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use dnsdyno_engine::{Control, Job, Live, Observer};
use dnsdyno_measure::{vanished_sends, verdict};
use dnsdyno_plan::source::Loaded;
use dnsdyno_plan::{Load, MixMember, Plan, QuestionSource, Questions};
use dnsdyno_record::{
    BackendInfo, Digest, Ended, Event, Header, Headline, HostInfo, InterfaceCounts, Interval, MemberInfo,
    Phase, RunWriter, Sum,
};
use dnsdyno_report::expect::{Expectation, Outcome as Judged, evaluate};
use dnsdyno_report::{summary, summary_json, workers};
use dnsdyno_sys::{clock, thread};
use dnsdyno_transport::xdp::XdpLine;

use crate::backend::{self, Opened, Way};
use crate::exit::{EXPECTATION_FAILED, Failure, INTERRUPTED, OK, Outcome, RECORD_INCOMPLETE, RUN_FAILED};
use crate::screen::{Screen, tell, width_of_terminal};
use crate::signals;
use crate::watch::Watch;

/// Where results go.
#[derive(Debug, Default)]
pub(crate) struct Output {
    /// Folder of the record; `None` makes one of date and time.
    pub(crate) folder: Option<PathBuf>,
    /// Nothing while running.
    pub(crate) quiet: bool,
    /// The summary as JSON.
    pub(crate) json: bool,
    /// The workers one by one.
    pub(crate) verbose: bool,
}

/// Makes the run that the plan describes.
///
/// `otherwise` is the plan to take where the way of the first cannot be had.
pub(crate) fn run(
    plan: &Plan,
    otherwise: Option<&Plan>,
    output: &Output,
    expectations: &[Expectation],
) -> Outcome {
    if cfg!(feature = "unmeasured") {
        tell(
            "dnsdyno: this build pairs no answers and takes no times: it is for benchmarks, not for measuring",
        );
    }
    let loaded = load_questions(plan)?;
    let Way { plan, opened, info, own_files } = backend::open(plan, otherwise, &loaded.questions)?;
    let plan = &plan;
    let folder = output.folder.clone().unwrap_or_else(|| folder_of_now(plan));
    if plan.source == QuestionSource::Stdin {
        keep_queries(&loaded.questions, &folder)?;
    }
    // The start lies ahead by what the workers need to make their tables, and the record says it.
    let epoch_ns = clock::monotonic_ns() + opened.preparation_ns(&plan.load);
    let started_unix_ns = epoch_ns.saturating_add_signed(clock::wall_minus_monotonic_ns());
    let header = header_of(plan, info, &loaded, &folder, started_unix_ns);
    let host = HostInfo::gather(plan.target.address.ip());
    let mut writer = create_record(plan, &folder, &header, &host)?;
    let watch = header.backend.xdp.as_ref().and_then(|xdp| Watch::new(&xdp.interface, xdp.queues));
    let interface = header.backend.xdp.as_ref().map(|xdp| &xdp.interface);
    let interface = interface.or(host.interface.as_ref().map(|interface| &interface.name));
    let before = interface.and_then(|name| InterfaceCounts::now(name));

    let control = Arc::new(Control::default());
    signals::press_on_signals(control.clone()).map_err(Failure::run_failed)?;
    let job = Job {
        questions: &loaded.questions,
        load: &plan.load,
        limit: limit_of(plan, &loaded.questions),
        end_ns: plan.stop.duration_ns,
        timeout_ns: plan.timeout_ns,
        interval_ns: plan.interval_ns,
        send_only: plan.send_only,
        cpus: &cpus_of(plan),
        own_files,
        strips_edns: plan.connections.strips_edns,
    };
    let mut scribe = Scribe {
        screen: Screen::new(&header, output.quiet, end_of_schedule(plan)),
        writer: &mut writer,
        watch,
        told_trouble: false,
    };
    let mut sum = drive(&job, opened, epoch_ns, &control, &mut scribe);
    scribe.screen.finish();
    sum.interface = before.and_then(|before| Some(InterfaceCounts::now(&before.name)?.since(&before)));
    // Drivers may leave out of their counts what they send without a copy.
    let is_zero_copy = header.backend.xdp.as_ref().is_some_and(|xdp| xdp.zero_copy);
    if let Some(interface) = sum.interface.as_ref().filter(|_| !is_zero_copy) {
        sum.warnings.extend(vanished_sends(sum.tally.requests, interface.sent, sum.to_ns));
    }
    let recorded = writer.finish(&sum);

    let form = Form { json: output.json, verbose: output.verbose, width: width_of_terminal() };
    let code = print_judged(writer.digest(), form, expectations)?;
    if !output.json {
        writeln!(std::io::stdout(), "\nrecord: {}", folder.display()).map_err(Failure::run_failed)?;
    }
    if let Err(error) = &recorded {
        tell(&format!("dnsdyno: {error}"));
    }
    Ok(match &sum.ended {
        Ended::Failed { .. } => RUN_FAILED,
        _ if recorded.is_err() => RECORD_INCOMPLETE,
        Ended::Interrupted => INTERRUPTED,
        _ => code,
    })
}

/// A CPU for each worker, where there are several and enough for them. One alone is left to the
/// kernel, which knows the CPUs that are free.
fn cpus_of(plan: &Plan) -> Vec<usize> {
    let cpus = thread::allowed_cpus().unwrap_or_default();
    let has_use = plan.pin && plan.workers > 1 && plan.workers <= cpus.len();
    if has_use { cpus } else { Vec::new() }
}

/// Lets the engine work over whatever was opened.
fn drive(job: &Job<'_>, opened: Opened, epoch_ns: u64, control: &Control, scribe: &mut Scribe<'_>) -> Sum {
    let offset = &clock::wall_minus_monotonic_ns;
    match opened {
        Opened::Sockets(transports) => {
            dnsdyno_engine::run(job, transports, epoch_ns, offset, control, scribe)
        }
        Opened::Tcp(transports) => dnsdyno_engine::run(job, transports, epoch_ns, offset, control, scribe),
        Opened::Dot(transports) => dnsdyno_engine::run(job, transports, epoch_ns, offset, control, scribe),
        Opened::Doh(transports) => dnsdyno_engine::run(job, transports, epoch_ns, offset, control, scribe),
        Opened::Doq(transports) => dnsdyno_engine::run(job, transports, epoch_ns, offset, control, scribe),
        Opened::Mixed(transports) => dnsdyno_engine::run(job, transports, epoch_ns, offset, control, scribe),
        Opened::Xdp(line) => {
            let fragments = line.fragment_counter();
            // The ports are held to the end.
            let XdpLine { transports, ports: _ports, .. } = *line;
            let mut sum = dnsdyno_engine::run(job, transports, epoch_ns, offset, control, scribe);
            sum.evidence.fragments = fragments();
            sum.warnings = verdict(&sum.tally, &sum.evidence);
            sum
        }
    }
}

/// Reads the queries, and says which lines were none.
fn load_questions(plan: &Plan) -> Result<Loaded, Failure> {
    let mut loaded = plan.source.load(plan.form, plan.strict).map_err(Failure::bad_input)?;
    for bad in &loaded.first_bad {
        tell(&format!("dnsdyno: skipped {bad}"));
    }
    let untold = loaded.bad_lines - loaded.first_bad.len() as u64;
    if untold > 0 {
        tell(&format!("dnsdyno: skipped {untold} more bad lines"));
    }
    if plan.groups_by_length() {
        loaded.questions.group_by_length(plan.seed);
    }
    Ok(loaded)
}

/// Makes the run's folder, with a plan that can be played again.
fn create_record(plan: &Plan, folder: &Path, header: &Header, host: &HostInfo) -> Result<RunWriter, Failure> {
    let mut draft = plan.to_draft();
    if plan.source == QuestionSource::Stdin {
        let kept = folder.join(KEPT_QUERIES);
        draft.queries = Some(std::path::absolute(&kept).unwrap_or(kept).display().to_string());
    }
    let plan_toml = draft.to_toml().map_err(Failure::run_failed)?;
    RunWriter::create(folder, header, &plan_toml, host).map_err(Failure::run_failed)
}

/// Writes the questions of standard input into the run's folder, so that its plan can be played
/// again. Never over those of another run.
fn keep_queries(questions: &Questions, folder: &Path) -> Result<(), Failure> {
    let path = folder.join(KEPT_QUERIES);
    let write = || -> std::io::Result<()> {
        std::fs::create_dir_all(folder)?;
        let mut file = std::io::BufWriter::new(std::fs::File::create_new(&path)?);
        for i in 0..questions.len() {
            let question = questions.question(i);
            let (name, fixed) = question.split_at(question.len() - 4);
            let qtype = u16::from_be_bytes([fixed[0], fixed[1]]);
            writeln!(file, "{} {}", dnsdyno_wire::name_to_text(name), dnsdyno_wire::type_name(qtype))?;
        }
        file.flush()
    };
    write()
        .with_context(|| {
            let path = path.display();
            format!("cannot keep the queries of standard input in {path}: choose another folder with --out")
        })
        .map_err(Failure::run_failed)
}

fn header_of(
    plan: &Plan,
    backend: BackendInfo,
    loaded: &Loaded,
    folder: &Path,
    started_unix_ns: u64,
) -> Header {
    let load = match (&plan.load, &plan.shape) {
        (Load::Closed { .. }, _) if plan.send_only => "flood, as fast as this host sends".to_owned(),
        (Load::Closed { outstanding }, _) => format!("closed loop, {outstanding} outstanding"),
        (Load::Open { window, .. }, shape) => {
            let shape = shape.as_ref().map_or_else(|| "open loop".to_owned(), ToString::to_string);
            window.map_or_else(|| shape.clone(), |window| format!("{shape}, at most {window} outstanding"))
        }
    };
    let phases =
        plan.load.curve().map_or_else(Vec::new, |curve| curve.phases().iter().map(phase_of).collect());
    let headline = if plan.load.curve().is_some() { Headline::Response } else { Headline::Service };
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    Header {
        run_id: format!("{name}-{:08x}", (started_unix_ns ^ plan.seed) as u32),
        started_unix_ns,
        command_line: std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        name: plan.name.clone(),
        note: plan.note.clone(),
        interval_ns: plan.interval_ns,
        timeout_ns: plan.timeout_ns,
        headline,
        types: loaded.questions.types().to_vec(),
        phases,
        target: plan.target.asked.clone(),
        address: plan.target.address,
        transport: plan.transport.to_string(),
        mix: plan.mix.members.iter().map(|member| member_info(plan, member)).collect(),
        backend,
        workers: plan.workers as u32,
        clients: plan.clients as u32,
        udp_sockets: plan.udp_sockets().map(|sockets| sockets as u32),
        questions: loaded.questions.len() as u64,
        bad_lines: loaded.bad_lines,
        send_only: plan.send_only,
        load,
    }
}

fn member_info(plan: &Plan, member: &MixMember) -> MemberInfo {
    let address = plan.target.address;
    MemberInfo {
        transport: member.transport.to_string(),
        share: plan.mix.share(member),
        address: SocketAddr::new(address.ip(), member.port(address.port())),
    }
}

fn phase_of(phase: &dnsdyno_plan::Phase) -> Phase {
    Phase { label: phase.label.clone(), from_ns: phase.from_ns, to_ns: phase.to_ns }
}

/// The number of queries after which the run ends, and what that end is called.
fn limit_of(plan: &Plan, questions: &Questions) -> Option<(u64, Ended)> {
    let limit = plan.stop.query_limit(questions.len())?;
    let what = if plan.stop.count == Some(limit) { Ended::ByCount } else { Ended::ByPasses };
    Some((limit, what))
}

/// When the last query is due, where the plan says so by time.
fn end_of_schedule(plan: &Plan) -> Option<u64> {
    plan.load.curve().map_or(plan.stop.duration_ns, |curve| curve.duration_ns())
}

/// `runs/2026-03-09T14-05-00`, with the run's name where it has one.
fn folder_of_now(plan: &Plan) -> PathBuf {
    let stamp = jiff::Zoned::now().strftime("%Y-%m-%dT%H-%M-%S").to_string();
    let name = match &plan.name {
        Some(name) => format!("{stamp}-{}", name.replace(|c: char| !c.is_alphanumeric(), "-")),
        None => stamp,
    };
    let first = Path::new("runs").join(&name);
    let numbered = (2..).map(|i| Path::new("runs").join(format!("{name}-{i}")));
    std::iter::once(first).chain(numbered).find(|folder| !folder.exists()).unwrap_or_default()
}

/// Hands what the engine tells to the record and the screen.
struct Scribe<'a> {
    writer: &'a mut RunWriter,
    screen: Screen,
    watch: Option<Watch>,
    told_trouble: bool,
}

impl Observer for Scribe<'_> {
    fn passed(&mut self, live: &Live<'_>) {
        self.screen.passed(live);
        let events = self.watch.as_mut().map(|watch| watch.look(live.to_ns));
        for event in events.unwrap_or_default() {
            self.screen.say(&format!("dnsdyno: {}", event.message));
            let written = self.writer.event(&event);
            self.mind(written);
        }
    }

    fn settled(&mut self, interval: &Interval) {
        let written = self.writer.interval(interval);
        self.mind(written);
    }

    fn stopping(&mut self, at_ns: u64) {
        self.screen.say("stopping: waiting for what is under way (Ctrl-C again ends now)");
        let event = Event {
            at_ns,
            kind: "interrupt".into(),
            message: "the user asked to stop sending".into(),
            figures: serde_json::Map::new(),
        };
        let written = self.writer.event(&event);
        self.mind(written);
    }
}

impl Scribe<'_> {
    /// A line that could not be written is kept and tried again; the user is told once.
    fn mind(&mut self, written: Result<(), dnsdyno_record::WriteError>) {
        match written {
            Err(error) if !self.told_trouble => {
                self.told_trouble = true;
                self.screen.say(&format!("dnsdyno: {error}"));
            }
            _ => {}
        }
    }
}

/// Reads the expectations of the command line.
pub(crate) fn parse_expectations(texts: &[String]) -> Result<Vec<Expectation>, Failure> {
    texts.iter().map(|text| Expectation::parse(text)).collect::<Result<_, _>>().map_err(Failure::bad_input)
}

/// Prints the summary and judges the expectations; gives the exit code.
pub(crate) fn print_summary(digest: &Digest, form: Form, expect: &[String]) -> Outcome {
    print_judged(digest, form, &parse_expectations(expect)?)
}

/// How a summary is to be printed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Form {
    /// As one JSON object.
    pub(crate) json: bool,
    /// With the workers one by one.
    pub(crate) verbose: bool,
    /// Columns of a line.
    pub(crate) width: usize,
}

fn print_judged(digest: &Digest, form: Form, expectations: &[Expectation]) -> Outcome {
    let Form { json, verbose, width } = form;
    let outcomes = evaluate(expectations, digest);
    let mut out = std::io::stdout().lock();
    let written = if json {
        let mut object = summary_json(digest);
        if !outcomes.is_empty() {
            object["expectations"] = outcomes.iter().map(judged_json).collect();
        }
        writeln!(out, "{object:#}")
    } else {
        let lines = outcomes.iter().map(judged_line);
        let gap = if outcomes.is_empty() { "" } else { "\n" };
        let each = if verbose { workers(digest, width) } else { String::new() };
        write!(out, "{}{each}{gap}{}", summary(digest, width), lines.collect::<String>())
    };
    written.map_err(Failure::run_failed)?;
    Ok(if outcomes.iter().all(|outcome| outcome.passed) { OK } else { EXPECTATION_FAILED })
}

/// One expectation as a line.
fn judged_line(judged: &Judged) -> String {
    let mark = if judged.passed { "met    " } else { "NOT MET" };
    format!("{mark}  {}  ({})\n", judged.text, judged.measured)
}

fn judged_json(judged: &Judged) -> serde_json::Value {
    serde_json::json!({ "expectation": judged.text, "measured": judged.measured, "passed": judged.passed })
}

/// The queries of standard input, in the run's folder.
const KEPT_QUERIES: &str = "queries.txt";
