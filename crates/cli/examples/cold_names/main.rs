//! Names of a world, resolved from cold by a resolver, each answer judged by the truth about its name; and the counters
//! of the resolver beside the world's book.
//!
//! ```text
//! cargo run --example cold_names -- unbound 10k --signed --rtt none
//! cargo run --example cold_names -- all 1k --signed --rtt none --fault silent=15%
//!                                   the resolver, how many names, the options of the world
//! ```
//!
//! Needs root, for a network namespace, and the resolver. Ends with 1 where an answer is not as the world has planned.

#[path = "../../tests/e2e/beside/world/apart.rs"]
mod apart;
#[path = "../../tests/e2e/beside/world/judged.rs"]
mod judged;
#[path = "../../tests/e2e/beside/world/resolvers.rs"]
mod resolvers;

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use clap::Parser;
use dnsdyno_text::notation::parse_count;
use dnsdyno_text::units::count;
use dnsdyno_world::{ServeOptions, Serving, World, WorldOptions};
use serde_json::Value;

use apart::{Apart, PREFIX, Question, log_of};
use judged::Judged;
use resolvers::{BIND, KNOT_RESOLVER, POWERDNS_RECURSOR, Resolver, UNBOUND};

#[derive(Debug, Parser)]
struct Line {
    /// A resolver, or `all`
    resolver: String,
    /// How many names
    names: String,
    /// Asked at a time
    #[arg(long, default_value_t = 64)]
    clients: usize,
    #[command(flatten)]
    world: WorldOptions,
}

fn main() -> ExitCode {
    let mut line = Line::parse();
    match PREFIX.parse() {
        Ok(prefix) => line.world.prefix = prefix,
        Err(error) => return failed(&error.to_string()),
    }
    let chosen: Vec<_> =
        RESOLVERS.iter().filter(|one| line.resolver == "all" || one.name == line.resolver).collect();
    if chosen.is_empty() {
        let names: Vec<_> = RESOLVERS.iter().map(|one| one.name).collect();
        return failed(&format!("`{}` is none of {}, all", line.resolver, names.join(", ")));
    }
    let mut is_right = true;
    for resolver in chosen {
        match resolve(&line, resolver) {
            Ok(right) => is_right &= right,
            Err(error) => return failed(&format!("{}: {error:#}", resolver.name)),
        }
    }
    if is_right { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn failed(why: &str) -> ExitCode {
    eprintln!("{why}");
    ExitCode::from(2)
}

/// Lets a resolver resolve the names, and prints how they ended; whether each did as planned.
fn resolve(line: &Line, resolver: &Resolver) -> anyhow::Result<bool> {
    let names = parse_count(&line.names).map_err(anyhow::Error::msg)?;
    let world = World::new(&line.world)?;
    let questions: Vec<_> = (0..names).map(|number| Question::new(&world.question(number))).collect();
    let truth =
        |question: &Question| serde_json::to_value(world.explain(&question.name)?).context("the truth");
    let truth = questions.iter().map(truth).collect::<anyhow::Result<Vec<_>>>()?;
    let Some(apart) = Apart::new() else { bail!("needs root") };
    let folder = tempfile::tempdir()?;
    if let Some(anchor) = world.trust_anchor() {
        std::fs::write(folder.path().join("root.key"), anchor)?;
    }
    std::fs::write(folder.path().join("root.hints"), world.root_hints())?;
    let serve = || Serving::start(world, ServeOptions { port: 53, threads: 1 });
    let serving = apart.namespace().enter(serve)??;
    let Some(server) = apart.resolver(folder.path(), resolver) else { bail!("it is not installed") };
    let start = Instant::now();
    let answers = apart.ask_all(server.address(), &questions, line.clients);
    let lasted = start.elapsed();
    let sent = apart.settled(Duration::from_secs(2), || (resolver.sent)(&server));
    let log = log_of(&server);
    server.stop()?;
    let (book, json) = serving.stop();
    ensure!(book.warnings().is_empty(), "the world failed: {:?}", book.warnings());

    let mut ends = BTreeMap::<Judged, Vec<&Question>>::new();
    for ((question, truth), answer) in questions.iter().zip(&truth).zip(&answers) {
        let judged = Judged::of(&question.rtype, truth, answer.as_ref());
        ends.entry(judged).or_default().push(question);
    }
    println!("{}: {} names, {:.1} s", resolver.name, count(names), lasted.as_secs_f64());
    for (judged, questions) in &ends {
        let examples = questions.iter().filter(|_| !is_explained(*judged)).take(EXAMPLES);
        let examples: Vec<_> =
            examples.map(|question| format!("{} {}", question.name, question.rtype)).collect();
        println!(
            "  {:<22} {:>9}  {}",
            format!("{judged:?}"),
            count(questions.len() as u64),
            examples.join(", ")
        );
    }
    let booked = resolver.booked(&json);
    println!("  its counters {sent:?}, the book {booked:?}");
    println!(
        "  packets that came too late {}, that left the namespace {}",
        apart.came_too_late(),
        apart.left()
    );
    println!("  ends {}", in_a_line(&json["ends"]));
    println!("  faults {}", in_a_line(&json["faults"]));
    let is_right = ends.keys().all(|judged| is_explained(*judged));
    if !is_right {
        println!("{log}");
    }
    Ok(is_right)
}

/// Whether it is planned, or what a resolver may make of what is planned.
fn is_explained(judged: Judged) -> bool {
    judged <= Judged::GivenUp
}

/// The counts of an object that are not 0.
fn in_a_line(counts: &Value) -> String {
    let counts = counts.as_object().into_iter().flatten().filter(|(_, count)| count.as_u64() != Some(0));
    counts.map(|(name, count)| format!("{name} {count}")).collect::<Vec<_>>().join(", ")
}

const RESOLVERS: [&Resolver; 4] = [&UNBOUND, &BIND, &KNOT_RESOLVER, &POWERDNS_RECURSOR];

/// Names that are printed for an end that is not planned.
const EXAMPLES: usize = 5;
