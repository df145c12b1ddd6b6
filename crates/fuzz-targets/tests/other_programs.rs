//! Readers of files against programs that others have written: each reads the same file, and both find the same in it.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::str::FromStr;

use dnsdyno_capture::{CaptureReader, MessageWriter, OutputFormat, ReadSettings};
use dnsdyno_lab::{Need, require};
use dnsdyno_queries::{Reading, read_zone_text};
use dnsdyno_wire::{encode_name, next_entry, parse_type, peek, zone_text};
use domain::base::iana::Class;
use domain::base::name::{Name, ToName};
use domain::base::rdata::ComposeRecordData;
use domain::zonefile::inplace::{Entry, Zonefile};

/// ID, whether it is a response, and the type that is asked for.
type Message = (u16, bool, Option<u16>);

/// Captures of every encapsulation in one file, and messages that were written as packets.
#[test]
fn captures_have_the_messages_that_tshark_finds() {
    if !require(&["tshark", "mergecap", "editcap"].map(|name| Need::Program { name, package: "tshark" })) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let written = folder.path().join("written.pcap");
    let messages = write_messages(&written);
    let mut files = files_in(&root().join("crates/capture/tests/cases"));
    files.retain(|path| path.extension().is_some_and(|end| end == "pcap" || end == "pcapng"));
    assert!(files.len() >= 10, "{files:?}");
    files.push(written);
    // Many have the same query at the same instant, which in one capture is the same packet seen twice.
    for (number, path) in files.iter_mut().enumerate() {
        let later = folder.path().join(number.to_string());
        let seconds = format!("{}", 1_000 * number);
        let moved = Command::new("editcap").args(["-t", &seconds]).arg(&path).arg(&later).output().unwrap();
        assert!(moved.status.success(), "{}", String::from_utf8_lossy(&moved.stderr));
        *path = later;
    }
    // One after the other, each in an interface of its own: tshark takes half a second to start.
    let all = folder.path().join("all.pcapng");
    let merged = Command::new("mergecap").arg("-a").arg("-w").arg(&all).args(&files).output().unwrap();
    assert!(merged.status.success(), "{}", String::from_utf8_lossy(&merged.stderr));
    let theirs = messages_of_tshark(&all);
    assert!(theirs.len() > messages, "{theirs:?}");
    let mut reader =
        CaptureReader::from_reader_with(Box::new(File::open(&all).unwrap()), "all", &ReadSettings::default())
            .unwrap();
    let mut ours = Vec::new();
    while let Some(message) = reader.next().unwrap() {
        ours.push(message_of(message.bytes));
    }
    // We give them in the order of their instants, tshark in that of the file.
    let sorted = |mut messages: Vec<Message>| {
        messages.sort_unstable();
        messages
    };
    assert_eq!(sorted(ours), sorted(theirs));
}

/// Queries and responses of any kind over UDP and TCP, as packets; how many.
fn write_messages(path: &Path) -> usize {
    let tap = root().join("crates/capture/tests/cases/02-responses-with-queries.dnstap");
    let mut writer = MessageWriter::new(OutputFormat::Pcap, File::create(path).unwrap()).unwrap();
    let mut reader = CaptureReader::from_reader_with(
        Box::new(Cursor::new(fs::read(tap).unwrap())),
        "tap",
        &ReadSettings::default(),
    )
    .unwrap();
    let (mut number, queries) = (0, files_in(&root().join("fuzz/corpus/response_peek")));
    while let Some(message) = reader.next().unwrap() {
        writer.write(&message).unwrap();
        number += 1;
        for kept in &queries {
            let bytes = fs::read(kept).unwrap();
            // What has no question of its own is shown in as many ways as there are programs.
            if peek(&bytes).is_ok_and(|found| found.qtype().is_some()) {
                writer.write(&dnsdyno_capture::DnsMessage { bytes: &bytes, ..message }).unwrap();
                number += 1;
            }
        }
    }
    writer.finish().unwrap();
    number
}

fn message_of(bytes: &[u8]) -> Message {
    let id = u16::from_be_bytes([bytes[0], bytes[1]]);
    let qtype = peek(bytes).ok().and_then(|found| found.qtype());
    (id, bytes[2] & 0x80 != 0, qtype)
}

fn messages_of_tshark(file: &Path) -> Vec<Message> {
    let ran = Command::new("tshark")
        .args(["-n", "-Y", "dns", "-T", "fields", "-E", "occurrence=f"])
        .args(["-e", "dns.id", "-e", "dns.flags.response", "-e", "dns.qry.type", "-r"])
        .arg(file)
        .stderr(Stdio::null())
        .output()
        .unwrap();
    assert!(ran.status.success());
    let text = String::from_utf8(ran.stdout).unwrap();
    let number = |word: &str| match word.strip_prefix("0x") {
        Some(digits) => u16::from_str_radix(digits, 16).ok(),
        None => word.parse().ok(),
    };
    let message = |line: &str| {
        let words: Vec<&str> = line.split('\t').collect();
        (number(words[0]).unwrap(), ["1", "True"].contains(&words[1]), number(words[2]))
    };
    text.lines().map(message).collect()
}

/// A zone with every form of writing that RFC 1035 has, and those of the project.
#[test]
fn zones_have_the_names_and_types_that_named_checkzone_finds() {
    if !require(&[Need::Program { name: "named-checkzone", package: "bind9" }]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let odd = folder.path().join("odd.zone");
    fs::write(&odd, ODD).unwrap();
    let zones = root().join("testbed/zones");
    for (path, origin) in [(odd, "example."), (zones.join("example.zone"), "dyno.example.")] {
        let theirs = sets_of_named(&path, origin);
        let loaded = read_zone_text(&fs::read(&path).unwrap(), origin, &Reading::default()).unwrap();
        let ours = (0..loaded.queries.len()).map(|i| {
            let found = peek(loaded.queries.message(i)).unwrap();
            (lower(found.qname()), found.qtype().unwrap())
        });
        // A wildcard is asked for by a name below it.
        let ours: BTreeSet<_> = ours.filter(|(name, _)| !is_of_wildcard(name)).collect();
        assert_eq!(ours, theirs, "{}", path.display());
    }
}

/// Types that the parser of zone files knows by name only, against the data that BIND makes of them.
#[test]
fn data_in_the_own_forms_of_types_is_what_named_compilezone_writes() {
    if !require(&[Need::Program { name: "named-compilezone", package: "bind9" }]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let [path, raw] = ["own.zone", "own.raw"].map(|name| folder.path().join(name));
    fs::write(&path, OWN_FORMS).unwrap();
    let ran = Command::new("named-compilezone")
        .args(["-q", "-i", "none", "-k", "ignore", "-F", "raw", "-o"])
        .arg(&raw)
        .arg("example.")
        .arg(&path)
        .output()
        .unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout));
    let theirs = fs::read(raw).unwrap();
    let origin = Name::<Vec<u8>>::from_str("example.").unwrap();
    let mut zone = Zonefile::from(&*zone_text(OWN_FORMS.as_bytes(), Some(origin.as_slice())));
    zone.set_origin(Name::from_str("example.").unwrap());
    zone.set_default_class(Class::IN);
    let mut count = 0;
    while let Some(entry) = next_entry(&mut zone).unwrap_or_else(|error| panic!("record {count}: {error}")) {
        let Entry::Record(record) = entry else { panic!("a directive") };
        let owner: Name<Vec<u8>> = record.owner().to_vec();
        let mut data = Vec::new();
        let Ok(()) = record.data().compose_rdata(&mut data);
        // Each with its length, as in the format of BIND.
        let with_length = |octets: &[u8]| [&(octets.len() as u16).to_be_bytes(), octets].concat();
        let wanted = [with_length(owner.as_slice()), with_length(&data)].concat();
        assert!(theirs.windows(wanted.len()).any(|window| window == wanted), "{owner} {record:?}");
        count += 1;
    }
    assert_eq!(count, OWN_FORMS.lines().filter(|line| !line.starts_with(['$', '\t'])).count());
}

/// Owners and types, as `named-checkzone` writes them: absolute, one record a line. Without wildcards.
fn sets_of_named(path: &Path, origin: &str) -> BTreeSet<(Vec<u8>, u16)> {
    let ran = Command::new("named-checkzone")
        .args(["-q", "-D", "-i", "none", "-k", "ignore", "-o", "-", origin])
        .arg(path)
        .output()
        .unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let text = String::from_utf8(ran.stdout).unwrap();
    let set = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        let owner = words.next().unwrap();
        let mut wire = Vec::new();
        encode_name(owner.as_bytes(), &mut wire).unwrap();
        let rtype = words.nth(2).unwrap();
        (lower(&wire), parse_type(rtype).unwrap_or_else(|| panic!("{line}")))
    };
    let all: BTreeSet<_> = text.lines().map(set).filter(|(name, _)| !is_of_wildcard(name)).collect();
    assert!(all.len() > 15, "{all:?}");
    all
}

fn lower(name: &[u8]) -> Vec<u8> {
    name.to_ascii_lowercase()
}

/// Whether a name is a wildcard of the two zones, or below one.
fn is_of_wildcard(name: &[u8]) -> bool {
    name.windows(5).any(|labels| labels == b"\x04wild")
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn files_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

const ODD: &str = r#"$TTL 1h30m
$ORIGIN example.
@	IN SOA ns.example. root\.person (
	2024010101 ; the serial
	1h 15m 1w
	300 )
	NS	ns
	NS	ns2.other.test.
ns	A	192.0.2.1
	60 IN AAAA 2001:db8::1
in	IN 5 A 192.0.2.3
Upper.CASE	A 192.0.2.2
a\.dot	TXT "one; no comment" "two\"quoted\""
\097b\032c	TXT plain ( "in" 
	brackets )
*.wild	3600 MX 10 mail
mail	MX 0 .
$ORIGIN sub.example.
deep.er	CNAME ns.example.
@	CAA 0 issue "ca.test"
_sip._udp	SRV 1 2 5060 sip
sip	TYPE65534 \# 4 0a000001
n	NAPTR 100 10 "a" "x-3gpp-sgw:x-s5-gtp" "" gw.example.
h	HTTPS 1 . alpn=h2,h3
$TTL 0
zero	TXT ""
"#;

/// Each type that is read in its own form, in the words of its RFC.
const OWN_FORMS: &str = r#"$TTL 1h
@ SOA ns.other. host.other. 1 1h 15m 1w 1d
@ NS ns.other.
afsdb AFSDB 1 host.sub
x25 X25 311061700956
isdn ISDN 150862028003217 004
isdn2 ISDN "150862028003217"
rt RT 2 relay.other.
nsap NSAP 0x47.0005.80.005a00.0000.0001.e133.ffffff000161.00
nsap-ptr NSAP-PTR foo.other.
key KEY 256 3 RSASHA1 ( AQPSKmynfzW4kyBv015MUG2DeIQ3
	Cbl+BBZH4b/0PY1kxkmvHjcZc8no ) ; in two words
px PX 10 map822 mapx400.other.
gpos GPOS -32.6882 116.8652 "10.0"
loc LOC 52 22 23.000 N 4 53 32.000 E -2.00m 0.00m 10000m 10m
loc2 LOC 42 21 54 N 71 06 18 W -24m 30m
loc3 loc 32 S 116 52 30.5 E 10
loc4 LOC ( 90 N ; the pole
	180 W 42849672.95m 90000000m )
kx KX 10 kx-host
cert CERT PKIX 65535 ED25519 MxFcby9k/yvedMfQgKzhH5er0Mu/vILz45IkskceFGgi
cert2 CERT 6 0 0 FOLK
apl APL 1:192.168.32.0/21 !1:192.168.38.0/28 2:2001:db8::/32 1:0.0.0.0/0
dhcid DHCID AAIBY2/AuCccgoJbsaxcQc9TUapptP69lOjxfNuVAA2kjEA=
smimea SMIMEA 3 1 1 d2abde240d7cd3ee6b4b28c54df034b9 7983a1d16e8a410e4561cb106618e971
hip HIP 2 200100107B1A74DF365639CC39F1D578 AwEAAbdxyhNuSutc5EMzxTs9LBPCIkOFH8cIvM4p rvs.example.com. rvs2
ninfo NINFO "text one" two
rkey RKEY 0 255 8 AwEAAbdxyhNuSutc5EMzxTs9LBPCIkOFH8cIvM4p
talink TALINK h0 h2.other.
csync CSYNC 66 3 A NS AAAA URI TYPE1234
spf SPF "v=spf1 -all"
nid NID 10 0014:4fff:ff20:ee64
l32 L32 10 10.1.2.0
l64 L64 10 2001:0DB8:1140:1000
lp LP 10 l64-subnet
eui48 EUI48 00-00-5e-00-53-2a
eui64 EUI64 00-00-5e-ef-10-00-00-2a
uri URI 10 1 "ftp://ftp1.example.com/pub;x"
avc AVC "app-name:WOLFGANG|app-class:OAM" "\226\130\172 \" and \\"
amtrelay AMTRELAY 10 0 3 relays
amtrelay2 AMTRELAY 10 1 2 2001:db8::15
amtrelay3 AMTRELAY 0 0 1 203.0.113.15
amtrelay4 AMTRELAY 0 1 0 .
ta TA 60485 5 1 ( 2BB183AF5F22588179A53B0A98631FAD1A292118 )
dlv DLV 60485 RSASHA1 1 2BB183AF5F22588179A53B0A98631FAD1A292118
unknown TYPE65280 \# 3 010203
known LOC \# 16 00121613 8b0d2c8c 7ffc3a1b 00989680
"#;
