//! Where the programs of a host are.

use std::env;
use std::ffi::OsString;
use std::path::Path;

/// The folders in which programs are looked for. Over `ssh`, and for users other than root, the folders of programs for
/// administrators may be missing in `PATH`.
pub fn search_path() -> OsString {
    let given = env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
    let mut folders: Vec<_> = env::split_paths(&given).collect();
    for folder in ["/usr/local/sbin", "/usr/sbin", "/sbin"] {
        if !folders.iter().any(|known| known == Path::new(folder)) {
            folders.push(folder.into());
        }
    }
    env::join_paths(folders).unwrap_or(given)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folders_of_administrators_are_searched_last_and_once() {
        let path = search_path();
        let folders: Vec<_> = env::split_paths(&path).collect();
        for folder in ["/usr/local/sbin", "/usr/sbin", "/sbin"] {
            assert_eq!(folders.iter().filter(|known| *known == Path::new(folder)).count(), 1, "{folder}");
        }
        let given: Vec<_> = env::split_paths(&env::var_os("PATH").unwrap_or_default()).collect();
        assert!(folders.starts_with(&given), "{folders:?}");
    }
}
