//! What a stranger types wrongly: each mistake with the exact words of the answer and the exit code.
//!
//! A row is what is typed, as in a shell, the exit code, and a line of the answer on standard error. In both `{here}`
//! is the working folder; in what is typed `{server}` is a responder that answers. The files are those of [`FILES`].

use crate::support::{Workplace, responder};

type Mistake = (&'static str, i32, &'static str);

/// The files in the working folder.
const FILES: &[(&str, &[u8])] = &[
    ("q.txt", b"www.example A\n"),
    ("empty.txt", b""),
    ("comments.txt", b"; only a comment\n"),
    ("zone.txt", b"www.example. 3600 IN A 192.0.2.1\nmail IN A 192.0.2.2\n"),
    ("origin.txt", b"$ORIGIN example.\nwww A\n"),
    ("q.gz", b"\x1f\x8b\x08\0"),
    ("utf16.txt", b"\xff\xfew\0w\0"),
    ("c.pcap", b"\xd4\xc3\xb2\xa1\x02\0"),
    ("bin", b"a\0b"),
    ("most.txt", b"www.example A\nbad\nworse\n"),
    ("tranco.csv", b"1,google.com\n2,b.com\n"),
    ("latin1.txt", b"b\xfccher A\n"),
    ("unknown.toml", b"rate = 5\nretries = 3\n"),
    ("syntax.toml", b"rate = \n"),
    ("type.toml", b"rate = true\n"),
    ("exp.toml", b"server = \"127.0.0.1\"\nqueries = \"q.txt\"\nexpect = [\"p99\"]\n"),
    ("ca.txt", b"not PEM"),
    ("file", b""),
    ("full/run.ndjson", b"{}"),
    ("folder/file", b""),
];

#[test]
fn every_mistake_is_answered_with_its_words_and_its_exit_code() {
    let work = Workplace::new();
    for (name, content) in FILES {
        if let Some((folder, _)) = name.split_once('/') {
            std::fs::create_dir_all(work.path(folder)).unwrap();
        }
        work.write(name, content);
    }
    let server = responder(Default::default());
    let here = work.path("").canonicalize().unwrap().display().to_string();
    let mut wrong = Vec::new();
    for (typed, code, words) in MISTAKES {
        let line = typed.replace("{server}", &server.address().to_string());
        let script = line.replacen("dnsdyno", "exec \"$0\"", 1);
        let ran = work.shell(&script);
        let words = words.replace("{here}", &here);
        let is_answered = ran.stderr.lines().any(|said| said.starts_with(&words));
        if ran.code() != Some(*code) || !is_answered {
            wrong.push(format!("{typed}\n  expected {code}: {words}\n  is {:?}: {}", ran.code(), ran.stderr));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), MISTAKES.len(), wrong.join("\n"));
}

#[rustfmt::skip]
const MISTAKES: &[Mistake] = &[
    // The server and its queries.
    ("dnsdyno run -d q.txt", 2,
        "dnsdyno: no server given: use -s ADDRESS, such as -s 127.0.0.1"),
    ("dnsdyno run -s 127.0.0.1", 2,
        "dnsdyno: no queries given: use a file with -d FILE (- for standard input), or names with --ask"),
    ("dnsdyno run -s 127.0.0.1 -d none.txt", 2,
        "dnsdyno: cannot open the query file {here}/none.txt: No such file or directory (os error 2); give \
         another with -d FILE"),
    ("dnsdyno run -s 127.0.0.1 -d folder", 2,
        "dnsdyno: {here}/folder is a folder: give a file of queries with -d FILE"),
    ("dnsdyno run -s 127.0.0.1 -d empty.txt", 2,
        "dnsdyno: {here}/empty.txt has no queries: write one per line, as `name type`"),
    ("dnsdyno run -s 127.0.0.1 -d comments.txt", 2,
        "dnsdyno: {here}/comments.txt has no queries: write one per line, as `name type`"),
    ("dnsdyno run -s 127.0.0.1 -d zone.txt", 2,
        "dnsdyno: {here}/zone.txt is a zone file: a query file has one `name type` a line; to make one of \
         the records of a zone: named-compilezone -o - ORIGIN FILE | awk '{print $1, $4}'"),
    ("dnsdyno run -s 127.0.0.1 -d origin.txt", 2,
        "dnsdyno: {here}/origin.txt is a zone file: a query file has one `name type` a line; to make one of \
         the records of a zone: named-compilezone -o - ORIGIN FILE | awk '{print $1, $4}'"),
    ("dnsdyno run -s 127.0.0.1 -d q.gz", 2,
        "dnsdyno: {here}/q.gz is compressed with gzip: unpack it: zcat FILE | dnsdyno run -d - ..."),
    ("dnsdyno run -s 127.0.0.1 -d utf16.txt", 2,
        "dnsdyno: {here}/utf16.txt is text in UTF-16: convert it first: iconv -f UTF-16 -t UTF-8 FILE"),
    ("dnsdyno run -s 127.0.0.1 -d c.pcap", 2,
        "dnsdyno: {here}/c.pcap is a packet capture: extract its queries first: tshark -r FILE -Y \
         'dns.flags.response == 0' -T fields -E separator=/s -e dns.qry.name -e dns.qry.type | sed 's/ / \
         TYPE/'"),
    ("dnsdyno run -s 127.0.0.1 -d bin", 2,
        "dnsdyno: {here}/bin is a binary file: a query file is text with one `name type` a line"),
    ("dnsdyno run -s 127.0.0.1 -d /dev/zero", 2,
        "dnsdyno: /dev/zero is a binary file: a query file is text with one `name type` a line"),
    ("dnsdyno run -s 127.0.0.1 -d most.txt", 2,
        "dnsdyno: 2 of 3 lines of {here}/most.txt are malformed, the first is {here}/most.txt:2: no query \
         type after the name: write `name type`: `bad`; correct the file, or add --lenient to skip such \
         lines"),
    ("dnsdyno run -s 127.0.0.1 -d tranco.csv", 2,
        "dnsdyno: {here}/tranco.csv has no queries: no line is well formed; the first is \
         {here}/tranco.csv:1: no query type after the name: write `name type`: `1,google.com`"),
    ("dnsdyno run -s 127.0.0.1 -d latin1.txt", 2,
        "dnsdyno: {here}/latin1.txt has no queries: no line is well formed; the first is \
         {here}/latin1.txt:1: the name is not UTF-8: convert the file, or write the A-label, or \\DDD for a \
         byte: `b\\xfccher A`"),
    ("dnsdyno run -s 127.0.0.1 --ask www..example", 2,
        "dnsdyno: `www..example` is not a question: a label is empty: remove the extra dot"),
    ("dnsdyno run -s 127.0.0.1 --ask 'www.example AAAAA'", 2,
        "dnsdyno: `www.example AAAAA` is not a question: `AAAAA` is not a query type: write a name like \
         AAAA, or TYPEnnn"),
    ("dnsdyno run -s nowhere.invalid -d q.txt", 2,
        "dnsdyno: the server `nowhere.invalid` has no address: "),
    ("dnsdyno run -s 127.0.0.1:99999 -d q.txt", 2,
        "dnsdyno: `127.0.0.1:99999` is not a server: a port is a number from 1 to 65535"),
    ("dnsdyno run -s 127.0.0.1:0 -d q.txt", 2,
        "dnsdyno: --port must be above 0"),
    ("dnsdyno run -s 127.0.0.1 -p 70000 -d q.txt", 2,
        "error: invalid value '70000' for '--port <PORT>': write a whole number from 0 to 65535, such as \
         100 or 10k"),
    ("dnsdyno run -s 127.0.0.1:53 -p 54 -d q.txt", 2,
        "dnsdyno: the port is given twice, 53 with the server and 54 with --port: remove one"),
    ("dnsdyno run -s ::1:5310 -d q.txt", 2,
        "dnsdyno: `::1:5310` is not a server: an IPv6 address with a port needs brackets: write `[::1]:5310`"),
    ("dnsdyno run -s https://dns.example/dns-query -d q.txt", 2,
        "dnsdyno: `https://dns.example/dns-query` is not a server: write `-s dns.example --transport doh`"),
    ("dnsdyno run -s 127.0.0.1#5300 -d q.txt", 2,
        "dnsdyno: `127.0.0.1#5300` is not a server: write `127.0.0.1:5300`"),
    ("dnsdyno run -s 127.0.0.1,127.0.0.2 -d q.txt", 2,
        "dnsdyno: `127.0.0.1,127.0.0.2` is not a server: a run has one server: write one name or address"),
    ("dnsdyno run -s 1.1.1.1 -d q.txt", 2,
        "dnsdyno: 1.1.1.1 is a public address, and a load test looks like an attack to its operator and to \
         every network on the path. If you own it, or its owner has agreed, add --i-may-load-this-server"),
    ("dnsdyno run -s ::1 -f v4 -d q.txt", 2,
        "dnsdyno: the server `::1` has no IPv4 address: change --family or --local-address, or give another \
         address"),
    ("dnsdyno run -s 127.0.0.1 -f q.txt", 2,
        "error: invalid value 'q.txt' for '--family <FAMILY>': `q.txt` is not an address family: use any, \
         v4 or v6 (a file of queries is -d FILE)"),
    // Options.
    ("dnsdyno run -s 127.0.0.1 -d q.txt --strict --lenient", 2,
        "dnsdyno: --lenient and --strict are opposites: remove one"),
    ("dnsdyno run -s 127.0.0.1 -d q.txt --ask www.example", 2,
        "dnsdyno: queries are given both by file and by name: remove -d or --ask"),
    ("dnsdyno run -s 127.0.0.1 -d q.txt --rate 0", 2,
        "dnsdyno: --rate must be above 0"),
    ("dnsdyno run -s 127.0.0.1 -d q.txt --rate 10x", 2,
        "dnsdyno: --rate: `10x` is not a rate: write queries per second, like 200, 50k or 1.5M"),
    ("dnsdyno run -s 127.0.0.1 -d q.txt --rate 50m", 2,
        "dnsdyno: --rate: `50m` is not a rate: write queries per second, like 200, 50k or 1.5M"),
    ("dnsdyno run -s 127.0.0.1 -d q.txt --rate -5", 2,
        "dnsdyno: `-5` is neither an option nor a value: numbers are 0 or more"),
    ("dnsdyno run -s 127.0.0.1 -d q.txt --rate", 2,
        "error: a value is required for '--rate <QPS>' but none was supplied"),
    ("dnsdyno run -s 127.0.0.1 -d q.txt --rate 5k --ramp 0..5k --over 5s", 2,
        "dnsdyno: --rate and --ramp both set the load: remove one"),
    ("dnsdyno run -s 127.0.0.1 -d q.txt --ramp 0..5k", 2,
        "dnsdyno: --ramp needs --over: add it, such as --over 60s"),
    ("dnsdyno run -s 127.0.0.1 -d q.txt --ramp 5k --over 5s", 2,
        "dnsdyno: --ramp: `5k` is not a range: write it like A..B"),
    ("dnsdyno run -s 127.0.0.1 -d q.txt --stair 1k..5k --hold 5s", 2,
        "dnsdyno: --stair needs --step: add it, such as --step 1k"),
    ("dnsdyno run -s 127.0.0.1 -d q.txt --stair 1k..5k --step 0 --hold 5s", 2,
        "dnsdyno: the step of a stair must be above 0: give --step a rate above 0"),
    ("dnsdyno run -s 127.0.0.1 -d q.txt --burst 1k..5k --every 1s --hold 2s --for 10s", 2,
        "dnsdyno: a burst must be shorter than the time between bursts: make --hold shorter than --every"),
    ("dnsdyno run -s 127.0.0.1 -d q.txt --hold 5s", 2,
        "dnsdyno: --hold has no effect without --ramp, --stair or --burst: add that, or remove it"),
    ("dnsdyno run -s 127.0.0.1 -d q.txt --for 10x", 2,
        "dnsdyno: --for: `10x` is not a duration: write a number and ns, us, ms, s, m, h or d, like 30s or \
         1.5h"),
    ("dnsdyno run -s 127.0.0.1 -d q.txt --for 0", 2,
        "dnsdyno: --for must be above 0"),
    ("dnsdyno run -s 127.0.0.1 -d q.txt --timeout 0", 2,
        "dnsdyno: --timeout 0s is out of range: use 1ms to 10m"),
    ("dnsdyno run -s 127.0.0.1 -d q.txt --timeout 1h", 2,
        "dnsdyno: --timeout 1h is out of range: use 1ms to 10m"),
    ("dnsdyno run -s 127.0.0.1 -d q.txt --interval 1ms", 2,
        "dnsdyno: --interval 1ms is out of range: use 10ms to 1h"),
    ("dnsdyno run -s 127.0.0.1 -d q.txt --count 1.5", 2,
        "dnsdyno: --count: `1.5` is not a count: write a whole number, like 1000, 50k or 10M"),
    ("dnsdyno run -s 127.0.0.1 -d q.txt -n 0", 2,
        "dnsdyno: --passes must be above 0"),
    ("dnsdyno run -s 127.0.0.1 -d q.txt -q 0", 2,
        "dnsdyno: --outstanding must be above 0"),
    ("dnsdyno run -s 127.0.0.1 -d q.txt -c 0", 2,
        "dnsdyno: --clients must be above 0"),
    ("dnsdyno run -s 127.0.0.1 -d q.txt -q 70000 -c 1", 2,
        "dnsdyno: --outstanding 70000 is more than the message IDs of 1 socket(s) (65536 each): use \
         --clients 2 or more"),
    ("dnsdyno run -s 127.0.0.1 -d q.txt --transport dns", 2,
        "error: invalid value 'dns' for '--transport <TRANSPORT>': `dns` is not a transport: use udp, tcp, \
         udp+tcp, dot, doh or doq"),
    ("dnsdyno run -s 127.0.0.1 -d q.txt --mix udp=60,dns=40", 2,
        "dnsdyno: --mix udp=60,dns=40: `dns` is not a transport: use udp, tcp, udp+tcp, dot, doh or doq; \
         example: udp=60,tcp=40"),
    ("dnsdyno run -s 127.0.0.1 -d q.txt --ca ca.txt", 2,
        "dnsdyno: --ca is for encryption, and udp has none: add --transport dot, doh or doq, or remove it"),
    ("dnsdyno run -s 127.0.0.1 -d q.txt -m dot --ca none.pem", 2,
        "dnsdyno: cannot read the CA certificates in {here}/none.pem: No such file or directory (os error \
         2); --ca needs a PEM file"),
    ("dnsdyno run -s 127.0.0.1 -d q.txt -m dot --ca ca.txt", 2,
        "dnsdyno: {here}/ca.txt has no CA certificate (nothing of that kind): --ca needs a PEM file with \
         `BEGIN CERTIFICATE`"),
    ("dnsdyno run -s 127.0.0.1 -d q.txt -m dot --ca /dev/zero", 2,
        "dnsdyno: /dev/zero has no CA certificate (nothing of that kind): --ca needs a PEM file with `BEGIN \
         CERTIFICATE`"),
    ("dnsdyno run -s 127.0.0.1 -d q.txt -m dot --tls-version 1.1", 2,
        "error: invalid value '1.1' for '--tls-version <VERSION>': `1.1` is not a version of TLS: use 1.2 \
         or 1.3"),
    ("dnsdyno run -s 127.0.0.1 -d q.txt -m dot --ca ca.txt --insecure", 2,
        "dnsdyno: --ca cannot be used with --insecure: one names the certificates to trust, the other \
         disables verification: remove one"),
    ("dnsdyno run -s 127.0.0.1 -d q.txt --insecure", 2,
        "dnsdyno: --insecure is for encryption, and udp has none: add --transport dot, doh or doq, or \
         remove it"),
    ("dnsdyno run -s 127.0.0.1 -d q.txt --edns-size 100", 2,
        "dnsdyno: --edns-size 100 is out of range: use 512 to 65535"),
    ("dnsdyno run -s 127.0.0.1 -d q.txt --edns-size 70000", 2,
        "error: invalid value '70000' for '--edns-size <BYTES>': write a whole number from 0 to 65535, such \
         as 100 or 10k"),
    ("dnsdyno run -s 127.0.0.1 -d q.txt --class XX", 2,
        "dnsdyno: --class: `XX` is not a class: use IN, CH, HS, ANY or CLASSnnn"),
    ("dnsdyno run -s 127.0.0.1 -d q.txt --seed abc", 2,
        "dnsdyno: --seed: `abc` is not a whole number from 0 to 18446744073709551615"),
    ("dnsdyno run -s 127.0.0.1 -d q.txt --backend dpdk", 2,
        "dnsdyno: --backend: `dpdk` is not a backend: use sockets, xdp or auto"),
    ("dnsdyno run -s 127.0.0.1 -d q.txt -a www.example", 2,
        "dnsdyno: --local-address: `www.example` is not an address: write an IPv4 or IPv6 address of this \
         host, or ADDRESS/LENGTH over connections"),
    ("dnsdyno run -s {server} -d q.txt -a 192.0.2.99 --count 5", 3,
        "dnsdyno: cannot send from 192.0.2.99: it is not an address of this host; see `ip address`"),
    ("dnsdyno run -s 127.0.0.1 -d q.txt -T 1 -c 2 --local-ports 20000", 2,
        "dnsdyno: --local-ports 20000 has 1 port(s), and 2 socket(s) need one each: widen the range, or use \
         --clients 1"),
    ("dnsdyno run -s 127.0.0.1 -d q.txt --concurrency 10", 2,
        "dnsdyno: there is no --concurrency here: queries at the same time are `--outstanding 10`, \
         connections `--clients 10`"),
    ("dnsdyno run -s 127.0.0.1 -d q.txt --rat 5", 2,
        "error: unexpected argument '--rat' found"),
    ("dnsdyno run -s 127.0.0.1 -d q.txt -n many", 2,
        "error: invalid value 'many' for '--passes <N>': write a whole number from 0 to \
         18446744073709551615, such as 100 or 10k"),
    ("dnsdyno run -s 127.0.0.1 -d q.txt --send-only -q 5", 2,
        "dnsdyno: --send-only does not wait for responses, so --outstanding has no effect: remove it to \
         send as fast as this host can, or add --rate"),
    ("dnsdyno run -s 127.0.0.1 -d q.txt --send-only -m tcp", 2,
        "dnsdyno: --send-only cannot be used with --transport tcp: a connection stalls when its responses \
         are not read: remove it"),
    ("dnsdyno run -s 127.0.0.1 -d q.txt -q lots", 2,
        "error: invalid value 'lots' for '--outstanding <N>': write a whole number from 0 to 4294967295, \
         such as 100 or 10k"),
    // Plans, expectations and conditions.
    ("dnsdyno run --plan none.toml", 2,
        "dnsdyno: cannot read the plan file none.toml: No such file or directory (os error 2)"),
    ("dnsdyno run --plan folder", 2,
        "dnsdyno: cannot read the plan file folder: it is a folder; the plan of a run is --plan \
         folder/plan.toml"),
    ("dnsdyno run --plan unknown.toml", 2,
        "unknown field `retries`: keys are the long options without dashes, see `dnsdyno run --help`"),
    ("dnsdyno run --plan syntax.toml", 2,
        "string values must be quoted, expected literal string"),
    ("dnsdyno run --plan type.toml", 2,
        r#"invalid type: boolean `true`, expected a number, or a text such as "50k" or "1.5s""#),
    ("dnsdyno run --plan exp.toml", 2,
        "dnsdyno: --expect: `p99` has no comparison: write METRIC<BOUND with one of < <= > >= =, such as \
         'p99<5ms'"),
    ("dnsdyno run --plan /dev/zero", 2,
        "dnsdyno: cannot read the plan file /dev/zero: it is larger than 4 MiB: use fewer, longer pieces"),
    ("dnsdyno run -s 127.0.0.1 -d q.txt --expect p99", 2,
        "dnsdyno: --expect: `p99` has no comparison: write METRIC<BOUND with one of < <= > >= =, such as \
         'p99<5ms'"),
    ("dnsdyno run -s 127.0.0.1 -d q.txt --expect 'speed<5'", 2,
        "dnsdyno: --expect: `speed<5`: there is no metric `speed`; use loss, answered, late, timeouts, \
         unreachable, not_sent, p50, p90, p95, p99, p99.9 (any percentile), avg, min, max, rate (or qps), \
         sent_rate, noerror, servfail, nxdomain, refused (any RCODE), truncated, fallback, duplicates, \
         unexpected, wrong_question, malformed, socket_drops, generator"),
    ("dnsdyno run -s 127.0.0.1 -d q.txt --expect 'p99<5'", 2,
        "dnsdyno: --expect: `p99<5`: `5` is not a valid bound for p99, which needs a duration with its \
         unit: ns, us, ms or s (5ms, 0.5s)"),
    ("dnsdyno run -s 127.0.0.1 -d q.txt --expect 'loss<0.1'", 2,
        "dnsdyno: --expect: `loss<0.1`: `0.1` is not a valid bound for loss, which needs a percentage \
         (0.1%) or a whole number (0, 100, 10k)"),
    ("dnsdyno run -s 127.0.0.1 -d q.txt --expect 'generator=fine'", 2,
        "dnsdyno: --expect: `generator=fine`: `fine` is not a valid bound for generator, which can only be ok"),
    ("dnsdyno run -s 127.0.0.1 -d q.txt --expect-each generator=ok", 2,
        "dnsdyno: --expect-each: `generator=ok`: the generator is judged for the whole run only: use \
         --expect 'generator=ok'"),
    ("dnsdyno run -s 127.0.0.1 -d q.txt --stop-when 'loss>1% for 3 parsecs'", 2,
        "dnsdyno: --stop-when: `loss>1% for 3 parsecs`: `3 parsecs` is not a duration: write a number and \
         ms, s or m, as in 'loss>1% for 3s'"),
    ("dnsdyno run -s 127.0.0.1 -d q.txt --stop-when 'loss>1%for 3s'", 2,
        "dnsdyno: --stop-when: `loss>1%for 3s`: `1%for 3s` is not a valid bound for loss, which needs a \
         percentage (0.1%) or a whole number (0, 100, 10k)"),
    ("dnsdyno run -s 127.0.0.1 -d q.txt --stop-when loss", 2,
        "dnsdyno: --stop-when: `loss` has no comparison: write METRIC<BOUND with one of < <= > >= =, such \
         as 'p99<5ms'"),
    // Folders.
    ("dnsdyno run -s {server} -d q.txt -o full", 3,
        "dnsdyno: full/run.ndjson exists: a run is never overwritten; choose another folder"),
    ("dnsdyno run -s {server} -d q.txt -o file", 3,
        "dnsdyno: cannot create the folder file: File exists (os error 17); choose one that you may write to"),
    ("dnsdyno run -s {server} -d q.txt -o /proc/run", 3,
        "dnsdyno: cannot create the folder /proc/run: No such file or directory (os error 2); choose one \
         that you may write to"),
    // By habit from other programs.
    ("dnsdyno -s 127.0.0.1 -d q.txt", 2,
        "dnsdyno: a command comes before `-s`: to put a load on a server, `dnsdyno run -s ...`"),
    ("dnsdyno run 127.0.0.1", 2,
        "dnsdyno: `127.0.0.1` needs an option before it: the server is `-s 127.0.0.1`, a name to query \
         `--ask 127.0.0.1`"),
    ("dnsdyno run -s 127.0.0.1 -d q.txt -Q", 2,
        "error: a value is required for '--rate <QPS>' but none was supplied"),
    ("dnsdyno run -s 127.0.0.1 -d q.txt -b 512", 2,
        "dnsdyno: there is no -b here: the buffer size (dnsperf, in kB) is `--receive-buffer 512k`, the \
         local address (flamethrower) is --local-address"),
    ("dnsdyno run -s 127.0.0.1 -d q.txt -e", 2,
        "dnsdyno: there is no -e here: EDNS (dnsperf) is `--edns-size 4096`, or the size that your clients \
         use, such as 1232"),
    ("dnsdyno run -s 127.0.0.1 -d q.txt -E 3:00", 2,
        "dnsdyno: there is no -E here: any EDNS option (dnsperf) is not available; NSID is `--nsid`"),
    ("dnsdyno run -s 127.0.0.1 -d q.txt -x 5300", 2,
        "dnsdyno: there is no -x here: the local port (dnsperf) is `--local-ports 5300..65535`, a range \
         with a port for each client"),
    ("dnsdyno run -s 127.0.0.1 -d q.txt -y key:secret", 2,
        "dnsdyno: there is no -y here: TSIG (dnsperf) is not available"),
    ("dnsdyno run -s 127.0.0.1 -d q.txt -S 1", 2,
        "dnsdyno: there is no -S here: statistics (dnsperf, each S seconds) are printed for each interval: \
         `--interval 1s`"),
    ("dnsdyno run -s 127.0.0.1 -d q.txt -u", 2,
        "dnsdyno: there is no -u here: dynamic updates (dnsperf) are not available"),
    ("dnsdyno run -s 127.0.0.1 -d q.txt -v", 2,
        "dnsdyno: there is no -v here: a line for each query (dnsperf) is not available; `--verbose` shows \
         each worker"),
    ("dnsdyno run -s 127.0.0.1 -d q.txt -O num-queries-per-conn=5", 2,
        "dnsdyno: there is no -O here: dnsperf's num-queries-per-conn is `--queries-per-connection 5`"),
    ("dnsdyno run -s 127.0.0.1 -d q.txt -P tcp", 2,
        "dnsdyno: there is no -P here: the transport (flamethrower) is `-m tcp`; a plot file (resperf) is \
         not written: see `dnsdyno show RUN --json`"),
    ("dnsdyno run -s 127.0.0.1 -d q.txt --qps 1000", 2,
        "dnsdyno: there is no --qps here: the rate is `--rate 1000`"),
    ("dnsdyno run -s 127.0.0.1 -d q.txt --duration 10s", 2,
        "dnsdyno: there is no --duration here: the length of the run is `--for 10s`"),
    ("dnsdyno run -s 127.0.0.1 -d q.txt --tcp", 2,
        "dnsdyno: there is no --tcp here: TCP is `--transport tcp`"),
    ("dnsdyno run -s 127.0.0.1 -d q.txt -n 1 -f inet -q 100 -Q 0", 2,
        "dnsdyno: --rate must be above 0"),
    // Commands.
    ("dnsdyno show", 2,
        "error: the following required arguments were not provided:"),
    ("dnsdyno show none", 2,
        "dnsdyno: cannot show none: cannot open none: No such file or directory (os error 2); name a run's \
         folder, or its run.ndjson"),
    ("dnsdyno show folder", 2,
        "dnsdyno: cannot show folder: cannot open folder/run.ndjson: No such file or directory (os error \
         2); name a run's folder, or its run.ndjson"),
    ("dnsdyno show full", 2,
        "dnsdyno: cannot show full: full/run.ndjson has no run: its first line is incomplete"),
    ("dnsdyno rnu", 2,
        "error: unrecognized subcommand 'rnu'"),
];
