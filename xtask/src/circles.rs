//! Finds circular imports between the files of one crate, which the compiler allows.
//!
//! A file uses another if it names an item that the other defines, also through the re-export of a third file. To
//! declare a module, or to re-export its items from its parent (`pub use`), is not a use. Tests are ignored.
//!
//! Circles are looked for a second time by the files that imports name: who reads `use super::update::Mistake` opens
//! `update.rs`, wherever that has the item from. A file without code of its own only passes names on, and is not
//! counted there.

mod modules;
mod reading;
mod resolving;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

use self::modules::Module;
use self::resolving::Counted;

/// For each pair (user, used) of files, the names that the user imports.
type Uses = BTreeMap<(PathBuf, PathBuf), BTreeSet<String>>;

/// What closes a circle by the files that are named, nevertheless: user, used. This list only gets shorter: an entry
/// that is not needed any more is a finding too.
const STILL_NAMED: &[(&str, &str)] = &[];

/// The circles of all crates below a folder, each with the names imported.
///
/// # Errors
///
/// A folder or file cannot be read or parsed.
pub(crate) fn check(root: &Path) -> anyhow::Result<Vec<String>> {
    let mut findings = Vec::new();
    for crate_root in crate_roots(root)? {
        findings.extend(circles_but(&modules_of(root, &crate_root)?, &crate_root, STILL_NAMED));
    }
    Ok(findings)
}

/// The files of all crates below a folder, relative to it, but for those that are for tests only.
///
/// # Errors
///
/// A folder or file cannot be read or parsed.
pub(crate) fn files(root: &Path) -> anyhow::Result<BTreeSet<PathBuf>> {
    let mut files = BTreeSet::new();
    for crate_root in crate_roots(root)? {
        files.extend(modules_of(root, &crate_root)?.into_iter().map(|module| module.file));
    }
    Ok(files)
}

fn modules_of(root: &Path, crate_root: &Path) -> anyhow::Result<Vec<Module>> {
    modules::load(crate_root, &|path: &Path| fs::read_to_string(root.join(path)).ok())
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

/// The circles of a crate but for those that are known, and what is known in vain.
fn circles_but(modules: &[Module], crate_root: &Path, known: &[(&str, &str)]) -> Vec<String> {
    let is_here = |(user, _): &&(&str, &str)| {
        crate_root.parent().is_some_and(|folder| Path::new(user).starts_with(folder))
    };
    let known: Vec<(&str, &str)> = known.iter().filter(is_here).copied().collect();
    let mut found = circles_in(modules, &known);
    for (user, used) in &known {
        let others: Vec<_> = known.iter().filter(|other| **other != (*user, *used)).copied().collect();
        if circles_in(modules, &others) == found {
            found.push(format!(
                "{user} closes no circle with {used}: take it out of STILL_NAMED in xtask/src/circles.rs"
            ));
        }
    }
    found
}

/// The circles of a crate as text, by the files that define what is used and, without those that are known, by those
/// that are named.
fn circles_in(modules: &[Module], known: &[(&str, &str)]) -> Vec<String> {
    let by_definition = uses_of(resolving::uses(modules, Counted::Defining));
    let mut by_name = uses_of(resolving::uses(modules, Counted::Named));
    by_name.retain(|(user, used), _| {
        !known
            .iter()
            .any(|known| (Path::new(known.0), Path::new(known.1)) == (user.as_path(), used.as_path()))
    });
    let known = circles(&by_definition);
    let through_facades = circles(&by_name).into_iter().filter(|circle| !known.contains(circle));
    let described = known.iter().map(|circle| describe("", circle, &by_definition));
    let named = through_facades.map(|circle| describe(", by the files that are named", &circle, &by_name));
    described.chain(named).collect()
}

fn uses_of(found: Vec<(PathBuf, PathBuf, String)>) -> Uses {
    let mut uses = Uses::new();
    for (user, used, name) in found {
        uses.entry((user, used)).or_default().insert(name);
    }
    uses
}

/// Sets of files that use each other, directly or through others.
fn circles(uses: &Uses) -> BTreeSet<BTreeSet<&Path>> {
    let reached: BTreeMap<&Path, BTreeSet<&Path>> =
        uses.keys().map(|(user, _)| (user.as_path(), reached_from(user, uses))).collect();
    let leads = |from: &Path, to: &Path| reached.get(from).is_some_and(|reached| reached.contains(to));
    reached
        .iter()
        .map(|(file, reached)| reached.iter().copied().filter(|other| leads(other, file)).collect())
        .filter(|circle: &BTreeSet<&Path>| !circle.is_empty())
        .collect()
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

fn describe(which: &str, circle: &BTreeSet<&Path>, uses: &Uses) -> String {
    let within = |path: &PathBuf| circle.contains(path.as_path());
    let mut text = format!("a circle of {} files{which}:", circle.len());
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
        of_but(files, &[])
    }

    fn of_but(files: &[(&str, &str)], known: &[(&str, &str)]) -> Vec<String> {
        let read = |path: &Path| {
            let found = files.iter().find(|(name, _)| Path::new(name) == path);
            found.map(|(_, text)| (*text).to_owned())
        };
        let root = Path::new("lib.rs");
        circles_but(&modules::load(root, &read).unwrap(), root, known)
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
    fn a_circle_through_a_file_that_passes_names_on_and_has_code_of_its_own_is_found() {
        let with = |code: &str, error: &str| {
            let update = format!("mod command; pub use self::command::{{Mistake, other}}; {code}");
            of(&[
                ("lib.rs", "mod error; mod update; pub use error::Reason;"),
                ("error.rs", error),
                ("update.rs", &update),
                ("update/command.rs", "pub struct Mistake; pub fn other() {}"),
            ])
        };
        let code = "use super::error::Reason; pub fn read() -> Reason { loop {} }";
        let found = with(code, "use super::update::Mistake; pub struct Reason(Mistake);");
        let expected = "a circle of 2 files, by the files that are named:\n  error.rs uses update.rs: Mistake\n  \
                        update.rs uses error.rs: Reason";
        assert_eq!(found, [expected]);
        let found = with(code, "pub struct Reason; fn f() { crate::update::other() }");
        assert!(found.len() == 1 && found[0].contains("error.rs uses update.rs: other"), "{found:?}");
        let found = with(code, "use crate::update::*; pub struct Reason(Mistake);");
        assert!(found.len() == 1 && found[0].contains("error.rs uses update.rs: Mistake"), "{found:?}");
        // Named where it is defined.
        assert!(with(code, "use super::update::command::Mistake; pub struct Reason(Mistake);").is_empty());
        // A file without code only passes names on.
        assert!(
            with("pub use super::error::Reason;", "use super::update::Mistake; pub struct Reason(Mistake);")
                .is_empty()
        );
    }

    #[test]
    fn what_is_known_is_no_finding_and_what_is_known_in_vain_is_one() {
        let files = [
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "use crate::b::Thing; pub fn f(_: Thing) {}"),
            ("b.rs", "mod c; pub use c::Thing; pub fn g() { crate::a::f(loop {}) }"),
            ("b/c.rs", "pub struct Thing;"),
        ];
        assert_eq!(of_but(&files, &[]).len(), 1);
        assert_eq!(of_but(&files, &[("a.rs", "b.rs")]), Vec::<String>::new());
        let found = of_but(&files, &[("a.rs", "b.rs"), ("a.rs", "lib.rs")]);
        assert!(found.len() == 1 && found[0].starts_with("a.rs closes no circle with lib.rs"), "{found:?}");
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
        let error = modules::load(Path::new("lib.rs"), &read).err().unwrap().to_string();
        assert!(error.contains("lost"), "{error}");
    }
}
