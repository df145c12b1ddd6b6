//! Secrets: keys of TSIG in each form of the option, passwords and tokens in URLs, the environment of servers. They are
//! in no record, journal, result, page, export, message, nor in what is said to be done.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::thread;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use dnsdyno_responder::Faults;
use rustix::process::Signal;

use crate::beside::experiment::{SHORT, experiment};
use crate::support::{Ran, Workplace, responder};

/// As it is typed; its octets are other ones.
const KEY: &str = "c3VwZXIgc2VjcmV0IGtleSBvZiBUU0lH";

/// In a URL, and in an environment.
const PASSWORD: &str = "Pa55%2Bw0rd%20of-all";

/// Every form in which they could be written, as octets.
fn forms() -> Vec<Vec<u8>> {
    let mut forms: Vec<Vec<u8>> =
        vec![KEY.into(), BASE64_STANDARD.decode(KEY).unwrap(), PASSWORD.into(), b"Pa55+w0rd of-all".to_vec()];
    for n in 0..forms.len() {
        let octets = forms[n].clone();
        let hexadecimal: String = octets.iter().map(|octet| format!("{octet:02x}")).collect();
        forms.extend([hexadecimal.to_uppercase().into(), hexadecimal.into()]);
        // Without its end, which depends on what follows.
        let base64 = BASE64_STANDARD.encode(&octets);
        forms.push(base64[..base64.len() / 4 * 4 - 4].into());
        let percent = |octet: &u8| match octet.is_ascii_alphanumeric() {
            true => char::from(*octet).to_string(),
            false => format!("%{octet:02X}"),
        };
        forms.push(octets.iter().map(percent).collect::<String>().into());
    }
    forms
}

/// What the test gives to the program, which has them.
const GIVEN: [&str; 4] = ["tsig.key", "plan-with.toml", "broken.toml", "x.toml"];

/// Checks every file below a folder, packed ones as they are and unpacked.
fn has_none(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            has_none(&path);
        } else if !GIVEN.contains(&name.as_str()) {
            let octets = fs::read(&path).unwrap();
            octets_have_none(&path, &octets);
            if name.ends_with(".zst") {
                octets_have_none(&path, &zstd::stream::decode_all(&octets[..]).unwrap());
            }
        }
    }
}

fn octets_have_none(what: &Path, octets: &[u8]) {
    for form in forms() {
        let at = octets.windows(form.len()).position(|window| window == form);
        let shown = |at: usize| {
            String::from_utf8_lossy(&octets[at.saturating_sub(60)..(at + 60).min(octets.len())]).into_owned()
        };
        assert_eq!(at.map(shown), None, "{} has {:?}", what.display(), String::from_utf8_lossy(&form));
    }
}

/// Checks what a command has printed.
fn silent(ran: Ran) -> Ran {
    octets_have_none(Path::new("standard output"), ran.stdout.as_bytes());
    octets_have_none(Path::new("standard error"), ran.stderr.as_bytes());
    ran
}

#[test]
fn a_key_of_tsig_is_in_nothing_that_is_written_however_it_is_given() {
    let (work, server) = (Workplace::with_queries(), responder(Faults::default()));
    let address = server.address();
    let to = format!("-s {address} -d q.txt -q 5 --count 10 --timeout 1s");
    work.write("tsig.key", format!("key \"k.example\" {{ algorithm hmac-sha256; secret \"{KEY}\"; }};\n"));
    work.write("plan-with.toml", format!("tsig = \"k.example:{KEY}\"\n"));
    work.write("broken.toml", format!("tsig = \"k.example:{KEY}\n"));
    for (name, form) in [
        ("two", format!("--tsig k.example:{KEY}")),
        ("three", format!("--tsig=hmac-sha512:k.example:{KEY}")),
        ("file", "--tsig-file tsig.key".to_owned()),
        ("plan", "--plan plan-with.toml".to_owned()),
        ("beside", format!("--plan plan-with.toml --tsig hmac-sha1:k.example:{KEY}")),
    ] {
        silent(work.dnsdyno(&format!("run {to} {form} -o {name}")).completes());
    }
    assert!(work.read("two/plan.toml").contains("tsig = \"hmac-sha256:k.example\""));
    assert!(work.read("beside/plan.toml").contains("tsig = \"hmac-sha1:k.example\""));
    assert!(work.read("two/host.json").contains("(secret)"));
    let again = silent(work.dnsdyno("run --plan two/plan.toml"));
    again.ends_refused(2, &["the key has no secret, which a record never contains: give the whole key"]);
    silent(work.dnsdyno(&format!("run --plan two/plan.toml --tsig k.example:{KEY} -o again")).completes());

    let [host, port] = [address.ip().to_string(), address.port().to_string()];
    let there = format!("-s {host} -p {port} -d q.txt");
    for words in [
        format!("dnsperf {there} -n 1 -y k.example:{KEY}"),
        format!("dnsperf {there} -n 1 -vWyhmac-sha256:k.example:{KEY}"),
        format!("dnsperf {there} -n 1 -j -y k.example:{KEY}"),
        format!("resperf {there} -m 20 -r 1 -c 0 -y k.example:{KEY}"),
    ] {
        let ran = silent(work.dnsdyno(&words).gives(0));
        assert!(!words.starts_with("dnsperf") || ran.stdout.contains("(secret)"), "{words}: {}", ran.stdout);
    }

    for words in [
        format!("run {to} -y k.example:{KEY}"),
        format!("-yk.example:{KEY} -s a"),
        format!("run {to} --tsig {KEY}:k.example:hmac-sha256"),
        format!("run {to} --tsig {KEY}"),
        "run --plan broken.toml".to_owned(),
    ] {
        silent(work.dnsdyno(&words).gives(2));
    }

    for words in [
        "show two",
        "show two --json",
        "diagnose two",
        "report two three -o page.html",
        "compare two --against beside",
        "export csv two -o two.csv",
        "export json two -o two.json",
    ] {
        silent(work.dnsdyno(words));
    }
    let searched =
        format!("find -s {address} -d q.txt --tsig k.example:{KEY} --while loss<1% --trial 1s -o found");
    silent(work.dnsdyno(&format!("{searched} --dry-run")).gives(0));
    let mut search = work.start(&searched);
    search.until("its first run has begun", || work.has("found/runs"));
    search.signal(Signal::INT);
    silent(search.wait());
    has_none(&work.path("."));
}

/// A page of statistics, for as many requests as there are.
fn statistics() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let _ = stream.read(&mut [0; 4_096]);
            let page = "# TYPE queries counter\nqueries_total 1\n# EOF\n";
            let _ = write!(
                stream,
                "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{page}",
                page.len()
            );
        }
    });
    address
}

#[test]
fn passwords_and_tokens_in_urls_are_in_nothing_that_is_written() {
    let (work, server) = (Workplace::with_queries(), responder(Faults::default()));
    let to = format!("-s {} -d q.txt -q 5 --count 10", server.address());
    let (page, receiver) = (statistics(), statistics());
    let watched = format!("openmetrics=http://{page}/metrics?token={PASSWORD}");
    silent(work.dnsdyno(&format!("run {to} --watch {watched} -o watched")).gives(0));
    let plan = work.read("watched/plan.toml");
    assert!(
        plan.contains(&format!("watch = [\"openmetrics=http://{page}/metrics?token=(secret)\"]")),
        "{plan}"
    );
    let again = silent(work.dnsdyno("run --plan watched/plan.toml"));
    again.ends_refused(2, &["a record never contains", "give --watch again"]);
    silent(work.dnsdyno(&format!("watch {watched} --for 1s --json -o beside")).gives(0));
    for url in
        [format!("http://me:{PASSWORD}@{receiver}/in?token={PASSWORD}"), format!("ftp://me:{PASSWORD}@a")]
    {
        silent(work.dnsdyno(&format!("run {to} --otlp {url} --quiet")));
    }
    for words in [
        format!("run {to} --watch bind=http://me:{PASSWORD}@127.0.0.1:1/"),
        format!("run {to} --watch knot=http://me:{PASSWORD}@127.0.0.1:1/"),
        format!("run {to} --watch http://me:{PASSWORD}@127.0.0.1:1/"),
        format!("run -d q.txt -s https://me:{PASSWORD}@127.0.0.1/dns-query?token={PASSWORD}"),
        format!("run {to} -m doh --insecure --http-path /dns-query?token={PASSWORD}"),
        format!("dnsperf -d q.txt -m doh -n 1 -O doh-uri=https://me:{PASSWORD}@localhost/q?token={PASSWORD}"),
    ] {
        let ran = silent(work.dnsdyno(&words));
        assert_ne!(ran.code(), Some(0), "{words}");
    }
    for words in ["show watched --json", "report watched -o page.html", "export csv watched -o watched.csv"] {
        silent(work.dnsdyno(words).gives(0));
    }
    has_none(&work.path("."));
}

/// A template of our own server, which needs no other program.
fn template(work: &Workplace) -> PathBuf {
    let text = format!(
        "package = \"none\"\nprogram = \"{}\"\nconfig = \"\"\n\
         command = [\"respond\", \"--listen\", \"{{address}}:{{port}}\", \"--for\", \"300s\"]\n\
         version = {{ arguments = [\"--version\"], after = \"dnsdyno \" }}\n\
         [ready]\ntype = \"A\"\ntransports = [\"udp\"]\nport_taken = [\"in use\"]\n",
        env!("CARGO_BIN_EXE_dnsdyno")
    );
    work.write("own.toml", text);
    work.path("own.toml")
}

#[test]
fn the_environment_of_a_server_is_in_nothing_that_an_experiment_writes() {
    let work = Workplace::new();
    template(&work);
    let of = |password: &str| {
        format!(
            "{SHORT}ask = [\"www.example A\"]\ntsig = \"k.example:{KEY}\"\n\
             [[server]]\nname = \"own\"\ntemplate = \"./own.toml\"\n\
             prepare = \"test -n \\\"$LOGIN\\\"\"\nenvironment = {{ LOGIN = \"{password}\" }}\n\
             [[server.variant]]\nname = \"other\"\nenvironment = {{ LOGIN = \"2{password}\" }}\n\
             [[load]]\nname = \"slow\"\nrate = 100\nanswers = \"any\"\n\
             [[event]]\nat = \"50ms\"\nrun = \"true http://me:{password}@127.0.0.1:1/?token={password}\"\n"
        )
    };
    work.write("x.toml", of(PASSWORD));
    let planned = silent(work.dnsdyno("experiment x.toml --dry-run").gives(0)).stdout;
    assert!(planned.contains("server own: with LOGIN in the environment"), "{planned}");
    silent(experiment(&work, "-o out"));
    let journal = work.read("out/journal.ndjson");
    assert!(journal.contains("(secret)"), "{journal}");
    let markdown = work.read("out/results.md");
    assert!(markdown.contains("environment.LOGIN"), "{markdown}");
    // It is known all the same that another one was given.
    work.write("x.toml", of("another"));
    silent(experiment(&work, "-o out"))
        .ends_refused(2, &["holds another campaign, or one with other options"]);
    has_none(&work.path("."));
}
