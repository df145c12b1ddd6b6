//! Text layout for a terminal: wrapped paragraphs, wrapped items, tables that drop columns.

/// Appends `text` to `out`, broken between words at `width`; lines after the first are indented.
pub(crate) fn paragraph(out: &mut String, text: &str, indent: usize, hanging: usize, width: usize) {
    let words = text.split_whitespace().map(str::to_owned);
    flow(out, words, " ", indent, hanging, width);
}

/// Appends `items` with `gap` between them, broken between items at `width`.
pub(crate) fn flow(
    out: &mut String,
    items: impl IntoIterator<Item = String>,
    gap: &str,
    indent: usize,
    hanging: usize,
    width: usize,
) {
    let mut line = " ".repeat(indent);
    let mut is_fresh = true;
    for item in items {
        if !is_fresh && chars(&line) + chars(gap) + chars(&item) > width {
            out.push_str(line.trim_end());
            out.push('\n');
            line = " ".repeat(hanging);
            is_fresh = true;
        }
        if !is_fresh {
            line.push_str(gap);
        }
        line.push_str(&item);
        is_fresh = false;
    }
    out.push_str(line.trim_end());
    out.push('\n');
}

/// Columns of equal height under their titles.
#[derive(Default)]
pub(crate) struct Table {
    columns: Vec<Column>,
}

struct Column {
    title: &'static str,
    cells: Vec<String>,
    /// On a narrow terminal the column with the highest value is dropped first; 0 is never dropped.
    dispensable: u8,
    is_left: bool,
}

impl Table {
    /// Adds a column of figures.
    pub(crate) fn right(&mut self, title: &'static str, dispensable: u8, cells: Vec<String>) {
        self.columns.push(Column { title, cells, dispensable, is_left: false });
    }

    /// Adds a column of text.
    pub(crate) fn left(&mut self, title: &'static str, dispensable: u8, cells: Vec<String>) {
        self.columns.push(Column { title, cells, dispensable, is_left: true });
    }

    /// Appends the rows, and the titles where there are any, without the columns that do not fit.
    pub(crate) fn write(mut self, out: &mut String, width: usize) {
        self.columns.retain(|column| column.cells.iter().any(|cell| !cell.is_empty()));
        while self.width() > width {
            let Some(least) = self.columns.iter().filter(|c| c.dispensable > 0).map(|c| c.dispensable).max()
            else {
                break;
            };
            self.columns.retain(|column| column.dispensable != least);
        }
        if self.columns.iter().any(|column| !column.title.is_empty()) {
            self.write_line(out, |column| column.title);
        }
        let height = self.columns.first().map_or(0, |column| column.cells.len());
        (0..height).for_each(|row| self.write_line(out, |column| &column.cells[row]));
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
    fn width(&self) -> usize {
        self.cells.iter().map(|cell| chars(cell)).chain([chars(self.title)]).max().unwrap_or(0)
    }
}

/// Width on a terminal: all printed characters take one column.
fn chars(text: &str) -> usize {
    text.chars().count()
}

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
}
