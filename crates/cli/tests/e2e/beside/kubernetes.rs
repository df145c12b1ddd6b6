//! The manifest for Kubernetes, docs/kubernetes/agents.yaml: it is valid for the API, its command lines and its
//! configuration are those of this program, and what it names within itself is there.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use dnsdyno_cluster::Permission;
use yaml_rust2::{Yaml, YamlLoader};

use crate::support::broker::{Beside, free_port};
use crate::support::{DNSDYNO, Workplace, has_program, has_readers};

struct Manifest(Vec<Yaml>);

impl Manifest {
    fn read() -> Manifest {
        Manifest(YamlLoader::load_from_str(&fs::read_to_string(path_of_manifest()).unwrap()).unwrap())
    }

    fn of_kind(&self, kind: &str) -> impl Iterator<Item = &Yaml> {
        self.0.iter().filter(move |one| text(&one["kind"]) == kind)
    }

    fn one(&self, kind: &str, name: &str) -> &Yaml {
        let mut found = self.of_kind(kind).filter(|one| text(&one["metadata"]["name"]) == name);
        found.next().unwrap_or_else(|| panic!("no {kind} {name}"))
    }

    /// The templates of its pods.
    fn pods(&self) -> Vec<&Yaml> {
        self.0.iter().map(|one| &one["spec"]["template"]).filter(|template| !template.is_badvalue()).collect()
    }

    /// The text of `agent.toml`, and the words after the name of the program in the container of an agent.
    fn agent(&self) -> (&str, Vec<&str>) {
        let container = &self.one("StatefulSet", "agent")["spec"]["template"]["spec"]["containers"][0];
        assert_eq!(all(&container["command"]).map(text).collect::<Vec<_>>(), ["/usr/local/bin/dnsdyno"]);
        let config = text(&self.one("ConfigMap", "agent")["data"]["agent.toml"]);
        (config, all(&container["args"]).map(text).collect())
    }
}

fn path_of_manifest() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/kubernetes/agents.yaml")
}

fn text(value: &Yaml) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value:?} is no text"))
}

fn all(value: &Yaml) -> impl Iterator<Item = &Yaml> {
    value.as_vec().into_iter().flatten()
}

fn labels(value: &Yaml) -> BTreeMap<&str, &str> {
    value.as_hash().into_iter().flatten().map(|(key, value)| (text(key), text(value))).collect()
}

/// Whether a selector means the pods of a template.
fn selects(selector: &Yaml, template: &Yaml) -> bool {
    let of_pod = labels(&template["metadata"]["labels"]);
    let has = |(key, value): (&&str, &&str)| of_pod.get(key) == Some(value);
    let is_in = |rule: &Yaml| {
        assert_eq!(text(&rule["operator"]), "In");
        let value = of_pod.get(text(&rule["key"]));
        all(&rule["values"]).any(|one| value == Some(&text(one)))
    };
    labels(&selector["matchLabels"]).iter().all(has) && all(&selector["matchExpressions"]).all(is_in)
}

/// The value of a flag that is written as one word.
fn value<'a>(words: &[&'a str], flag: &str) -> &'a str {
    words.iter().find_map(|word| word.strip_prefix(flag)?.strip_prefix('=')).unwrap()
}

#[test]
fn the_manifest_for_kubernetes_is_valid_for_the_schemas_of_its_api_old_and_new() {
    if !has_readers() {
        return;
    }
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/readers/bin/python");
    for version in ["1.28", "1.37"] {
        let mut command = Command::new(&python);
        command.args(["-m", "kubernetes_validate", "--strict", "-k", version]).arg(path_of_manifest());
        let ran = command.output().unwrap();
        let said =
            [ran.stdout, ran.stderr].map(|octets| String::from_utf8_lossy(&octets).into_owned()).concat();
        let passed = said.lines().filter(|line| line.contains(" passed ")).count();
        assert!(ran.status.success() && passed == Manifest::read().0.len(), "{said}");
    }
}

#[test]
fn an_agent_in_kubernetes_may_load_what_its_network_policy_lets_it_reach() {
    let (work, manifest) = (Workplace::new(), Manifest::read());
    let (config, words) = manifest.agent();
    dnsdyno_cli::command().try_get_matches_from([&["dnsdyno"], &words[..]].concat()).unwrap();
    work.write("agent.toml", config);
    let permission = Permission::of_host(Some(&work.path("agent.toml"))).unwrap();
    let policy = &manifest.one("NetworkPolicy", "agent")["spec"];
    let targets = all(&policy["egress"]).flat_map(|rule| all(&rule["to"]));
    let reached: Vec<&str> =
        targets.map(|to| text(&to["ipBlock"]["cidr"]).strip_suffix("/32").unwrap()).collect();
    assert!(permission.to_string().starts_with(&format!("{}, at most ", reached.join(", "))), "{permission}");
    assert!(permission.trusted_keys().is_empty(), "no key of ours is trusted");
}

#[test]
fn what_the_manifest_for_kubernetes_names_is_there() {
    let manifest = Manifest::read();
    let pods = manifest.pods();
    assert_eq!(pods.len(), 3);
    for policy in manifest.of_kind("NetworkPolicy") {
        let spec = &policy["spec"];
        let peers = |way: &str, side: &str| -> Vec<&Yaml> {
            all(&spec[way]).flat_map(|rule| all(&rule[side])).map(|peer| &peer["podSelector"]).collect()
        };
        // Those of other namespaces are not in this manifest.
        let peers = [peers("egress", "to"), peers("ingress", "from")].concat();
        let ours =
            peers.into_iter().filter(|peer| !peer["matchLabels"]["app.kubernetes.io/name"].is_badvalue());
        for selector in ours.chain([&spec["podSelector"]]) {
            assert!(pods.iter().any(|pod| selects(selector, pod)), "{selector:?} means no pod");
        }
    }
    for workload in manifest.0.iter().filter(|one| !one["spec"]["template"].is_badvalue()) {
        assert!(selects(&workload["spec"]["selector"], &workload["spec"]["template"]), "{workload:?}");
    }
    let service = &manifest.one("Service", "broker")["spec"];
    let of_service = |pod: &&&Yaml| labels(&pod["metadata"]["labels"]) == labels(&service["selector"]);
    let broker = pods.iter().find(of_service).unwrap();
    let (named, port) = (&service["ports"][0]["targetPort"], service["ports"][0]["port"].as_i64().unwrap());
    let mut ports = all(&broker["spec"]["containers"][0]["ports"]);
    assert!(ports.any(|one| one["name"] == *named && one["containerPort"].as_i64() == Some(port)));

    let (_, words) = manifest.agent();
    assert_eq!(value(&words, "--nats"), format!("nats://broker:{port}"));
    let spec = &manifest.one("StatefulSet", "agent")["spec"]["template"]["spec"];
    let mounted = |path: &str| {
        let is_there = |mount: &&Yaml| text(&mount["mountPath"]) == path;
        let mount = all(&spec["containers"][0]["volumeMounts"]).find(is_there).unwrap();
        (mount, all(&spec["volumes"]).find(|volume| volume["name"] == mount["name"]).unwrap())
    };
    let (folder, file) = value(&words, "--config").rsplit_once('/').unwrap();
    let config = text(&mounted(folder).1["configMap"]["name"]);
    assert!(!manifest.one("ConfigMap", config)["data"][file].is_badvalue());
    let (mount, volume) = mounted(value(&words, "--folder"));
    assert!(mount["readOnly"].is_badvalue() && !volume["emptyDir"].is_badvalue());
}

#[test]
fn an_agent_starts_as_its_container_in_kubernetes_says() {
    if !has_program("nats-server") {
        return;
    }
    let (work, manifest) = (Workplace::new(), Manifest::read());
    let broker = &manifest.one("Deployment", "broker")["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(all(&broker["command"]).map(text).collect::<Vec<_>>(), ["nats-server"]);
    let ports = [free_port(), free_port()];
    let here = |word: &str| {
        let to =
            [("4222", ports[0].to_string()), ("8222", ports[1].to_string()), ("broker", "127.0.0.1".into())];
        to.iter().fold(word.to_owned(), |word, (there, here)| word.replace(there, here))
    };
    let mut command = Command::new("nats-server");
    command.args(["--addr", "127.0.0.1"]).args(all(&broker["args"]).map(text).map(here));
    let mut broker = Beside::start(&work, "broker", command);
    broker.until_it_says("Server is ready");

    let (config, words) = manifest.agent();
    work.write("agent.toml", config);
    let folder = value(&words, "--folder");
    let mut command = Command::new(DNSDYNO);
    for word in &words {
        let word = word.replace(value(&words, "--config"), "agent.toml").replace(folder, "records");
        command.arg(here(&word));
    }
    let mut agent = Beside::start(&work, "agent", command);
    agent.until_it_says("waits at");
    agent.until_it_says("it trusts no key");
    assert!(agent.terminate().success(), "{}", agent.said());
}
