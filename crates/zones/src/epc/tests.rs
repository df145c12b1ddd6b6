//! The zones as another reader understands them: chains, sizes, closeness, the change.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use dnsdyno_clients::{Description, Names};

use super::*;
use crate::zone_files::{read_zone, texts};

const ORIGIN: &str = "epc.mnc010.mcc440.3gppnetwork.org.";

pub(super) fn options() -> EpcOptions {
    EpcOptions {
        mcc: "440".into(),
        mnc: "10".into(),
        tacs: 200,
        each_tac: false,
        apns: 20,
        sgws: 60,
        pgws: 60,
        mmes: 16,
        tac_zipf: 0.0,
        apn_zipf: 1.0,
        per_answer: PerAnswer::Gateways,
        addresses: Addresses::V4,
        v6_users: 1.0 / 3.0,
        cache_entries: None,
        name_servers: 14,
        ttl_s: 300,
        seed: 1,
    }
}

/// The files that options give, by path; the folder itself is not in them.
fn files(options: &EpcOptions) -> BTreeMap<String, String> {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("data");
    let written = EpcData::make(options).unwrap().write(Folder::make(&path).unwrap()).unwrap();
    assert_eq!(written, path);
    let mut files = texts(&path);
    let here = place.path().display().to_string();
    files.values_mut().for_each(|text| *text = text.replace(&here, "/place"));
    files
}

/// RRsets by name and type.
type Sets = HashMap<(String, String), Vec<String>>;

fn sets_of(text: &str, origin: &str) -> Sets {
    let mut sets = Sets::new();
    for (owner, rtype, data) in read_zone(text, origin) {
        let set = sets.entry((owner, rtype)).or_default();
        assert!(!set.contains(&data), "twice: {data}");
        set.push(data);
    }
    sets
}

/// Every replacement and target has what its record says that it has, and every chain ends with addresses.
fn chains_are_complete(sets: &Sets, origin: &str) {
    let has = |name: &str, rtype: &str| sets.contains_key(&(name.to_owned(), rtype.to_owned()));
    let mut followed = 0;
    for ((owner, rtype), records) in sets {
        for record in records {
            let words: Vec<&str> = record.split(' ').collect();
            let (target, wanted) = match (rtype.as_str(), words.as_slice()) {
                ("NAPTR", [_, _, "\"a\"", _, "\"\"", target]) => (target, "A"),
                ("NAPTR", [_, _, "\"s\"", _, "\"\"", target]) => (target, "SRV"),
                ("NAPTR", [_, _, "\"\"", _, "\"\"", target]) => (target, "NAPTR"),
                ("NAPTR", _) => panic!("{owner} {record}"),
                ("SRV", [_, _, "2123", target]) => (target, "A"),
                ("NS", [target]) => (target, "A"),
                _ => continue,
            };
            assert!(target.ends_with(origin) && has(target, wanted), "{owner} {record}: no {wanted}");
            followed += 1;
        }
    }
    assert!(followed > 14, "no more than the {followed} of name servers");
}

#[test]
fn every_chain_leads_to_an_address() {
    let variants = [
        options(),
        EpcOptions { per_answer: PerAnswer::Octets(23_000), ..options() },
        EpcOptions { addresses: Addresses::V6Added, per_answer: PerAnswer::Records(93), ..options() },
        EpcOptions {
            addresses: Addresses::Dual,
            each_tac: true,
            per_answer: PerAnswer::Records(5),
            ..options()
        },
        EpcOptions {
            sgws: 1,
            pgws: 1,
            mmes: 1,
            apns: 1,
            tacs: 1,
            addresses: Addresses::V6Added,
            ..options()
        },
        EpcOptions { sgws: 7, pgws: 13, mmes: 3, apns: 50, ..options() },
    ];
    for options in variants {
        let files = files(&options);
        for (file, origin) in [("epc.zone", ORIGIN), ("5gc.zone", "5gc.mnc010.mcc440.3gppnetwork.org.")] {
            let sets = sets_of(&files[file], origin);
            chains_are_complete(&sets, origin);
            assert_eq!(sets[&(origin.to_owned(), "NS".to_owned())].len(), 14);
        }
        if let Some(after) = files.get("after/epc.zone") {
            chains_are_complete(&sets_of(after, ORIGIN), ORIGIN);
        }
    }
}

#[test]
fn answers_have_the_size_that_was_asked_for() {
    for (wanted, sgws) in [
        (600, 60),
        (1_200, 60),
        (4_000, 60),
        (4_000, 7),
        (11_000, 60),
        (11_000, 250),
        (23_000, 60),
        (40_000, 3),
    ] {
        for each_tac in [false, true] {
            let options = EpcOptions { per_answer: PerAnswer::Octets(wanted), sgws, each_tac, ..options() };
            let data = EpcData::make(&options).unwrap();
            let of_areas = &data.answers()[0];
            assert_eq!(of_areas.names, if each_tac { 200 } else { 4 });
            assert!(of_areas.octets.is_near(wanted as usize), "{wanted} with {sgws}: {of_areas:?}");
        }
    }
}

#[test]
fn the_zone_file_has_the_answers_whose_sizes_are_told() {
    let options = EpcOptions { per_answer: PerAnswer::Octets(11_000), ..options() };
    let data = EpcData::make(&options).unwrap();
    let sets = sets_of(&files(&options)["epc.zone"], ORIGIN);
    let mut sizes = BTreeSet::new();
    for ((owner, _), records) in sets.iter().filter(|((owner, _), _)| owner.contains(".tac-hb")) {
        // By the rules of the wire and not by the crate's own: NAPTR behind a pointer to the question.
        let of_record = |record: &String| {
            let words: Vec<&str> = record.split(' ').collect();
            let [_, _, flags, service, _, name] = words[..] else { panic!("{record}") };
            2 + 10 + 4 + (flags.len() - 1) + (service.len() - 1) + 1 + name.len() + 1
        };
        let question = owner.replace('*', "tac-lb01").len() + 1;
        sizes.insert(12 + question + 4 + 11 + records.iter().map(of_record).sum::<usize>());
    }
    let told = data.answers()[0].octets;
    assert_eq!((sizes.first().copied(), sizes.last().copied()), (Some(told.least), Some(told.most)));
}

#[test]
fn what_cannot_be_had_is_refused_with_what_can() {
    let wrong = [
        (EpcOptions { per_answer: PerAnswer::Octets(100), ..options() }, "at least"),
        (EpcOptions { per_answer: PerAnswer::Octets(70_000), ..options() }, "65535"),
        (EpcOptions { per_answer: PerAnswer::Records(0), ..options() }, "at least one record"),
        (EpcOptions { per_answer: PerAnswer::Records(1_000), ..options() }, "at most"),
        (EpcOptions { sgws: 1_000, ..options() }, "for fewer gateways"),
        (
            EpcOptions { per_answer: PerAnswer::Octets(50_000), addresses: Addresses::V6Added, ..options() },
            "after the change",
        ),
        (EpcOptions { tacs: 65_535, ..options() }, "65534"),
        (EpcOptions { tacs: 0, ..options() }, "--tacs"),
        (EpcOptions { tacs: 60_000, each_tac: true, ..options() }, "--wildcard"),
        (EpcOptions { mmes: 1_001, ..options() }, "--mmes"),
        (EpcOptions { name_servers: 0, ..options() }, "--name-servers"),
        (EpcOptions { mnc: "1".into(), ..options() }, "two or three digits"),
        (EpcOptions { mcc: "44o".into(), ..options() }, "three digits"),
        (EpcOptions { ttl_s: 1 << 31, ..options() }, "--ttl"),
    ];
    for (options, words) in wrong {
        let error = EpcData::make(&options).unwrap_err();
        assert!(error.is_bad_input() && error.to_string().contains(words), "{words}: {error}");
    }
}

#[test]
fn the_update_turns_the_zone_before_into_the_zone_after() {
    let options =
        EpcOptions { addresses: Addresses::V6Added, per_answer: PerAnswer::Octets(11_000), ..options() };
    let files = files(&options);
    let read = |name: &str| -> BTreeSet<_> { read_zone(&files[name], ORIGIN).into_iter().collect() };
    let (mut zone, after) = (read("epc.zone"), read("after/epc.zone"));
    let before = zone.len();
    let serial = |zone: &BTreeSet<(String, String, String)>| -> u32 {
        let soa = zone.iter().find(|(_, rtype, _)| rtype == "SOA").unwrap();
        soa.2.split(' ').nth(2).unwrap().parse().unwrap()
    };
    let mut counted = serial(&zone);
    // As a server does it: a message without a SOA record raises the serial number by one.
    for message in files["change.nsupdate"].split("send\n").filter(|message| !message.is_empty()) {
        counted += 1;
        let mut lines = message.lines();
        assert_eq!(lines.next(), Some(&*format!("zone {ORIGIN}")));
        for line in lines {
            let words: Vec<&str> = line.splitn(6, ' ').collect();
            let ["update", "add", owner, "300", rtype, data] = words[..] else { panic!("{line}") };
            let record = (owner.to_owned(), rtype.to_owned(), data.to_owned());
            if rtype == "SOA" {
                zone.retain(|(_, rtype, _)| rtype != "SOA");
                let words: Vec<&str> = data.split(' ').collect();
                assert_eq!(words[2].parse(), Ok(counted), "{line}");
                // The text of `domain` has no final dots.
                let [server, mailbox] = [0, 1].map(|at| words[at].trim_end_matches('.'));
                zone.insert((record.0, record.1, format!("{server} {mailbox} {}", words[2..].join(" "))));
            } else {
                assert!(zone.insert(record), "it is there already: {line}");
            }
        }
        assert!(message.len() < 200_000);
    }
    let bare = |zone: &BTreeSet<(String, String, String)>| -> BTreeSet<String> {
        zone.iter()
            .map(|(owner, rtype, data)| format!("{owner} {rtype} {}", data.replace(". ", " ")))
            .collect()
    };
    assert_eq!(bare(&zone), bare(&after));
    assert_eq!(serial(&after), counted);
    assert!(after.len() > before * 5 / 4);
    // Each answer for a tracking area is half as long again.
    let sets = (sets_of(&files["epc.zone"], ORIGIN), sets_of(&files["after/epc.zone"], ORIGIN));
    for (key, records) in sets.0.iter().filter(|((owner, _), _)| owner.starts_with("*.tac-hb")) {
        assert_eq!(sets.1[key].len(), records.len() * 3 / 2, "{key:?}");
    }
}

#[test]
fn an_area_has_candidates_that_are_near_and_services_that_clients_look_for() {
    let sets = sets_of(&files(&options())["epc.zone"], ORIGIN);
    let answer = &sets[&(format!("*.tac-hb11.tac.{ORIGIN}"), "NAPTR".to_owned())];
    let of = |words: &str| answer.iter().filter(|record| record.contains(words)).count();
    assert_eq!((of("\"x-3gpp-mme:x-s3:x-s10\""), answer.len()), (2, 60));
    assert!(of("\"x-3gpp-sgw:x-s5-gtp:x-s8-gtp\"") >= 20, "without any capability");
    assert!(
        of("\"x-3gpp-sgw:x-s5-gtp+nc-nr:x-s8-gtp+nc-nr\"") > 0 && of("+nc-nr.5gs\"") > 0 && of("+ue-1\"") > 0
    );
    assert!(of(" topoff.s5.") > 0 && of(" topon.s5.") > 0);
    // The second area is at the second site, whose gateways come first by order and preference.
    let is_first = |record: &&String| record.starts_with("100 63700 ") && !record.contains("-mme:");
    let first: Vec<_> = answer.iter().filter(is_first).collect();
    assert_eq!(first.len(), 4);
    assert!(first.iter().all(|record| record.contains(".site002.region01.node.")), "{first:#?}");
}

#[test]
fn the_first_access_point_leads_to_all_gateways_and_each_other_to_some() {
    let sets = sets_of(&files(&options())["epc.zone"], ORIGIN);
    let gateways = |name: &str| {
        let mut found = BTreeSet::new();
        for record in &sets[&(format!("{name}.apn.{ORIGIN}"), "NAPTR".to_owned())] {
            let (_, branch) = record.rsplit_once(' ').unwrap();
            if record.contains(" \"\" \"x-3gpp-pgw") {
                found.extend(sets[&(branch.to_owned(), "NAPTR".to_owned())].iter().cloned());
            }
        }
        found.len()
    };
    assert_eq!((gateways("internet"), gateways("ims")), (60, 12));
    assert_eq!(gateways("apn002.corp.example"), 12);
}

#[test]
fn the_description_is_one_that_clients_read_and_its_names_are_in_the_zone() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("data");
    EpcData::make(&options()).unwrap().write(Folder::make(&path).unwrap()).unwrap();
    let description = Description::read(&path.join("description.json")).unwrap();
    assert_eq!(description.clients, 16);
    let zone = description.zone.unwrap();
    let first = |lookup: &[dnsdyno_clients::Questions]| (lookup[0].qtype.clone(), lookup[0].names);
    assert_eq!((first(&zone.tac), first(&zone.apn)), (("NAPTR".into(), 200), ("NAPTR".into(), 20)));
    let per_lookup = |lookup: &[dnsdyno_clients::Questions], qtype: &str| -> f64 {
        lookup.iter().filter(|of| of.qtype == qtype).map(|of| of.per_lookup).sum()
    };
    // Each attach needs one address of each kind, and a handover one.
    assert!(
        (per_lookup(&zone.tac, "A") - 1.0).abs() < 0.01 && (per_lookup(&zone.apn, "A") - 1.0).abs() < 0.01
    );
    let Names::Epc(mobile) = description.names else { panic!("not of a mobile core") };
    let sets = sets_of(&std::fs::read_to_string(path.join("epc.zone")).unwrap(), ORIGIN);
    let has = |name: String| sets.contains_key(&(name, "NAPTR".to_owned()));
    assert_eq!((mobile.tacs.len(), mobile.apns.len()), (200, 20));
    assert!(mobile.tacs.iter().all(|tac| has(format!("*.tac-hb{:02x}.tac.{ORIGIN}", tac >> 8))));
    assert!(mobile.apns.iter().all(|apn| has(format!("{apn}.apn.{ORIGIN}"))));
}

#[test]
fn the_same_options_give_the_same_bytes_and_another_seed_other_popular_areas() {
    let options = EpcOptions { addresses: Addresses::V6Added, ..options() };
    assert_eq!(files(&options), files(&options));
    let other = files(&EpcOptions { seed: 2, ..options.clone() });
    assert_ne!(files(&options)["description.json"], other["description.json"]);
    assert_eq!(files(&options)["epc.zone"], other["epc.zone"]);
}

#[test]
fn bind_is_told_where_its_limit_of_records_would_be_passed() {
    let of = |records| {
        files(&EpcOptions { per_answer: PerAnswer::Records(records), ..options() })["bind.conf"].clone()
    };
    assert!(!of(100).contains("max-records-per-type"));
    assert!(of(101).contains("max-records-per-type 0;"));
    assert!(of(5).contains("file \"/place/data/epc.zone\""));
}

#[test]
fn nothing_is_left_where_a_folder_cannot_be_written() {
    let data = EpcData::make(&options()).unwrap();
    let Ok(folder) = Folder::make(Path::new("/proc/dnsdyno")) else { return };
    assert!(data.write(folder).is_err());
}
