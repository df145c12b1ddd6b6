//! Which option can be used with which load, transport and backend, and with which other options.

use dnsdyno_queries::QueriesFormat;
use dnsdyno_queries::SourcePrefix;

use crate::draft::Draft;
use crate::error::PlanError;
use crate::groups::Group;
use crate::kinds::TlsVersions::Only12;
use crate::kinds::TransportKind;
use crate::kinds::TransportKind::{Udp, UdpTcp};

impl Draft {
    fn is_signed(&self) -> bool {
        self.tsig.is_some() || self.tsig_file.is_some()
    }

    /// Whether `--stop-when` has a limit of this name.
    fn stops_at(&self, name: &str) -> bool {
        let is_of_name = |text: &String| text.trim().to_lowercase().starts_with(name);
        self.stop_when.iter().flatten().any(is_of_name)
    }

    /// Whether queries are due by a shape, and their responses are waited for.
    fn is_awaited(&self) -> bool {
        self.chooses(Group::Shape) && self.send_only != Some(true)
    }

    /// Whether `--local-address` is a prefix of more than one address.
    fn has_local_prefix(&self) -> bool {
        self.local_address.as_deref().and_then(SourcePrefix::parse).is_some_and(|prefix| !prefix.is_host())
    }

    /// Whether the client subnet is that of the source address.
    pub(crate) fn has_ecs_of_source(&self) -> bool {
        self.ecs.as_deref().is_some_and(|ecs| ecs.trim().starts_with("source"))
    }

    /// Refuses the first option that has no effect in this run. `transports` are those of the mix, or the one
    /// transport of the run.
    pub(crate) fn refuse_unusable(
        &self,
        transport: TransportKind,
        transports: &[TransportKind],
    ) -> Result<(), PlanError> {
        let run = Run { draft: self, transports };
        match RULES
            .iter()
            .filter(|rule| !(rule.fits)(&run))
            .find_map(|rule| Some((rule.of.given(self)?, rule)))
        {
            Some((option, rule)) => {
                let sentence = rule.sentence.replace("{transport}", &transport.to_string());
                Err(PlanError::Unusable { option, sentence })
            }
            None => Ok(()),
        }
    }
}

/// What decides whether an option has an effect.
struct Run<'a> {
    draft: &'a Draft,
    transports: &'a [TransportKind],
}

impl Run<'_> {
    fn has(&self, kind: TransportKind) -> bool {
        self.transports.contains(&kind)
    }

    fn has_http(&self) -> bool {
        self.transports.iter().any(|kind| kind.is_http())
    }

    fn has_quic(&self) -> bool {
        self.transports.iter().any(|kind| kind.is_quic())
    }

    /// Whether a capture is replayed at the instants at which it was captured.
    fn has_own_timing(&self) -> bool {
        let Draft { replay, outstanding, .. } = self.draft;
        replay.is_some() && outstanding.is_none() && !self.draft.chooses(Group::Shape)
    }

    /// Whether the questions are asked before the load.
    fn has_first_pass(&self) -> bool {
        self.draft.check_answers == Some(true) && self.draft.replay.is_none()
    }

    fn has_steps(&self) -> bool {
        self.draft.ramp.is_some() || self.draft.stair.is_some() || self.draft.burst.is_some()
    }

    fn is_closed_loop(&self) -> bool {
        !self.draft.chooses(Group::Shape) && self.draft.send_only != Some(true)
    }

    fn has_updates(&self) -> bool {
        self.draft.queries_format == Some(QueriesFormat::Updates)
    }

    fn connects(&self) -> bool {
        self.transports.iter().any(|kind| kind.connects())
    }

    fn sends_udp_only(&self) -> bool {
        self.transports.iter().all(|kind| *kind == Udp)
    }

    fn has_xdp(&self) -> bool {
        self.draft.backend() != "sockets"
    }

    fn has_one_backend(&self) -> bool {
        self.draft.backend() != "auto"
    }

    fn is_encrypted(&self) -> bool {
        self.transports.iter().any(|kind| kind.is_encrypted())
    }
}

/// Options that have no effect in some runs.
struct Rule {
    of: Of,
    /// The runs in which they have one.
    fits: fn(&Run<'_>) -> bool,
    /// The text after the name of an option in the error for other runs.
    sentence: &'static str,
}

/// What a rule is about.
enum Of {
    /// An option, and whether it is given.
    Option(&'static str, fn(&Draft) -> bool),
    /// Each choice of a group.
    Choices(Group),
    /// Each detail of a group.
    Details(Group),
}

impl Of {
    /// The first of the options that is given.
    fn given(&self, draft: &Draft) -> Option<&'static str> {
        match self {
            Of::Option(option, is_given) => is_given(draft).then_some(*option),
            Of::Choices(group) => draft.choices(*group).first().copied(),
            Of::Details(group) => draft.details(*group).first().copied(),
        }
    }
}

const fn option(
    name: &'static str,
    is_given: fn(&Draft) -> bool,
    fits: fn(&Run<'_>) -> bool,
    sentence: &'static str,
) -> Rule {
    Rule { of: Of::Option(name, is_given), fits, sentence }
}

const fn choices(group: Group, fits: fn(&Run<'_>) -> bool, sentence: &'static str) -> Rule {
    Rule { of: Of::Choices(group), fits, sentence }
}

const fn details(group: Group, fits: fn(&Run<'_>) -> bool, sentence: &'static str) -> Rule {
    Rule { of: Of::Details(group), fits, sentence }
}

/// Which option can be used with which load, transport and backend, and with which other options.
const RULES: &[Rule] = &[
    option("lenient", |d| d.lenient == Some(true), |run| run.draft.strict != Some(true), ONE_RULE),
    option("keep-order", |d| d.keep_order == Some(true), |run| run.draft.order.is_none(), ONE_ORDER),
    option("queries-format", |d| d.queries_format.is_some(), |run| run.draft.queries.is_some(), OF_A_FILE),
    option("origin", |d| d.origin.is_some(), |run| run.draft.zone.is_some(), OF_A_ZONE),
    option("nxdomain", |d| d.nxdomain.is_some(), |run| run.draft.zone.is_some(), OF_A_ZONE),
    details(Group::Selection, |run| run.draft.hit_rate.is_some(), CACHE),
    option("order", |d| d.order.is_some(), |run| run.draft.hit_rate.is_none(), BY_CACHE),
    option("ecs", |d| d.ecs.is_some(), |run| run.draft.ecs_range.is_none(), ONE_SUBNET),
    option(
        "ecs-per-client",
        |d| d.ecs_per_client == Some(true),
        |run| run.draft.ecs_range.is_some(),
        SUBNETS,
    ),
    option("tsig-file", |d| d.tsig_file.is_some(), |run| run.draft.tsig.is_none(), ONE_KEY),
    option("speed", |d| d.speed.is_some(), |run| run.has_own_timing(), TIMED),
    option("captured-server", |d| d.captured_server.is_some(), |run| run.draft.replay.is_some(), REPLAYED),
    option(
        "check-answers",
        |d| d.check_answers == Some(true),
        |run| run.draft.source.is_none(),
        CHECKED_LATER,
    ),
    option("check-answers", |d| d.check_answers == Some(true), |run| !run.has_updates(), CHANGING),
    option("first-pass-rate", |d| d.first_pass_rate.is_some(), |run| run.has_first_pass(), FIRST_PASS),
    option("first-pass-for", |d| d.first_pass_for.is_some(), |run| run.has_first_pass(), FIRST_PASS),
    option(
        "check-answers",
        |d| d.check_answers == Some(true),
        |run| run.draft.send_only != Some(true),
        ANSWERED,
    ),
    choices(Group::Messages, |run| run.draft.replay.is_none(), AS_CAPTURED),
    option("rate-limit", |d| d.rate_limit.is_some(), |run| run.draft.replay.is_none(), OF_CAPTURE),
    choices(Group::Selection, |run| run.draft.replay.is_none(), AS_CAPTURED),
    choices(Group::Shape, |run| run.draft.source.is_none(), BY_CLIENTS),
    choices(Group::Window, |run| run.draft.source.is_none(), BY_CLIENTS),
    option("count", |d| d.count.is_some(), |run| run.draft.source.is_none(), TIMED_CLIENTS),
    option("passes", |d| d.passes.is_some(), |run| run.draft.source.is_none(), TIMED_CLIENTS),
    option("send-only", |d| d.send_only == Some(true), |run| run.draft.source.is_none(), READING_CLIENTS),
    choices(Group::Selection, |run| run.draft.source.is_none(), ASKED_BY_CLIENTS),
    option("tsig", |d| d.is_signed(), |run| run.draft.source.is_none(), ASKED_BY_CLIENTS),
    option("cookie", |d| d.cookie == Some(true), |run| run.draft.source.is_none(), ASKED_BY_CLIENTS),
    option("padding", |d| d.padding.is_some(), |run| run.draft.source.is_none(), ASKED_BY_CLIENTS),
    option("ecs-range", |d| d.ecs_range.is_some(), |run| run.draft.source.is_none(), ASKED_BY_CLIENTS),
    option("no-tsig-verify", |d| d.tsig_verify == Some(false), |run| run.draft.is_signed(), SIGNED),
    option("trace-file", |d| d.trace_file.is_some(), |run| run.draft.trace.is_some(), TRACED),
    option("over", |d| d.over.is_some(), |run| run.draft.ramp.is_some(), RAMP),
    option("step", |d| d.step.is_some(), |run| run.draft.stair.is_some(), STAIR),
    option("every", |d| d.every.is_some(), |run| run.draft.burst.is_some(), BURST),
    option("hold", |d| d.hold.is_some(), |run| run.has_steps(), HELD),
    option("send-only", |d| d.send_only == Some(true), |run| run.draft.outstanding.is_none(), NO_WINDOW),
    option("stop-when behind", |d| d.stops_at("behind"), |run| run.draft.chooses(Group::Shape), SHAPED),
    option("stop-when outstanding", |d| d.stops_at("outstanding"), |run| run.draft.is_awaited(), AWAITED),
    option("rate-limit", |d| d.rate_limit.is_some(), |run| run.is_closed_loop(), CLOSED),
    details(Group::Backend, |run| run.has_xdp(), XDP),
    option("next-hop", |d| d.next_hop.is_some(), |run| run.has_one_backend(), NOT_AUTO),
    option("vlan", |d| d.vlan.is_some(), |run| run.has_one_backend(), NOT_AUTO),
    option("source-prefix", |d| d.source_prefix.is_some(), |run| run.sends_udp_only(), OF_UDP),
    option("ecs source", Draft::has_ecs_of_source, |run| run.draft.source_prefix.is_some(), SUBNET_OF_SOURCE),
    option("ecs source", Draft::has_ecs_of_source, |run| !run.has_xdp(), SUBNET_OF_SOCKETS),
    option(
        "local-address",
        |d| d.local_address.is_some(),
        |run| run.draft.source_prefix.is_none(),
        ONE_SOURCE,
    ),
    option("servers", |d| d.servers.is_some(), |run| run.draft.server.is_none(), ONE_LIST),
    option("transport", |d| d.transport.is_some(), |run| run.draft.mix.is_none(), ONE_TRANSPORT),
    option("transport", |d| d.transport.is_some(), |run| run.draft.member.is_none(), MEMBERS),
    option("mix", |d| d.mix.is_some(), |run| run.draft.member.is_none(), MEMBERS),
    option("tcp-edns", |d| d.tcp_edns.is_some(), |run| run.has(UdpTcp), FALLBACK),
    option(
        "tcp-edns none",
        |d| d.tcp_edns.as_deref() == Some("none"),
        |run| !run.has_updates(),
        WHOLE_UPDATES,
    ),
    option("proxy-protocol", |d| d.proxy_protocol.is_some(), |run| !run.has_xdp(), NO_PROXY_XDP),
    option("proxy-protocol", |d| d.proxy_protocol.is_some(), |run| !run.has_quic(), NO_PROXY_QUIC),
    choices(Group::Connections, |run| run.connects(), CONNECTIONS),
    option("local-address", Draft::has_local_prefix, |run| run.connects(), CONNECTIONS),
    option("send-only", |d| d.send_only == Some(true), |run| !run.connects(), SENDING_ONLY),
    option("backend", |d| d.backend() != "sockets", |run| !run.connects(), DATAGRAMS),
    option("local-ports", |d| d.local_ports.is_some(), |run| !run.connects(), PORTS),
    option("any-source", |d| d.any_source == Some(true), |run| run.has(Udp) || run.has(UdpTcp), OVER_UDP),
    option("any-source", |d| d.any_source == Some(true), |run| !run.has_xdp(), FILTERED),
    option("any-source", |d| d.any_source == Some(true), |run| run.draft.send_only != Some(true), ANSWERED),
    choices(Group::Encryption, |run| run.is_encrypted(), ENCRYPTED),
    choices(Group::Http, |run| run.has_http(), HTTP),
    option("tls-version 1.2", |d| d.tls_version == Some(Only12), |run| !run.has_quic(), QUIC),
    option("early-data", |d| d.early_data == Some(true), |run| run.draft.tls_version != Some(Only12), EARLY),
    option("early-data", |d| d.early_data == Some(true), |run| run.draft.resumption != Some(false), RESUMED),
    option("early-data", |d| d.early_data == Some(true), |run| !run.has_updates(), REPLAYABLE),
    option("ca", |d| d.ca.is_some(), |run| run.draft.insecure != Some(true), TRUST),
];

const ONE_RULE: &str = "and --strict are opposites: remove one";
const TIMED: &str = "is for a replay with the timing of its capture: add --replay and no load, or remove it";
const REPLAYED: &str = "is for the replay of a capture: add --replay, or remove it";
const CHECKED_LATER: &str =
    "cannot be used with --source: what its clients will ask is not known before the load: remove it";
const CHANGING: &str =
    "cannot be used with updates: asked before the load, they would change the zone: remove it";
const FIRST_PASS: &str = "is for questions that are asked before the load: add --check-answers to a source other than \
                          a capture, or remove it";
const ANSWERED: &str = "cannot be used with --send-only, which does not read answers: remove one";
const OF_CAPTURE: &str = "cannot be used with --replay: use --rate or --outstanding, or remove it";
const AS_CAPTURED: &str =
    "cannot be used with --replay, which sends queries as they were captured: remove it";
const BY_CLIENTS: &str = "cannot be used with --source: the load follows from what the clients need; change their \
                          number or their arrivals in its file, or remove it";
const TIMED_CLIENTS: &str =
    "cannot be used with --source: say how long the run lasts with --for, or remove it";
const READING_CLIENTS: &str =
    "cannot be used with --source: what clients ask depends on the responses: remove it";
const ASKED_BY_CLIENTS: &str =
    "cannot be used with --source: its clients send plain queries of their own: remove it";
const ONE_ORDER: &str = "and --order both set the order of the queries: remove one";
const OF_A_FILE: &str = "is for a file: give one with -d, or remove it";
const OF_A_ZONE: &str = "is for a zone file: give one with --zone, or remove it";
const CACHE: &str = "has no effect without --hit-rate: add that, or remove it";
const BY_CACHE: &str = "and --hit-rate both choose the next query: remove one";
const ONE_SUBNET: &str = "and --ecs-range both set the client subnet: remove one";
const SUBNETS: &str = "has no effect without --ecs-range: add that, or remove it";
const SIGNED: &str = "is for signed queries: add --tsig, or remove it";
const ONE_KEY: &str = "and --tsig both give the key: remove one";
const TRACED: &str = "has no effect without --trace: add --trace 1/1000, or remove it";
const RAMP: &str = "has no effect without --ramp: add that, or remove it";
const STAIR: &str = "has no effect without --stair: add that, or remove it";
const BURST: &str = "has no effect without --burst: add that, or remove it";
const HELD: &str = "has no effect without --ramp, --stair or --burst: add that, or remove it";
const NO_WINDOW: &str = "does not wait for responses, so --outstanding has no effect: remove it to send as fast \
                         as this host can, or add --rate";
const SHAPED: &str = "is about a schedule, and a closed loop has none: add --rate, --ramp or another shape, or \
                      remove it";
const AWAITED: &str = "is for a run with --rate, --ramp or another shape that waits for responses: add a shape, \
                       remove --send-only, or remove it";
const CLOSED: &str = "is for a closed loop, and this run has a rate of its own: remove it";
const XDP: &str = "is for AF_XDP, and this run uses sockets: add --backend xdp, or remove it";
const NOT_AUTO: &str = "is not possible with sockets, so --backend auto could not fall back to them: use \
                        --backend xdp, or remove it";
const OF_UDP: &str = "is for UDP: connections use the addresses of --local-address ADDRESS/LENGTH; remove it";
const SUBNET_OF_SOURCE: &str =
    "is the subnet of the addresses of --source-prefix: add that, or give a subnet";
const SUBNET_OF_SOCKETS: &str = "is for sockets: use --backend sockets, or give a subnet";
const ONE_SOURCE: &str = "and --source-prefix both set the source address: remove one";
const ONE_LIST: &str = "and --server both name the server: remove one";
const MEMBERS: &str = "and the members of the plan file both set the transport: remove one";
const ONE_TRANSPORT: &str = "and --mix both set the transport: remove one";
const FALLBACK: &str = "is for retries over TCP: add --transport udp+tcp, or remove it";
const WHOLE_UPDATES: &str =
    "cannot be used with updates: a retry over TCP without EDNS has the question only: remove it";
const NO_PROXY_XDP: &str = "is not possible with AF_XDP: remove it, or use --backend sockets";
const NO_PROXY_QUIC: &str =
    "cannot be used with --transport doq or doh3: the PROXY protocol has no header for QUIC: remove it";
const CONNECTIONS: &str = "is for connections, and {transport} has none: add --transport tcp, or remove it";
const SENDING_ONLY: &str = "cannot be used with --transport {transport}: a connection stalls when its responses \
                            are not read: remove it";
const DATAGRAMS: &str = "cannot be used with --transport {transport}: AF_XDP sends UDP only: remove it";
const PORTS: &str = "cannot be used with --transport {transport}: connections use all local ports in turn: \
                     remove it, and use --local-address for more ports";
const OVER_UDP: &str = "is for UDP: the other transports have connections, with one server each: remove it";
const FILTERED: &str = "is not possible with AF_XDP, which takes only packets from the server: remove it, or use \
                        --backend sockets";
const ENCRYPTED: &str =
    "is for encryption, and {transport} has none: add --transport dot, doh, doq or doh3, or remove it";
const HTTP: &str = "is for HTTP, and {transport} has none: add --transport doh or doh3, or remove it";
const QUIC: &str =
    "cannot be used with --transport doq or doh3: QUIC always uses TLS 1.3: remove the version";
const EARLY: &str = "cannot be used with --tls-version 1.2: only TLS 1.3 has early data: remove one";
const REPLAYABLE: &str =
    "cannot be used with updates, which must not be sent as early data (RFC 9250, 4.5): remove one";
const RESUMED: &str = "cannot be used with --no-resumption: early data needs a resumed session: remove one";
const TRUST: &str = "cannot be used with --insecure: one names the certificates to trust, the other disables \
                     verification: remove one";

#[cfg(test)]
mod tests;
