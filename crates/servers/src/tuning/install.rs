//! Changes in the form in which they are installed: what is read at each start of the host and of the server.
//!
//! ```text
//!   /etc/sysctl.d/90-dnsdyno.conf                     parameters of the kernel
//!   /etc/tmpfiles.d/90-dnsdyno.conf                   other files of the kernel
//!   /etc/udev/rules.d/90-dnsdyno.rules                network card: ethtool, queues
//!   /etc/systemd/system/UNIT.d/dnsdyno.conf           limits of the server
//!   /etc/default/named, the server's configuration    lines to add to what is there
//! ```

use super::configuration::with_value;
use super::pairs::pairs_to_set;
use super::tunable::{Access, Scope, Tunable};
use crate::server::Server;

/// A parameter that gets another value.
#[derive(Clone, Debug)]
pub struct Change<'a> {
    /// The parameter.
    pub tunable: &'a Tunable,
    /// Its value before; `None` where it had none of its own.
    pub old: Option<String>,
    /// Its value after; `None` where it is taken away.
    pub new: Option<String>,
    /// What is known of the change, in a line: its gain.
    pub note: Option<String>,
}

/// A file to install.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstallFile {
    /// Where it belongs.
    pub path: String,
    /// What is in it.
    pub text: String,
    /// Whether this is all of the file; otherwise these are lines for a file that is there.
    pub is_whole: bool,
}

/// The files that make changes last. `interface` = the name of the network card that was tuned.
pub fn install_files(
    changes: &[Change<'_>],
    server: Option<&Server>,
    interface: Option<&str>,
) -> Vec<InstallFile> {
    let files = [
        sysctl(changes),
        kernel_files(changes),
        udev(changes, interface.unwrap_or(NO_INTERFACE)),
        server.and_then(|server| drop_in(changes, server)),
        server.and_then(|server| arguments(changes, server)),
        server.and_then(|server| configuration(changes, server)),
    ];
    files.into_iter().flatten().collect()
}

/// The changes that take these back, the last one first.
pub fn reversed<'a>(changes: &[Change<'a>]) -> Vec<Change<'a>> {
    let back = |change: &Change<'a>| Change {
        tunable: change.tunable,
        old: change.new.clone(),
        new: change.old.clone(),
        note: None,
    };
    changes.iter().rev().map(back).collect()
}

impl Change<'_> {
    /// A comment on it, with this mark before it.
    fn comment(&self, mark: &str) -> String {
        let old = self.old.as_deref().map_or("no value".to_owned(), one_line);
        let note = self.note.as_deref().map(|note| format!("; {}", one_line(note))).unwrap_or_default();
        format!("{mark} {}: before, {old}{note}\n", self.tunable.id())
    }

    /// Its value after, in one line.
    fn value(&self) -> Option<String> {
        self.new.as_deref().map(one_line)
    }
}

fn sysctl(changes: &[Change<'_>]) -> Option<InstallFile> {
    let lines = lines(changes, |change| match (&change.tunable.access, change.value()) {
        (Access::Sysctl, Some(value)) => Some(format!("{} = {value}\n", change.tunable.name)),
        (Access::Sysctl, None) => Some(format!("# {} is taken away.\n", change.tunable.name)),
        _ => None,
    })?;
    Some(InstallFile {
        path: "/etc/sysctl.d/90-dnsdyno.conf".to_owned(),
        text: format!("# Holds after the next start of the host, or after: sysctl --system\n{lines}"),
        is_whole: true,
    })
}

/// Files of the kernel that are not of a network card.
fn kernel_files(changes: &[Change<'_>]) -> Option<InstallFile> {
    let lines = lines(changes, |change| match (&change.tunable.access, change.tunable.scope) {
        (Access::File { path, .. }, Scope::Host | Scope::Namespace) => Some(match change.value() {
            Some(value) => format!("w {path} - - - - {value}\n"),
            None => format!("# {path} is taken away.\n"),
        }),
        _ => None,
    })?;
    Some(InstallFile {
        path: "/etc/tmpfiles.d/90-dnsdyno.conf".to_owned(),
        text: format!(
            "# Holds after the next start of the host, or after: systemd-tmpfiles --create\n{lines}"
        ),
        is_whole: true,
    })
}

fn udev(changes: &[Change<'_>], interface: &str) -> Option<InstallFile> {
    let lines = lines(changes, |change| {
        let value = change.value()?;
        let action = match &change.tunable.access {
            Access::Ethtool { group, key } => match pairs_to_set(key, &value) {
                Some(pairs) => {
                    let (option, pairs) = (group.option_to_set(), pairs.join(" "));
                    format!("RUN+=\"/usr/sbin/ethtool {option} {interface} {pairs}\"")
                }
                None => return Some(format!("# Set {key} to {value} by hand.\n")),
            },
            Access::File { path, .. } if change.tunable.scope == Scope::Interface => {
                file_of_interface(path, interface, &value)
            }
            _ => return None,
        };
        Some(format!("ACTION==\"add\", SUBSYSTEM==\"net\", KERNEL==\"{interface}\", {action}\n"))
    })?;
    let placeholder = match interface == NO_INTERFACE {
        true => format!("# Write the name of the network card in place of {NO_INTERFACE}.\n"),
        false => String::new(),
    };
    Some(InstallFile {
        path: "/etc/udev/rules.d/90-dnsdyno.rules".to_owned(),
        text: format!(
            "# Holds after the next start of the host, or after: udevadm control --reload && \
             udevadm trigger --action=add /sys/class/net/{interface}\n{placeholder}{lines}"
        ),
        is_whole: true,
    })
}

/// What a rule of udev does for a file of an interface: an attribute, or a loop over several files. `$$` is a `$`.
fn file_of_interface(path: &str, interface: &str, value: &str) -> String {
    let attribute = path.strip_prefix("/sys/class/net/{interface}/").filter(|rest| !rest.contains('*'));
    if let Some(attribute) = attribute {
        return format!("ATTR{{{attribute}}}=\"{value}\"");
    }
    let (of, file) = match path.contains("{irq}") {
        true => (IRQS.to_owned(), path.replace("{irq}", "$${of##*/}")),
        false => (path.to_owned(), "$$of".to_owned()),
    };
    let of = of.replace("{interface}", interface);
    format!("RUN+=\"/bin/sh -c 'for of in {of}; do echo {value} > {file}; done'\"")
}

fn drop_in(changes: &[Change<'_>], server: &Server) -> Option<InstallFile> {
    let unit = unit_of(server);
    let lines = lines(changes, |change| {
        let value = change.value();
        // Without a value a directive has the default again.
        let plain = value.clone().unwrap_or_default();
        match &change.tunable.access {
            Access::Limit(limit) => Some(format!("Limit{limit}={plain}\n")),
            Access::Unit(directive) => Some(format!("{directive}={plain}\n")),
            Access::Quota => {
                let percent =
                    value.map(|value| format!("{}%", value.trim_end_matches('%'))).unwrap_or_default();
                Some(format!("CPUQuota={percent}\n"))
            }
            Access::Instances(unit) => Some(format!(
                "# Instead of a directive: systemctl enable --now {unit}{{1..{plain}}}.service\n"
            )),
            _ => None,
        }
    })?;
    Some(InstallFile {
        path: format!("/etc/systemd/system/{unit}.d/dnsdyno.conf"),
        text: format!(
            "# Holds after: systemctl daemon-reload && systemctl restart {unit}\n[Service]\n{lines}"
        ),
        is_whole: true,
    })
}

/// Options of the command line: of BIND, the packages read them from a file.
fn arguments(changes: &[Change<'_>], server: &Server) -> Option<InstallFile> {
    let lines = lines(changes, |change| match (&change.tunable.access, change.value()) {
        (Access::Argument(option), Some(value)) => Some(format!("OPTIONS=\"-u bind {option} {value}\"\n")),
        (Access::Argument(option), None) => Some(format!("# Take {option} and its value out of OPTIONS.\n")),
        _ => None,
    })?;
    Some(InstallFile {
        path: "/etc/default/named".to_owned(),
        text: format!(
            "# Keep the other words of OPTIONS. The file is /etc/sysconfig/named on Fedora and RHEL.\n\
             # Holds after: systemctl restart {}\n{lines}",
            unit_of(server)
        ),
        is_whole: false,
    })
}

fn configuration(changes: &[Change<'_>], server: &Server) -> Option<InstallFile> {
    let mark = if server.word == "knot-resolver" { "--" } else { "#" };
    let own: Vec<&Change<'_>> =
        changes.iter().filter(|change| change.tunable.access == Access::Configuration).collect();
    if own.is_empty() {
        return None;
    }
    let (mut comments, mut statements) = (String::new(), String::new());
    for change in own {
        comments.push_str(&change.comment(mark));
        let name = &change.tunable.name;
        match change.value().map(|value| (with_value(server, &statements, name, &value), value)) {
            Some((Ok(edited), _)) => statements = edited,
            Some((Err(why), value)) => {
                comments.push_str(&format!("{mark} Set {name} to {value} by hand: {why}\n"))
            }
            None => comments.push_str(&format!("{mark} Take the statement {name} away.\n")),
        }
    }
    let usual = server.configuration.as_ref().and_then(|configuration| configuration.usual.first());
    Some(InstallFile {
        path: (*usual.unwrap_or(&"the configuration of the server")).to_owned(),
        text: format!(
            "{mark} In place of statements with these names, where there are some.\n{comments}{statements}"
        ),
        is_whole: false,
    })
}

/// A comment and a line for each change that has one; `None` where none has.
fn lines(changes: &[Change<'_>], line: impl Fn(&Change<'_>) -> Option<String>) -> Option<String> {
    let all: String = changes
        .iter()
        .filter_map(|change| Some(format!("{}{}", change.comment("#"), line(change)?)))
        .collect();
    (!all.is_empty()).then_some(all)
}

/// The systemd unit of a server, in the packages of Debian.
fn unit_of(server: &Server) -> String {
    let unit = UNITS.iter().find(|(word, _)| *word == server.word).map_or(server.word, |(_, unit)| *unit);
    format!("{unit}.service")
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Units that are not called like their server.
const UNITS: [(&str, &str); 2] = [("bind", "named"), ("knot-resolver", "kresd@")];

/// Links with the numbers of the interrupts of a network card.
const IRQS: &str = "/sys/class/net/{interface}/device/msi_irqs/*";

/// What stands where the name of the interface is not known.
const NO_INTERFACE: &str = "INTERFACE";

#[cfg(test)]
mod tests {
    use super::super::catalogue::tunable_of;
    use super::*;
    use crate::table::server_of;

    fn change(of: &str, name: &str, old: Option<&str>, new: &str) -> Change<'static> {
        let tunable = tunable_of(of, name).unwrap_or_else(|| panic!("{of} {name}"));
        let new = Some(new.to_owned());
        Change { tunable, old: old.map(str::to_owned), new, note: Some("+12 %".to_owned()) }
    }

    fn changes() -> Vec<Change<'static>> {
        vec![
            change("kernel", "net.core.rmem_max", Some("212992"), "4194304"),
            change("kernel", "net.ipv4.tcp_rmem", Some("4096\t131072\t6291456"), "4096 524288 16777216"),
            change("card", "ring.rx", Some("256"), "4096"),
            change("card", "txqueuelen", Some("1000"), "10000"),
            change("card", "rps_cpus", Some("0"), "3"),
            change("cpu", "irq_affinity", Some("3"), "1"),
            change("memory", "transparent_hugepage", Some("always"), "never"),
            change("limits", "LimitNOFILE", Some("1024"), "65536"),
            change("limits", "CPUQuota", Some("100"), "200"),
            change("bind", "named -n", None, "4"),
            change("bind", "tcp-clients", None, "600"),
            change("bind", "slip", Some("2"), "1"),
        ]
    }

    fn text_of<'a>(files: &'a [InstallFile], path: &str) -> &'a InstallFile {
        files.iter().find(|file| file.path == path).unwrap_or_else(|| panic!("{path} is not in {files:?}"))
    }

    #[test]
    fn each_kind_of_change_is_in_the_file_that_is_read_at_a_start() {
        let files = install_files(&changes(), server_of("bind"), Some("eth0"));
        for (path, line) in [
            (
                "/etc/sysctl.d/90-dnsdyno.conf",
                "# net.core.rmem_max: before, 212992; +12 %\nnet.core.rmem_max = 4194304\n",
            ),
            ("/etc/sysctl.d/90-dnsdyno.conf", "net.ipv4.tcp_rmem = 4096 524288 16777216\n"),
            (
                "/etc/udev/rules.d/90-dnsdyno.rules",
                "KERNEL==\"eth0\", RUN+=\"/usr/sbin/ethtool -G eth0 rx 4096\"\n",
            ),
            ("/etc/udev/rules.d/90-dnsdyno.rules", "ATTR{tx_queue_len}=\"10000\"\n"),
            (
                "/etc/udev/rules.d/90-dnsdyno.rules",
                "'for of in /sys/class/net/eth0/queues/rx-*/rps_cpus; do echo 3 > $$of; done'",
            ),
            (
                "/etc/udev/rules.d/90-dnsdyno.rules",
                "/net/eth0/device/msi_irqs/*; do echo 1 > /proc/irq/$${of##*/}/smp_affinity; done'",
            ),
            (
                "/etc/tmpfiles.d/90-dnsdyno.conf",
                "w /sys/kernel/mm/transparent_hugepage/enabled - - - - never\n",
            ),
            (
                "/etc/systemd/system/named.service.d/dnsdyno.conf",
                "[Service]\n# LimitNOFILE: before, 1024; +12 %\n",
            ),
            ("/etc/systemd/system/named.service.d/dnsdyno.conf", "LimitNOFILE=65536\n"),
            ("/etc/systemd/system/named.service.d/dnsdyno.conf", "CPUQuota=200%\n"),
            ("/etc/default/named", "OPTIONS=\"-u bind -n 4\"\n"),
            ("/etc/bind/named.conf", "options {\n    tcp-clients 600;\n    rate-limit { slip 1; };\n};\n"),
        ] {
            let file = text_of(&files, path);
            assert!(file.text.contains(line), "{path}: {}", file.text);
        }
        assert_eq!(files.len(), 6);
    }

    #[test]
    fn what_is_reversed_gives_the_old_values_and_takes_away_what_was_not_there() {
        let back = reversed(&changes());
        assert_eq!(back[0].tunable.name, "slip");
        let files = install_files(&back, server_of("bind"), Some("eth0"));
        let configuration = &text_of(&files, "/etc/bind/named.conf").text;
        assert!(configuration.contains("# Take the statement tcp-clients away.\n"), "{configuration}");
        assert!(configuration.contains("rate-limit { slip 2; };"), "{configuration}");
        assert!(
            text_of(&files, "/etc/sysctl.d/90-dnsdyno.conf").text.contains("net.core.rmem_max = 212992\n")
        );
        assert!(text_of(&files, "/etc/default/named").text.contains("# Take -n and its value out"));
        let again = reversed(&back);
        assert_eq!(again.last().map(|change| change.new.clone()), Some(Some("1".to_owned())));
    }

    #[test]
    fn a_feature_gets_the_values_of_its_parts_back() {
        for (old, line) in [
            (
                "tx-tcp-segmentation on tx-tcp-mangleid-segmentation off",
                "ethtool -K eth0 tx-tcp-segmentation on tx-tcp-mangleid-segmentation off\"\n",
            ),
            ("off [requested on]", "ethtool -K eth0 tso on\"\n"),
            ("on", "ethtool -K eth0 tso on\"\n"),
            ("a b c", "# Set tso to a b c by hand.\n"),
        ] {
            let back = reversed(&[change("card", "feature.tso", Some(old), "off")]);
            let files = install_files(&back, None, Some("eth0"));
            assert!(files[0].text.ends_with(line), "{}", files[0].text);
        }
    }

    #[test]
    fn without_a_server_or_a_card_nothing_is_written_for_it() {
        let kernel = [change("kernel", "net.core.somaxconn", Some("128"), "4096")];
        assert_eq!(install_files(&kernel, None, None).len(), 1);
        assert_eq!(install_files(&[], server_of("bind"), Some("eth0")), []);
        let card = [change("card", "ring.rx", Some("256"), "4096")];
        assert!(install_files(&card, None, None)[0].text.contains("in place of INTERFACE"));
    }

    #[test]
    fn lines_for_knot_resolver_have_its_comments() {
        let changes = [change("knot-resolver", "cache.size", None, "419430400")];
        let files = install_files(&changes, server_of("knot-resolver"), None);
        assert!(files[0].text.starts_with("-- "), "{}", files[0].text);
        assert!(files[0].text.ends_with("cache.size = 419430400\n"));
    }
}
