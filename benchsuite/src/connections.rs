//! Transports with connections: TCP, the fallback from UDP, DoT, DoH and DoQ, with kept connections or one for each
//! query. The server is BIND, except for TCP with a connection for each query, which Knot accepts faster, and for DoQ,
//! where our own responder serves both sides of the comparison.

use std::path::{Path, PathBuf};

use anyhow::Context;
use dnsdyno_lab::{Certificate, Server, ServerOptions, ServerSpec, Zone};

use crate::loopback_comparison::{LoopbackComparison, PER_CPU_SECOND, PER_SECOND};
use crate::programs::{Generator, QUERY, Target};
use crate::report::Section;
use crate::responder::Responder;
use crate::rig::find_peer;
use crate::setting::Setting;

/// TCP, ten connections kept.
pub(crate) fn tcp_kept(setting: &Setting) -> anyhow::Result<Section> {
    let bind = Bind::example(setting)?;
    let pair = Pair {
        name: "tcp-kept",
        what: "TCP, 10 connections kept, 100 queries outstanding",
        ours: "--transport tcp --clients 10 --outstanding 100",
        theirs: "-m tcp -c 10 -q 100",
        anomalies: None,
        bar: Bar::PerCpuSecond(2.0),
    };
    against_dnsperf(setting, &bind.plain(), pair)
}

/// TCP, a connection for each query; against Knot, which accepts them faster than BIND.
pub(crate) fn tcp_each(setting: &Setting) -> anyhow::Result<Section> {
    let knot = ServerSpec::named("knot")?.start(&ServerOptions::default())?;
    let server = Asked {
        port: knot.address().port(),
        trust: String::new(),
        name: "Knot",
        command: "knot, one thread, as testbed/servers/knot.toml says".to_owned(),
    };
    let pair = Pair {
        name: "tcp-each",
        what: "TCP, a connection for each query, 10 at once; dnsdyno from 16 addresses, to have enough ports",
        ours: "--transport tcp --queries-per-connection 1 --outstanding 10 --local-address 127.0.1.0/28",
        theirs: "-m tcp -c 10 -q 10 -O num-queries-per-conn=1",
        anomalies: Some(("dnsperf, 100 at once", "-m tcp -c 100 -q 100 -O num-queries-per-conn=1")),
        bar: Bar::PerSecond(50.0),
    };
    against_dnsperf(setting, &server, pair)
}

/// DoT, ten connections kept.
pub(crate) fn dot_kept(setting: &Setting) -> anyhow::Result<Section> {
    let bind = Bind::example(setting)?;
    let pair = Pair {
        name: "dot-kept",
        what: "DoT, 10 connections kept, 100 queries outstanding",
        ours: "--transport dot --clients 10 --outstanding 100",
        theirs: "-m dot -c 10 -q 100",
        anomalies: None,
        bar: Bar::PerCpuSecond(1.5),
    };
    against_dnsperf(setting, &bind.encrypted("dot")?, pair)
}

/// DoT, a connection for each query, against our own responder, so that only the handshakes limit either side.
pub(crate) fn dot_each(setting: &Setting) -> anyhow::Result<Section> {
    let responder = Responder::start_encrypted(setting, "--threads 1", "responder")?;
    let encrypted = responder.encrypted("dot")?;
    let server = Asked {
        port: encrypted.port,
        trust: format!(" --ca {}", encrypted.ca.display()),
        name: "our responder",
        command: responder.command().to_owned(),
    };
    against_dnsperf(setting, &server, one_query_over_dot("dot-each"))
}

/// The same against BIND. Its CPU time, and its wait for an acknowledgement between session tickets and response, are
/// then part of the figure.
pub(crate) fn dot_each_bind(setting: &Setting) -> anyhow::Result<Section> {
    let bind = Bind::example(setting)?;
    against_dnsperf(setting, &bind.encrypted("dot")?, one_query_over_dot("dot-each-bind"))
}

fn one_query_over_dot(name: &'static str) -> Pair<'static> {
    Pair {
        name,
        what: "DoT, a connection for each query, 10 at once; dnsdyno verifies certificates and resumes nothing",
        ours: "--transport dot --queries-per-connection 1 --outstanding 10 --no-resumption",
        theirs: "-m dot -c 10 -q 10 -O num-queries-per-conn=1",
        anomalies: Some(("dnsperf, 100 at once", "-m dot -c 100 -q 100 -O num-queries-per-conn=1")),
        bar: Bar::PerSecond(20.0),
    }
}

/// DoH over HTTP/2, ten connections kept.
pub(crate) fn doh_kept(setting: &Setting) -> anyhow::Result<Section> {
    let bind = Bind::example(setting)?;
    let server = bind.encrypted("doh")?;
    let theirs = format!(
        "-m doh -c 10 -q 100 -O doh-method=GET -O doh-uri=https://127.0.0.1:{}/dns-query",
        server.port
    );
    let pair = Pair {
        name: "doh-kept",
        what: "DoH over HTTP/2 (GET), 10 connections kept, 100 queries outstanding",
        ours: "--transport doh --http-method get --clients 10 --outstanding 100",
        theirs: &theirs,
        anomalies: None,
        bar: Bar::PerCpuSecond(1.5),
    };
    against_dnsperf(setting, &server, pair)
}

/// DoQ, ten connections kept, against our own DoT; our own responder serves both, faster than both can send.
pub(crate) fn doq_kept(setting: &Setting) -> anyhow::Result<Section> {
    let responder = Responder::start_encrypted(setting, "--threads 1", "responder")?;
    let asked = |transport: &str| {
        let encrypted = responder.encrypted(transport)?;
        let trust = format!(" --ca {}", encrypted.ca.display());
        let command = responder.command().to_owned();
        anyhow::Ok(Asked { port: encrypted.port, trust, name: "our responder", command })
    };
    quic_against_tls(setting, "doq-kept", &asked("doq")?, &asked("dot")?)
}

/// The same against a real server with both transports. It closes a QUIC connection after a hundred queries, so that
/// handshakes are part of the figure.
pub(crate) fn doq_kept_hickory(setting: &Setting) -> anyhow::Result<Section> {
    let certificate = Certificate::make()?;
    let options = ServerOptions {
        parts: vec!["dot_doq".to_owned()],
        values: certificate.values(),
        ..ServerOptions::default()
    };
    let server = ServerSpec::named("hickory")?.start(&options)?;
    let ca = trusted(setting, &certificate)?;
    let asked = |transport: &str| {
        let address = server.listener(transport).with_context(|| format!("Hickory has no {transport}"))?;
        let trust = format!(" --ca {}", ca.display());
        let command = "hickory, one thread, as testbed/servers/hickory.toml says, with its part dot_doq";
        anyhow::Ok(Asked { port: address.port(), trust, name: "Hickory DNS", command: command.to_owned() })
    };
    quic_against_tls(setting, "doq-kept-hickory", &asked("doq")?, &asked("dot")?)
}

fn quic_against_tls(
    setting: &Setting,
    name: &'static str,
    doq: &Asked,
    dot: &Asked,
) -> anyhow::Result<Section> {
    let generator = |transport: &str, asked: &Asked| {
        let load = format!(
            "--transport {transport}{} --clients 10 --outstanding 100 --workers 1 --for {}s",
            asked.trust, setting.seconds
        );
        Generator::dnsdyno(setting, &Target::loopback(setting, asked.port), &load)
            .named(&format!("dnsdyno over {transport}"), &[setting.rig.generator_cpu()])
    };
    LoopbackComparison {
        name,
        method: format!(
            "DoQ against DoT, 10 connections kept, 100 queries outstanding, \"{QUERY}\", both against {}.",
            doq.name
        ),
        servers: vec![doq.command.clone()],
        ours: generator("doq", doq),
        theirs: vec![generator("dot", dot)],
        figure: PER_CPU_SECOND,
        bar: 0.6,
    }
    .run(setting)
}

/// UDP with TC, then TCP: responses of 11 kB, a new connection for each.
pub(crate) fn fallback(setting: &Setting) -> anyhow::Result<Section> {
    let bind = Bind::naptr(setting)?;
    let queries = |name: &str, lines: usize| {
        let path = setting.rig.work().join(name);
        let text = format!("{NAPTR_NAME} NAPTR\n").repeat(lines);
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        anyhow::Ok(path)
    };
    let address = bind.server.address();
    let target = |queries| Target { address, namespace: None, queries };
    let load = format!(
        "--transport udp+tcp --outstanding {AT_ONCE} --clients {AT_ONCE} --workers 1 --for {}s",
        setting.seconds
    );
    let theirs = match find_peer("dnstcpbench") {
        None => Vec::new(),
        // It sends each line once: as many lines as it can send in about one turn.
        Some(program) => {
            let queries = queries("naptr-many.txt", DNSTCPBENCH_QPS * setting.seconds as usize)?;
            vec![Generator::dnstcpbench(setting, &program, &target(queries), AT_ONCE)]
        }
    };
    LoopbackComparison {
        name: "fallback",
        method: format!(
            "93 NAPTR records: a truncated response over UDP, then 11 kB over a new TCP connection; {AT_ONCE} \
             transactions at once, which are threads in dnstcpbench."
        ),
        servers: vec![bind.command()],
        ours: Generator::dnsdyno(setting, &target(queries("naptr.txt", 1)?), &load),
        theirs,
        figure: PER_CPU_SECOND,
        bar: 5.0,
    }
    .run(setting)
}

/// One of our transports beside dnsperf's.
struct Pair<'a> {
    name: &'static str,
    what: &'a str,
    ours: &'a str,
    theirs: &'a str,
    /// Another load of dnsperf, to be shown beside it under this label.
    anomalies: Option<(&'static str, &'a str)>,
    bar: Bar,
}

/// A listener of a server, as generators need to know it.
struct Asked {
    port: u16,
    /// What ours needs to trust it.
    trust: String,
    name: &'static str,
    command: String,
}

/// The figure that decides, and the smallest ratio of ours to theirs.
#[derive(Clone, Copy)]
enum Bar {
    PerCpuSecond(f64),
    PerSecond(f64),
}

fn against_dnsperf(setting: &Setting, server: &Asked, pair: Pair<'_>) -> anyhow::Result<Section> {
    let seconds = setting.seconds;
    let target = Target::loopback(setting, server.port);
    let ours = format!("{}{} --workers 1 --for {seconds}s", pair.ours, server.trust);
    let dnsperfs = |program: PathBuf| {
        let anomalies = pair.anomalies.map(|(label, load)| (label, load.to_owned()));
        let all = std::iter::once(("dnsperf", pair.theirs.to_owned())).chain(anomalies);
        let started = all.map(|(label, load)| {
            let load = format!("{load} -T 1 -l {seconds}");
            let generator = Generator::dnsperf(setting, &program, &target, &load);
            generator.named(label, &[setting.rig.generator_cpu()])
        });
        started.collect::<Vec<_>>()
    };
    let (figure, bar) = match pair.bar {
        Bar::PerCpuSecond(bar) => (PER_CPU_SECOND, bar),
        Bar::PerSecond(bar) => (PER_SECOND, bar),
    };
    LoopbackComparison {
        name: pair.name,
        method: format!("{}; \"{QUERY}\", against {}.", pair.what, server.name),
        servers: vec![server.command.clone()],
        ours: Generator::dnsdyno(setting, &target, &ours),
        theirs: find_peer("dnsperf").into_iter().flat_map(dnsperfs).collect(),
        figure,
        bar,
    }
    .run(setting)
}

/// BIND with all its listeners, and the certificate that a client must trust.
struct Bind {
    server: Server,
    ca: PathBuf,
    /// Its files must stay for as long as the server runs.
    _certificate: Certificate,
}

impl Bind {
    fn example(setting: &Setting) -> anyhow::Result<Self> {
        Self::start(setting, Zone::example(), &[])
    }

    fn naptr(setting: &Setting) -> anyhow::Result<Self> {
        let file = crate::setting::repository().join("testbed/zones/naptr-93.zone");
        let zone = Zone::from_file(NAPTR_ORIGIN, Path::new(&file))?;
        Self::start(setting, zone, &[("max_records_per_type", "0"), ("minimal_responses", "no")])
    }

    /// Each connection counts against BIND's limit of TCP clients until it is closed on both sides.
    fn start(setting: &Setting, zone: Zone, values: &[(&str, &str)]) -> anyhow::Result<Self> {
        let certificate = Certificate::make()?;
        let ca = trusted(setting, &certificate)?;
        let values = values.iter().chain(&[("tcp_clients", "1000"), ("tcp_listen_queue", "1000")]);
        let values = values.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let options = ServerOptions {
            zone,
            parts: vec!["dot_doh".to_owned()],
            values: certificate.values().into_iter().chain(values).collect(),
            ..ServerOptions::default()
        };
        let server = ServerSpec::named("bind")?.start(&options)?;
        Ok(Self { server, ca, _certificate: certificate })
    }

    fn plain(&self) -> Asked {
        self.asked(self.server.address().port(), String::new())
    }

    fn encrypted(&self, listener: &str) -> anyhow::Result<Asked> {
        let address = self.server.listener(listener);
        let port = address.with_context(|| format!("BIND has no {listener} listener"))?.port();
        Ok(self.asked(port, format!(" --ca {}", self.ca.display())))
    }

    fn asked(&self, port: u16, trust: String) -> Asked {
        Asked { port, trust, name: "BIND", command: self.command() }
    }

    fn command(&self) -> String {
        "bind, one thread, as testbed/servers/bind.toml says, with its part dot_doh, 1000 TCP clients and a \
         queue of as many"
            .to_owned()
    }
}

/// The certificate that a client must trust, copied to the rig's folder, so that reports show no other folder.
fn trusted(setting: &Setting, certificate: &Certificate) -> anyhow::Result<PathBuf> {
    let ca = setting.rig.work().join("ca.pem");
    std::fs::copy(certificate.ca_file(), &ca).with_context(|| format!("cannot write {}", ca.display()))?;
    Ok(ca)
}

const NAPTR_ORIGIN: &str = "epc.mnc001.mcc001.3gppnetwork.example.";
const NAPTR_NAME: &str = "tac-lb01.tac-hb10.tac.epc.mnc001.mcc001.3gppnetwork.example";

/// Transactions at once in the fallback, as in published measurements.
const AT_ONCE: u32 = 50;

/// Slightly more than dnstcpbench can send in a second.
const DNSTCPBENCH_QPS: usize = 3_000;
