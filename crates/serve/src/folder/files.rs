//! Sends a file of a record, piece by piece, as long as it was when it was asked for: a run in progress writes on.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use bytes::Bytes;
use dnsdyno_record::open_regular;
use http::header::{self, HeaderValue};
use http::{Response, StatusCode};
use http_body_util::{Channel, Either};

use super::runs::{FILES, Found};
use crate::http::Body;

/// The file as a response; `None` where a run has no such file.
pub(crate) async fn send(run: Found, file: &str) -> Option<Response<Body>> {
    let name = *FILES.iter().find(|known| **known == file)?;
    let opened = tokio::task::spawn_blocking(move || open(&run.path.join(name))).await.ok()?;
    let (file, length) = opened.ok()?;
    let (mut sender, body) = Channel::<Bytes, io::Error>::new(PIECES_AHEAD);
    tokio::spawn(async move {
        let mut rest = file.take(length);
        loop {
            let read = tokio::task::spawn_blocking(move || piece(rest)).await;
            let Ok(Ok((piece, after))) = read else {
                // The client sees that the file has not come to its end.
                return sender.abort(io::ErrorKind::UnexpectedEof.into());
            };
            rest = after;
            // An error is a client that has gone.
            if piece.is_empty() || sender.send_data(piece).await.is_err() {
                return;
            }
        }
    });
    let mut response = Response::new(Either::Right(body));
    *response.status_mut() = StatusCode::OK;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type(name)));
    // What is in it is of others: no browser opens it as a page of ours.
    headers.insert(header::CONTENT_DISPOSITION, HeaderValue::from_static("attachment"));
    Some(response)
}

fn open(path: &Path) -> io::Result<(File, u64)> {
    let file = open_regular(path)?;
    let length = file.metadata()?.len();
    Ok((file, length))
}

/// The next piece, which is empty at the end, and what follows it.
fn piece(mut file: io::Take<File>) -> io::Result<(Bytes, io::Take<File>)> {
    let mut piece = Vec::new();
    Read::by_ref(&mut file).take(PIECE_BYTES).read_to_end(&mut piece)?;
    Ok((piece.into(), file))
}

fn content_type(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("json") => "application/json",
        Some("ndjson") => "application/x-ndjson",
        Some("toml") => "application/toml",
        _ => "application/zstd",
    }
}

const PIECE_BYTES: u64 = 64 << 10;

const PIECES_AHEAD: usize = 2;
