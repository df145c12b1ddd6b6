//! What will bias the figures of a run on this host, by rules over facts about it.
//!
//! ```text
//!   facts (gathered before a run) ──► rules.toml ──► Examination ──► text, JSON
//!                                        │ cure                       what to type now
//!                                        └ lasting ──► persistent     what to install, so that it stays
//! ```
//!
//! A rule whose facts are not all known says nothing; that it could not look is said.

mod condition;
mod lasting;

use std::collections::BTreeSet;

use dnsdyno_measure::{Fact, Facts};
use dnsdyno_text::shown;
use dnsdyno_text::units::count;
use serde::{Deserialize, Serialize};

use condition::Condition;
use dnsdyno_text::layout::paragraph;
use lasting::Lasts;
pub use lasting::Persistent;

/// What was found on a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Examination {
    /// Whether a run on this host gives other figures than it should.
    pub biased: bool,
    /// What was found, the heaviest first.
    pub findings: Vec<HostFinding>,
    /// What was looked at and is as it should be.
    pub fine: Vec<String>,
    /// What could not be looked at, because the host does not say it.
    pub unknown: Vec<String>,
    /// The facts.
    pub facts: Facts,
}

/// One thing that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HostFinding {
    /// The name of the rule.
    pub rule: String,
    /// How much it matters.
    pub weight: Weight,
    /// What it is.
    pub finding: String,
    /// What it does to the figures.
    pub effect: String,
    /// The commands that cure it.
    pub cure: Vec<String>,
    /// The same in the form that survives a restart of the host; empty where the cure itself lasts, or is for one run.
    pub persistent: Vec<Persistent>,
    /// Where the knowledge comes from.
    pub source: String,
}

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Weight {
    /// The figures of a run will be wrong.
    Bias,
    /// They may be, or something is not possible.
    Note,
}

/// A block of `rules.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    name: String,
    checks: String,
    weight: Weight,
    when: Vec<Condition>,
    finding: String,
    effect: String,
    cure: Vec<String>,
    source: String,
    #[serde(default)]
    lasts: Lasts,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rules {
    rule: Vec<Rule>,
}

/// Judges a host by every rule.
pub fn examine(facts: Facts) -> Examination {
    let mut findings = Vec::new();
    let (mut fine, mut unknown) = (BTreeSet::new(), BTreeSet::new());
    for rule in rules() {
        // One condition that does not hold decides, whether or not the others are known.
        let held: Vec<Option<bool>> = rule.when.iter().map(|condition| condition.holds(&facts)).collect();
        if held.contains(&Some(false)) {
            fine.insert(rule.checks);
        } else if held.contains(&None) {
            unknown.insert(rule.checks);
        } else {
            findings.push(HostFinding {
                finding: filled(&rule.finding, &facts, for_people),
                effect: filled(&rule.effect, &facts, for_people),
                cure: rule.cure.iter().map(|command| filled(command, &facts, Fact::to_string)).collect(),
                persistent: rule.lasts.of(&facts, &|template| filled(template, &facts, Fact::to_string)),
                rule: rule.name,
                weight: rule.weight,
                source: rule.source,
            });
        }
    }
    findings.sort_by_key(|finding| finding.weight);
    Examination {
        biased: findings.iter().any(|finding| finding.weight == Weight::Bias),
        findings,
        fine: fine.into_iter().collect(),
        unknown: unknown.into_iter().collect(),
        facts,
    }
}

/// The rules of the file, which a test reads too.
fn rules() -> Vec<Rule> {
    toml::from_str(RULES).map_or_else(|_| Vec::new(), |rules: Rules| rules.rule)
}

/// A sentence with the facts that it names in braces.
fn filled(template: &str, facts: &Facts, write: fn(&Fact) -> String) -> String {
    let mut out = String::new();
    let mut rest = template;
    while let Some((before, (name, after))) =
        rest.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?)))
    {
        out.push_str(before);
        match facts.get(name) {
            Some(fact) => out.push_str(&shown(&write(fact), LONGEST_FACT)),
            // Braces that are none of ours.
            None => out.extend(["{", name, "}"]),
        }
        rest = after;
    }
    out + rest
}

fn for_people(fact: &Fact) -> String {
    match fact {
        Fact::Number(value) => count(*value),
        Fact::Text(text) => text.clone(),
    }
}

/// An examination as text.
pub fn examination_text(examination: &Examination, width: usize) -> String {
    let mut out = String::new();
    for (weight, title) in [(Weight::Bias, "will bias the figures"), (Weight::Note, "to know")] {
        let of_weight: Vec<&HostFinding> =
            examination.findings.iter().filter(|finding| finding.weight == weight).collect();
        if of_weight.is_empty() {
            continue;
        }
        out.push_str(title);
        out.push('\n');
        for finding in of_weight {
            paragraph(&mut out, &format!("- {}", finding.finding), 2, 4, width);
            paragraph(&mut out, &finding.effect, 4, 4, width);
            // A command is not broken: it is copied.
            finding.cure.iter().for_each(|command| out.extend(["    $ ", command, "\n"]));
            finding.persistent.iter().for_each(|persistent| persistent.write(&mut out));
        }
        out.push('\n');
    }
    if !examination.biased {
        out.push_str("nothing here will bias the figures\n");
    }
    for (title, names) in [("fine", &examination.fine), ("not known here", &examination.unknown)] {
        if !names.is_empty() {
            paragraph(&mut out, &format!("{title}: {}", names.join(", ")), 0, 2, width);
        }
    }
    out
}

/// What was found, a line each: for a list of hosts.
pub fn findings_text(out: &mut String, examination: &Examination, width: usize) {
    for finding in &examination.findings {
        let biases = if finding.weight == Weight::Bias { " (will bias the figures)" } else { "" };
        paragraph(out, &format!("- {}{biases}", finding.finding), 2, 4, width);
    }
    if examination.findings.is_empty() {
        out.push_str("  nothing to note\n");
    }
}

/// The rules, as data.
const RULES: &str = include_str!("doctor/rules.toml");

/// The longest value of a fact in a sentence.
const LONGEST_FACT: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    /// Facts from `name=value` words.
    fn facts(words: &[&str]) -> Facts {
        let mut facts = Facts::default();
        for (name, value) in words.iter().filter_map(|word| word.split_once('=')) {
            match value.parse() {
                Ok(number) => facts.number(name, Some(number)),
                Err(_) => facts.text(name, Some(value)),
            }
        }
        facts
    }

    /// A host on which every fact is known and nothing matters.
    const HEALTHY: [&str; 70] = [
        "sources.unrouted=0",
        "program.build=release",
        "cpu.governor=performance",
        "cpu.frequency_limit_percent=100",
        "cpu.turbo=off",
        "cpu.thermal_throttles=0",
        "cpu.idle_exit_us=2",
        "cpu.smt=0",
        "cpu.count=8",
        "cpu.online=8",
        "cgroup.quota_percent=0",
        "load.busy_percent=1",
        "load.processes=no single process",
        "load.average_percent=3",
        "load.steal_percent=0",
        "machine.is_virtual=0",
        "machine.in_container=0",
        "clock.read_ns=25",
        "clock.source=tsc",
        "clock.daemon_count=1",
        "clock.daemons=chronyd",
        "buffer.receive_bytes=4194304",
        "need.receive_buffer_bytes=4194304",
        "buffer.send_bytes=1048576",
        "need.send_buffer_bytes=1048576",
        "tcp.send_buffer_bytes=4194304",
        "tcp.receive_buffer_bytes=6291456",
        "net.core.rmem_max=212992",
        "need.ipv6=0",
        "net.core.netdev_max_backlog=1000",
        "ports.count=28232",
        "ports.range=32768 to 60999",
        "ports.time_wait=0",
        "files.limit=1024",
        "files.limit_hard=1048576",
        "conntrack.entries=0",
        "conntrack.max=262144",
        "conntrack.free=262144",
        "interface.name=eth0",
        "interface.link=up",
        "interface.speed_mbps=10000",
        "interface.gro=on",
        "interface.queues=8",
        "interface.queues_max=8",
        "interface.spare_queues=0",
        "interface.rps_queues=0",
        "interface.rx_ring=1024",
        "interface.rx_ring_max=8192",
        "interface.tx_ring=512",
        "interface.tx_ring_max=8192",
        "interface.txqueuelen=1000",
        "interface.rx_usecs=8",
        "interface.adaptive_rx=0",
        "interface.lro=off",
        "interface.rx_checksum=on",
        "interface.tx_checksum=on",
        "need.rx_ring=4096",
        "need.tx_ring=4096",
        "need.rps_cpus=ff",
        "interface.irqs=8",
        "interface.irq_places=8",
        "interface.irq_cpus=0",
        "numa.nodes=2",
        "interface.far_cpus=0",
        "interface.near_cpus=0-3",
        "irqbalance.running=0",
        "memory.available_bytes=8000000000",
        "memory.swapped_pages=0",
        "ipv6.addresses=1",
        "xdp.possible=1",
    ];

    /// What makes each rule speak, on an otherwise healthy host.
    const ILL: [(&str, &[&str]); 48] = [
        ("debug-build", &["program.build=debug"]),
        ("cpu-governor", &["cpu.governor=performance, powersave"]),
        ("cpu-frequency-limit", &["cpu.frequency_limit_percent=66"]),
        ("cpu-turbo", &["cpu.turbo=on"]),
        ("cpu-heat", &["cpu.thermal_throttles=3"]),
        ("cpu-sleep", &["cpu.idle_exit_us=133"]),
        ("cpu-threads", &["cpu.smt=1"]),
        ("cpu-quota", &["cgroup.quota_percent=150"]),
        ("other-load", &["load.busy_percent=40"]),
        ("load-average", &["load.average_percent=900"]),
        ("cpu-steal", &["load.steal_percent=3"]),
        ("virtual-machine", &["machine.is_virtual=1", "machine.virtual=KVM", "clock.daemon_count=1"]),
        ("container", &["machine.in_container=1", "machine.container=docker"]),
        ("clock-source", &["clock.read_ns=1200", "clock.source=hpet"]),
        ("clock-daemons", &["clock.daemon_count=2", "clock.daemons=chronyd, ntpd"]),
        ("clock-steps", &["clock.daemons=systemd-timesyn"]),
        ("clock-unset", &["clock.daemon_count=0", "clock.daemons=none"]),
        ("receive-buffer", &["buffer.receive_bytes=212992"]),
        ("send-buffer", &["buffer.send_bytes=212992"]),
        ("tcp-send-buffer", &["tcp.send_buffer_bytes=65536", "need.tcp_wmem=4096 16384 1048576"]),
        ("tcp-receive-buffer", &["tcp.receive_buffer_bytes=65536", "need.tcp_rmem=4096 16384 1048576"]),
        ("backlog", &["net.core.netdev_max_backlog=100"]),
        ("local-ports", &["ports.count=101", "ports.range=40000 to 40100"]),
        ("local-ports-waiting", &["ports.time_wait=28000"]),
        ("open-files", &["files.limit_hard=4096"]),
        ("conntrack-full", &["conntrack.entries=260000", "conntrack.free=2144"]),
        ("conntrack-on", &["conntrack.entries=7"]),
        ("link", &["interface.link=down"]),
        ("link-speed", &["interface.speed_mbps=100"]),
        ("gro", &["interface.gro=off"]),
        ("queues", &["interface.queues=2", "interface.spare_queues=6", "need.queues=combined 8"]),
        ("packet-steering", &["interface.queues=2", "interface.queues_max=2"]),
        ("receive-ring", &["interface.rx_ring=256"]),
        ("send-ring", &["interface.tx_ring=256"]),
        ("send-queue", &["interface.txqueuelen=32"]),
        ("interrupt-wait", &["interface.rx_usecs=125"]),
        ("interrupt-wait-varies", &["interface.rx_usecs=125", "interface.adaptive_rx=1"]),
        ("large-receive", &["interface.lro=on"]),
        ("send-checksums", &["interface.tx_checksum=off"]),
        ("receive-checksums", &["interface.rx_checksum=off"]),
        ("interrupts", &["interface.irq_places=1"]),
        ("far-cpus", &["interface.far_cpus=4"]),
        ("irqbalance", &["irqbalance.running=1"]),
        ("memory", &["memory.available_bytes=100000000"]),
        ("swapping", &["memory.swapped_pages=8"]),
        ("ipv6", &["need.ipv6=1", "ipv6.addresses=0"]),
        (
            "source-routes",
            &["sources.unrouted=2", "sources.networks=10.77.0.0/16 10.78.0.0/16", "sources.family=-4"],
        ),
        ("af-xdp", &["xdp.possible=0", "xdp.why_not=this user lacks CAP_BPF"]),
    ];

    fn found(words: &[&str]) -> Vec<String> {
        examine(facts(words)).findings.into_iter().map(|finding| finding.rule).collect()
    }

    #[test]
    fn a_list_of_hosts_has_a_line_for_each_finding() {
        let mut text = String::new();
        let steal = facts(&[&HEALTHY[..], &["clock.daemon_count=2", "clock.daemons=chronyd, ntpd"]].concat());
        findings_text(&mut text, &examine(steal), 100);
        assert_eq!(text, "  - more than one program sets the clock: chronyd, ntpd (will bias the figures)\n");
        text.clear();
        findings_text(&mut text, &examine(facts(&HEALTHY)), 100);
        assert_eq!(text, "  nothing to note\n");
    }

    #[test]
    fn each_rule_is_found_where_its_cause_is_and_no_other_rule_with_it() {
        assert_eq!(found(&HEALTHY), Vec::<String>::new());
        for (rule, causes) in ILL {
            let expected = match rule {
                // A full table is one that is used.
                "conntrack-full" => vec![rule, "conntrack-on"],
                rule => vec![rule],
            };
            assert_eq!(found(&[&HEALTHY[..], causes].concat()), expected, "{rule}");
        }
        let all: Vec<String> = rules().into_iter().map(|rule| rule.name).collect();
        assert_eq!(all, ILL.map(|(rule, _)| rule), "a rule without its test");
    }

    #[test]
    fn no_sentence_and_no_command_has_a_fact_left_out() {
        for (rule, causes) in ILL {
            let examination = examine(facts(&[&HEALTHY[..], causes].concat()));
            for finding in &examination.findings {
                let mut persistent = String::new();
                finding.persistent.iter().for_each(|one| one.write(&mut persistent));
                let texts = [&finding.finding, &finding.effect, &persistent].into_iter().chain(&finding.cure);
                // Braces of nft and of udev are theirs.
                let is_theirs = |text: &String| ["{ type", "ATTR{"].iter().any(|own| text.contains(own));
                let has_gap = |text: &String| text.contains('{') && !is_theirs(text);
                assert!(!texts.into_iter().any(has_gap), "{rule}: {finding:?}");
            }
        }
    }

    #[test]
    fn each_value_that_lasts_is_one_that_may_be_set() {
        for rule in rules() {
            let causes =
                ILL.iter().find(|(name, _)| *name == rule.name).map_or(&[][..], |(_, causes)| causes);
            let facts = facts(&[&HEALTHY[..], causes].concat());
            let refused = rule.lasts.refused(&|template| filled(template, &facts, Fact::to_string));
            assert_eq!(refused, [""; 0], "{}", rule.name);
        }
    }

    #[test]
    fn what_the_host_does_not_say_is_not_judged() {
        let examination = examine(Facts::default());
        assert!(examination.findings.is_empty() && !examination.biased && examination.fine.is_empty());
        assert_eq!(examination.unknown.len(), rules().len());
    }

    #[test]
    fn a_finding_says_what_it_is_what_it_does_and_the_command() {
        let causes = ["buffer.receive_bytes=212992", "irqbalance.running=1"];
        let text = examination_text(&examine(facts(&[&HEALTHY[..], &causes].concat())), 80);
        let begin = "will bias the figures\n  - a socket gets 212,992 octets of receive buffer, and a run \
             asks for 4,194,304\n";
        assert!(text.starts_with(begin), "{text}");
        let cure = "\n    $ sysctl -w net.core.rmem_max=4194304\n    for good, in /etc/sysctl.d/90-dnsdyno.conf:\n\
             \u{20}     # Holds after the next start of the host, or after: sysctl --system\n      \
             net.core.rmem_max = 4194304\n\nto know\n  - irqbalance is running\n";
        assert!(text.contains(cure), "{text}");
        let last = "\n    $ systemctl stop irqbalance\n    for good: $ systemctl disable irqbalance\n";
        assert!(text.contains(last), "{text}");
        assert!(!text.contains("nothing here will bias"));
        assert!(
            examination_text(&examine(facts(&HEALTHY)), 80)
                .starts_with("nothing here will bias the figures\nfine: ")
        );
    }
}
