//! The rows of a history: entries of one kind. What differs between rows is their name.

use std::collections::{BTreeMap, BTreeSet};

use super::axis::Axis;
use super::entry::What;
use super::folder::HistoryRun;

/// Entries of one kind, in their order.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// What they are.
    pub what: What,
    /// What they were asked that is not the same in all rows, by name.
    pub differs: Vec<(String, String)>,
    /// What is the same in all rows.
    pub asked: BTreeMap<String, String>,
    /// The entries.
    pub runs: Vec<HistoryRun>,
}

/// Puts entries into rows: the row with the newest entry first. Entries that lack one of the `labels` (`version=3.4`,
/// or `version` for any) are left out; so are those that the axis has no place for.
pub(super) fn rows(runs: Vec<HistoryRun>, axis: &Axis, labels: &[(String, Option<String>)]) -> Vec<Row> {
    let has = |run: &HistoryRun, key: &str, value: Option<&String>| {
        run.entry.labels.get(key).is_some_and(|own| value.is_none_or(|value| own == value))
    };
    let is_meant = |run: &HistoryRun| {
        let on_axis = match axis {
            Axis::Time => true,
            Axis::Label(key) => has(run, key, None),
        };
        on_axis && labels.iter().all(|(key, value)| has(run, key, value.as_ref()))
    };
    let mut kinds: BTreeMap<(What, BTreeMap<String, String>), Vec<HistoryRun>> = BTreeMap::new();
    for run in runs.into_iter().filter(is_meant) {
        kinds.entry((run.entry.what, run.entry.asked.clone())).or_default().push(run);
    }
    let asked: Vec<&BTreeMap<String, String>> = kinds.keys().map(|(_, asked)| asked).collect();
    let names: BTreeSet<String> = asked.iter().flat_map(|asked| asked.keys().cloned()).collect();
    let differs = |name: &&String| asked.iter().any(|one| one.get(*name) != asked[0].get(*name));
    let differing: Vec<String> = names.iter().filter(differs).cloned().collect();
    let row = |((what, asked), mut runs): ((What, BTreeMap<String, String>), Vec<HistoryRun>)| {
        runs.sort_by(|one, other| axis.order(one, other));
        let value = |name: &String| asked.get(name).map_or("not given", String::as_str).to_owned();
        let differs = differing.iter().map(|name| (name.clone(), value(name))).collect();
        Row { what, differs, asked, runs }
    };
    let mut rows: Vec<Row> = kinds.into_iter().map(row).collect();
    let newest = |row: &Row| row.runs.iter().map(|run| run.entry.started_unix_ns).max();
    rows.sort_by_key(|row| std::cmp::Reverse(newest(row)));
    rows
}

#[cfg(test)]
mod tests {
    use super::super::sample::at;
    use super::*;

    #[test]
    fn what_was_asked_otherwise_is_a_row_of_its_own_with_what_differs() {
        let mut runs: Vec<HistoryRun> = (0..4).map(|run| at(run, 100.0)).collect();
        runs[1].entry.asked.insert("load".into(), "5,000 queries/s".into());
        runs[3].entry.asked.insert("load".into(), "5,000 queries/s".into());
        let rows = rows(runs, &Axis::Time, &[]);
        let folders = |row: &Row| row.runs.iter().map(|run| run.folder.clone()).collect::<Vec<_>>();
        assert_eq!(
            (folders(&rows[0]), folders(&rows[1])),
            (vec!["001".into(), "003".into()], vec!["000".into(), "002".into()])
        );
        assert_eq!(rows[0].differs, [("load".to_owned(), "5,000 queries/s".to_owned())]);
    }

    #[test]
    fn labels_choose_runs_and_order_them() {
        let mut runs: Vec<HistoryRun> = (0..4).map(|run| at(run, 100.0)).collect();
        for (run, version) in runs.iter_mut().zip(["3.10", "3.9", "3.9"]) {
            run.entry.labels.insert("version".into(), version.into());
        }
        let by = Axis::parse("version");
        let folders = |runs: Vec<HistoryRun>, labels: &[(String, Option<String>)]| -> Vec<String> {
            rows(runs, &by, labels).remove(0).runs.iter().map(|run| run.folder.clone()).collect()
        };
        assert_eq!(folders(runs.clone(), &[]), ["001", "002", "000"]);
        assert_eq!(folders(runs, &[("version".into(), Some("3.9".into()))]), ["001", "002"]);
    }
}
