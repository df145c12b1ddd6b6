//! What is said over a connection: a few lines of POSIX shell, requests, and answers.
//!
//! ```text
//!   request   17                    its number
//!             /proc/net/snmp        files, with * for any name
//!             .
//!             /proc/4711/fd/        folders of symbolic links
//!             .
//!   answer    /proc/net/snmp:Ip: …  each line of a file, after its path
//!              /proc/4711/fd/:      each line about folders, after a space
//!              lrwx… 12 -> socket:[8812]
//!             = 17                  the end; no line of a file begins so
//! ```

use std::collections::{BTreeMap, BTreeSet};

use crate::files::Files;

/// The command for the other side. One line without single quotes and exclamation marks, because the user's shell there
/// may be any; that shell starts `sh` with it. It ends when its input ends.
///
/// `grep` prints every file with one process; `/dev/null` makes it, and `ls`, print names also where there is only one.
pub(crate) const COMMAND: &str = concat!(
    "exec sh -c '",
    r#"LC_ALL=C; export LC_ALL; IFS=$(printf "\nx"); IFS=${IFS%x}; echo "dnsdyno 1"; "#,
    "while read -r number; do ",
    r#"files=; while read -r path; do [ "$path" = . ] && break; files=$files$IFS$path; done; "#,
    r#"folders=; while read -r path; do [ "$path" = . ] && break; folders=$folders$IFS$path; done; "#,
    r#"[ "$files" ] && grep -as "" /dev/null $files 2> /dev/null; "#,
    r#"[ "$folders" ] && ls -ln /dev/null $folders 2> /dev/null | sed "s/^/ /"; "#,
    r#"echo "= $number"; done'"#
);

/// The first line of the command; what a login prints before it is passed over.
pub(crate) const GREETING: &str = "dnsdyno 1";

/// What the last line of an answer begins with; the number follows.
pub(crate) const END: &str = "= ";

/// The text of a request. A path with a line feed cannot be asked for. No file is asked for twice: its lines would be
/// there twice.
pub(crate) fn request(number: u64, files: &[String], folders: &[String]) -> String {
    let mut text = format!("{number}\n");
    for paths in [files, folders] {
        let (patterns, files): (BTreeSet<&str>, BTreeSet<&str>) = paths
            .iter()
            .map(String::as_str)
            .filter(|path| !path.contains('\n'))
            .partition(|path| path.contains('*'));
        let is_matched = |file: &&str| {
            patterns.iter().any(|path| end_of_path(&format!("{file}:"), path) == Some(file.len()))
        };
        let files = files.iter().filter(|file| !is_matched(file));
        patterns.iter().chain(files).for_each(|path| text.extend([path, "\n"]));
        text.push_str(".\n");
    }
    text
}

/// The files of an answer. Of a folder, the text is a line `NAME -> TARGET` for each symbolic link in it.
pub(crate) fn files(answer: &str, asked: &[String]) -> Files {
    let mut files: BTreeMap<String, String> = BTreeMap::new();
    let mut file = "";
    let mut folder = "";
    for line in answer.lines() {
        if let Some(line) = line.strip_prefix(' ') {
            match line.strip_suffix(':').filter(|path| path.starts_with('/')) {
                Some(path) => folder = path,
                None => {
                    let Some((entry, target)) = line.split_once(" -> ") else { continue };
                    let name = entry.rsplit(' ').next().unwrap_or_default();
                    files.entry(folder.to_owned()).or_default().extend([name, " -> ", target, "\n"]);
                }
            }
            continue;
        }
        let content = match line.strip_prefix(file).and_then(|rest| rest.strip_prefix(':')) {
            Some(content) if !file.is_empty() => content,
            _ => match asked.iter().find_map(|path| end_of_path(line, path)) {
                Some(end) => {
                    file = &line[..end];
                    &line[end + 1..]
                }
                None => continue,
            },
        };
        files.entry(file.to_owned()).or_default().extend([content, "\n"]);
    }
    Files(files)
}

/// Where the path at the beginning of a line ends and a colon follows, if it is one that was asked for. A name that a
/// `*` stands for has no colon in it where it is at the end.
fn end_of_path(line: &str, asked: &str) -> Option<usize> {
    let Some((before, after)) = asked.split_once('*') else {
        return line.strip_prefix(asked)?.starts_with(':').then_some(asked.len());
    };
    let rest = line.strip_prefix(before)?;
    let name = rest.char_indices().take_while(|(_, c)| *c != '/' && !(*c == ':' && after.is_empty()));
    name.map(|(at, c)| at + c.len_utf8())
        .find_map(|at| Some(before.len() + at + end_of_path(&rest[at..], after)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owned(paths: &[&str]) -> Vec<String> {
        paths.iter().map(|path| (*path).to_owned()).collect()
    }

    #[test]
    fn folders_are_asked_for_after_the_files_and_no_path_can_end_the_request() {
        let text = request(3, &owned(&["/a", "/c*", "/d\n.\n="]), &owned(&["/b/"]));
        assert_eq!(text, "3\n/c*\n/a\n.\n/b/\n.\n");
    }

    #[test]
    fn no_file_is_asked_for_twice() {
        let text = request(3, &owned(&["/a/1/x", "/b", "/a/*/x", "/b", "/a/1/y"]), &[]);
        assert_eq!(text, "3\n/a/*/x\n/a/1/y\n/b\n.\n.\n");
    }

    #[test]
    fn every_line_of_a_file_is_under_its_path_whatever_it_says() {
        let answer =
            "/p/1/stat:one\n/p/22/stat:/p/1/stat:not mine\n/p/22/stat:= 17\n/x:a:b\n/y:never asked\n";
        let files = files(answer, &owned(&["/p/*/stat", "/x"]));
        let expected =
            [("/p/1/stat", "one\n"), ("/p/22/stat", "/p/1/stat:not mine\n= 17\n"), ("/x", "a:b\n")];
        assert_eq!(files.0, expected.map(|(path, text)| (path.to_owned(), text.to_owned())).into());
    }

    #[test]
    fn a_folder_gives_the_names_and_targets_of_its_links() {
        let answer = " crw-rw-rw- 1 0 0 1, 3 Nov 22 20:00 /dev/null\n \n /p/1/fd/:\n total 0\n \
            lrwx------ 1 0 0 64 Nov 22 20:00 12 -> socket:[8812]\n \
            l-wx------ 1 0 0 64 Nov 22 20:00 2 -> /var/log/a -> b\n \n /p/2/fd/:\n total 0\n";
        let files = files(answer, &owned(&["/p/*/fd/"]));
        assert_eq!(files.0.len(), 1);
        assert_eq!(files.text("/p/1/fd/"), "12 -> socket:[8812]\n2 -> /var/log/a -> b\n");
    }

    #[test]
    fn a_star_stands_for_one_name() {
        for (line, asked, end) in [
            ("/sys/net/eth0/mtu:1", "/sys/net/*/mtu", Some(17)),
            ("/sys/net/a/b/mtu:1", "/sys/net/*/mtu", None),
            ("/sys/0000:00/mtu:1", "/sys/*/mtu", Some(16)),
            ("/sys/stat/rx:1:2", "/sys/stat/*", Some(12)),
            ("/sys/t1_x_y:1", "/sys/t*_y", Some(11)),
            ("/sys/:1", "/sys/*", None),
        ] {
            assert_eq!(end_of_path(line, asked), end, "{line} {asked}");
        }
    }
}
