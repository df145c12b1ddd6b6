//! A host that is reached over SSH: a real `sshd` in a network namespace, with keys of its own.

use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use dnsdyno_lab::{Need, Place, Server, ServerOptions, VethPair, require};

use crate::support::{Started, Workplace, has_program, real_server};

/// An `sshd` at the far end of a pair of namespaces, and an `ssh` at the near end that may log in there.
pub(crate) struct Remote {
    pub(crate) pair: VethPair,
    folder: tempfile::TempDir,
    sshd: Child,
}

impl Remote {
    /// `None` where this host cannot have one. `force` is a command that logins are given instead of theirs.
    pub(crate) fn start(force: &str) -> Option<Remote> {
        if !require(&[Need::Root]) || !has_program("sshd") || !has_program("setpriv") {
            return None;
        }
        let pair = VethPair::new(1).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for key in ["host_key", "user_key", "other_key"] {
            let made = Command::new("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-f"])
                .arg(path(key))
                .status();
            assert!(made.unwrap().success());
        }
        let public = |key: &str| fs::read_to_string(path(&format!("{key}.pub"))).unwrap();
        fs::write(path("authorized_keys"), public("user_key")).unwrap();
        let (address, port) = (pair.far().ipv4, PORT);
        fs::write(path("known_hosts"), format!("[{address}]:{port} {}", public("host_key"))).unwrap();
        let dir = folder.path().display();
        let config = format!(
            "Port {port}\nListenAddress {address}\nHostKey {dir}/host_key\nAuthorizedKeysFile {dir}/authorized_keys\n\
             PidFile none\nUsePAM no\nStrictModes no\nPermitRootLogin prohibit-password\n\
             SetEnv XDG_CACHE_HOME={dir}/cache\n{force}\n"
        );
        fs::write(path("sshd_config"), config).unwrap();
        fs::create_dir(path("bin")).unwrap();
        let ssh = format!("#!/bin/sh\nexec /usr/bin/ssh -F {dir}/ssh_config \"$@\"\n");
        fs::write(path("bin/ssh"), ssh).unwrap();
        fs::set_permissions(path("bin/ssh"), fs::Permissions::from_mode(0o755)).unwrap();
        // A /run of its own: sshd wants a folder there.
        let script = format!(
            "mount -t tmpfs tmpfs /run && mkdir /run/sshd && exec {} -D -f {dir}/sshd_config",
            ["/usr/sbin/sshd", "/usr/local/sbin/sshd"].into_iter().find(|path| Path::new(path).exists())?
        );
        let sshd = Command::new("setpriv")
            .args(["--pdeathsig", "KILL", "ip", "netns", "exec", pair.far().name(), "sh", "-c", &script])
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let remote = Remote { pair, folder, sshd };
        remote.configure("user_key", "known_hosts");
        let deadline = Instant::now() + Duration::from_secs(30);
        let answers = || TcpStream::connect(SocketAddr::from((address, port)));
        while remote.pair.near().enter(answers).unwrap().is_err() {
            assert!(Instant::now() < deadline, "sshd does not listen");
            thread::sleep(Duration::from_millis(20));
        }
        Some(remote)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Has `ssh` use this key, and know the hosts of this file.
    pub(crate) fn configure(&self, key: &str, known_hosts: &str) {
        let dir = self.folder.path().display();
        let config = format!(
            "IdentityFile {dir}/{key}\nIdentitiesOnly yes\nUserKnownHostsFile {dir}/{known_hosts}\n\
             GlobalKnownHostsFile /dev/null\nStrictHostKeyChecking yes\n"
        );
        fs::write(self.path("ssh_config"), config).unwrap();
    }

    /// As in `--watch` and `--on`.
    pub(crate) fn address(&self) -> String {
        format!("ssh://root@{}:{PORT}", self.pair.far().ipv4)
    }

    /// A server at the far end.
    pub(crate) fn server(&self, name: &str) -> Option<Server> {
        let address = self.pair.far().ipv4.into();
        let place = Place::in_namespace(self.pair.far());
        real_server(name, &ServerOptions { address, place, ..ServerOptions::default() })
    }

    /// Starts dnsdyno at the near end, with that `ssh`.
    pub(crate) fn run<'a>(&self, work: &'a Workplace, words: &str) -> Started<'a> {
        self.start_verb(work, &format!("run {words}"))
    }

    /// The same with another verb.
    pub(crate) fn start_verb<'a>(&self, work: &'a Workplace, words: &str) -> Started<'a> {
        let (bin, near) = (self.path("bin"), self.pair.near().name());
        let script = format!("PATH={}:$PATH exec ip netns exec {near} \"$0\" {words}", bin.display());
        work.start_shell_with_keys(&script)
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        // The process has this number until it has been waited for.
        let _ = self.sshd.kill();
        let _ = self.sshd.wait();
    }
}

/// Where its `sshd` listens.
const PORT: u16 = 2222;
