//! What a NATS broker may ask for, and what it may keep: TLS, users, files of credentials, and an object store in which
//! a file is put once for all agents.

use std::io::{Read, Write};
use std::net::TcpStream;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use dnsdyno_lab::Certificate;
use dnsdyno_responder::Faults;
use nkeys::KeyPair;
use serde_json::{Value, json};

use crate::support::broker::{Beside, Broker, agent, agent_with, free_port, key, received, run};
use crate::support::{Workplace, has_program, responder};

/// A run of 60 queries at the agents of a broker, from a file of these options.
fn load(work: &Workplace, server: &str, url: &str, options: &str) -> String {
    let words =
        format!("run -s {server} --rate 60 --for 1s --on '{url}' --start-within 1s --quiet {options}");
    run(work, &words).gives(0).stderr
}

fn wait_for(agents: &mut [Beside]) {
    agents.iter_mut().for_each(|agent| agent.until_it_says("waits at"));
}

#[test]
fn a_broker_with_tls_is_known_by_its_certificate() {
    if !has_program("nats-server") {
        return;
    }
    let work = Workplace::with_queries();
    let server = responder(Faults::default());
    let (certificate, port, trusted) = (Certificate::make().unwrap(), free_port(), key(&work));
    let _broker = Broker::with(
        &work,
        port,
        &format!(
            "tls {{ cert_file: {:?}, key_file: {:?} }}\nauthorization {{ user: me, password: \"p@ss word\" }}\n",
            certificate.cert_file(),
            certificate.key_file()
        ),
    );
    let ca = certificate.ca_file().display().to_string();
    let url = format!("tls://me:p%40ss%20word@localhost:{port}");
    let mut agents = [agent_with(&work, &url, "one", &trusted, &["--nats-ca", &ca])];
    wait_for(&mut agents);
    load(&work, &server.address().to_string(), &url, &format!("-d q.txt --nats-ca {ca}"));
    assert_eq!(received(&server), 60);
    let again = format!("run -s {} --count 5 -d q.txt --on '{url}' --quiet", server.address());
    run(&work, &again).ends_refused(3, &["localhost"]);
    let other = Certificate::make().unwrap().ca_file().display().to_string();
    run(&work, &format!("{again} --nats-ca {other}")).ends_refused(3, &[&other]);
    let wrong = again.replace("p%40ss%20word", "no");
    let said = run(&work, &format!("{wrong} --nats-ca {ca}")).ends_refused(3, &["authorization violation"]);
    assert!(!said.stderr.contains("p@ss"), "{}", said.stderr);
    assert_eq!(received(&server), 60);
}

/// A claim that a key of NATS has signed.
fn token(issuer: &KeyPair, of: &KeyPair, name: &str, claims: Value) -> String {
    let text = |value: &Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
    let head = text(&json!({ "typ": "JWT", "alg": "ed25519-nkey" }));
    let (iss, sub) = (issuer.public_key(), of.public_key());
    let body =
        json!({ "jti": name, "iat": 1_700_000_000, "iss": iss, "sub": sub, "name": name, "nats": claims });
    let signed = format!("{head}.{}", text(&body));
    let signature = BASE64_URL_SAFE_NO_PAD.encode(issuer.sign(signed.as_bytes()).unwrap());
    format!("{signed}.{signature}")
}

#[test]
fn a_file_of_credentials_opens_a_broker_with_accounts() {
    if !has_program("nats-server") {
        return;
    }
    let work = Workplace::with_queries();
    let server = responder(Faults::default());
    let (port, trusted) = (free_port(), key(&work));
    let (operator, account, user) = (KeyPair::new_operator(), KeyPair::new_account(), KeyPair::new_user());
    let limits = json!({
        "subs": -1, "data": -1, "payload": -1, "imports": -1, "exports": -1, "wildcards": true, "conn": -1, "leaf": -1
    });
    let of_operator = token(&operator, &operator, "operator", json!({ "type": "operator", "version": 2 }));
    let of_account =
        token(&operator, &account, "account", json!({ "limits": limits, "type": "account", "version": 2 }));
    let of_user = token(
        &account,
        &user,
        "user",
        json!({ "pub": {}, "sub": {}, "subs": -1, "data": -1, "payload": -1, "type": "user", "version": 2 }),
    );
    let creds = format!(
        "-----BEGIN NATS USER JWT-----\n{of_user}\n------END NATS USER JWT------\n\n\
         -----BEGIN USER NKEY SEED-----\n{}\n------END USER NKEY SEED------\n",
        user.seed().unwrap()
    );
    work.write("me.creds", creds);
    let _broker = Broker::with(
        &work,
        port,
        &format!(
            "operator: \"{of_operator}\"\nresolver: MEMORY\nresolver_preload: {{ {}: \"{of_account}\" }}\n",
            account.public_key()
        ),
    );
    let url = format!("nats://127.0.0.1:{port}");
    let mut agents = [agent_with(&work, &url, "one", &trusted, &["--nats-creds", "me.creds"])];
    wait_for(&mut agents);
    load(&work, &server.address().to_string(), &url, "-d q.txt --nats-creds me.creds");
    assert_eq!(received(&server), 60);
    run(&work, &format!("agents {url}")).ends_refused(3, &["authorization violation"]);
    run(&work, &format!("agents {url} --nats-creds none.creds")).ends_refused(3, &["none.creds"]);
}

/// A counter of the broker.
fn counter(monitor: u16, name: &str) -> u64 {
    let mut stream = TcpStream::connect(("127.0.0.1", monitor)).unwrap();
    stream.write_all(b"GET /varz HTTP/1.0\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    serde_json::from_str::<Value>(body).unwrap()[name].as_u64().unwrap()
}

#[test]
fn a_file_of_queries_goes_to_the_object_store_once_for_all_agents() {
    if !has_program("nats-server") {
        return;
    }
    let work = Workplace::with_queries();
    let server = responder(Faults::default());
    let (port, monitor, trusted) = (free_port(), free_port(), key(&work));
    let config = |more: &str| format!("http: 127.0.0.1:{monitor}\njetstream {{ store_dir: js }}\n{more}\n");
    let users = "authorization { users: [
        { user: all, password: x },
        { user: few, password: x, permissions: { publish: { deny: \"$JS.API.>\" } } },
    ] }";
    let _broker = Broker::with(&work, port, &config(users));
    let url = |user: &str| format!("nats://{user}:x@127.0.0.1:{port}");
    let mut agents = ["one", "two", "three"].map(|name| agent(&work, &url("all"), name, &trusted));
    wait_for(&mut agents);
    let lines =
        |first: u32| (first..first + 100_000).map(|i| format!("name-{i}.example A\n")).collect::<String>();
    work.write("many.txt", lines(0));
    let octets = lines(0).len() as u64;
    let at = server.address().to_string();
    let mut before = 0;
    // The second time it is there.
    for most in [octets * 3 / 2, octets / 2] {
        load(&work, &at, &format!("{}?count=3", url("all")), "-d many.txt");
        let came = counter(monitor, "in_bytes");
        assert!(came - before < most, "{} of a file of {octets} octets", came - before);
        before = came;
    }
    assert!(counter(monitor, "out_bytes") > 6 * octets);
    // An agent that may not read the store gets it from the coordinator, as all do without a store.
    drop(agents);
    let mut agents = [agent(&work, &url("few"), "few", &trusted), agent(&work, &url("all"), "all", &trusted)];
    wait_for(&mut agents);
    load(&work, &at, &format!("{}?count=2", url("all")), "-d many.txt");
    assert!(agents[0].said().contains("of the broker's object store"), "{}", agents[0].said());
    assert_eq!(received(&server), 180);
}
