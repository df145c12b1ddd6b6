//! The history of a folder over HTTP.

mod support;

use std::fs;

use dnsdyno_serve::FolderServer;
use support::{get, simulated};

#[test]
fn the_history_of_a_folder_is_a_page_with_links_to_its_runs_and_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    for run in 0..12 {
        simulated(&folder.path().join(format!("r{run:02}")), |draft| {
            draft.rate = Some("1k".into());
            draft.name = Some("<i>".into());
        });
    }
    let files = || fs::read_dir(folder.path()).unwrap().count();
    let before = files();
    let any = "127.0.0.1:0".parse().unwrap();
    let server = FolderServer::start(folder.path(), any, Vec::new(), "dnsdyno test".into()).unwrap();
    let ask = |path: &str| {
        get(server.address(), &format!("GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", server.address()))
    };
    let page = ask("/history");
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    assert!(
        page.body.contains("No step that these runs could show.") && page.body.contains("12 runs"),
        "{}",
        page.body
    );
    assert!(page.body.contains("<a href=\"/runs/r05/\"") && page.body.contains("href=\"/\""));
    assert!(!page.body.contains("<i>") && !page.body.contains("<script"), "no markup of others");
    assert_eq!(ask("/runs/r05/").status, 200);
    assert!(ask("/").body.contains("href=\"/history\""), "the list leads to it");
    assert_eq!(files(), before);
}
