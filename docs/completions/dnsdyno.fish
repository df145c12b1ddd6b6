# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_dnsdyno_global_optspecs
    string join \n h/help V/version
end

function __fish_dnsdyno_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_dnsdyno_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_dnsdyno_using_subcommand
    set -l cmd (__fish_dnsdyno_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c dnsdyno -n "__fish_dnsdyno_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c dnsdyno -n "__fish_dnsdyno_needs_command" -s V -l version -d 'Print version'
complete -c dnsdyno -n "__fish_dnsdyno_needs_command" -f -a "run" -d 'Put a load on a server and measure it'
complete -c dnsdyno -n "__fish_dnsdyno_needs_command" -f -a "show" -d 'Print the summary of a run again, from its record'
complete -c dnsdyno -n "__fish_dnsdyno_needs_command" -f -a "diagnose" -d 'Say which bottleneck the evidence of a run shows, and what to change'
complete -c dnsdyno -n "__fish_dnsdyno_needs_command" -f -a "report" -d 'Write runs as one HTML page that opens without a network'
complete -c dnsdyno -n "__fish_dnsdyno_needs_command" -f -a "qualify" -d 'Qualify a server: the highest load that passes stair, burst, function test and long run'
complete -c dnsdyno -n "__fish_dnsdyno_needs_command" -f -a "compare" -d 'Say whether two sets of runs differ, and by how much'
complete -c dnsdyno -n "__fish_dnsdyno_needs_command" -f -a "history" -d 'Follow runs of one kind over time or versions: steps, drifts, and gates for CI'
complete -c dnsdyno -n "__fish_dnsdyno_needs_command" -f -a "find" -d 'Find the highest load that meets criteria, with its confidence interval'
complete -c dnsdyno -n "__fish_dnsdyno_needs_command" -f -a "experiment" -d 'Compare servers and variants of them under the same loads, in turn, as a file says'
complete -c dnsdyno -n "__fish_dnsdyno_needs_command" -f -a "tune" -d 'Find the parameters of kernel, card and server that make a server hold more, and leave the host as it was'
complete -c dnsdyno -n "__fish_dnsdyno_needs_command" -f -a "export" -d 'Write a run in the format of another program'
complete -c dnsdyno -n "__fish_dnsdyno_needs_command" -f -a "capture" -d 'Say what is in captures of DNS traffic, and cut, filter, merge and convert them'
complete -c dnsdyno -n "__fish_dnsdyno_needs_command" -f -a "data" -d 'Make zones by rule: of a mobile operator, many with a catalog, telephone numbers'
complete -c dnsdyno -n "__fish_dnsdyno_needs_command" -f -a "epc" -d 'Predict the load of a mobile core\'s clients, before and after a change of records, TTLs or caches'
complete -c dnsdyno -n "__fish_dnsdyno_needs_command" -f -a "serve" -d 'Show a folder of runs in a browser'
complete -c dnsdyno -n "__fish_dnsdyno_needs_command" -f -a "doctor" -d 'Look at this host before a run: what will bias the figures, and the commands that cure it'
complete -c dnsdyno -n "__fish_dnsdyno_needs_command" -f -a "respond" -d 'Run a reference DNS server that delays, drops or falsifies responses on request, and counts what it did'
complete -c dnsdyno -n "__fish_dnsdyno_needs_command" -f -a "relay" -d 'Stand between two programs and delay, lose, reorder and limit what passes'
complete -c dnsdyno -n "__fish_dnsdyno_needs_command" -f -a "world" -d 'Serve an Internet in a box: zones from the root down, with their name servers, distances and faults'
complete -c dnsdyno -n "__fish_dnsdyno_needs_command" -f -a "watch" -d 'Show the counters of hosts, processes and servers that move, without a load'
complete -c dnsdyno -n "__fish_dnsdyno_needs_command" -f -a "merge" -d 'Join the records of processes that made parts of one load'
complete -c dnsdyno -n "__fish_dnsdyno_needs_command" -f -a "note" -d 'Write a remark into the record of a run in progress, from another shell'
complete -c dnsdyno -n "__fish_dnsdyno_needs_command" -f -a "demo" -d 'Measure the built-in responder, without any set-up'
complete -c dnsdyno -n "__fish_dnsdyno_needs_command" -f -a "agent" -d 'Make parts of runs for a coordinator (`--on`), which starts this'
complete -c dnsdyno -n "__fish_dnsdyno_needs_command" -f -a "agents" -d 'List the agents that `--on` would use: version, CPUs, clock, what they may load'
complete -c dnsdyno -n "__fish_dnsdyno_needs_command" -f -a "verify" -d 'Say whether files of a release are those that were signed, offline'
complete -c dnsdyno -n "__fish_dnsdyno_needs_command" -f -a "install-links" -d 'Make links to this program by the names of the programs whose command lines it accepts: dnsperf, resperf, resperf-report and queryperf'
complete -c dnsdyno -n "__fish_dnsdyno_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -s s -l server -d 'The server: NAME, ADDRESS, ADDRESS:PORT, [IPV6]:PORT or ADDRESS@PORT. Several get the queries in turn, or by weight: A,B,C or A=3,B=1' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l servers -d 'File of servers: on each line one as for -s, and its weight where it has one (`ADDRESS WEIGHT`)' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -s p -l port -d 'The server\'s port [default: 53; DoT and DoQ 853, DoH and DoH/3 443]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -s f -l family -d 'Use only addresses of this family: any, v4 or v6' -r -f -a "any\t''
v4\t''
v6\t''"
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -s d -l queries -d 'File of queries, "name type" a line as for dnsperf; - for standard input. Compressed with gzip, zstd or xz, too' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l queries-format -d 'Format of the file: text, dnsperf (without our placeholders and options), queryperf, binary (as for dnsperf -B), csv (rank,name) or names [default: auto, by its first bytes]' -r -f -a "auto\t''
text\t''
dnsperf\t''
queryperf\t''
binary\t''
csv\t''
names\t''
updates\t''"
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l ask -d 'Query this name: "name", "name TYPE" or "name/TYPE"; may be repeated. {rand:8} stands for a random label, {n:0..999} for a number' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l replay -d 'Send the queries of this capture (pcap, pcapng or dnstap, compressed or not; - for standard input), by default at the instants at which they were captured; each source address becomes a client of its own' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l speed -d 'Replay so many times as fast as it was captured, such as 2 or 0.5 [default: 1]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l captured-server -d 'Replay only queries to this server of the capture: ADDRESS, ADDRESS:PORT or [IPV6]:PORT; may be repeated' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l first-pass-rate -d 'With --check-answers: ask the questions at this rate before the load [default: 5k]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l first-pass-for -d 'With --check-answers: ask the questions for so long before the load, at the most; each at least twice [default: 20s]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l zone -d 'Query the names and types of this zone file (master file)' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l origin -d 'With --zone: the name of the zone, where the file has no $ORIGIN' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l nxdomain -d 'With --zone: this share of queries, such as 10%, is for names that do not exist' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l generator -d 'Make queries as flamethrower does: static, numberqname, randompkt, randomqname or randomlabel, with its arguments, such as "randomlabel lblsize=10 count=1000"; --ask is the base name' -r -f -a "static\t''
numberqname\t''
randompkt\t''
randomqname\t''
randomlabel\t''"
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l source -d 'Let simulated clients with caches ask, by the description in a file: epc:FILE for the mobility management of a mobile core (`dnsdyno data epc` writes one), stub:FILE for hosts. The load follows from what they need' -r -f -a "epc:\t''
stub:\t''"
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l types -d 'Types by weight, such as A=60,AAAA=30,HTTPS=10, instead of those of the source' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l order -d 'in-turn; random; or zipf:EXPONENT, such as zipf:1.1: each at random, the first ones of the source more often [default: in-turn]' -r -f -a "in-turn\t''
random\t''
zipf:\t''"
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l hit-rate -d 'For a resolver: this share of queries, such as 90%, is for names in its cache' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l ttl -d 'With --hit-rate: how long the resolver keeps a name, such as 300s' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l hot -d 'With --hit-rate: the number of names that are asked for again and again [default: those of the source; 1000 for each name with a placeholder]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l edns-size -d 'Use EDNS with this UDP payload size' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l edns-version -d 'Use this EDNS version, to see whether the server returns BADVERS; implies EDNS [default: 0]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l class -d 'Class of the queries [default: IN]' -r -f -a "IN\t''
CH\t''
HS\t''
ANY\t''"
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l edns-option -d 'Add an EDNS option, CODE:HEX such as 65001:c0ffee; may be repeated; implies EDNS' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l ecs -d 'Send this client subnet (ECS), such as 192.0.2.0/24; source is that of the address of --source-prefix that the query is sent from (/24, of IPv6 /56), source/32 of that length; implies EDNS' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l ecs-range -d 'Send a random client subnet of a range with each query: 10.0.0.0/8/24 is any /24 of 10.0.0.0/8' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l padding -d 'Pad queries to a multiple of so many bytes, 128 by RFC 8467; implies EDNS' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l tsig -d 'Sign queries (TSIG), and verify responses: [ALGORITHM:]NAME:SECRET, the secret in base64 [default algorithm: hmac-sha256]. Other users of this host can see it: see --tsig-file' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l tsig-file -d 'The same with the key in a file of BIND, NSD or Knot, as tsig-keygen or keymgr writes it' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -s q -l outstanding -d 'Closed loop: keep N queries outstanding; with a rate or another shape: at most N outstanding, further queries are delayed' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l rate-limit -d 'Closed loop: send at most this many queries in each second, and do not make up for time in which the window was full' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -s Q -s r -l rate -d 'Open loop: this many queries per second, such as 50k' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l ramp -d 'From A to B queries per second, linearly, --over T; then --hold H at B' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l over -d 'The length of the ramp' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l stair -d 'From A to B queries per second in steps of --step, each for --hold' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l step -d 'The height of a step of the stair' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l burst -d 'BASE queries per second, and PEAK for the last --hold H of each --every T, --for D in total' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l every -d 'The time from one burst to the next' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l hold -d 'The length of a step, of a burst, or of the constant rate after a ramp' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -s l -l for -d 'End after this time, such as 30s or 10m' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l count -d 'End after this many queries' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -s n -l passes -d 'End after this many passes through the file' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -s t -l timeout -d 'How long to wait for a response [default: 5s]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -s m -l transport -d 'udp, tcp, udp+tcp (retries truncated responses over TCP), dot, doh (HTTP/2), doq or doh3 (HTTP/3) [default: udp]' -r -f -a "udp\t''
tcp\t''
udp+tcp\t''
dot\t''
doh\t''
doq\t''
doh3\t''"
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l mix -d 'Several transports by weight, such as udp=60,tcp=15,dot=25. With a port: dot@8853=25; by default encrypted transports use their usual port, the others the server\'s' -r -f -a "udp=\t''
tcp=\t''
udp+tcp=\t''
dot=\t''
doh=\t''
doq=\t''
doh3=\t''"
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l queries-per-connection -l num-queries-per-conn -d 'Close a connection after Q queries and open another; 0 keeps it [default: 0; with udp+tcp 1]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l idle-timeout -d 'Close a connection without outstanding queries after this time [default: never]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l proxy-protocol -d 'Announce another source address to the server (PROXY protocol 2), as a load balancer does: ADDRESS or ADDRESS:PORT; with /LENGTH the addresses of the prefix in turn, one per client' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l tcp-edns -d 'With udp+tcp, EDNS of the retry over TCP: same as over UDP, or none [default: same]' -r -f -a "same\t''
none\t''"
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l ca -d 'Trust the certificates in this PEM file instead of the system\'s' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l sni -d 'The name in the server\'s certificate [default: the server as given by -s]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l tls-version -d 'Use only this version of TLS: 1.2 or 1.3' -r -f -a "1.2\t''
1.3\t''"
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l tls-key-log -d 'Append the secrets of TLS sessions to this file, with which Wireshark decrypts a capture (SSLKEYLOGFILE)' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l handshake-timeout -d 'Timeout of a handshake [default: 5s]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l http-method -d 'DoH: get or post [default: post]' -r -f -a "get\t''
post\t''"
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l http-path -d 'DoH: the path of the URI [default: /dns-query]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -s T -l workers -d 'Number of threads, or auto: the fewest with which the load is made, by trials of a second each before the run. They send this load, or a rate at its peak, to the server [default: as many as the load needs by tables of costs, at most one per CPU, or one per two CPUs if the server is on this host]' -r -f -a "auto\t''"
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l part -d 'Make only a part of the load, where several processes make it together: 3/6 is worker 3 of the 6 that all of them have, 3-4/6 workers 3 and 4. Rates, windows and clients are those of the whole load. With --on, agents get theirs' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -s c -l clients -d 'Number of sockets, or of clients with one connection each, over all workers [default: one per CPU; with AF_XDP 256 source ports; with --queries-per-connection or udp+tcp the window, or 1000]. Where UDP is part of the transport, each worker has one more UDP socket' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -s a -l local-address -l local -d 'Send from this address; over connections, ADDRESS/LENGTH uses the addresses from ADDRESS to the end of the prefix in turn' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l source-prefix -l sources -d 'Over UDP, send from the addresses from ADDRESS to the end of its prefix, which must be routed back to this host (AF_XDP: to the interface) and need not be configured; several by weight: 10.0.0.0/16=3,10.9.0.0/24=1. Each client has one' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l local-ports -l source-ports -d 'Send from these ports, such as 20000..20099; with --source-prefix, those of each address' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l receive-buffer -d 'Receive buffer size of each socket [default: 4M]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l send-buffer -d 'Send buffer size of each UDP socket [default: 1M]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l seed -d 'Random seed; the same seed gives the same load' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l backend -d 'sockets; xdp, which bypasses the kernel\'s network stack (needs root, and an Ethernet interface); or auto, which takes xdp where it can be had [default: sockets]' -r -f -a "sockets\t''
xdp\t''
auto\t''"
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l interface -d 'AF_XDP: the interface [default: that of the route to the server]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l next-hop -d 'AF_XDP: Ethernet address of the next hop [default: from the neighbour table]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l vlan -d 'AF_XDP: send with this VLAN ID' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l xdp-mode -d 'AF_XDP: run the XDP program in the driver (native), in the kernel\'s stack (generic), or as the driver supports [default: auto]' -r -f -a "auto\t''
native\t''
generic\t''"
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l xdp-copy -d 'AF_XDP: zero-copy, copy, or as the driver supports [default: auto]' -r -f -a "auto\t''
zero-copy\t''
copy\t''"
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l expect -d 'Exit with code 1 if this is not true of the run, such as \'loss<0.1%\' or \'p99<5ms\', and with code 5 if the generator\'s own part may decide it; may be repeated' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l expect-each -d 'The same of each step of the load, or, where it has none, of each interval' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l stop-when -d 'End the run when this holds, such as \'loss>1% for 3s\'; may be repeated. Judged when the queries of an interval have ended: after losses, one --timeout later. At once: \'behind>=N\' (queries that are due and not sent) and \'outstanding>=N\' (when another is due)' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l watch -d 'Watch beside the load, and keep it in the record: auto; host or host=PID; process or process=PID; the statistics of a server, such as bind=URL (also unbound, nsd, knot, knot-resolver, pdns, dnsdist, mariadb, world, openmetrics); or ssh://HOST. May be repeated' -r -f -a "auto\t''
host\t''
process\t''
host=\t''
process=\t''
ssh://\t''
bind=\t''
unbound=\t''
nsd=\t''
knot=\t''
knot-resolver=\t''
pdns=\t''
dnsdist=\t''
mariadb=\t''
world=\t''
openmetrics=\t''"
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l trace -d 'Trace one query of each N with all its instants, as 1/N such as 1/1000: `trace.json` in the folder of the run, in the Trace Event Format that Perfetto opens' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l trace-file -d 'Write the trace to this file instead' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l name -d 'A name for the run' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l note -d 'A comment on the run' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l interval -d 'Length of an interval of the record [default: 1s, or less for short phases]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l plan -d 'A plan file (TOML) with any of these, or with pieces of any rate; flags override it' -r -F
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l on -d 'Make the load on these hosts together, over SSH: HOST or ssh://USER@HOST:PORT, separated by commas; local:N for N processes here; exec:COMMAND for containers; nats://BROKER?KEY=VALUE for the agents that wait at a broker; HOST*2 has twice the share of the others' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l if-an-agent-fails -d 'With --on: what happens when an agent is lost: end the run, or continue with the others [default: end]' -r -f -a "end\t''
continue\t''"
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l start-within -d 'With --on: refuse to start where the clocks of the agents are not known so well [default: 1ms]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l nats-creds -d 'For a NATS broker: the file of credentials (.creds, as nsc writes it)' -r -F
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l nats-ca -d 'For a NATS broker with TLS: certificates by which it is known, in place of those of the system (PEM)' -r -F
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -s o -l out -d 'Folder of the record [default: runs/DATE-TIME]' -r -F
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l metrics -d 'Serve metrics of the run for Prometheus at http://ADDRESS/metrics; a port alone is one of 127.0.0.1' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l metrics-linger -d 'After the run, serve its last metrics until they are read once, at most for this time [default: 0s]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l otlp -d 'Send metrics of the run to a receiver of OTLP over HTTP, such as http://127.0.0.1:4318' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l i-may-load-this-server -d 'Allow a public address: you own the server, or its owner has agreed'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l no-check -d 'Do not send a query before the load to see whether the server answers'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l check-answers -d 'Compare each answer with the one in the capture, or, of another source, with the one that the server gives before the load: RCODE and records, not TTL and order'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l strict -d 'Refuse a file with a malformed line; by default such lines are skipped and counted, and a file that has more of them than others is refused'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l lenient -d 'Skip malformed lines of the file, however many they are'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l keep-order -d 'Keep the order of the file. By default, in closed loop and from 100k qps, queries of equal length are grouped within 2,048 lines, which is faster'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -s D -l dnssec-ok -l do -d 'Set the DO bit (DNSSEC OK); implies EDNS'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l nsid -d 'Request the server\'s identifier (NSID); implies EDNS'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l no-recursion -l no-rd -d 'Clear the RD bit, which is set by default as in dnsperf'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l checking-disabled -l cd -d 'Set the CD bit'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l authentic-data -l ad -d 'Set the AD bit'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l ecs-per-client -d 'Send one subnet of --ecs-range per client instead'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l cookie -d 'Use DNS cookies: one per client, with the server\'s cookie returned; implies EDNS'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l no-tsig-verify -d 'Do not verify the signatures of responses'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l send-only -d 'Do not wait for responses; without a rate, send as fast as this host can'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l fast-open -d 'Send the first query of a connection with its SYN (TCP Fast Open)'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l insecure -d 'Do not verify the certificate'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l no-resumption -d 'Do not resume TLS sessions: make a full handshake for each connection'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l early-data -d 'Send queries with the first flight of a resumed handshake (0-RTT)'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l no-pin -d 'Do not pin workers to CPUs (by default each has its own, where there are enough)'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l deep-idle -d 'Let idle CPUs of this host sleep as deeply as they do without a load. By default they are kept ready while the load runs, where this process may do so (root)'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l any-source -d 'Over UDP, take responses from any address and port; otherwise only from those that the query was sent to'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l quiet -d 'Print nothing during the run'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l plain -d 'Print lines during the run on a terminal too, one a second; so does NO_COLOR in the environment'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l verbose -d 'Show the rate and CPU use of each worker'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -l json -d 'Print the summary as one JSON object, with all intervals'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand show" -l expect -d 'Exit with code 1 if this is not true, such as \'loss<0.1%\' or \'p99<5ms\', and with code 5 if the generator\'s own part may decide it; may be repeated' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand show" -l expect-each -d 'The same of each step of the load, or, where it has none, of each interval' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand show" -l verbose -d 'Show the rate and CPU use of each worker'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand show" -l json -d 'Print one JSON object per run, with all intervals'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand show" -l csv -d 'Print the intervals as comma-separated values, one line each'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand show" -l rows -d 'With --csv: print the rows of the summary\'s table, such as the steps of a stair, not the intervals'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand show" -s h -l help -d 'Print help'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand diagnose" -l json -d 'Print one JSON object per folder'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand diagnose" -s h -l help -d 'Print help'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand report" -s o -l out -d 'The page to write [default: RUN/report.html; of several runs report.html in this folder]' -r -F
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand report" -l title -d 'Title of the page [default: the name of the run]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand report" -s h -l help -d 'Print help'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l long -d 'Length of the long run [default: 48h]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l scale -d 'Rehearse: multiply the lengths of steps, burst and long run by this, such as 1/48; every output says so' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l function -d 'File of the commands of the function test (TOML), see docs/qualify.md' -r -F
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l skip -d 'Do not make these tests: stair, burst, function, long' -r -f -a "stair\t''
burst\t''
function\t''
long\t''"
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l need -d 'Exit with code 1 if the capacity is lower than this' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l response-time -d 'The longest response time of a test that passes [default: 1s]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l continuous -d 'Errors in each interval of so long are continuous [default: 3s]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l most-errors -d 'The largest share of queries with an error [default: 0.1%]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l errors -d 'What an error is: metrics of --expect that count queries or responses [default: loss,servfail,refused]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -s s -l server -d 'The server: NAME, ADDRESS, ADDRESS:PORT, [IPV6]:PORT or ADDRESS@PORT. Several get the queries in turn, or by weight: A,B,C or A=3,B=1' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l servers -d 'File of servers: on each line one as for -s, and its weight where it has one (`ADDRESS WEIGHT`)' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -s p -l port -d 'The server\'s port [default: 53; DoT and DoQ 853, DoH and DoH/3 443]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -s f -l family -d 'Use only addresses of this family: any, v4 or v6' -r -f -a "any\t''
v4\t''
v6\t''"
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -s d -l queries -d 'File of queries, "name type" a line as for dnsperf; - for standard input. Compressed with gzip, zstd or xz, too' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l queries-format -d 'Format of the file: text, dnsperf (without our placeholders and options), queryperf, binary (as for dnsperf -B), csv (rank,name) or names [default: auto, by its first bytes]' -r -f -a "auto\t''
text\t''
dnsperf\t''
queryperf\t''
binary\t''
csv\t''
names\t''
updates\t''"
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l ask -d 'Query this name: "name", "name TYPE" or "name/TYPE"; may be repeated. {rand:8} stands for a random label, {n:0..999} for a number' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l replay -d 'Send the queries of this capture (pcap, pcapng or dnstap, compressed or not; - for standard input), by default at the instants at which they were captured; each source address becomes a client of its own' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l speed -d 'Replay so many times as fast as it was captured, such as 2 or 0.5 [default: 1]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l captured-server -d 'Replay only queries to this server of the capture: ADDRESS, ADDRESS:PORT or [IPV6]:PORT; may be repeated' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l first-pass-rate -d 'With --check-answers: ask the questions at this rate before the load [default: 5k]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l first-pass-for -d 'With --check-answers: ask the questions for so long before the load, at the most; each at least twice [default: 20s]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l zone -d 'Query the names and types of this zone file (master file)' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l origin -d 'With --zone: the name of the zone, where the file has no $ORIGIN' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l nxdomain -d 'With --zone: this share of queries, such as 10%, is for names that do not exist' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l generator -d 'Make queries as flamethrower does: static, numberqname, randompkt, randomqname or randomlabel, with its arguments, such as "randomlabel lblsize=10 count=1000"; --ask is the base name' -r -f -a "static\t''
numberqname\t''
randompkt\t''
randomqname\t''
randomlabel\t''"
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l source -d 'Let simulated clients with caches ask, by the description in a file: epc:FILE for the mobility management of a mobile core (`dnsdyno data epc` writes one), stub:FILE for hosts. The load follows from what they need' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l types -d 'Types by weight, such as A=60,AAAA=30,HTTPS=10, instead of those of the source' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l order -d 'in-turn; random; or zipf:EXPONENT, such as zipf:1.1: each at random, the first ones of the source more often [default: in-turn]' -r -f -a "in-turn\t''
random\t''
zipf:\t''"
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l hit-rate -d 'For a resolver: this share of queries, such as 90%, is for names in its cache' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l ttl -d 'With --hit-rate: how long the resolver keeps a name, such as 300s' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l hot -d 'With --hit-rate: the number of names that are asked for again and again [default: those of the source; 1000 for each name with a placeholder]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l edns-size -d 'Use EDNS with this UDP payload size' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l edns-version -d 'Use this EDNS version, to see whether the server returns BADVERS; implies EDNS [default: 0]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l class -d 'Class of the queries [default: IN]' -r -f -a "IN\t''
CH\t''
HS\t''
ANY\t''"
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l edns-option -d 'Add an EDNS option, CODE:HEX such as 65001:c0ffee; may be repeated; implies EDNS' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l ecs -d 'Send this client subnet (ECS), such as 192.0.2.0/24; source is that of the address of --source-prefix that the query is sent from (/24, of IPv6 /56), source/32 of that length; implies EDNS' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l ecs-range -d 'Send a random client subnet of a range with each query: 10.0.0.0/8/24 is any /24 of 10.0.0.0/8' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l padding -d 'Pad queries to a multiple of so many bytes, 128 by RFC 8467; implies EDNS' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l tsig -d 'Sign queries (TSIG), and verify responses: [ALGORITHM:]NAME:SECRET, the secret in base64 [default algorithm: hmac-sha256]. Other users of this host can see it: see --tsig-file' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l tsig-file -d 'The same with the key in a file of BIND, NSD or Knot, as tsig-keygen or keymgr writes it' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -s q -l outstanding -d 'Closed loop: keep N queries outstanding; with a rate or another shape: at most N outstanding, further queries are delayed' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l rate-limit -d 'Closed loop: send at most this many queries in each second, and do not make up for time in which the window was full' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -s Q -s r -l rate -d 'Open loop: this many queries per second, such as 50k' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l ramp -d 'From A to B queries per second, linearly, --over T; then --hold H at B' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l over -d 'The length of the ramp' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l stair -d 'The range of the stair [default: 2k..25k]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l step -d 'The height of a step [default: 1k]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l burst -d 'The length of the burst [default: 10m]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l every -d 'The time from one burst to the next' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l hold -d 'The length of a step [default: 60s]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -s l -l for -d 'End after this time, such as 30s or 10m' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l count -d 'End after this many queries' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -s n -l passes -d 'End after this many passes through the file' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -s t -l timeout -d 'How long to wait for a response [default: 5s]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -s m -l transport -d 'udp, tcp, udp+tcp (retries truncated responses over TCP), dot, doh (HTTP/2), doq or doh3 (HTTP/3) [default: udp]' -r -f -a "udp\t''
tcp\t''
udp+tcp\t''
dot\t''
doh\t''
doq\t''
doh3\t''"
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l mix -d 'Several transports by weight, such as udp=60,tcp=15,dot=25. With a port: dot@8853=25; by default encrypted transports use their usual port, the others the server\'s' -r -f -a "udp=\t''
tcp=\t''
udp+tcp=\t''
dot=\t''
doh=\t''
doq=\t''
doh3=\t''"
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l queries-per-connection -l num-queries-per-conn -d 'Close a connection after Q queries and open another; 0 keeps it [default: 0; with udp+tcp 1]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l idle-timeout -d 'Close a connection without outstanding queries after this time [default: never]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l proxy-protocol -d 'Announce another source address to the server (PROXY protocol 2), as a load balancer does: ADDRESS or ADDRESS:PORT; with /LENGTH the addresses of the prefix in turn, one per client' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l tcp-edns -d 'With udp+tcp, EDNS of the retry over TCP: same as over UDP, or none [default: same]' -r -f -a "same\t''
none\t''"
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l ca -d 'Trust the certificates in this PEM file instead of the system\'s' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l sni -d 'The name in the server\'s certificate [default: the server as given by -s]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l tls-version -d 'Use only this version of TLS: 1.2 or 1.3' -r -f -a "1.2\t''
1.3\t''"
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l tls-key-log -d 'Append the secrets of TLS sessions to this file, with which Wireshark decrypts a capture (SSLKEYLOGFILE)' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l handshake-timeout -d 'Timeout of a handshake [default: 5s]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l http-method -d 'DoH: get or post [default: post]' -r -f -a "get\t''
post\t''"
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l http-path -d 'DoH: the path of the URI [default: /dns-query]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -s T -l workers -d 'Number of threads, or auto: the fewest with which the load is made, by trials of a second each before the run. They send this load, or a rate at its peak, to the server [default: as many as the load needs by tables of costs, at most one per CPU, or one per two CPUs if the server is on this host]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l part -d 'Make only a part of the load, where several processes make it together: 3/6 is worker 3 of the 6 that all of them have, 3-4/6 workers 3 and 4. Rates, windows and clients are those of the whole load. With --on, agents get theirs' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -s c -l clients -d 'Number of sockets, or of clients with one connection each, over all workers [default: one per CPU; with AF_XDP 256 source ports; with --queries-per-connection or udp+tcp the window, or 1000]. Where UDP is part of the transport, each worker has one more UDP socket' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -s a -l local-address -l local -d 'Send from this address; over connections, ADDRESS/LENGTH uses the addresses from ADDRESS to the end of the prefix in turn' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l source-prefix -l sources -d 'Over UDP, send from the addresses from ADDRESS to the end of its prefix, which must be routed back to this host (AF_XDP: to the interface) and need not be configured; several by weight: 10.0.0.0/16=3,10.9.0.0/24=1. Each client has one' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l local-ports -l source-ports -d 'Send from these ports, such as 20000..20099; with --source-prefix, those of each address' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l receive-buffer -d 'Receive buffer size of each socket [default: 4M]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l send-buffer -d 'Send buffer size of each UDP socket [default: 1M]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l seed -d 'Random seed; the same seed gives the same load' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l backend -d 'sockets; xdp, which bypasses the kernel\'s network stack (needs root, and an Ethernet interface); or auto, which takes xdp where it can be had [default: sockets]' -r -f -a "sockets\t''
xdp\t''
auto\t''"
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l interface -d 'AF_XDP: the interface [default: that of the route to the server]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l next-hop -d 'AF_XDP: Ethernet address of the next hop [default: from the neighbour table]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l vlan -d 'AF_XDP: send with this VLAN ID' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l xdp-mode -d 'AF_XDP: run the XDP program in the driver (native), in the kernel\'s stack (generic), or as the driver supports [default: auto]' -r -f -a "auto\t''
native\t''
generic\t''"
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l xdp-copy -d 'AF_XDP: zero-copy, copy, or as the driver supports [default: auto]' -r -f -a "auto\t''
zero-copy\t''
copy\t''"
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l expect -d 'Exit with code 1 if this is not true of the run, such as \'loss<0.1%\' or \'p99<5ms\', and with code 5 if the generator\'s own part may decide it; may be repeated' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l expect-each -d 'The same of each step of the load, or, where it has none, of each interval' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l stop-when -d 'End the run when this holds, such as \'loss>1% for 3s\'; may be repeated. Judged when the queries of an interval have ended: after losses, one --timeout later. At once: \'behind>=N\' (queries that are due and not sent) and \'outstanding>=N\' (when another is due)' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l watch -d 'Watch beside the load, and keep it in the record: auto; host or host=PID; process or process=PID; the statistics of a server, such as bind=URL (also unbound, nsd, knot, knot-resolver, pdns, dnsdist, mariadb, world, openmetrics); or ssh://HOST. May be repeated' -r -f -a "auto\t''
host\t''
process\t''
host=\t''
process=\t''
ssh://\t''
bind=\t''
unbound=\t''
nsd=\t''
knot=\t''
knot-resolver=\t''
pdns=\t''
dnsdist=\t''
mariadb=\t''
world=\t''
openmetrics=\t''"
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l trace -d 'Trace one query of each N with all its instants, as 1/N such as 1/1000: `trace.json` in the folder of the run, in the Trace Event Format that Perfetto opens' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l trace-file -d 'Write the trace to this file instead' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l name -d 'A name for the run' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l note -d 'A comment on the run' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l interval -d 'Length of an interval of the record [default: 1s, or less for short phases]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l plan -d 'A plan file (TOML) with options of a run; flags override it' -r -F
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l on -d 'Make the load on these hosts together, over SSH: HOST or ssh://USER@HOST:PORT, separated by commas; local:N for N processes here; exec:COMMAND for containers; nats://BROKER?KEY=VALUE for the agents that wait at a broker; HOST*2 has twice the share of the others' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l if-an-agent-fails -d 'With --on: what happens when an agent is lost: end the run, or continue with the others [default: end]' -r -f -a "end\t''
continue\t''"
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l start-within -d 'With --on: refuse to start where the clocks of the agents are not known so well [default: 1ms]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l nats-creds -d 'For a NATS broker: the file of credentials (.creds, as nsc writes it)' -r -F
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l nats-ca -d 'For a NATS broker with TLS: certificates by which it is known, in place of those of the system (PEM)' -r -F
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -s o -l out -d 'Folder of the qualification; with the same command it is resumed from there [default: runs/DATE-TIME-qualify]' -r -F
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l dry-run -d 'Say what would be done, and how long it takes'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l however-long -d 'Do it even if it takes more than 31 days'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l i-may-load-this-server -d 'Allow a public address: you own the server, or its owner has agreed'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l no-check -d 'Do not send a query before the load to see whether the server answers'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l check-answers -d 'Compare each answer with the one in the capture, or, of another source, with the one that the server gives before the load: RCODE and records, not TTL and order'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l strict -d 'Refuse a file with a malformed line; by default such lines are skipped and counted, and a file that has more of them than others is refused'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l lenient -d 'Skip malformed lines of the file, however many they are'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l keep-order -d 'Keep the order of the file. By default, in closed loop and from 100k qps, queries of equal length are grouped within 2,048 lines, which is faster'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -s D -l dnssec-ok -l do -d 'Set the DO bit (DNSSEC OK); implies EDNS'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l nsid -d 'Request the server\'s identifier (NSID); implies EDNS'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l no-recursion -l no-rd -d 'Clear the RD bit, which is set by default as in dnsperf'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l checking-disabled -l cd -d 'Set the CD bit'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l authentic-data -l ad -d 'Set the AD bit'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l ecs-per-client -d 'Send one subnet of --ecs-range per client instead'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l cookie -d 'Use DNS cookies: one per client, with the server\'s cookie returned; implies EDNS'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l no-tsig-verify -d 'Do not verify the signatures of responses'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l send-only -d 'Do not wait for responses; without a rate, send as fast as this host can'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l fast-open -d 'Send the first query of a connection with its SYN (TCP Fast Open)'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l insecure -d 'Do not verify the certificate'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l no-resumption -d 'Do not resume TLS sessions: make a full handshake for each connection'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l early-data -d 'Send queries with the first flight of a resumed handshake (0-RTT)'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l no-pin -d 'Do not pin workers to CPUs (by default each has its own, where there are enough)'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l deep-idle -d 'Let idle CPUs of this host sleep as deeply as they do without a load. By default they are kept ready while the load runs, where this process may do so (root)'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l any-source -d 'Over UDP, take responses from any address and port; otherwise only from those that the query was sent to'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l quiet -d 'Print nothing but the verdict'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l plain -d 'Print lines during the runs on a terminal too'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -l json -d 'Print the verdict as one JSON object'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand qualify" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand compare" -l against -d 'Folders of the runs to compare with, the baseline; or files of other programs' -r -F
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand compare" -l against-history -d 'Compare with the past: with all earlier runs in this folder, and the folders in it, that have the same plan, server and host' -r -F
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand compare" -l fail-if -d 'Exit with code 1 if a metric has changed by more than this and the change is shown, such as \'p99 +5%\' or \'rate -2%\'; of a share in percentage points: \'loss +0.1%\'; may be repeated' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand compare" -l by -d 'The metric that is judged first, with most of the accepted risk of a false alarm [default: p99; of a closed loop rate]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand compare" -l page -d 'Also write the comparison with the charts of all runs as an HTML page' -r -F
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand compare" -l junit -d 'Also write a JUnit report, with a test case for each --fail-if' -r -F
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand compare" -l seed -d 'Random seed of the intervals; the same seed gives the same result' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand compare" -l drop-first -d 'Leave out the first run of each side, in which caches fill; of the past that of each session'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand compare" -l even-if-unlike -d 'Compare runs that were not asked alike'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand compare" -l json -d 'Print one JSON object'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand compare" -l markdown -d 'Print Markdown, for a pull request'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand compare" -s h -l help -d 'Print help'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand history" -l by -d 'The order of the runs: time, or a label such as version or commit' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand history" -l label -d 'Only runs with this label, such as \'version=3.4\' or \'branch\'; may be repeated. Labels are words KEY=VALUE in the note of a run; without one, version is that of the watched server' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand history" -l gate -d 'Exit with code 1 if a metric has a step that is worse by more than this, such as \'rate=5%\'; of loss in percentage points; with code 2 if the runs do not say it. The metrics: limit, rate, loss, p50, p95, p99, cpu; may be repeated' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand history" -l accept -d 'Note that the step at a run is intended, and why; it is no regression from then on' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand history" -l page -d 'Also write a page with a chart of each metric' -r -F
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand history" -l junit -d 'Also write a JUnit report, with a test case for each --gate' -r -F
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand history" -l seed -d 'Random seed of the orders that are tried; the same seed gives the same result' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand history" -l json -d 'Print one JSON object'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand history" -l markdown -d 'Print Markdown, for a pull request'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand history" -l no-index -d 'Neither write nor renew the index beside the records'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand history" -s h -l help -d 'Print help'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l while -d 'A criterion of each trial, such as \'loss<0.1%\' or \'p99<5ms\'; may be repeated [default: no loss beyond chance, and p99<=100ms]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l goal -d 'A goal, \'NAME: CRITERIA\', with how long a trial must hold it if that matters: \'held: loss<0.1%, 60 s\'; may be repeated, each trial is judged for all of them. With --method mlrsearch a Search Goal of RFC 9971, \'NAME: loss<=R\', with its final trial duration and, each after a comma, sum=T (decides a load), exceed=SHARE (of that which may lose more), width=SHARE (between its bounds) and initial=T (of the first trials) [default: one goal, the criteria of --while; of mlrsearch \'lossless: loss=0\' and \'partial: loss<=0.5%\', each with 10 s, sum=30 s, exceed=50%, width=0.5%, initial=1 s]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l find -d 'What is searched for: qps, connections (per second, one query each) or clients (held, each with its connection) [default: qps]' -r -f -a "qps\t''
connections\t''
clients\t''"
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l method -d 'search, stair, ramp, window, rfc2544, rfc8219 or mlrsearch (RFC 9971) [default: search]' -r -f -a "search\t''
stair\t''
ramp\t''
window\t''
rfc2544\t''
rfc8219\t''
mlrsearch\t''"
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l from -d 'The first load [default: 1k; of connections and clients 100]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l least -d 'The lowest load that is tried, if the first one is too much [default: a tenth of the default of --from, or more where trials would last longer than a minute]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l most -d 'The highest load that is tried; the end of a stair or a ramp; the largest window' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l trial -d 'The length of a trial near the limit; longer where its load has too few queries for the criteria [default: 5s, and 8s once trials contradict each other; of other methods than search 10s]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l rest -d 'The pause between trials; four times as long after one that failed [default: 500ms]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l precision -d 'Search until the 95 % interval is so narrow: plus or minus this share [default: 2%]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l trials -d 'End after this many trials, with the interval that there is then [default: 60, and 30 for each further goal and each goal with a duration; of mlrsearch 1000]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l per-client -d 'With --find clients: queries per second of each client [default: 1]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l repeats -d 'With --method rfc2544 and rfc8219: how often the search is made [default: 20]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -s s -l server -d 'The server: NAME, ADDRESS, ADDRESS:PORT, [IPV6]:PORT or ADDRESS@PORT. Several get the queries in turn, or by weight: A,B,C or A=3,B=1' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l servers -d 'File of servers: on each line one as for -s, and its weight where it has one (`ADDRESS WEIGHT`)' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -s p -l port -d 'The server\'s port [default: 53; DoT and DoQ 853, DoH and DoH/3 443]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -s f -l family -d 'Use only addresses of this family: any, v4 or v6' -r -f -a "any\t''
v4\t''
v6\t''"
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -s d -l queries -d 'File of queries, "name type" a line as for dnsperf; - for standard input. Compressed with gzip, zstd or xz, too' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l queries-format -d 'Format of the file: text, dnsperf (without our placeholders and options), queryperf, binary (as for dnsperf -B), csv (rank,name) or names [default: auto, by its first bytes]' -r -f -a "auto\t''
text\t''
dnsperf\t''
queryperf\t''
binary\t''
csv\t''
names\t''
updates\t''"
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l ask -d 'Query this name: "name", "name TYPE" or "name/TYPE"; may be repeated. {rand:8} stands for a random label, {n:0..999} for a number' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l replay -d 'Send the queries of this capture (pcap, pcapng or dnstap, compressed or not; - for standard input), by default at the instants at which they were captured; each source address becomes a client of its own' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l speed -d 'Replay so many times as fast as it was captured, such as 2 or 0.5 [default: 1]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l captured-server -d 'Replay only queries to this server of the capture: ADDRESS, ADDRESS:PORT or [IPV6]:PORT; may be repeated' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l first-pass-rate -d 'With --check-answers: ask the questions at this rate before the load [default: 5k]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l first-pass-for -d 'With --check-answers: ask the questions for so long before the load, at the most; each at least twice [default: 20s]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l zone -d 'Query the names and types of this zone file (master file)' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l origin -d 'With --zone: the name of the zone, where the file has no $ORIGIN' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l nxdomain -d 'With --zone: this share of queries, such as 10%, is for names that do not exist' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l generator -d 'Make queries as flamethrower does: static, numberqname, randompkt, randomqname or randomlabel, with its arguments, such as "randomlabel lblsize=10 count=1000"; --ask is the base name' -r -f -a "static\t''
numberqname\t''
randompkt\t''
randomqname\t''
randomlabel\t''"
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l source -d 'Let simulated clients with caches ask, by the description in a file: epc:FILE for the mobility management of a mobile core (`dnsdyno data epc` writes one), stub:FILE for hosts. The load follows from what they need' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l types -d 'Types by weight, such as A=60,AAAA=30,HTTPS=10, instead of those of the source' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l order -d 'in-turn; random; or zipf:EXPONENT, such as zipf:1.1: each at random, the first ones of the source more often [default: in-turn]' -r -f -a "in-turn\t''
random\t''
zipf:\t''"
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l hit-rate -d 'For a resolver: this share of queries, such as 90%, is for names in its cache' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l ttl -d 'With --hit-rate: how long the resolver keeps a name, such as 300s' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l hot -d 'With --hit-rate: the number of names that are asked for again and again [default: those of the source; 1000 for each name with a placeholder]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l edns-size -d 'Use EDNS with this UDP payload size' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l edns-version -d 'Use this EDNS version, to see whether the server returns BADVERS; implies EDNS [default: 0]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l class -d 'Class of the queries [default: IN]' -r -f -a "IN\t''
CH\t''
HS\t''
ANY\t''"
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l edns-option -d 'Add an EDNS option, CODE:HEX such as 65001:c0ffee; may be repeated; implies EDNS' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l ecs -d 'Send this client subnet (ECS), such as 192.0.2.0/24; source is that of the address of --source-prefix that the query is sent from (/24, of IPv6 /56), source/32 of that length; implies EDNS' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l ecs-range -d 'Send a random client subnet of a range with each query: 10.0.0.0/8/24 is any /24 of 10.0.0.0/8' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l padding -d 'Pad queries to a multiple of so many bytes, 128 by RFC 8467; implies EDNS' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l tsig -d 'Sign queries (TSIG), and verify responses: [ALGORITHM:]NAME:SECRET, the secret in base64 [default algorithm: hmac-sha256]. Other users of this host can see it: see --tsig-file' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l tsig-file -d 'The same with the key in a file of BIND, NSD or Knot, as tsig-keygen or keymgr writes it' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -s q -l outstanding -d 'Closed loop: keep N queries outstanding; with a rate or another shape: at most N outstanding, further queries are delayed' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l rate-limit -d 'Closed loop: send at most this many queries in each second, and do not make up for time in which the window was full' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -s Q -s r -l rate -d 'Open loop: this many queries per second, such as 50k' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l ramp -d 'From A to B queries per second, linearly, --over T; then --hold H at B' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l over -d 'The length of the ramp' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l stair -d 'From A to B queries per second in steps of --step, each for --hold' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l step -d 'The height of a step of the stair' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l burst -d 'BASE queries per second, and PEAK for the last --hold H of each --every T, --for D in total' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l every -d 'The time from one burst to the next' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l hold -d 'The length of a step, of a burst, or of the constant rate after a ramp' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -s l -l for -d 'End after this time, such as 30s or 10m' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l count -d 'End after this many queries' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -s n -l passes -d 'End after this many passes through the file' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -s t -l timeout -d 'How long to wait for a response [default: 5s]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -s m -l transport -d 'udp, tcp, udp+tcp (retries truncated responses over TCP), dot, doh (HTTP/2), doq or doh3 (HTTP/3) [default: udp]' -r -f -a "udp\t''
tcp\t''
udp+tcp\t''
dot\t''
doh\t''
doq\t''
doh3\t''"
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l mix -d 'Several transports by weight, such as udp=60,tcp=15,dot=25. With a port: dot@8853=25; by default encrypted transports use their usual port, the others the server\'s' -r -f -a "udp=\t''
tcp=\t''
udp+tcp=\t''
dot=\t''
doh=\t''
doq=\t''
doh3=\t''"
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l queries-per-connection -l num-queries-per-conn -d 'Close a connection after Q queries and open another; 0 keeps it [default: 0; with udp+tcp 1]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l idle-timeout -d 'Close a connection without outstanding queries after this time [default: never]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l proxy-protocol -d 'Announce another source address to the server (PROXY protocol 2), as a load balancer does: ADDRESS or ADDRESS:PORT; with /LENGTH the addresses of the prefix in turn, one per client' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l tcp-edns -d 'With udp+tcp, EDNS of the retry over TCP: same as over UDP, or none [default: same]' -r -f -a "same\t''
none\t''"
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l ca -d 'Trust the certificates in this PEM file instead of the system\'s' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l sni -d 'The name in the server\'s certificate [default: the server as given by -s]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l tls-version -d 'Use only this version of TLS: 1.2 or 1.3' -r -f -a "1.2\t''
1.3\t''"
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l tls-key-log -d 'Append the secrets of TLS sessions to this file, with which Wireshark decrypts a capture (SSLKEYLOGFILE)' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l handshake-timeout -d 'Timeout of a handshake [default: 5s]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l http-method -d 'DoH: get or post [default: post]' -r -f -a "get\t''
post\t''"
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l http-path -d 'DoH: the path of the URI [default: /dns-query]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -s T -l workers -d 'Number of threads, or auto: the fewest with which the load is made, by trials of a second each before the run. They send this load, or a rate at its peak, to the server [default: as many as the load needs by tables of costs, at most one per CPU, or one per two CPUs if the server is on this host]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l part -d 'Make only a part of the load, where several processes make it together: 3/6 is worker 3 of the 6 that all of them have, 3-4/6 workers 3 and 4. Rates, windows and clients are those of the whole load. With --on, agents get theirs' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -s c -l clients -d 'Number of sockets, or of clients with one connection each, over all workers [default: one per CPU; with AF_XDP 256 source ports; with --queries-per-connection or udp+tcp the window, or 1000]. Where UDP is part of the transport, each worker has one more UDP socket' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -s a -l local-address -l local -d 'Send from this address; over connections, ADDRESS/LENGTH uses the addresses from ADDRESS to the end of the prefix in turn' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l source-prefix -l sources -d 'Over UDP, send from the addresses from ADDRESS to the end of its prefix, which must be routed back to this host (AF_XDP: to the interface) and need not be configured; several by weight: 10.0.0.0/16=3,10.9.0.0/24=1. Each client has one' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l local-ports -l source-ports -d 'Send from these ports, such as 20000..20099; with --source-prefix, those of each address' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l receive-buffer -d 'Receive buffer size of each socket [default: 4M]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l send-buffer -d 'Send buffer size of each UDP socket [default: 1M]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l seed -d 'Random seed; the same seed gives the same load' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l backend -d 'sockets; xdp, which bypasses the kernel\'s network stack (needs root, and an Ethernet interface); or auto, which takes xdp where it can be had [default: sockets]' -r -f -a "sockets\t''
xdp\t''
auto\t''"
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l interface -d 'AF_XDP: the interface [default: that of the route to the server]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l next-hop -d 'AF_XDP: Ethernet address of the next hop [default: from the neighbour table]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l vlan -d 'AF_XDP: send with this VLAN ID' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l xdp-mode -d 'AF_XDP: run the XDP program in the driver (native), in the kernel\'s stack (generic), or as the driver supports [default: auto]' -r -f -a "auto\t''
native\t''
generic\t''"
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l xdp-copy -d 'AF_XDP: zero-copy, copy, or as the driver supports [default: auto]' -r -f -a "auto\t''
zero-copy\t''
copy\t''"
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l expect -d 'Exit with code 1 if this is not true of the run, such as \'loss<0.1%\' or \'p99<5ms\', and with code 5 if the generator\'s own part may decide it; may be repeated' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l expect-each -d 'The same of each step of the load, or, where it has none, of each interval' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l stop-when -d 'End the run when this holds, such as \'loss>1% for 3s\'; may be repeated. Judged when the queries of an interval have ended: after losses, one --timeout later. At once: \'behind>=N\' (queries that are due and not sent) and \'outstanding>=N\' (when another is due)' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l watch -d 'Watch beside the load, and keep it in the record: auto; host or host=PID; process or process=PID; the statistics of a server, such as bind=URL (also unbound, nsd, knot, knot-resolver, pdns, dnsdist, mariadb, world, openmetrics); or ssh://HOST. May be repeated' -r -f -a "auto\t''
host\t''
process\t''
host=\t''
process=\t''
ssh://\t''
bind=\t''
unbound=\t''
nsd=\t''
knot=\t''
knot-resolver=\t''
pdns=\t''
dnsdist=\t''
mariadb=\t''
world=\t''
openmetrics=\t''"
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l trace -d 'Trace one query of each N with all its instants, as 1/N such as 1/1000: `trace.json` in the folder of the run, in the Trace Event Format that Perfetto opens' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l trace-file -d 'Write the trace to this file instead' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l name -d 'A name for the run' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l note -d 'A comment on the run' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l interval -d 'Length of an interval of the record [default: 1s, or less for short phases]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l plan -d 'A plan file (TOML) with options of the runs; flags override it' -r -F
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l on -d 'Make the load on these hosts together, over SSH: HOST or ssh://USER@HOST:PORT, separated by commas; local:N for N processes here; exec:COMMAND for containers; nats://BROKER?KEY=VALUE for the agents that wait at a broker; HOST*2 has twice the share of the others' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l if-an-agent-fails -d 'With --on: what happens when an agent is lost: end the run, or continue with the others [default: end]' -r -f -a "end\t''
continue\t''"
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l start-within -d 'With --on: refuse to start where the clocks of the agents are not known so well [default: 1ms]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l nats-creds -d 'For a NATS broker: the file of credentials (.creds, as nsc writes it)' -r -F
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l nats-ca -d 'For a NATS broker with TLS: certificates by which it is known, in place of those of the system (PEM)' -r -F
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -s o -l out -d 'Folder of the search; one that was stopped is resumed [default: runs/DATE-TIME-find]' -r -F
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l dry-run -d 'Say what would be done, and how long it takes at the most, and do nothing'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l i-may-load-this-server -d 'Allow a public address: you own the server, or its owner has agreed'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l no-check -d 'Do not send a query before the load to see whether the server answers'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l check-answers -d 'Compare each answer with the one in the capture, or, of another source, with the one that the server gives before the load: RCODE and records, not TTL and order'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l strict -d 'Refuse a file with a malformed line; by default such lines are skipped and counted, and a file that has more of them than others is refused'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l lenient -d 'Skip malformed lines of the file, however many they are'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l keep-order -d 'Keep the order of the file. By default, in closed loop and from 100k qps, queries of equal length are grouped within 2,048 lines, which is faster'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -s D -l dnssec-ok -l do -d 'Set the DO bit (DNSSEC OK); implies EDNS'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l nsid -d 'Request the server\'s identifier (NSID); implies EDNS'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l no-recursion -l no-rd -d 'Clear the RD bit, which is set by default as in dnsperf'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l checking-disabled -l cd -d 'Set the CD bit'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l authentic-data -l ad -d 'Set the AD bit'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l ecs-per-client -d 'Send one subnet of --ecs-range per client instead'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l cookie -d 'Use DNS cookies: one per client, with the server\'s cookie returned; implies EDNS'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l no-tsig-verify -d 'Do not verify the signatures of responses'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l send-only -d 'Do not wait for responses; without a rate, send as fast as this host can'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l fast-open -d 'Send the first query of a connection with its SYN (TCP Fast Open)'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l insecure -d 'Do not verify the certificate'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l no-resumption -d 'Do not resume TLS sessions: make a full handshake for each connection'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l early-data -d 'Send queries with the first flight of a resumed handshake (0-RTT)'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l no-pin -d 'Do not pin workers to CPUs (by default each has its own, where there are enough)'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l deep-idle -d 'Let idle CPUs of this host sleep as deeply as they do without a load. By default they are kept ready while the load runs, where this process may do so (root)'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l any-source -d 'Over UDP, take responses from any address and port; otherwise only from those that the query was sent to'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l quiet -d 'Print the result only'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -l json -d 'Print the result as one JSON object'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand find" -s h -l help -d 'Print help'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand experiment" -s o -l out -d 'Folder of records and results; with the folder of an experiment that was stopped, it goes on [default: runs/NAME, as the file is named, with --full runs/NAME-full]' -r -F
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand experiment" -l on -d 'Make the load on these hosts together, over SSH: HOST or ssh://USER@HOST:PORT, separated by commas; local:N for N processes here; exec:COMMAND for containers; nats://BROKER?KEY=VALUE for the agents that wait at a broker; HOST*2 has twice the share of the others' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand experiment" -l if-an-agent-fails -d 'With --on: what happens when an agent is lost: end the run, or continue with the others [default: end]' -r -f -a "end\t''
continue\t''"
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand experiment" -l start-within -d 'With --on: refuse to start where the clocks of the agents are not known so well [default: 1ms]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand experiment" -l nats-creds -d 'For a NATS broker: the file of credentials (.creds, as nsc writes it)' -r -F
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand experiment" -l nats-ca -d 'For a NATS broker with TLS: certificates by which it is known, in place of those of the system (PEM)' -r -F
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand experiment" -l i-may-load-this-server -d 'Load the server at this address of the file though it is public: you own it, or its owner has agreed; may be repeated' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand experiment" -l program -d 'Take this program for a server or variant of the file; a folder is an unpacked root file system that has the program of its template; may be repeated' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand experiment" -l dry-run -d 'Say what would be done, how long it takes, and whether this host has the servers, and do nothing'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand experiment" -l full -d 'At the full scale, as the table [full] of the file has it'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand experiment" -l yes -d 'Begin also where it takes longer than a day'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand experiment" -l quiet -d 'Print only the results'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand experiment" -s h -l help -d 'Print help'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l software -d 'Of the server of -s: what it is, such as bind, nsd, unbound' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l on -d 'Of the server of -s: where it runs: host, netns:NAME or ssh://HOST [default: host]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l config -d 'Of the server of -s: its configuration, on its host' -r -F
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l restart -d 'Of the server of -s: the command that starts it again, on its host, such as \'systemctl restart named\'' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l server-interface -d 'Of the server of -s: its network interface, on its host' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l parameter -d 'Only this parameter, by its name in --list; may be repeated [default: all that can be changed]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l without -d 'Leave this parameter alone; may be repeated' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l allow -d 'Change this parameter although it may cut the host off from the network; may be repeated' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l from -d 'Begin with the parameters that `dnsdyno diagnose` names for this run' -r -F
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l trial -d 'The length of each trial of the server of -s [default: 5s]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l smallest-gain -d 'The smallest gain that is worth a change [default: 2%]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l pairs -d 'Pairs of trials that confirm the answer [default: 10]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l judge -d 'What trials are judged by: answered, or a percentile such as p99 [default: answered]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l afterwards -d 'With --keeper: the command that starts the server again, where the tuner was gone before it did' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l namespace -d 'With --keeper: in this network namespace' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -s s -l server -d 'The server: NAME, ADDRESS, ADDRESS:PORT, [IPV6]:PORT or ADDRESS@PORT. Several get the queries in turn, or by weight: A,B,C or A=3,B=1' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l servers -d 'File of servers: on each line one as for -s, and its weight where it has one (`ADDRESS WEIGHT`)' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -s p -l port -d 'The server\'s port [default: 53; DoT and DoQ 853, DoH and DoH/3 443]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -s f -l family -d 'Use only addresses of this family: any, v4 or v6' -r -f -a "any\t''
v4\t''
v6\t''"
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -s d -l queries -d 'File of queries, "name type" a line as for dnsperf; - for standard input. Compressed with gzip, zstd or xz, too' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l queries-format -d 'Format of the file: text, dnsperf (without our placeholders and options), queryperf, binary (as for dnsperf -B), csv (rank,name) or names [default: auto, by its first bytes]' -r -f -a "auto\t''
text\t''
dnsperf\t''
queryperf\t''
binary\t''
csv\t''
names\t''
updates\t''"
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l ask -d 'Query this name: "name", "name TYPE" or "name/TYPE"; may be repeated. {rand:8} stands for a random label, {n:0..999} for a number' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l replay -d 'Send the queries of this capture (pcap, pcapng or dnstap, compressed or not; - for standard input), by default at the instants at which they were captured; each source address becomes a client of its own' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l speed -d 'Replay so many times as fast as it was captured, such as 2 or 0.5 [default: 1]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l captured-server -d 'Replay only queries to this server of the capture: ADDRESS, ADDRESS:PORT or [IPV6]:PORT; may be repeated' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l first-pass-rate -d 'With --check-answers: ask the questions at this rate before the load [default: 5k]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l first-pass-for -d 'With --check-answers: ask the questions for so long before the load, at the most; each at least twice [default: 20s]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l zone -d 'Query the names and types of this zone file (master file)' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l origin -d 'With --zone: the name of the zone, where the file has no $ORIGIN' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l nxdomain -d 'With --zone: this share of queries, such as 10%, is for names that do not exist' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l generator -d 'Make queries as flamethrower does: static, numberqname, randompkt, randomqname or randomlabel, with its arguments, such as "randomlabel lblsize=10 count=1000"; --ask is the base name' -r -f -a "static\t''
numberqname\t''
randompkt\t''
randomqname\t''
randomlabel\t''"
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l source -d 'Let simulated clients with caches ask, by the description in a file: epc:FILE for the mobility management of a mobile core (`dnsdyno data epc` writes one), stub:FILE for hosts. The load follows from what they need' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l types -d 'Types by weight, such as A=60,AAAA=30,HTTPS=10, instead of those of the source' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l order -d 'in-turn; random; or zipf:EXPONENT, such as zipf:1.1: each at random, the first ones of the source more often [default: in-turn]' -r -f -a "in-turn\t''
random\t''
zipf:\t''"
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l hit-rate -d 'For a resolver: this share of queries, such as 90%, is for names in its cache' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l ttl -d 'With --hit-rate: how long the resolver keeps a name, such as 300s' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l hot -d 'With --hit-rate: the number of names that are asked for again and again [default: those of the source; 1000 for each name with a placeholder]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l edns-size -d 'Use EDNS with this UDP payload size' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l edns-version -d 'Use this EDNS version, to see whether the server returns BADVERS; implies EDNS [default: 0]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l class -d 'Class of the queries [default: IN]' -r -f -a "IN\t''
CH\t''
HS\t''
ANY\t''"
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l edns-option -d 'Add an EDNS option, CODE:HEX such as 65001:c0ffee; may be repeated; implies EDNS' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l ecs -d 'Send this client subnet (ECS), such as 192.0.2.0/24; source is that of the address of --source-prefix that the query is sent from (/24, of IPv6 /56), source/32 of that length; implies EDNS' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l ecs-range -d 'Send a random client subnet of a range with each query: 10.0.0.0/8/24 is any /24 of 10.0.0.0/8' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l padding -d 'Pad queries to a multiple of so many bytes, 128 by RFC 8467; implies EDNS' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l tsig -d 'Sign queries (TSIG), and verify responses: [ALGORITHM:]NAME:SECRET, the secret in base64 [default algorithm: hmac-sha256]. Other users of this host can see it: see --tsig-file' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l tsig-file -d 'The same with the key in a file of BIND, NSD or Knot, as tsig-keygen or keymgr writes it' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -s q -l outstanding -d 'Closed loop: keep N queries outstanding; with a rate or another shape: at most N outstanding, further queries are delayed' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l rate-limit -d 'Closed loop: send at most this many queries in each second, and do not make up for time in which the window was full' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -s Q -s r -l rate -d 'Open loop: this many queries per second, such as 50k' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l ramp -d 'From A to B queries per second, linearly, --over T; then --hold H at B' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l over -d 'The length of the ramp' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l stair -d 'From A to B queries per second in steps of --step, each for --hold' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l step -d 'The height of a step of the stair' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l burst -d 'BASE queries per second, and PEAK for the last --hold H of each --every T, --for D in total' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l every -d 'The time from one burst to the next' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l hold -d 'The length of a step, of a burst, or of the constant rate after a ramp' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -s l -l for -d 'End after this time, such as 30s or 10m' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l count -d 'End after this many queries' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -s n -l passes -d 'End after this many passes through the file' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -s t -l timeout -d 'How long to wait for a response [default: 5s]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -s m -l transport -d 'udp, tcp, udp+tcp (retries truncated responses over TCP), dot, doh (HTTP/2), doq or doh3 (HTTP/3) [default: udp]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l mix -d 'Several transports by weight, such as udp=60,tcp=15,dot=25. With a port: dot@8853=25; by default encrypted transports use their usual port, the others the server\'s' -r -f -a "udp=\t''
tcp=\t''
udp+tcp=\t''
dot=\t''
doh=\t''
doq=\t''
doh3=\t''"
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l queries-per-connection -l num-queries-per-conn -d 'Close a connection after Q queries and open another; 0 keeps it [default: 0; with udp+tcp 1]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l idle-timeout -d 'Close a connection without outstanding queries after this time [default: never]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l proxy-protocol -d 'Announce another source address to the server (PROXY protocol 2), as a load balancer does: ADDRESS or ADDRESS:PORT; with /LENGTH the addresses of the prefix in turn, one per client' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l tcp-edns -d 'With udp+tcp, EDNS of the retry over TCP: same as over UDP, or none [default: same]' -r -f -a "same\t''
none\t''"
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l ca -d 'Trust the certificates in this PEM file instead of the system\'s' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l sni -d 'The name in the server\'s certificate [default: the server as given by -s]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l tls-version -d 'Use only this version of TLS: 1.2 or 1.3' -r -f -a "1.2\t''
1.3\t''"
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l tls-key-log -d 'Append the secrets of TLS sessions to this file, with which Wireshark decrypts a capture (SSLKEYLOGFILE)' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l handshake-timeout -d 'Timeout of a handshake [default: 5s]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l http-method -d 'DoH: get or post [default: post]' -r -f -a "get\t''
post\t''"
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l http-path -d 'DoH: the path of the URI [default: /dns-query]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -s T -l workers -d 'Number of threads, or auto: the fewest with which the load is made, by trials of a second each before the run. They send this load, or a rate at its peak, to the server [default: as many as the load needs by tables of costs, at most one per CPU, or one per two CPUs if the server is on this host]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l part -d 'Make only a part of the load, where several processes make it together: 3/6 is worker 3 of the 6 that all of them have, 3-4/6 workers 3 and 4. Rates, windows and clients are those of the whole load. With --on, agents get theirs' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -s c -l clients -d 'Number of sockets, or of clients with one connection each, over all workers [default: one per CPU; with AF_XDP 256 source ports; with --queries-per-connection or udp+tcp the window, or 1000]. Where UDP is part of the transport, each worker has one more UDP socket' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -s a -l local-address -l local -d 'Send from this address; over connections, ADDRESS/LENGTH uses the addresses from ADDRESS to the end of the prefix in turn' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l source-prefix -l sources -d 'Over UDP, send from the addresses from ADDRESS to the end of its prefix, which must be routed back to this host (AF_XDP: to the interface) and need not be configured; several by weight: 10.0.0.0/16=3,10.9.0.0/24=1. Each client has one' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l local-ports -l source-ports -d 'Send from these ports, such as 20000..20099; with --source-prefix, those of each address' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l receive-buffer -d 'Receive buffer size of each socket [default: 4M]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l send-buffer -d 'Send buffer size of each UDP socket [default: 1M]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l seed -d 'Random seed; the same seed gives the same load' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l backend -d 'sockets; xdp, which bypasses the kernel\'s network stack (needs root, and an Ethernet interface); or auto, which takes xdp where it can be had [default: sockets]' -r -f -a "sockets\t''
xdp\t''
auto\t''"
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l interface -d 'AF_XDP: the interface [default: that of the route to the server]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l next-hop -d 'AF_XDP: Ethernet address of the next hop [default: from the neighbour table]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l vlan -d 'AF_XDP: send with this VLAN ID' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l xdp-mode -d 'AF_XDP: run the XDP program in the driver (native), in the kernel\'s stack (generic), or as the driver supports [default: auto]' -r -f -a "auto\t''
native\t''
generic\t''"
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l xdp-copy -d 'AF_XDP: zero-copy, copy, or as the driver supports [default: auto]' -r -f -a "auto\t''
zero-copy\t''
copy\t''"
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l expect -d 'Exit with code 1 if this is not true of the run, such as \'loss<0.1%\' or \'p99<5ms\', and with code 5 if the generator\'s own part may decide it; may be repeated' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l expect-each -d 'The same of each step of the load, or, where it has none, of each interval' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l stop-when -d 'End the run when this holds, such as \'loss>1% for 3s\'; may be repeated. Judged when the queries of an interval have ended: after losses, one --timeout later. At once: \'behind>=N\' (queries that are due and not sent) and \'outstanding>=N\' (when another is due)' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l watch -d 'Watch beside the load, and keep it in the record: auto; host or host=PID; process or process=PID; the statistics of a server, such as bind=URL (also unbound, nsd, knot, knot-resolver, pdns, dnsdist, mariadb, world, openmetrics); or ssh://HOST. May be repeated' -r -f -a "auto\t''
host\t''
process\t''
host=\t''
process=\t''
ssh://\t''
bind=\t''
unbound=\t''
nsd=\t''
knot=\t''
knot-resolver=\t''
pdns=\t''
dnsdist=\t''
mariadb=\t''
world=\t''
openmetrics=\t''"
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l trace -d 'Trace one query of each N with all its instants, as 1/N such as 1/1000: `trace.json` in the folder of the run, in the Trace Event Format that Perfetto opens' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l trace-file -d 'Write the trace to this file instead' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l name -d 'A name for the run' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l note -d 'A comment on the run' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l interval -d 'Length of an interval of the record [default: 1s, or less for short phases]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -s o -l out -d 'Folder of records and results; that of a tuning that was stopped goes on [default: runs/NAME as the file is named, or runs/DATE-TIME-tune]' -r -F
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l keep-doubtful -d 'Of the server of -s: let trials count whose rate or loss is in doubt, as they all are on a small host'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l list -d 'List the catalogue with the present values of the host, and of the server of --software, and do nothing'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l undo -d 'Restore what was changed on this host by a `dnsdyno tune` that was killed, or by a power cut'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l dry-run -d 'Say what would be tried and where it is set, and do nothing'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l keeper -d 'Set and restore values for a tuner, over standard input and output'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l i-may-load-this-server -d 'Allow a public address: you own the server, or its owner has agreed'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l no-check -d 'Do not send a query before the load to see whether the server answers'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l check-answers -d 'Compare each answer with the one in the capture, or, of another source, with the one that the server gives before the load: RCODE and records, not TTL and order'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l strict -d 'Refuse a file with a malformed line; by default such lines are skipped and counted, and a file that has more of them than others is refused'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l lenient -d 'Skip malformed lines of the file, however many they are'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l keep-order -d 'Keep the order of the file. By default, in closed loop and from 100k qps, queries of equal length are grouped within 2,048 lines, which is faster'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -s D -l dnssec-ok -l do -d 'Set the DO bit (DNSSEC OK); implies EDNS'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l nsid -d 'Request the server\'s identifier (NSID); implies EDNS'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l no-recursion -l no-rd -d 'Clear the RD bit, which is set by default as in dnsperf'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l checking-disabled -l cd -d 'Set the CD bit'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l authentic-data -l ad -d 'Set the AD bit'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l ecs-per-client -d 'Send one subnet of --ecs-range per client instead'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l cookie -d 'Use DNS cookies: one per client, with the server\'s cookie returned; implies EDNS'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l no-tsig-verify -d 'Do not verify the signatures of responses'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l send-only -d 'Do not wait for responses; without a rate, send as fast as this host can'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l fast-open -d 'Send the first query of a connection with its SYN (TCP Fast Open)'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l insecure -d 'Do not verify the certificate'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l no-resumption -d 'Do not resume TLS sessions: make a full handshake for each connection'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l early-data -d 'Send queries with the first flight of a resumed handshake (0-RTT)'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l no-pin -d 'Do not pin workers to CPUs (by default each has its own, where there are enough)'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l deep-idle -d 'Let idle CPUs of this host sleep as deeply as they do without a load. By default they are kept ready while the load runs, where this process may do so (root)'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l any-source -d 'Over UDP, take responses from any address and port; otherwise only from those that the query was sent to'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l quiet -d 'Print only the answer'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -l json -d 'Print the answer, or the list, as JSON'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand tune" -s h -l help -d 'Print help'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand export" -s o -l out -d 'The file to write; - is standard output; with a / at its end, a folder with a file for each run' -r -F
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand export" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand capture; and not __fish_seen_subcommand_from show filter help" -s h -l help -d 'Print help'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand capture; and not __fish_seen_subcommand_from show filter help" -f -a "show" -d 'Say what is in captures: rate over time, clients, types, RCODEs, EDNS, latency'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand capture; and not __fish_seen_subcommand_from show filter help" -f -a "filter" -d 'Write a part of captures: by time, by client, by server; merged by time, in another format'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand capture; and not __fish_seen_subcommand_from show filter help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand capture; and __fish_seen_subcommand_from show" -l port -d 'A port of DNS over UDP and TCP; may be repeated [default: 53]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand capture; and __fish_seen_subcommand_from show" -l kind -d 'Of dnstap: only messages of this kind; may be repeated [default: all]' -r -f -a "auth\t''
resolver\t''
client\t''
forwarder\t''
stub\t''
tool\t''
update\t''"
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand capture; and __fish_seen_subcommand_from show" -l from -d 'From this instant on: a time after the first message, such as 10s, or an instant, such as 2026-01-01T12:00:00Z or @1767268800' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand capture; and __fish_seen_subcommand_from show" -l to -d 'Until before this instant' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand capture; and __fish_seen_subcommand_from show" -l clients -d 'Keep this share of the clients, such as 10%, each with all its queries and responses' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand capture; and __fish_seen_subcommand_from show" -l seed -d 'Choose other clients for --clients' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand capture; and __fish_seen_subcommand_from show" -l client -d 'Only clients of this address or prefix; may be repeated' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand capture; and __fish_seen_subcommand_from show" -l server -d 'Only servers of this address or prefix; may be repeated' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand capture; and __fish_seen_subcommand_from show" -l transport -d 'Only this transport; may be repeated' -r -f -a "udp\t''
tcp\t''
dot\t''
doh\t''
doq\t''"
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand capture; and __fish_seen_subcommand_from show" -l queries-only -d 'No responses'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand capture; and __fish_seen_subcommand_from show" -l json -d 'Print one JSON object, with the rate of all parts of the time'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand capture; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand capture; and __fish_seen_subcommand_from filter" -l port -d 'A port of DNS over UDP and TCP; may be repeated [default: 53]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand capture; and __fish_seen_subcommand_from filter" -l kind -d 'Of dnstap: only messages of this kind; may be repeated [default: all]' -r -f -a "auth\t''
resolver\t''
client\t''
forwarder\t''
stub\t''
tool\t''
update\t''"
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand capture; and __fish_seen_subcommand_from filter" -l from -d 'From this instant on: a time after the first message, such as 10s, or an instant, such as 2026-01-01T12:00:00Z or @1767268800' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand capture; and __fish_seen_subcommand_from filter" -l to -d 'Until before this instant' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand capture; and __fish_seen_subcommand_from filter" -l clients -d 'Keep this share of the clients, such as 10%, each with all its queries and responses' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand capture; and __fish_seen_subcommand_from filter" -l seed -d 'Choose other clients for --clients' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand capture; and __fish_seen_subcommand_from filter" -l client -d 'Only clients of this address or prefix; may be repeated' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand capture; and __fish_seen_subcommand_from filter" -l server -d 'Only servers of this address or prefix; may be repeated' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand capture; and __fish_seen_subcommand_from filter" -l transport -d 'Only this transport; may be repeated' -r -f -a "udp\t''
tcp\t''
dot\t''
doh\t''
doq\t''"
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand capture; and __fish_seen_subcommand_from filter" -s o -l out -d 'The file to write, compressed if its name ends with .gz, .zst or .xz; - is standard output' -r -F
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand capture; and __fish_seen_subcommand_from filter" -l format -d 'The format [default: by the name of the file]' -r -f -a "pcap\t'Ethernet frames, instants in nanoseconds (.pcap, .cap)'
pcapng\t'the same as pcapng (.pcapng)'
dnstap\t'dnstap in Frame Streams (.dnstap, .tap, .fstrm)'
text\t'names and types of the queries, one a line, as dnsperf reads them (.txt)'
binary\t'the queries, each behind its length in two octets, as dnsperf -B reads them (.bin)'"
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand capture; and __fish_seen_subcommand_from filter" -l start -d 'Move all instants, so that the first message has this one: such as 2026-01-01T00:00:00Z or @0' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand capture; and __fish_seen_subcommand_from filter" -l queries-only -d 'No responses'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand capture; and __fish_seen_subcommand_from filter" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand capture; and __fish_seen_subcommand_from help" -f -a "show" -d 'Say what is in captures: rate over time, clients, types, RCODEs, EDNS, latency'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand capture; and __fish_seen_subcommand_from help" -f -a "filter" -d 'Write a part of captures: by time, by client, by server; merged by time, in another format'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand capture; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand data; and not __fish_seen_subcommand_from epc plain catalog enum help" -s h -l help -d 'Print help'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand data; and not __fish_seen_subcommand_from epc plain catalog enum help" -f -a "epc" -d 'The zones of a mobile operator: tracking areas, access points, gateways, and who asks for them'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand data; and not __fish_seen_subcommand_from epc plain catalog enum help" -f -a "plain" -d 'Many equal zones with hosts, and queries for all of them'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand data; and not __fish_seen_subcommand_from epc plain catalog enum help" -f -a "catalog" -d 'Many zones, and a catalog zone that lists them'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand data; and not __fish_seen_subcommand_from epc plain catalog enum help" -f -a "enum" -d 'Telephone numbers: a NAPTR record for each, and queries for them'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand data; and not __fish_seen_subcommand_from epc plain catalog enum help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand data; and __fish_seen_subcommand_from epc" -s o -l out -d 'The folder to make; it may exist, and must be empty' -r -F
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand data; and __fish_seen_subcommand_from epc" -l ttl -d 'TTL of all records in seconds' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand data; and __fish_seen_subcommand_from epc" -l seed -d 'Of what is random: the order of queries, which tracking areas are the most used' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand data; and __fish_seen_subcommand_from epc" -l mcc -d 'Mobile country code, three digits' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand data; and __fish_seen_subcommand_from epc" -l mnc -d 'Mobile network code, two or three digits' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand data; and __fish_seen_subcommand_from epc" -l tacs -d 'Tracking areas' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand data; and __fish_seen_subcommand_from epc" -l apns -d 'Access points: the first is served by all gateways, each other by a fifth of them' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand data; and __fish_seen_subcommand_from epc" -l sgws -d 'Serving gateways' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand data; and __fish_seen_subcommand_from epc" -l pgws -d 'Gateways to the packet network' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand data; and __fish_seen_subcommand_from epc" -l mmes -d 'Nodes for mobility management: the clients' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand data; and __fish_seen_subcommand_from epc" -l tac-zipf -d 'How unequally the clients use tracking areas: the exponent of Zipf\'s law, 0 is evenly' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand data; and __fish_seen_subcommand_from epc" -l apn-zipf -d 'The same of access points' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand data; and __fish_seen_subcommand_from epc" -l per-answer -d 'NAPTR records in the answer for a tracking area [default: as many as there are serving gateways]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand data; and __fish_seen_subcommand_from epc" -l answer-size -d 'Size in bytes of the response for a tracking area, such as 4k, 11k or 23k (k = 1,000): header, question, answer and OPT' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand data; and __fish_seen_subcommand_from epc" -l ip -d 'Addresses of the nodes' -r -f -a "v4\t'IPv4'
dual\t'IPv4 and IPv6'
v6-added\t'IPv4, and a change to apply under load: half as many gateways again, for users with IPv6 alone'"
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand data; and __fish_seen_subcommand_from epc" -l v6-users -d 'With --ip v6-added: the part of the users who need the new gateways' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand data; and __fish_seen_subcommand_from epc" -l cache-entries -d 'What each client\'s cache holds: RRsets, or with --ip v6-added, records [default: 10,000; with --ip v6-added a tenth more than the records before the change need]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand data; and __fish_seen_subcommand_from epc" -l name-servers -d 'Name servers of each zone' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand data; and __fish_seen_subcommand_from epc" -l wildcard -d 'One wildcard for the tracking areas with the same high byte [default]'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand data; and __fish_seen_subcommand_from epc" -l each-tac -d 'A name for each tracking area'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand data; and __fish_seen_subcommand_from epc" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand data; and __fish_seen_subcommand_from plain" -s o -l out -d 'The folder to make; it may exist, and must be empty' -r -F
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand data; and __fish_seen_subcommand_from plain" -l ttl -d 'TTL of all records in seconds' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand data; and __fish_seen_subcommand_from plain" -l seed -d 'Of what is random: the order of queries, which tracking areas are the most used' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand data; and __fish_seen_subcommand_from plain" -l zones -d 'Zones' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand data; and __fish_seen_subcommand_from plain" -l hosts -d 'Hosts of each zone, each with an A and an AAAA record' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand data; and __fish_seen_subcommand_from plain" -s h -l help -d 'Print help'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand data; and __fish_seen_subcommand_from catalog" -s o -l out -d 'The folder to make; it may exist, and must be empty' -r -F
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand data; and __fish_seen_subcommand_from catalog" -l ttl -d 'TTL of all records in seconds' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand data; and __fish_seen_subcommand_from catalog" -l seed -d 'Of what is random: the order of queries, which tracking areas are the most used' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand data; and __fish_seen_subcommand_from catalog" -l members -d 'Zones in the catalog' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand data; and __fish_seen_subcommand_from catalog" -l outside -d 'Further zones that the server has and the catalog does not list, with scripts that put them in and take them out' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand data; and __fish_seen_subcommand_from catalog" -s h -l help -d 'Print help'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand data; and __fish_seen_subcommand_from enum" -s o -l out -d 'The folder to make; it may exist, and must be empty' -r -F
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand data; and __fish_seen_subcommand_from enum" -l ttl -d 'TTL of all records in seconds' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand data; and __fish_seen_subcommand_from enum" -l seed -d 'Of what is random: the order of queries, which tracking areas are the most used' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand data; and __fish_seen_subcommand_from enum" -l numbers -d 'Telephone numbers' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand data; and __fish_seen_subcommand_from enum" -l apex -d 'The zone' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand data; and __fish_seen_subcommand_from enum" -s h -l help -d 'Print help'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand data; and __fish_seen_subcommand_from help" -f -a "epc" -d 'The zones of a mobile operator: tracking areas, access points, gateways, and who asks for them'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand data; and __fish_seen_subcommand_from help" -f -a "plain" -d 'Many equal zones with hosts, and queries for all of them'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand data; and __fish_seen_subcommand_from help" -f -a "catalog" -d 'Many zones, and a catalog zone that lists them'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand data; and __fish_seen_subcommand_from help" -f -a "enum" -d 'Telephone numbers: a NAPTR record for each, and queries for them'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand data; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand epc; and not __fish_seen_subcommand_from predict help" -s h -l help -d 'Print help'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand epc; and not __fish_seen_subcommand_from predict help" -f -a "predict" -d 'Say what load the clients of a description will put on a server, before and after a change; nothing is sent'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand epc; and not __fish_seen_subcommand_from predict help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand epc; and __fish_seen_subcommand_from predict" -l after -d 'The description after a change of the records, such as after/description.json of `data epc --ip v6-added`: what its zones hold and what its users look for; clients, caches and rates are those of FILE' -r -F
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand epc; and __fish_seen_subcommand_from predict" -l kind -d 'Of descriptions of several kinds of clients: the kind' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand epc; and __fish_seen_subcommand_from predict" -l clients -d 'After the change: how many clients there are' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand epc; and __fish_seen_subcommand_from predict" -l entries -d 'After the change: entries of each cache' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand epc; and __fish_seen_subcommand_from predict" -l policy -d 'After the change: what a full cache evicts' -r -f -a "ttl\t'The entry with the smallest remaining TTL'
fifo\t'That which was stored first'
lru\t'That which was used the longest time ago'
lfu\t'That which was used least often'"
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand epc; and __fish_seen_subcommand_from predict" -l ttl -d 'After the change: the TTL of all records in seconds' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand epc; and __fish_seen_subcommand_from predict" -l attaches -d 'After the change: attaches a second (or lookups of hosts)' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand epc; and __fish_seen_subcommand_from predict" -l handovers -d 'After the change: handovers a second' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand epc; and __fish_seen_subcommand_from predict" -l curve-ttl -d 'TTLs of the curves in seconds [default: that of the records, a fifth of it, five times it]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand epc; and __fish_seen_subcommand_from predict" -l edns-size -d 'The largest response over UDP: that of the clients, or of the server if it allows less' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand epc; and __fish_seen_subcommand_from predict" -l response-time -d 'After the change: how long the server takes for a response, such as 4s: clients ask again when their time is over' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand epc; and __fish_seen_subcommand_from predict" -l lost -d 'After the change: the part of the queries that is never answered, such as 5%' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand epc; and __fish_seen_subcommand_from predict" -l json -d 'Print one JSON object'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand epc; and __fish_seen_subcommand_from predict" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand epc; and __fish_seen_subcommand_from help" -f -a "predict" -d 'Say what load the clients of a description will put on a server, before and after a change; nothing is sent'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand epc; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand serve" -l listen -d 'Address and port to serve at; a port alone is one of 127.0.0.1, and port 0 is a free one' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand serve" -l host -d 'Another name by which browsers may ask for it, such as that of this host; may be repeated' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand serve" -s h -l help -d 'Print help'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand doctor" -s s -l server -d 'The server that the load is for: looks at the interface and the family of addresses, too. Nothing is sent to it' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand doctor" -l source-prefix -l sources -d 'The networks that the load is to be sent from, as for a run: looks whether this host takes packets to them' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand doctor" -l json -d 'Print one JSON object, with every fact that was found'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand doctor" -s h -l help -d 'Print help'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand respond" -s l -l listen -d 'Address and port for UDP and TCP; port 0 chooses a free one; may be repeated' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand respond" -s T -l threads -d 'Threads on each port of UDP, TCP, DoT and DoH; each may have as many files open as the process' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand respond" -l for -d 'End after this time, such as 30s [default: at Ctrl-C]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand respond" -l dot -d 'Also serve DNS over TLS at this address and port; may be repeated' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand respond" -l doh -d 'Also serve DNS over HTTP/2 at this address and port, path /dns-query; may be repeated' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand respond" -l doq -d 'Also serve DNS over QUIC at this address and port; may be repeated' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand respond" -l doh3 -d 'Also serve DNS over HTTP/3 at this address and port, path /dns-query; may be repeated' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand respond" -l cert -d 'Certificate chain (PEM) [default: one is created for localhost and the addresses]' -r -F
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand respond" -l key -d 'Private key of the certificate (PEM)' -r -F
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand respond" -l write-ca -d 'Write the CA certificate for clients to this file (PEM) before listening' -r -F
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand respond" -l tls-version -d 'Support only this version of TLS (DoQ and DoH/3 always use 1.3)' -r -f -a "1.2\t''
1.3\t''"
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand respond" -l idle -d 'Close connections without outstanding queries after this time' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand respond" -l max-connections -d 'Maximum number of connections on an address; further ones are closed when accepted' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand respond" -l address -d 'Address in responses to queries of type A' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand respond" -l address6 -d 'Address in responses to queries of type AAAA' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand respond" -l zone -d 'Answer from this zone file instead' -r -F
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand respond" -l origin -d 'The zone\'s origin, if the file has no $ORIGIN' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand respond" -l size -d 'Answer every query with a message of this many bytes instead' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand respond" -l delay -d 'Delay each response: 5ms, uniform:1ms..5ms, normal:5ms,1ms, exp:2ms or lognormal:2ms,0.5' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand respond" -l loss -d 'Share of queries that get no response, such as 1%' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand respond" -l duplicate -d 'Share of queries whose response is sent twice' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand respond" -l wrong-id -d 'Share of queries whose response has another ID' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand respond" -l wrong-question -d 'Share of queries whose response has another question' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand respond" -l wrong-answer -d 'Share of queries that get another answer than they should' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand respond" -l wrong-answer-after -d 'With --wrong-answer: answer the first N queries of each socket as they should be' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand respond" -l garbage -d 'Share of queries whose response is a few random bytes' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand respond" -l stall -d 'Send nothing from T1 to T2 after the first query, such as 3s..4s; then answer all queries received' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand respond" -l limit -d 'Work on one query after another: 5k a second; or each for a time as of --delay, such as exp:200us; with @8s from 8 s after the first query on' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand respond" -l limit-queue -d 'Do not answer queries that come while the work of more than this waits for the limit' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand respond" -l leak -d 'Take this much memory for each query and never give it back, such as 16k: a server with a leak, which dies when the system has no more for it' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand respond" -l seed -d 'Random seed: the same seed and the same queries give the same faults' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand respond" -l reset -d 'Share of queries on which the connection is reset' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand respond" -l cut -d 'Share of queries that get half a response, after which the connection is reset' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand respond" -l wrong-length -d 'Share of queries whose response declares 16 bytes more than it has' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand respond" -l dribble -d 'Share of queries whose response is sent one byte at a time' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand respond" -l reorder -d 'Share of queries whose response is sent after the next one on the connection' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand respond" -l http-500 -d 'Share of queries over DoH and DoH/3 that get status 500' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand respond" -l stream-reset -d 'Share of queries over DoH, DoQ and DoH/3 whose stream is reset' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand respond" -l goaway -d 'Share of queries over DoH and DoH/3 on which GOAWAY is sent' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand respond" -l close-after -d 'Close each connection regularly after K responses' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand respond" -l silent -d 'Share of connections that are accepted and never answered' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand respond" -l no-handshake -d 'Share of encrypted connections whose handshake gets no reply' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand respond" -l tls-alert -d 'Share of encrypted connections whose handshake ends with an alert' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand respond" -l interface -d 'The interface that receives the queries' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand respond" -l xdp-mode -d 'Run the program in the driver (native), in the kernel\'s stack (generic), or as the driver supports' -r -f -a "auto\t''
native\t''
generic\t''"
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand respond" -l book -d 'Write the counts of what the responder did to this file at the end, instead of printing them' -r -F
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand respond" -l share-port -d 'Let other responders listen on the same ports: the kernel distributes clients (SO_REUSEPORT)'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand respond" -l no-tcp -d 'Serve UDP only'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand respond" -l no-resumption -d 'Disable session resumption: each connection needs a full handshake'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand respond" -l early-data -d 'Accept early data (0-RTT) over DoT, DoQ and DoH/3'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand respond" -l truncate -d 'Over UDP send only truncated responses (TC=1, no records)'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand respond" -l xdp -d 'Answer plain queries in the kernel, in the driver of --interface; others are passed to the sockets'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand respond" -l buckets -d 'Include the histogram buckets of the delays in the counts'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand respond" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand relay" -s l -l listen -d 'Address and port where clients send to, for UDP and TCP; port 0 chooses a free one' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand relay" -l to -d 'Address and port of the server' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand relay" -l for -d 'End after this time, such as 30s [default: at Ctrl-C]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand relay" -l delay -d 'Delay in each direction (a round trip takes it twice): 5ms, uniform:1ms..5ms, normal:5ms,1ms, exp:2ms, lognormal:2ms,0.5, pareto:2ms,2.5, or file:NAME with one latency a line' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand relay" -l loss -d 'Share of datagrams that are lost, such as 1%' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand relay" -l loss-burst -d 'How many datagrams are lost in a row, on average [default: each loss is independent]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand relay" -l duplicate -d 'Share of datagrams that arrive twice' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand relay" -l reorder -d 'Share of datagrams that are not delayed, and so overtake others' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand relay" -l rate-limit -d 'Bits that pass in a second, with the headers of IP and UDP or TCP, such as 100mbit' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand relay" -l queue -d 'How long a packet waits for the rate at most; one that would wait longer is dropped' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand relay" -l to-server -d 'What differs on the way to the server, such as \'delay=5ms loss=0\' (also burst, duplicate, reorder, rate, queue, order=keep)' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand relay" -l to-client -d 'What differs on the way to the client' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand relay" -l at -d 'Change the path after this time, such as \'10s delay=100ms loss=2%\', in both directions or, as in \'20s to-client loss=0\', in one; what is not said stays. May be repeated' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand relay" -l seed -d 'Random seed: the same seed and the same order of datagrams give the same losses and delays' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand relay" -l max-clients -d 'UDP clients at the same time; each has a socket of its own towards the server' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand relay" -l idle -d 'Close the socket of a UDP client that was idle for this time (or up to twice as long)' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand relay" -l max-connections -d 'TCP connections at the same time; further ones are closed when accepted' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand relay" -l memory -d 'Memory for what is on its way; what does not fit is dropped and counted' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand relay" -l book -d 'Write the counts of what the relay did to this file at the end, instead of printing them' -r -F
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand relay" -l no-tcp -d 'Pass on UDP only'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand relay" -l keep-order -d 'No packet overtakes another one, even if its delay is shorter'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand relay" -l buckets -d 'Include the histogram buckets of how late datagrams were sent in the counts'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand relay" -s h -l help -d 'Print help'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand world; and not __fish_seen_subcommand_from explain questions help" -l seed -d 'Random seed: the same seed and the same options give the same answers' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand world; and not __fish_seen_subcommand_from explain questions help" -l zones -d 'Zones below the top-level domains, such as 100k or 1M; without --list and --capture' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand world; and not __fish_seen_subcommand_from explain questions help" -l tlds -d 'Top-level domains: the first has the most zones below it, the n-th an n-th of that; without --list and --capture' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand world; and not __fish_seen_subcommand_from explain questions help" -l list -d 'Make the names of this file, one a line with an optional type, or with a rank and a comma before it; each is there, in a zone as delegations usually are, and the rest of the zone is by rule' -r -F
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand world; and not __fish_seen_subcommand_from explain questions help" -l capture -d 'Make the zones that the answers in these captures show (pcap, pcapng or dnstap, compressed or not), such as those of a resolver to its clients: each name has what it had there, and no other name exists' -r -F
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand world; and not __fish_seen_subcommand_from explain questions help" -l captured-server -d 'With --capture: only the answers of this server: ADDRESS, ADDRESS:PORT or [IPV6]:PORT; may be repeated' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand world; and not __fish_seen_subcommand_from explain questions help" -l hosters -d 'Companies whose name servers serve the zones of others; the n-th has an n-th of the zones of the first' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand world; and not __fish_seen_subcommand_from explain questions help" -l own-servers -d 'Addresses of name servers that zones have of their own; a zone has two or three of them' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand world; and not __fish_seen_subcommand_from explain questions help" -l share -d 'Shares of how zones and hosts are, such as own=50%,cname=10%; those that are not named stay' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand world; and not __fish_seen_subcommand_from explain questions help" -l chain -d 'Longest chain of aliases over zones, in CNAME records' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand world; and not __fish_seen_subcommand_from explain questions help" -l ttl -d 'TTLs in seconds of what zones hold, with their shares, such as 60=50%,3600=50%' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand world; and not __fish_seen_subcommand_from explain questions help" -l signed -d 'Sign the root, the top-level domains and this share of the other zones [all of them without a value]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand world; and not __fish_seen_subcommand_from explain questions help" -l prefix -d 'Addresses of the name servers, over IPv4' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand world; and not __fish_seen_subcommand_from explain questions help" -l prefix6 -d 'Addresses of the name servers over IPv6 [default: they have none]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand world; and not __fish_seen_subcommand_from explain questions help" -l rtt -d 'Round-trip times of the name servers: regions as NAME=SHARE:MEDIAN:SIGMA,... (lognormal; the root and top-level domains are in the first), or none' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand world; and not __fish_seen_subcommand_from explain questions help" -l loss -d 'Share of the UDP queries that are lost on the way, at each server' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand world; and not __fish_seen_subcommand_from explain questions help" -l fault -d 'Faults with their shares, such as lame=1%,silent=0.5%; the root and top-level domains have none' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand world; and not __fish_seen_subcommand_from explain questions help" -l slow -d 'How much later a slow server answers' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand world; and not __fish_seen_subcommand_from explain questions help" -l port -d 'Port of all name servers, for UDP and TCP; 0 chooses a free one' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand world; and not __fish_seen_subcommand_from explain questions help" -s T -l threads -d 'UDP sockets and threads' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand world; and not __fish_seen_subcommand_from explain questions help" -l for -d 'End after this time, such as 30s [default: at Ctrl-C]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand world; and not __fish_seen_subcommand_from explain questions help" -l hints -d 'Write the hints of the root for a resolver to this file, once it is served' -r -F
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand world; and not __fish_seen_subcommand_from explain questions help" -l anchor -d 'With --signed: write the trust anchor, the DS and DNSKEY records of the root, to this file before serving' -r -F
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand world; and not __fish_seen_subcommand_from explain questions help" -l book -d 'Write the book to this file at the end, instead of printing it' -r -F
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand world; and not __fish_seen_subcommand_from explain questions help" -l counters -d 'Offer the sums of the book at this local socket while serving, for --watch world=SOCKET of a run' -r -F
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand world; and not __fish_seen_subcommand_from explain questions help" -l report -d 'With --capture: write to this file what of its answers is kept, and why not the others, as JSON; it is also told on standard error' -r -F
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand world; and not __fish_seen_subcommand_from explain questions help" -l write -d 'Do not serve: write the zones to this folder as zone files, with a configuration for Knot DNS; for small worlds' -r -F
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand world; and not __fish_seen_subcommand_from explain questions help" -s h -l help -d 'Print help'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand world; and not __fish_seen_subcommand_from explain questions help" -f -a "explain" -d 'Print the truth about names: the delegations with all servers, and what is there'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand world; and not __fish_seen_subcommand_from explain questions help" -f -a "questions" -d 'Print questions for a resolver, as a query file: names drawn from the world, most of which are there'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand world; and not __fish_seen_subcommand_from explain questions help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand world; and __fish_seen_subcommand_from explain" -l seed -d 'Random seed: the same seed and the same options give the same answers' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand world; and __fish_seen_subcommand_from explain" -l zones -d 'Zones below the top-level domains, such as 100k or 1M; without --list and --capture' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand world; and __fish_seen_subcommand_from explain" -l tlds -d 'Top-level domains: the first has the most zones below it, the n-th an n-th of that; without --list and --capture' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand world; and __fish_seen_subcommand_from explain" -l list -d 'Make the names of this file, one a line with an optional type, or with a rank and a comma before it; each is there, in a zone as delegations usually are, and the rest of the zone is by rule' -r -F
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand world; and __fish_seen_subcommand_from explain" -l capture -d 'Make the zones that the answers in these captures show (pcap, pcapng or dnstap, compressed or not), such as those of a resolver to its clients: each name has what it had there, and no other name exists' -r -F
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand world; and __fish_seen_subcommand_from explain" -l captured-server -d 'With --capture: only the answers of this server: ADDRESS, ADDRESS:PORT or [IPV6]:PORT; may be repeated' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand world; and __fish_seen_subcommand_from explain" -l hosters -d 'Companies whose name servers serve the zones of others; the n-th has an n-th of the zones of the first' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand world; and __fish_seen_subcommand_from explain" -l own-servers -d 'Addresses of name servers that zones have of their own; a zone has two or three of them' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand world; and __fish_seen_subcommand_from explain" -l share -d 'Shares of how zones and hosts are, such as own=50%,cname=10%; those that are not named stay' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand world; and __fish_seen_subcommand_from explain" -l chain -d 'Longest chain of aliases over zones, in CNAME records' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand world; and __fish_seen_subcommand_from explain" -l ttl -d 'TTLs in seconds of what zones hold, with their shares, such as 60=50%,3600=50%' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand world; and __fish_seen_subcommand_from explain" -l signed -d 'Sign the root, the top-level domains and this share of the other zones [all of them without a value]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand world; and __fish_seen_subcommand_from explain" -l prefix -d 'Addresses of the name servers, over IPv4' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand world; and __fish_seen_subcommand_from explain" -l prefix6 -d 'Addresses of the name servers over IPv6 [default: they have none]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand world; and __fish_seen_subcommand_from explain" -l rtt -d 'Round-trip times of the name servers: regions as NAME=SHARE:MEDIAN:SIGMA,... (lognormal; the root and top-level domains are in the first), or none' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand world; and __fish_seen_subcommand_from explain" -l loss -d 'Share of the UDP queries that are lost on the way, at each server' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand world; and __fish_seen_subcommand_from explain" -l fault -d 'Faults with their shares, such as lame=1%,silent=0.5%; the root and top-level domains have none' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand world; and __fish_seen_subcommand_from explain" -l slow -d 'How much later a slow server answers' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand world; and __fish_seen_subcommand_from explain" -l json -d 'Print JSON, an array with an object for each name'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand world; and __fish_seen_subcommand_from explain" -s h -l help -d 'Print help'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand world; and __fish_seen_subcommand_from questions" -l hit -d 'Of the questions, this share repeats one of the first --warm questions of the world, such as 90%; each other one is new' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand world; and __fish_seen_subcommand_from questions" -l warm -d 'With --hit: how many questions are asked before, those of `world questions N`' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand world; and __fish_seen_subcommand_from questions" -l seed -d 'Random seed: the same seed and the same options give the same answers' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand world; and __fish_seen_subcommand_from questions" -l zones -d 'Zones below the top-level domains, such as 100k or 1M; without --list and --capture' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand world; and __fish_seen_subcommand_from questions" -l tlds -d 'Top-level domains: the first has the most zones below it, the n-th an n-th of that; without --list and --capture' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand world; and __fish_seen_subcommand_from questions" -l list -d 'Make the names of this file, one a line with an optional type, or with a rank and a comma before it; each is there, in a zone as delegations usually are, and the rest of the zone is by rule' -r -F
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand world; and __fish_seen_subcommand_from questions" -l capture -d 'Make the zones that the answers in these captures show (pcap, pcapng or dnstap, compressed or not), such as those of a resolver to its clients: each name has what it had there, and no other name exists' -r -F
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand world; and __fish_seen_subcommand_from questions" -l captured-server -d 'With --capture: only the answers of this server: ADDRESS, ADDRESS:PORT or [IPV6]:PORT; may be repeated' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand world; and __fish_seen_subcommand_from questions" -l hosters -d 'Companies whose name servers serve the zones of others; the n-th has an n-th of the zones of the first' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand world; and __fish_seen_subcommand_from questions" -l own-servers -d 'Addresses of name servers that zones have of their own; a zone has two or three of them' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand world; and __fish_seen_subcommand_from questions" -l share -d 'Shares of how zones and hosts are, such as own=50%,cname=10%; those that are not named stay' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand world; and __fish_seen_subcommand_from questions" -l chain -d 'Longest chain of aliases over zones, in CNAME records' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand world; and __fish_seen_subcommand_from questions" -l ttl -d 'TTLs in seconds of what zones hold, with their shares, such as 60=50%,3600=50%' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand world; and __fish_seen_subcommand_from questions" -l signed -d 'Sign the root, the top-level domains and this share of the other zones [all of them without a value]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand world; and __fish_seen_subcommand_from questions" -l prefix -d 'Addresses of the name servers, over IPv4' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand world; and __fish_seen_subcommand_from questions" -l prefix6 -d 'Addresses of the name servers over IPv6 [default: they have none]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand world; and __fish_seen_subcommand_from questions" -l rtt -d 'Round-trip times of the name servers: regions as NAME=SHARE:MEDIAN:SIGMA,... (lognormal; the root and top-level domains are in the first), or none' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand world; and __fish_seen_subcommand_from questions" -l loss -d 'Share of the UDP queries that are lost on the way, at each server' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand world; and __fish_seen_subcommand_from questions" -l fault -d 'Faults with their shares, such as lame=1%,silent=0.5%; the root and top-level domains have none' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand world; and __fish_seen_subcommand_from questions" -l slow -d 'How much later a slow server answers' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand world; and __fish_seen_subcommand_from questions" -s h -l help -d 'Print help'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand world; and __fish_seen_subcommand_from help" -f -a "explain" -d 'Print the truth about names: the delegations with all servers, and what is there'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand world; and __fish_seen_subcommand_from help" -f -a "questions" -d 'Print questions for a resolver, as a query file: names drawn from the world, most of which are there'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand world; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand watch" -s s -l server -d 'The server whose process and statistics are looked for; nothing is sent to it' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand watch" -l for -d 'End after this time, such as 30s [default: with Ctrl-C]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand watch" -l interval -d 'How often is read [default: 1s]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand watch" -s o -l out -d 'Keep a record in this folder, as of a run' -r -F
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand watch" -l name -d 'A name for the record' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand watch" -l note -d 'A comment on it' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand watch" -l plain -d 'Print lines on a terminal too'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand watch" -l quiet -d 'Print nothing: for a record'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand watch" -l json -d 'Print a JSON object for each interval'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand watch" -s h -l help -d 'Print help'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand merge" -l out -d 'The new folder of the joined record; of one run on several hosts [default: in place of its record]' -r -F
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand merge" -l json -d 'Print the summary as one JSON object'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand merge" -s h -l help -d 'Print help'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand note" -s h -l help -d 'Print help'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand demo" -s o -l out -d 'Folder of the record [default: runs/DATE-TIME]' -r -F
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand demo" -l quiet -d 'Print nothing during the run'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand demo" -l plain -d 'Print lines during the run on a terminal too, one a second; so does NO_COLOR in the environment'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand demo" -l json -d 'Print the summary as one JSON object, with all intervals'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand demo" -s h -l help -d 'Print help'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand agent; and not __fish_seen_subcommand_from keys help" -l nats -d 'Wait for coordinators at a NATS broker: nats://HOST:PORT or tls://HOST:PORT, with USER:PASSWORD@ or TOKEN@ before the host if wanted' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand agent; and not __fish_seen_subcommand_from keys help" -l label -d 'With --nats: what this agent is chosen by (--on \'nats://BROKER?KEY=VALUE\'); may be given several times' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand agent; and not __fish_seen_subcommand_from keys help" -l name -d 'With --nats: its name [default: that of the host]' -r
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand agent; and not __fish_seen_subcommand_from keys help" -l nats-creds -d 'For a NATS broker: the file of credentials (.creds, as nsc writes it)' -r -F
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand agent; and not __fish_seen_subcommand_from keys help" -l nats-ca -d 'For a NATS broker with TLS: certificates by which it is known, in place of those of the system (PEM)' -r -F
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand agent; and not __fish_seen_subcommand_from keys help" -l config -d 'What this agent may load (TOML) [default: /etc/dnsdyno/agent.toml, or ~/.config/dnsdyno/agent.toml, where there is one]' -r -F
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand agent; and not __fish_seen_subcommand_from keys help" -l folder -d 'Where it keeps the records of its parts until the coordinator has them [default: a folder in ~/.cache/dnsdyno]' -r -F
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand agent; and not __fish_seen_subcommand_from keys help" -l stdio -d 'Serve the coordinator that has started this process, over standard input and output'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand agent; and not __fish_seen_subcommand_from keys help" -s h -l help -d 'Print help'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand agent; and not __fish_seen_subcommand_from keys help" -f -a "keys" -d 'Make the key that signs tasks for agents at a NATS broker, in ~/.config/dnsdyno/agents.key; prints its public half'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand agent; and not __fish_seen_subcommand_from keys help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand agent; and __fish_seen_subcommand_from keys" -s h -l help -d 'Print help'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand agent; and __fish_seen_subcommand_from help" -f -a "keys" -d 'Make the key that signs tasks for agents at a NATS broker, in ~/.config/dnsdyno/agents.key; prints its public half'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand agent; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand agents" -l nats-creds -d 'For a NATS broker: the file of credentials (.creds, as nsc writes it)' -r -F
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand agents" -l nats-ca -d 'For a NATS broker with TLS: certificates by which it is known, in place of those of the system (PEM)' -r -F
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand agents" -l json -d 'Print one JSON object for each'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand agents" -s h -l help -d 'Print help'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand verify" -l key -d 'The public key of who signed the release, as ssh-keygen writes it (ssh-ed25519)' -r -F
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand verify" -s h -l help -d 'Print help'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand install-links" -l to -d 'What the links point to [default: this program]' -r -F
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand install-links" -l force -d 'Also in the place of other programs and links, which are lost'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand install-links" -s h -l help -d 'Print help'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand help; and not __fish_seen_subcommand_from run show diagnose report qualify compare history find experiment tune export capture data epc serve doctor respond relay world watch merge note demo agent agents verify install-links help" -f -a "run" -d 'Put a load on a server and measure it'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand help; and not __fish_seen_subcommand_from run show diagnose report qualify compare history find experiment tune export capture data epc serve doctor respond relay world watch merge note demo agent agents verify install-links help" -f -a "show" -d 'Print the summary of a run again, from its record'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand help; and not __fish_seen_subcommand_from run show diagnose report qualify compare history find experiment tune export capture data epc serve doctor respond relay world watch merge note demo agent agents verify install-links help" -f -a "diagnose" -d 'Say which bottleneck the evidence of a run shows, and what to change'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand help; and not __fish_seen_subcommand_from run show diagnose report qualify compare history find experiment tune export capture data epc serve doctor respond relay world watch merge note demo agent agents verify install-links help" -f -a "report" -d 'Write runs as one HTML page that opens without a network'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand help; and not __fish_seen_subcommand_from run show diagnose report qualify compare history find experiment tune export capture data epc serve doctor respond relay world watch merge note demo agent agents verify install-links help" -f -a "qualify" -d 'Qualify a server: the highest load that passes stair, burst, function test and long run'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand help; and not __fish_seen_subcommand_from run show diagnose report qualify compare history find experiment tune export capture data epc serve doctor respond relay world watch merge note demo agent agents verify install-links help" -f -a "compare" -d 'Say whether two sets of runs differ, and by how much'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand help; and not __fish_seen_subcommand_from run show diagnose report qualify compare history find experiment tune export capture data epc serve doctor respond relay world watch merge note demo agent agents verify install-links help" -f -a "history" -d 'Follow runs of one kind over time or versions: steps, drifts, and gates for CI'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand help; and not __fish_seen_subcommand_from run show diagnose report qualify compare history find experiment tune export capture data epc serve doctor respond relay world watch merge note demo agent agents verify install-links help" -f -a "find" -d 'Find the highest load that meets criteria, with its confidence interval'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand help; and not __fish_seen_subcommand_from run show diagnose report qualify compare history find experiment tune export capture data epc serve doctor respond relay world watch merge note demo agent agents verify install-links help" -f -a "experiment" -d 'Compare servers and variants of them under the same loads, in turn, as a file says'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand help; and not __fish_seen_subcommand_from run show diagnose report qualify compare history find experiment tune export capture data epc serve doctor respond relay world watch merge note demo agent agents verify install-links help" -f -a "tune" -d 'Find the parameters of kernel, card and server that make a server hold more, and leave the host as it was'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand help; and not __fish_seen_subcommand_from run show diagnose report qualify compare history find experiment tune export capture data epc serve doctor respond relay world watch merge note demo agent agents verify install-links help" -f -a "export" -d 'Write a run in the format of another program'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand help; and not __fish_seen_subcommand_from run show diagnose report qualify compare history find experiment tune export capture data epc serve doctor respond relay world watch merge note demo agent agents verify install-links help" -f -a "capture" -d 'Say what is in captures of DNS traffic, and cut, filter, merge and convert them'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand help; and not __fish_seen_subcommand_from run show diagnose report qualify compare history find experiment tune export capture data epc serve doctor respond relay world watch merge note demo agent agents verify install-links help" -f -a "data" -d 'Make zones by rule: of a mobile operator, many with a catalog, telephone numbers'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand help; and not __fish_seen_subcommand_from run show diagnose report qualify compare history find experiment tune export capture data epc serve doctor respond relay world watch merge note demo agent agents verify install-links help" -f -a "epc" -d 'Predict the load of a mobile core\'s clients, before and after a change of records, TTLs or caches'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand help; and not __fish_seen_subcommand_from run show diagnose report qualify compare history find experiment tune export capture data epc serve doctor respond relay world watch merge note demo agent agents verify install-links help" -f -a "serve" -d 'Show a folder of runs in a browser'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand help; and not __fish_seen_subcommand_from run show diagnose report qualify compare history find experiment tune export capture data epc serve doctor respond relay world watch merge note demo agent agents verify install-links help" -f -a "doctor" -d 'Look at this host before a run: what will bias the figures, and the commands that cure it'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand help; and not __fish_seen_subcommand_from run show diagnose report qualify compare history find experiment tune export capture data epc serve doctor respond relay world watch merge note demo agent agents verify install-links help" -f -a "respond" -d 'Run a reference DNS server that delays, drops or falsifies responses on request, and counts what it did'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand help; and not __fish_seen_subcommand_from run show diagnose report qualify compare history find experiment tune export capture data epc serve doctor respond relay world watch merge note demo agent agents verify install-links help" -f -a "relay" -d 'Stand between two programs and delay, lose, reorder and limit what passes'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand help; and not __fish_seen_subcommand_from run show diagnose report qualify compare history find experiment tune export capture data epc serve doctor respond relay world watch merge note demo agent agents verify install-links help" -f -a "world" -d 'Serve an Internet in a box: zones from the root down, with their name servers, distances and faults'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand help; and not __fish_seen_subcommand_from run show diagnose report qualify compare history find experiment tune export capture data epc serve doctor respond relay world watch merge note demo agent agents verify install-links help" -f -a "watch" -d 'Show the counters of hosts, processes and servers that move, without a load'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand help; and not __fish_seen_subcommand_from run show diagnose report qualify compare history find experiment tune export capture data epc serve doctor respond relay world watch merge note demo agent agents verify install-links help" -f -a "merge" -d 'Join the records of processes that made parts of one load'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand help; and not __fish_seen_subcommand_from run show diagnose report qualify compare history find experiment tune export capture data epc serve doctor respond relay world watch merge note demo agent agents verify install-links help" -f -a "note" -d 'Write a remark into the record of a run in progress, from another shell'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand help; and not __fish_seen_subcommand_from run show diagnose report qualify compare history find experiment tune export capture data epc serve doctor respond relay world watch merge note demo agent agents verify install-links help" -f -a "demo" -d 'Measure the built-in responder, without any set-up'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand help; and not __fish_seen_subcommand_from run show diagnose report qualify compare history find experiment tune export capture data epc serve doctor respond relay world watch merge note demo agent agents verify install-links help" -f -a "agent" -d 'Make parts of runs for a coordinator (`--on`), which starts this'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand help; and not __fish_seen_subcommand_from run show diagnose report qualify compare history find experiment tune export capture data epc serve doctor respond relay world watch merge note demo agent agents verify install-links help" -f -a "agents" -d 'List the agents that `--on` would use: version, CPUs, clock, what they may load'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand help; and not __fish_seen_subcommand_from run show diagnose report qualify compare history find experiment tune export capture data epc serve doctor respond relay world watch merge note demo agent agents verify install-links help" -f -a "verify" -d 'Say whether files of a release are those that were signed, offline'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand help; and not __fish_seen_subcommand_from run show diagnose report qualify compare history find experiment tune export capture data epc serve doctor respond relay world watch merge note demo agent agents verify install-links help" -f -a "install-links" -d 'Make links to this program by the names of the programs whose command lines it accepts: dnsperf, resperf, resperf-report and queryperf'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand help; and not __fish_seen_subcommand_from run show diagnose report qualify compare history find experiment tune export capture data epc serve doctor respond relay world watch merge note demo agent agents verify install-links help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand help; and __fish_seen_subcommand_from capture" -f -a "show" -d 'Say what is in captures: rate over time, clients, types, RCODEs, EDNS, latency'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand help; and __fish_seen_subcommand_from capture" -f -a "filter" -d 'Write a part of captures: by time, by client, by server; merged by time, in another format'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand help; and __fish_seen_subcommand_from data" -f -a "epc" -d 'The zones of a mobile operator: tracking areas, access points, gateways, and who asks for them'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand help; and __fish_seen_subcommand_from data" -f -a "plain" -d 'Many equal zones with hosts, and queries for all of them'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand help; and __fish_seen_subcommand_from data" -f -a "catalog" -d 'Many zones, and a catalog zone that lists them'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand help; and __fish_seen_subcommand_from data" -f -a "enum" -d 'Telephone numbers: a NAPTR record for each, and queries for them'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand help; and __fish_seen_subcommand_from epc" -f -a "predict" -d 'Say what load the clients of a description will put on a server, before and after a change; nothing is sent'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand help; and __fish_seen_subcommand_from world" -f -a "explain" -d 'Print the truth about names: the delegations with all servers, and what is there'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand help; and __fish_seen_subcommand_from world" -f -a "questions" -d 'Print questions for a resolver, as a query file: names drawn from the world, most of which are there'
complete -c dnsdyno -n "__fish_dnsdyno_using_subcommand help; and __fish_seen_subcommand_from agent" -f -a "keys" -d 'Make the key that signs tasks for agents at a NATS broker, in ~/.config/dnsdyno/agents.key; prints its public half'
