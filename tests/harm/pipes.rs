//! Standard error as a pipe: that nobody reads, or that is full.

use crate::harm::job::Job;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::process::Stdio;

/// A pipe of which nobody reads the other end, if there is one.
fn pipe(is_read: bool) -> (Option<OwnedFd>, OwnedFd) {
    let mut ends = [0; 2];
    // SAFETY: two descriptors are written, which are owned from here on.
    let [reader, writer] = unsafe {
        assert_eq!(libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC), 0);
        ends.map(|end| OwnedFd::from_raw_fd(end))
    };
    (is_read.then_some(reader), writer)
}

/// Lines about settings, which come at the first init, and one about the summary, which comes at the end.
fn talkative() -> Job {
    Job::new().set("NCCL_SCOREP_WINDOW_EVENTS", "some").set("NCCL_SCOREP_SUMMARY", ".")
}

#[test]
fn a_line_into_a_pipe_that_nobody_reads_ends_no_job() {
    let job = talkative();
    job.play();
    assert_eq!(job.said().lines().count(), 2, "{}", job.said());
    let (_, writer) = pipe(false);
    job.play_as(job.command().stderr(Stdio::from(writer)));
}

#[test]
fn a_line_that_finds_no_room_is_waited_for_by_nobody() {
    let job = talkative();
    let (reader, writer) = pipe(true);
    // SAFETY: fcntl of a descriptor of our own.
    let size = unsafe { libc::fcntl(writer.as_raw_fd(), libc::F_GETPIPE_SZ) };
    let mut full = File::from(writer.try_clone().unwrap());
    full.write_all(&vec![b'.'; usize::try_from(size).unwrap()]).unwrap();
    job.play_as(job.command().stderr(Stdio::from(writer.try_clone().unwrap())));
    drop((full, writer));
    let mut text = String::new();
    File::from(reader.unwrap()).read_to_string(&mut text).unwrap();
    assert!(text.bytes().all(|byte| byte == b'.'), "{text}");
}
