//! Delay and loss on an interface by the kernel's netem, where the kernel has it.

use std::process::Command;

use crate::{LabError, Namespace};

/// netem on the interface of a namespace of ours: what leaves it is delayed. It is taken away when this is dropped.
#[derive(Debug)]
pub struct Netem {
    namespace: Namespace,
}

impl Netem {
    /// Puts it on the interface of `namespace`, with words as `tc` has them: `["delay", "10ms", "loss", "1%"]`.
    /// `Ok(None)` where this kernel has no netem (or `tc` is not installed): then `dnsdyno relay` does the same.
    ///
    /// # Errors
    /// What `tc` says against the words.
    pub fn add(namespace: &Namespace, words: &[&str]) -> Result<Option<Netem>, LabError> {
        let arguments = [&["qdisc", "add", "dev", namespace.interface, "root", "netem"], words].concat();
        let said = match tc(namespace, &arguments) {
            Ok(said) => said,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => Some(error.to_string()),
        };
        match said {
            None => Ok(Some(Netem { namespace: namespace.clone() })),
            Some(said) if is_unknown(&said) => Ok(None),
            Some(said) => Err(LabError::Namespace { command: format!("tc {}", arguments.join(" ")), said }),
        }
    }
}

impl Drop for Netem {
    fn drop(&mut self) {
        // It goes with its namespace at the latest.
        let _ = tc(&self.namespace, &["qdisc", "delete", "dev", self.namespace.interface, "root"]);
    }
}

/// Whether `tc` says that the kernel does not have the queueing discipline at all.
fn is_unknown(said: &str) -> bool {
    said.contains("qdisc kind is unknown") || said.contains("No such file or directory")
}

/// Runs `tc` in the namespace; gives what it said where it failed.
fn tc(namespace: &Namespace, arguments: &[&str]) -> std::io::Result<Option<String>> {
    let output = Command::new("tc").args(["-n", namespace.name()]).args(arguments).output()?;
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Ok((!output.status.success()).then_some(said))
}

#[cfg(test)]
mod tests {
    use std::io::{self, Write};
    use std::net::UdpSocket;
    use std::time::{Duration, Instant};

    use super::*;
    use crate::{Need, VethPair, require};

    #[test]
    fn it_delays_what_leaves_an_interface_where_the_kernel_has_it() {
        if !require(&[Need::Root, Need::Program { name: "tc", package: "iproute2" }]) {
            return;
        }
        let pair = VethPair::new(1).unwrap();
        let Some(netem) = Netem::add(pair.near(), &["delay", "20ms"]).unwrap() else {
            // Not a skip that can be cured: no package gives a kernel netem.
            let _ = writeln!(io::stderr(), "skipped: this kernel has no netem");
            return;
        };
        let (from, to) = (pair.near().ipv4, pair.far().ipv4);
        let far = pair.far().enter(|| UdpSocket::bind((to, 0)).unwrap()).unwrap();
        let near = pair.near().enter(|| UdpSocket::bind((from, 0)).unwrap()).unwrap();
        far.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let took = || {
            let start = Instant::now();
            near.send_to(b"hello", far.local_addr().unwrap()).unwrap();
            far.recv(&mut [0; 16]).unwrap();
            start.elapsed()
        };
        assert!(took() >= Duration::from_millis(20));
        drop(netem);
        // Some try is as fast as the interface.
        assert!((0..50).any(|_| took() < Duration::from_millis(15)));
        assert!(Netem::add(pair.near(), &["delay", "soon"]).is_err());
    }

    #[test]
    fn a_kernel_without_it_is_told_from_wrong_words() {
        assert!(is_unknown("Error: Specified qdisc kind is unknown."));
        assert!(is_unknown("RTNETLINK answers: No such file or directory"));
        assert!(!is_unknown("Illegal \"latency\"\nUsage: ... netem [ limit PACKETS ]"));
    }
}
