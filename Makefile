# dnsdyno: everything a person types. Each target installs what it lacks, or says what it needs.

CARGO ?= cargo
# The bounds of instructions (benchsuite/instructions.txt) are those of such a build; and no two targets build twice.
export CARGO_INCREMENTAL ?= 0
SERVERS := nsd bind9 unbound knot knot-resolver pdns-server pdns-recursor dnsdist hickory-dns
# To compile the in-kernel programs again, for hosts of our own in network namespaces (firewall, SSH), to ask our own server, and the broker of agents.
TOOLS := clang iproute2 nftables conntrack ethtool dnsperf knot-dnsutils openssh-server busybox-static nats-server
# For the report page: its build, and its tests in a browser.
WEB := nodejs npm chromium
# For servers whose zones are in a database: the database, and what BIND's module is built with.
DATABASE := mariadb-server pdns-backend-mysql libmariadb-dev gcc
# What exports, metrics and captures are read with, beside what scripts/install-pypi readers puts there.
READERS := gnuplot-nox prometheus python3-venv tcpdump tshark dnstap-ldns
PEERS := dnsperf knot-dnsutils pdns-tools tcpdump

.PHONY: help demo build book web test check instructions fuzz fuzz-night bench page-bench screenshots report-pictures install uninstall manual dist compare-dist test-dist clean

help: ## What there is to type
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 22

demo: scripts-ready ## The main job against the built-in responder, no set-up (about 20 s)
	$(CARGO) run --quiet --locked --profile demo --package dnsdyno-cli -- demo

build: scripts-ready ## The program, in target/release/dnsdyno
	$(CARGO) build --release --locked --package dnsdyno-cli

# Of the whole workspace, as the tests are: for one package cargo would build all that it uses with other features.
manual: scripts-ready ## Man pages, completions and the chapter of the commands, from the options
	$(CARGO) build --quiet --workspace --locked --example manual
	$${CARGO_TARGET_DIR:-target}/debug/examples/manual

book: scripts-ready ## The documents as one book, target/book, with a search
	CARGO='$(CARGO)' scripts/build-book

web: ## The report page, web/dist, from web/src; needs Node and npm
	scripts/build-web

test: scripts-ready ## All tests, with real servers and a real browser from Debian's packages
	scripts/install-servers $(SERVERS) $(TOOLS) $(WEB) $(READERS) $(DATABASE) valgrind
	scripts/install-pypi readers || echo "the tests that need what reads exports are skipped" >&2
	CARGO='$(CARGO)' scripts/run-tests --with-page

check: scripts-ready ## Format, lints, layers, circles, links of documents, schema, types of the page, licences, in-kernel programs, the page where Node is there
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- --deny warnings
	CARGO='$(CARGO)' scripts/xtask layers
	CARGO='$(CARGO)' scripts/xtask circles
	CARGO='$(CARGO)' scripts/xtask tidy
	CARGO='$(CARGO)' scripts/xtask book
	CARGO='$(CARGO)' scripts/xtask schema --check
	CARGO='$(CARGO)' scripts/xtask page-types --check
	scripts/check-licences
	scripts/build-ebpf --check
	scripts/build-web --check

instructions: scripts-ready ## The instructions of each step of a worker's loop, held against their bounds
	scripts/install-servers valgrind
	$(CARGO) test --quiet --workspace --locked --test instructions -- --nocapture

fuzz: scripts-ready ## Two minutes (FUZZ_SECONDS) of invented input for each reader of bytes of others; needs a nightly compiler
	scripts/fuzz $(FUZZ)

fuzz-night: scripts-ready ## Ten minutes (FUZZ_SECONDS) of it for each, Miri, sanitizers, and a page of what was covered (a night)
	scripts/fuzz-night $(FUZZ)

bench: scripts-ready ## Us against the peers, in turn, as root; the report goes to benchsuite/runs (about 45 min)
	scripts/install-servers $(PEERS) $(TOOLS)
	$(CARGO) build --release --locked --package dnsdyno-cli
	$(CARGO) run --quiet --release --locked --package dnsdyno-benchsuite -- $(or $(BENCH),all)

page-bench: scripts-ready ## Size of a 48-hour run's page, and times to make, open and zoom it (about 5 min)
	scripts/install-servers $(WEB)
	$(CARGO) build --release --locked --package dnsdyno-cli
	$(CARGO) build --release --locked --package dnsdyno-page --example long_record
	DNSDYNO_PROGRAM=$${CARGO_TARGET_DIR:-target}/release/dnsdyno scripts/page-bench

screenshots: build ## The images of the README, docs/images
	scripts/install-servers $(WEB) pngquant
	scripts/install-npm
	DNSDYNO_PROGRAM=$${CARGO_TARGET_DIR:-target}/release/dnsdyno node web/browser/screenshots.mjs

report-pictures: build ## The pictures of docs/reports, from the folders of their experiments in EXPERIMENTS
	scripts/install-servers $(WEB) pngquant
	scripts/install-npm
	DNSDYNO_PROGRAM=$${CARGO_TARGET_DIR:-target}/release/dnsdyno node web/browser/report-pictures.mjs $(EXPERIMENTS)

install: build ## The program, links by the names of dnsperf and others, man pages, completions, and the book where it was built: PREFIX, DESTDIR
	scripts/install-program $${CARGO_TARGET_DIR:-target}/release/dnsdyno "$${PREFIX:-/usr/local}" "$${DESTDIR:-}"

uninstall: ## Away with what make install has put under PREFIX
	scripts/install-program --remove "$${PREFIX:-/usr/local}" "$${DESTDIR:-}"

dist: scripts-ready ## Packages of this commit, target/dist: static program, deb, rpm, image, SBOM, checksums (about 30 min at first)
	scripts/dist

compare-dist: ## Builds the packages again in another folder and compares each byte
	scripts/compare-dist

test-dist: ## Installs, uses and removes each package of target/dist in fresh roots of Debian, as root (about 5 min)
	scripts/test-dist

clean: ## Away with what was built
	$(CARGO) clean

.PHONY: scripts-ready
scripts-ready:
	@scripts/need-tools
