//! The files of experiments: those of the project, and what the document says of their keys.

use std::fs;
use std::path::Path;

use dnsdyno_campaign::compare;
use dnsdyno_campaign::experiment::{LoadKind, Order};
use dnsdyno_plan::{Draft, Group};
use dnsdyno_runner::LocalRunner;
use dnsdyno_text::notation::parse_duration_ns;

use super::file::{Config, EventTable, File, TuneTable};
use super::keys::fields_of;
use super::kind::Kind;
use super::load_file::{FindTable, LoadKeys};
use super::timetable::Action;
use super::way::{LoadMethod, LoadSetup};
use super::{Given, Setup, summary};

fn root() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The setup of a file with this text.
fn setup(text: &str, full: bool) -> Result<Setup, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.toml");
    fs::write(&path, text).unwrap();
    Setup::read(&path, &scale(full), &LocalRunner).map_err(|error| error.to_string())
}

/// Nothing but the scale is given beside a file.
fn scale(full: bool) -> Given {
    Given { full, ..Given::default() }
}

#[test]
fn a_file_of_a_newer_format_is_refused_before_its_keys_are_looked_at() {
    let file = |format: &str| setup(&format!("{format}\n{NSD}{LOAD}"), false);
    assert!(file("").is_ok() && file("format = 1").is_ok());
    let said = file("arrange = 'x'\nformat = 2").err().unwrap();
    assert!(said.contains("it has format 2, and this dnsdyno reads up to format 1"), "{said}");
    let said = file("format = '1'").err().unwrap();
    assert!(said.contains("a number from 1 to 1"), "{said}");
    for table in [
        "[run]\nformat = 1",
        "[full]\nformat = 1",
        "[full.run]\nformat = 1",
        "[[load]]\nname='l'\nformat = 1",
    ] {
        let said = setup(&format!("{NSD}{LOAD}{table}"), false).err().unwrap();
        assert!(said.contains("has no key `format`"), "{said}");
    }
}

const NSD: &str = "[[server]]\nname = \"nsd\"\ntemplate = \"nsd\"\n";
const LOAD: &str = "[[load]]\nname = \"5k\"\nrate = \"5k\"\nfor = \"10s\"\n";

/// The experiments of the project, each at both of its scales where it has both.
fn shipped() -> Vec<(String, bool, Setup)> {
    let files = fs::read_dir(root().join("experiments")).unwrap().flatten().map(|entry| entry.path());
    let mut files: Vec<_> = files.filter(|path| path.extension().is_some_and(|end| end == "toml")).collect();
    files.sort();
    let mut found = Vec::new();
    for path in files {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        for full in [false, true] {
            match Setup::read(&path, &scale(full), &LocalRunner) {
                Ok(setup) => found.push((name.clone(), full, setup)),
                Err(error) if full && error.to_string().contains("no table [full]") => {}
                Err(error) => panic!("{error}"),
            }
        }
    }
    assert!(found.len() > 12, "{}", found.len());
    found
}

#[test]
fn every_experiment_of_the_project_says_how_long_it_takes() {
    for (name, full, setup) in shipped() {
        let lines = summary(&setup).join("\n");
        assert!(lines.contains(" runs: ") && lines.contains("  takes "), "{name} {full}: {lines}");
    }
}

#[test]
fn every_experiment_of_the_project_has_runs_enough_to_tell_a_difference_from_noise() {
    for (name, full, setup) in shipped() {
        let family = setup.design.compared_loads();
        let fewest = compare::Settings { family, ..Default::default() }.fewest_runs();
        for load in setup.design.loads.iter().filter(|load| load.kind == LoadKind::Run) {
            let words = format!("{name}, --full {full}, {}: {} of {fewest}", load.name, load.repeats);
            assert!(load.repeats as usize >= fewest, "{words}");
        }
        let is_little = |note: &&String| note.contains("no difference can be told");
        assert_eq!(setup.notes.iter().find(is_little), None, "{name}");
    }
}

#[test]
fn ramps_of_the_full_scale_take_a_minute_at_least() {
    let mut ramps = 0;
    for (name, _, setup) in shipped().into_iter().filter(|(_, full, _)| *full) {
        for (LoadSetup { draft, way, .. }, load) in setup.loads.iter().zip(&setup.design.loads) {
            let is_ramp =
                matches!(way, LoadMethod::Search(options) if options.method.as_deref() == Some("ramp"));
            if is_ramp || draft.ramp.is_some() {
                let over = draft.over.as_deref().map(|over| parse_duration_ns(over).unwrap());
                assert!(over >= Some(60_000_000_000), "{name}, {}: {over:?}", load.name);
                ramps += 1;
            }
        }
    }
    assert!(ramps > 0);
}

#[test]
fn content_servers_caches_threads_and_the_kernel_are_in_one_file() {
    let all = shipped();
    let (_, _, setup) = all.iter().find(|(name, ..)| name == "servers-and-caches.toml").unwrap();
    let has_stub = |stub: bool, threads: u32| {
        setup.subjects.iter().any(|kind| match kind {
            Kind::Started(how) => (how.stub.is_some(), how.threads) == (stub, threads),
            Kind::There { .. } => false,
        })
    };
    assert!(has_stub(false, 1) && has_stub(false, 2) && has_stub(true, 1) && has_stub(true, 2));
    let subjects = setup.design.subjects.iter().map(|subject| subject.name.as_str());
    let mut names = subjects.chain(setup.left_out.iter().map(|one| one.name.as_str()));
    assert!(names.any(|name| name == "in-kernel"));
    assert!(setup.loads.iter().any(|load| load.draft.rate.as_deref() == Some("2M")));
}

#[test]
fn the_document_names_every_key_and_its_example_is_valid_but_for_its_files() {
    let document = fs::read_to_string(root().join("docs/experiment.md")).unwrap();
    let keys = fields_of::<File>().iter().chain(fields_of::<Config>()).chain(fields_of::<EventTable>());
    let keys = keys.chain(fields_of::<LoadKeys>()).chain(fields_of::<FindTable>());
    let tables = ["server", "helper", "load", "event", "run", "path", "tune", "full"];
    for key in keys.filter(|key| !tables.contains(key)) {
        assert!(document.contains(&format!("`{key}`")), "{key}");
    }
    let tune = fs::read_to_string(root().join("docs/tune.md")).unwrap();
    for key in fields_of::<TuneTable>() {
        assert!(tune.contains(&format!("`{key}`")), "{key}");
    }
    let example = document.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let file = File::read(example, false).unwrap();
    assert_eq!((file.server.len(), file.load.len(), file.event.len()), (3, 2, 1));
    assert_eq!(File::read(example, true).unwrap().repeats, Some(30));
    let columns = document.split("```toml\n").find(|rest| rest.starts_with("columns = ")).unwrap();
    let columns = File::read(columns.split("```").next().unwrap(), false).unwrap().columns;
    assert!(columns.is_some_and(|columns| columns.len() == 4));
}

#[test]
fn a_load_is_laid_over_the_options_of_all_runs_and_has_the_same_seed_for_each_server() {
    let text = format!("seed = 9\n[run]\ntimeout = \"1s\"\nfor = \"3s\"\n{NSD}{LOAD}");
    let setup = setup(&text, false).unwrap();
    let draft = setup.draft(0, "127.0.0.1:5300", false);
    let expected = ("1s", "10s", "5k", "9", "127.0.0.1:5300");
    let text = |option: &Option<String>| option.clone().unwrap_or_default();
    let Draft { timeout, duration, rate, seed, server, .. } = &draft;
    let found = [timeout, duration, rate, seed, server].map(text);
    assert_eq!(found, [expected.0, expected.1, expected.2, expected.3, expected.4]);
    assert_eq!(draft.watch, Some(vec!["auto".into()]));
    assert_eq!(draft.ask.map(|ask| ask.len()), Some(125), "the queries of the testbed");
    assert_eq!(setup.design.loads[0].lasts_ns, Some(10_000_000_000));
}

#[test]
fn what_simulated_clients_are_is_said_by_a_file_beside_the_experiment() {
    let text = format!("{NSD}[[load]]\nname = \"clients\"\nsource = \"epc:clients.json\"\nfor = \"1s\"\n");
    let draft = setup(&text, false).unwrap().draft(0, "127.0.0.1:5300", false);
    let source = draft.source.unwrap();
    assert!(source.starts_with("epc:/") && source.ends_with("/clients.json"), "{source}");
    assert_eq!(draft.ask, None, "no other queries");
}

#[test]
fn a_resolver_names_the_helper_from_whose_root_it_resolves() {
    let helper = "[[helper]]\nname = \"world\"\ntemplate = \"nsd\"\n";
    let with = |server: &str, more: &str| {
        let server = format!("[[server]]\nname = \"s\"\ntemplate = \"{server}\"\norigin = \".\"\n{more}\n");
        setup(&format!("[run]\nask = [\"x. A\"]\n{helper}{server}{LOAD}"), false)
    };
    let setup = with("unbound", "hierarchy = \"world\"").unwrap();
    let Kind::Started(how) = &setup.subjects[0] else { panic!("it is started") };
    assert_eq!(how.hierarchy.as_deref(), Some("world"));
    let keys: Vec<&str> = setup.design.columns.iter().map(|column| column.key.as_str()).collect();
    assert_eq!(
        keys,
        ["queries_out_per_query", "cache_hits", "world_cpu_ns_per_s"],
        "those that a world can fill"
    );
    let refused = [
        ("unbound", "hierarchy = \"word\"", "no helper before it has this name"),
        ("unbound", "hierarchy = \"world\"\nstub = \"world\"", "remove one of them"),
        ("knot", "hierarchy = \"world\"", "the template `knot` cannot resolve from a root of its own"),
    ];
    for (server, more, words) in refused {
        let told = with(server, more).unwrap_err();
        assert!(told.contains(words), "{told}");
    }
}

#[test]
fn the_full_scale_replaces_keys_and_lists_and_keeps_the_rest() {
    let full = "[full]\nrepeats = 30\norder = \"random-blocks\"\n[full.run]\nfor = \"60s\"\n\
                [[full.load]]\nname = \"20k\"\nrate = \"20k\"\n[[full.load]]\nname = \"40k\"\nrate = \"40k\"\n";
    let text = format!("repeats = 4\n[run]\nfor = \"5s\"\ntimeout = \"1s\"\n{NSD}{LOAD}{full}");
    let (small, full) = (setup(&text, false).unwrap(), setup(&text, true).unwrap());
    assert_eq!(
        (small.design.loads[0].repeats, small.design.loads.len(), small.design.order),
        (4, 1, Order::InTurn)
    );
    assert_eq!((full.design.loads[0].repeats, full.design.order), (30, Order::RandomBlocks));
    let draft = full.draft(1, "127.0.0.1", false);
    assert_eq!((draft.rate.as_deref(), draft.duration.as_deref()), (Some("40k"), Some("60s")));
    assert_eq!(draft.timeout.as_deref(), Some("1s"));
    assert_ne!(small.identity, full.identity, "they are different experiments");
    assert!(setup(&format!("{NSD}{LOAD}"), true).unwrap_err().contains("no table [full]"));
}

#[test]
fn columns_are_read_and_a_mistake_in_one_is_told_with_its_line() {
    let with = |columns: &str| setup(&format!("repeats = 4\ncolumns = [\n{columns}]\n{NSD}{LOAD}"), false);
    let two = with("  \"hits = server cache.hits / server queries\",\n  \"mariadb statements / answers\",\n")
        .unwrap();
    let titles: Vec<&str> = two.design.columns.iter().map(|column| column.title.as_str()).collect();
    assert_eq!(titles, ["hits", "mariadb statements / answers"]);
    let planned = summary(&two).join("\n");
    assert!(planned.contains("  column  hits\n  column  mariadb statements / answers"), "{planned}");
    let error = with("  \"server queries\",\n  \"sever queries\",\n").unwrap_err();
    assert!(
        error.contains("at line 4, column 3") && error.contains("`sever` in `sever queries` is neither"),
        "{error}"
    );
    let twice = with("  \"server queries\",\n  \"server queries\",\n").unwrap_err();
    assert!(twice.contains("has `server queries` twice: give one of them another title"), "{twice}");
    let many: String = (0..40).map(|n| format!("\"c{n} = server queries\",\n")).collect();
    assert!(with(&many).unwrap_err().contains("`columns` has 40, and may have 32"));
}

#[test]
fn columns_may_be_added_to_an_experiment_that_is_finished() {
    let full = "[full]\nrepeats = 9\n";
    let of =
        |columns: &str, in_full: &str| setup(&format!("{columns}{NSD}{LOAD}{full}{in_full}"), true).unwrap();
    let (none, some) = (of("", ""), of("columns = [\"server queries\"]\n", ""));
    let instead = of("columns = [\"server queries\"]\n", "columns = [\"answers / s\"]\n");
    assert_eq!(none.identity, some.identity);
    assert_eq!(none.identity, instead.identity);
    assert_eq!(instead.design.columns[0].title, "answers / s", "[full] has its own");
    assert_eq!((none.design.columns.len(), some.design.columns.len()), (0, 1));
}

#[test]
fn a_root_is_started_for_those_servers_only_that_name_it() {
    let helper = |name: &str| format!("[[helper]]\nname = \"{name}\"\ntemplate = \"nsd\"\n");
    let server = |name: &str, more: &str| {
        format!("[[server]]\nname = \"{name}\"\ntemplate = \"unbound\"\norigin = \".\"\n{more}\n")
    };
    let of = |last: &str| {
        let helpers = [helper("plain"), helper("lame"), helper("other")].concat();
        let servers = server("a", "hierarchy = \"plain\"") + &server("b", "hierarchy = \"lame\"") + last;
        setup(&format!("[run]\nask = [\"x. A\"]\n{helpers}{servers}{LOAD}"), false)
    };
    let setup = of(&server("c", "stub = \"other\"")).unwrap();
    let beside = |number: usize| {
        let Kind::Started(server) = &setup.subjects[number] else { panic!("it is started") };
        setup.helpers_of(server).map(|helper| helper.name.as_str()).collect::<Vec<_>>()
    };
    assert_eq!(
        [beside(0), beside(1), beside(2)],
        [vec!["plain", "other"], vec!["lame", "other"], vec!["other"]]
    );
    let told = of(&server("c", "stub = \"lame\"")).unwrap_err();
    assert!(told.contains("the helper `lame` is the `hierarchy` of other servers"), "{told}");
}

#[test]
fn what_is_done_before_a_run_and_the_file_that_it_makes_are_filled_in_when_it_runs() {
    let of =
        |load: &str| setup(&format!("{NSD}[[load]]\nname = \"warm\"\nrate = 100\ncount = 10\n{load}"), false);
    let text = "queries = \"{work}/q.txt\"\nbefore = \"make {queries}\"\nwithin = \"5s\"\n";
    let found = of(text).unwrap();
    let before = found.loads[0].before.as_ref().unwrap();
    assert_eq!((before.command.as_str(), before.within.as_secs()), ("make {queries}", 5));
    assert_eq!(found.draft(0, "127.0.0.1", false).queries.as_deref(), Some("{work}/q.txt"));
    let planned = summary(&found).join("\n");
    assert!(planned.contains("load warm, before each run: make {queries}"), "{planned}");
    let told = of("within = \"5s\"\n").unwrap_err();
    assert!(told.contains("`within` is of a load with `command` or `before`"), "{told}");
}

#[test]
fn a_load_may_be_on_some_servers_and_is_made_and_compared_there_only() {
    let of = |on: &str| {
        let variant = "[[server.variant]]\nname = \"two\"\nthreads = 2\n";
        let knot = "[[server]]\nname = \"knot\"\ntemplate = \"knot\"\n";
        let other = "[[load]]\nname = \"6k\"\nrate = \"6k\"\nfor = \"10s\"\n";
        setup(&format!("repeats = 4\ndrop-first = 0\n{NSD}{variant}{knot}{LOAD}{on}{other}"), false)
    };
    let design = of("on = [\"nsd\", \"nsd/two\"]\n").unwrap().design;
    let cells: Vec<_> = design.cells().map(|cell| (cell.load, cell.subject)).collect();
    assert_eq!(cells, [(0, 0), (0, 1), (1, 0), (1, 1), (1, 2)]);
    assert_eq!(design.runs(), 4 * 5);
    let told = of("on = [\"nsd/three\"]\n").unwrap_err();
    assert!(told.contains("`nsd/three`") && told.contains("nsd, nsd/two, knot"), "{told}");
}

#[test]
fn a_load_with_steps_or_with_an_event_need_not_be_steady() {
    let stair = "[[load]]\nname = \"stair\"\nstair = \"1k..3k\"\nstep = \"1k\"\nhold = \"1s\"\n";
    let event = "[[event]]\nat = \"1s\"\npause = \"1s\"\nloads = [\"5k\"]\n";
    let other = LOAD.replace("5k", "6k");
    let setup = setup(&format!("{NSD}{LOAD}{stair}{other}{event}"), false).unwrap();
    let steady: Vec<_> = setup.design.loads.iter().map(|load| load.strictness.steady_permille).collect();
    assert_eq!(steady, [None, None, Some(50)]);
}

#[test]
fn servers_are_compared_with_the_first_one_and_variants_with_their_server() {
    let variant = |name: &str| format!("[[server.variant]]\nname = \"{name}\"\nthreads = 2\n");
    let knot = "[[server]]\nname = \"knot\"\ntemplate = \"knot\"\n";
    let text = format!("{NSD}{}{knot}{}{LOAD}", variant("two"), variant("two"));
    let design = setup(&text, false).unwrap().design;
    let found: Vec<_> =
        design.subjects.iter().map(|subject| (subject.name.as_str(), subject.against)).collect();
    assert_eq!(found, [("nsd", None), ("nsd/two", Some(0)), ("knot", Some(0)), ("knot/two", Some(2))]);
    assert_eq!(design.subjects[1].differs, "threads = 2");
}

#[test]
fn a_variant_has_what_it_does_not_give_of_its_server_and_differs_by_the_rest() {
    let of = |text: &str| toml::from_str::<Config>(text).unwrap();
    let server = of("template = \"nsd\"\nprogram = \"nsd\"\nthreads = 2\nready-within = \"9s\"\n\
                     values = { a = \"1\", b = 2 }\nparts = [\"x\", \"y\"]\npath = { delay = \"1ms\", loss = \"1%\" }");
    // Each key, in the order of the struct.
    let variant = of("template = \"knot\"\nprogram = \"a\"\nroot = \"r\"\noptional = true\nthreads = 3\n\
                      receive-buffer = \"1M\"\nzone = \"z\"\norigin = \"o\"\nstub = \"s\"\n\
                      hierarchy = \"h\"\nprepare = \"one\\ntwo\"\n\
                      ready-when = \"true\"\nready-within = \"1s\"\npath = { delay = \"2ms\" }\n\
                      parts = [\"y\", \"z\"]\n\
                      values = { b = 3 }\nenvironment = { E = \"e\" }\nsysctl = { \"net.s\" = 1 }");
    let both = variant.over(&server).unwrap();
    assert_eq!(
        (both.threads, both.path.clone()),
        (Some(3), variant.path.clone()),
        "a path is replaced whole"
    );
    let expected = [
        "template = knot",
        "program = a",
        "root = r",
        "threads = 3",
        "receive-buffer = 1M",
        "zone = z",
        "origin = o",
        "stub = s",
        "hierarchy = h",
        "prepare = one …",
        "ready-when = true",
        "path with delay=2ms",
        "with part z",
        "without part x",
        "values.b = 3",
        "environment.E = (not shown)",
        "sysctl.net.s = 1",
    ];
    assert_eq!(both.differences(&server).unwrap(), expected);
    let nothing = Config::default().over(&server).unwrap();
    assert_eq!((nothing.differences(&server).unwrap(), &nothing), (vec![], &server));
    assert_eq!(of("program = \"x\"").differences(&server).unwrap()[0], "template = not given");
}

#[test]
fn searches_and_programs_take_no_load_of_all_runs() {
    let runs = [
        "rate = \"5k\"\nfor = \"3s\"",
        "ramp = \"1..2k\"\nover = \"5s\"\nhold = \"1s\"",
        "stair = \"2k..4k\"\nstep = \"1k\"\nhold = \"5s\"",
        "burst = \"1k..2k\"\nevery = \"2s\"\nhold = \"1s\"\nfor = \"10s\"",
        "[[run.piece]]\nrate = 5\nfor = 1",
        "outstanding = 10\nrate-limit = 9\ncount = 100",
        "outstanding = 10\npasses = 2",
    ];
    for (run, load) in
        runs.iter().flat_map(|run| ["find = \"search\"", "command = \"true\""].map(|load| (run, load)))
    {
        let text = format!("[run]\ntimeout = \"1s\"\n{run}\n{NSD}[[load]]\nname = \"l\"\n{load}\n");
        let setup = setup(&text, false).unwrap_or_else(|error| panic!("{text}: {error}"));
        let draft = setup.draft(0, "127.0.0.1:5300", false);
        let of_load = [Group::Shape, Group::Window, Group::End].map(|group| draft.given(group)).concat();
        assert_eq!((of_load, draft.timeout.as_deref()), (vec![], Some("1s")), "{text}");
    }
}

#[test]
fn a_path_is_a_change_of_a_variant_and_that_of_the_file_is_that_of_all_others() {
    let variant =
        "[[server.variant]]\nname = \"far\"\npath = { delay = \"100ms\", to-client = \"loss=1%\" }\n";
    let text = format!("{NSD}{variant}{LOAD}[path]\ndelay = \"10ms\"\n");
    let setup = setup(&text, false).unwrap();
    assert_eq!(setup.design.subjects[1].differs, "path with delay=100ms, to the client: loss=1%");
    let delays: Vec<_> = setup
        .subjects
        .iter()
        .map(|kind| match kind {
            Kind::Started(started) => started.path.as_ref().unwrap().path.to_client.clone(),
            Kind::There { .. } => panic!("it is started"),
        })
        .collect();
    assert_eq!(delays.iter().map(|way| way.delay.to_string()).collect::<Vec<_>>(), ["10ms", "100ms"]);
    assert_eq!(delays[1].loss.value(), 0.01);
    let wrong = |path: &str| self::setup(&format!("{NSD}{LOAD}[path]\n{path}\n"), false).unwrap_err();
    assert!(wrong("delya = \"10ms\"").contains("[[path]] has no key `delya`: did you mean `delay`?"));
    assert!(wrong("delay = \"10\"").contains("a path: '10' is not a delay"));
    assert!(wrong("between = \"db\"").contains("the name of a helper"));
}

#[test]
fn an_optional_server_is_left_out_with_a_word_and_what_is_given_takes_its_place() {
    let variant = |name: &str| format!("[[server.variant]]\nname = \"{name}\"\noptional = true\n");
    let gone =
        "[[server]]\nname = \"gone\"\ntemplate = \"knot\"\nprogram = \"/none/knotd\"\noptional = true\n";
    let event = "[[event]]\nat = 1\non = [\"nsd/old\", \"gone\"]\n";
    let text = format!("{NSD}{}{}{gone}{}{LOAD}{event}", variant("old"), variant("new"), variant("x"));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.toml");
    fs::write(&path, text).unwrap();
    let read = |programs: &[(&str, &str)]| {
        let programs = programs.iter().map(|(name, path)| ((*name).to_owned(), path.into())).collect();
        Setup::read(&path, &Given { programs, ..Given::default() }, &LocalRunner)
            .map_err(|error| error.to_string())
    };
    let names = |setup: &Setup| setup.design.subjects.iter().map(|one| one.name.clone()).collect::<Vec<_>>();
    let none = read(&[]).unwrap();
    assert_eq!(names(&none), ["nsd"]);
    assert_eq!(
        none.notes,
        [
            "nsd/old is left out: give its program, or its root, with --program nsd/old=PATH",
            "nsd/new is left out: give its program, or its root, with --program nsd/new=PATH",
            "gone is left out: /none/knotd is not installed; run: scripts/install-servers knot",
            "gone/x is left out: so is its server `gone`",
        ]
    );
    // Any program that is there; and another experiment, whose folder is not gone on with.
    let given = read(&[("nsd/old", "/bin/sh")]).unwrap();
    assert_eq!((names(&given).join(" ").as_str(), given.notes.len()), ("nsd nsd/old", 3));
    assert_eq!(given.design.subjects[1].differs, "program = /bin/sh");
    assert_ne!(none.identity, given.identity);
    assert_ne!(given.identity, read(&[("nsd/old", "/bin/cat")]).unwrap().identity);
    let unknown = read(&[("nsd/odl", "/bin/sh")]).unwrap_err();
    assert!(unknown.contains("no server or variant `nsd/odl`: did you mean `nsd/old`?"), "{unknown}");

    // A folder is a root; where the program is not in it, the variant is left out.
    let root = folder.path().join("root");
    fs::create_dir_all(root.join("usr/sbin")).unwrap();
    let of_root = |setup: Setup| setup.notes.iter().find(|note| note.starts_with("nsd/new ")).cloned();
    let root_text = root.display().to_string();
    let absent = of_root(read(&[("nsd/new", &root_text)]).unwrap()).unwrap();
    assert!(absent.contains(&root_text) && absent.contains("has no program nsd"), "{absent}");
    fs::write(root.join("usr/sbin/nsd"), "").unwrap();
    let present = of_root(read(&[("nsd/new", &root_text)]).unwrap());
    if rustix::process::geteuid().is_root() {
        assert_eq!(present, None);
    } else {
        assert!(present.unwrap().contains("by root only"));
    }
    assert!(Given::program("nsd").is_err() && Given::program("=/bin/sh").is_err());
    assert!(read(&[("nsd/old", "/none/nsd")]).unwrap_err().contains("neither a program nor a folder"));
    assert_eq!(Given::program("a/b=/bin/sh").unwrap(), ("a/b".to_owned(), "/bin/sh".into()));
}

#[test]
fn a_host_that_lacks_a_server_is_told_of_each_before_anything_is_started() {
    let gone = |name: &str| {
        format!("[[server]]\nname = \"{name}\"\ntemplate = \"knot\"\nprogram = \"/none/{name}\"\n")
    };
    let helper = "[[helper]]\nname = \"db\"\ntemplate = \"bind\"\nroot = \"/none\"\n";
    let setup = setup(&format!("{helper}{}{}{LOAD}", gone("a"), gone("b")), false).unwrap();
    let error = setup.check_host().unwrap_err();
    assert!(error.is_bad_input());
    let said = error.to_string();
    for words in [
        "helper `db`: /none has no program named",
        "server `a`: /none/a is not installed; run: scripts/install-servers knot",
        "server `b`: /none/b is not installed",
    ] {
        assert!(said.contains(words), "{words} in {said}");
    }
    let there = "[[server]]\nname = \"there\"\naddress = \"127.0.0.1:5300\"\n";
    let asked = "[run]\nask = [\"a.example A\"]\n";
    assert!(self::setup(&format!("{asked}{there}{LOAD}"), false).unwrap().check_host().is_ok());
}

#[test]
fn an_event_may_change_a_path_that_is_there_and_only_in_a_way_that_is_possible() {
    let of = |path: &str, event: &str| {
        let event = format!("[[event]]\nat = \"1s\"\n{event}\n");
        setup(&format!("{NSD}{path}\n{LOAD}{event}"), false)
    };
    let change = "path = { delay = \"100ms\", to-client = \"loss=5%\" }";
    let made = of("path = { delay = \"10ms\", loss = \"1%\" }", change).unwrap();
    assert_eq!(made.events[0].words(), "path with delay=100ms, to the client: loss=5%");
    let Action::Path(change_of) = &made.events[0].action else { panic!("{:?}", made.events) };
    let Kind::Started(how) = &made.subjects[0] else { panic!("it is started") };
    let path = change_of.of(&how.path.as_ref().unwrap().path).unwrap();
    // What is not said stays.
    assert_eq!(path.to_server.to_string(), "delay 100ms, loss 1%");
    assert_eq!(path.to_client.to_string(), "delay 100ms, loss 5%");
    for (path, event, words) in [
        ("", change, "a path that `nsd` does not have"),
        ("path = {}", "path = {}", "says what changes"),
        ("path = {}", "path = { delya = \"1ms\" }", "did you mean `delay`?"),
        ("path = {}", "path = { delay = \"1\" }", "'1' is not a delay"),
        ("path = {}", "path = { reorder = \"1%\" }", "add --delay"),
        (
            "path = {}",
            "path = { delay = \"1ms\" }\npause = \"1s\"",
            "one of `run`, `server`, `pause` and `path`",
        ),
        ("path = {}", "path = { between = \"db\", delay = \"1ms\" }", "the name of a helper"),
    ] {
        let error = of(path, event).unwrap_err();
        assert!(error.contains(words), "{words} in {error}");
    }
}

#[test]
fn too_few_repeats_are_said_before_anything_is_made() {
    let knot = "[[server]]\nname = \"knot\"\ntemplate = \"knot\"\n";
    let other = LOAD.replace("5k", "6k");
    let notes = |text: String| setup(&text, false).unwrap().notes;
    let few = notes(format!("repeats = 4\n{NSD}{knot}{LOAD}{other}"));
    assert!(few[0].contains("it takes at least 5"), "{few:?}");
    assert_eq!(notes(format!("repeats = 5\n{NSD}{knot}{LOAD}{other}")), [""; 0]);
}

#[test]
fn a_search_and_a_program_take_their_queries_of_all_runs_and_not_their_load() {
    let search = "[[load]]\nname = \"limit\"\nfind = { from = \"2k\", least = \"2k\", trial = \"5s\" }\n";
    let program =
        "[[load]]\nname = \"dnsperf\"\ncommand = \"dnsperf -d {queries}\"\nwithin = \"20s\"\nrepeats = 3\n";
    let setup = setup(&format!("[run]\nfor = \"3s\"\nrate = \"1k\"\n{NSD}{search}{program}"), false).unwrap();
    let [limit, dnsperf] = &setup.design.loads[..] else { panic!("two loads") };
    assert_eq!((limit.kind, limit.repeats, limit.dropped), (LoadKind::Search, 1, 0));
    assert_eq!((dnsperf.kind, dnsperf.repeats, dnsperf.dropped), (LoadKind::Program, 3, 1));
    assert_eq!(dnsperf.lasts_ns, Some(20_000_000_000));
    assert!(setup.loads.iter().all(|load| load.draft.rate.is_none() && load.draft.duration.is_none()));
    assert_eq!(setup.loads[1].draft.ask.as_ref().map(Vec::len), Some(125), "the queries of the testbed");
    let lines = summary(&setup).join("\n");
    assert!(
        lines.contains("5 runs: 1 server × (1 load × (0 + 1 repeat) and 1 load × (1 + 3 repeats))"),
        "{lines}"
    );
}

#[test]
fn what_is_watched_of_a_helper_is_known_when_it_runs() {
    let watch = "[run]\nfor = \"1s\"\nwatch = [\"auto\", \"process={auth.pid}\"]\n";
    let helper = "[[helper]]\nname = \"auth\"\ntemplate = \"bind\"\n";
    let setup = setup(&format!("{watch}{helper}{NSD}{LOAD}"), false).unwrap();
    assert_eq!(setup.loads[0].draft.watch.as_ref().map(Vec::len), Some(2));
}
