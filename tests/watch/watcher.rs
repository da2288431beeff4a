//! The watcher's own end, in order and otherwise: the job does not notice, and the textfile is gone where the watcher
//! can remove it.

use crate::support::tool;
use crate::watch::live::WatchedRun;
use crate::watch::{job, status_files};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// A watcher that takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) fn signal(process: &Child, signal: i32) {
    // SAFETY: the process is a child that nobody has waited for, so its id is its own.
    assert_eq!(unsafe { libc::kill(process.id().cast_signed(), signal) }, 0);
}

/// Waits until the watcher has written its textfile.
fn await_file(path: &Path) {
    let begun = Instant::now();
    while !path.exists() {
        assert!(begun.elapsed() < PATIENCE, "no {}", path.display());
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Whatever becomes of the watcher, amidst its looks: all ranks come to the end of their steps, and no file is left but
/// those of the ranks.
#[test]
fn a_watcher_that_is_killed_or_stopped_does_the_job_no_harm() {
    for what in [libc::SIGKILL, libc::SIGSTOP] {
        let mut run = WatchedRun::begin(150, &[]);
        let status = run.directory.path().join("status");
        await_file(&run.directory.path().join("meeting"));
        // some looks
        std::thread::sleep(Duration::from_secs(4));
        signal(&run.watcher, what);
        for (rank, process) in run.ranks.iter_mut().enumerate() {
            assert!(process.wait().unwrap().success(), "rank {rank}, signal {what}");
        }
        assert_eq!(status_files(&status), 4, "signal {what}");
    }
}

#[test]
fn the_textfile_is_removed_at_the_end_and_stays_after_a_kill() {
    for (what, stays) in [(libc::SIGTERM, false), (libc::SIGINT, false), (libc::SIGKILL, true)] {
        let directory = tempfile::tempdir().unwrap();
        job(directory.path(), "slurm 7", None);
        let textfile = directory.path().join("watch.prom");
        let mut watch = tool::tool();
        watch.arg("watch").arg(directory.path()).args(["--lines", "--interval", "1.5", "--textfile"]).arg(&textfile);
        tool::heed_signals(&mut watch);
        let mut watcher = watch.stdout(Stdio::null()).spawn().unwrap();
        await_file(&textfile);
        signal(&watcher, what);
        watcher.wait().unwrap();
        assert_eq!(textfile.exists(), stays, "signal {what}");
    }
}
