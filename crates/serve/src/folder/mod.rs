//! A folder of runs over HTTP: its list, the page of a run, of several, or of a search, a comparison, the files of a
//! record.
//!
//! Nothing is written, nothing outside of the folder is read, and every answer is made from the records as they are
//! now.
//!
//! ```text
//!   request ──► hosts ──► request ──► runs ──► list ───────► page::html
//!              (whose)   (what)     (where)   pages, files
//! ```

mod files;
mod hosts;
mod list;
mod pages;
mod refused;
mod request;
mod runs;

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use dnsdyno_campaign::compare::{ComparedRun, Settings, compare};
use dnsdyno_campaign::history::{History, HistoryOptions, HistoryRun, Memory, What as EntryOf};
use dnsdyno_page::data::{Kind, Live, PageData};
use dnsdyno_page::{Blob, HistoryLinks, Options, PageError, SearchLinks, html, live_json};
use dnsdyno_text::shown;
use http::header::{self, HeaderValue};
use http::{Request, Response, StatusCode};
use hyper::body::Incoming;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use crate::http::{self as server, Body, Bound, Handler, Server, sentence};
use hosts::Hosts;
use list::{List, RUNNING};
use pages::Pages;
use refused::Refused;
use request::{Asked, BadRequest};
use runs::{Found, Runs, Stamp, What};

/// A folder of runs that is served as long as this exists.
#[derive(Debug)]
pub struct FolderServer {
    server: Server,
}

impl FolderServer {
    /// Serves the runs of `folder` at `listen`, as [`BoundFolder::new`] and [`BoundFolder::start`] do.
    ///
    /// # Errors
    /// Those of both.
    pub fn start(
        folder: &Path,
        listen: SocketAddr,
        hosts: Vec<String>,
        made_by: String,
    ) -> Result<FolderServer, ServeError> {
        BoundFolder::new(folder, listen, hosts, made_by)?.start()
    }

    /// Where it is served.
    pub fn address(&self) -> SocketAddr {
        self.server.address
    }
}

/// A folder of runs whose address listens, before the first connection is accepted: nothing is opened for it any more
/// but files in the folder, and threads are started by [`BoundFolder::start`] only. Whoever gives up rights of this
/// process does it now.
#[derive(Debug)]
pub struct BoundFolder {
    bound: Bound,
    site: Site,
}

impl BoundFolder {
    /// Listens at `listen` for the runs of `folder`. `hosts` are the names by which others may ask for it; `made_by` is
    /// the program and its version.
    ///
    /// # Errors
    /// The folder cannot be read or is a run itself, or the address cannot be used.
    pub fn new(
        folder: &Path,
        listen: SocketAddr,
        hosts: Vec<String>,
        made_by: String,
    ) -> Result<BoundFolder, ServeError> {
        let path = || folder.to_owned();
        let runs = Runs::open(folder).map_err(|source| ServeError::Folder { path: path(), source })?;
        if runs.is_run() {
            return Err(ServeError::IsRun { path: path() });
        }
        let site = Site {
            hosts: Hosts { more: hosts },
            list: Arc::new(List::new(runs, folder)),
            listing: tokio::sync::Mutex::default(),
            pages: Pages::new(BUILDERS, MOST_KEPT_BYTES),
            memory: Arc::default(),
            made_by,
        };
        let bound =
            Bound::new(listen, HELPERS).map_err(|source| ServeError::Listen { address: listen, source })?;
        Ok(BoundFolder { bound, site })
    }

    /// The folder, without symbolic links: all that is read is in it.
    pub fn root(&self) -> &Path {
        self.site.list.runs.root()
    }

    /// Serves it from now on.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start(self) -> Result<FolderServer, ServeError> {
        let BoundFolder { bound, site } = self;
        let address = bound.address;
        let server = bound.start(site).map_err(|source| ServeError::Listen { address, source })?;
        Ok(FolderServer { server })
    }
}

/// A folder cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The folder does not exist, or cannot be read.
    #[error("cannot read the folder {}: {source}; name a folder that holds runs", named(path))]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The folder is a run.
    #[error(
        "{} is a run; name the folder that holds it, or write its page with `dnsdyno report`",
        named(path)
    )]
    IsRun {
        /// The folder.
        path: PathBuf,
    },
    /// The address is in use, or not of this host.
    #[error("cannot serve at {address}: {source}; choose another address or port with --listen")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The error of the system.
        source: io::Error,
    },
}

/// What all requests share.
#[derive(Debug)]
struct Site {
    hosts: Hosts,
    list: Arc<List>,
    /// Held while the list is made: who asks again meanwhile waits for what is read already.
    listing: tokio::sync::Mutex<()>,
    pages: Pages<Asked, Vec<Stamp>>,
    /// What is known of the records for the history.
    memory: Arc<Mutex<Memory>>,
    made_by: String,
}

impl Handler for Site {
    async fn respond(&self, request: &Request<Incoming>, local: SocketAddr) -> Response<Body> {
        if !self.hosts.accept(request.uri(), request.headers(), local) {
            return sentence(StatusCode::MISDIRECTED_REQUEST, OTHER_NAME);
        }
        let given = match Asked::by(request.uri()) {
            Ok(asked) => self.give(asked).await,
            Err(bad) => Err(bad.into()),
        };
        given.unwrap_or_else(|refused| sentence(refused.status, &refused.sentence))
    }
}

impl Site {
    async fn give(&self, asked: Asked) -> Result<Response<Body>, Refused> {
        match &asked.clone() {
            Asked::List | Asked::ListData | Asked::ListApi => self.give_list(asked).await,
            Asked::Run(name) | Asked::RunData(name) => {
                let found = self.find(&[name]).await?;
                self.give_page(asked, found, Vec::new()).await
            }
            Asked::Trial { search, trial } => {
                let (list, search, trial) = (Arc::clone(&self.list), search.clone(), trial.clone());
                let find = move || list.runs.find_trial(&search, &trial);
                let found = tokio::task::spawn_blocking(find).await.map_err(|_| Refused::failed())??;
                self.give_page(asked, vec![found], Vec::new()).await
            }
            Asked::Report(names) => {
                let found = self.find_runs(names).await?;
                self.give_page(asked, found, Vec::new()).await
            }
            Asked::Compare { a, b } => {
                let (a, b) = (self.find_runs(a).await?, self.find_runs(b).await?);
                self.give_page(asked, a, b).await
            }
            Asked::History => self.give_history().await,
            Asked::File { run, file } => {
                let found = self.find(&[run]).await?.remove(0);
                files::send(found, file).await.ok_or_else(|| BadRequest::Unknown.into())
            }
        }
    }

    /// The list; it is made anew for each request, from entries that are kept.
    async fn give_list(&self, asked: Asked) -> Result<Response<Body>, Refused> {
        let list = Arc::clone(&self.list);
        let options = self.options();
        let is_html = asked == Asked::List;
        let make = move || {
            let folder = list.folder().map_err(Refused::folder)?;
            if asked == Asked::ListApi {
                return serde_json::to_vec(&folder).map_err(|error| Refused::page(PageError::Json(error)));
            }
            let title = format!("runs in {}", folder.path);
            let mut page = dnsdyno_page::page(Kind::Folder, title, Vec::new(), &options);
            page.folder = Some(folder);
            page.live = Some(Live { url: "/data".to_owned(), every_ms: LIST_EVERY_MS });
            written(&page, &[], is_html)
        };
        let _turn = self.listing.lock().await;
        let made = tokio::task::spawn_blocking(make).await.map_err(|_| Refused::failed())??;
        Ok(page_response(made.into(), is_html))
    }

    /// The history of the folder; it is read anew for each request, with the index where there is one.
    async fn give_history(&self) -> Result<Response<Body>, Refused> {
        let (list, options, memory) = (Arc::clone(&self.list), self.options(), Arc::clone(&self.memory));
        let make = move || history_page(&list, &memory, &options);
        // One at a time, as the list: what is read for one is not read for another one meanwhile.
        let _turn = self.listing.lock().await;
        let made = tokio::task::spawn_blocking(make).await.map_err(|_| Refused::failed())??;
        Ok(page_response(made.into(), true))
    }

    /// A page of runs: side `a` alone, or against side `b`.
    async fn give_page(&self, asked: Asked, a: Vec<Found>, b: Vec<Found>) -> Result<Response<Body>, Refused> {
        let stamps: Vec<Stamp> = a.iter().chain(&b).map(|found| found.stamp).collect();
        let is_html = !matches!(asked, Asked::RunData(_));
        let (list, options) = (Arc::clone(&self.list), self.options());
        let build = move || match (a.as_slice(), b.is_empty()) {
            ([search], true) if search.what == What::Search => match is_html {
                true => search_page(search, &options),
                // It is whole, and has no newer data.
                false => Err(BadRequest::Unknown.into()),
            },
            (_, true) => report(&a, &list, &options, is_html),
            (_, false) => comparison(&a, &b, &options),
        };
        let built = self.pages.get(&asked, &stamps, build).await.ok_or_else(Refused::failed)??;
        Ok(page_response(built, is_html))
    }

    /// The runs of these names, none of which is a search.
    async fn find_runs(&self, names: &[String]) -> Result<Vec<Found>, Refused> {
        let found = self.find(names).await?;
        match found.iter().find(|found| found.what == What::Search) {
            Some(search) => Err(Refused::search(search)),
            None => Ok(found),
        }
    }

    /// The runs of these names.
    async fn find<N: AsRef<str>>(&self, names: &[N]) -> Result<Vec<Found>, Refused> {
        let names: Vec<String> = names.iter().map(|name| name.as_ref().to_owned()).collect();
        let list = Arc::clone(&self.list);
        let find = move || names.iter().map(|name| list.runs.find(name)).collect::<Result<Vec<_>, _>>();
        Ok(tokio::task::spawn_blocking(find).await.map_err(|_| Refused::failed())??)
    }

    fn options(&self) -> Options {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Options { title: None, made_by: self.made_by.clone(), made_unix_ns: now.as_nanos() as u64 }
    }
}

/// The page of the history, with links to the runs that have a page of their own here.
fn history_page(list: &List, memory: &Mutex<Memory>, options: &Options) -> Result<Vec<u8>, Refused> {
    // Nothing is written: the index of `dnsdyno history` is used as it is.
    let mut memory = memory.lock().unwrap_or_else(PoisonError::into_inner);
    let found = History::read_again(list.runs.root(), &HistoryOptions::default(), &mut memory);
    let found = found.map_err(Refused::folder)?;
    let link = |run: &HistoryRun| {
        let is_listed =
            run.entry.what != EntryOf::Experiment && !run.folder.is_empty() && !run.folder.contains('/');
        is_listed.then(|| format!("/runs/{}/", utf8_percent_encode(&run.folder, NON_ALPHANUMERIC)))
    };
    let links = HistoryLinks { run: &link, home: Some("/") };
    Ok(dnsdyno_page::history(&list.title, &found, &links, options))
}

/// The page of a search, with links to those of its trials.
fn search_page(search: &Found, options: &Options) -> Result<Vec<u8>, Refused> {
    let trial = |run: &str| {
        Some(format!("{}trials/{}/", search.address(), utf8_percent_encode(run, NON_ALPHANUMERIC)))
    };
    let links = SearchLinks { run: &trial, home: Some("/") };
    Ok(dnsdyno_page::search(&search.path, &links, options)?)
}

/// The page of one run or of several on the same axes.
fn report(runs: &[Found], list: &List, options: &Options, is_html: bool) -> Result<Vec<u8>, Refused> {
    let since = Instant::now();
    let (mut page, blobs) = dnsdyno_page::report_data(&paths(runs), options)?;
    link(&mut page, runs.iter());
    if let [run] = runs
        && run.what == What::Run
        && list.entry(run).state == RUNNING
    {
        let every_ms = every(since.elapsed()).as_millis() as u64;
        page.live = Some(Live { url: format!("{}data", run.address()), every_ms });
    }
    written(&page, &blobs, is_html)
}

/// The page of a comparison of the runs `b` with the runs `a`, the baseline. What was not asked alike is told on it.
fn comparison(a: &[Found], b: &[Found], options: &Options) -> Result<Vec<u8>, Refused> {
    let read = |runs: &[Found]| {
        runs.iter().map(|found| ComparedRun::read(&found.path)).collect::<Result<Vec<_>, _>>()
    };
    let (baseline, candidate) = (read(a).map_err(Refused::page)?, read(b).map_err(Refused::page)?);
    let compared = compare(baseline, candidate, &Settings::default()).map_err(Refused::page)?;
    let data = dnsdyno_page::comparison_data(&paths(a), &paths(b), (&compared).into(), options);
    let (mut page, blobs) = data?;
    link(&mut page, a.iter().chain(b));
    written(&page, &blobs, true)
}

fn paths(runs: &[Found]) -> Vec<PathBuf> {
    runs.iter().map(|found| found.path.clone()).collect()
}

/// Adds what only a page from a server has: the way back to the list, and to the files of its runs.
fn link<'a>(page: &mut PageData, runs: impl Iterator<Item = &'a Found>) {
    page.home = Some("/".to_owned());
    // The files of a trial have no address.
    for (run, found) in page.runs.iter_mut().zip(runs).filter(|(_, found)| found.what == What::Run) {
        run.files = Some(format!("{}files/", found.address()));
    }
}

/// How often a page in progress is built again: a twentieth of a CPU is what its watching may take.
fn every(building: Duration) -> Duration {
    (building * 20).clamp(Duration::from_secs(1), Duration::from_secs(60))
}

fn written(page: &PageData, blobs: &[Blob], is_html: bool) -> Result<Vec<u8>, Refused> {
    let written = if is_html { html(page, blobs) } else { live_json(page, blobs) };
    Ok(written?)
}

fn page_response(page: Bytes, is_html: bool) -> Response<Body> {
    if !is_html {
        return server::response(StatusCode::OK, "application/json", page);
    }
    let mut response = server::response(StatusCode::OK, "text/html; charset=utf-8", page);
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(PAGE_POLICY));
    response
}

/// The path for a message.
fn named(path: &Path) -> String {
    shown(&path.to_string_lossy(), LONGEST_SENTENCE).into_owned()
}

const OTHER_NAME: &str = "This server is not known by the name in the request. Use the address that it printed, \
                          or start it with --host NAME.";

/// Everything that a page needs is in it; it asks this server alone for newer data.
const PAGE_POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; \
                           img-src data: blob:; worker-src blob:; connect-src 'self'; base-uri 'none'; \
                           form-action 'none'; frame-ancestors 'none'";

/// Pages that are built at the same time.
const BUILDERS: usize = 2;

/// Threads for work that blocks: those of the builders, and more for lists and files, which must not wait for them.
const HELPERS: usize = BUILDERS + 4;

/// Four pages of 48 hours.
const MOST_KEPT_BYTES: usize = 64 << 20;

const LIST_EVERY_MS: u64 = 5_000;

const LONGEST_SENTENCE: usize = 4_096;
