//! The sizes of files and functions, tests apart: what is longer than a screen is not read as one thought, and what
//! takes many parameters lacks a type.

use std::collections::BTreeSet;
use std::fs;
use std::ops::RangeInclusive;
use std::path::Path;

use anyhow::Context;
use proc_macro2::{Delimiter, Group, Span, TokenStream, TokenTree};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{FnArg, ImplItem, Item, Signature};

use crate::circles;
use crate::for_tests::{attributes_of, attributes_within_impl, is_for_tests};

/// Most lines of code of a file, without comments and blank lines.
const MOST_CODE_LINES: usize = 500;

/// Most lines of a function, from its signature to the closing brace.
const MOST_FUNCTION_LINES: usize = 70;

/// Most parameters of a function, besides `self`.
const MOST_PARAMETERS: usize = 5;

/// What is larger nevertheless: a file, and the function in it or nothing. This list only gets shorter: an entry that
/// is not needed any more is a finding too.
const STILL_LARGER: &[(&str, &str)] = &[
    ("crates/campaign/src/find/trial.rs", "with"),
    ("crates/clients/src/response.rs", "naptr"),
    ("crates/engine/src/ledger.rs", "new"),
    ("crates/engine/src/lib.rs", "run"),
    ("crates/engine/src/transactions.rs", "new"),
    ("crates/executor/src/experiment/carry_out.rs", "measured"),
    ("crates/executor/src/experiment/found.rs", "run_program"),
    ("crates/executor/src/experiment/found.rs", "search"),
    ("crates/plan/src/plan.rs", "validate"),
    ("crates/record/src/expect/part.rs", "new"),
    ("crates/responder/src/quic.rs", "new"),
    ("crates/responder/src/stream.rs", "hold"),
    ("crates/screen/src/draw/chart.rs", "fill"),
    ("crates/screen/src/draw/chart.rs", "scale"),
    ("crates/screen/src/draw/latency.rs", "two"),
    ("crates/sys/src/xdp/program.rs", "prepared"),
    ("crates/text/src/layout.rs", "flow"),
    ("crates/text/src/layout.rs", "flow_after"),
    ("crates/zones/src/epc.rs", "version"),
];

/// What is too large in the crates below a folder.
pub(crate) fn check(root: &Path) -> anyhow::Result<Vec<String>> {
    let mut large = Vec::new();
    for file in circles::files(root)? {
        let text = fs::read_to_string(root.join(&file))?;
        let name = file.to_string_lossy();
        large.extend(judge(&name, &text).with_context(|| format!("cannot parse {name}"))?);
    }
    Ok(without_known(large, STILL_LARGER))
}

/// A file or function that is too large.
struct Large {
    file: String,
    /// The function; nothing for the file itself.
    function: String,
    why: String,
}

/// Findings, but for those that are known; and what is known and not found.
fn without_known(large: Vec<Large>, known: &[(&str, &str)]) -> Vec<String> {
    let is =
        |large: &Large, (file, function): &(&str, &str)| large.file == *file && large.function == *function;
    let found = large.iter().filter(|large| !known.iter().any(|entry| is(large, entry)));
    let settled = known.iter().filter(|entry| !large.iter().any(|large| is(large, entry)));
    let settled = settled.map(|(file, function)| {
        format!("{file} {function}: within the bounds now; take it out of STILL_LARGER in xtask/src/sizes.rs")
    });
    found.map(|large| large.why.clone()).chain(settled).collect()
}

fn judge(file: &str, text: &str) -> syn::Result<Vec<Large>> {
    let parsed = syn::parse_file(text)?;
    let mut measured = Measured::default();
    measured.visit_file(&parsed);
    let mut large = Vec::new();
    let mut note = |function: &str, why: String| {
        large.push(Large { file: file.to_owned(), function: function.to_owned(), why });
    };

    let mut lines = BTreeSet::new();
    add_lines(text.parse()?, &mut lines);
    lines.retain(|line| !measured.for_tests.iter().any(|range| range.contains(line)));
    if lines.len() > MOST_CODE_LINES {
        note("", format!("{file}: {} lines of code; split it by idea", lines.len()));
    }
    for Function { name, line, lines, parameters } in &measured.functions {
        if *lines > MOST_FUNCTION_LINES {
            note(name, format!("{file}:{line}: {name} has {lines} lines; split it by idea"));
        }
        if *parameters > MOST_PARAMETERS {
            let why = format!(
                "{file}:{line}: {name} takes {parameters} parameters; those that belong together are a type"
            );
            note(name, why);
        }
    }
    Ok(large)
}

/// What was measured in a file.
#[derive(Default)]
struct Measured {
    functions: Vec<Function>,
    /// Lines of items for tests.
    for_tests: Vec<RangeInclusive<usize>>,
    /// Within the implementation of a trait, which says what the parameters are.
    in_trait: bool,
}

struct Function {
    name: String,
    line: usize,
    lines: usize,
    /// 0 where a trait says what they are.
    parameters: usize,
}

impl Measured {
    fn add(&mut self, signature: &Signature, end: Span) {
        let is_counted = |parameter: &&FnArg| matches!(parameter, FnArg::Typed(_)) && !self.in_trait;
        let line = signature.fn_token.span.start().line;
        self.functions.push(Function {
            name: signature.ident.to_string(),
            line,
            lines: end.end().line - line + 1,
            parameters: signature.inputs.iter().filter(is_counted).count(),
        });
    }
}

impl<'ast> Visit<'ast> for Measured {
    fn visit_item(&mut self, item: &'ast Item) {
        if is_for_tests(attributes_of(item)) {
            self.for_tests.push(lines_of(item.span()));
        } else {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item(&mut self, item: &'ast ImplItem) {
        if is_for_tests(attributes_within_impl(item)) {
            self.for_tests.push(lines_of(item.span()));
        } else {
            visit::visit_impl_item(self, item);
        }
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        let outside = std::mem::replace(&mut self.in_trait, item.trait_.is_some());
        visit::visit_item_impl(self, item);
        self.in_trait = outside;
    }

    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        let outside = std::mem::take(&mut self.in_trait);
        self.add(&function.sig, function.block.brace_token.span.close());
        visit::visit_item_fn(self, function);
        self.in_trait = outside;
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.add(&function.sig, function.block.brace_token.span.close());
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        self.add(&function.sig, function.span());
        visit::visit_trait_item_fn(self, function);
    }
}

/// The lines that have tokens; comments for documentation are tokens too, and are left out.
fn add_lines(tokens: TokenStream, lines: &mut BTreeSet<usize>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for (at, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Group(group) if is_comment(group) => {}
            TokenTree::Group(group) => {
                lines.extend([group.span_open().start().line, group.span_close().end().line]);
                add_lines(group.stream(), lines);
            }
            TokenTree::Punct(mark)
                if matches!(mark.as_char(), '#' | '!') && begins_comment(&tokens[at + 1..]) => {}
            token => lines.extend(lines_of(token.span())),
        }
    }
}

/// Whether these tokens go on with `[doc = …]`, after the `#` or `#!` of a comment.
fn begins_comment(tokens: &[TokenTree]) -> bool {
    match tokens {
        [TokenTree::Group(group), ..] => is_comment(group),
        [TokenTree::Punct(mark), TokenTree::Group(group), ..] => mark.as_char() == '!' && is_comment(group),
        _ => false,
    }
}

/// Whether it is `[doc = "…"]`.
fn is_comment(group: &Group) -> bool {
    let mut tokens = group.stream().into_iter();
    group.delimiter() == Delimiter::Bracket
        && matches!(tokens.next(), Some(TokenTree::Ident(name)) if name == "doc")
        && matches!(tokens.next(), Some(TokenTree::Punct(mark)) if mark.as_char() == '=')
}

fn lines_of(span: Span) -> RangeInclusive<usize> {
    span.start().line..=span.end().line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(text: &str) -> Vec<String> {
        judge("a.rs", text).unwrap().into_iter().map(|large| large.why).collect()
    }

    #[test]
    fn a_function_is_measured_from_its_signature_to_its_end() {
        let of = |lines: usize| {
            format!(
                "/// What it is for.\n#[inline]\nfn f(\n    a: u8,\n) {{\n{}}}\n",
                "g();\n".repeat(lines - 4)
            )
        };
        assert!(findings(&of(MOST_FUNCTION_LINES)).is_empty());
        assert_eq!(findings(&of(MOST_FUNCTION_LINES + 1)), ["a.rs:3: f has 71 lines; split it by idea"]);
        let in_impl = |attribute: &str| format!("impl A {{\n{attribute}\n{}}}", of(MOST_FUNCTION_LINES + 1));
        assert_eq!(findings(&in_impl("")).len(), 1);
        assert!(findings(&in_impl("#[cfg(test)]")).is_empty());
        assert!(
            findings(&format!("#[cfg(test)]\nmod tests {{\n{}}}", of(MOST_FUNCTION_LINES + 1))).is_empty()
        );
    }

    #[test]
    fn parameters_are_counted_without_self_and_where_they_are_chosen() {
        let of =
            |count: usize| (0..count).map(|at| format!("a{at}: Map<u8, u8>")).collect::<Vec<_>>().join(", ");
        let (most, more) = (of(MOST_PARAMETERS), of(MOST_PARAMETERS + 1));
        assert!(findings(&format!("impl A {{ fn f(&self, {most}) {{}} }}")).is_empty());
        assert_eq!(
            findings(&format!("impl A {{\n fn f(&mut self, {more}) {{}} }}")),
            ["a.rs:2: f takes 6 parameters; those that belong together are a type"]
        );
        assert_eq!(findings(&format!("trait A {{ fn f({more}); }}")).len(), 1);
        // A trait of others says it.
        assert!(findings(&format!("impl A for B {{ fn f({more}) {{}} }}")).is_empty());
        assert_eq!(findings(&format!("impl A for B {{ fn f() {{ fn g({more}) {{}} }} }}")).len(), 1);
    }

    #[test]
    fn lines_of_code_are_those_with_code() {
        let count = |text: &str| {
            let mut lines = BTreeSet::new();
            add_lines(text.parse().unwrap(), &mut lines);
            lines.len()
        };
        let text = "//! A file.\n\n// Why.\nconst A: &str = \"one\n  two\";\n\n/// What.\n/* and\n why */\n#[inline]\n\
                    fn f() {\n    // No code.\n\n    g(\n        1,\n    );\n}\n#[doc(hidden)]\nfn h() {}\n";
        assert_eq!(count(text), 2 + 1 + 1 + 3 + 1 + 2);
        let lines = "fn f() {}\n".repeat(MOST_CODE_LINES);
        let tests = "#[cfg(test)]\nmod tests {\n    fn g() {}\n}\n";
        assert!(findings(&format!("//! A file.\n{lines}{tests}")).is_empty());
        assert_eq!(findings(&format!("{lines}fn g() {{}}")), ["a.rs: 501 lines of code; split it by idea"]);
    }

    #[test]
    fn what_is_known_is_no_finding_and_what_is_known_in_vain_is_one() {
        let large = || Large { file: "a.rs".to_owned(), function: "f".to_owned(), why: "long".to_owned() };
        assert_eq!(without_known(vec![large()], &[]), ["long"]);
        assert_eq!(without_known(vec![large()], &[("a.rs", "f")]), Vec::<String>::new());
        let found = without_known(vec![large()], &[("a.rs", "f"), ("a.rs", "")]);
        assert!(found.len() == 1 && found[0].starts_with("a.rs : within the bounds now"), "{found:?}");
    }
}
