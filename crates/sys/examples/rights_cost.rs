//! What a server of files pays for the rights that it gives up: the time of a read, and of opening, reading and closing
//! a file, with and without them, in turn.
//!
//! `cargo run --release -p dnsdyno-sys --example rights_cost`

use std::fs::File;
use std::hint::black_box;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::thread;
use std::time::Instant;

use dnsdyno_sys::rights::only_read;

fn main() -> io::Result<()> {
    let folder = tempfile::tempdir()?;
    let deep = folder.path().join("a/b/c");
    std::fs::create_dir_all(&deep)?;
    let path = deep.join("file");
    std::fs::write(&path, [b'x'; BYTES])?;
    let (mut with_all, mut with_fewer) = (Vec::new(), Vec::new());
    for _ in 0..TURNS {
        // A thread gives up its rights for itself alone.
        let turn = |gives_up: bool| {
            let (path, folder) = (path.clone(), folder.path().to_owned());
            let turn = thread::spawn(move || {
                let kept = if gives_up { only_read(&folder) } else { Vec::new() };
                kept.iter().for_each(|kept| println!("not given up: {kept}"));
                Ok::<_, io::Error>([read_ns(&path)?, open_ns(&path)?])
            });
            turn.join().unwrap_or_else(|_| Err(io::Error::other("a turn has ended early")))
        };
        with_all.push(turn(false)?);
        with_fewer.push(turn(true)?);
    }
    for (at, what) in ["a read of 4 kB", "open, read and close"].into_iter().enumerate() {
        let median = |turns: &[[f64; 2]]| {
            let mut all: Vec<f64> = turns.iter().map(|turn| turn[at]).collect();
            all.sort_by(f64::total_cmp);
            all[all.len() / 2]
        };
        let (all, fewer) = (median(&with_all), median(&with_fewer));
        println!("{what}: {all:.0} ns, with fewer rights {fewer:.0} ns ({:+.0} ns)", fewer - all);
    }
    Ok(())
}

fn read_ns(path: &Path) -> io::Result<f64> {
    let file = File::open(path)?;
    let mut buffer = [0; BYTES];
    let begun = Instant::now();
    for _ in 0..CALLS {
        file.read_exact_at(black_box(&mut buffer), 0)?;
    }
    Ok(begun.elapsed().as_nanos() as f64 / f64::from(CALLS))
}

fn open_ns(path: &Path) -> io::Result<f64> {
    let mut buffer = [0; BYTES];
    let begun = Instant::now();
    for _ in 0..CALLS {
        File::open(black_box(path))?.read_exact_at(&mut buffer, 0)?;
    }
    Ok(begun.elapsed().as_nanos() as f64 / f64::from(CALLS))
}

const BYTES: usize = 4_096;
const CALLS: u32 = 100_000;
const TURNS: usize = 7;
