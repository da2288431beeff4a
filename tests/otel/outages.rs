//! Receivers that come and go while a job runs: what comes after an outage has all of it, exports that failed are
//! counted, one line a minute tells, and nothing is kept.

use crate::job::{self, Job};
use crate::network::nowhere;
use crate::points;
use crate::receiver::{Receiver, Request};
use crate::server::Manner;
use crate::support::tool;
use prost::Message;

fn failed(request: &Request) -> f64 {
    points::of(request).into_iter().find(|point| point.name == "nccl_exports_failed").unwrap().sum
}

fn operations(request: &Request) -> f64 {
    points::of(request)
        .into_iter()
        .filter(|point| point.name == "nccl_profiler_collective_count")
        .map(|point| point.sum)
        .sum()
}

fn lines(said: &[String], of: &str) -> usize {
    said.iter().filter(|line| line.contains(of)).count()
}

/// Exports are under way all the time.
#[test]
fn a_training_is_as_it_is_without() {
    let plain = job::replay(job::LONG, None, &[]);
    let faults = [
        (Manner::Silence, "no answer before the process ends"),
        (Manner::Status(500), "status 500"),
        (Manner::HangUp(300), "closes the connection"),
    ];
    let receivers = faults.map(|(manner, cause)| (Receiver::new([manner]), cause));
    let endpoints = receivers.iter().map(|(receiver, cause)| (receiver.endpoint(), *cause));
    for (endpoint, cause) in endpoints.chain([(format!("http://{}", nowhere()), "connection refused")]) {
        job::replay(job::LONG, Some(&endpoint), &[("OTEL_METRIC_EXPORT_INTERVAL", "10")]).check(&plain, cause);
    }
    let answered = receivers[1].0.requests().len();
    // the last one is at the end; how many come before it is a matter of the machine
    assert!(answered > 1, "{answered} exports");
}

/// Each export is one connection, so the number of a request says which have failed before it.
#[test]
fn exports_that_fail_are_counted() {
    let manners = [
        Manner::Status(503),
        Manner::Status(503),
        Manner::Accept,
        Manner::HangUp(0),
        Manner::Status(404),
        Manner::Accept,
        Manner::Accept,
        Manner::Refuse(1),
        Manner::HangUp(200),
        Manner::Noise,
        Manner::Accept,
    ];
    let receiver = Receiver::new(manners.clone());
    let job = Job::new(&receiver.endpoint(), &[]);
    receiver.wait_for(20);
    let said = job.end("an outage");
    for request in receiver.requests() {
        let before = manners.iter().take(request.number).filter(|manner| **manner != Manner::Accept).count();
        assert_eq!(failed(&request), before as f64, "request {}", request.number);
    }
    // causes that come within the minute are not told
    assert_eq!(lines(&said, "could not be exported"), 1, "{said:#?}");
    assert_eq!(lines(&said, "status 503"), 1, "{said:#?}");
    assert_eq!(lines(&said, "exported again"), 1, "{said:#?}");
}

/// The receiver's process dies and comes back.
#[test]
fn export_resumes_by_itself() {
    let mut receiver = Receiver::good();
    let job = Job::new(&receiver.endpoint(), &[]);
    for round in 1..=3 {
        receiver.wait_for(5 * round);
        receiver.stop();
        std::thread::sleep(std::time::Duration::from_millis(300));
        receiver.start_again();
    }
    receiver.wait_for(20);
    let said = job.end("a receiver that comes and goes");
    let requests = receiver.requests();
    assert!(requests.is_sorted_by(|one, next| failed(one) <= failed(next) && operations(one) <= operations(next)));
    assert!(failed(requests.last().unwrap()) >= 3.0, "{}", failed(requests.last().unwrap()));
    assert_eq!(lines(&said, "could not be exported"), 1, "{said:#?}");
    assert_eq!(lines(&said, "exported again"), 1, "{said:#?}");
}

/// What could not be sent is not kept. With few operations the recording takes little meanwhile, however long that is.
#[test]
fn a_long_outage_takes_no_memory() {
    let receiver = Receiver::new([Manner::Status(500)]);
    let mut job = Job::every(100, &receiver.endpoint(), &[("OTEL_METRIC_EXPORT_INTERVAL", "5")]);
    let [before, after] = [50, 350].map(|requests| {
        receiver.wait_for(requests);
        job.order("look");
        (job.number("memory"), job.number("threads"))
    });
    let said = job.end("a long outage");
    let sent: usize = receiver.requests()[50..350].iter().map(|request| request.body.encoded_len()).sum();
    let (grown, sent) = (after.0 - before.0, sent >> 10);
    tool::say(&format!("{grown} KiB more after 300 failures, of {sent} KiB that could not be sent"));
    assert!(grown < sent as i64 / 4, "{grown} of {sent} KiB");
    // the job's own, the collector's, the conditions', the end's, the summary's, the exporter's
    assert_eq!((before.1, after.1), (6, 6));
    assert_eq!(lines(&said, "could not be exported"), 1, "{said:#?}");
}
