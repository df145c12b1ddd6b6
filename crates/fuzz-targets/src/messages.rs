//! Files of dynamic updates, and what is checked of a response: its signature and its cookie.

use std::io::Cursor;
use std::path::Path;

use dnsdyno_plan::{Draft, Host};
use dnsdyno_queries::{
    QueriesFormat, QueryToMake, Reading, ResponseToCheck, Selection, TsigFound, WorkerShare, read_input,
};
use dnsdyno_wire::{Additional, HEADER_LEN, peek};

/// A file of dynamic updates.
pub fn updates(text: &[u8]) {
    let selection = Selection { format: QueriesFormat::Updates, ..Selection::default() };
    let reading = Reading { selection, ..Reading::default() };
    let input = Box::new(Cursor::new(text.to_vec()));
    let Ok(loaded) = read_input(input, "updates", text.len(), &reading) else { return };
    for i in 0..loaded.queries.len() {
        let message = loaded.queries.message(i);
        let found = peek(message).expect("an update is a message");
        assert_eq!((found.opcode(), found.qtype()), (5, Some(6)));
        let records = Additional::of(message).expect("the records of an update end with it");
        assert_eq!(records.remaining(), 0);
    }
}

/// A response to a signed query with a cookie: nothing that is not signed is taken for signed.
pub fn checked_response(packet: &[u8]) {
    let draft = Draft {
        server: Some("127.0.0.1".to_owned()),
        ask: Some(vec!["www.example".to_owned()]),
        tsig: Some("key.example:c2VjcmV0IQ==".to_owned().into()),
        cookie: Some(true),
        seed: Some("1".to_owned()),
        ..Draft::default()
    };
    let host = Host {
        cores: 1,
        working_dir: Path::new("/"),
        fresh_seed: 1,
        resolve: &|_, _| Ok(Vec::new()),
        is_local: &|_| true,
    };
    let plan = draft.validate(&host).expect("a good plan");
    let rcode = peek(packet).map_or(0, |response| response.rcode);
    for maker in plan.messages.makers().expect("no file is read") {
        let mut worker = maker.begin(WorkerShare { worker: 0, workers: 1, start_unix_ns: 0 });
        worker.prepare(1, 1);
        let mut message = b"\0\x01\x01\0\0\x01\0\0\0\0\0\0\x01a\0\0\x01\0\x01".to_vec();
        let query = QueryToMake { number: 0, question: 0, channel: 0, slot: 0, due_ns: 0, at_ns: 0 };
        worker.make(&query, &mut message);
        let mut is_verified = |bytes: &[u8]| {
            let found = worker.check(&ResponseToCheck { slot: 0, channel: 0, at_ns: 0, rcode, bytes });
            matches!(found.tsig, Some(TsigFound::Verified(_)))
        };
        // A response of the corpus may be signed correctly; with another question it is not.
        if is_verified(packet) {
            let mut other = packet.to_vec();
            other[HEADER_LEN + 1] ^= 1;
            assert!(!is_verified(&other), "{packet:?}");
        }
    }
}
