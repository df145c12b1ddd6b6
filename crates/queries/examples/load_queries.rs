//! Loads a query file and prints what it takes, for `/usr/bin/time -v`:
//! `cargo run --release -p dnsdyno-plan --example load_queries FILE`.

use std::time::Instant;

use dnsdyno_queries::{BadLines, QuerySource, Reading};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args_os().nth(1).ok_or("give a query file")?;
    let start = Instant::now();
    let reading = Reading { bad_lines: BadLines::SkipAll, ..Reading::default() };
    let loaded = QuerySource::File(path.into()).load(&reading)?;
    let took = start.elapsed();
    println!(
        "{} queries, {} bad lines, {} bytes encoded, {:.3} s",
        loaded.queries.len(),
        loaded.bad_lines,
        loaded.queries.encoded_bytes(),
        took.as_secs_f64()
    );
    Ok(())
}
