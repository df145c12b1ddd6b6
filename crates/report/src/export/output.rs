//! Files that exports are written to: complete, or not there.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::export::{ExportError, Format, Run};

/// Writes the runs into one file; an existing one is replaced when the new one is complete.
///
/// # Errors
/// As [`Format::write`]. Then an existing file is as before.
pub fn write_file(format: &Format, runs: &[Run], file: &Path) -> Result<(), ExportError> {
    let failed = |source| ExportError::WriteFile { file: file.to_owned(), source };
    // A pipe or a device cannot be replaced.
    if fs::metadata(file).is_ok_and(|there| !there.is_file()) {
        return write_to(format, runs, File::create(file).map_err(failed)?);
    }
    let part = with_suffix(file);
    let written = File::create(&part).map_err(failed).and_then(|created| write_to(format, runs, created));
    let written = written.and_then(|()| fs::rename(&part, file).map_err(failed));
    if written.is_err() {
        // The first error is the one to be told.
        let _ = fs::remove_file(&part);
    }
    written.map_err(|error| match error {
        ExportError::Write(source) => failed(source),
        error => error,
    })
}

/// Writes a file for each run into a folder, which is made where it is missing; returns their paths.
///
/// # Errors
/// As [`write_file`], and two runs of the same name.
pub fn write_folder(format: &Format, runs: &[Run], folder: &Path) -> Result<Vec<PathBuf>, ExportError> {
    let file = |run: &Run| folder.join(format!("{}.{}", run.name(), format.extension));
    let files: Vec<PathBuf> = runs.iter().map(file).collect();
    let mut sorted = files.clone();
    sorted.sort();
    if let Some(same) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(ExportError::SameName { file: same[0].clone() });
    }
    fs::create_dir_all(folder)
        .map_err(|source| ExportError::WriteFile { file: folder.to_owned(), source })?;
    for (run, file) in runs.iter().zip(&files) {
        write_file(format, std::slice::from_ref(run), file)?;
    }
    Ok(files)
}

fn write_to(format: &Format, runs: &[Run], file: File) -> Result<(), ExportError> {
    let mut out = BufWriter::new(file);
    format.write(runs, &mut out)?;
    Ok(out.into_inner().map_err(io::IntoInnerError::into_error)?.flush()?)
}

/// The name of the file while it is not complete.
fn with_suffix(file: &Path) -> PathBuf {
    let mut name = OsString::from(file);
    name.push(".part");
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::sample;

    #[test]
    fn a_file_is_replaced_only_by_a_complete_one() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("out.json");
        fs::write(&file, "before").unwrap();
        let empty = sample::recorded(&sample::header(), &[]);
        let shotgun = Format::named("shotgun").unwrap();
        let error = write_file(shotgun, &[empty.run], &file).unwrap_err();
        assert!(error.is_bad_input() && error.to_string().contains("has no interval"), "{error}");
        assert_eq!(fs::read_to_string(&file).unwrap(), "before");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        let run = sample::recorded(&sample::header(), &[sample::second(0, 100, 0)]);
        write_file(shotgun, &[run.run], &file).unwrap();
        assert!(fs::read_to_string(&file).unwrap().starts_with('{'));
    }

    #[test]
    fn runs_of_the_same_name_are_not_written_over_each_other() {
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let run = |folder: &Path| {
            sample::write(&folder.join("same"), &sample::header(), &[sample::second(0, 100, 0)]);
            Run::read(&folder.join("same")).unwrap()
        };
        let runs = [run(one.path()), run(other.path())];
        let into = one.path().join("exported");
        let csv = Format::named("csv").unwrap();
        assert!(matches!(write_folder(csv, &runs, &into), Err(ExportError::SameName { .. })));
        assert_eq!(write_folder(csv, &runs[..1], &into).unwrap(), [into.join("same.csv")]);
    }
}
