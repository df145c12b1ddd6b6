//! Finds the files that define the names in a module, and those that they are named by.

use std::path::PathBuf;

use super::modules::Module;

/// Largest number of imports that are followed for one path.
const MAX_DEPTH: usize = 16;

/// Which file an item counts for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counted {
    /// The one that defines it.
    Defining,
    /// The one that is named, where it has code of its own.
    Named,
}

/// The target of a path.
enum Found {
    Module(usize),
    Item(ItemFound),
}

struct ItemFound {
    name: String,
    /// The module that defines it.
    home: usize,
    /// The first module on the way there, but for the user, that has it from elsewhere and has code of its own.
    named: Option<usize>,
}

/// All uses of one file by another: user, used, name.
pub(super) fn uses(modules: &[Module], counted: Counted) -> Vec<(PathBuf, PathBuf, String)> {
    let mut uses = Vec::new();
    for (number, module) in modules.iter().enumerate() {
        let imports = module.text.imports.iter().map(|import| (&import.from, import.reexported));
        let others = module.text.globs.iter().chain(&module.text.paths).map(|path| (path, false));
        for (path, reexported) in imports.chain(others) {
            let Some(Found::Item(item)) = (View { modules, user: number }).resolve(number, path, 0) else {
                continue;
            };
            let used = match counted {
                Counted::Defining => item.home,
                Counted::Named => item.named.unwrap_or(item.home),
            };
            if !(reexported && is_below(modules, used, number)) {
                uses.push((number, used, item.name));
            }
        }
        for (of, method) in &module.text.methods {
            if let Some(Found::Item(item)) = (View { modules, user: number }).resolve(number, of, 0) {
                let file = &modules[item.home].file;
                let called = modules.iter().enumerate().filter(|(_, other)| other.file == *file);
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

/// What a module sees of the others.
#[derive(Clone, Copy)]
struct View<'a> {
    modules: &'a [Module],
    user: usize,
}

impl View<'_> {
    /// The target of a path in a module; `None` where it is outside of the crate, or local to a function.
    fn resolve(self, mut at: usize, mut path: &[String], depth: usize) -> Option<Found> {
        let mut known = false;
        while let Some((first, rest)) = path.split_first() {
            at = match first.as_str() {
                "crate" => 0,
                "self" => at,
                "super" => self.modules[at].parent,
                _ => break,
            };
            (path, known) = (rest, true);
        }
        self.descend(at, path, known, depth)
    }

    /// The target of a path relative to a module; `known` where it cannot be outside of the crate.
    fn descend(self, at: usize, path: &[String], known: bool, depth: usize) -> Option<Found> {
        let Some((first, rest)) = path.split_first() else {
            return Some(Found::Module(at));
        };
        let module = &self.modules[at];
        let defined = || Found::Item(ItemFound { name: first.clone(), home: at, named: None });
        if let Some(&child) = module.children.get(first) {
            // A function may have the name of a module.
            if !(rest.is_empty() && module.text.defined.contains(first)) {
                return self.descend(child, rest, true, depth);
            }
        }
        if module.text.defined.contains(first) {
            return Some(defined());
        }
        if depth == MAX_DEPTH {
            return None;
        }
        if let Some(import) = module.text.imports.iter().find(|import| import.name == *first) {
            let found = match self.resolve(at, &import.from, depth + 1)? {
                Found::Module(found) => self.descend(found, rest, true, depth + 1)?,
                item => item,
            };
            return Some(self.passed_on_by(at, found));
        }
        for glob in &module.text.globs {
            if let Some(Found::Module(found)) = self.resolve(at, glob, depth + 1)
                && let Some(found) = self.descend(found, path, false, depth + 1)
            {
                return Some(self.passed_on_by(at, found));
            }
        }
        // A macro may have defined it.
        (known && module.text.globs.is_empty()).then(defined)
    }

    /// What was found is named in a module that has it from elsewhere.
    fn passed_on_by(self, at: usize, found: Found) -> Found {
        match found {
            Found::Item(item) if at != self.user && has_code(&self.modules[at]) => {
                Found::Item(ItemFound { named: Some(at), ..item })
            }
            found => found,
        }
    }
}

/// Whether a module does more than to declare others and to pass their names on.
fn has_code(module: &Module) -> bool {
    !module.text.defined.is_empty() || !module.text.methods.is_empty()
}
