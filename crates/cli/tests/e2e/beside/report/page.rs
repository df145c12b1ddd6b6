//! Reads a page as a browser does: its data, and the columns of its runs.

use std::collections::BTreeMap;
use std::io::Read;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

/// A page that was read.
pub(crate) struct Page {
    pub(crate) html: String,
    pub(crate) data: Value,
    series: Vec<Vec<u8>>,
}

/// A cell of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cell {
    Nothing,
    Beyond,
    Number(u64),
}

impl Page {
    pub(crate) fn read(html: String) -> Page {
        let data = serde_json::from_str(element(&html, "application/json", "page-data")).unwrap();
        let runs = |data: &Value| data["runs"].as_array().map_or(0, Vec::len);
        let blob = |n: usize| {
            let packed = STANDARD.decode(element(&html, "text/plain", &format!("blob-{n}"))).unwrap();
            let mut bytes = Vec::new();
            flate2::read::DeflateDecoder::new(packed.as_slice()).read_to_end(&mut bytes).unwrap();
            bytes
        };
        let series = (0..runs(&data)).map(blob).collect();
        Page { data, series, html }
    }

    pub(crate) fn run(&self, n: usize) -> &Value {
        &self.data["runs"][n]
    }

    /// The columns of a level of a run, each with a cell for each row.
    pub(crate) fn columns(&self, run: usize, level: usize) -> BTreeMap<String, Vec<Cell>> {
        let described = &self.run(run)["series"]["levels"][level];
        let rows = described["rows"].as_u64().unwrap() as usize;
        let column = |column: &Value| {
            let cells = cells(self.place(run, column));
            assert_eq!(cells.len(), rows, "{column}");
            (column["name"].as_str().unwrap().to_owned(), cells)
        };
        described["columns"].as_array().unwrap().iter().map(column).collect()
    }

    /// The cells of the heat map: for each row the numbers of its buckets with their counts.
    pub(crate) fn heat(&self, run: usize, level: usize) -> Vec<Vec<(u64, u64)>> {
        let described = &self.run(run)["series"]["levels"][level];
        let mut numbers = varints(self.place(run, &described["heat"])).into_iter();
        let mut rows = Vec::new();
        while let Some(cells) = numbers.next() {
            let mut bucket = 0;
            let mut row = Vec::new();
            for _ in 0..cells {
                bucket += numbers.next().unwrap();
                row.push((bucket, numbers.next().unwrap()));
            }
            rows.push(row);
        }
        rows
    }

    fn place(&self, run: usize, described: &Value) -> &[u8] {
        let number = |key: &str| described[key].as_u64().unwrap() as usize;
        assert_eq!(self.series[run].len(), self.run(run)["series"]["bytes"].as_u64().unwrap() as usize);
        &self.series[run][number("offset")..number("offset") + number("bytes")]
    }
}

/// The text of a script element.
fn element<'a>(html: &'a str, kind: &str, id: &str) -> &'a str {
    let start = format!("<script type=\"{kind}\" id=\"{id}\">");
    let from = html.find(&start).unwrap_or_else(|| panic!("no {id}")) + start.len();
    &html[from..from + html[from..].find("</script>").unwrap()]
}

fn cells(bytes: &[u8]) -> Vec<Cell> {
    let mut last = 0_i64;
    let cell = |code: u64| match code {
        0 => Cell::Nothing,
        1 => Cell::Beyond,
        _ => {
            let zigzag = code - 2;
            last += (zigzag >> 1) as i64 ^ -((zigzag & 1) as i64);
            Cell::Number(last as u64)
        }
    };
    varints(bytes).into_iter().map(cell).collect()
}

fn varints(bytes: &[u8]) -> Vec<u64> {
    let mut numbers = Vec::new();
    let (mut number, mut shift) = (0, 0);
    for byte in bytes {
        number |= u64::from(byte & 0x7f) << shift;
        shift += 7;
        if byte & 0x80 == 0 {
            numbers.push(number);
            (number, shift) = (0, 0);
        }
    }
    assert_eq!(shift, 0, "the last number is complete");
    numbers
}
