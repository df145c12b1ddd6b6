//! Folders and disks that cannot be written: reported before the run if possible; otherwise the run continues, its
//! summary is printed, and the exit code says that the record is incomplete.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::support::{Workplace, may_unshare, responder};

/// On a read-only disk where the test may mount one, otherwise in a folder without write permission.
#[test]
fn a_folder_that_cannot_be_written_to_is_reported_before_anything_is_sent() {
    let work = Workplace::with_queries();
    let server = responder(Default::default());
    let run = format!("run -s {} -d q.txt -r 500 --count 10 -o closed/run", server.address());
    fs::create_dir(work.path("closed")).unwrap();
    let ran = if rustix::process::geteuid().is_root() {
        if !may_unshare("-m") {
            return;
        }
        work.shell_apart("-m", &format!("mount -t tmpfs -o ro none closed && exec \"$0\" {run}"))
    } else {
        fs::set_permissions(work.path("closed"), fs::Permissions::from_mode(0o555)).unwrap();
        work.dnsdyno(&run)
    };
    ran.ends_refused(
        3,
        &["cannot create the folder closed/run", "(os error", "choose one that you may write to"],
    );
    assert_eq!(server.book().udp.counts.received, 0);

    work.write("file", "");
    work.dnsdyno(&run.replace("closed/run", "file/run"))
        .ends_refused(3, &["cannot create the folder file/run", "Not a directory"]);
    assert_eq!(server.book().udp.counts.received, 0);
}

#[test]
fn a_full_disk_is_reported_before_anything_is_sent() {
    if !may_unshare("-m") {
        return;
    }
    let work = Workplace::with_queries();
    let server = responder(Default::default());
    let script = format!(
        "mkdir full && mount -t tmpfs -o size=4k none full && head -c 4096 /dev/zero > full/ballast; \
         \"$0\" run -s {} -d q.txt -r 500 --count 10 -o full/run; code=$?; ls full > left; exit $code",
        server.address()
    );
    work.shell_apart("-m", &script).ends_refused(3, &["No space left", "full/run"]);
    assert_eq!(work.read("left"), "ballast\n", "nothing is left behind");
    assert_eq!(server.book().udp.counts.received, 0);
}

#[test]
fn a_disk_that_fills_up_loses_only_lines_of_the_record() {
    if !may_unshare("-m") {
        return;
    }
    let work = Workplace::with_queries();
    let server = responder(Default::default());
    // The record is copied before the disk is removed with its namespace.
    let script = format!(
        "mkdir full && mount -t tmpfs -o size=64k none full; \
         \"$0\" run -s {} -d q.txt --rate 500 --for 2s --interval 10ms -o full/run; code=$?; \
         cp -r full/run kept; exit $code",
        server.address()
    );
    let ran = work.shell_apart("-m", &script).gives(4).says(&[
        "cannot write to full/run/run.ndjson now",
        "No space left",
        "free some disk space",
        "full/run/run.ndjson is incomplete",
        "lines are missing, the earlier lines can be read",
    ]);
    assert_eq!(ran.stderr.matches("run.ndjson now").count(), 1, "told once, not each time");
    assert_eq!(server.book().udp.counts.received, 1000, "the run went on to its end");
    let scheduled =
        ran.stdout.lines().find(|line| line.trim_start().starts_with("scheduled")).unwrap_or_default();
    assert!(scheduled.contains("1,000"), "the summary is complete:\n{}", ran.stdout);
    assert!(!ran.stdout.contains("INCOMPLETE"), "{}", ran.stdout);

    let record = work.record("kept");
    assert!(!record.is_complete() && record.intervals > 3, "{} intervals", record.intervals);
    let shown = work.dnsdyno("show kept").gives(0);
    assert!(shown.stdout.starts_with("INCOMPLETE"), "{}", shown.stdout);
}

#[test]
fn a_disk_that_gets_free_space_in_time_loses_nothing() {
    if !may_unshare("-m") {
        return;
    }
    let work = Workplace::with_queries();
    let server = responder(Default::default());
    // The ballast is removed when the program has reported the full disk.
    let script = format!(
        "mkdir full && mount -t tmpfs -o size=2m none full && head -c 2080768 /dev/zero > full/ballast; \
         \"$0\" run -s {} -d q.txt --rate 500 --for 2s --interval 20ms -o full/run 2> said & \
         until grep -q 'run.ndjson now' said; do kill -0 $! || break; done; rm full/ballast; \
         wait $!; code=$?; cp -r full/run kept; exit $code",
        server.address()
    );
    work.shell_apart("-m", &script).gives(0);
    assert!(work.read("said").contains("kept and retried"));
    let record = work.record("kept");
    assert!(record.is_complete());
    assert_eq!((record.tally().ends.answered, record.tally().scheduled), (1000, 1000));
}
