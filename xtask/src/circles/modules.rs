//! The modules of a crate, each with its file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context;
use syn::Item;

use super::reading::{self, Text};

/// One module; its number is its index in the list.
pub(super) struct Module {
    pub(super) file: PathBuf,
    /// The parent; the crate's root is its own parent.
    pub(super) parent: usize,
    pub(super) children: BTreeMap<String, usize>,
    pub(super) text: Text,
}

/// All modules of a crate, its root first.
///
/// # Errors
///
/// The file of a module is missing or cannot be parsed.
pub(super) fn load(root: &Path, read: &dyn Fn(&Path) -> Option<String>) -> anyhow::Result<Vec<Module>> {
    let mut loading = Loading { modules: Vec::new(), read };
    let folder = root.parent().unwrap_or(Path::new(""));
    loading.add(root.to_owned(), folder, 0, &loading.parse(root)?)?;
    Ok(loading.modules)
}

struct Loading<'a> {
    modules: Vec<Module>,
    read: &'a dyn Fn(&Path) -> Option<String>,
}

impl Loading<'_> {
    fn parse(&self, file: &Path) -> anyhow::Result<Vec<Item>> {
        let text = (self.read)(file).with_context(|| format!("cannot read {}", file.display()))?;
        Ok(syn::parse_file(&text).with_context(|| format!("cannot parse {}", file.display()))?.items)
    }

    /// Adds a module and its children, whose files are in `folder`.
    fn add(&mut self, file: PathBuf, folder: &Path, parent: usize, items: &[Item]) -> anyhow::Result<usize> {
        let number = self.modules.len();
        let mut text = reading::read(items);
        let declared = std::mem::take(&mut text.modules);
        self.modules.push(Module { file: file.clone(), parent, children: BTreeMap::new(), text });
        for module in declared {
            let below = folder.join(&module.name);
            let child = match module.items {
                Some(items) => self.add(file.clone(), &below, number, &items)?,
                None => {
                    let file = [below.with_extension("rs"), below.join("mod.rs")]
                        .into_iter()
                        .find(|file| (self.read)(file).is_some())
                        .with_context(|| format!("{}: no file for mod {}", file.display(), module.name))?;
                    let items = self.parse(&file)?;
                    self.add(file, &below, number, &items)?
                }
            };
            self.modules[number].children.insert(module.name, child);
        }
        Ok(number)
    }
}
