//! Nights of tuning whose answer is known: a server with three bottlenecks that are drawn at random, among decoys.
//!
//! ```text
//! cargo run --example planted_night -- bind 7 20m         the server, the seed, the length of the night
//! cargo run --example planted_night -- bind try           each bottleneck alone, to see that it is one
//! ```
//!
//! Needs root, the server, and the program `dnsdyno` beside this one (`cargo build`). Its folders are
//! `runs/night-SERVER-SEED`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use serde_json::Value;

/// A server, with the twenty parameters that are tried. The number of its processes or threads is not among them: where
/// each has limits of its own, two of them are a cure too.
struct Night {
    server: &'static str,
    parameters: [&'static str; 10],
    /// Lines of the table of the server, without which it has a bottleneck of its own.
    settings: &'static [(&'static str, &'static str)],
    bottlenecks: &'static [Bottleneck],
}

/// A bottleneck: the parameter that takes it away, and what makes it.
struct Bottleneck {
    parameter: &'static str,
    makes: Makes,
}

enum Makes {
    /// A value in the table `sysctl`.
    Sysctl(&'static str),
    /// A value in the table `settings` of the parameter of the server's configuration.
    Setting(&'static str),
    /// A key of the server, with its value in TOML.
    Key(&'static str, &'static str),
}

use Makes::{Key, Setting, Sysctl};

/// Those of the host that are tried with each server.
const OF_HOST: [&str; 10] = [
    "net.core.somaxconn",
    "net.core.optmem_max",
    "net.ipv4.udp_rmem_min",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_max_syn_backlog",
    "net.ipv4.tcp_slow_start_after_idle",
    "CPUQuota",
    "LimitNOFILE",
];

const LISTEN_QUEUE: Bottleneck = Bottleneck { parameter: "net.core.somaxconn", makes: Sysctl("1") };
const CPU_QUOTA: Bottleneck = Bottleneck { parameter: "CPUQuota", makes: Key("cpu-quota", "\"6%\"") };
const OPEN_FILES: Bottleneck = Bottleneck { parameter: "LimitNOFILE", makes: Key("open-files", "64") };

const NIGHTS: [Night; 3] = [
    Night {
        server: "bind",
        parameters: [
            "bind tcp-clients",
            "bind tcp-receive-buffer",
            "bind tcp-send-buffer",
            "bind tcp-idle-timeout",
            "bind max-udp-size",
            "bind udp-receive-buffer",
            "bind udp-send-buffer",
            "bind responses-per-second",
            "bind message-compression",
            "bind querylog",
        ],
        settings: &[],
        bottlenecks: &[
            LISTEN_QUEUE,
            CPU_QUOTA,
            OPEN_FILES,
            Bottleneck { parameter: "bind tcp-clients", makes: Setting("8") },
            Bottleneck { parameter: "bind responses-per-second", makes: Setting("50") },
            Bottleneck { parameter: "bind udp-receive-buffer", makes: Setting("4096") },
        ],
    },
    Night {
        server: "nsd",
        parameters: [
            "nsd ipv6-edns-size",
            "nsd reuseport",
            "nsd tcp-count",
            "nsd tcp-timeout",
            "nsd receive-buffer-size",
            "nsd send-buffer-size",
            "nsd ipv4-edns-size",
            "nsd minimal-responses",
            "nsd rrl-ratelimit",
            "nsd rrl-slip",
        ],
        settings: &[],
        bottlenecks: &[
            LISTEN_QUEUE,
            CPU_QUOTA,
            Bottleneck { parameter: "nsd tcp-count", makes: Setting("8") },
            Bottleneck { parameter: "nsd rrl-ratelimit", makes: Setting("50") },
            Bottleneck { parameter: "nsd receive-buffer-size", makes: Setting("4096") },
        ],
    },
    Night {
        server: "unbound",
        parameters: [
            "unbound prefetch",
            "unbound so-rcvbuf",
            "unbound so-sndbuf",
            "unbound incoming-num-tcp",
            "unbound tcp-idle-timeout",
            "unbound max-udp-size",
            "unbound ip-ratelimit",
            "unbound msg-cache-size",
            "unbound msg-cache-slabs",
            "unbound minimal-responses",
        ],
        // Its 10 are a bottleneck.
        settings: &[("incoming-num-tcp", "256")],
        bottlenecks: &[
            LISTEN_QUEUE,
            CPU_QUOTA,
            Bottleneck { parameter: "unbound incoming-num-tcp", makes: Setting("1") },
            Bottleneck { parameter: "unbound ip-ratelimit", makes: Setting("50") },
            Bottleneck { parameter: "unbound so-rcvbuf", makes: Setting("4096") },
        ],
    },
];

impl Night {
    /// The table of the server with these bottlenecks.
    fn table_of_server(&self, name: &str, planted: &[&Bottleneck]) -> String {
        let root = root();
        let server = self.server;
        let values = match server {
            "bind" => "parts = [\"statistics\"]\nvalues = { max_records_per_type = \"0\" }",
            _ => "",
        };
        let (mut keys, mut sysctl) = (String::new(), String::new());
        let mut settings: Vec<(&str, &str)> = self.settings.to_vec();
        for one in planted {
            match one.makes {
                Sysctl(value) => sysctl = format!("\"{}\" = \"{value}\"", one.parameter),
                Key(key, value) => keys += &format!("{key} = {value}\n"),
                Setting(value) => {
                    let name = one.parameter.split_once(' ').map_or(one.parameter, |(_, name)| name);
                    settings.retain(|(other, _)| *other != name);
                    settings.push((name, value));
                }
            }
        }
        let settings: Vec<String> =
            settings.iter().map(|(name, value)| format!("\"{name}\" = \"{value}\"")).collect();
        format!(
            "[[server]]\nname = \"{name}\"\ntemplate = \"{server}\"\nzone = \
             \"{root}/testbed/zones/naptr-93.zone\"\norigin = \"epc.mnc001.mcc001.3gppnetwork.example.\"\npath = {{ \
             delay = \"20ms\" }}\n{values}\n{keys}settings = {{ {} }}\nsysctl = {{ {sysctl} }}\n\n",
            settings.join(", "),
        )
    }

    /// The file of a night.
    fn tuning(&self, planted: &[&Bottleneck], length: &str) -> String {
        let parameters: Vec<String> =
            OF_HOST.iter().chain(&self.parameters).map(|name| format!("\"{name}\"")).collect();
        let server = self.table_of_server(self.server, planted);
        let parameters = parameters.join(", ");
        format!(
            "{}{server}{LOAD}[tune]\nsmallest-gain = \"0.5%\"\nfor = \"{length}\"\nparameters = [{parameters}]\n",
            run()
        )
    }

    /// The file of an experiment that compares the server as it is with the same with each bottleneck.
    fn comparison(&self) -> String {
        let base = self.table_of_server(self.server, &[]);
        let others =
            self.bottlenecks.iter().map(|one| self.table_of_server(&one.parameter.replace(' ', "-"), &[one]));
        format!("repeats = 2\ndrop-first = 0\n{}{base}{}{LOAD}", run(), others.collect::<String>())
    }
}

/// What a tuning and a comparison have in common.
fn run() -> String {
    format!(
        "cool-down = \"50ms\"\nin-doubt = \"keep\"\nanswers = \"any\"\nsteady = \"off\"\n\n[run]\nqueries = \
         \"{}/testbed/queries/naptr.txt\"\ntransport = \"udp+tcp\"\nedns-size = 1232\ntimeout = \"500ms\"\ninterval = \
         \"100ms\"\n\n",
        root()
    )
}

/// Three in ten answers are asked for again over TCP. Each server holds it, by far, without a bottleneck.
const LOAD: &str = "[[load]]\nname = \"beyond\"\nrate = \"3k\"\nclients = 64\nfor = \"1s\"\n\n";

fn root() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().unwrap_or(root).display().to_string()
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [server, rest @ ..] = words.as_slice() else { return usage() };
    let Some(night) = NIGHTS.iter().find(|night| night.server == server) else { return usage() };
    match rest {
        [word] if word == "try" => {
            let folder = format!("runs/night-{server}-try");
            match carry_out("experiment", &night.comparison(), &folder) {
                Some(_) => ExitCode::SUCCESS,
                None => ExitCode::FAILURE,
            }
        }
        [seed, length] => {
            let Ok(seed) = seed.parse::<u64>() else { return usage() };
            carry_out_night(night, seed, length)
        }
        _ => usage(),
    }
}

fn carry_out_night(night: &Night, seed: u64, length: &str) -> ExitCode {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut left: Vec<&Bottleneck> = night.bottlenecks.iter().collect();
    let planted: Vec<&Bottleneck> = (0..3).map(|_| left.remove(random.random_range(0..left.len()))).collect();
    let names: Vec<&str> = planted.iter().map(|one| one.parameter).collect();
    println!("{}, seed {seed}: planted {}", night.server, names.join(", "));
    let folder = format!("runs/night-{}-{seed}", night.server);
    let answer = carry_out("tune", &night.tuning(&planted, length), &folder)
        .and_then(|folder| fs::read_to_string(folder.join("tune.json")).ok())
        .and_then(|text| serde_json::from_str(&text).ok());
    let Some(answer): Option<Value> = answer else { return ExitCode::FAILURE };
    let found = parameters_of(&answer);
    let missing: Vec<&&str> = names.iter().filter(|name| !found.iter().any(|f| f == *name)).collect();
    let decoys: Vec<&String> = found.iter().filter(|name| !names.contains(&name.as_str())).collect();
    println!("found {}; missing {missing:?}; not planted {decoys:?}", found.join(", "));
    if missing.is_empty() && decoys.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Carries out a file, and returns its folder; `None` if that failed.
fn carry_out(verb: &str, file: &str, folder: &str) -> Option<PathBuf> {
    let folder = PathBuf::from(folder);
    fs::create_dir_all(&folder).ok()?;
    let path = folder.with_extension("toml");
    fs::write(&path, file).ok()?;
    let own = std::env::current_exe().ok()?;
    let program = own.parent()?.parent()?.join("dnsdyno");
    let status = Command::new(program).arg(verb).arg(&path).arg("-o").arg(&folder).status().ok()?;
    println!("{status}");
    status.success().then_some(folder)
}

fn parameters_of(answer: &Value) -> Vec<String> {
    let changes = answer["verdict"]["changes"].as_array().cloned().unwrap_or_default();
    changes.iter().filter_map(|change| change["parameter"].as_str().map(str::to_owned)).collect()
}

fn usage() -> ExitCode {
    eprintln!("planted_night bind|nsd|unbound SEED LENGTH, such as `bind 7 20m`; or `bind try`");
    ExitCode::FAILURE
}
