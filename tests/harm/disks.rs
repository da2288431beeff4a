//! Disks that get full, and calls for files that fail: each of the library's in turn, until the job no longer meets it.

use crate::harm::job::{Job, may_mount};
use std::collections::BTreeSet;

/// With a recording, so that there are several writes.
fn job(number: u32, how: &str) -> Job {
    Job::scenario("failing", number, &[how]).set("NCCL_SCOREP_RECORD", ".")
}

#[test]
fn whichever_call_fails_a_file_is_whole_or_absent() {
    let mut failed = BTreeSet::new();
    for how in ["full", "ENOSPC", "EDQUOT", "EIO"] {
        for number in 1.. {
            let found = job(number, how).check();
            // each file that is not there has its line
            assert_eq!(
                found.files().iter().sum::<usize>() + found.said.len(),
                2,
                "{how} at {number}: {:?}",
                found.said
            );
            if found.failed() == "none" {
                assert_eq!(found.files(), [1, 1]);
                break;
            }
            failed.insert(found.failed().to_owned());
        }
    }
    assert_eq!(failed, ["close", "lseek", "openat", "renameat2", "write"].map(str::to_owned).into());
}

/// A file system of so many KiB for the files.
#[test]
fn a_disk_that_is_full_has_no_half_files() {
    if !may_mount() {
        return;
    }
    for kibibytes in [4, 8, 16, 32, 1024] {
        let script = format!("mkdir disk; mount -t tmpfs -o size={kibibytes}k none disk; ");
        // what is whole comes out of the name space
        let kept = r#""$@"; status=$?; ls -A disk | grep part; cp -p disk/* . 2>/dev/null; umount disk; rmdir disk; exit $status"#;
        let job = Job::scenario("failing", 0, &["ENOSPC"]).mounting(&format!("{script}{kept}"));
        let job = job.set("NCCL_SCOREP_RECORD", "disk").set("NCCL_SCOREP_SUMMARY", "disk/summary.json");
        let found = job.check();
        assert_eq!(found.files().iter().sum::<usize>() + found.said.len(), 2, "{kibibytes} KiB: {:?}", found.said);
        assert!(found.said.iter().all(|line| line.contains("No space left on device")), "{:?}", found.said);
        // one of them is too small for both files, and one large enough
        let is_full = !found.said.is_empty();
        assert!(
            if kibibytes == 1024 { !is_full } else { is_full || kibibytes > 4 },
            "{kibibytes} KiB: {:?}",
            found.said
        );
    }
}
