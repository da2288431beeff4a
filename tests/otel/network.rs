//! Faults on the way to the receiver, made for real: the figures are as ever, and one line says why nothing arrives.

use crate::job::{self, Job, SECRET};
use crate::receiver::Receiver;
use crate::server::Manner;
use crate::support::tool;
use std::net::TcpListener;

/// An address at which nobody listens. It is on loopback, but no receiver's: their ports come and go.
pub(crate) fn nowhere() -> String {
    free("127.0.0.2")
}

/// A port that was free a moment ago.
pub(crate) fn free(address: &str) -> String {
    TcpListener::bind((address, 0)).unwrap().local_addr().unwrap().to_string()
}

#[test]
fn nobody_listens() {
    job::check(&format!("http://user:{SECRET}@{}/{SECRET}", nowhere()), &[], "connection refused");
}

#[test]
fn nobody_answers() {
    let receiver = Receiver::new([Manner::Silence]);
    job::check(&format!("{}/{SECRET}", receiver.endpoint()), &[], "no answer in time");
}

/// The time is that of the whole request: each byte comes in time.
#[test]
fn the_answer_trickles() {
    let receiver = Receiver::new([Manner::Trickle]);
    job::check(&receiver.endpoint(), &[], "no answer in time");
}

#[test]
fn the_connection_is_closed() {
    for manner in [Manner::HangUp(0), Manner::HangUp(300), Manner::HalfHeaders] {
        let receiver = Receiver::new([manner]);
        job::check(&receiver.endpoint(), &[], "closes the connection");
    }
}

#[test]
fn there_is_no_such_host() {
    job::check(&format!("http://{SECRET}.invalid:4318"), &[], "host is not found");
}

#[test]
fn a_name_is_looked_up() {
    let receiver = Receiver::good();
    job::check_good(&format!("http://localhost:{}", receiver.port()), &[]);
    assert_eq!(receiver.requests().len(), 1);
}

/// A name that is not answered holds up one thread, however often it is asked for.
#[test]
fn names_are_not_looked_up() {
    let endpoint = format!("http://{SECRET}.test:4318");
    job::check(&endpoint, &[("LD_PRELOAD", env!("SLOW_NAMES"))], "not looked up in time");
    let mut job = Job::new(&endpoint, &[("LD_PRELOAD", env!("SLOW_NAMES")), ("OTEL_EXPORTER_OTLP_TIMEOUT", "10")]);
    std::thread::sleep(std::time::Duration::from_millis(1500));
    job.order("look");
    // the job's own, the collector's, the conditions', the end's, the summary's, the exporter's, and the one that waits
    assert_eq!(job.number("threads"), 7);
    assert_eq!(job.end("names that are not looked up").iter().filter(|line| line.contains("exported over")).count(), 1);
}

/// A time that is never over, neither for an export nor between two.
#[test]
fn times_may_be_as_long_as_numbers_are() {
    let receiver = Receiver::good();
    let longest = u64::MAX.to_string();
    job::check_good(
        &receiver.endpoint(),
        &[("OTEL_EXPORTER_OTLP_TIMEOUT", &longest), ("OTEL_METRIC_EXPORT_INTERVAL", &longest)],
    );
    assert_eq!(receiver.requests().len(), 1);
}

/// Who has figures sent by hand is told by the exit status, too.
#[test]
fn a_replay_that_is_to_send_says_that_it_did_not() {
    for is_silent in [false, true] {
        let mut command = tool::tool();
        command.arg("replay").arg(tool::run("net2_single")).args([
            "--format",
            "json",
            "--otlp",
            &format!("http://{}", nowhere()),
        ]);
        if is_silent {
            command.env("NCCL_SCOREP_LOG", "off");
        }
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(1) && !output.stdout.is_empty(), "{said}");
        let last = "not all figures were sent: the library's warnings say why (NCCL_SCOREP_LOG=warn)\n";
        assert!(said.contains("connection refused") != is_silent && said.ends_with(last), "{said}");
    }
}

#[test]
fn the_address_is_none() {
    for endpoint in [SECRET.to_owned(), format!("ftp://{SECRET}/"), format!("http://{SECRET} /")] {
        job::check(&endpoint, &[], "OTEL_EXPORTER_OTLP_ENDPOINT is no URL");
    }
}

/// Who asks for gRPC is shown HTTP.
#[test]
fn the_protocol_is_another() {
    let receiver = Receiver::good();
    job::check(&receiver.endpoint(), &[("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")], "OTLP goes over HTTP alone");
    assert_eq!(receiver.requests().len(), 0);
}
