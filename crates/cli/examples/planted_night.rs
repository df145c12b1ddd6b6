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

/// A bottleneck: the parameters of which each takes it away, and what makes it.
struct Bottleneck {
    parameters: &'static [&'static str],
    /// Lines of the table of the server.
    settings: &'static [(&'static str, &'static str)],
    sysctl: &'static [(&'static str, &'static str)],
    keys: &'static [(&'static str, &'static str)],
}

const NONE: Bottleneck = Bottleneck { parameters: &[], settings: &[], sysctl: &[], keys: &[] };

fn bottlenecks(server: &str) -> Vec<Bottleneck> {
    let common = [
        Bottleneck { parameters: &["CPUQuota"], keys: &[("cpu-quota", "\"12%\"")], ..NONE },
        Bottleneck { parameters: &["net.core.somaxconn"], sysctl: &[("net.core.somaxconn", "1")], ..NONE },
        Bottleneck {
            parameters: &["net.ipv4.tcp_wmem"],
            sysctl: &[("net.ipv4.tcp_wmem", "4096 4096 4096")],
            ..NONE
        },
        Bottleneck { parameters: &["LimitNOFILE"], keys: &[("open-files", "64")], ..NONE },
    ];
    let own = match server {
        "bind" => vec![
            Bottleneck { parameters: &["bind tcp-clients"], settings: &[("tcp-clients", "2")], ..NONE },
            Bottleneck { parameters: &["bind max-udp-size"], settings: &[("max-udp-size", "512")], ..NONE },
            Bottleneck {
                parameters: &["bind responses-per-second"],
                settings: &[("responses-per-second", "50")],
                ..NONE
            },
            Bottleneck {
                parameters: &["bind udp-receive-buffer"],
                settings: &[("udp-receive-buffer", "4096")],
                ..NONE
            },
        ],
        "nsd" => vec![
            Bottleneck { parameters: &["nsd tcp-count"], settings: &[("tcp-count", "1")], ..NONE },
            Bottleneck {
                parameters: &["nsd ipv4-edns-size"],
                settings: &[("ipv4-edns-size", "512")],
                ..NONE
            },
            Bottleneck { parameters: &["nsd rrl-ratelimit"], settings: &[("rrl-ratelimit", "50")], ..NONE },
            Bottleneck {
                parameters: &["nsd receive-buffer-size"],
                settings: &[("receive-buffer-size", "4096")],
                ..NONE
            },
        ],
        _ => vec![
            Bottleneck {
                parameters: &["unbound incoming-num-tcp"],
                settings: &[("incoming-num-tcp", "1")],
                ..NONE
            },
            Bottleneck {
                parameters: &["unbound max-udp-size"],
                settings: &[("max-udp-size", "512")],
                ..NONE
            },
            Bottleneck { parameters: &["unbound ip-ratelimit"], settings: &[("ip-ratelimit", "50")], ..NONE },
            Bottleneck { parameters: &["unbound so-rcvbuf"], settings: &[("so-rcvbuf", "4096")], ..NONE },
        ],
    };
    common.into_iter().chain(own).collect()
}

/// The file of a night.
fn night(server: &str, planted: &[&Bottleneck], length: &str) -> String {
    let keys: Vec<String> =
        planted.iter().flat_map(|one| one.keys).map(|(key, value)| format!("{key} = {value}")).collect();
    let table = |of: fn(&Bottleneck) -> &'static [(&'static str, &'static str)]| {
        let pairs =
            planted.iter().flat_map(|one| of(one)).map(|(key, value)| format!("\"{key}\" = \"{value}\""));
        pairs.collect::<Vec<_>>().join(", ")
    };
    let (settings, sysctl) = (table(|one| one.settings), table(|one| one.sysctl));
    // Its own buffer, where the template has one, is that of the settings.
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let root = root.canonicalize().unwrap_or(root);
    let root = root.display();
    let values = if server == "bind" { "values = { max_records_per_type = \"0\" }" } else { "" };
    format!(
        "cool-down = \"50ms\"\nin-doubt = \"keep\"\nanswers = \"any\"\nsteady = \"off\"\n\n[run]\nqueries = \
         \"{root}/testbed/queries/naptr.txt\"\ntransport = \"udp+tcp\"\nedns-size = 1232\ntimeout = \"500ms\"\n\
         interval = \"100ms\"\n\n[[server]]\nname = \"{server}\"\ntemplate = \"{server}\"\nzone = \
         \"{root}/testbed/zones/naptr-93.zone\"\norigin = \"epc.mnc001.mcc001.3gppnetwork.example.\"\n{values}\n{}\n\
         settings = {{ {settings} }}\nsysctl = {{ {sysctl} }}\n\n[[load]]\nname = \"beyond\"\nrate = \"6k\"\n\
         clients = 64\nfor = \"1s\"\n\n[tune]\nfor = \"{length}\"\n",
        keys.join("\n"),
    )
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [server, rest @ ..] = words.as_slice() else { return usage() };
    let all = bottlenecks(server);
    match rest {
        [word] if word == "try" => {
            for one in &all {
                let answer =
                    carry_out(server, &[one], &format!("try-{}", one.parameters[0].replace(' ', "-")), "4m");
                println!(
                    "{:?}: {}",
                    one.parameters,
                    answer.map_or("no answer".to_owned(), |answer| words_of(&answer))
                );
            }
            ExitCode::SUCCESS
        }
        [seed, length] => {
            let Ok(seed) = seed.parse::<u64>() else { return usage() };
            let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
            let mut left: Vec<&Bottleneck> = all.iter().collect();
            let planted: Vec<&Bottleneck> =
                (0..3).map(|_| left.remove(random.random_range(0..left.len()))).collect();
            let names: Vec<&str> = planted.iter().map(|one| one.parameters[0]).collect();
            println!("{server}, seed {seed}: planted {}", names.join(", "));
            let Some(answer) = carry_out(server, &planted, &seed.to_string(), length) else {
                return ExitCode::FAILURE;
            };
            println!("{}", words_of(&answer));
            let found = parameters_of(&answer);
            let missing = planted
                .iter()
                .filter(|one| !one.parameters.iter().any(|name| found.iter().any(|f| f == name)));
            let missing: Vec<&str> = missing.map(|one| one.parameters[0]).collect();
            let is_planted =
                |name: &String| planted.iter().any(|one| one.parameters.contains(&name.as_str()));
            let decoys: Vec<String> = found.iter().filter(|name| !is_planted(name)).cloned().collect();
            println!("missing: {missing:?}; not planted: {decoys:?}");
            if missing.is_empty() && decoys.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        _ => usage(),
    }
}

fn carry_out(server: &str, planted: &[&Bottleneck], name: &str, length: &str) -> Option<Value> {
    let folder = PathBuf::from(format!("runs/night-{server}-{name}"));
    fs::create_dir_all(&folder).ok()?;
    let file = folder.with_extension("toml");
    fs::write(&file, night(server, planted, length)).ok()?;
    let own = std::env::current_exe().ok()?;
    let program = own.parent()?.parent()?.join("dnsdyno");
    let status = Command::new(program).arg("tune").arg(&file).arg("-o").arg(&folder).status().ok()?;
    println!("{status}");
    serde_json::from_str(&fs::read_to_string(folder.join("tune.json")).ok()?).ok()
}

fn parameters_of(answer: &Value) -> Vec<String> {
    let changes = answer["verdict"]["changes"].as_array().cloned().unwrap_or_default();
    changes.iter().filter_map(|change| change["parameter"].as_str().map(str::to_owned)).collect()
}

fn words_of(answer: &Value) -> String {
    format!("{} [{}]", answer["answer"].as_str().unwrap_or_default(), parameters_of(answer).join(", "))
}

fn usage() -> ExitCode {
    eprintln!("planted_night bind|nsd|unbound SEED LENGTH, such as `bind 7 20m`; or `bind try`");
    ExitCode::FAILURE
}
