//! Systems without /proc, /sys or /dev/shm, as small containers are.

use crate::harm::job::{Job, may_mount};

/// Where one of them is not to be had, an empty directory that may not be written to lies there.
#[test]
fn what_is_not_mounted_is_done_without() {
    if !may_mount() {
        return;
    }
    // the last is what mounting goes by
    for missing in [&["/sys"][..], &["/dev/shm"], &["/proc"], &["/sys", "/dev/shm", "/proc"]] {
        let script: String =
            missing.iter().map(|place| format!("mount -t tmpfs -o ro,size=4k none {place}; ")).collect();
        let job = Job::scenario("wild_system", 0, &["not"]).mounting(script.trim_end_matches("; "));
        let found = job.set("NCCL_SCOREP_RECORD", ".").check();
        assert_eq!(found.files(), [1, 1], "{missing:?}: {:?}", found.said);
        // kernel events need shared memory
        let may_say = |line: &String| missing.contains(&"/dev/shm") && line.contains("/dev/shm");
        assert!(found.said.iter().all(may_say), "{missing:?}: {:?}", found.said);
        found.figures();
    }
}
