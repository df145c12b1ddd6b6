//! Values of the host, which a process of its own sets and restores: the keeper.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use dnsdyno_page::quoted;
use dnsdyno_servers::Server;
use dnsdyno_servers::tuning::{Access, DeviceGroup, Tunable, sysctl_path, value_in, with_value};
use dnsdyno_settings::{Item, Keeper, KeeperError, RESTART_WITHIN, Restored};
use dnsdyno_sys::process::CpuList;

use super::how::How;

/// Where the host of the server is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum On {
    /// It is this one.
    Host,
    /// A network namespace of this one, by its name for `ip netns`.
    Namespace(String),
    /// Another one, by the words of `ssh` for it.
    Ssh(String),
}

/// The host of a server, and the keeper there, which is started when it is needed first.
pub(super) struct Host {
    on: On,
    program: PathBuf,
    /// The command that starts the server again, where its configuration is changed.
    restart: Option<String>,
    keeper: Option<Keeper>,
    /// What the keeper has restored when it began, of a tuner that was killed with its keeper.
    left: Vec<Restored>,
}

/// A server that is there already: how its configuration is changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct There {
    /// The file of its configuration on its host.
    pub config: Option<PathBuf>,
    /// The command that starts it again.
    pub restart: Option<String>,
    /// Its network interface.
    pub interface: Option<String>,
}

/// Why values were not set.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NotSet {
    /// The host does not take the values of these changes, by their places, for this reason.
    Refused(Vec<usize>, String),
    /// Nothing can be set any more: the keeper is lost, or has no journal.
    Ended(String),
}

impl NotSet {
    fn of(error: KeeperError, places: Vec<usize>) -> NotSet {
        match error {
            KeeperError::Refused(why) => NotSet::Refused(places, why),
            other => NotSet::Ended(other.to_string()),
        }
    }
}

impl On {
    /// Reads `host`, `netns:NAME` or `ssh://HOST`.
    ///
    /// # Errors
    /// It is none of them: a sentence that says what to write.
    pub fn parse(text: &str) -> Result<On, String> {
        match (text, text.strip_prefix("netns:"), text.strip_prefix("ssh://")) {
            ("host", ..) => Ok(On::Host),
            (_, Some(name), _) if !name.is_empty() => Ok(On::Namespace(name.to_owned())),
            (.., Some(host)) if !host.is_empty() && !host.starts_with('-') => Ok(On::Ssh(host.to_owned())),
            _ => Err(format!("`--on {text}`: write host, netns:NAME or ssh://HOST")),
        }
    }

    /// The command that starts a keeper there; `program` is this program.
    fn command(&self, program: &Path, restart: Option<&str>) -> Command {
        let mut command = match self {
            On::Host | On::Namespace(_) => Command::new(program),
            On::Ssh(host) => {
                let (host, port) = host_and_port(host);
                let mut ssh = Command::new("ssh");
                // It ends by itself where the link is lost, as the keeper at its other end does.
                ssh.args([
                    "-o",
                    "BatchMode=yes",
                    "-o",
                    "ServerAliveInterval=5",
                    "-o",
                    "ServerAliveCountMax=6",
                ]);
                if let Some(port) = port {
                    ssh.args(["-p", port]);
                }
                ssh.args(["--", &host, "dnsdyno"]);
                ssh
            }
        };
        command.args(["tune", "--keeper"]);
        if let On::Namespace(name) = self {
            command.args(["--namespace", name]);
        }
        if let Some(restart) = restart {
            // `ssh` joins its words, and the shell there splits them again.
            let word = if let On::Ssh(_) = self { quoted(restart) } else { restart.to_owned() };
            command.args(["--afterwards", &word]);
        }
        command
    }
}

/// `HOST` or `HOST:PORT`; an IPv6 address that is followed by a port is in brackets, which `ssh` does not take.
fn host_and_port(text: &str) -> (String, Option<&str>) {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') || host.ends_with(']') => (host, Some(port)),
        _ => (text, None),
    };
    (host.replace(['[', ']'], ""), port)
}

impl Host {
    pub(super) fn new(on: On, there: &There) -> Host {
        let program = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("dnsdyno"));
        Host { on, program, restart: there.restart.clone(), keeper: None, left: Vec::new() }
    }

    /// The present value of files of the kernel, and that they are set there.
    pub(super) fn kernel(&mut self, paths: Vec<PathBuf>) -> Result<(How, Option<String>), String> {
        let items: Vec<Item> = paths.into_iter().map(|path| Item::Kernel { path }).collect();
        self.items(items)
    }

    /// The same of all files with these names, in which `*` stands for each queue or CPU.
    pub(super) fn files(&mut self, pattern: &str) -> Result<(How, Option<String>), String> {
        if !pattern.contains('*') {
            return self.kernel(vec![PathBuf::from(pattern)]);
        }
        // The shell there knows which there are. The pattern is of the catalogue.
        let command = format!("ls -d {pattern} 2>/dev/null");
        let listed = self.keeper().and_then(|keeper| keeper.run(&command, LIST_WITHIN));
        let listed = listed.map_err(|error| error.to_string())?;
        let paths: Vec<PathBuf> = listed.printed.lines().map(PathBuf::from).collect();
        if paths.is_empty() {
            return Err(NOT_THERE.to_owned());
        }
        self.kernel(paths)
    }

    /// The present value of a setting of a network card.
    pub(super) fn device(
        &mut self,
        interface: &str,
        group: DeviceGroup,
        key: &str,
    ) -> Result<(How, Option<String>), String> {
        let item = Item::Device { interface: interface.to_owned(), group, key: key.to_owned() };
        self.items(vec![item])
    }

    fn items(&mut self, items: Vec<Item>) -> Result<(How, Option<String>), String> {
        let keeper = self.keeper().map_err(|error| error.to_string())?;
        let mut present: Option<String> = None;
        for item in &items {
            let read = keeper.read(item).map_err(|error| error.to_string())?;
            let value = read.ok_or_else(|| NOT_THERE.to_owned())?;
            present.get_or_insert(value);
        }
        Ok((How::Host(items), present))
    }

    /// How a parameter of a server that is there is set, and its present value; or why it cannot be.
    pub(super) fn look(
        &mut self,
        tunable: &Tunable,
        server: &Server,
        there: &There,
    ) -> Result<(How, Option<String>), String> {
        match &tunable.access {
            Access::Configuration => {
                let (Some(path), Some(_)) = (&there.config, &there.restart) else {
                    return Err(NO_CONFIG.to_owned());
                };
                let text = self.config(path)?;
                let default = server.default_of(&tunable.name).map(str::to_owned);
                Ok((How::Configuration, value_in(server, &text, &tunable.name).or(default)))
            }
            _ => self.look_host(tunable, there),
        }
    }

    /// The same of a parameter that is no statement of a configuration.
    pub(super) fn look_host(
        &mut self,
        tunable: &Tunable,
        there: &There,
    ) -> Result<(How, Option<String>), String> {
        match &tunable.access {
            Access::Sysctl => self.kernel(vec![sysctl_path(&tunable.name)]),
            Access::File { path, .. } if path.contains("{irq}") => Err(NOT_THERE.to_owned()),
            Access::File { path, .. } => {
                let interface = there.interface.as_deref();
                let path = match path.contains("{interface}") {
                    true => path.replace("{interface}", interface.ok_or(NO_INTERFACE)?),
                    false => path.clone(),
                };
                self.files(&path)
            }
            Access::Ethtool { group, key } => {
                let interface = there.interface.as_deref().ok_or(NO_INTERFACE)?;
                self.device(interface, *group, key)
            }
            Access::Configuration => Err(NO_CONFIG.to_owned()),
            Access::Argument(_)
            | Access::Limit(_)
            | Access::Unit(_)
            | Access::Instances(_)
            | Access::Quota => {
                Err("it is of how the service is started: change its unit, and tune again".to_owned())
            }
            Access::None => Err("it cannot be set".to_owned()),
        }
    }

    fn config(&mut self, path: &Path) -> Result<String, String> {
        let item = Item::File { path: path.to_owned() };
        let read = self.keeper().and_then(|keeper| keeper.read(&item)).map_err(|error| error.to_string())?;
        read.ok_or_else(|| format!("{} is not there", path.display()))
    }

    /// Sets values: of the kernel and of cards each, of the configuration all at once.
    pub(super) fn set(
        &mut self,
        changes: &[(&How, &Tunable, &str)],
        server: &Server,
        there: &There,
    ) -> Result<(), NotSet> {
        for (place, (how, tunable, value)) in changes.iter().enumerate() {
            tunable.allows(value).map_err(|why| NotSet::Refused(vec![place], why))?;
            if let How::Host(items) = how {
                for item in items {
                    let written = self.keeper().and_then(|keeper| keeper.write(item, value));
                    written.map_err(|error| NotSet::of(error, vec![place]))?;
                }
            }
        }
        let of_config = changes.iter().enumerate().filter(|(_, (how, ..))| **how == How::Configuration);
        let places: Vec<usize> = of_config.clone().map(|(place, _)| place).collect();
        if let Some(path) = there.config.as_ref().filter(|_| !places.is_empty()) {
            let item = Item::File { path: path.clone() };
            let cannot = |error| NotSet::of(error, places.clone());
            let read = self.keeper().and_then(|keeper| keeper.read(&item)).map_err(cannot)?;
            let gone = || NotSet::Refused(places.clone(), format!("{} is not there", path.display()));
            let changed = of_config.clone().try_fold(
                read.ok_or_else(gone)?,
                |config, (place, (_, tunable, value))| {
                    with_value(server, &config, &tunable.name, value)
                        .map_err(|error| NotSet::Refused(vec![place], error.to_string()))
                },
            )?;
            self.keeper().and_then(|keeper| keeper.write(&item, &changed)).map_err(cannot)?;
        }
        Ok(())
    }

    /// Starts the server again. The inner error is of the server, the outer one of the keeper.
    pub(super) fn restart(&mut self, there: &There) -> Result<Result<(), String>, String> {
        let Some(command) = &there.restart else { return Ok(Ok(())) };
        let ended = match self.keeper().and_then(|keeper| keeper.run(command, RESTART_WITHIN)) {
            Ok(ended) => ended,
            Err(KeeperError::Refused(why)) => return Ok(Err(why)),
            Err(error) => return Err(error.to_string()),
        };
        Ok(match ended.status {
            Some(0) => Ok(()),
            Some(status) => Err(format!("`{command}` ended with {status}: {}", ended.printed.trim())),
            None => Err(format!("`{command}` had not ended after {} s", RESTART_WITHIN.as_secs())),
        })
    }

    /// The CPUs of the host that are online; `None` where they cannot be read.
    pub(super) fn online_cpus(&mut self) -> Option<Vec<usize>> {
        let (_, list) = self.kernel(vec![PathBuf::from(ONLINE)]).ok()?;
        Some(CpuList::parse(&list?)?.numbers().take(MOST_CPUS).collect())
    }

    /// Restores everything that was set; returns what became of each value. Where the keeper was killed, another one
    /// restores what that has left.
    pub(super) fn undo(&mut self) -> Result<Vec<Restored>, String> {
        let Some(keeper) = &mut self.keeper else { return Ok(Vec::new()) };
        match keeper.undo() {
            Ok(restored) => Ok(restored),
            Err(lost) => {
                self.keeper = None;
                let next = self.keeper().map(drop);
                next.map_err(|error| format!("{lost}, and another cannot be started: {error}; {UNDO}"))?;
                Ok(self.take_left())
            }
        }
    }

    /// Starts the keeper; an error where nothing can be read or set there.
    pub(super) fn begin(&mut self) -> Result<(), String> {
        self.keeper().map(drop).map_err(|error| error.to_string())
    }

    /// What was left of a tuner that is no more, and was restored before anything was set.
    pub(super) fn take_left(&mut self) -> Vec<Restored> {
        std::mem::take(&mut self.left)
    }

    fn keeper(&mut self) -> Result<&mut Keeper, KeeperError> {
        let keeper = match self.keeper.take() {
            Some(keeper) => keeper,
            None => {
                let keeper = Keeper::start(self.on.command(&self.program, self.restart.as_deref()))?;
                self.left.extend_from_slice(keeper.left());
                keeper
            }
        };
        Ok(self.keeper.insert(keeper))
    }
}

/// Which CPUs of a host are online.
const ONLINE: &str = "/sys/devices/system/cpu/online";

/// Linux has no more: a longer list is an error of who says it.
const MOST_CPUS: usize = 8192;

const LIST_WITHIN: Duration = Duration::from_secs(10);

const UNDO: &str = "type `dnsdyno tune --undo` on the host of the server";
const NOT_THERE: &str = "this host does not have it";
const NO_INTERFACE: &str = "its interface is not known: give --server-interface";
const NO_CONFIG: &str = "the configuration of the server is not known: give --config and --restart";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_what_stands_behind_a_name_or_a_bracket() {
        for (text, host, port) in [
            ("ns1.example", "ns1.example", None),
            ("root@ns1.example:2222", "root@ns1.example", Some("2222")),
            ("2001:db8::53", "2001:db8::53", None),
            ("root@[2001:db8::53]", "root@2001:db8::53", None),
            ("[2001:db8::53]:22", "2001:db8::53", Some("22")),
        ] {
            assert_eq!(host_and_port(text), (host.to_owned(), port), "{text}");
        }
    }

    #[test]
    fn an_error_of_setting_is_of_a_value_and_any_other_ends_all() {
        let refused = NotSet::of(KeeperError::Refused("no".to_owned()), vec![2]);
        assert_eq!(refused, NotSet::Refused(vec![2], "no".to_owned()));
        for error in
            [KeeperError::NoJournal("full".to_owned()), KeeperError::Lost { words: "gone".to_owned() }]
        {
            assert!(matches!(NotSet::of(error, vec![2]), NotSet::Ended(_)));
        }
    }
}
