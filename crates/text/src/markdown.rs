//! Markdown as GitHub reads it: text that cannot become markup, and tables.

use std::fmt::Write;

use crate::safe;

/// Text of a record or of a user, as text in a line of Markdown.
pub fn text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in safe(text).chars() {
        match c {
            // Would be a link, a reference or a mention: these are also found where a backslash precedes them.
            '&' | '<' | '>' | '@' | '#' => {
                // Writing to a String cannot fail.
                let _ = write!(out, "&#{};", u32::from(c));
            }
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '$' => out.extend(['\\', c]),
            _ => out.push(c),
        }
    }
    // A URL would become a link.
    out.replace("://", ":&#47;/").replace("www.", "www&#46;")
}

/// A table. Its cells are Markdown.
#[derive(Clone, Debug, Default)]
pub struct Table {
    titles: Vec<String>,
    marks: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Adds a column of text.
    pub fn left(&mut self, title: &str) -> &mut Self {
        self.column(title, "---")
    }

    /// Adds a column of figures.
    pub fn right(&mut self, title: &str) -> &mut Self {
        self.column(title, "---:")
    }

    fn column(&mut self, title: &str, mark: &'static str) -> &mut Self {
        self.titles.push(title.to_owned());
        self.marks.push(mark);
        self
    }

    /// Adds a row, with a cell for each column.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// The lines of the table, with an empty line after them; nothing without rows.
    pub fn lines(&self) -> String {
        if self.rows.is_empty() {
            return String::new();
        }
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let rows: String = self.rows.iter().map(|row| line(row)).collect();
        format!("{}| {} |\n{rows}\n", line(&self.titles), self.marks.join(" | "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_become_markup() {
        assert_eq!(text("p99 3.1 ms, 0.2 %"), "p99 3.1 ms, 0.2 %");
        assert_eq!(text("a|b\n*c* [d](e) `f`"), "a\\|b\\\\u{a}\\*c\\* \\[d\\](e) \\`f\\`");
        assert_eq!(text("<img onerror=x> &lt; @all #1"), "&#60;img onerror=x&#62; &#38;lt; &#64;all &#35;1");
        assert_eq!(
            text("https://evil.example www.evil.example"),
            "https:&#47;/evil.example www&#46;evil.example"
        );
    }

    #[test]
    fn a_table_has_a_row_of_marks_and_none_without_rows() {
        let mut table = Table::default();
        table.left("what").right("qps");
        assert_eq!(table.lines(), "");
        table.row(["sent".to_owned(), "5".to_owned()]);
        assert_eq!(table.lines(), "| what | qps |\n| --- | ---: |\n| sent | 5 |\n\n");
    }
}
