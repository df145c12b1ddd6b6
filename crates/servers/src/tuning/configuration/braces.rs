//! Statements that end with semicolons, in blocks of braces: the language of BIND.

use std::ops::Range;

use super::edit::{EditError, Grammar, INDENT, Insertion, indent_of, start_of_line};

/// `named.conf`: parameters stand in `options`, some of them in a block within it.
pub(super) struct Bind;

impl Grammar for Bind {
    fn find(&self, text: &str, name: &str) -> Result<Vec<Range<usize>>, EditError> {
        let document = Document::read(text)?;
        Ok(document.values(&path_of(name), name).collect())
    }

    fn add(&self, text: &str, name: &str, value: &str) -> Result<Insertion, EditError> {
        let document = Document::read(text)?;
        let path = path_of(name);
        let statement = format!("{name} {value};");
        if let Some(block) = document.block(&path) {
            return Ok(before_brace(text, block, &statement));
        }
        let statement = match path.as_slice() {
            [_, inner] => format!("{inner} {{ {statement} }};"),
            _ => statement,
        };
        if let Some(options) = document.block(&[OPTIONS]) {
            return Ok(before_brace(text, options, &statement));
        }
        let includes: Vec<&str> = document.includes(&[]).collect();
        match includes.is_empty() {
            true => Ok(Insertion::at_end(text, &format!("{OPTIONS} {{\n{INDENT}{statement}\n}};\n"))),
            false => Err(EditError::NoBlock { block: OPTIONS, includes: includes.join(", ") }),
        }
    }

    fn check(&self, text: &str, name: &str) -> Result<(), EditError> {
        let document = Document::read(text)?;
        let path = path_of(name);
        let in_view: Vec<&str> = ["view"].into_iter().chain(path.iter().skip(1).copied()).collect();
        if document.values(&in_view, name).next().is_some() {
            return Err(EditError::InView { name: name.to_owned() });
        }
        let is_set = document.values(&path, name).next().is_some();
        match document.includes(&[OPTIONS]).next().filter(|_| !is_set) {
            Some(file) => {
                let file = file.to_owned();
                Err(EditError::Included { block: OPTIONS, file, name: name.to_owned() })
            }
            None => Ok(()),
        }
    }
}

/// The blocks in which a parameter stands, from the outermost one.
fn path_of(name: &str) -> Vec<&'static str> {
    let is_of_limit = OF_RATE_LIMIT.contains(&name) || name.ends_with("-per-second");
    if is_of_limit { vec![OPTIONS, "rate-limit"] } else { vec![OPTIONS] }
}

/// A statement before the closing brace of a block: on a line of its own, if the brace has one.
fn before_brace(text: &str, block: &Block<'_>, statement: &str) -> Insertion {
    let line = start_of_line(text, block.close);
    let own_indent = indent_of(text, block.close).filter(|_| line > block.open);
    match own_indent {
        Some(outer) => {
            // What follows the opening brace in its line shows no indent.
            let above = text.get(block.open..line).and_then(|inside| inside.split_once('\n'));
            let last = above.and_then(|(_, lines)| lines.lines().rfind(|line| !line.trim().is_empty()));
            let inner = last.and_then(|line| line.get(..line.len() - line.trim_start().len()));
            let indent = inner
                .filter(|inner| inner.len() > outer.len())
                .map_or(format!("{outer}{INDENT}"), str::to_owned);
            Insertion { at: line, text: format!("{indent}{statement}\n") }
        }
        None => {
            let is_apart =
                text.get(..block.close).is_some_and(|before| before.ends_with(char::is_whitespace));
            let separator = if is_apart { "" } else { " " };
            Insertion { at: block.close, text: format!("{separator}{statement} ") }
        }
    }
}

/// A configuration, by its statements and blocks.
#[derive(Default)]
struct Document<'a> {
    statements: Vec<Statement<'a>>,
    blocks: Vec<Block<'a>>,
}

/// Words up to a semicolon.
struct Statement<'a> {
    /// The first words of the blocks around it, from the outermost one.
    path: Vec<&'a str>,
    words: Vec<Word<'a>>,
}

/// What stands in braces.
struct Block<'a> {
    /// The first words of the blocks around it, and its own.
    path: Vec<&'a str>,
    /// The places of its braces.
    open: usize,
    close: usize,
}

struct Word<'a> {
    /// Without quotes.
    text: &'a str,
    start: usize,
}

impl<'a> Document<'a> {
    fn read(text: &'a str) -> Result<Document<'a>, EditError> {
        let mut document = Document::default();
        let mut open: Vec<(&str, usize)> = Vec::new();
        let mut words: Vec<Word<'_>> = Vec::new();
        let path = |open: &[(&'a str, usize)]| open.iter().map(|(name, _)| *name).collect::<Vec<_>>();
        let mut at = 0;
        while let Some(token) = next_token(text, at)? {
            at = token.end;
            match token.kind {
                TokenKind::Word(word) => words.push(word),
                TokenKind::Open => {
                    open.push((words.first().map_or("", |word| word.text), token.end - 1));
                    words.clear();
                }
                TokenKind::Close => {
                    let place = token.end - 1;
                    let path = path(&open);
                    let Some((_, begin)) = open.pop() else {
                        return Err(EditError::broken(text, place, "a closing brace without its block"));
                    };
                    document.blocks.push(Block { path, open: begin, close: place });
                    words.clear();
                }
                TokenKind::End => {
                    document
                        .statements
                        .push(Statement { path: path(&open), words: std::mem::take(&mut words) });
                }
            }
        }
        match open.first() {
            Some((_, begin)) => Err(EditError::broken(text, *begin, "a block without its closing brace")),
            None => Ok(document),
        }
    }

    /// The places of the values of the statements with this name in such blocks.
    fn values<'b>(&'b self, path: &'b [&str], name: &'b str) -> impl Iterator<Item = Range<usize>> + 'b {
        self.statements.iter().filter(move |statement| statement.path == path).filter_map(move |statement| {
            let [first, values @ ..] = statement.words.as_slice() else { return None };
            let (from, to) = (values.first()?, values.last()?);
            (first.text == name).then(|| from.start..to.start + to.text.len())
        })
    }

    /// The last block with this path.
    fn block(&self, path: &[&str]) -> Option<&Block<'a>> {
        self.blocks.iter().rfind(|block| block.path == path)
    }

    /// The files that are included directly in such blocks.
    fn includes<'b>(&'b self, path: &'b [&str]) -> impl Iterator<Item = &'a str> + 'b {
        self.statements.iter().filter(move |statement| statement.path == path).filter_map(|statement| {
            match statement.words.as_slice() {
                [first, file] if first.text == "include" => Some(file.text),
                _ => None,
            }
        })
    }
}

struct Token<'a> {
    kind: TokenKind<'a>,
    end: usize,
}

enum TokenKind<'a> {
    Word(Word<'a>),
    Open,
    Close,
    End,
}

/// The token at this place or after it, without comments.
fn next_token(text: &str, mut at: usize) -> Result<Option<Token<'_>>, EditError> {
    loop {
        let rest = text.get(at..).unwrap_or_default();
        let Some(first) = rest.chars().next() else { return Ok(None) };
        let kind = match first {
            _ if first.is_whitespace() => {
                at += first.len_utf8();
                continue;
            }
            '#' => {
                at += rest.find('\n').unwrap_or(rest.len());
                continue;
            }
            '/' if rest.starts_with("//") => {
                at += rest.find('\n').unwrap_or(rest.len());
                continue;
            }
            '/' if rest.starts_with("/*") => {
                let end = rest.get(2..).and_then(|rest| rest.find("*/"));
                at += end.ok_or_else(|| EditError::broken(text, at, "a comment without its end"))? + 4;
                continue;
            }
            '{' => TokenKind::Open,
            '}' => TokenKind::Close,
            ';' => TokenKind::End,
            '"' => {
                let length = length_of_quoted(rest)
                    .ok_or_else(|| EditError::broken(text, at, "a quote without its end"))?;
                let inner = rest.get(1..length - 1).unwrap_or_default();
                let word = Word { text: inner, start: at + 1 };
                return Ok(Some(Token { kind: TokenKind::Word(word), end: at + length }));
            }
            _ => {
                let length = rest.find(ends_word).unwrap_or(rest.len());
                // A comment ends a word, too.
                let length = ["//", "/*"].iter().filter_map(|mark| rest.find(mark)).fold(length, usize::min);
                // A slash alone is a word, as in a prefix.
                let length = length.max(first.len_utf8());
                let word = Word { text: rest.get(..length).unwrap_or_default(), start: at };
                return Ok(Some(Token { kind: TokenKind::Word(word), end: at + length }));
            }
        };
        return Ok(Some(Token { kind, end: at + 1 }));
    }
}

/// The length of a quoted text with its quotes.
fn length_of_quoted(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    text.char_indices().skip(1).find_map(|(place, letter)| {
        let is_end = letter == '"' && !is_escaped;
        is_escaped = letter == '\\' && !is_escaped;
        is_end.then_some(place + 1)
    })
}

fn ends_word(letter: char) -> bool {
    letter.is_whitespace() || "{};\"#".contains(letter)
}

const OPTIONS: &str = "options";

/// Statements of the block `rate-limit`, beside all that end with `-per-second`.
const OF_RATE_LIMIT: [&str; 8] = [
    "slip",
    "window",
    "log-only",
    "qps-scale",
    "exempt-clients",
    "ipv4-prefix-length",
    "max-table-size",
    "min-table-size",
];
