//! BIND: its statistics channel, as JSON or as XML.
//!
//! ```text
//!   JSON           since BIND 9.10, where it was built with json-c
//!   XML version 3  since BIND 9.9, where it was built with libxml2
//!   XML version 2  BIND 9.5 to 9.9
//! ```
//!
//! It is asked in each of these ways in turn, until one is there. Only the server and its traffic are asked for: their
//! cost does not grow with the number of zones. Before BIND 9.10 there is one document with everything in it.

pub(super) mod dump;
pub(super) mod file;
mod rndc;
mod series;
#[cfg(test)]
mod tests;
pub(super) mod xml;

use dnsdyno_measure::Watched;
use dnsdyno_servers::StatisticsKind;
use dnsdyno_text::shown;
use serde_json::Value;

use super::common::{LONGEST_TEXT, numbers};
use super::http::{Answer, Http, JSON, NoPage, XML, split};
use super::parameters::{self, Owners};
use super::statistics::Statistics;
use super::xml::Element;
use crate::source::{OpenError, ReadError, Reading};

pub(super) struct Bind {
    http: Http,
    owners: Owners,
    /// Whether the URL names the statistics as XML.
    only_xml: bool,
    /// What is read each time, once it was found out what is there.
    pages: Vec<Page>,
}

/// A page of the channel.
#[derive(Clone, Copy)]
struct Page {
    path: &'static str,
    form: Form,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Json,
    Xml,
}

/// The content of a page.
enum Document {
    Json(Value),
    Xml(Element),
}

impl Bind {
    pub(super) fn new(url: &str, owners: Owners) -> Result<Bind, OpenError> {
        let only_xml = split(url).1.starts_with("/xml");
        Ok(Bind { http: Http::new(url, None)?, owners, only_xml, pages: Vec::new() })
    }

    fn get(&self, page: Page) -> Result<Document, NoPage> {
        let accept = if page.form == Form::Json { JSON } else { XML };
        let answer = self.http.find(page.path, accept)?;
        let document = match page.form {
            Form::Json => Document::Json(serde_json::from_str(&answer.body).unwrap_or_default()),
            Form::Xml => Document::Xml(element_in(&answer)?),
        };
        match document.is_statistics() {
            true => Ok(document),
            false => Err(answer.is_not(page.form.expected()).into()),
        }
    }

    /// Finds out which pages there are. Returns the first one.
    fn find(&mut self) -> Result<Document, ReadError> {
        let mut refusal: Option<ReadError> = None;
        let only_xml = self.only_xml;
        for (server, traffic) in WAYS.iter().filter(|(server, _)| !only_xml || server.form == Form::Xml) {
            match self.get(*server) {
                Ok(document) => {
                    let traffic = traffic.map(|page| self.has(page).map(|has| has.then_some(page)));
                    let traffic = traffic.transpose()?.flatten();
                    self.pages = [*server].into_iter().chain(traffic).collect();
                    return Ok(document);
                }
                // The first refusal says it.
                Err(NoPage::Unknown(error)) => {
                    refusal.get_or_insert(error);
                }
                Err(NoPage::Other(error)) => {
                    return Err(match refusal {
                        Some(first) => ReadError(format!("{first}; and as XML: {error}")),
                        None => error,
                    });
                }
            }
        }
        Err(refusal.unwrap_or_else(|| ReadError("it has no statistics channel".to_owned())))
    }

    /// Whether there is such a page.
    fn has(&self, page: Page) -> Result<bool, ReadError> {
        match self.get(page) {
            Ok(_) => Ok(true),
            Err(NoPage::Unknown(_)) => Ok(false),
            Err(NoPage::Other(error)) => Err(error),
        }
    }
}

fn element_in(answer: &Answer) -> Result<Element, ReadError> {
    xml::document(&answer.body).map_err(|why| {
        let error = answer.is_not(Form::Xml.expected());
        ReadError(format!("{error}: {}", shown(&why, LONGEST_TEXT)))
    })
}

impl Form {
    /// What the answer is, as the end of a sentence.
    fn expected(self) -> &'static str {
        match self {
            Form::Json => "that of a statistics channel of BIND as JSON",
            Form::Xml => "that of a statistics channel of BIND as XML",
        }
    }
}

impl Document {
    fn is_statistics(&self) -> bool {
        match self {
            Document::Json(document) => document["json-stats-version"].is_string(),
            Document::Xml(document) => xml::is_statistics(document),
        }
    }

    fn version(&self) -> Option<&str> {
        match self {
            Document::Json(document) => document["version"].as_str(),
            Document::Xml(document) => xml::version(document),
        }
    }

    fn add_to(&self, reading: &mut Reading) {
        match self {
            Document::Json(document) => add(document, reading),
            Document::Xml(document) => xml::add(document, reading),
        }
    }
}

impl Statistics for Bind {
    fn describe(&mut self, watched: &mut Watched) -> Result<(), ReadError> {
        let document = self.find()?;
        watched.version = document.version().map(|version| shown(version, LONGEST_TEXT).into_owned());
        parameters::add(StatisticsKind::Bind, parameters::of_bind, &self.owners, watched);
        Ok(())
    }

    fn read(&mut self) -> Result<Reading, ReadError> {
        let mut reading = Reading::default();
        for page in &self.pages {
            self.get(*page)?.add_to(&mut reading);
        }
        Ok(reading)
    }
}

/// The series of a document of the statistics channel as JSON.
pub(super) fn add(document: &Value, reading: &mut Reading) {
    numbers(document, &mut Vec::new(), &mut |path, value| series::add(path, value, reading));
    // Otherwise it is that of the traffic: sizes only.
    if document["opcodes"].is_object() {
        series::complete(reading);
    }
}

const fn json(path: &'static str) -> Page {
    Page { path, form: Form::Json }
}

const fn xml_page(path: &'static str) -> Page {
    Page { path, form: Form::Xml }
}

/// The ways to ask: the page with the counters of the server, and that with the sizes of its messages.
const WAYS: [(Page, Option<Page>); 3] = [
    // The sizes are there since BIND 9.11.
    (json("/json/v1/server"), Some(json("/json/v1/traffic"))),
    (xml_page("/xml/v3/server"), Some(xml_page("/xml/v3/traffic"))),
    // Before BIND 9.10, in any version: everything.
    (xml_page("/"), None),
];
