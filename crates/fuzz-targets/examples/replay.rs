//! Gives every file of folders to a target: `replay TARGET FOLDER...`. `scripts/fuzz-night` measures with it which
//! lines the kept inputs reach. Prints how many there were.

use std::path::Path;
use std::process::ExitCode;
use std::{env, fs, io};

use dnsdyno_fuzz_targets::{TARGETS, Target};

fn main() -> ExitCode {
    let mut words = env::args().skip(1);
    let named = words.next().unwrap_or_default();
    let Some((_, target)) = TARGETS.iter().find(|(name, _)| *name == named) else {
        eprintln!("replay: there is no target `{named}`");
        return ExitCode::from(2);
    };
    let mut files = 0;
    for folder in words {
        match replay(*target, Path::new(&folder)) {
            Ok(read) => files += read,
            Err(error) => {
                eprintln!("replay: {folder}: {error}");
                return ExitCode::FAILURE;
            }
        }
    }
    println!("{files}");
    ExitCode::SUCCESS
}

fn replay(target: Target, folder: &Path) -> io::Result<usize> {
    let mut files = 0;
    for entry in fs::read_dir(folder)? {
        target(&fs::read(entry?.path())?);
        files += 1;
    }
    Ok(files)
}
