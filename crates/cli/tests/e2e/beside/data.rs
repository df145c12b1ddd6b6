//! Zones that `dnsdyno data` makes, in real servers: all of them give the same answers, of the sizes that were asked
//! for, also after the change.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::str::FromStr;
use std::time::Duration;

use dnsdyno_lab::{Server, ServerOptions};
use domain::base::iana::{Class, Rcode, Rtype};
use domain::base::message_builder::OptBuilder;
use domain::base::{Message, MessageBuilder, Name};
use domain::rdata::AllRecordData;

use crate::support::{Workplace, has_program, may_unshare, real_server};

const SERVERS: [&str; 4] = ["bind", "nsd", "knot", "pdns"];

/// What a server answered: the records in order of their text, and the octets up to the end of the answer section.
#[derive(Debug, PartialEq, Eq)]
struct Answer {
    records: BTreeSet<String>,
    octets: usize,
}

/// A question: name without the final dot, and type.
type Question = (String, Rtype);

/// Asks over TCP, with EDNS.
fn ask(server: SocketAddr, (name, rtype): &Question) -> Answer {
    let mut query = MessageBuilder::new_vec();
    query.header_mut().set_id(7);
    let mut query = query.question();
    query.push((Name::<Vec<u8>>::from_str(name).unwrap(), *rtype, Class::IN)).unwrap();
    let mut query = query.additional();
    let with_edns = |opt: &mut OptBuilder<_>| {
        opt.set_udp_payload_size(4096);
        Ok(())
    };
    query.opt(with_edns).unwrap();
    let query = query.finish();

    let mut stream = TcpStream::connect(server).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let length = u16::try_from(query.len()).unwrap().to_be_bytes();
    stream.write_all(&[&length[..], &query].concat()).unwrap();
    let mut length = [0; 2];
    stream.read_exact(&mut length).unwrap();
    let mut response = vec![0; usize::from(u16::from_be_bytes(length))];
    stream.read_exact(&mut response).unwrap();

    let message = Message::from_octets(response).unwrap();
    assert_eq!(message.header().rcode(), Rcode::NOERROR, "{name} {rtype}");
    let mut section = message.answer().unwrap();
    let mut records = BTreeSet::new();
    for record in section.by_ref() {
        let record = record.unwrap();
        let record = record.to_any_record::<AllRecordData<_, _>>().unwrap();
        let text = format!("{} {} {}", record.owner(), record.ttl().as_secs(), record.data());
        records.insert(text.to_ascii_lowercase());
    }
    Answer { records, octets: section.pos() }
}

/// All answers that a client could want, from these questions on along the chains.
fn walk(server: SocketAddr, first: &[Question]) -> BTreeMap<Question, Answer> {
    let mut found = BTreeMap::new();
    let mut waiting: VecDeque<Question> = first.iter().cloned().collect();
    while let Some(question) = waiting.pop_front() {
        if found.contains_key(&question) {
            continue;
        }
        let answer = ask(server, &question);
        for record in &answer.records {
            let words: Vec<&str> = record.split(' ').collect();
            let target = || words.last().unwrap().trim_end_matches('.').to_owned();
            match question.1 {
                Rtype::NAPTR => {
                    let flags = words.get(4).unwrap().trim_matches('"');
                    let next = match flags {
                        "a" => Rtype::A,
                        "s" => Rtype::SRV,
                        "" => Rtype::NAPTR,
                        other => panic!("flags {other:?} in {record}"),
                    };
                    waiting.push_back((target(), next));
                }
                Rtype::SRV => waiting.extend([(target(), Rtype::A)]),
                _ => {}
            }
        }
        assert!(!answer.records.is_empty(), "{question:?}");
        found.insert(question, answer);
    }
    found
}

/// A server with what a folder's configuration names.
fn with_zones(name: &str, include: &Path) -> Option<Server> {
    let include = include.display();
    let more = match name {
        "bind" | "pdns" => format!("include \"{include}\";"),
        _ => format!("include: \"{include}\""),
    };
    let values = [("more_zones".to_owned(), more)].into();
    real_server(
        name,
        &ServerOptions { values, ready_within: Duration::from_secs(60), ..ServerOptions::default() },
    )
}

fn include_of(folder: &Path, server: &str) -> std::path::PathBuf {
    folder.join(if server == "pdns" { "bind.conf".to_owned() } else { format!("{server}.conf") })
}

fn naptr(name: &str) -> Question {
    (name.to_owned(), Rtype::NAPTR)
}

/// Each zone file of a folder, as the configuration of BIND names them, passes `named-checkzone`.
fn are_accepted(folder: &Path) {
    if !has_program("named-checkzone") {
        return;
    }
    let text = fs::read_to_string(folder.join("bind.conf")).unwrap();
    let zones = text.lines().filter_map(|line| {
        let mut quoted = line.split('"');
        Some((quoted.nth(1)?.to_owned(), quoted.nth(1)?.to_owned()))
    });
    let mut zones: Vec<(String, String)> = zones.take(5).collect();
    assert!(!zones.is_empty(), "{text}");
    let after = folder.join("after/epc.zone");
    if let Some((origin, _)) =
        zones.iter().find(|(origin, _)| origin.starts_with("epc.")).filter(|_| after.exists())
    {
        zones.push((origin.clone(), after.display().to_string()));
    }
    for (origin, file) in zones {
        let ran = Command::new("named-checkzone").args(["-i", "full", &origin, &file]).output().unwrap();
        let said = String::from_utf8_lossy(&ran.stdout);
        assert!(ran.status.success() && said.trim_end().ends_with("OK"), "{origin}: {said}");
    }
}

#[test]
fn four_servers_give_the_same_answers_of_the_sizes_that_were_asked_for() {
    let work = Workplace::new();
    for (size, octets) in [("4k", 4_000_usize), ("11k", 11_000), ("23k", 23_000)] {
        work.dnsdyno(&format!("data epc --out {size} --answer-size {size} --tacs 70 --apns 4 --pgws 30"))
            .gives(0);
        are_accepted(&work.path(size));
        let epc = "epc.mnc010.mcc440.3gppnetwork.org";
        let core = "5gc.mnc010.mcc440.3gppnetwork.org";
        let areas = ["01.tac-hb10", "20.tac-hb10", "01.tac-hb11"]
            .map(|area| naptr(&format!("tac-lb{area}.tac.{epc}")));
        let points = ["internet", "ims", "apn002.corp.example"].map(|apn| naptr(&format!("{apn}.apn.{epc}")));
        let others = [
            naptr(&format!("mmec01.mmegi8001.mme.{epc}")),
            naptr(&format!("tac-lb01.tac-mb10.tac-hb00.5gstac.{core}")),
            naptr(&format!("set001.region01.amfset.{core}")),
            (format!("nrf.{core}"), Rtype::A),
        ];
        let first: Vec<Question> = areas.iter().chain(&points).chain(&others).cloned().collect();
        let mut seen: Option<(&str, BTreeMap<Question, Answer>)> = None;
        for name in SERVERS {
            let Some(server) = with_zones(name, &include_of(&work.path(size), name)) else { continue };
            let answers = walk(server.address(), &first);
            for area in &areas {
                // The OPT record is in another section.
                let response = answers[area].octets + 11;
                assert!(response.abs_diff(octets) * 50 <= octets, "{name}: {response} bytes, not {octets}");
            }
            match &seen {
                None => seen = Some((name, answers)),
                Some((other, expected)) => {
                    assert_eq!(answers.len(), expected.len());
                    for (question, answer) in &answers {
                        assert_eq!(answer, &expected[question], "{question:?}: {name} and {other}");
                    }
                }
            }
        }
    }
}

#[test]
fn the_change_of_a_running_server_gives_the_zone_that_another_loads() {
    if !has_program("knsupdate") {
        return;
    }
    let work = Workplace::new();
    work.dnsdyno("data epc --out data --ip v6-added --per-answer 93 --tacs 70 --apns 3").gives(0);
    are_accepted(&work.path("data"));
    let conf = work.read("data/nsd.conf").replace("/epc.zone", "/after/epc.zone");
    work.write("after.conf", conf);
    let Some(loads_it) = with_zones("nsd", &work.path("after.conf")) else { return };
    let epc = "epc.mnc010.mcc440.3gppnetwork.org";
    let area = naptr(&format!("tac-lb01.tac-hb10.tac.{epc}"));
    let first = [area.clone(), naptr(&format!("internet.apn.{epc}")), (epc.to_owned(), Rtype::SOA)];
    let expected = walk(loads_it.address(), &first);
    assert_eq!(expected[&area].records.len(), 93 + 46);
    // BIND last: it writes what has changed into the folder.
    for name in ["knot", "bind"] {
        let Some(server) = with_zones(name, &include_of(&work.path("data"), name)) else { continue };
        let before = ask(server.address(), &area);
        assert_eq!(before.records.len(), 93);
        let address = server.address();
        let script =
            format!("server {} {}\n{}", address.ip(), address.port(), work.read("data/change.nsupdate"));
        let mut update = Command::new("knsupdate");
        let mut update = update.arg("-v").stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        update.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
        let ended = update.wait_with_output().unwrap();
        assert!(ended.status.success(), "{name}: {}", String::from_utf8_lossy(&ended.stderr));
        assert_eq!(walk(address, &first), expected, "{name}");
    }
}

#[test]
fn zones_of_the_other_kinds_are_served_by_all_and_each_query_has_an_answer() {
    let work = Workplace::new();
    work.dnsdyno("data plain --out plain --zones 40 --hosts 5").gives(0);
    work.dnsdyno("data catalog --out catalog --members 300 --outside 20").gives(0);
    work.dnsdyno("data enum --out enum --numbers 500 --apex enum.example").gives(0);
    for (folder, queries) in [("plain", 200), ("catalog", 300), ("enum", 500)] {
        are_accepted(&work.path(folder));
        for name in SERVERS {
            let Some(server) = with_zones(name, &include_of(&work.path(folder), name)) else { continue };
            let run = format!("{folder}-{name}");
            let words = format!("run -s {} -d {folder}/queries.txt --rate 500", server.address());
            work.dnsdyno(&format!("{words} --passes 1 --quiet -o {run}")).gives(0);
            let digest = work.record(&run);
            let tally = digest.tally();
            assert_eq!((tally.scheduled, tally.rcodes.of(0)), (queries, queries), "{run}");
            if folder == "catalog" {
                let of = |name: &str| ask(server.address(), &(name.to_owned(), Rtype::PTR)).records.len();
                assert_eq!(of("m299.zones.catalog.example"), 1);
            }
        }
    }
}

#[test]
fn a_hundred_thousand_members_are_made_and_nothing_is_overwritten() {
    let work = Workplace::new();
    work.dnsdyno("data catalog --out many --members 100k").gives(0);
    assert_eq!(work.read("many/catalog.zone").matches(" IN PTR ").count(), 100_000);
    work.dnsdyno("data catalog --out many --members 3")
        .ends_refused(2, &["many is not empty", "name another folder"]);
    assert_eq!(work.read("many/catalog.zone").matches(" IN PTR ").count(), 100_000);
    work.dnsdyno("data epc --out small --answer-size 200").ends_refused(2, &["--answer-size", "at least"]);
    work.dnsdyno("data epc --out small --tacs 65535").ends_refused(2, &["--tacs", "65534"]);
    assert!(!work.has("small"));
}

#[test]
fn a_disk_without_space_is_reported_and_nothing_is_left() {
    if !may_unshare("-m") {
        return;
    }
    let work = Workplace::new();
    let script = "mkdir full && mount -t tmpfs -o size=64k none full && \"$0\" data epc --out full/data; code=$?; \
                  ls full > left; exit $code";
    work.shell_apart("-m", script).ends_refused(3, &["No space left", "full/data/epc.zone"]);
    assert_eq!(work.read("left"), "");
}
