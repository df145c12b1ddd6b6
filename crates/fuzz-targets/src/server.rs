//! What clients and administrators give to our own servers: queries, zone files, lists, captures.

use std::path::Path;
use std::sync::{Arc, LazyLock};

use clap::Parser;
use dnsdyno_responder::answer::{Reply, Via, answer};
use dnsdyno_responder::{Echo, Rule, Zone};
use dnsdyno_wire::{Additional, TYPE_OPT, encode_name, peek};
use dnsdyno_world::{World, WorldOptions};

use crate::folder::{in_folder, write};
use crate::plain::is_plain;

/// A query as the responder gets it, answered by each of its rules.
pub fn server_query(query: &[u8]) {
    for rule in RULES.iter() {
        is_answered(rule, query);
    }
}

/// A zone file of the responder: what was read answers.
pub fn responder_zone(text: &[u8]) {
    match Zone::parse(text, Path::new("zone"), Some("example.")) {
        Ok(zone) => {
            assert!(zone.name_count() > 0);
            let rule = Rule::Zone(Arc::new(zone));
            for (name, qtype) in [("example", 6), ("www.example", 1), ("none.a.example", 28), (".", 255)] {
                let mut query = b"\x12\x34\x01\0\0\x01\0\0\0\0\0\0".to_vec();
                encode_name(name.as_bytes(), &mut query).expect("a name");
                query.extend([0, qtype, 0, 1]);
                is_answered(&rule, &query);
            }
        }
        Err(error) => is_plain(&error.to_string()),
    }
}

/// The list of names, or the capture, that a world is made of. The first octet says which.
pub fn world_source(bytes: &[u8]) {
    let Some((kind, file)) = bytes.split_first() else { return };
    let option = if kind % 2 == 0 { "--list" } else { "--capture" };
    in_folder("world_source", |folder| {
        let path = folder.join("source");
        write(&path, file);
        let words = [Path::new("world"), Path::new(option), &path, Path::new("--signed=50%")];
        let line = Line::try_parse_from(words).expect("options of a world");
        match World::new(&line.options) {
            Ok(world) => {
                assert!(!world.root_hints().is_empty());
                // What it has at names that a capture may show.
                for name in
                    ["www.example.com", "alias.example.com", "x.a1.example.org", "none.example.com", "."]
                {
                    let explained = world.explain(name).expect("a name is explained");
                    explained.to_text().lines().for_each(is_plain);
                }
                if let Ok(Some(report)) = world.capture_report() {
                    let counted = report.kept + report.unanswered;
                    assert!(counted <= report.queries);
                    report.to_text().lines().for_each(is_plain);
                }
            }
            Err(error) => error.to_string().lines().for_each(is_plain),
        }
    });
}

/// The response is whole, belongs to the query, and is no longer than the client accepts.
fn is_answered(rule: &Rule, query: &[u8]) {
    for via in [Via::Udp, Via::Tcp] {
        let mut response = Vec::new();
        let Reply::Answer { rcode, truncated } = answer(rule, query, via, &mut response) else {
            assert!(response.is_empty());
            continue;
        };
        let found = peek(&response).expect("a response is a message");
        assert_eq!(&response[..2], &query[..2]);
        assert!(found.is_response());
        assert_eq!((found.rcode, found.is_truncated()), (rcode, truncated));
        if let (Ok(asked), false) = (peek(query), found.question.is_empty()) {
            assert_eq!(asked.question, found.question);
        }
        let additional = Additional::of(&response).expect("its records are whole");
        let end = additional.map(|record| record.expect("a whole record").end).last();
        assert!(end.is_none_or(|end| end == response.len()));
        // The size of an OPT record counts also where its options break off.
        let mut records = Additional::of(query).into_iter().flatten().map_while(Result::ok);
        let opt = records.find(|record| record.rtype == TYPE_OPT);
        let most = opt.map_or(512, |opt| opt.class.max(512));
        assert!(via == Via::Tcp || response.len() <= usize::from(most), "{} octets", response.len());
    }
}

static RULES: LazyLock<[Rule; 4]> = LazyLock::new(|| {
    let zone = Zone::parse(ZONE, Path::new("zone"), None).expect("a good zone");
    [
        Rule::Echo(Echo::default()),
        Rule::Zone(Arc::new(zone)),
        Rule::FixedSize { bytes: 900 },
        Rule::Truncate(Box::new(Rule::Echo(Echo::default()))),
    ]
});

const ZONE: &[u8] = b"$ORIGIN example.\n$TTL 60\n@ SOA ns root 1 2 3 4 5\n@ NS ns\nns A 192.0.2.1\n\
    www CNAME web\nweb A 192.0.2.2\nweb AAAA 2001:db8::2\n*.wild TXT \"any\"\na.b.c MX 1 web\n";

/// The options of a world, as on a command line.
#[derive(Parser)]
struct Line {
    #[command(flatten)]
    options: WorldOptions,
}
