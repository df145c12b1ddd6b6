//! What a server says of itself: `version.bind` and NSID (RFC 5001).

use dnsdyno_text::shown;
use domain::base::iana::{Class, OptionCode};
use domain::base::opt::AllOptData;
use domain::base::{Message, message::RecordSection};
use domain::rdata::Txt;

/// What a response says of its server.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Identity {
    /// The text of `version.bind`.
    pub(super) version: Option<String>,
    /// The name server identifier.
    pub(super) nsid: Option<String>,
}

/// The identity in a response, as far as it has one.
pub(super) fn of_response(bytes: &[u8]) -> Identity {
    let Ok(message) = Message::from_octets(bytes) else { return Identity::default() };
    Identity { version: version_in(&message), nsid: nsid_in(&message) }
}

/// The first TXT record of class CH in the answer section.
fn version_in(message: &Message<&[u8]>) -> Option<String> {
    let answers: RecordSection<'_, &[u8]> = message.answer().ok()?;
    let text = answers.limit_to::<Txt<&[u8]>>().flatten().find(|record| record.class() == Class::CH)?;
    let text: Vec<u8> = text.data().text();
    let text = String::from_utf8_lossy(&text);
    (!text.trim().is_empty()).then(|| shown(text.trim(), LONGEST).into_owned())
}

fn nsid_in(message: &Message<&[u8]>) -> Option<String> {
    let opt = message.opt()?;
    let octets = opt.opt().iter::<AllOptData<_, _>>().flatten().find_map(|option| match option {
        AllOptData::Nsid(nsid) => Some(nsid.as_slice().to_vec()),
        AllOptData::Other(other) if other.code() == OptionCode::NSID => Some(other.data().to_vec()),
        _ => None,
    })?;
    let as_text = std::str::from_utf8(&octets).ok().filter(|text| !text.chars().any(char::is_control));
    let text = as_text
        .map_or_else(|| octets.iter().map(|octet| format!("{octet:02x}")).collect::<String>(), str::to_owned);
    (!text.is_empty()).then(|| shown(&text, LONGEST).into_owned())
}

/// Characters shown of a name that a server gives itself.
const LONGEST: usize = 80;
