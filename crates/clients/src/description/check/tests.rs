//! Descriptions with one bad value each, and what is said of it.

use super::*;

const GOOD: &str = r#"{"kind": "epc", "mcc": "440", "mnc": "10", "tacs": [4097, 2], 
    "apns": ["Internet", "spmode.ne.jp"],
    "lookups": {"capability": "nr", "ipv6": true}, "clients": 2, "cache": {"entries": 1000, "policy": "lru"},
    "arrivals": {"attaches": 10, "curve": [0.5, 1]}, "retries": {"first_s": 2},
    "events": [{"at_s": 1, "event": "restart", "client": 1, "attaches": 5, "within_s": 1},
               {"at_s": 2, "event": "mass", "tac": 2, "attaches": 5, "within_s": 1}]}"#;

fn problem(json: &str) -> String {
    match Description::parse(json).map(|description| description.check(1 << 20)) {
        Ok(Err(error)) => error.to_string(),
        Ok(Ok(_)) => panic!("accepted: {json}"),
        Err(problem) => problem,
    }
}

#[test]
fn questions_are_the_names_of_the_operator() {
    let checked = Description::parse(GOOD).unwrap().check(1 << 20).unwrap();
    let text = |wire: &[u8]| dnsdyno_wire::name_to_text(&wire[..wire.len() - 4]);
    assert_eq!(text(&checked.first[0]), "tac-lb01.tac-hb10.tac.epc.mnc010.mcc440.3gppnetwork.org");
    assert_eq!(text(&checked.second[1]), "spmode.ne.jp.apn.epc.mnc010.mcc440.3gppnetwork.org");
    assert_eq!(checked.second[0][checked.second[0].len() - 4..], [0, 35, 0, 1]);
}

#[test]
fn a_description_is_read_as_it_is_written() {
    let description = Description::parse(GOOD).unwrap();
    let written = serde_json::to_string(&description).unwrap();
    assert_eq!(Description::parse(&written), Ok(description));
}

#[test]
fn each_bad_value_is_named_with_what_to_do() {
    for (good, bad, wanted) in [
        (r#""clients": 2"#, r#""clients": 0"#, "clients: 0 is not from 1"),
        (r#""entries": 1000"#, r#""entries": 1000000"#, "give at most 2621 entries"),
        ("\"attaches\": 10", "\"attaches\": -1", "arrivals.attaches: -1 cannot be used"),
        ("[0.5, 1]", "[0.5, -1]", "arrivals.curve: -1 cannot be used"),
        ("[0.5, 1]", "[0, 0]", "arrivals.curve: all factors are 0"),
        ("\"attaches\": 10", "\"attaches\": 10, \"day_s\": 0", "arrivals.day_s: 0 is no length"),
        ("\"attaches\": 10", "\"attaches\": 10, \"clients_per_tac\": 3", "clients_per_tac: 3 is not from 1"),
        (r#""clients": 2"#, r#""clients": 5"#, "are too few for 5 clients"),
        (r#""first_s": 2"#, r#""first_s": 0"#, "retries.first_s: 0 is not above 0"),
        (r#""first_s": 2"#, r#""retries": 11"#, "retries.retries: 11 is more than 10"),
        ("[4097, 2]", "[4097, 2, 0]", "tacs: 0 (0000) is reserved"),
        ("[4097, 2]", "[4097, 2, 65534]", "tacs: 65534 (fffe) is reserved"),
        ("[4097, 2]", "[4097, 2, 2]", "tacs: 2 is there twice"),
        ("[4097, 2]", "[]", "tacs: there is none"),
        (r#"["Internet", "spmode.ne.jp"]"#, "[]", "apns: there is none"),
        (r#""Internet""#, r#""a..b""#, "a label is empty"),
        (r#""Internet""#, r#""SPMODE.NE.JP""#, "apns: `spmode.ne.jp` is there twice"),
        (r#""mcc": "440""#, r#""mcc": "44x""#, "mcc: `44x` is no mobile country code"),
        (r#""mnc": "10""#, r#""mnc": "1""#, "mnc: `1` is no mobile network code"),
        (r#""capability": "nr""#, r#""capability": "+nc-nr""#, "lookups.capability: `+nc-nr`"),
        (r#""capability": "nr""#, r#""sgw": ["x-3gpp-sgw:x-s5-gtp"]"#, "lookups.sgw: `x-3gpp-sgw:x-s5-gtp`"),
        (r#""ipv6": true"#, r#""ipv4": false"#, "let ipv4 or ipv6 be true"),
        (r#""client": 1"#, r#""client": 2"#, "events.0.client: there is no client 2"),
        (r#""tac": 2"#, r#""tac": 3"#, "events.1.tac: 3 is none of the tracking areas"),
        (r#""at_s": 2"#, r#""at_s": -2"#, "events.1.at_s: -2 cannot be used"),
    ] {
        let json = GOOD.replacen(good, bad, 1);
        assert_ne!(json, GOOD, "{good}");
        let problem = problem(&json);
        assert!(problem.contains(wanted), "{bad}: {problem}");
    }
}

#[test]
fn a_key_that_does_not_exist_is_named_wherever_it_stands() {
    for (good, bad, wanted) in [
        (r#""clients": 2"#, r#""client": 2"#, "client"),
        (r#""entries": 1000"#, r#""entires": 1000"#, "entires"),
        (r#""within_s": 1}]"#, r#""within_s": 1, "untill": 1}]"#, "events.1.untill"),
        (r#""mcc": "440""#, r#""mcc": "440", "queries": "x""#, "queries"),
    ] {
        let problem = problem(&GOOD.replacen(good, bad, 1));
        assert!(problem.contains(&format!("`{wanted}`")), "{bad}: {problem}");
    }
}

#[test]
fn a_stub_reads_its_queries_beside_the_description() {
    let folder = std::env::temp_dir().join(format!("dnsdyno-clients-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("stub.json");
    std::fs::write(&path, r#"{"kind": "stub", "queries": "queries.txt"}"#).unwrap();
    let read = |queries: &str| {
        std::fs::write(folder.join("queries.txt"), queries).unwrap();
        Description::read(&path).unwrap().check(1 << 30)
    };
    assert_eq!(read("# names\nwww.example A\n\nexample MX\n").unwrap().questions(), 2);
    let problems: Vec<String> = ["www.example\n", "a A\nwww.example XYZ\n", "a..b A\n", "# none\n"]
        .map(|queries| read(queries).unwrap_err().to_string())
        .to_vec();
    std::fs::remove_dir_all(&folder).unwrap();
    for (problem, wanted) in
        problems.iter().zip(["write a name and a type", ":2: `XYZ`", "label", "no query"])
    {
        assert!(problem.contains(wanted), "{problem}");
    }
    assert!(Description::read(&path).unwrap_err().to_string().contains("stub.json"), "it is gone");
}
