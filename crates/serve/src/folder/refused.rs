//! What a request gets where there is no page for it: a status and a sentence.

use std::fmt;
use std::io;

use dnsdyno_page::PageError;
use dnsdyno_text::shown;
use http::StatusCode;

use super::request::BadRequest;
use super::runs::{Found, NotFound};

/// Why a request gets a sentence and no page.
#[derive(Debug)]
pub(super) struct Refused {
    pub(super) status: StatusCode,
    pub(super) sentence: String,
}

impl Refused {
    pub(super) fn folder(error: io::Error) -> Refused {
        let sentence = format!("The folder of runs cannot be read: {error}.");
        Refused { status: StatusCode::INTERNAL_SERVER_ERROR, sentence }
    }

    /// A record that cannot be read is no failure of the server: the sentence says what is wrong with it.
    pub(super) fn page(error: impl fmt::Display) -> Refused {
        let sentence = shown(&format!("There is no page: {error}."), LONGEST_SENTENCE).into_owned();
        Refused { status: StatusCode::UNPROCESSABLE_ENTITY, sentence }
    }

    pub(super) fn search(search: &Found) -> Refused {
        let sentence = format!(
            "{} is a search for the limit of a server: its own page is {}, and runs are compared with runs.",
            search.name,
            search.address()
        );
        Refused { status: StatusCode::BAD_REQUEST, sentence }
    }

    pub(super) fn failed() -> Refused {
        let sentence = "The page was not made, by an error of dnsdyno itself.".to_owned();
        Refused { status: StatusCode::INTERNAL_SERVER_ERROR, sentence }
    }
}

impl From<BadRequest> for Refused {
    fn from(bad: BadRequest) -> Refused {
        let status = match bad {
            BadRequest::Unknown => StatusCode::NOT_FOUND,
            BadRequest::Name | BadRequest::NoRuns | BadRequest::TooManyRuns => StatusCode::BAD_REQUEST,
        };
        Refused { status, sentence: bad.sentence() }
    }
}

impl From<NotFound> for Refused {
    fn from(not: NotFound) -> Refused {
        let status = match not {
            NotFound::NoRun => StatusCode::NOT_FOUND,
            NotFound::LeadsOut | NotFound::NoFile => StatusCode::FORBIDDEN,
        };
        Refused { status, sentence: not.to_string() }
    }
}

impl From<PageError> for Refused {
    fn from(error: PageError) -> Refused {
        Refused::page(error)
    }
}

/// Beyond the longest path with the words around it.
const LONGEST_SENTENCE: usize = 4_096;
