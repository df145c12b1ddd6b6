//! The servers of a subject, from their start to their end: helpers first, then the server itself, in a network
//! namespace of their own where there is one.
//!
//! ```text
//!   generator, pinned to the first CPUs              server and helpers, pinned to the last ones
//!   [namespace near 10.77.0.1] ─────────────────────── [namespace far 10.77.0.2]
//! ```

mod commands;
mod standing;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use dnsdyno_lab::{
    Cancel, CpuGroup, Hierarchy, LabError, Namespace, Place as LabPlace, Server, ServerOptions, VethPair,
};
use dnsdyno_plan::TransportKind;
use dnsdyno_responder::Buckets;
use dnsdyno_responder::relay::{Relay, RelayOptions};
use serde_json::Value;

use super::cpus::Cpus;
use super::error::ExperimentError;
use super::kind::{Kind, Started};
use super::path::Between;
use super::place::Place;
use super::setup::Setup;
use super::subjects::Helper;
use super::timetable::Action;
use super::written::{end_of, last_line};
pub(super) use standing::Standing;
use standing::StandingPath;

/// What is needed to start a subject.
pub(super) struct Starter<'a> {
    pub(super) setup: &'a Setup,
    pub(super) place: &'a Place,
    pub(super) cpus: &'a Cpus,
    /// Whether servers are put into namespaces of their own.
    pub(super) in_namespaces: bool,
    /// Calls off the start.
    pub(super) cancel: &'a Cancel,
    /// The helpers that serve all subjects, once they are started.
    pub(super) kept: RefCell<Option<Arc<Standing>>>,
}

impl Starter<'_> {
    /// Starts the servers of a subject; returns when they answer.
    pub(super) fn start(&self, subject: usize) -> Result<Standing, ExperimentError> {
        let name = self.setup.design.subjects.get(subject).map_or("", |subject| &subject.name);
        let started = match self.setup.subjects.get(subject) {
            Some(Kind::There { address, is_allowed }) => {
                return Ok(Standing::there(address, *is_allowed, self.place));
            }
            Some(Kind::Started(started)) => started,
            None => return Ok(Standing::there("", false, self.place)),
        };
        let of_lab = |source| ExperimentError::Start { subject: name.to_owned(), source };
        let pair = self.in_namespaces.then(|| VethPair::new(1)).transpose().map_err(of_lab)?;
        if let (Some(helper), None) = (&started.hierarchy, &pair) {
            return Err(of_lab(LabError::Namespace {
                command: format!("resolve from the root of `{helper}`"),
                said: "the server has no namespace of its own, and would ask name servers elsewhere: root makes one"
                    .to_owned(),
            }));
        }
        if let Some(pair) = &pair {
            let set_near = |(key, value)| set(Some(pair.near()), key, value);
            GENERATOR.into_iter().try_for_each(set_near).map_err(of_lab)?;
        }
        for (key, value) in &started.sysctl {
            set(pair.as_ref().map(VethPair::far), key, value).map_err(of_lab)?;
        }
        let kept = self.kept()?;
        let mut standing = self.beginning(name, pair)?;
        standing.version = started.spec.version().ok();
        if let Some(kept) = &kept {
            let of_helpers = kept.values.iter().filter(|(name, _)| name.contains('.'));
            standing.values.extend(of_helpers.map(|(name, value)| (name.clone(), value.clone())));
        }
        standing.kept = kept;
        for helper in self.setup.helpers_of(started) {
            let address = standing.help(name, helper, self.place)?;
            if let Some(path) =
                started.path.as_ref().filter(|path| path.helper.as_ref() == Some(&helper.name))
            {
                let to = standing.relay(name, path, address)?;
                standing.know_at(&helper.name, to);
            }
        }
        standing.prepare(name, started)?;
        let address = standing.pair.as_ref().map_or(Ipv4Addr::LOCALHOST, |pair| pair.far().ipv4);
        let server = standing
            .options(started, address.into(), self.place)
            .and_then(|options| started.spec.start(&options));
        let server = server.map_err(of_lab)?;
        standing.know("server", &server);
        standing.wait_until_ready(name, started)?;
        let path = started.path.as_ref().filter(|path| path.helper.is_none());
        let asked = path.map(|path| standing.relay(name, path, server.address())).transpose()?;
        standing.is_behind_path = asked.is_some();
        standing.target = asked.unwrap_or(server.address()).to_string();
        standing.server = Some(Mutex::new(server));
        Ok(standing)
    }

    /// The helpers that serve all subjects; started if they are not, or if one of them has ended.
    fn kept(&self) -> Result<Option<Arc<Standing>>, ExperimentError> {
        let mut kept = self.kept.borrow_mut();
        if let Some(running) = kept.as_ref().filter(|running| running.ended().is_none()) {
            return Ok(Some(running.clone()));
        }
        let mut helpers = self.setup.helpers.iter().filter(|helper| helper.is_kept).peekable();
        if helpers.peek().is_none() {
            return Ok(None);
        }
        // What is left of those that ended goes first.
        *kept = None;
        let mut standing = self.beginning(HELPERS, None)?;
        for helper in helpers {
            standing.help(&helper.name, helper, self.place)?;
        }
        *kept = Some(Arc::new(standing));
        Ok(kept.clone())
    }

    /// Where servers are to stand: nothing is started yet.
    fn beginning(&self, name: &str, pair: Option<VethPair>) -> Result<Standing, ExperimentError> {
        let mut at = LabPlace { cpus: self.cpus.servers.clone(), ..LabPlace::default() };
        at.environment.extend([self.place.mark()]);
        at.namespace = pair.as_ref().map(|pair| pair.far().clone());
        let work = self.place.folder().join(format!("work-{}", name.replace('/', "-")));
        let io = |source| ExperimentError::Write { path: work.clone(), source };
        fs::create_dir_all(&work).map_err(io)?;
        let dnsdyno = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("dnsdyno"));
        let paths = [("work", &work), ("here", &self.setup.folder), ("dnsdyno", &dnsdyno)];
        let values = paths.map(|(name, path)| (name.to_owned(), path.display().to_string())).into();
        let cancel = self.cancel.clone();
        Ok(Standing { pair, at, cancel, work, values, ..Standing::there("", false, self.place) })
    }
}

impl Standing {
    fn there(address: &str, is_allowed: bool, place: &Place) -> Standing {
        Standing {
            paths: Vec::new(),
            is_behind_path: false,
            server: None,
            helpers: Vec::new(),
            kept: None,
            pair: None,
            target: address.to_owned(),
            is_allowed,
            version: None,
            at: LabPlace { environment: [place.mark()].into(), ..LabPlace::default() },
            cancel: Cancel::default(),
            work: place.folder().to_owned(),
            values: BTreeMap::new(),
        }
    }

    /// Where the server is asked over a transport: one that is encrypted at a port of its own, where its template has
    /// such a port.
    pub(super) fn target_over(&self, transport: Option<TransportKind>) -> String {
        let word = match transport {
            Some(TransportKind::Dot) => "dot",
            Some(TransportKind::Doh) => "doh",
            Some(TransportKind::Doq) => "doq",
            Some(TransportKind::Doh3) => "doh3",
            _ => return self.target.clone(),
        };
        let server = self.server.as_ref().filter(|_| !self.is_behind_path);
        let listener = server.and_then(|server| lock(server).listener(word));
        listener.map_or_else(|| self.target.clone(), |address| address.to_string())
    }

    /// The namespaces of the generator and of the servers.
    pub(super) fn pair(&self) -> Option<&VethPair> {
        self.pair.as_ref()
    }

    /// The configuration and the log of the server, where it was started.
    pub(super) fn files(&self) -> Option<[PathBuf; 2]> {
        let server = lock(self.server.as_ref()?);
        Some([server.config_path(), server.log_path()])
    }

    /// How the server ended, or a helper; `None` while all of them run.
    pub(super) fn ended(&self) -> Option<String> {
        let of = |name: &str, server: &Mutex<Server>| {
            let mut server = lock(server);
            let status = server.ended()?;
            let log = end_of(&server.log_path()).unwrap_or_default();
            let said = last_line(&String::from_utf8_lossy(&log))
                .map_or(String::new(), |line| format!("; the last line of its log: {line}"));
            Some(format!("{name} ended during the run ({status}){said}"))
        };
        let of_helper =
            || self.all_helpers().find_map(|(name, server)| of(&format!("the helper {name}"), server));
        self.server.as_ref().and_then(|server| of("the server", server)).or_else(of_helper)
    }

    /// The helpers, with those that are kept.
    fn all_helpers(&self) -> impl Iterator<Item = &(String, Mutex<Server>)> {
        self.helpers.iter().chain(self.kept.iter().flat_map(|kept| &kept.helpers))
    }

    /// Does something to the server, or to a helper.
    pub(super) fn act(&self, action: &Action, helper: Option<&str>) -> Result<(), LabError> {
        let server = match helper {
            Some(helper) => self.all_helpers().find(|(name, _)| name == helper).map(|(_, server)| server),
            None => self.server.as_ref(),
        };
        let Some(server) = server else { return Ok(()) };
        let mut server = lock(server);
        match action {
            Action::Stop => server.pause(),
            Action::Continue => server.resume(),
            Action::Kill => server.kill().map(drop),
            Action::Restart => server.restart(),
            Action::Command(_) | Action::Pause(_) | Action::Path(_) | Action::Nothing => Ok(()),
        }
    }

    /// Starts a helper; returns its address.
    fn help(&mut self, subject: &str, helper: &Helper, place: &Place) -> Result<SocketAddr, ExperimentError> {
        let of_lab = |source| ExperimentError::Start { subject: subject.to_owned(), source };
        self.prepare(subject, &helper.how)?;
        let options = self.options(&helper.how, Ipv4Addr::LOCALHOST.into(), place).map_err(of_lab)?;
        let server = helper.how.spec.start(&options).map_err(of_lab)?;
        self.know(&helper.name, &server);
        self.wait_until_ready(subject, &helper.how)?;
        let address = server.address();
        self.helpers.insert(0, (helper.name.clone(), Mutex::new(server)));
        Ok(address)
    }

    /// Starts a relay beside the servers, and returns where it listens.
    fn relay(
        &mut self,
        subject: &str,
        path: &Between,
        server: SocketAddr,
    ) -> Result<SocketAddr, ExperimentError> {
        let listen = SocketAddr::new(server.ip(), 0);
        let options = RelayOptions { listen, path: path.path.clone(), ..RelayOptions::to(server) };
        let started = match &self.pair {
            Some(pair) => pair.far().enter(|| Relay::start(options))?,
            None => Relay::start(options),
        };
        let relay =
            started.map_err(|source| ExperimentError::Path { subject: subject.to_owned(), source })?;
        let address = relay.address();
        self.paths.push(StandingPath { between: path.clone(), relay });
        Ok(address)
    }

    /// What `auto` is here. Where the process that listens at the target is a relay of ours, it would find that one;
    /// and it knows no helpers.
    pub(super) fn watched(&self) -> Vec<String> {
        let behind_path =
            self.server.as_ref().filter(|_| self.is_behind_path).map(|server| lock(server).pid());
        let mut words = match behind_path {
            Some(pid) => {
                let of_namespace = self.pair.as_ref().map(|_| format!("host={pid}"));
                let words = ["host".to_owned()].into_iter().chain(of_namespace);
                words.chain([format!("process={pid}")]).collect()
            }
            None => vec![AUTO.to_owned()],
        };
        // Where its configuration does not tell it.
        words.extend(self.server.as_ref().and_then(|server| lock(server).watch().map(str::to_owned)));
        for (_, server) in self.all_helpers() {
            let server = lock(server);
            // A helper without statistics of its own is not looked at.
            let statistics = server.watch().map(str::to_owned);
            words.extend(
                statistics.into_iter().flat_map(|words| [format!("process={}", server.pid()), words]),
            );
        }
        words
    }

    /// What each path is, and what it did so far.
    pub(super) fn paths(&self) -> Vec<(String, Value)> {
        let of =
            |path: &StandingPath| (path.between.words.clone(), path.relay.counts().to_json(Buckets::Without));
        self.paths.iter().map(of).collect()
    }

    /// Datagrams that the paths have lost, and not on command.
    pub(super) fn lost_by_paths(&self) -> u64 {
        let of = |path: &StandingPath| {
            let counts = path.relay.counts();
            let ways = [&counts.to_server, &counts.to_client];
            ways.iter().map(|way| way.datagrams.own_losses()).sum::<u64>() + counts.kernel_drops
        };
        self.paths.iter().map(of).sum()
    }

    /// Notes where a server is, for placeholders and the environment of commands.
    fn know(&mut self, name: &str, server: &Server) {
        let address = server.address();
        self.know_at(name, address);
        let facts = [("folder", server.folder().display().to_string()), ("pid", server.pid().to_string())];
        self.values.extend(facts.map(|(fact, value)| (format!("{name}.{fact}"), value)));
        self.values
            .extend(server.ports().map(|(port, number)| (format!("{name}.{port}"), number.to_string())));
    }

    /// Notes the address at which others ask a server.
    fn know_at(&mut self, name: &str, address: SocketAddr) {
        let facts = [("address", address.ip().to_string()), ("port", address.port().to_string())];
        self.values.extend(facts.map(|(fact, value)| (format!("{name}.{fact}"), value)));
    }

    fn options(&self, started: &Started, address: IpAddr, place: &Place) -> Result<ServerOptions, LabError> {
        let usual = ServerOptions::default();
        let mut values: BTreeMap<String, String> =
            started.values.iter().map(|(name, value)| (name.clone(), self.filled(value))).collect();
        // A resolver answers to its own host only, unless it is told otherwise.
        if self.pair.is_some() && started.spec.defaults().contains_key(CLIENTS) {
            values.entry(CLIENTS.to_owned()).or_insert_with(|| NEAR_AND_FAR.to_owned());
        }
        let mut at = self.at.clone();
        at.open_files = started.open_files;
        at.cpu_group = started.cpu_quota.map(cpu_group).transpose()?;
        at.environment.extend(
            started.environment.iter().map(|(name, value)| (name.clone(), self.filled(value.exposed()))),
        );
        let stub = started.stub.as_deref().and_then(|stub| self.stub(stub));
        Ok(ServerOptions {
            zone: started.zone.clone(),
            address,
            place: at,
            threads: started.threads,
            receive_buffer_bytes: started.receive_buffer_bytes.unwrap_or(usual.receive_buffer_bytes),
            stub,
            hierarchy: started.hierarchy.as_deref().and_then(|helper| self.hierarchy(helper)),
            within: Some(place.folder().to_owned()),
            ready_within: started.ready_within.unwrap_or(usual.ready_within),
            cancel: self.cancel.clone(),
            parts: started.parts.clone(),
            values,
            settings: started.settings.clone(),
        })
    }

    /// The address of a helper, or the address as it is written.
    fn stub(&self, stub: &str) -> Option<SocketAddr> {
        // Through its path, where it has one.
        let of_helper = || {
            let fact = |fact: &str| self.values.get(&format!("{stub}.{fact}"));
            Some(SocketAddr::new(fact("address")?.parse().ok()?, fact("port")?.parse().ok()?))
        };
        stub.parse().ok().or_else(of_helper)
    }

    /// The root of a helper, by the files that it has written; without an anchor nothing in it is signed.
    fn hierarchy(&self, helper: &str) -> Option<Hierarchy> {
        let folder = PathBuf::from(self.values.get(&format!("{helper}.folder"))?);
        let anchor = Some(folder.join(ANCHOR_FILE)).filter(|path| path.exists());
        Some(Hierarchy { hints: folder.join(HINTS_FILE), anchor })
    }
}

/// A control group with this share of a CPU.
fn cpu_group(share: f64) -> Result<Arc<CpuGroup>, LabError> {
    CpuGroup::new(QUOTA_PERIOD.mul_f64(share.max(SMALLEST_QUOTA)), QUOTA_PERIOD).map(Arc::new)
}

/// Sets a parameter of the kernel in a namespace.
fn set(at: Option<&Namespace>, key: &str, value: &str) -> Result<(), LabError> {
    let failed = |said: String| LabError::Namespace { command: format!("set {key} = {value}"), said };
    let Some(at) = at else {
        return Err(failed(
            "the server has no namespace of its own: root makes one, or remove `sysctl`".to_owned(),
        ));
    };
    let path = Path::new("/proc/sys").join(key.replace('.', "/"));
    let written = at.enter(|| fs::write(&path, value))?;
    written.map_err(|error| failed(format!("{error}; namespaces have not every setting of the host")))
}

fn lock(server: &Mutex<Server>) -> MutexGuard<'_, Server> {
    server.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Local ports for as many new connections as a server can take: all that services do not have, each again a second
/// after its connection.
const GENERATOR: [(&str, &str); 2] =
    [("net.ipv4.ip_local_port_range", "1024 65535"), ("net.ipv4.tcp_tw_reuse", "1")];

/// The usual period of a service.
const QUOTA_PERIOD: Duration = Duration::from_millis(100);

/// The kernel takes no less than a millisecond.
const SMALLEST_QUOTA: f64 = 0.01;

/// The value of a template that says who may ask.
const CLIENTS: &str = "clients";

/// Both ends of a pair of namespaces.
const NEAR_AND_FAR: &str = "10.77.0.0/24";

/// What finds by itself what can be watched.
pub(super) const AUTO: &str = "auto";

/// What a helper with a root of its own writes into its folder for resolvers: the hints, and the trust anchor where it
/// is signed.
const HINTS_FILE: &str = "root.hints";
const ANCHOR_FILE: &str = "root.key";

/// Instead of the name of a subject: that of the helpers that serve all.
const HELPERS: &str = "helpers";
