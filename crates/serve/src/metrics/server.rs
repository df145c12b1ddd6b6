//! Answers scrapes.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use http::header::{self, HeaderValue};
use http::{HeaderMap, Request, Response, StatusCode};
use hyper::body::Incoming;

use super::families::families;
use super::shared::Shared;
use super::state::Stage;
use super::text::{open_metrics, prometheus_text};
use crate::http::{self as server, Body, Handler, sentence};

/// The one page of the server. Any name of this host is accepted: it tells nothing but the figures of a load test, and
/// a Prometheus uses whatever name it was given.
pub(super) struct Scrapes(pub(super) Arc<Shared>);

impl Handler for Scrapes {
    async fn respond(&self, request: &Request<Incoming>, _local: SocketAddr) -> Response<Body> {
        match request.uri().path() {
            "/metrics" => self.scrape(request.headers()),
            _ => sentence(StatusCode::NOT_FOUND, "The metrics of a run of dnsdyno are at /metrics."),
        }
    }
}

impl Scrapes {
    fn scrape(&self, headers: &HeaderMap) -> Response<Body> {
        let state = self.0.now();
        let Ok(text) = open_metrics(families(&state)) else {
            return sentence(StatusCode::INTERNAL_SERVER_ERROR, "The metrics cannot be written as text.");
        };
        if state.stage == Stage::Ended {
            self.0.last_scrapes.fetch_add(1, Ordering::Release);
        }
        let mut response = match accepts_open_metrics(headers) {
            true => server::response(StatusCode::OK, OPEN_METRICS, text),
            false => server::response(StatusCode::OK, PROMETHEUS, prometheus_text(&text)),
        };
        response.headers_mut().insert(header::VARY, HeaderValue::from_static("accept"));
        response
    }
}

/// Whether the client names OpenMetrics, as a Prometheus does; a browser and curl get the older format, which all
/// tools read.
fn accepts_open_metrics(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    accepted.flat_map(|value| value.split(',')).any(|range| {
        let mut words = range.split(';').map(str::trim);
        words.next() == Some("application/openmetrics-text")
            && words.all(|word| !word.starts_with("q=0") || word.trim_end_matches(['0', '.']) != "q=")
    })
}

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";
