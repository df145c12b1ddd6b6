//! EDNS options that differ from query to query: client subnet, cookie, padding. They are appended to the OPT record
//! of a message when it is sent; a message without one gets one.
//!
//! A message that is signed already is left as it is: a change would make its signature wrong.

use std::sync::Arc;

use dnsdyno_wire::{
    Additional, DEFAULT_EDNS_SIZE, HEADER_LEN, OPT_LEN, OPTION_HEAD_LEN, TYPE_OPT, TYPE_SIG, TYPE_TSIG,
};

use super::cookies::{COOKIE_OPTION, Jar, LONGEST_COOKIE};
use super::ecs::{EcsChoice, LONGEST_ECS};
use super::maker::{Checked, Maker, QueryToMake, ResponseToCheck, WorkerMaker, WorkerShare};

/// The options of the queries of a run that differ from query to query.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct EdnsPerQuery {
    /// The client subnet.
    pub ecs: Option<EcsChoice>,
    /// Whether queries carry cookies.
    pub has_cookies: bool,
    /// Messages are padded to a multiple of this many octets.
    pub padding_bytes: Option<u16>,
    /// The octets of the record that is appended afterwards, the signature; padding counts them.
    pub appended_bytes: usize,
    /// The random seed.
    pub seed: u64,
}

impl EdnsPerQuery {
    /// The maker of these options; `None` where there are none.
    pub fn maker(self) -> Option<Arc<dyn Maker>> {
        if self.is_any() { Some(Arc::new(self)) } else { None }
    }

    /// Whether there is any.
    pub fn is_any(&self) -> bool {
        self.ecs.is_some() || self.has_cookies || self.padding_bytes.is_some()
    }
}

impl Maker for EdnsPerQuery {
    fn begin(&self, share: WorkerShare) -> Box<dyn WorkerMaker> {
        let jar = self.has_cookies.then(|| Jar::new(self.seed, share.worker));
        Box::new(WorkerEdns { options: self.clone(), share, jar })
    }

    fn changes_question(&self) -> bool {
        false
    }

    fn checks_responses(&self) -> bool {
        self.has_cookies
    }

    fn longest_addition(&self) -> usize {
        let padding = self.padding_bytes.map_or(0, |block| OPTION_HEAD_LEN + usize::from(block));
        let ecs = if self.ecs.is_some() { OPTION_HEAD_LEN + LONGEST_ECS } else { 0 };
        let cookie = if self.has_cookies { OPTION_HEAD_LEN + LONGEST_COOKIE } else { 0 };
        OPT_LEN + ecs + cookie + padding
    }
}

struct WorkerEdns {
    options: EdnsPerQuery,
    share: WorkerShare,
    jar: Option<Jar>,
}

impl WorkerMaker for WorkerEdns {
    fn make(&mut self, query: &QueryToMake, message: &mut Vec<u8>) {
        let Some(opt) = Opt::of(message) else { return };
        let end = message.len();
        if let Some(ecs) = &self.options.ecs {
            let client = query.channel as u64 * u64::from(self.share.workers) + u64::from(self.share.worker);
            let (data, length) = ecs.data(query.number, client);
            append(message, EcsChoice::OPTION, &data[..length]);
        }
        if let Some(jar) = &self.jar {
            let (data, length) = jar.cookie_of(query.channel);
            append(message, COOKIE_OPTION, &data[..length]);
        }
        if let Some(block) = self.options.padding_bytes {
            let length = message.len() + OPTION_HEAD_LEN + self.options.appended_bytes;
            append_zeros(message, length.next_multiple_of(usize::from(block)) - length);
        }
        opt.close(message, end);
    }

    /// Without EDNS there is no option.
    fn make_bare(&mut self, _query: &QueryToMake, _message: &mut Vec<u8>) {}

    fn prepare(&mut self, _slots: usize, channels: usize) {
        if let Some(jar) = &mut self.jar {
            jar.prepare(channels);
        }
    }

    fn check(&mut self, response: &ResponseToCheck<'_>) -> Checked {
        let cookie = self.jar.as_mut().map(|jar| jar.check(response.channel, response.bytes));
        Checked { tsig: None, cookie }
    }
}

/// The OPT record of a message to which options are appended.
struct Opt {
    /// Where the length of its data is.
    length_at: usize,
    /// Where it ends.
    end: usize,
}

impl Opt {
    /// Finds the OPT record, or appends one. `None` if the message is to stay as it is: it cannot be read, or is
    /// signed.
    fn of(message: &mut Vec<u8>) -> Option<Opt> {
        let records = Additional::of(message).ok()?;
        let mut found = None;
        for record in records {
            let record = record.ok()?;
            match record.rtype {
                TYPE_OPT => found = Some(Opt { length_at: record.data - 2, end: record.end }),
                TYPE_TSIG | TYPE_SIG => return None,
                _ => {}
            }
        }
        if found.is_some() {
            return found;
        }
        let additional = message.get_mut(ADDITIONAL_COUNT..HEADER_LEN)?;
        let count = u16::from_be_bytes([additional[0], additional[1]]).checked_add(1)?;
        additional.copy_from_slice(&count.to_be_bytes());
        message.push(0);
        message.extend_from_slice(&TYPE_OPT.to_be_bytes());
        message.extend_from_slice(&DEFAULT_EDNS_SIZE.to_be_bytes());
        message.extend_from_slice(&[0; 6]);
        Some(Opt { length_at: message.len() - 2, end: message.len() })
    }

    /// Moves the options that were appended to the message after `appended_at` to the end of the record, and counts
    /// them in its length.
    fn close(self, message: &mut [u8], appended_at: usize) {
        let appended = message.len() - appended_at;
        if let Some(after) = message.get_mut(self.end..) {
            after.rotate_right(appended);
        }
        if let Some(length) = message.get_mut(self.length_at..self.length_at + 2) {
            let whole = u16::from_be_bytes([length[0], length[1]]).saturating_add(appended as u16);
            length.copy_from_slice(&whole.to_be_bytes());
        }
    }
}

fn append(message: &mut Vec<u8>, code: u16, data: &[u8]) {
    message.extend_from_slice(&code.to_be_bytes());
    message.extend_from_slice(&(data.len() as u16).to_be_bytes());
    message.extend_from_slice(data);
}

fn append_zeros(message: &mut Vec<u8>, count: usize) {
    append(message, PADDING_OPTION, &[]);
    let length_at = message.len() - 2;
    message[length_at..].copy_from_slice(&(count as u16).to_be_bytes());
    message.resize(message.len() + count, 0);
}

/// The code of the padding option (RFC 7830).
const PADDING_OPTION: u16 = 12;

/// The position of ARCOUNT in the header.
const ADDITIONAL_COUNT: usize = 10;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prefix::SourcePrefix;
    use dnsdyno_wire::{EdnsOptions, QueryForm, encode_name};

    const ALONE: WorkerShare = WorkerShare { worker: 0, workers: 1, start_unix_ns: 0 };
    const FIRST: QueryToMake =
        QueryToMake { number: 0, question: 0, channel: 0, slot: 0, due_ns: 0, at_ns: 0 };

    fn message(form: QueryForm) -> Vec<u8> {
        let (mut name, mut message) = (Vec::new(), Vec::new());
        encode_name(b"www.example", &mut name).unwrap();
        form.encode(&name, 1, &mut message);
        message
    }

    fn made(options: &EdnsPerQuery, mut message: Vec<u8>) -> Vec<u8> {
        let mut worker = options.begin(ALONE);
        worker.prepare(1, 1);
        worker.make(&FIRST, &mut message);
        message
    }

    /// The data of OPT.
    fn data_of(message: &[u8]) -> &[u8] {
        let opt =
            Additional::of(message).unwrap().map(Result::unwrap).find(|it| it.rtype == TYPE_OPT).unwrap();
        &message[opt.data..opt.end]
    }

    fn fixed_ecs() -> EdnsPerQuery {
        let ecs = EcsChoice::fixed(SourcePrefix::parse("192.0.2.0/24").unwrap());
        EdnsPerQuery { ecs: Some(ecs), ..EdnsPerQuery::default() }
    }

    #[test]
    fn options_are_appended_to_the_opt_record_or_to_a_new_one() {
        let plain = made(&fixed_ecs(), message(QueryForm::default()));
        assert_eq!(data_of(&plain), b"\0\x08\0\x07\0\x01\x18\0\xc0\0\x02");
        let mut options = EdnsOptions::default();
        assert!(options.push(65001, b"x"));
        let both = made(&fixed_ecs(), message(QueryForm { options, ..QueryForm::default() }));
        assert_eq!(data_of(&both), b"\xfd\xe9\0\x01x\0\x08\0\x07\0\x01\x18\0\xc0\0\x02");
        assert_eq!(&both[ADDITIONAL_COUNT..HEADER_LEN], [0, 1]);
    }

    #[test]
    fn records_after_opt_stay_after_it_and_a_signed_message_stays_as_it_is() {
        let mut with_record = message(QueryForm { edns_size: Some(512), ..QueryForm::default() });
        with_record[11] += 1;
        let record = b"\0\0\x10\0\x01\0\0\0\0\0\x01x";
        with_record.extend_from_slice(record);
        let after = made(&fixed_ecs(), with_record.clone());
        assert!(after.ends_with(record) && data_of(&after).len() == 11);
        let at = with_record.len() - record.len() + 2;
        with_record[at] = 250;
        assert_eq!(made(&fixed_ecs(), with_record.clone()), with_record);
    }

    #[test]
    fn a_message_is_padded_to_a_whole_block_with_its_signature() {
        for appended_bytes in [0, 77, 95] {
            let options = EdnsPerQuery { padding_bytes: Some(128), appended_bytes, ..fixed_ecs() };
            let length = made(&options, message(QueryForm::default())).len();
            assert_eq!((length + appended_bytes) % 128, 0);
            assert!(length <= message(QueryForm::default()).len() + options.longest_addition());
        }
    }

    #[test]
    fn a_message_without_edns_has_no_option() {
        let mut worker = EdnsPerQuery { has_cookies: true, ..fixed_ecs() }.begin(ALONE);
        let mut bare = message(QueryForm::default());
        worker.make_bare(&FIRST, &mut bare);
        assert_eq!(bare, message(QueryForm::default()));
    }
}
