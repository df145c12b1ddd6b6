//! The servers themselves read what was edited: the configurations of the testbed and of the packages, with each value
//! that the catalogue would try. A program that is not installed is told; with `DNSDYNO_REQUIRE_PRIVILEGED=1` that is a
//! failure.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use dnsdyno_servers::tuning::{Access, EditError, Tunable, tunables_for, value_in, with_value};
use dnsdyno_servers::{Server, server_of};

/// Whether a program is installed; where all of them must be, the test fails without it.
fn is_installed(program: &str) -> bool {
    let folders = ["/usr/sbin", "/usr/bin", "/sbin", "/bin", "/usr/local/sbin", "/usr/local/bin"];
    let is_there = folders.iter().any(|folder| Path::new(folder).join(program).exists());
    if !is_there {
        let must_be = std::env::var("DNSDYNO_REQUIRE_PRIVILEGED").as_deref() == Ok("1");
        assert!(!must_be, "{program} is not installed");
        println!("skipped: {program} is not installed");
    }
    is_there
}

/// How a server checks a configuration: the program, and its words; `FILE` and `FOLDER` are replaced.
struct Check {
    program: &'static str,
    words: &'static [&'static str],
    /// The name of the file.
    file: &'static str,
    /// What ends the program after the configuration, where it would run on.
    end: &'static str,
    /// Lines that it refuses.
    wrong: &'static str,
}

const BIND: Check = Check {
    program: "named-checkconf",
    words: &["FILE"],
    file: "named.conf",
    end: "",
    wrong: "nothing { };",
};
const NSD: Check = Check {
    program: "nsd-checkconf",
    words: &["FILE"],
    file: "nsd.conf",
    end: "",
    wrong: "server:\n nothing: 1",
};
const UNBOUND: Check = Check {
    program: "unbound-checkconf",
    words: &["FILE"],
    file: "unbound.conf",
    end: "",
    wrong: "server:\n nothing: 1",
};
const KNOT: Check = Check {
    program: "knotc",
    words: &["-c", "FILE", "conf-check"],
    file: "knot.conf",
    end: "",
    wrong: "nothing:\n",
};
const PDNS: Check = Check {
    program: "pdns_server",
    words: &["--config=check", "--config-dir=FOLDER"],
    file: "pdns.conf",
    end: "",
    wrong: "nothing=1",
};
const RECURSOR: Check = Check {
    program: "pdns_recursor",
    words: &["--config=check", "--config-dir=FOLDER"],
    file: "recursor.conf",
    end: "",
    wrong: "nothing=1",
};
const KNOT_RESOLVER: Check = Check {
    program: "kresd",
    words: &["-n", "-c", "FILE", "FOLDER"],
    file: "kresd.conf",
    end: "\nquit()\n",
    wrong: "nothing()",
};

impl Check {
    /// Why the server refuses this text; `None` where it takes it.
    fn complaint(&self, folder: &Path, text: &str) -> Option<String> {
        let file = folder.join(self.file);
        fs::write(&file, format!("{text}{}", self.end)).unwrap();
        let path = |path: &Path| path.to_str().unwrap().to_owned();
        let words =
            self.words.iter().map(|word| word.replace("FILE", &path(&file)).replace("FOLDER", &path(folder)));
        let output = Command::new(self.program).args(words).output().unwrap();
        let said =
            [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
        // The Recursor and kresd end well even if they have complained.
        let is_complaint =
            ["unknown setting", "Unable to parse", "error occurred"].iter().any(|words| said.contains(words));
        (!output.status.success() || is_complaint).then_some(said)
    }
}

/// Tries each value that the catalogue would try for this text, and goes back.
fn takes_each_value(word: &str, check: &Check, text: &str, folder: &Path) {
    let server: &Server = server_of(word).unwrap();
    assert_eq!(check.complaint(folder, text), None, "{word}: the text before any change:\n{text}");
    let wrong = format!("{text}\n{}\n", check.wrong);
    assert!(check.complaint(folder, &wrong).is_some(), "{word}: an error is not seen");
    let is_own = |row: &&Tunable| row.of == word && row.access == Access::Configuration;
    let mut edits = 0;
    for row in tunables_for(word).filter(is_own) {
        let old = value_in(server, text, &row.name);
        let present = old.as_deref().or_else(|| server.default_of(&row.name));
        for value in row.candidates(present, 4) {
            let edited = match with_value(server, text, &row.name, &value) {
                Ok(edited) => edited,
                // A module that the configuration does not load.
                Err(EditError::NoModule { .. }) => continue,
                Err(error) => panic!("{}: {error}\n{text}", row.id()),
            };
            edits += 1;
            assert_eq!(value_in(server, &edited, &row.name).as_deref(), Some(value.as_str()), "{}", row.id());
            assert_eq!(check.complaint(folder, &edited), None, "{} {value}\n{edited}", row.id());
            match &old {
                Some(old) => assert_eq!(with_value(server, &edited, &row.name, old).as_deref(), Ok(text)),
                None => assert!(edited.len() > text.len()),
            }
        }
    }
    assert!(edits > 3, "{word}: only {edits} edits");
}

/// A template of the testbed with these parts and values; what has no value is left out.
fn of_testbed(name: &str, parts: &[&str], values: &[(&str, &str)]) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testbed/servers").join(name);
    let template: toml::Table = toml::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let pairs = |table: Option<&toml::Value>| -> Vec<(String, String)> {
        let texts = table.and_then(toml::Value::as_table).into_iter().flatten();
        texts.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
    };
    let all_parts = template.get("parts");
    let mut known: Vec<(String, String)> =
        parts.iter().flat_map(|part| pairs(all_parts.and_then(|all| all.get(*part)))).collect();
    known.extend(values.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())));
    known.extend(pairs(template.get("defaults")));
    let mut text = template["config"].as_str().unwrap().to_owned();
    // A value may have other words in braces.
    for _ in 0..3 {
        for (key, value) in &known {
            text = text.replace(&format!("{{{key}}}"), value);
        }
    }
    // The places of parts that are not chosen, and of values that the caller gives.
    let places = all_parts
        .and_then(toml::Value::as_table)
        .into_iter()
        .flatten()
        .flat_map(|(_, part)| pairs(Some(part)));
    let more = ["more_options", "more_zones", "zone_options", "sections"].map(String::from);
    places
        .map(|(place, _)| place)
        .chain(more)
        .fold(text, |text, place| text.replace(&format!("{{{place}}}"), ""))
}

/// A folder with a zone, and the values that templates ask for.
fn folder() -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let zone = "@ 60 IN SOA ns. root. 1 2 3 4 5\n@ 60 IN NS ns.\n";
    fs::write(folder.path().join("zone"), zone).unwrap();
    let path = folder.path().to_str().unwrap().to_owned();
    (folder, path)
}

fn values<'a>(dir: &'a str, zone: &'a str) -> Vec<(&'a str, &'a str)> {
    vec![
        ("dir", dir),
        ("zone_file", zone),
        ("origin", "example.test."),
        ("address", "127.0.0.1"),
        ("port", "5353"),
        ("threads", "2"),
        ("receive_buffer_bytes", "1048576"),
        ("log_file", "/dev/null"),
        ("stub_address", "127.0.0.1"),
        ("stub_port", "5454"),
        ("port_statistics", "8053"),
    ]
}

/// The configuration of a package; `None` where it is not installed.
fn of_package(path: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok();
    if text.is_none() {
        println!("skipped: {path} cannot be read");
    }
    text
}

#[test]
fn bind_reads_each_edited_configuration() {
    if !is_installed(BIND.program) {
        return;
    }
    let (folder, dir) = folder();
    let zone = format!("{dir}/zone");
    for parts in [["zone", "ipv4", "statistics"], ["stub", "ipv4", "statistics"]] {
        let text = of_testbed("bind.toml", &parts, &values(&dir, &zone));
        takes_each_value("bind", &BIND, &text, folder.path());
    }
    if let Some(text) = of_package("/etc/bind/named.conf.options") {
        takes_each_value("bind", &BIND, &text, folder.path());
    }
    let limited = "options { recursion no; rate-limit { responses-per-second 5; slip 3; }; querylog yes; };";
    takes_each_value("bind", &BIND, limited, folder.path());
}

#[test]
fn nsd_reads_each_edited_configuration() {
    if !is_installed(NSD.program) {
        return;
    }
    let (folder, dir) = folder();
    let zone = format!("{dir}/zone");
    let text = of_testbed("nsd.toml", &[], &values(&dir, &zone));
    takes_each_value("nsd", &NSD, &text, folder.path());
    if let Some(text) = of_package("/etc/nsd/nsd.conf") {
        takes_each_value("nsd", &NSD, &text, folder.path());
    }
}

#[test]
fn unbound_reads_each_edited_configuration() {
    if !is_installed(UNBOUND.program) {
        return;
    }
    let (folder, dir) = folder();
    let zone = format!("{dir}/zone");
    for part in ["zone", "stub"] {
        let more = [("more_options", "ratelimit: 10"), ("clients", "192.0.2.1/32")];
        let text = of_testbed("unbound.toml", &[part], &[values(&dir, &zone), more.to_vec()].concat());
        takes_each_value("unbound", &UNBOUND, &text, folder.path());
    }
    // The files that it includes may need what a test does not have; the text alone is edited.
    if let Some(text) = of_package("/etc/unbound/unbound.conf") {
        let text = text.replace("include-toplevel", "#include-toplevel");
        takes_each_value("unbound", &UNBOUND, &text, folder.path());
    }
}

#[test]
fn knot_reads_each_edited_configuration() {
    if !is_installed(KNOT.program) {
        return;
    }
    let (folder, dir) = folder();
    let zone = format!("{dir}/zone");
    let rrl = "mod-rrl:\n  - id: default\n    rate-limit: 200\n    slip: 2\n";
    for sections in ["", rrl] {
        let text =
            of_testbed("knot.toml", &[], &[values(&dir, &zone), vec![("sections", sections)]].concat());
        takes_each_value("knot", &KNOT, &text, folder.path());
    }
    if let Some(text) = of_package("/etc/knot/knot.conf") {
        takes_each_value("knot", &KNOT, &text, folder.path());
    }
}

#[test]
fn powerdns_reads_each_edited_configuration() {
    let (folder, _) = folder();
    if is_installed(PDNS.program) {
        takes_each_value("pdns", &PDNS, "# a comment\nlaunch=bind\nreuseport=no # no\n", folder.path());
        if let Some(text) = of_package("/etc/powerdns/pdns.conf") {
            takes_each_value("pdns", &PDNS, &text, folder.path());
        }
    }
    if is_installed(RECURSOR.program) {
        takes_each_value("pdns-recursor", &RECURSOR, "threads=2\ndisable-packetcache=yes\n", folder.path());
        if let Some(text) = of_package("/etc/powerdns/recursor.conf") {
            takes_each_value("pdns-recursor", &RECURSOR, &text, folder.path());
        }
    }
}

#[test]
fn knot_resolver_runs_each_edited_configuration() {
    if !is_installed(KNOT_RESOLVER.program) {
        return;
    }
    let (folder, dir) = folder();
    // It listens nowhere and asks nobody.
    let text = "-- cache.size = 1\nmodules.unload('priming')\nmodules.unload('ta_update')\n\
                modules.unload('ta_signal_query')\nmodules.unload('detect_time_skew')\ntrust_anchors.remove('.')\n";
    takes_each_value("knot-resolver", &KNOT_RESOLVER, &format!("{text}cache.size = 2 * MB\n"), folder.path());
    let opened = format!("{text}cache.open(2097152, 'lmdb://{dir}/cache')\nnet.bufsize(1232)\n");
    takes_each_value("knot-resolver", &KNOT_RESOLVER, &opened, folder.path());
}
