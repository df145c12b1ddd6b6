//! Reads one module: the items that it defines, its imports, and the paths that it names.

use std::collections::BTreeSet;

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, ImplItem, Item, UseTree, Visibility};

use crate::for_tests::{attributes_of, attributes_within_impl, is_for_tests};

/// The segments of a path.
pub(super) type Names = Vec<String>;

/// An imported name.
pub(super) struct Import {
    /// The name in this module.
    pub(super) name: String,
    /// The path that is imported.
    pub(super) from: Names,
    /// Whether it is re-exported.
    pub(super) reexported: bool,
}

/// A module that is declared in another.
pub(super) struct Declared {
    pub(super) name: String,
    /// Its items; `None` where the module has its own file.
    pub(super) items: Option<Vec<Item>>,
}

/// The content of one module.
#[derive(Default)]
pub(super) struct Text {
    pub(super) defined: BTreeSet<String>,
    pub(super) imports: Vec<Import>,
    /// Glob imports: the paths of modules or enumerations.
    pub(super) globs: Vec<Names>,
    pub(super) paths: BTreeSet<Names>,
    pub(super) modules: Vec<Declared>,
    /// Inherent methods: path of the type, name.
    pub(super) methods: Vec<(Names, String)>,
    /// Methods called on `self`.
    pub(super) called: BTreeSet<String>,
}

/// Reads a module's items, except those for tests.
pub(super) fn read(items: &[Item]) -> Text {
    let mut text = Text::default();
    for item in items {
        text.defined.extend(defined_by(item));
        text.visit_item(item);
    }
    text
}

fn defined_by(item: &Item) -> Option<String> {
    let name = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::TraitAlias(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        _ => return None,
    };
    Some(name.to_string())
}

impl Text {
    fn import(&mut self, tree: &UseTree, mut from: Names, reexported: bool) {
        let (last, name) = match tree {
            UseTree::Path(path) => {
                from.push(path.ident.to_string());
                return self.import(&path.tree, from, reexported);
            }
            UseTree::Group(group) => {
                return group.items.iter().for_each(|tree| self.import(tree, from.clone(), reexported));
            }
            UseTree::Glob(_) => return self.globs.push(from),
            UseTree::Name(name) => (&name.ident, &name.ident),
            UseTree::Rename(rename) => (&rename.ident, &rename.rename),
        };
        let own_name = name.to_string();
        let name = match (own_name.as_str(), from.last()) {
            // `use a::{self}` has the name `a`.
            ("self", Some(last)) => last.clone(),
            _ => own_name,
        };
        if last != "self" {
            from.push(last.to_string());
        }
        self.imports.push(Import { name, from, reexported });
    }

    /// Reads paths in tokens that are not parsed: the arguments of macros and attributes.
    fn read_tokens(&mut self, tokens: TokenStream) {
        let mut path = Names::new();
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(name) if colons == 2 => path.push(name.to_string()),
                TokenTree::Ident(name) => self.end_path(&mut path, Some(name.to_string())),
                TokenTree::Punct(mark) if mark.as_char() == ':' => {
                    colons += 1;
                    continue;
                }
                TokenTree::Group(group) => {
                    self.end_path(&mut path, None);
                    self.read_tokens(group.stream());
                }
                TokenTree::Punct(_) | TokenTree::Literal(_) => self.end_path(&mut path, None),
            }
            colons = 0;
        }
        self.end_path(&mut path, None);
    }

    fn end_path(&mut self, path: &mut Names, next: Option<String>) {
        if !path.is_empty() {
            self.paths.insert(std::mem::take(path));
        }
        path.extend(next);
    }
}

impl<'ast> Visit<'ast> for Text {
    fn visit_item(&mut self, item: &'ast Item) {
        if !is_for_tests(attributes_of(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item(&mut self, item: &'ast ImplItem) {
        if !is_for_tests(attributes_within_impl(item)) {
            visit::visit_impl_item(self, item);
        }
    }

    fn visit_field(&mut self, field: &'ast syn::Field) {
        if !is_for_tests(&field.attrs) {
            visit::visit_field(self, field);
        }
    }

    fn visit_local(&mut self, local: &'ast syn::Local) {
        if !is_for_tests(&local.attrs) {
            visit::visit_local(self, local);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        let items = item.content.as_ref().map(|(_, items)| items.clone());
        self.modules.push(Declared { name: item.ident.to_string(), items });
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.import(&item.tree, Names::new(), !matches!(item.vis, Visibility::Inherited));
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        if let (None, syn::Type::Path(of)) = (&item.trait_, &*item.self_ty) {
            let of = names_of(&of.path);
            let names = item.items.iter().filter_map(|item| match item {
                ImplItem::Fn(method) => Some(method.sig.ident.to_string()),
                _ => None,
            });
            self.methods.extend(names.map(|name| (of.clone(), name)));
        }
        visit::visit_item_impl(self, item);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        if matches!(&*call.receiver, syn::Expr::Path(path) if path.path.is_ident("self")) {
            self.called.insert(call.method.to_string());
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names = names_of(path);
        if let [first, method] = names.as_slice()
            && first == "Self"
        {
            self.called.insert(method.clone());
        }
        self.paths.insert(names);
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.read_tokens(call.tokens.clone());
        visit::visit_macro(self, call);
    }

    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        if let syn::Meta::List(list) = &attribute.meta {
            self.read_tokens(list.tokens.clone());
            // serde has paths in strings, also of modules.
            for token in list.tokens.clone() {
                if let TokenTree::Literal(literal) = token
                    && let Ok(text) = syn::parse_str::<syn::LitStr>(&literal.to_string())
                    && let Ok(path) = text.parse::<syn::Path>()
                {
                    let mut names = names_of(&path);
                    names.extend(names.last().cloned());
                    self.paths.insert(names);
                }
            }
        }
    }
}

fn names_of(path: &syn::Path) -> Names {
    path.segments.iter().map(|segment| segment.ident.to_string()).collect()
}
