//! Values of the host, which a process of its own sets and restores: the keeper.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use dnsdyno_page::quoted;
use dnsdyno_servers::Server;
use dnsdyno_servers::tuning::{Access, DeviceGroup, Tunable, sysctl_path, value_in, with_value};
use dnsdyno_settings::{Item, Keeper, KeeperError, RESTART_WITHIN, Restored};

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
    ) -> Result<(), String> {
        let text = |error: KeeperError| error.to_string();
        for (how, tunable, value) in changes {
            tunable.allows(value)?;
            if let How::Host(items) = how {
                for item in items {
                    self.keeper().and_then(|keeper| keeper.write(item, value)).map_err(text)?;
                }
            }
        }
        let of_config = || changes.iter().filter(|(how, ..)| **how == How::Configuration);
        if let Some(path) = there.config.as_ref().filter(|_| of_config().next().is_some()) {
            let config = self.config(path)?;
            let changed = of_config().try_fold(config, |config, (_, tunable, value)| {
                with_value(server, &config, &tunable.name, value).map_err(|error| error.to_string())
            })?;
            let item = Item::File { path: path.clone() };
            self.keeper().and_then(|keeper| keeper.write(&item, &changed)).map_err(text)?;
        }
        Ok(())
    }

    /// Starts the server again.
    pub(super) fn restart(&mut self, there: &There) -> Result<(), String> {
        let Some(command) = &there.restart else { return Ok(()) };
        let ended = self.keeper().and_then(|keeper| keeper.run(command, RESTART_WITHIN));
        let ended = ended.map_err(|error| error.to_string())?;
        match ended.status {
            Some(0) => Ok(()),
            Some(status) => Err(format!("`{command}` ended with {status}: {}", ended.printed.trim())),
            None => Err(format!("`{command}` had not ended after {} s", RESTART_WITHIN.as_secs())),
        }
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
}
