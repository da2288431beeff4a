//! How a job may end while its figures are sent.

use crate::job::Job;
use crate::points;
use crate::receiver::Receiver;
use crate::server::Manner;
use std::collections::BTreeSet;

/// A child that was forked exports nothing, and its end is not held up.
#[test]
fn a_child_leaves_the_export_to_its_parent() {
    for manner in [Manner::Accept, Manner::Silence] {
        let receiver = Receiver::new([manner.clone()]);
        let mut job = Job::new(&receiver.endpoint(), &[]);
        if manner == Manner::Accept {
            receiver.wait_for(3);
        }
        job.order("child");
        assert_eq!(job.number("child"), 7);
        let before = receiver.requests().len();
        if manner == Manner::Accept {
            receiver.wait_for(before + 3);
        }
        let said = job.end("a job with a child");
        // a child that waited for the export would tell of it
        let told = said.iter().filter(|line| line.contains("could not be exported")).count();
        assert_eq!(told, usize::from(manner == Manner::Silence), "{said:#?}");
        let processes: BTreeSet<String> =
            receiver.requests().iter().map(|request| points::resource(request)["process.pid"].clone()).collect();
        assert_eq!(processes.len(), usize::from(manner == Manner::Accept));
    }
}

#[test]
fn another_thread_ends_the_process() {
    for manner in [Manner::Accept, Manner::Silence] {
        let receiver = Receiver::new([manner]);
        let mut job = Job::new(&receiver.endpoint(), &[]);
        job.order("leave elsewhere");
        job.end("a job that another thread ends");
    }
}

/// Each has its last export; what they wait for is told once.
#[test]
fn a_measurement_ends_and_then_the_process() {
    let receiver = Receiver::new([Manner::Silence]);
    let mut job = Job::new(&receiver.endpoint(), &[]);
    job.order("end the measurement");
    let said = job.end("a job after its measurement");
    assert_eq!(said.iter().filter(|line| line.contains("could not be exported")).count(), 1, "{said:#?}");
}

/// Without the last export, and without a word.
#[test]
fn the_process_leaves_at_once() {
    let receiver = Receiver::new([Manner::Silence]);
    let mut job = Job::new(&receiver.endpoint(), &[("OTEL_METRIC_EXPORT_INTERVAL", "1")]);
    job.order("look");
    job.number("threads");
    job.order("leave at once");
    let said = job.end("a job that leaves at once");
    assert!(said.iter().all(|line| !line.contains("export")), "{said:#?}");
}

/// Its SIGPIPE is the system's: a write to a connection that is closed would end it.
#[test]
fn a_closed_connection_ends_no_job() {
    let receiver =
        Receiver::new([vec![Manner::HangUp(0); 40], vec![Manner::HangUp(100); 40], vec![Manner::Accept]].concat());
    let job = Job::new(&receiver.endpoint(), &[("OTEL_METRIC_EXPORT_INTERVAL", "5")]);
    receiver.wait_for(2);
    job.end("a job with closed connections");
}
