//! Generates the types of the page's data in TypeScript from those in Rust, with their comments, so that there is one
//! description for both sides. What serde would write otherwise than it is understood here is an error.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, bail, ensure};
use syn::ext::IdentExt;
use syn::{
    Attribute, Expr, Field, Fields, GenericArgument, Item, ItemEnum, ItemStruct, Lit, PathArguments, Type,
    UseTree,
};

use crate::{generated, tidy};

/// Writes the file, or with `--check` reports that it is out of date.
pub(crate) fn run(root: &Path) -> anyhow::Result<Vec<String>> {
    let data = fs::read_to_string(root.join(DATA))?;
    let made = types(&data, &|package, name| item_of(root, package, name)).context(DATA)?;
    generated::keep(root, "page-types", &[(TYPES, made)])
}

/// The types of a file; `find` has those of other crates by crate and name.
fn types(data: &str, find: &dyn Fn(&str, &str) -> anyhow::Result<Item>) -> anyhow::Result<String> {
    let file = syn::parse_file(data)?;
    let mut text = NOTICE.to_owned() + &comment("", &lines(&file.attrs)) + "\n";
    let (mut own, mut named, mut imports) = (Vec::new(), Vec::new(), BTreeMap::new());
    for item in &file.items {
        match item {
            Item::Use(item) => import(&item.tree, None, &mut imports),
            Item::Struct(ItemStruct { ident, .. }) | Item::Enum(ItemEnum { ident, .. }) => {
                own.push(ident.to_string());
                text += &declared(item, &mut named)?;
            }
            _ => {}
        }
    }
    named.retain(|name| !own.contains(name));
    for name in &named {
        let package = imports.get(name).with_context(|| format!("{name} is not imported"))?;
        let mut within = Vec::new();
        text += &declared(&find(package, name)?, &mut within)?;
        ensure!(within.is_empty(), "{name} of {package} has types of its own: {within:?}");
    }
    Ok(text.trim_end().to_owned() + "\n")
}

/// The crate of each name that is imported.
fn import(tree: &UseTree, package: Option<&str>, imports: &mut BTreeMap<String, String>) {
    match tree {
        UseTree::Path(path) => {
            import(&path.tree, Some(package.unwrap_or(&path.ident.to_string())), imports);
        }
        UseTree::Group(group) => group.items.iter().for_each(|tree| import(tree, package, imports)),
        UseTree::Name(name) => {
            imports.insert(name.ident.to_string(), package.unwrap_or_default().to_owned());
        }
        UseTree::Rename(_) | UseTree::Glob(_) => {}
    }
}

/// The one type of this name in a crate.
fn item_of(root: &Path, package: &str, name: &str) -> anyhow::Result<Item> {
    let folder = root.join("crates").join(package.trim_start_matches("dnsdyno_")).join("src");
    let mut found = Vec::new();
    for path in tidy::rust_files(root)?.iter().filter(|path| path.starts_with(&folder)) {
        let text = fs::read_to_string(path)?;
        if ["struct", "enum"].iter().any(|word| text.contains(&format!("pub {word} {name} {{"))) {
            let is_it = |item: &Item| match item {
                Item::Struct(ItemStruct { ident, .. }) | Item::Enum(ItemEnum { ident, .. }) => ident == name,
                _ => false,
            };
            found.extend(syn::parse_file(&text)?.items.into_iter().filter(is_it));
        }
    }
    ensure!(found.len() == 1, "{package} has {} types of the name {name}", found.len());
    found.pop().context("no type")
}

/// A type with its comment; adds to `named` what it consists of.
fn declared(item: &Item, named: &mut Vec<String>) -> anyhow::Result<String> {
    match item {
        Item::Struct(item) => {
            let (mut above, mut properties) = (String::new(), String::new());
            serde(&item.attrs)?;
            for field in &item.fields {
                match serde(&field.attrs)? {
                    Some(Serde::Flat) => above = format!(" extends {}", type_text(&field.ty, "", named)?),
                    way => {
                        properties += &property(field, way, named).with_context(|| item.ident.to_string())?
                    }
                }
            }
            let comment = comment("", &lines(&item.attrs));
            Ok(format!("{comment}export interface {}{above} {{\n{properties}}}\n\n", item.ident))
        }
        Item::Enum(item) => {
            let way = serde(&item.attrs)?;
            let mut parts = Vec::new();
            for variant in &item.variants {
                parts.push(match (&variant.fields, way) {
                    (Fields::Unit, Some(Serde::SnakeCase)) => {
                        format!("\"{}\"", snake_case(&variant.ident.to_string()))
                    }
                    (Fields::Unnamed(fields), Some(Serde::Untagged)) if fields.unnamed.len() == 1 => {
                        let (_, words) = described(&variant.attrs);
                        type_text(&fields.unnamed[0].ty, &words, named)?
                    }
                    _ => bail!("{}::{} is neither a word nor an untagged value", item.ident, variant.ident),
                });
            }
            let comment = comment("", &lines(&item.attrs));
            Ok(format!("{comment}export type {} = {};\n\n", item.ident, parts.join(" | ")))
        }
        _ => bail!("only structs and enums are data"),
    }
}

fn property(field: &Field, way: Option<Serde>, named: &mut Vec<String>) -> anyhow::Result<String> {
    let name = field.ident.as_ref().context("a field has no name")?.unraw();
    let (about, words) = described(&field.attrs);
    let whole = type_text(&field.ty, &words, named)?;
    ensure!(whole.contains(&words), "{name} has words and is no text");
    let (mark, text) = match way {
        Some(Serde::AbsentOption) => ("?", whole.trim_end_matches(OR_NULL)),
        Some(Serde::AbsentList) => ("?", whole.as_str()),
        _ => ("", whole.as_str()),
    };
    Ok(format!("{}  {name}{mark}: {text};\n", comment("  ", &about)))
}

/// A type; `words` are the texts that it may be.
fn type_text(of: &Type, words: &str, named: &mut Vec<String>) -> anyhow::Result<String> {
    let segment = match of {
        Type::Reference(reference) => return type_text(&reference.elem, words, named),
        Type::Path(path) => path.path.segments.last().context("an empty path")?,
        _ => bail!("a type that is no name"),
    };
    let mut inner = || match &segment.arguments {
        PathArguments::AngleBracketed(of) => match of.args.first() {
            Some(GenericArgument::Type(of)) => type_text(of, words, named),
            _ => bail!("{} of no type", segment.ident),
        },
        _ => bail!("{} of nothing", segment.ident),
    };
    Ok(match segment.ident.to_string().as_str() {
        "Option" => inner()? + OR_NULL,
        "Vec" => match inner()? {
            inner if inner.contains(' ') => format!("({inner})[]"),
            inner => inner + "[]",
        },
        "String" | "str" if words.is_empty() => "string".to_owned(),
        "String" | "str" => words.to_owned(),
        "bool" => "boolean".to_owned(),
        "u8" | "u16" | "u32" | "u64" | "usize" | "f64" => "number".to_owned(),
        "Value" => "unknown".to_owned(),
        other => {
            if named.iter().all(|name| name != other) {
                named.push(other.to_owned());
            }
            other.to_owned()
        }
    })
}

/// What serde does otherwise than usual.
#[derive(Clone, Copy)]
enum Serde {
    /// Writes the properties of a field as those of the struct.
    Flat,
    /// Writes no `None`.
    AbsentOption,
    /// Writes no empty list.
    AbsentList,
    /// Writes words.
    SnakeCase,
    /// Writes the value of a variant.
    Untagged,
}

fn serde(attributes: &[Attribute]) -> anyhow::Result<Option<Serde>> {
    let Some(attribute) = attributes.iter().find(|attribute| attribute.path().is_ident("serde")) else {
        return Ok(None);
    };
    Ok(Some(match attribute.meta.require_list()?.tokens.to_string().as_str() {
        "flatten" => Serde::Flat,
        "skip_serializing_if = \"Option::is_none\"" => Serde::AbsentOption,
        "skip_serializing_if = \"Vec::is_empty\"" => Serde::AbsentList,
        "rename_all = \"snake_case\"" => Serde::SnakeCase,
        "untagged" => Serde::Untagged,
        other => bail!("serde({other}) is not understood"),
    }))
}

/// The comment without the words that it ends with, and these as a type.
fn described(attributes: &[Attribute]) -> (Vec<String>, String) {
    let text = lines(attributes).join("\n").replace("One of\n`", "One of `");
    let (about, words) = text.split_once("One of `").unwrap_or((&text, ""));
    let words: Vec<_> = words.split('`').step_by(2).filter(|word| !word.is_empty()).collect();
    let words: Vec<_> = words.iter().map(|word| format!("\"{word}\"")).collect();
    (about.trim_end().lines().map(str::to_owned).collect(), words.join(" | "))
}

/// The lines of a comment.
fn lines(attributes: &[Attribute]) -> Vec<String> {
    let text = |attribute: &Attribute| {
        let value = attribute.meta.require_name_value().ok().filter(|meta| meta.path.is_ident("doc"))?;
        match &value.value {
            Expr::Lit(literal) => match &literal.lit {
                Lit::Str(text) => Some(text.value().strip_prefix(' ').unwrap_or(&text.value()).to_owned()),
                _ => None,
            },
            _ => None,
        }
    };
    attributes.iter().filter_map(text).collect()
}

fn comment(indent: &str, lines: &[String]) -> String {
    let linked = |line: &String| line.replace("[`", "{@link ").replace("`]", "}");
    match lines {
        [] => String::new(),
        [line] => format!("{indent}/** {} */\n", linked(line)),
        lines => {
            let line = |line: &String| format!("{indent} * {}", linked(line)).trim_end().to_owned() + "\n";
            format!("{indent}/**\n{}{indent} */\n", lines.iter().map(line).collect::<String>())
        }
    }
}

fn snake_case(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        if c.is_uppercase() && !out.is_empty() {
            out.push('_');
        }
        out.extend(c.to_lowercase());
    }
    out
}

const DATA: &str = "crates/page/src/data.rs";
const TYPES: &str = "web/src/data/types.ts";
const OR_NULL: &str = " | null";
const NOTICE: &str =
    "// Generated by `scripts/xtask page-types` from crates/page/src/data.rs: change that.\n\n";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_has_its_properties_as_serde_writes_them() {
        let data = "
            //! The data, see [`Run`].
            use dnsdyno_measure::{Kind, Quantile};
            /// A run.
            ///
            /// Of a kind.
            pub struct Run {
                /// Its kind.
                pub kind: Kind,
                /// How it ended. One of
                /// `well`, `so_so`
                pub end: Option<&'static str>,
                #[serde(skip_serializing_if = \"Option::is_none\")]
                pub r#try: Option<Vec<Option<u64>>>,
                #[serde(flatten)]
                pub place: Place,
            }
            pub struct Place { pub at: Bounded }
            #[serde(untagged)]
            pub enum Bounded { Ns(u64), /** One of `beyond` */ Word(&'static str) }
        ";
        let find = |package: &str, name: &str| {
            assert_eq!((package, name), ("dnsdyno_measure", "Kind"));
            Ok(syn::parse_str("#[serde(rename_all = \"snake_case\")] enum Kind { Host, CpuTime }")?)
        };
        let expected = "/** The data, see {@link Run}. */

/**
 * A run.
 *
 * Of a kind.
 */
export interface Run extends Place {
  /** Its kind. */
  kind: Kind;
  /** How it ended. */
  end: \"well\" | \"so_so\" | null;
  try?: (number | null)[];
}

export interface Place {
  at: Bounded;
}

export type Bounded = number | \"beyond\";

export type Kind = \"host\" | \"cpu_time\";
";
        assert_eq!(types(data, &find).unwrap(), NOTICE.to_owned() + expected);
        let unknown = "pub struct A { #[serde(rename = \"b\")] pub a: u64 }";
        assert!(types(unknown, &find).unwrap_err().to_string().contains("not understood"));
    }
}
