//! The files of experiments: those of the project, and what the document says of their keys.

use std::fs;
use std::path::Path;

use dnsdyno_campaign::experiment::{LoadKind, Order};
use dnsdyno_plan::{Draft, Group};
use dnsdyno_runner::LocalRunner;

use super::file::{Config, EventTable, File, TuneTable};
use super::keys::fields_of;
use super::load_file::{FindTable, LoadKeys};
use super::{Setup, summary};

fn root() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The setup of a file with this text.
fn setup(text: &str, full: bool) -> Result<Setup, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.toml");
    fs::write(&path, text).unwrap();
    Setup::read(&path, full, &[], &LocalRunner).map_err(|error| error.to_string())
}

const NSD: &str = "[[server]]\nname = \"nsd\"\ntemplate = \"nsd\"\n";
const LOAD: &str = "[[load]]\nname = \"5k\"\nrate = \"5k\"\nfor = \"10s\"\n";

#[test]
fn every_experiment_of_the_project_can_be_read_and_says_how_long_it_takes() {
    let mut read = 0;
    for entry in fs::read_dir(root().join("experiments")).unwrap().flatten() {
        if entry.path().extension().is_some_and(|extension| extension == "toml") {
            let setup = Setup::read(&entry.path(), false, &[], &LocalRunner)
                .unwrap_or_else(|error| panic!("{error}"));
            let lines = summary(&setup).join("\n");
            assert!(lines.contains(" runs: ") && lines.contains("  takes "), "{lines}");
            read += 1;
        }
    }
    assert!(read > 0);
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
    let variant = of("template = \"knot\"\nprogram = \"a\"\nthreads = 3\n\
                      receive-buffer = \"1M\"\nzone = \"z\"\norigin = \"o\"\nstub = \"s\"\nprepare = \"one\\ntwo\"\n\
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
        "threads = 3",
        "receive-buffer = 1M",
        "zone = z",
        "origin = o",
        "stub = s",
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
            super::kind::Kind::Started(started) => started.path.as_ref().unwrap().path.to_client.clone(),
            super::kind::Kind::There { .. } => panic!("it is started"),
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
    assert!(setup.drafts.iter().all(|draft| draft.rate.is_none() && draft.duration.is_none()));
    assert_eq!(setup.drafts[1].ask.as_ref().map(Vec::len), Some(125), "the queries of the testbed");
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
    assert_eq!(setup.drafts[0].watch.as_ref().map(Vec::len), Some(2));
}
