//! Every file that fuzzing has kept is read as it was: a fixed bug stays fixed, without a fuzzer.

use std::fs;
use std::path::Path;

use dnsdyno_fuzz_targets::TARGETS;

#[test]
fn every_kept_input_of_every_target_is_read() {
    for (name, target) in TARGETS {
        let files = files_of(name);
        assert!(!files.is_empty(), "{name} has a corpus");
        for (path, content) in files {
            println!("{name}: {path}");
            target(&content);
        }
    }
}

#[test]
fn the_corpus_is_small() {
    let files: Vec<_> = TARGETS.iter().flat_map(|(name, _)| files_of(name)).collect();
    let bytes: usize = files.iter().map(|(_, content)| content.len()).sum();
    assert!(files.len() <= 4_500 && bytes <= 1_000_000, "{} files of {bytes} bytes", files.len());
}

/// A target that only some of the tables know would not be fuzzed, or not be measured.
#[test]
fn every_target_has_a_program_and_the_files_that_it_is_there_for() {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    let read = |path: &str| fs::read_to_string(fuzz.join(path)).unwrap();
    let (programs, covers) = (read("Cargo.toml"), read("covers.txt"));
    for (name, _) in TARGETS {
        assert!(
            programs.contains(&format!("name = \"{name}\"\n")),
            "{name} has no program in fuzz/Cargo.toml"
        );
        assert!(read(&format!("fuzz_targets/{name}.rs")).contains(&format!("::{name}(data)")));
        let line = covers.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        let paths = line.unwrap_or_else(|| panic!("{name} has no line in fuzz/covers.txt"));
        for path in paths.split(' ') {
            assert!(fuzz.join("../crates").join(path).exists(), "{name}: {path} does not exist");
        }
    }
    assert_eq!(fs::read_dir(fuzz.join("fuzz_targets")).unwrap().count(), TARGETS.len());
    for line in covers.lines().filter_map(|line| line.strip_prefix("not ")) {
        let (path, functions) = line.split_once(": ").expect("a file and its functions");
        let text = fs::read_to_string(fuzz.join("../crates").join(path)).expect(path);
        for function in functions.split(' ') {
            let has_it = ["(", "<"].iter().any(|after| text.contains(&format!("fn {function}{after}")));
            assert!(has_it, "fuzz/covers.txt leaves out {function}, which {path} does not have");
        }
    }
}

/// The files of a target, by name.
fn files_of(target: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let read = |path: &Path| fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut files: Vec<_> = entries
        .map(|entry| entry.expect("an entry of a folder").path())
        .map(|path| (path.display().to_string(), read(&path)))
        .collect();
    files.sort();
    files
}
