//! Predictions that can be computed by hand.

use super::*;
use crate::description::Description;

const DESCRIPTION: &str = r#"{"kind": "epc", "mcc": "440", "mnc": "010", "tacs": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
    "apns": ["a", "b", "c"], "clients": 5, "cache": {"entries": 1000, "count": "names"},
    "arrivals": {"attaches": 1000, "handovers": 3000, "apn_zipf": 0}}"#;

fn question(qtype: &str, names: u32, brought: f64, octets: u32) -> Questions {
    Questions { qtype: qtype.to_owned(), names, per_lookup: 1.0, brought, ttl_s: 300, octets, records: 1 }
}

fn zone() -> Zone {
    Zone {
        tac: vec![question("NAPTR", 10, 0.0, 4_000), question("A", 20, 10.0, 100)],
        apn: vec![question("NAPTR", 3, 0.0, 500), question("A", 20, 0.0, 100)],
        ..Zone::default()
    }
}

fn checked(json: &str) -> Checked {
    Description::parse(json).unwrap().check(1 << 32).unwrap()
}

fn assert_near(found: f64, expected: f64) {
    assert!((found - expected).abs() <= expected * 0.01, "{found} instead of {expected}");
}

#[test]
fn each_server_gets_access_points_times_clients_and_tracking_areas() {
    let found = predict(&checked(DESCRIPTION), &zone(), 1_232).unwrap();
    // All is in the cache for 300 s: ten areas at one client each; three access points and 20 addresses at five.
    let part = |kind, qtype: &str| {
        found
            .parts
            .iter()
            .find(|part| part.kind == kind && part.qtype == qtype)
            .map(|part| part.queries_per_s)
    };
    assert_near(part(ProcedureKind::Handover, "NAPTR").unwrap(), 10.0 / 300.0 * 0.75);
    assert_near(part(ProcedureKind::Attach, "NAPTR").unwrap(), 10.0 / 300.0 * 0.25 + 15.0 / 300.0);
    assert_near(part(ProcedureKind::Attach, "A").unwrap(), 100.0 / 300.0);
    assert_eq!(part(ProcedureKind::Handover, "A"), None, "brought");
    assert_near(found.truncated, 10.0 / 125.0);
    assert_near(found.requests_per_s, found.queries_per_s * (1.0 + found.truncated));
    assert_near(found.octets_per_s, (10.0 * 4_000.0 + 15.0 * 500.0 + 100.0 * 100.0) / 300.0);
    assert_eq!(found.state, CacheState::Fits);
    assert_near(found.need, 25.0);
}

#[test]
fn sets_in_the_additional_section_take_places_where_sets_are_counted() {
    let json = DESCRIPTION.replace("names", "rrsets");
    let found = predict(&checked(&json), &zone(), 1_232).unwrap();
    // Each address is brought by one of the two areas of a client, and they are in the cache nearly always.
    assert_near(found.need, 25.0 + 20.0);
}

#[test]
fn a_curve_falls_to_where_all_fits() {
    let checked = checked(DESCRIPTION);
    let sizes = [0, 1, 5, 10, 20, 24, 25, 1_000];
    let curve = curve(&checked, &zone(), 1_232, &sizes).unwrap();
    assert!(curve.windows(2).all(|pair| pair[0].queries_per_s >= pair[1].queries_per_s * 0.999), "{curve:?}");
    assert_near(curve[0].queries_per_s, 4_000.0 + 2_000.0);
    assert_eq!(curve[0].hit_ratio, 0.0);
    assert_eq!(curve.last(), predict(&checked, &zone(), 1_232).ok().as_ref());
}

#[test]
fn groups_of_ranks_are_as_good_as_each_rank_alone() {
    let weights = zipf(100_000, 1.0);
    let sum: f64 = weights.iter().sum();
    let each: Vec<Group> =
        weights.iter().map(|weight| Group::asked(1.0, weight / sum * 5_000.0, 300.0)).collect();
    let expected: f64 = solve(crate::Policy::Ttl, &each, 20_000.0).missed_per_s.iter().sum();

    let question = question("A", 100_000, 0.0, 100);
    let lookup = Lookup {
        questions: std::slice::from_ref(&question),
        key: "zone.stub",
        weights,
        per_s: 5_000.0,
        keys_of_name: 1.0,
        number: 0,
        reached: 1.0,
    };
    let at_once = Asking::of(&Default::default(), &1_232.into());
    let mut all = Groups::new(Count::Names, at_once);
    all.add(lookup, &[(ProcedureKind::Lookup, 1.0)]).unwrap();
    assert!(all.groups.len() < 400, "{}", all.groups.len());
    let found: f64 = solve(crate::Policy::Ttl, &all.groups, 20_000.0).missed_per_s.iter().sum();
    assert!((found / expected - 1.0).abs() < 1e-3, "{found} instead of {expected}");
}

#[test]
fn a_zone_without_questions_says_what_to_do() {
    let error = predict(&checked(DESCRIPTION), &Zone::default(), 1_232).unwrap_err();
    assert!(error.to_string().contains("zone.tac: there is no question"), "{error}");
}

#[test]
fn each_change_moves_the_load_as_the_states_of_a_cache_say() {
    let description = |entries: u32| {
        let mut description = Description::parse(DESCRIPTION).unwrap();
        (description.zone, description.cache.entries) = (Some(zone()), entries);
        description
    };
    let fits = Case::new(description(1_000), 1_232).unwrap();
    let overflows = Case::new(description(12), 1_232).unwrap();
    assert_eq!(
        (fits.prediction.state, overflows.prediction.state),
        (CacheState::Fits, CacheState::Overflows)
    );
    assert_eq!(fits.ttl_s(), 300);
    let queries = |case: &Case, change: Change| case.with(&change).unwrap().prediction.queries_per_s;
    // Twice the TTL is half of the queries while all fits, and changes nothing once caches overflow.
    let ttl = Change { ttl_s: Some(600), ..Change::default() };
    assert_near(queries(&fits, ttl), fits.prediction.queries_per_s / 2.0);
    assert_near(queries(&overflows, ttl), overflows.prediction.queries_per_s);
    // More room helps there only.
    let entries = Change { entries: Some(2_000), ..Change::default() };
    assert_near(queries(&fits, entries), fits.prediction.queries_per_s);
    assert_near(queries(&overflows, entries), fits.prediction.queries_per_s);
    // Half of the users are half of the load of caches that overflow, and the same load of those that do not.
    let users = Change { attaches: Some(500.0), handovers: Some(1_500.0), ..Change::default() };
    assert_near(queries(&overflows, users), overflows.prediction.queries_per_s / 2.0);
    assert_near(queries(&fits, users), fits.prediction.queries_per_s);
    let policy = Change { policy: Some(crate::Policy::Lfu), clients: Some(10), ..Change::default() };
    let changed = fits.with(&policy).unwrap();
    assert_eq!((changed.description().clients, changed.description().cache.policy), (10, crate::Policy::Lfu));
    assert_eq!(fits.curve(&[12, 1_000]).unwrap()[1], fits.prediction.queries_per_s);

    let unknown = Case::new(Description { zone: None, ..description(1) }, 1_232).unwrap_err();
    assert!(unknown.to_string().starts_with("zone: it is needed"), "{unknown}");
}

#[test]
fn a_key_that_is_always_used_lasts_until_its_ttl_ends() {
    let cold = Group::asked(1_000.0, 0.001, 300.0);
    for entries in [50.0, 100.0, 200.0, 250.0] {
        let found = model::solve(Policy::Lru, &[Group::asked(1.0, 8.0, 300.0), cold.clone()], entries);
        // Once in its TTL and the pause after it.
        assert_near(found.missed_per_s[0], 1.0 / (300.0 + 1.0 / 8.0));
    }
}

#[test]
fn what_no_record_has_and_what_no_model_knows_is_refused() {
    let mut long = zone();
    long.tac[1].ttl_s = u32::MAX;
    let text = |zone: &Zone, json: &str| {
        let mut description = Description::parse(json).unwrap();
        description.zone = Some(zone.clone());
        Case::new(description, 1_232).unwrap_err().to_string()
    };
    assert!(text(&long, DESCRIPTION).contains("a TTL is at most 2147483647 seconds"));
    let lru = DESCRIPTION.replace("\"count\": \"names\"", "\"count\": \"rrsets\", \"policy\": \"lru\"");
    assert!(text(&zone(), &lru).contains("set `brought` to 0"));
}

#[test]
fn twice_the_ttl_is_twice_each_ttl() {
    let mut zone = zone();
    zone.tac[1].ttl_s = 3_600;
    let mut description = Description::parse(DESCRIPTION).unwrap();
    description.zone = Some(zone);
    let case = Case::new(description, 1_232).unwrap();
    let longer = case.with(&Change { ttl_factor: Some(2.0), ..Change::default() }).unwrap();
    let ttls: Vec<u32> = longer.description().zone.as_ref().unwrap().tac.iter().map(|of| of.ttl_s).collect();
    assert_eq!(ttls, [600, 7_200]);
    let forecast = Forecast::new(case, None, &[]).unwrap();
    assert_eq!(forecast.curves.lines.iter().map(|line| line.ttl_s).collect::<Vec<_>>(), [60, 300, 1_500]);
}

#[test]
fn what_an_entry_takes_is_what_it_holds() {
    let needs = |count: &str| {
        let mut zone = zone();
        (zone.tac[0].records, zone.apn[0].records) = (93, 7);
        predict(&checked(&DESCRIPTION.replace("names", count)), &zone, 1_232).unwrap().need
    };
    // Two of the ten areas and all three access points for each client; 20 addresses are asked for, 20 brought.
    assert_near(needs("rrsets"), 2.0 + 3.0 + 20.0 + 20.0);
    assert_near(needs("records"), 2.0 * 93.0 + 3.0 * 7.0 + 20.0 + 20.0);
    assert_near(needs("names"), 2.0 + 3.0 + 20.0);
    assert_near(needs("octets"), 2.0 * 4_000.0 + 3.0 * 500.0 + 20.0 * 100.0);
}

#[test]
fn a_slow_server_multiplies_its_own_load() {
    let at = |response_s: f64, lost: f64| {
        predict(&checked(DESCRIPTION), &zone(), Serving { payload_octets: 1_232, response_s, lost }).unwrap()
    };
    let (fast, slow) = (at(0.0, 0.0), at(4.0, 0.0));
    assert_eq!((fast.again_per_s, fast.given_up), (0.0, 0.0));
    // Two queries for each question, each of which is asked for 4 s before its TTL of 300 s begins.
    assert_near(slow.queries_per_s, fast.queries_per_s * 2.0 * 300.0 / 304.0);
    assert_near(slow.again_per_s, slow.queries_per_s / 2.0);
    assert_near(slow.truncated, fast.truncated);
    // Nothing is answered: each client asks for its areas three times in 21 s, and never comes to an access point.
    let dead = at(0.0, 1.0);
    assert_near(dead.queries_per_s, 10.0 * 3.0 / 21.0);
    assert_eq!((dead.given_up, dead.hit_ratio, dead.requests_per_s), (1.0, 0.0, dead.queries_per_s));
    assert!(dead.parts.iter().all(|part| part.qtype == "NAPTR"), "{:?}", dead.parts);
    let wrong = predict(&checked(DESCRIPTION), &zone(), Serving { lost: 1.5, ..1_232.into() }).unwrap_err();
    assert!(wrong.to_string().contains("lost: 1.5 is no part"), "{wrong}");
}

#[test]
fn the_busiest_second_is_that_of_the_highest_factor() {
    let of = |curve: &str| {
        let json =
            DESCRIPTION.replace("\"handovers\": 3000", &format!("\"handovers\": 3000, \"curve\": {curve}"));
        let mut description = Description::parse(&json).unwrap();
        (description.zone, description.cache.entries) = (Some(zone()), 5);
        Case::new(description, 1_232).unwrap()
    };
    assert_eq!(of("[]").at_peak().unwrap(), None);
    let case = of("[0.5, 1.75, 1]");
    let (factor, peak) = case.at_peak().unwrap().unwrap();
    assert_eq!(factor, 1.75);
    // The caches overflow: the load goes with the users.
    assert_near(peak.queries_per_s, case.prediction.queries_per_s * 1.75);
    let sum: f64 = peak.parts.iter().map(|part| part.queries_per_s + part.truncated_per_s).sum();
    assert_near(sum, peak.requests_per_s);
}
