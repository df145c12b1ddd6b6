//! The agent: makes its part of each run that its coordinator wants, with a runner of its host, and sends the record as
//! it grows.
//!
//! ```text
//!   link ──► a thread that reads ──► this thread: orders, clocks, files ──► thread of a run ──► its own record
//!        ◄── a thread that sends ◄────────────────────────────────────────── lines, notes, intervals
//!            a thread that looks: says that it is there, and ends the load when nobody says so here
//! ```

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use std::{fs, io};

use dnsdyno_plan::Draft;
use dnsdyno_queries::TsigText;
use dnsdyno_runner::{Control, RunError, StopCause, host_facts};
use dnsdyno_sys::process::effective_user;
use dnsdyno_sys::{clock, thread as sys_thread};
use dnsdyno_text::secret::Masked;
use dnsdyno_text::shown;

use crate::agent_run::{AgentRun, MakeRunner};
use crate::broker_files::BrokerFiles;
use crate::calibration;
use crate::files::Store;
use crate::frame::{Frame, Kind};
use crate::link::{Link, Outbox, Receive};
use crate::messages::{AgentFacts, Order, PROTOCOL, RefusalCause, Report, Stop, Task};
use crate::permission::Permission;
use crate::process_link;
use crate::signed::Signed;
use crate::signing::{Door, Refusal, unix_s};

/// An agent of this host.
#[derive(Debug)]
pub struct Agent {
    /// What it may load.
    pub permission: Permission,
    /// Where it keeps records and files, in a folder of its own, which it removes when nothing in it is needed.
    pub folder: PathBuf,
    /// Makes what makes its runs.
    pub runner: MakeRunner,
}

/// Serves the coordinator that has started this process, over standard input and output, until it ends. Returns the
/// folder of records that the coordinator has not received whole, if there are any.
///
/// # Errors
/// The system gives no thread.
pub fn serve(agent: Agent) -> io::Result<Option<PathBuf>> {
    serve_over(agent, process_link::of_this_process())
}

/// The same over any link.
///
/// # Errors
/// As of [`serve`].
pub fn serve_over(agent: Agent, link: Link) -> io::Result<Option<PathBuf>> {
    let Link { send, receive } = link;
    Session::begin(agent, Outbox::new(send)?, None)?.serve(receive)
}

/// The same over a link at whose other end anyone may be.
pub(crate) fn serve_guarded(agent: Agent, link: Link, guarded: Guarded) -> io::Result<Option<PathBuf>> {
    let Link { send, receive } = link;
    Session::begin(agent, Outbox::new(send)?, Some(guarded))?.serve(receive)
}

/// What stands between an agent and coordinators that it has not been started by.
#[derive(Debug)]
pub(crate) struct Guarded {
    pub(crate) door: Door,
    /// Where files may be that a task names.
    pub(crate) broker_files: BrokerFiles,
    pub(crate) turn: Turn,
    pub(crate) log: fn(&str),
}

/// One coordinator at a time has the load of an agent: what it may load is meant for all of them together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Turn(Arc<AtomicBool>);

/// Whoever has the turn. It ends with this.
struct Taken(Turn);

impl Turn {
    fn is_taken(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }

    fn take(&self) -> Option<Taken> {
        let was_taken = self.0.swap(true, Ordering::AcqRel);
        (!was_taken).then(|| Taken(self.clone()))
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.0.0.store(false, Ordering::Release);
    }
}

/// An agent with a coordinator.
struct Session {
    agent: Agent,
    outbox: Outbox,
    guarded: Option<Guarded>,
    store: Store,
    /// A task whose files are on their way, and how many of them.
    incoming: Option<(Box<Task>, usize)>,
    run: Option<RunInProgress>,
    shared: Arc<Shared>,
    runs: u64,
    /// The record that the coordinator has not received whole.
    unreceived: Vec<PathBuf>,
}

/// A run in a thread of its own.
struct RunInProgress {
    control: Arc<Control>,
    start: Sender<u64>,
    thread: JoinHandle<()>,
}

/// What the thread that looks has to know.
struct Shared {
    heard_ns: AtomicU64,
    /// Of a guarded session, from its first task on, until nobody is there and nothing is made.
    turn: Mutex<Option<Taken>>,
    makes: AtomicBool,
    control: Mutex<Option<Arc<Control>>>,
}

impl Session {
    fn begin(agent: Agent, outbox: Outbox, guarded: Option<Guarded>) -> io::Result<Session> {
        let shared = Arc::new(Shared {
            heard_ns: clock::monotonic_ns().into(),
            turn: Mutex::default(),
            makes: false.into(),
            control: Mutex::default(),
        });
        let (looking, looked) = (Arc::downgrade(&shared), outbox.clone());
        thread::Builder::new().name("looks".to_owned()).spawn(move || {
            while let Some(shared) = looking.upgrade() {
                looked.message(&Report::Alive);
                shared.end_if_alone();
                drop(shared);
                thread::sleep(ALIVE_EVERY);
            }
        })?;
        // A task of whoever is on a broker names no file of this host.
        let store = Store::new(agent.folder.join("files"), guarded.is_none());
        Ok(Session {
            agent,
            outbox,
            guarded,
            store,
            incoming: None,
            run: None,
            shared,
            runs: 0,
            unreceived: Vec::new(),
        })
    }

    /// Follows orders until the link ends, or nobody has been there for long: a cut network does not end a link.
    fn serve(mut self, receive: Box<dyn Receive>) -> io::Result<Option<PathBuf>> {
        let frames = read(receive, Arc::clone(&self.shared))?;
        while let Some((frame, heard_ns)) = self.next_frame(&frames) {
            match frame.kind {
                // Of a newer coordinator: what it means is not known here.
                Kind::Message => match serde_json::from_slice(&frame.octets) {
                    Ok(order) => self.follow(order, heard_ns),
                    Err(_) => continue,
                },
                Kind::File => {
                    let kept = self.store.part(&frame.octets);
                    self.file_came(kept);
                }
                Kind::Line => {}
            }
        }
        // Nobody is there any more: what was sent is recorded, and nothing more is sent.
        if let Some(run) = self.run.take() {
            run.control.end(StopCause::HangUp);
            let _ = run.thread.join();
        }
        Ok(self.clean_up())
    }

    /// What has come next, and when; `None` after the last.
    fn next_frame(&self, frames: &Receiver<(Frame, u64)>) -> Option<(Frame, u64)> {
        loop {
            match frames.recv_timeout(ALIVE_EVERY) {
                Ok(heard) => return Some(heard),
                Err(RecvTimeoutError::Timeout) if self.shared.silent_ns() < GONE_AFTER_NS => {}
                Err(_) => return None,
            }
        }
    }

    fn follow(&mut self, order: Order, heard_ns: u64) {
        match order {
            Order::Hello { .. } => {
                let facts = facts(&self.agent.permission);
                self.outbox.message(&Report::Hello { protocol: PROTOCOL, facts });
            }
            Order::Clock { number } => self.outbox.message_now(|| Report::Clock {
                number,
                received_ns: heard_ns,
                sent_ns: clock::monotonic_ns(),
            }),
            Order::Alive => {}
            Order::Prepare(task) => match self.guarded {
                None => self.prepare(task),
                Some(_) => self.refuse(&Refusal::Unsigned.to_string(), RefusalCause::Other),
            },
            Order::Nonce => {
                let nonce = self.guarded.as_mut().and_then(|guarded| guarded.door.nonce());
                nonce.into_iter().for_each(|nonce| self.outbox.message(&Report::Nonce(nonce)));
            }
            Order::Signed(signed) => self.admit(&signed),
            Order::Calibrate => self.calibrate(),
            Order::Examine => self.examine(),
            Order::File { hash, bytes } if self.names(&hash, bytes) => {
                let kept = self.store.begin(&hash, bytes);
                if kept.is_err() || bytes == 0 {
                    self.file_came(kept);
                }
            }
            Order::Stored { hash, bytes } if self.names(&hash, bytes) => match self.fetch(&hash, bytes) {
                Ok(()) => self.file_came(Ok(())),
                Err(why) => {
                    self.log(&format!("the file {hash} of the broker's object store: {why}"));
                    self.outbox.message(&Report::NotStored { hash });
                }
            },
            Order::File { hash, .. } | Order::Stored { hash, .. } => {
                self.log(&format!("a file {} that no task names", shown(&hash, 80)));
            }
            Order::Start { epoch_ns } => {
                if let Some(run) = &self.run {
                    // The run was stopped meanwhile, if nobody takes it.
                    let _ = run.start.send(epoch_ns);
                }
            }
            Order::Stop { how, at_once } => {
                let Some(run) = &self.run else { return };
                match at_once {
                    true => run.control.end(cause_of(how)),
                    // It may have stopped itself, and others do now.
                    false => run.control.stop_sending(cause_of(how)),
                }
            }
            Order::Received => {
                if let Some(folder) = self.unreceived.pop() {
                    let _ = fs::remove_dir_all(folder);
                }
            }
        }
    }

    /// Takes a task over a link at whose other end anyone may be.
    fn admit(&mut self, signed: &Signed) {
        let Some(guarded) = &mut self.guarded else { return };
        let task = match guarded.door.admit(signed, unix_s()) {
            Ok(task) => task,
            Err(refusal) => return self.refuse(&refusal.to_string(), RefusalCause::Other),
        };
        let has_turn = {
            let mut taken = self.shared.turn.lock().unwrap_or_else(PoisonError::into_inner);
            if taken.is_none() {
                *taken = guarded.turn.take();
            }
            taken.is_some()
        };
        match has_turn {
            true => self.prepare(Box::new(task)),
            false => self.refuse("it makes the load of another coordinator", RefusalCause::Other),
        }
    }

    fn refuse(&self, why: &str, cause: RefusalCause) {
        self.log(why);
        self.outbox.message(&Report::Refused { why: why.to_owned(), cause });
    }

    /// Tells the owner of this host what was refused, where others than its users can ask.
    fn log(&self, why: &str) {
        if let Some(guarded) = &self.guarded {
            (guarded.log)(&format!("refused: {why}"));
        }
    }

    /// Asks for the files of a task, or makes its run ready.
    fn prepare(&mut self, task: Box<Task>) {
        if self.run.as_ref().is_some_and(|run| !run.thread.is_finished()) {
            let why = "it still makes another run".to_owned();
            return self.outbox.message(&Report::Refused { why, cause: RefusalCause::Other });
        }
        let hashes = self.store.lacks(&task.files);
        match hashes.len() {
            0 => self.make(task),
            lacking => {
                self.incoming = Some((task, lacking));
                self.outbox.message(&Report::Lacks { hashes });
            }
        }
    }

    /// Whether the task that waits for files names this one.
    fn names(&self, hash: &str, bytes: u64) -> bool {
        let waiting = self.incoming.iter().flat_map(|(task, _)| &task.files);
        waiting.into_iter().any(|info| info.hash == hash && info.bytes == bytes)
    }

    /// Takes a file out of the object store of the broker.
    fn fetch(&mut self, hash: &str, bytes: u64) -> Result<(), String> {
        let Some(guarded) = &self.guarded else { return Err("this link has none".to_owned()) };
        let (store, shared) = (&mut self.store, &self.shared);
        store.begin(hash, bytes)?;
        guarded.broker_files.get(hash, &mut |part| {
            // Meanwhile no frame is taken, and so none is read.
            shared.heard_ns.store(clock::monotonic_ns(), Ordering::Relaxed);
            store.part(part)
        })?;
        match store.is_whole() {
            true => Ok(()),
            false => Err("it ends too early".to_owned()),
        }
    }

    /// How fast this host is; nothing while it makes a run, which this would disturb.
    fn calibrate(&self) {
        self.outbox.message(&Report::Calibrated { speed: self.is_free().then(calibration::speed).flatten() });
    }

    /// Whether it makes no run, for this coordinator or another.
    fn is_free(&self) -> bool {
        let is_taken = self.guarded.as_ref().is_some_and(|guarded| guarded.turn.is_taken());
        !is_taken && !self.shared.makes.load(Ordering::Acquire)
    }

    /// Looks at this host for a doctor, which takes a second; nothing while it makes a run, which this would disturb.
    /// Whoever asks again meanwhile waits: at a broker anyone may ask.
    fn examine(&self) {
        let facts = self.is_free().then(|| host_facts(None, None).ok()).flatten();
        self.outbox.message(&Report::Examined { facts });
    }

    /// A file, or a part of it, has come; when it was the last one, the run is made ready.
    fn file_came(&mut self, kept: Result<(), String>) {
        let Some((task, lacking)) = &mut self.incoming else { return };
        if let Err(why) = kept {
            self.incoming = None;
            return self.outbox.message(&Report::Refused { why, cause: RefusalCause::Other });
        }
        *lacking = self.store.lacks(&task.files).len();
        if *lacking == 0
            && let Some((task, _)) = self.incoming.take()
        {
            self.make(task);
        }
    }

    /// Makes the run of a task in a thread of its own.
    fn make(&mut self, task: Box<Task>) {
        self.runs += 1;
        let folder = self.agent.folder.join(format!("run-{}", self.runs));
        let draft = match self.draft_of(&task) {
            Ok(draft) => draft,
            Err(why) => return self.refuse(&why, RefusalCause::BadInput),
        };
        let control = Arc::new(Control::default());
        let (start, starts) = channel();
        let part = AgentRun {
            draft,
            may_load: task.may_load,
            permission: self.agent.permission.clone(),
            runner: self.agent.runner,
            folder: folder.clone(),
            outbox: self.outbox.clone(),
            log: self.guarded.as_ref().map(|guarded| guarded.log),
            control: Arc::clone(&control),
            starts,
        };
        *self.shared.control.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&control));
        let shared = Arc::clone(&self.shared);
        shared.makes.store(true, Ordering::Release);
        let spawned = thread::Builder::new().name("run".to_owned()).spawn(move || {
            part.make();
            shared.makes.store(false, Ordering::Release);
        });
        match spawned {
            Ok(thread) => self.run = Some(RunInProgress { control, start, thread }),
            Err(error) => {
                self.shared.makes.store(false, Ordering::Release);
                let why = RunError::Thread(error).to_string();
                self.outbox.message(&Report::Refused { why, cause: RefusalCause::Other });
            }
        }
        self.unreceived.push(folder);
    }

    /// The options of a task, with the paths of this host.
    fn draft_of(&self, task: &Task) -> Result<Draft, String> {
        let mut draft = Draft::from_toml(&task.plan)?;
        draft.watch = task.watch.clone().map(|all| all.into_iter().map(Masked::from).collect());
        self.store.resolve(&mut draft, &task.files)?;
        draft.tsig = task.tsig.clone().map(TsigText::from).or(draft.tsig);
        // Not the plan decides it here, but the permission of this host.
        draft.i_may_load_this_server = Some(true);
        Ok(draft)
    }

    /// Removes what nobody needs. Returns the folder of the record that is still needed, or of all of them.
    fn clean_up(&self) -> Option<PathBuf> {
        let has_record = |folder: &&PathBuf| folder.join(dnsdyno_record::PLAN_FILE).exists();
        let kept: Vec<&PathBuf> = self.unreceived.iter().filter(has_record).collect();
        let _ = match kept[..] {
            [] => fs::remove_dir_all(&self.agent.folder),
            _ => fs::remove_dir_all(self.agent.folder.join("files")),
        };
        match kept[..] {
            [] => None,
            [one] => Some(one.clone()),
            _ => Some(self.agent.folder.clone()),
        }
    }
}

/// Reads frames in a thread of its own, with the instant at which each came.
fn read(mut receive: Box<dyn Receive>, shared: Arc<Shared>) -> io::Result<Receiver<(Frame, u64)>> {
    let (came, frames) = sync_channel(FRAMES_WAITING);
    thread::Builder::new().name("reads".to_owned()).spawn(move || {
        while let Ok(Some(frame)) = receive.receive() {
            let heard_ns = clock::monotonic_ns();
            shared.heard_ns.store(heard_ns, Ordering::Relaxed);
            if came.send((frame, heard_ns)).is_err() {
                return;
            }
        }
    })?;
    Ok(frames)
}

impl Shared {
    /// How long nothing has come.
    fn silent_ns(&self) -> u64 {
        clock::monotonic_ns().saturating_sub(self.heard_ns.load(Ordering::Relaxed))
    }

    /// Ends the load when nothing was heard of the coordinator for too long.
    fn end_if_alone(&self) {
        if self.silent_ns() <= ALONE_AFTER_NS {
            return;
        }
        if let Some(control) = &*self.control.lock().unwrap_or_else(PoisonError::into_inner) {
            control.end(StopCause::HangUp);
        }
        if !self.makes.load(Ordering::Acquire) {
            self.turn.lock().unwrap_or_else(PoisonError::into_inner).take();
        }
    }
}

/// What an agent says of its host.
fn facts(permission: &Permission) -> AgentFacts {
    let read = |path: &str| fs::read_to_string(path).map(|text| text.trim().to_owned()).unwrap_or_default();
    AgentFacts {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        host: read("/proc/sys/kernel/hostname"),
        boot: read("/proc/sys/kernel/random/boot_id"),
        kernel: read("/proc/sys/kernel/osrelease"),
        cpus: sys_thread::allowed_cpus().map_or(1, |cpus| cpus.len() as u32),
        wall_clock_bound_ns: clock::wall_clock_bound_ns(),
        may_use_xdp: effective_user() == 0,
        permission: permission.to_string(),
    }
}

fn cause_of(how: Stop) -> StopCause {
    match how {
        Stop::Interrupt => StopCause::Interrupt,
        Stop::Terminate => StopCause::Terminate,
        Stop::HangUp => StopCause::HangUp,
        Stop::Condition => StopCause::Condition,
        Stop::NoLongerWaiting => StopCause::NoLongerWaiting,
    }
}

/// How often each side says that it is there.
pub(crate) const ALIVE_EVERY: Duration = Duration::from_millis(500);

/// After so long without its coordinator, an agent ends its load: with the time that the end takes, within five
/// seconds.
const ALONE_AFTER_NS: u64 = 3_500_000_000;

/// After so long, an agent takes its coordinator for gone, and ends.
pub(crate) const GONE_AFTER_NS: u64 = 30_000_000_000;

/// Frames that have come and are not yet followed.
const FRAMES_WAITING: usize = 4;
