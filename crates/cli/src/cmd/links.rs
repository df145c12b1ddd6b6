//! `dnsdyno install-links`: makes the program known under the names of the programs whose command lines it accepts.

use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use clap::Args;
use dnsdyno_dropin::PROGRAMS;

use crate::cmd::report::named;
use crate::exit::{Failure, OK, Outcome};

#[derive(Debug, Args)]
pub(crate) struct LinksFlags {
    /// Where to make them, such as /usr/local/bin; the folder is made if it does not exist
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    /// Also in the place of other programs and links, which are lost
    #[arg(long)]
    force: bool,
    /// What the links point to [default: this program]
    #[arg(long, value_name = "PATH")]
    to: Option<PathBuf>,
}

pub(crate) fn install(flags: &LinksFlags) -> Outcome {
    let program = match &flags.to {
        Some(program) => program.clone(),
        None => std::env::current_exe()
            .context("cannot find this program: name it with --to")
            .map_err(Failure::run_failed)?,
    };
    let links: Vec<PathBuf> = PROGRAMS.iter().map(|(program, _)| flags.folder.join(program.name())).collect();
    // All of them or none.
    for link in &links {
        may_be_made(link, &program, flags.force).map_err(Failure::bad_input)?;
    }
    let folder = &flags.folder;
    let cannot = || format!("cannot create {}: name a folder that you may write to", named(folder));
    fs::create_dir_all(folder).with_context(cannot).map_err(Failure::run_failed)?;
    let mut out = std::io::stdout().lock();
    for link in &links {
        make(link, &program)
            .with_context(|| format!("cannot create {}: name a folder that you may write to", named(link)))
            .map_err(Failure::run_failed)?;
        writeln!(out, "{} -> {}", named(link), named(&program)).map_err(Failure::run_failed)?;
    }
    Ok(OK)
}

/// A link to this program is made again; anything else is only replaced if the user wants it.
fn may_be_made(link: &Path, program: &Path, force: bool) -> anyhow::Result<()> {
    let Ok(found) = fs::symlink_metadata(link) else { return Ok(()) };
    if found.is_dir() {
        return Err(anyhow!("{} is a folder: name another folder for the links", named(link)));
    }
    let is_ours = fs::read_link(link).is_ok_and(|target| {
        let same = |a: &Path, b: &Path| a.file_name().is_some() && a.file_name() == b.file_name();
        target == program || same(&target, program)
    });
    match is_ours || force {
        true => Ok(()),
        false => Err(anyhow!(
            "{} is another program: name another folder, or add --force to replace it",
            named(link)
        )),
    }
}

/// Makes the link in one step, so that there is always a program of this name.
fn make(link: &Path, program: &Path) -> std::io::Result<()> {
    let mut unfinished = link.as_os_str().to_owned();
    unfinished.push(".part");
    let unfinished = PathBuf::from(unfinished);
    let _ = fs::remove_file(&unfinished);
    symlink(program, &unfinished)?;
    fs::rename(&unfinished, link).inspect_err(|_| {
        let _ = fs::remove_file(&unfinished);
    })
}
