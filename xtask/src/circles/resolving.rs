//! From the names in a module to the files that define them.

use std::path::PathBuf;

use super::modules::Module;

/// Imports that lead to one another are followed so far.
const DEEPEST: usize = 16;

/// What a path leads to.
enum Found {
    Module(usize),
    Item(usize, String),
}

/// All uses of one file by another: user, used, name.
pub(super) fn uses(modules: &[Module]) -> Vec<(PathBuf, PathBuf, String)> {
    let mut uses = Vec::new();
    for (number, module) in modules.iter().enumerate() {
        let imports = module.text.imports.iter().map(|import| (&import.from, import.passed_on));
        let others = module.text.stars.iter().chain(&module.text.paths).map(|path| (path, false));
        for (path, passed_on) in imports.chain(others) {
            let Some(Found::Item(home, name)) = resolve(modules, number, path, 0) else { continue };
            if !(passed_on && is_below(modules, home, number)) {
                uses.push((number, home, name));
            }
        }
        for (of, method) in &module.text.methods {
            if let Some(Found::Item(home, _)) = resolve(modules, number, of, 0) {
                let called = modules.iter().enumerate().filter(|(_, other)| other.file == modules[home].file);
                let callers = called.filter(|(_, other)| other.text.called.contains(method));
                uses.extend(callers.map(|(caller, _)| (caller, number, method.clone())));
            }
        }
    }
    let named = |(user, used, name): (usize, usize, String)| {
        (modules[user].file.clone(), modules[used].file.clone(), name)
    };
    uses.into_iter().map(named).filter(|(user, used, _)| user != used).collect()
}

fn is_below(modules: &[Module], mut number: usize, above: usize) -> bool {
    while number != above && number != 0 {
        number = modules[number].parent;
    }
    number == above
}

/// What a path in a module leads to; nothing where that is outside of the crate, or local to a function.
fn resolve(modules: &[Module], mut at: usize, mut path: &[String], depth: usize) -> Option<Found> {
    let mut known = false;
    while let Some((first, rest)) = path.split_first() {
        at = match first.as_str() {
            "crate" => 0,
            "self" => at,
            "super" => modules[at].parent,
            _ => break,
        };
        (path, known) = (rest, true);
    }
    descend(modules, at, path, known, depth)
}

/// What a path leads to from a module on; `known` where it cannot lead out of the crate.
fn descend(modules: &[Module], at: usize, path: &[String], known: bool, depth: usize) -> Option<Found> {
    let Some((first, rest)) = path.split_first() else {
        return Some(Found::Module(at));
    };
    let module = &modules[at];
    if let Some(&child) = module.children.get(first) {
        // A function may have the name of a module.
        if !(rest.is_empty() && module.text.defined.contains(first)) {
            return descend(modules, child, rest, true, depth);
        }
    }
    if module.text.defined.contains(first) {
        return Some(Found::Item(at, first.clone()));
    }
    if depth == DEEPEST {
        return None;
    }
    if let Some(import) = module.text.imports.iter().find(|import| import.name == *first) {
        return match resolve(modules, at, &import.from, depth + 1)? {
            Found::Module(found) => descend(modules, found, rest, true, depth + 1),
            item => Some(item),
        };
    }
    for star in &module.text.stars {
        if let Some(Found::Module(found)) = resolve(modules, at, star, depth + 1)
            && let Some(found) = descend(modules, found, path, false, depth + 1)
        {
            return Some(found);
        }
    }
    // A macro may have defined it.
    (known && module.text.stars.is_empty()).then(|| Found::Item(at, first.clone()))
}
