//! Finds the files that define the names in a module.

use std::path::PathBuf;

use super::modules::Module;

/// Largest number of imports that are followed for one path.
const MAX_DEPTH: usize = 16;

/// The target of a path.
enum Found {
    Module(usize),
    Item(usize, String),
}

/// All uses of one file by another: user, used, name.
pub(super) fn uses(modules: &[Module]) -> Vec<(PathBuf, PathBuf, String)> {
    let mut uses = Vec::new();
    for (number, module) in modules.iter().enumerate() {
        let imports = module.text.imports.iter().map(|import| (&import.from, import.reexported));
        let others = module.text.globs.iter().chain(&module.text.paths).map(|path| (path, false));
        for (path, reexported) in imports.chain(others) {
            let Some(Found::Item(home, name)) = resolve(modules, number, path, 0) else { continue };
            if !(reexported && is_below(modules, home, number)) {
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

/// The target of a path in a module; `None` where it is outside of the crate, or local to a function.
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

/// The target of a path relative to a module; `known` where it cannot be outside of the crate.
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
    if depth == MAX_DEPTH {
        return None;
    }
    if let Some(import) = module.text.imports.iter().find(|import| import.name == *first) {
        return match resolve(modules, at, &import.from, depth + 1)? {
            Found::Module(found) => descend(modules, found, rest, true, depth + 1),
            item => Some(item),
        };
    }
    for glob in &module.text.globs {
        if let Some(Found::Module(found)) = resolve(modules, at, glob, depth + 1)
            && let Some(found) = descend(modules, found, path, false, depth + 1)
        {
            return Some(found);
        }
    }
    // A macro may have defined it.
    (known && module.text.globs.is_empty()).then(|| Found::Item(at, first.clone()))
}
