//! The HTML around charts and tables that are drawn here, without a script: of an experiment, of a search.

use dnsdyno_text::escaped;

use crate::Options;
use crate::html::STYLE;
use crate::made::utc;

/// A page, as far as it is written.
pub(crate) struct Document {
    out: String,
    made: String,
}

impl Document {
    /// A page with its head.
    pub(crate) fn new(title: &str, options: &Options) -> Document {
        let title = escaped(options.title.as_deref().unwrap_or(title));
        let made_by = escaped(options.made_by.trim_start_matches("dnsdyno "));
        let out = format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"generator\" content=\"dnsdyno {made_by}\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <title>{title}</title>\n<style>\n{STYLE}\n{OWN_STYLE}\n</style>\n</head>\n<body>\n\
             <div id=\"app\">\n<main>\n"
        );
        let made =
            format!("Made by {} at {}.", escaped(&options.made_by), escaped(&utc(options.made_unix_ns)));
        Document { out, made }
    }

    /// A link above the title, to where the page is listed.
    pub(crate) fn way_back(&mut self, address: &str, name: &str) {
        self.out.push_str(&format!(
            "<p class=\"back\"><a href=\"{}\">{}</a></p>\n",
            escaped(address),
            escaped(name)
        ));
    }

    /// The title, and a sentence under it.
    pub(crate) fn heading(&mut self, title: &str, sentence: &str) {
        self.out.push_str(&format!(
            "<h1>{}</h1>\n<p class=\"state\">{}</p>\n",
            escaped(title),
            escaped(sentence)
        ));
    }

    /// The answer in large letters, with at most four figures and their names beside it.
    pub(crate) fn answer(&mut self, sentence: &str, figures: &[(String, String)]) {
        let figure = |(name, value): &(String, String)| {
            format!("<div><dt>{}</dt><dd>{}</dd></div>\n", escaped(name), escaped(value))
        };
        let figures: String = figures.iter().map(figure).collect();
        self.out.push_str(&format!(
            "<div class=\"answer answer-top\">\n<p class=\"sentence\">{}</p>\n<dl class=\"figures\">\n{figures}</dl>\n\
             </div>\n",
            escaped(sentence)
        ));
    }

    /// Sentences, each on its own; nothing without any.
    pub(crate) fn list(&mut self, sentences: &[String], class: &str) {
        self.out.push_str(&list(sentences, class));
    }

    /// A part with its heading; `content` is HTML.
    pub(crate) fn section(&mut self, id: &str, title: &str, content: &str) {
        self.out.push_str(&format!(
            "<section id=\"{id}\" aria-labelledby=\"{id}-title\">\n<h2 id=\"{id}-title\">{}</h2>\n\
            {content}</section>\n",
            escaped(title)
        ));
    }

    /// The whole page.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.out.push_str(&format!("</main>\n<footer>{}</footer>\n</div>\n</body>\n</html>\n", self.made));
        self.out.into_bytes()
    }
}

/// Sentences as a list; nothing without any.
pub(crate) fn list(sentences: &[String], class: &str) -> String {
    if sentences.is_empty() {
        return String::new();
    }
    let items: String =
        sentences.iter().map(|sentence| format!("<li>{}</li>\n", escaped(sentence))).collect();
    format!("<ul class=\"{class}\">\n{items}</ul>\n")
}

/// A table; the first `texts` of its columns are text, the others figures.
pub(crate) fn table(caption: &str, titles: &[&str], texts: usize, rows: &[Vec<String>]) -> String {
    table_with_links(caption, titles, &|column| column < texts, rows, &|_| None)
}

/// A table whose rows may lead elsewhere from their first cell: `link` has the address for the number of a row.
pub(crate) fn table_with_links(
    caption: &str,
    titles: &[&str],
    is_text: &dyn Fn(usize) -> bool,
    rows: &[Vec<String>],
    link: &dyn Fn(usize) -> Option<String>,
) -> String {
    let class = |column: usize, cell: &str| match is_text(column) {
        // A sentence is broken, a figure is not.
        true if cell.chars().count() > LONG_CELL => " class=\"words\"",
        true => "",
        false => " class=\"right\"",
    };
    let head: String = titles
        .iter()
        .enumerate()
        .map(|(column, title)| format!("<th scope=\"col\"{}>{}</th>", class(column, ""), escaped(title)))
        .collect();
    let first = |row: usize, cell: &str| match link(row) {
        Some(address) => format!("<a href=\"{}\">{}</a>", escaped(&address), escaped(cell)),
        None => escaped(cell),
    };
    let row = |(number, cells): (usize, &Vec<String>)| {
        let cells: String = cells
            .iter()
            .enumerate()
            .map(|(column, cell)| match column {
                0 => format!("<th scope=\"row\">{}</th>", first(number, cell)),
                _ => format!("<td{}>{}</td>", class(column, cell), escaped(cell)),
            })
            .collect();
        format!("<tr>{cells}</tr>\n")
    };
    let body: String = rows.iter().enumerate().map(row).collect();
    // What can be scrolled can be reached by the keyboard.
    let caption = escaped(caption);
    format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{caption}\">\n<table>\n\
         <caption class=\"unseen\">{caption}</caption>\n<thead><tr>{head}</tr></thead>\n<tbody>\n\
         {body}</tbody>\n</table>\n</div>\n"
    )
}

/// Longer cells are sentences.
const LONG_CELL: usize = 40;

/// Nothing from elsewhere, and no script.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

/// After the style of all pages.
const OWN_STYLE: &str = include_str!("document.css");
