//! The same counters in each of the forms in which BIND tells them.

use std::collections::BTreeMap;

use super::*;

fn of_json(text: &str) -> Reading {
    let mut reading = Reading::default();
    add(&serde_json::from_str(text).unwrap(), &mut reading);
    reading
}

fn of_xml(text: &str) -> Reading {
    let mut reading = Reading::default();
    xml::add(&xml::document(text).unwrap(), &mut reading);
    reading
}

fn of_dump(text: &str) -> Reading {
    let mut reading = Reading::default();
    dump::add(text, &mut reading);
    reading
}

const JSON_SERVER: &str = r##"{"json-stats-version": "1.7", "version": "9.18.49",
    "opcodes": {"QUERY": 84, "IQUERY": 0}, "rcodes": {"NOERROR": 47, "NXDOMAIN": 24, "17": 0}, "qtypes": {"A": 24},
    "nsstats": {"QryUDP": 72, "QryTCP": 12, "Response": 71, "TCPConnHighWater": 3, "RateSlipped": 2},
    "zonestats": {"XfrFail": 1}, "resstats": {"QueryCurUDP": 2},
    "views": {"_default": {"resolver": {"stats": {"Queryv6": 12, "BucketSize": 2}, "qtypes": {"NS": 12},
        "cache": {"A": 3, "#!AAAA": 1}, "cachestats": {"QueryHits": 0, "QueryMisses": 12, "TreeMemInUse": 24570},
        "adb": {"nentries": 1021}}}, "a b": {"resolver": {"stats": {}, "qtypes": {}}}}}"##;

const XML_SERVER: &str = r##"<?xml version="1.0" encoding="UTF-8"?>
<?xml-stylesheet type="text/xsl" href="/bind9.xsl"?>
<statistics version="3.13"><server><version>9.18.49</version>
<counters type="opcode"><counter name="QUERY">84</counter><counter name="IQUERY">0</counter></counters>
<counters type="rcode"><counter name="NOERROR">47</counter><counter name="NXDOMAIN">24</counter>
<counter name="17">0</counter></counters><counters type="qtype"><counter name="A">24</counter></counters>
<counters type="nsstat"><counter name="QryUDP">72</counter><counter name="QryTCP">12</counter>
<counter name="Response">71</counter><counter name="TruncatedResp">0</counter>
<counter name="TCPConnHighWater">3</counter><counter name="RateSlipped">2</counter></counters>
<counters type="zonestat"><counter name="XfrFail">1</counter><counter name="XfrSuccess">0</counter></counters>
<counters type="resstat"><counter name="QueryCurUDP">2</counter></counters>
<counters type="of another version"><counter name="x">1</counter></counters></server>
<views><view name="_default"><zones><zone name="example."><counters type="rcode"><counter name="QryUDP">7</counter>
</counters></zone></zones><counters type="resqtype"><counter name="NS">12</counter></counters>
<counters type="resstats"><counter name="Queryv6">12</counter><counter name="Retry">0</counter>
<counter name="BucketSize">2</counter></counters><cache name="_default"><rrset><name>A</name><counter>3</counter>
</rrset><rrset><name>#!AAAA</name><counter>1</counter></rrset></cache>
<counters type="adbstat"><counter name="nentries">1021</counter></counters>
<counters type="cachestats"><counter name="QueryHits">0</counter><counter name="QueryMisses">12</counter>
<counter name="TreeMemInUse">24570</counter></counters></view><view name="a b"/></views></statistics>"##;

const DUMP: &str = "+++ Statistics Dump +++ (1795699254)
++ Incoming Requests ++
                  84 QUERY
++ Incoming Queries ++
                  24 A
++ Outgoing Rcodes ++
                  47 NOERROR
                  24 NXDOMAIN
++ Outgoing Queries ++
[View: default]
                  12 NS
[View: a b]
++ Name Server Statistics ++
                  71 responses sent
                   3 TCP connection high-water
                   2 responses truncated for rate limits
                  72 UDP queries received
                  12 TCP queries received
++ Zone Maintenance Statistics ++
                   1 transfer requests failed
++ Resolver Statistics ++
[Common]
                   2 UDP queries in progress
[View: default]
                  12 IPv6 queries sent
                   2 bucket size
[View: a b]
++ Cache Statistics ++
[View: default]
                   0 cache hits (from query)
                  12 cache misses (from query)
               24570 cache tree memory in use
[View: a b (Cache: a b)]
++ Cache DB RRsets ++
[View: default]
                   3 A
                   1 #!AAAA
++ ADB stats ++
[View: default]
                1021 Address hash table size
++ Socket I/O Statistics ++
                   5 UDP/IPv4 send errors
                   7 TCP/IPv4 sockets active
++ Per Zone Query Statistics ++
[example.test]
                  99 UDP queries received
--- Statistics Dump --- (1795699254)
";

#[test]
fn each_series_has_the_same_name_and_value_as_json_as_xml_and_in_the_file() {
    let json = of_json(JSON_SERVER);
    assert_eq!(of_xml(XML_SERVER), json);
    assert_eq!((json.counters["queries.udp"], json.gauges["tcp.high_water"]), (72, 3));
    let mut dump = of_dump(DUMP);
    // These the channel has on a page that is not asked for.
    assert_eq!(dump.counters.remove("raw.sockstats.UDP4SendErr"), Some(5));
    assert_eq!(dump.gauges.remove("raw.sockstats.TCP4Active"), Some(7));
    // What is 0 the file leaves out.
    let told: BTreeMap<String, u64> = json
        .counters
        .iter()
        .filter(|(name, value)| **value > 0 || !name.starts_with("raw.") || name.contains("cachestats"))
        .filter(|(name, _)| *name != "responses.rcode.BADKEY")
        .map(|(name, value)| (name.clone(), *value))
        .collect();
    assert_eq!(dump.counters, told);
    assert_eq!(dump.gauges, json.gauges);
}

#[test]
fn the_sizes_of_messages_have_the_same_names_as_xml() {
    let json = of_json(
        r#"{"json-stats-version": "1.7", "traffic": {"dns-udp-requests-sizes-received-ipv4": {"32-47": 72},
            "dns-tcp-responses-sizes-sent-ipv6": {"4096+": 12}}}"#,
    );
    let xml = of_xml(
        "<statistics version=\"3.13\"><server><version>9</version></server><traffic><ipv4><udp><counters \
         type=\"request-size\"><counter name=\"32-47\">72</counter></counters><counters type=\"response-size\"/></udp>\
         </ipv4><ipv6><tcp><counters type=\"response-size\"><counter name=\"4096+\">12</counter></counters></tcp>\
         </ipv6></traffic><views/></statistics>",
    );
    assert_eq!((xml.counters.len(), &xml), (2, &json));
}

/// As BIND 9.5 to 9.9 write it.
const XML_2: &str = "<isc version=\"1.0\"><bind><statistics version=\"2.2\">
<views><view><name>_default</name><zones><zone><name>example/IN</name><counters><Requestv4>1</Requestv4></counters>
</zone></zones><rdtype><name>NS</name><counter>4</counter></rdtype>
<resstat><name>Queryv4</name><counter>9</counter></resstat><resstat><name>Retry</name><counter>0</counter></resstat>
<cache name=\"_default\"><rrset><name>A</name><counter>3</counter></rrset></cache></view></views>
<server><boot-time>2011-01-01T00:00:00Z</boot-time><requests><opcode><name>QUERY</name><counter>20</counter></opcode>
</requests><queries-in><rdtype><name>A</name><counter>20</counter></rdtype></queries-in>
<nsstat><name>Requestv4</name><counter>21</counter></nsstat><nsstat><name>Response</name><counter>20</counter></nsstat>
<nsstat><name>RecursClients</name><counter>x</counter></nsstat>
<sockstat><name>UDP4Open</name><counter>5</counter></sockstat></server></statistics></bind></isc>";

#[test]
fn version_2_of_the_xml_is_read_and_what_it_does_not_count_is_not_0() {
    let reading = of_xml(XML_2);
    let counters: Vec<(&str, u64)> =
        reading.counters.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    assert_eq!(
        counters,
        [
            ("dropped.duplicate", 0),
            ("dropped.rate-limit", 0),
            ("dropped.recursion", 0),
            ("queries", 20),
            ("queries.type.A", 20),
            ("raw.nsstats.Requestv4", 21),
            ("raw.nsstats.Response", 20),
            ("raw.opcodes.QUERY", 20),
            ("raw.qtypes.A", 20),
            ("raw.sockstats.UDP4Open", 5),
            ("raw.views._default.resolver.qtypes.NS", 4),
            ("raw.views._default.resolver.stats.Queryv4", 9),
            ("responses", 20),
            ("responses.truncated", 0),
        ]
    );
    assert_eq!(reading.gauges, [("raw.views._default.resolver.cache.A".to_owned(), 3)].into());
    assert_eq!(xml::version(&xml::document(XML_2).unwrap()), None);
}

#[test]
fn a_document_of_something_else_has_no_series() {
    for text in
        ["<statistics version=\"9\"/>", "<a version=\"3\"><server/></a>", "<isc/>", "<isc><bind/></isc>"]
    {
        assert_eq!(of_xml(text), Reading::default(), "{text}");
        assert!(!xml::is_statistics(&xml::document(text).unwrap()));
    }
}
