//! `docs/coming-from.md`: every entry of its tables is run, and the advice on an option of another program says the
//! same.

use std::fs;
use std::path::Path;

use dnsdyno_capture::{DnsMessage, MessageWriter, OutputFormat, Protocol};
use dnsdyno_responder::{Config, Responder, Running, Transport};

use crate::support::{Ran, Workplace};

/// A row of a table.
struct Row {
    /// The program that the reader comes from.
    section: String,
    /// What is typed there.
    there: String,
    /// What is typed here; empty where there is nothing.
    here: String,
    remark: String,
}

fn page() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::read_to_string(root.join("docs/coming-from.md")).unwrap()
}

fn rows(text: &str) -> Vec<Row> {
    let (mut rows, mut section, mut is_table) = (Vec::new(), String::new(), false);
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("## ") {
            name.clone_into(&mut section);
        }
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let ["", there, here, remark, ""] = cells[..] else {
            is_table = false;
            continue;
        };
        // The first two lines of a table are its titles, and a rule.
        if std::mem::replace(&mut is_table, true) && !there.starts_with("---") {
            let code = here.trim_matches('`');
            let here = if here == "no" { "" } else { code };
            assert!(!here.contains('`'), "one entry: {line}");
            let [section, there, here, remark] = [&section, there, here, remark].map(str::to_owned);
            rows.push(Row { section, there, here, remark });
        }
    }
    rows
}

/// Two servers with every transport, and what is typed to send to them.
struct Servers {
    all: [Running; 2],
    v6: Option<Running>,
}

impl Servers {
    fn start() -> Servers {
        let any = || vec!["127.0.0.1:0".parse().unwrap()];
        let start = |_| {
            let config = Config { dot: any(), doh: any(), doq: any(), doh3: any(), ..Config::default() };
            Responder::start(config).unwrap_or_else(|error| panic!("{error}"))
        };
        let v6 = Config { listen: "[::1]:0".parse().unwrap(), ..Config::default() };
        Servers { all: [0, 1].map(start), v6: Responder::start(v6).ok() }
    }

    fn port(&self, number: usize, transport: &str) -> u16 {
        let server = &self.all[number];
        match transport {
            "dot" => server.addresses_of(Transport::Dot)[0].port(),
            "doh" => server.addresses_of(Transport::Doh)[0].port(),
            "doq" => server.addresses_of(Transport::Doq)[0].port(),
            "doh3" => server.addresses_of(Transport::Doh3)[0].port(),
            _ => server.address().port(),
        }
    }

    /// The value of `-s`, written in the same way with addresses of ours.
    fn like(&self, written: &str, transport: &str) -> String {
        let item = |(number, item): (usize, &str)| {
            let between = if item.contains('@') { '@' } else { ':' };
            format!("127.0.0.1{between}{}", self.port(number, transport))
        };
        written.split(',').enumerate().map(item).collect::<Vec<_>>().join(",")
    }
}

/// The words of an entry; quotes keep spaces.
fn words(entry: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut is_quoted = false;
    for letter in entry.chars() {
        match letter {
            '\'' => is_quoted = !is_quoted,
            ' ' if !is_quoted => words.push(String::new()),
            letter => words.last_mut().unwrap().push(letter),
        }
    }
    words
}

/// Runs the options of an entry with what they lack: a server, a source, an end.
fn run(work: &Workplace, servers: &Servers, entry: &str) -> Ran {
    let mut typed = words(entry);
    let follows = |typed: &[String], names: &[&str]| {
        let at = typed.iter().position(|word| names.contains(&word.as_str()))?;
        typed.get(at + 1).cloned()
    };
    let transport = follows(&typed, &["-m"]).unwrap_or_default();
    let port = servers.port(0, &transport).to_string();
    let has = |typed: &[String], names: &[&str]| typed.iter().any(|word| names.contains(&word.as_str()));
    let is_v6 = follows(&typed, &["-f"]).is_some_and(|family| family == "inet6");
    for at in 1..typed.len() {
        let value = match typed[at - 1].as_str() {
            "-p" | "--port" => port.clone(),
            "-s" if has(&typed, &["-p"]) => "127.0.0.1".to_owned(),
            "-s" => servers.like(&typed[at], &transport),
            "--metrics" => "127.0.0.1:0".to_owned(),
            "--mix" => typed[at].replace("8853", &servers.port(0, "dot").to_string()),
            _ => continue,
        };
        typed[at] = value;
    }
    let mut more: Vec<String> = Vec::new();
    let mut lacks = |names: &[&str], option: &str, value: &str| {
        if !has(&typed, names) {
            more.extend([option.to_owned(), value.to_owned()]);
        }
    };
    let server = match &servers.v6 {
        Some(server) if is_v6 => server.address().to_string(),
        _ if has(&typed, &["-p", "--port"]) => "127.0.0.1".to_owned(),
        _ => servers.like("one", &transport),
    };
    lacks(&["-s", "--servers"], "-s", &server);
    lacks(&["-d", "--ask", "--replay", "--zone"], "--ask", "www.example");
    lacks(&["--count"], "--count", "20");
    lacks(&["-t", "--timeout"], "--timeout", "1s");
    lacks(&["-o"], "-o", "out");
    if has(&typed, &["xdp"]) {
        // It needs an interface and root: all is checked up to the address, which has another family.
        more.extend(["-f".to_owned(), "v6".to_owned()]);
    }
    let quoted: Vec<String> = typed.iter().chain(&more).map(|word| format!("'{word}'")).collect();
    work.shell(&format!("exec \"$0\" run {}", quoted.join(" ")))
}

/// A line of a member in a plan file, tried beside a member without it.
fn run_member(work: &Workplace, servers: &Servers, line: &str) -> Ran {
    let key = line.split(' ').next().unwrap_or_default();
    let line = if key == "server" {
        format!("server = \"{}\"", servers.like("one", "dot"))
    } else {
        line.to_owned()
    };
    let transport = match key {
        "transport" => "",
        "http-method" => "transport = \"doh\"\n",
        _ => "transport = \"dot\"\n",
    };
    let kind = if key == "http-method" { "doh" } else { "dot" };
    let port = if key == "server" { String::new() } else { format!("port = {}\n", servers.port(0, kind)) };
    let name = if key == "name" { "" } else { "name = \"tried\"\n" };
    let weight = if key == "weight" { "" } else { "weight = 2\n" };
    let plan = format!(
        "ask = [\"www.example\"]\nserver = \"{}\"\ncount = 20\ninsecure = true\n\
         [[member]]\n[[member]]\n{name}{transport}{port}{weight}{line}\n",
        servers.like("one", "")
    );
    work.write("member.toml", plan);
    work.dnsdyno("run --plan member.toml --quiet -o out")
}

/// The files that the entries name, and a run.
fn prepare(work: &Workplace, servers: &Servers) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    work.write("queries.txt", "www.example A\nmail.example AAAA\n");
    work.write("plan.toml", "ask = [\"www.example\"]\n");
    work.write("ecs.txt", "www.example A ecs=192.0.2.0/24\n");
    work.write("updates.txt", "example\nadd new 60 A 192.0.2.1\nsend\n");
    let message = b"\0\x01\x01\0\0\x01\0\0\0\0\0\0\x03www\x07example\0\0\x01\0\x01";
    work.write("queries.bin", [&(message.len() as u16).to_be_bytes(), &message[..]].concat());
    work.write("capture.pcap", capture(message));
    work.write(
        "servers.txt",
        format!(
            "{}\n{} 2\n",
            servers.like("one", ""),
            servers.like("one,two", "").split(',').next_back().unwrap()
        ),
    );
    fs::create_dir_all(work.path("docs/plans")).unwrap();
    let name = "docs/plans/clients-of-a-resolver.toml";
    let mut plan = fs::read_to_string(root.join(name)).unwrap();
    for transport in ["dot", "doh"] {
        let line = format!("transport = \"{transport}\"");
        plan = plan.replace(&line, &format!("{line}\nport = {}", servers.port(0, transport)));
    }
    work.write(name, plan.replace("clients = 10000", "clients = 20"));
    let first =
        format!("run -s {} --ask www.example --rate 100 --for 1s --quiet -o RUN", servers.like("one", ""));
    work.dnsdyno(&first).gives(0);
}

/// A capture of a few queries of one client.
fn capture(message: &[u8]) -> Vec<u8> {
    let mut writer = MessageWriter::new(OutputFormat::Pcap, Vec::new()).unwrap();
    for number in 0..5 {
        let query = DnsMessage {
            at_unix_ns: 1_700_000_000_000_000_000 + number * 1_000_000,
            protocol: Protocol::Udp,
            source: "192.0.2.9:5353".parse().unwrap(),
            destination: "192.0.2.53:53".parse().unwrap(),
            bytes: message,
        };
        writer.write(&query).unwrap();
    }
    writer.finish().unwrap().0
}

#[test]
fn every_entry_for_those_who_come_from_other_programs_can_be_run() {
    let work = Workplace::new();
    let servers = Servers::start();
    prepare(&work, &servers);
    let rows = rows(&page());
    assert!(rows.len() >= 150, "{} rows", rows.len());
    let mut wrong = Vec::new();
    for row in &rows {
        let Row { section, there, here, remark } = row;
        if here.is_empty() {
            assert!(!remark.is_empty(), "{section}: {there}: a reason");
            continue;
        }
        let ran = match () {
            () if here.starts_with("dnsdyno ") => work.shell(&here.replacen("dnsdyno", "exec \"$0\"", 1)),
            () if here.contains(" = ") => run_member(&work, &servers, here),
            () => run(&work, &servers, here),
        };
        let is_checked_only = here.contains("--backend xdp");
        let is_good = match ran.code() {
            Some(2) => is_checked_only && ran.stderr.contains("IPv6 address"),
            // A run that the server did not answer has been made, too.
            Some(1) => ran.stdout.contains("\nFAILED: none of "),
            code => code == Some(0) && !is_checked_only,
        };
        if !is_good {
            wrong.push(format!("{section}: `{there}`: `{here}`: {:?} {}", ran.code(), ran.stderr.trim()));
        }
        for made in ["out", "runs", "page.html"] {
            let path = work.path(made);
            let _ = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}

#[test]
fn the_advice_on_an_option_of_another_program_names_what_its_table_does() {
    let work = Workplace::new();
    let programs = ["flamethrower", "kxdpgun", "dnspyre", "dnsperf and resperf"];
    let mut wrong = Vec::new();
    for row in rows(&page()).iter().filter(|row| programs.contains(&row.section.as_str())) {
        let Row { section, there, here, .. } = row;
        let Some(option) = there.trim_start_matches('`').split(['`', ' ', '=']).next() else { continue };
        let is_entry = here.starts_with('-') && option.starts_with('-');
        if !is_entry {
            continue;
        }
        let typed = there.trim_start_matches('`').split('`').next().unwrap_or_default();
        let ran = work.dnsdyno(&format!("run -s 127.0.0.1 --ask www.example {typed} -f v6"));
        let is_advice = ran.stderr.contains(&format!("there is no {option} here"));
        let options: Vec<String> = words(here).into_iter().filter(|word| word.starts_with('-')).collect();
        // An option may have a short name there, and a long one here.
        let names = |option: &String| {
            let long = if option == "-m" { "--transport" } else { option.as_str() };
            ran.stderr.contains(option.as_str()) || ran.stderr.contains(long)
        };
        if is_advice && !options.iter().any(names) {
            wrong.push(format!(
                "{section}: {option}: `{here}` is not in: {}",
                ran.stderr.lines().next().unwrap_or("")
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
