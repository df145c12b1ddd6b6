//! Results of searches, and their pages.

use std::path::Path;

use dnsdyno_campaign::find::report::{FINDING_FILE, ReadFinding};
use dnsdyno_page::{Options, SearchLinks, search, search_summary};

use crate::folder::{in_folder, write};

/// The file of the result of a search.
pub fn search_result(file: &[u8]) {
    in_folder("search_result", |folder| {
        let path = folder.join(FINDING_FILE);
        write(&path, file);
        match ReadFinding::read(folder) {
            Ok(found) => {
                is_shown(folder, &found, file.len());
                write(&path, &serde_json::to_vec(&found).expect("a result can be written"));
                let again = ReadFinding::read(folder).unwrap_or_else(|error| panic!("{error}"));
                assert_eq!(again, found, "it is written and read again");
            }
            Err(error) => {
                let text = error.to_string();
                assert!(!text.chars().any(char::is_control), "{text:?}");
            }
        }
    });
}

/// A list and a page can have what was read; a page of a small file is small, and its charts have places.
fn is_shown(folder: &Path, found: &ReadFinding, octets: usize) {
    let summary = search_summary(folder).expect("it was read before");
    assert!(!summary.sentence.chars().any(char::is_control), "{:?}", summary.sentence);
    let run = |run: &str| Some(format!("runs/{run}/"));
    let options = Options { title: None, made_by: "a fuzzer".to_owned(), made_unix_ns: 0 };
    let page = search(folder, &SearchLinks { run: &run, home: None }, &options).expect("it was read before");
    let page = String::from_utf8(page).expect("a page is text");
    assert!(page.len() <= LARGEST_EMPTY_PAGE + MOST_FOR_AN_OCTET * octets, "{} of {octets}", page.len());
    // What stands in a text of the file may stand in the page, where a sentence begins with a capital letter.
    let is_in_file = format!("{found:?}").to_lowercase();
    for none in ["NaN", ",inf", "\"inf"] {
        assert!(!page.contains(none) || is_in_file.contains(&none.to_lowercase()), "{none} in {page}");
    }
}

/// With the look of all pages.
const LARGEST_EMPTY_PAGE: usize = 200_000;

/// A text is escaped, and stands in a table and in charts.
const MOST_FOR_AN_OCTET: usize = 60;
