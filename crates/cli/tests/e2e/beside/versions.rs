//! Several versions of one server in an experiment: from unpacked root file systems beside what is installed; and
//! servers that this host does not have.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use dnsdyno_lab::{Need, ServerSpec, require};
use serde_json::Value;

use crate::beside::experiment::{SHORT, experiment, results};
use crate::support::Workplace;

/// The number at the beginning of a version: that of the installed server, and another one that is as long.
fn numbers(spec: &ServerSpec) -> [String; 2] {
    let version = spec.version().unwrap();
    let number = version.split(|c: char| !c.is_ascii_digit() && c != '.').next().unwrap().to_owned();
    let (rest, last) = number.split_at(number.len() - 1);
    let other = format!("{rest}{}", if last == "0" { 1 } else { 0 });
    [number, other]
}

/// A root file system with the installed program of a server, its libraries and their loader, in which the server has
/// another version: its own files are changed, and those of the same version that it needs.
fn unpacked(spec: &ServerSpec, root: &Path) {
    let [number, other] = numbers(spec);
    let program = spec.program().unwrap();
    let listed = Command::new("ldd").arg(&program).output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let libraries = listed.split_whitespace().filter(|word| word.starts_with('/')).map(PathBuf::from);
    for file in libraries.chain([program.clone()]) {
        let mut content = fs::read(&file).unwrap();
        let mut name = file.display().to_string();
        if file == program || name.contains(&number) {
            name = name.replace(&number, &other);
            while let Some(at) = content.windows(number.len()).position(|part| part == number.as_bytes()) {
                content[at..at + number.len()].copy_from_slice(other.as_bytes());
            }
        }
        let to = root.join(name.trim_start_matches('/'));
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::write(&to, content).unwrap();
        fs::set_permissions(&to, fs::Permissions::from_mode(0o755)).unwrap();
    }
}

#[test]
fn a_version_from_an_unpacked_root_is_measured_beside_the_installed_one_and_both_say_what_they_are() {
    if !require(&[Need::Root, Need::Server("nsd"), Need::Server("bind")]) {
        return;
    }
    for name in ["nsd", "bind"] {
        let spec = ServerSpec::named(name).unwrap();
        let work = Workplace::new();
        unpacked(&spec, &work.path("root"));
        let [installed, other] = numbers(&spec);
        let variant = "[[server.variant]]\nname = \"other\"\noptional = true\n";
        let server = format!("[[server]]\nname = \"{name}\"\ntemplate = \"{name}\"\n{variant}");
        let load = "[[load]]\nname = \"l\"\nrate = 200\n";
        // Watched, so that the process is found by its name.
        let short = SHORT.replace("watch = \"off\"", "watch = \"auto\"");
        work.write("x.toml", format!("{short}{server}{load}"));
        // Without the root it is left out.
        let planned = work.dnsdyno("experiment x.toml --dry-run").gives(0).stdout;
        assert!(planned.contains("1 server") && planned.contains("other is left out: give its"), "{planned}");

        let given = format!("--program {name}/other=root");
        let planned = work.dnsdyno(&format!("experiment x.toml --dry-run {given}")).gives(0).stdout;
        assert!(planned.contains("2 servers") && planned.contains("of the root file system /"), "{planned}");
        experiment(&work, &format!("-o out {given}")).gives(0);
        let results = results(&work, "out");
        let version = |at: usize| results["servers"][at]["version"].as_str().unwrap().to_owned();
        assert!(
            version(0).starts_with(&installed) && version(1).starts_with(&other),
            "{}",
            results["servers"]
        );
        // Each query was answered by it.
        let facts: Value = serde_json::from_str(&work.read("out/runs/002/server.json")).unwrap();
        assert_eq!(facts["version"], results["servers"][1]["version"]);
        let digest = work.record("out/runs/002");
        assert_eq!((digest.tally().scheduled, digest.tally().ends.answered), (40, 40));
        let software: Vec<_> = digest.header.watched.iter().filter_map(|one| one.software.clone()).collect();
        assert!(software.contains(&name.to_owned()), "{software:?}");

        for (file, words) in [
            ("results.csv", format!(",{name}/other,{},l,", version(1))),
            ("results.md", format!("| {name}/other | {} |", version(1).replace('~', "\\~"))),
            ("index.html", format!(">{name}/other {other}<")),
        ] {
            let text = work.read(&format!("out/{file}"));
            assert!(text.contains(&words), "{words} in {file}: {text}");
        }
        // Nothing was written to the root, and nothing is mounted.
        let mut left: Vec<_> =
            fs::read_dir(work.path("root")).unwrap().map(|one| one.unwrap().file_name()).collect();
        left.retain(|name| name.to_string_lossy().starts_with(['t', 'd', 'p', 'e']));
        assert_eq!(left, [""; 0]);
        assert!(
            !fs::read_to_string("/proc/self/mounts").unwrap().contains(&*work.path("").to_string_lossy())
        );
        // Without the root it is another experiment.
        work.dnsdyno("experiment x.toml -o out").ends_refused(2, &["holds another campaign"]);
    }
}

#[test]
fn a_root_whose_program_lacks_a_library_is_told_with_what_the_loader_says() {
    if !require(&[Need::Root, Need::Server("nsd")]) {
        return;
    }
    let spec = ServerSpec::named("nsd").unwrap();
    let work = Workplace::new();
    unpacked(&spec, &work.path("root"));
    let is_ssl =
        |path: &Path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("libssl"));
    let mut folders = vec![work.path("root")];
    let mut removed = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            } else if is_ssl(&entry.path()) {
                fs::remove_file(entry.path()).unwrap();
                removed += 1;
            }
        }
    }
    assert_eq!(removed, 1);
    let server = "[[server]]\nname = \"nsd\"\ntemplate = \"nsd\"\nroot = \"root\"\n";
    work.write("x.toml", format!("{SHORT}{server}[[load]]\nname = \"l\"\nrate = 200\n"));
    let ran = experiment(&work, "-o out").gives(3);
    ran.says(&["nsd cannot be measured", "ended by itself", "libssl"]);
}

#[test]
fn a_file_whose_servers_are_not_here_is_refused_by_a_dry_run_and_nothing_is_made() {
    let work = Workplace::new();
    let load = "[[load]]\nname = \"l\"\nrate = 200\n";
    let server = |keys: &str| format!("[[server]]\nname = \"mine\"\ntemplate = \"knot\"\n{keys}\n{load}");
    for (keys, words) in [
        (
            "program = \"no-such-knotd\"",
            &["server `mine`: no-such-knotd is not installed", "install-servers knot"][..],
        ),
        ("root = \"nowhere\"", &["server `mine`", "nowhere has no program knotd", "mmdebstrap", "knot"]),
    ] {
        work.write("x.toml", format!("{SHORT}{}", server(keys)));
        for words_of_run in ["--dry-run", "-o out"] {
            let ran = work.dnsdyno(&format!("experiment x.toml {words_of_run}")).gives(2);
            let ran = ran.says(words);
            ran.says(&["nothing was started"]);
        }
        assert!(!work.has("out/runs"));
    }
    work.write("x.toml", format!("{SHORT}{}", server("")));
    work.dnsdyno("experiment x.toml --dry-run --program mien=/bin/sh")
        .ends_refused(2, &["no server or variant `mien`", "did you mean `mine`?"]);
    work.dnsdyno("experiment x.toml --dry-run --program mine=/none/knotd")
        .ends_refused(2, &["--program mine=/none/knotd: there is neither a program nor a folder"]);
}
