//! Finds circular imports between the files of one crate, which the compiler allows.
//!
//! A file uses another if it names an item that the other defines, also through the re-export of a third file. To
//! declare a module, or to re-export its items from its parent (`pub use`), is not a use. Tests are ignored.

mod modules;
mod reading;
mod resolving;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

/// For each pair (user, used) of files, the names that the user imports.
type Uses = BTreeMap<(PathBuf, PathBuf), BTreeSet<String>>;

/// The circles of all crates below a folder, each with the names imported.
///
/// # Errors
///
/// A folder or file cannot be read or parsed.
pub(crate) fn check(root: &Path) -> anyhow::Result<Vec<String>> {
    let mut findings = Vec::new();
    for crate_root in crate_roots(root)? {
        let read = |path: &Path| fs::read_to_string(root.join(path)).ok();
        findings.extend(circles(&uses_in(&crate_root, &read)?));
    }
    Ok(findings)
}

/// The root files of all crates, relative to `root`.
fn crate_roots(root: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut packages = vec![PathBuf::from("xtask"), PathBuf::from("benchsuite")];
    let crates = root.join("crates");
    for entry in fs::read_dir(&crates).with_context(|| format!("cannot read {}", crates.display()))? {
        packages.push(Path::new("crates").join(entry?.file_name()));
    }
    packages.sort();
    let files =
        packages.iter().flat_map(|package| ["src/lib.rs", "src/main.rs"].map(|file| package.join(file)));
    Ok(files.filter(|path| root.join(path).is_file()).collect())
}

fn uses_in(crate_root: &Path, read: &dyn Fn(&Path) -> Option<String>) -> anyhow::Result<Uses> {
    let modules = modules::load(crate_root, read)?;
    let mut uses = Uses::new();
    for (user, used, name) in resolving::uses(&modules) {
        uses.entry((user, used)).or_default().insert(name);
    }
    Ok(uses)
}

/// Sets of files that use each other, directly or through others, as text.
fn circles(uses: &Uses) -> Vec<String> {
    let reached: BTreeMap<&Path, BTreeSet<&Path>> =
        uses.keys().map(|(user, _)| (user.as_path(), reached_from(user, uses))).collect();
    let leads = |from: &Path, to: &Path| reached.get(from).is_some_and(|reached| reached.contains(to));
    let circles: BTreeSet<BTreeSet<&Path>> = reached
        .iter()
        .map(|(file, reached)| reached.iter().copied().filter(|other| leads(other, file)).collect())
        .filter(|circle: &BTreeSet<&Path>| !circle.is_empty())
        .collect();
    circles.iter().map(|circle| describe(circle, uses)).collect()
}

fn reached_from<'a>(start: &Path, uses: &'a Uses) -> BTreeSet<&'a Path> {
    let mut reached = BTreeSet::new();
    let mut open = vec![start];
    while let Some(file) = open.pop() {
        for (_, used) in uses.keys().filter(|(user, _)| user == file) {
            if reached.insert(used.as_path()) {
                open.push(used);
            }
        }
    }
    reached
}

fn describe(circle: &BTreeSet<&Path>, uses: &Uses) -> String {
    let within = |path: &PathBuf| circle.contains(path.as_path());
    let mut text = format!("a circle of {} files:", circle.len());
    for ((user, used), names) in uses.iter().filter(|((user, used), _)| within(user) && within(used)) {
        let names = names.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        text.push_str(&format!("\n  {} uses {}: {names}", user.display(), used.display()));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The circles of a crate given as (file, text).
    fn of(files: &[(&str, &str)]) -> Vec<String> {
        let read = |path: &Path| {
            let found = files.iter().find(|(name, _)| Path::new(name) == path);
            found.map(|(_, text)| (*text).to_owned())
        };
        circles(&uses_in(Path::new("lib.rs"), &read).unwrap())
    }

    #[test]
    fn this_workspace_has_no_circle() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        assert_eq!(check(&root).unwrap(), Vec::<String>::new());
    }

    #[test]
    fn two_files_that_use_each_other_are_found_with_the_names() {
        let found = of(&[
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "use crate::b::{self, Second}; pub struct First(Second); fn f() { b::third() }"),
            ("b.rs", "use super::a; pub struct Second(Box<a::First>); pub fn third() {}"),
        ]);
        assert_eq!(found, ["a circle of 2 files:\n  a.rs uses b.rs: Second, third\n  b.rs uses a.rs: First"]);
    }

    #[test]
    fn a_use_in_one_direction_is_not_a_circle() {
        let found = of(&[
            ("lib.rs", "mod a; mod b; pub use a::A; pub use b::B;"),
            ("a.rs", "use crate::b::B; pub struct A(B);"),
            ("b.rs", "pub struct B; impl B { pub fn a(&self) { let a = 1; } }"),
        ]);
        assert!(found.is_empty(), "{found:?}");
    }

    #[test]
    fn a_circle_through_a_third_file_is_found() {
        let found = of(&[
            ("lib.rs", "mod a; mod b; mod c;"),
            ("a.rs", "pub fn a() { crate::b::b() }"),
            ("b.rs", "pub fn b() { crate::c::c() }"),
            ("c.rs", "pub fn c() { println!(\"{:?}\", crate::a::a()) }"),
        ]);
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("a circle of 3 files:"), "{found:?}");
    }

    #[test]
    fn a_child_and_a_parent_that_use_each_other_are_found_at_any_depth() {
        let found = of(&[
            ("lib.rs", "mod a;"),
            ("a.rs", "mod child; pub struct Shared; pub fn f() { child::g() }"),
            ("a/child.rs", "mod grandchild; pub fn g() { grandchild::h() }"),
            ("a/child/grandchild.rs", "use super::super::Shared; pub fn h() { let _ = Shared; }"),
        ]);
        assert_eq!(found.len(), 1);
        assert!(found[0].contains("a/child/grandchild.rs uses a.rs: Shared"), "{found:?}");
    }

    #[test]
    fn a_parent_that_only_reexports_items_of_its_child_does_not_use_it() {
        let root = "mod child; pub use child::Worker; pub struct Error;";
        let child = ("child.rs", "use crate::Error; pub struct Worker(Error);");
        assert!(of(&[("lib.rs", root), child]).is_empty());
        let used = format!("{root} fn f(_: Worker) {{}}");
        assert_eq!(of(&[("lib.rs", &used), child]).len(), 1);
    }

    #[test]
    fn a_reexported_name_counts_for_the_file_that_defines_it() {
        let found = of(&[
            ("lib.rs", "mod a; mod b; mod c; pub use b::*;"),
            ("a.rs", "use crate::Thing; pub fn a(_: Thing) {}"),
            ("b.rs", "pub use crate::c::Thing; use crate::c::other;"),
            ("c.rs", "pub struct Thing; pub fn other() { crate::a::a(Thing) }"),
        ]);
        assert_eq!(found.len(), 1);
        assert!(found[0].contains("a.rs uses c.rs: Thing"), "{found:?}");
        assert!(!found[0].contains("b.rs"), "{found:?}");
    }

    #[test]
    fn a_glob_import_counts_for_the_names_used_through_it() {
        let with = |body: &str| {
            let child = format!("use super::*; {body}");
            of(&[("lib.rs", "mod a; pub struct Held; fn f() { a::g() }"), ("a.rs", &child)])
        };
        assert!(with("pub fn g() {}").is_empty());
        assert_eq!(with("pub fn g() { let _ = Held; }").len(), 1);
    }

    #[test]
    fn methods_of_one_type_in_two_files_that_call_each_other_are_found() {
        let found = of(&[
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "pub struct Worker; impl Worker { fn run(&self) { self.step() } }"),
            ("b.rs", "use crate::a::Worker; impl Worker { pub fn step(&self) {} }"),
        ]);
        assert_eq!(found.len(), 1);
        assert!(found[0].contains("a.rs uses b.rs: step"), "{found:?}");
    }

    #[test]
    fn paths_in_attributes_and_imports_in_functions_count() {
        let found = of(&[
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "struct A { #[serde(with = \"crate::b::form\")] b: u8 } pub struct Unit;"),
            ("b.rs", "pub mod form { pub fn f() { use super::super::a::Unit; } }"),
        ]);
        assert_eq!(found.len(), 1);
    }

    #[test]
    fn tests_are_ignored() {
        let found = of(&[
            ("lib.rs", "mod a; mod b; #[cfg(test)] mod sample;"),
            ("a.rs", "use crate::b::B; pub struct A(B);"),
            (
                "b.rs",
                "pub struct B; #[cfg(test)] use crate::a::A; impl B { #[cfg(test)] fn t(_: crate::a::A) {} }
                 #[cfg(test)] mod tests { use crate::a::A; fn f(_: A) {} } #[test] fn g(_: crate::a::A) {}",
            ),
        ]);
        assert!(found.is_empty(), "{found:?}");
    }

    #[test]
    fn a_module_without_a_file_is_an_error() {
        let read = |path: &Path| (path == Path::new("lib.rs")).then(|| "mod lost;".to_owned());
        let error = uses_in(Path::new("lib.rs"), &read).unwrap_err().to_string();
        assert!(error.contains("lost"), "{error}");
    }
}
