//! Text layout for a terminal: wrapped paragraphs, wrapped items, tables that drop columns or go on below.

use std::borrow::Cow;

/// Appends `text` to `out`, broken between words at `width`; lines after the first are indented.
pub fn paragraph(out: &mut String, text: &str, indent: usize, hanging: usize, width: usize) {
    flow(out, words(text), " ", indent, hanging, width);
}

/// The words of a text; a figure and its unit are one.
pub fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let is_unit = UNITS.contains(&word.trim_end_matches([',', '.', ';', ':', ')']));
        match words.last_mut() {
            Some(last) if is_unit && last.ends_with(|c: char| c.is_ascii_digit()) => {
                last.push(' ');
                last.push_str(word);
            }
            _ => words.push(word.to_owned()),
        }
    }
    words
}

/// Appends `items` with `gap` between them, broken between items at `width`; an item longer than a line is broken
/// between its words.
pub fn flow(
    out: &mut String,
    items: impl IntoIterator<Item = String>,
    gap: &str,
    indent: usize,
    hanging: usize,
    width: usize,
) {
    flow_after(out, &" ".repeat(indent), items, gap, hanging, width);
}

/// As [`flow`], with `lead` instead of an indent.
pub fn flow_after(
    out: &mut String,
    lead: &str,
    items: impl IntoIterator<Item = String>,
    gap: &str,
    hanging: usize,
    width: usize,
) {
    let mut line = Line { text: lead.to_owned(), is_fresh: true, hanging, width };
    for item in items {
        if hanging.max(chars(lead)) + chars(&item) <= width {
            line.add(out, gap, &item);
            continue;
        }
        for (i, word) in words(&item).iter().enumerate() {
            line.add(out, if i == 0 { gap } else { " " }, word);
        }
    }
    line.end(out);
}

/// The line that is being filled.
struct Line {
    text: String,
    /// Whether it has only its indent.
    is_fresh: bool,
    hanging: usize,
    width: usize,
}

impl Line {
    /// Adds `text` after `gap`, on the next line where it does not fit on this one.
    fn add(&mut self, out: &mut String, gap: &str, text: &str) {
        if !self.is_fresh && chars(&self.text) + chars(gap) + chars(text) > self.width {
            self.end(out);
            self.text = " ".repeat(self.hanging);
        } else if !self.is_fresh {
            self.text.push_str(gap);
        }
        self.text.push_str(text);
        self.is_fresh = false;
    }

    fn end(&mut self, out: &mut String) {
        out.push_str(self.text.trim_end());
        out.push('\n');
        self.is_fresh = true;
    }
}

/// Columns of equal height under their titles.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    columns: Vec<Column>,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// What is in it; may be empty.
    pub title: Cow<'static, str>,
    /// From top to bottom.
    pub cells: Vec<String>,
    /// Whether it is text and not figures.
    pub is_left: bool,
    /// On a narrow terminal the column with the highest value is dropped first; 0 is never dropped.
    dispensable: u8,
}

impl Table {
    /// The columns that have anything in them.
    pub fn columns(&self) -> impl Iterator<Item = &Column> {
        self.columns.iter().filter(|column| column.has_content())
    }

    /// Adds a column of figures.
    pub fn right(&mut self, title: impl Into<Cow<'static, str>>, dispensable: u8, cells: Vec<String>) {
        self.columns.push(Column { title: title.into(), cells, dispensable, is_left: false });
    }

    /// Adds a column of text.
    pub fn left(&mut self, title: impl Into<Cow<'static, str>>, dispensable: u8, cells: Vec<String>) {
        self.columns.push(Column { title: title.into(), cells, dispensable, is_left: true });
    }

    /// Appends the rows, and the titles where there are any, without the columns that do not fit.
    pub fn write(mut self, out: &mut String, width: usize) {
        self.columns.retain(Column::has_content);
        while self.width() > width {
            let Some(least) = self.columns.iter().filter(|c| c.dispensable > 0).map(|c| c.dispensable).max()
            else {
                break;
            };
            self.columns.retain(|column| column.dispensable != least);
        }
        if self.columns.iter().any(|column| !column.title.is_empty()) {
            self.write_line(out, |column| &column.title);
        }
        let height = self.columns.first().map_or(0, |column| column.cells.len());
        (0..height).for_each(|row| self.write_line(out, |column| &column.cells[row]));
    }

    /// Appends all columns: those that do not fit go on in further tables below, each with the first `keys` columns.
    pub fn write_all(self, out: &mut String, keys: usize, width: usize) {
        let mut columns: Vec<Column> = self.columns.into_iter().filter(Column::has_content).collect();
        let others = columns.split_off(keys.min(columns.len()));
        let mut table = Table { columns: columns.clone() };
        for column in others {
            let has_others = table.columns.len() > columns.len();
            if has_others && table.width() + GAP.len() + column.width() > width {
                let full = std::mem::replace(&mut table, Table { columns: columns.clone() });
                full.write(out, usize::MAX);
                out.push('\n');
            }
            table.columns.push(column);
        }
        if table.columns.len() > columns.len() {
            table.write(out, usize::MAX);
        }
    }

    fn write_line<'a>(&'a self, out: &mut String, cell: impl Fn(&'a Column) -> &'a str) {
        let mut line = String::new();
        for column in &self.columns {
            let text = cell(column);
            let padding = " ".repeat(column.width() - chars(text));
            line.push_str(GAP);
            if column.is_left {
                line.push_str(text);
                line.push_str(&padding);
            } else {
                line.push_str(&padding);
                line.push_str(text);
            }
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }

    fn width(&self) -> usize {
        self.columns.iter().map(|column| GAP.len() + column.width()).sum()
    }
}

impl Column {
    fn has_content(&self) -> bool {
        self.cells.iter().any(|cell| !cell.is_empty() && cell != NOTHING)
    }

    fn width(&self) -> usize {
        self.cells.iter().map(|cell| chars(cell)).chain([chars(&self.title)]).max().unwrap_or(0)
    }
}

/// Width on a terminal: all printed characters take one column.
fn chars(text: &str) -> usize {
    text.chars().count()
}

/// A cell without a figure. A column of them is not shown.
pub const NOTHING: &str = "-";

/// A narrower terminal has no space for the important columns.
pub const NARROWEST: usize = 40;

/// A line does not end before one of these.
const UNITS: [&str; 7] = ["%", "ns", "µs", "ms", "s", "min", "h"];

/// Before each column; it indents the table as well.
const GAP: &str = "  ";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_at_the_width_and_a_longer_word_has_its_own_line() {
        let mut out = String::new();
        paragraph(&mut out, "one two averyveryverylongword three", 0, 2, 10);
        assert_eq!(out, "one two\n  averyveryverylongword\n  three\n");
    }

    #[test]
    fn a_figure_stays_with_its_unit() {
        let mut out = String::new();
        paragraph(&mut out, "p99 2.47 ms; loss 3 %, or less", 0, 2, 8);
        assert_eq!(out, "p99\n  2.47 ms;\n  loss\n  3 %,\n  or\n  less\n");
    }

    #[test]
    fn an_item_stays_together_unless_it_is_longer_than_a_line() {
        let mut out = String::new();
        let items = ["p50 1 ms", "p99 22 ms", "queries of 40 bytes on average"];
        flow(&mut out, items.map(str::to_owned), "   ", 0, 2, 16);
        assert_eq!(out, "p50 1 ms\n  p99 22 ms\n  queries of 40\n  bytes on\n  average\n");
    }

    #[test]
    fn a_table_drops_its_most_dispensable_columns_first() {
        let table = || {
            let mut table = Table::default();
            table.left("name", 0, vec!["a".into(), "bcd".into()]);
            table.right("p50", 2, vec!["1".into(), "2".into()]);
            table.right("p99", 1, vec!["10".into(), "20".into()]);
            table
        };
        let written = |width| {
            let mut out = String::new();
            table().write(&mut out, width);
            out
        };
        assert_eq!(written(16), "  name  p50  p99\n  a       1   10\n  bcd     2   20\n");
        assert_eq!(written(15), "  name  p99\n  a      10\n  bcd    20\n");
        assert_eq!(written(3), "  name\n  a\n  bcd\n");
    }

    #[test]
    fn a_table_that_is_written_whole_goes_on_below_with_its_first_columns() {
        let mut table = Table::default();
        table.left("name", 0, vec!["a".into(), "bcd".into()]);
        table.right("p50", 2, vec!["1".into(), "2".into()]);
        table.right("of nothing", 0, vec!["-".into(), "-".into()]);
        table.right("p99".to_owned(), 1, vec!["10".into(), "20".into()]);
        let written = |width| {
            let mut out = String::new();
            table.clone().write_all(&mut out, 1, width);
            out
        };
        assert_eq!(written(16), "  name  p50  p99\n  a       1   10\n  bcd     2   20\n");
        let below = "  name  p50\n  a       1\n  bcd     2\n\n  name  p99\n  a      10\n  bcd    20\n";
        assert_eq!((written(15), written(3)), (below.to_owned(), below.to_owned()));
        let mut out = String::new();
        Table::default().write_all(&mut out, 1, 80);
        assert_eq!(out, "");
    }
}
