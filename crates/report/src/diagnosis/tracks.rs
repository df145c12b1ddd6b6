//! The evidence of each rule as figures of an interval: which series of which sources have it, and what they give.

use dnsdyno_measure::Samples;
use dnsdyno_record::Header;
use dnsdyno_servers::server_of;

use super::rules::{Limit, Loss, Rule, Shape, Sign, Whole};
use super::sources::{Source, Sources};

/// A sign of a rule, on the sources of a run.
pub(super) struct Track<'a> {
    /// The number of the rule.
    pub(super) rule: usize,
    /// The ends of queries that its rule can explain.
    losses: &'a [Loss],
    pub(super) sign: &'a Sign,
    pub(super) parts: Vec<Part>,
    /// The host of the server, and its CPUs.
    host: Option<usize>,
    cpus: u64,
}

/// The series of one source.
pub(super) struct Part {
    pub(super) source: usize,
    pub(super) names: Vec<String>,
    minus: Vec<String>,
    /// The limit of a gauge, the speed of an interface in bits a second, the number of sockets at an address.
    pub(super) limit: u64,
}

/// How figures of intervals are joined, and compared with losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Measure {
    /// A count: each is one lost or delayed message.
    Count,
    /// The number of messages that wait at an instant.
    Waiting,
    /// A share in thousandths, of an interval.
    Share,
    /// A share in thousandths, at the end of an interval.
    ShareAtEnd,
}

impl<'a> Track<'a> {
    /// All that rules can use in this run; a sign without a series is left out.
    pub(super) fn all(rules: &'a [Rule], sources: &Sources, header: &Header) -> Vec<Track<'a>> {
        let transports: Vec<&str> = match header.mix.as_slice() {
            [] => vec![&header.transport],
            mix => mix.iter().map(|member| member.transport.as_str()).collect(),
        };
        let host = sources.server_host();
        let cpus = host.and_then(|(_, host)| host.cpus()).unwrap_or(0);
        let mut tracks = Vec::new();
        for (rule, about) in rules.iter().enumerate() {
            if about.over.is_some_and(|over| !transports.iter().any(|transport| over.is_in(transport))) {
                continue;
            }
            let is_used = |sign: &&Sign| {
                sign.instead_of.is_none_or(|better| sources.with(better, sign.side).next().is_none())
            };
            for sign in about.sign.iter().filter(is_used) {
                let parts: Vec<_> = sources
                    .with(sign.kind, sign.side)
                    .flat_map(|(number, source)| parts(sign, number, source, sources))
                    .collect();
                if !parts.is_empty() {
                    let host = host.map(|(number, _)| number);
                    tracks.push(Track { rule, losses: &about.loss, sign, parts, host, cpus });
                }
            }
        }
        tracks
    }

    /// The ends of queries that it can explain.
    pub(super) fn losses(&self) -> &'a [Loss] {
        self.losses
    }

    pub(super) fn measure(&self) -> Measure {
        match self.sign.shape {
            Shape::Count { .. } | Shape::HotSocket { .. } => Measure::Count,
            Shape::Waiting { .. } => Measure::Waiting,
            Shape::Time { .. } | Shape::Bandwidth { .. } => Measure::Share,
            Shape::Limit { .. } | Shape::FullQueue { .. } => Measure::ShareAtEnd,
        }
    }

    /// The figure from which on an interval shows it.
    pub(super) fn least(&self) -> u64 {
        match self.sign.shape {
            Shape::Count { .. } | Shape::HotSocket { .. } => 1,
            Shape::Waiting { at_least, .. } => at_least,
            Shape::Time { at_least, .. } | Shape::Limit { at_least, .. } | Shape::Bandwidth { at_least } => {
                (at_least * 1_000.0) as u64
            }
            Shape::FullQueue { .. } => 1_000,
        }
    }

    /// The figure of an interval of this length.
    pub(super) fn value(&self, samples: &[Samples], covered_ns: u64) -> u64 {
        let of = |part: &Part| {
            samples
                .get(part.source)
                .map_or(0, |samples| self.of_part(part, samples, counted(samples, covered_ns), covered_ns))
        };
        if !self.holds_for_cpus(samples, covered_ns) {
            return 0;
        }
        match self.measure() {
            Measure::Count | Measure::Waiting => self.parts.iter().map(of).fold(0, u64::saturating_add),
            Measure::Share | Measure::ShareAtEnd => self.parts.iter().map(of).max().unwrap_or(0),
        }
    }

    fn of_part(
        &self,
        part: &Part,
        samples: &Samples,
        counter: impl Fn(&String) -> u64,
        covered_ns: u64,
    ) -> u64 {
        let sum = |names: &[String]| names.iter().map(&counter).fold(0, u64::saturating_add);
        match &self.sign.shape {
            Shape::Count { .. } | Shape::HotSocket { .. } => {
                sum(&part.names).saturating_sub(sum(&part.minus))
            }
            Shape::Time { of, each, .. } => {
                let time_ns = match each {
                    true => {
                        let most_ns = part.names.iter().map(&counter).max().unwrap_or(0);
                        let of_process = most_ns as f64 / samples.counter("cpu_ns").max(1) as f64;
                        let waited_ns = samples.waited_for_cpu_ns(covered_ns) as f64 * of_process.min(1.0);
                        most_ns.saturating_add(waited_ns as u64)
                    }
                    false => sum(&part.names),
                };
                let whole_ns = match of {
                    Whole::Interval => covered_ns,
                    Whole::Cpus => covered_ns.saturating_mul(self.cpus),
                };
                permille(time_ns, whole_ns).min(1_000)
            }
            Shape::Limit { gauge, .. } => permille(samples.gauge(gauge), part.limit),
            Shape::FullQueue { gauge, limit_gauge } => {
                permille(samples.gauge(gauge), samples.gauge(limit_gauge))
            }
            Shape::Waiting { gauge, .. } => samples.gauge(gauge),
            Shape::Bandwidth { .. } => {
                let bits = sum(&part.names).saturating_mul(8);
                permille(bits, (part.limit as f64 * covered_ns as f64 * 1e-9) as u64).min(1_000)
            }
        }
    }

    /// What else must be so of the CPUs of the host.
    fn holds_for_cpus(&self, samples: &[Samples], covered_ns: u64) -> bool {
        let Shape::Time { spare_cpus, busy_host, .. } = &self.sign.shape else { return true };
        let is_spare = spare_cpus.is_none_or(|spare| {
            let process = self.parts.iter().filter_map(|part| samples.get(part.source));
            let needed = process.map(|samples| {
                samples.counter("cpu_ns").saturating_add(samples.waited_for_cpu_ns(covered_ns))
            });
            let needed_ns = needed.max().unwrap_or(0);
            self.cpus == 0 || self.cpus as f64 - needed_ns as f64 / covered_ns.max(1) as f64 >= spare
        });
        let is_busy = busy_host.is_none_or(|busy| {
            let host = self.host.and_then(|host| samples.get(host));
            host.is_some_and(|host| {
                let idle_ns = host.counter("cpu.idle_ns").saturating_add(host.counter("cpu.iowait_ns"));
                let whole_ns = covered_ns.saturating_mul(self.cpus);
                // A host whose idle time was not read is not known to be busy.
                !host.counters.is_empty() && permille(idle_ns, whole_ns) as f64 <= (1.0 - busy) * 1_000.0
            })
        });
        is_spare && is_busy
    }
}

/// What the counters of an interval say of that interval: a pause for a quota is counted when it ends, and is not a
/// wait for a CPU.
fn counted(samples: &Samples, covered_ns: u64) -> impl Fn(&String) -> u64 {
    move |name| match name.as_str() {
        "cgroup.throttled_ns" => samples.stood_still_ns(covered_ns),
        "cpu_wait_ns" => samples.waited_for_cpu_ns(covered_ns),
        name => samples.counter(name),
    }
}

/// `part` of `whole` in thousandths.
fn permille(part: u64, whole: u64) -> u64 {
    if whole == 0 { 0 } else { (part as f64 * 1_000.0 / whole as f64).round() as u64 }
}

/// The series of a source that a sign is about; none where it has none.
fn parts(sign: &Sign, source: usize, about: &Source, sources: &Sources) -> Vec<Part> {
    let part = |names: Vec<String>| Part { source, names, minus: Vec::new(), limit: 0 };
    match &sign.shape {
        Shape::Count { counters, minus } => {
            let names = series(about, counters);
            let found = Part { minus: series(about, minus), ..part(names) };
            let total =
                |names: &[String]| -> u64 { names.iter().map(|name| about.totals.counter(name)).sum() };
            // The two are not read at the same instant: a small rest is no evidence.
            let is_all =
                !minus.is_empty() && total(&found.names) <= total(&found.minus).saturating_mul(20) / 19;
            if found.names.is_empty() || is_all { Vec::new() } else { vec![found] }
        }
        Shape::Time { counters, .. } => {
            let names = series(about, counters);
            if names.is_empty() { Vec::new() } else { vec![part(names)] }
        }
        Shape::Limit { gauge, limits, .. } => {
            let limit = limits.iter().find_map(|limit| limit_of(limit, about, sources));
            let is_read = about.totals.gauges.contains_key(gauge);
            let limit = limit.filter(|limit| is_read && *limit > 0);
            limit.map(|limit| Part { limit, ..part(vec![gauge.clone()]) }).into_iter().collect()
        }
        Shape::FullQueue { gauge, limit_gauge } => {
            let limit = about.totals.gauges.get(limit_gauge).copied().filter(|limit| *limit > 0);
            limit.map(|limit| Part { limit, ..part(vec![gauge.clone()]) }).into_iter().collect()
        }
        Shape::Waiting { gauge, .. } => {
            let is_read = about.totals.gauges.contains_key(gauge);
            if is_read { vec![part(vec![gauge.clone()])] } else { Vec::new() }
        }
        Shape::Bandwidth { .. } => interfaces(source, about),
        Shape::HotSocket { at_least } => hot_socket(source, about, *at_least).into_iter().collect(),
    }
}

/// The counters whose names fit one of these patterns.
fn series(source: &Source, patterns: &[String]) -> Vec<String> {
    let fits = |name: &&String| patterns.iter().any(|pattern| between(pattern, name).is_some());
    source.totals.counters.keys().filter(fits).cloned().collect()
}

/// What stands for the `*` of a pattern; nothing in one without it.
pub(super) fn between<'a>(pattern: &str, name: &'a str) -> Option<&'a str> {
    match pattern.split_once('*') {
        None => (pattern == name).then_some(""),
        Some((before, after)) => name.strip_prefix(before)?.strip_suffix(after),
    }
}

/// The limit of a source, by the setting of any source of its software. Where the setting was not read, the limit is
/// not known: only a configuration that was read, and does not have it, has the default.
fn limit_of(limit: &Limit, source: &Source, sources: &Sources) -> Option<u64> {
    let is_kind = format!("{:?}", source.kind).to_lowercase() == limit.of;
    if !is_kind && source.software.as_deref() != Some(&limit.of) {
        return None;
    }
    let known = |setting: &str, default: Option<u64>| {
        let is_same = |other: &&Source| {
            source.software.is_some() && other.software == source.software && other.side == source.side
        };
        let all = || [source].into_iter().chain(sources.iter().filter(is_same));
        let set = all().find_map(|source| source.number(setting));
        set.or(default.filter(|_| all().any(|source| source.is_unset(setting))))
    };
    let each = match limit.setting.is_empty() {
        true => limit.fixed?,
        false => {
            let default = server_of(&limit.of).and_then(|server| server.default_of(&limit.setting));
            known(&limit.setting, default.and_then(|default| default.parse().ok()))?
        }
    };
    let times = limit.times.as_deref().map_or(Some(1), |times| known(times, Some(1)))?;
    Some(each.saturating_mul(times.max(1)))
}

/// Both directions of each interface whose speed is known.
fn interfaces(source: usize, about: &Source) -> Vec<Part> {
    let mut parts = Vec::new();
    for name in about.totals.counters.keys() {
        let sent = between("interface.*.tx_bytes", name);
        let Some(interface) = sent.or(between("interface.*.rx_bytes", name)) else { continue };
        let link = about.number(&format!("interface.{interface}.speed_mbps"));
        let link_bps = link.map(|mbps| mbps.saturating_mul(1_000_000));
        // The queue of an interface holds back what it sends.
        let queue_bps = about.number(&format!("qdisc.{interface}.rate_bps")).filter(|_| sent.is_some());
        let limit = link_bps.into_iter().chain(queue_bps).min().filter(|limit| *limit > 0);
        parts.extend(limit.map(|limit| Part { source, names: vec![name.clone()], minus: Vec::new(), limit }));
    }
    parts
}

/// The socket that has this share of the drops of all sockets with its address, if there are several.
fn hot_socket(source: usize, about: &Source, at_least: f64) -> Option<Part> {
    let mut groups = std::collections::BTreeMap::<&str, Vec<(&String, u64)>>::new();
    for (name, drops) in &about.totals.counters {
        let Some(socket) = between("socket.udp.*.drops", name) else { continue };
        let address = socket.rsplit_once('/').map_or(socket, |(address, _)| address);
        groups.entry(address).or_default().push((name, *drops));
    }
    let hottest = groups.values().filter(|group| group.len() > 1).filter_map(|group| {
        let all: u64 = group.iter().map(|(_, drops)| drops).sum();
        let (name, drops) = group.iter().max_by_key(|(_, drops)| drops)?;
        (*drops > 0 && *drops as f64 >= all as f64 * at_least).then_some((*drops, *name, group.len() as u64))
    });
    let (_, name, sockets) = hottest.max()?;
    Some(Part { source, names: vec![name.clone()], minus: Vec::new(), limit: sockets })
}
