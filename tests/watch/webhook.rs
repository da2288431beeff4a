//! The webhook, with a receiver in this test: what arrives, and that a receiver without an answer holds nothing up.

use super::{findings, job, watch};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::thread;

const TOKEN: &str = "SCOREP_NCCL_WEBHOOK_TOKEN";
/// Variables of a proxy, which a test machine may have.
const PROXIES: [&str; 6] = ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];

/// A watcher that sends to a receiver.
fn sending(directory: &Path, receiver: &TcpListener) -> Command {
    let url = format!("http://{}/findings", receiver.local_addr().unwrap());
    let mut command = watch(directory, &["--json", "--webhook", &url]);
    PROXIES.iter().for_each(|name| _ = command.env_remove(name));
    command.env_remove(TOKEN);
    command
}

fn receiver() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").unwrap()
}

/// Reads one request, head and body.
fn request(connection: &mut TcpStream) -> (String, String) {
    let (mut text, mut bytes) = (String::new(), [0; 4096]);
    loop {
        let count = connection.read(&mut bytes).unwrap();
        assert!(count > 0, "half a request: {text}");
        text += std::str::from_utf8(&bytes[..count]).unwrap();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let head = head.to_ascii_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
        if body.len() == length.parse::<usize>().unwrap() {
            return (head, body.to_owned());
        }
    }
}

/// Answers one request with a status line and headers.
fn answer(receiver: &TcpListener, answer: &str) -> (String, String) {
    let (mut connection, _) = receiver.accept().unwrap();
    let request = request(&mut connection);
    write!(connection, "HTTP/1.1 {answer}\r\ncontent-length: 0\r\n\r\n").unwrap();
    request
}

#[test]
fn a_finding_arrives_as_json_with_the_secret_as_a_header() {
    let directory = tempfile::tempdir().unwrap();
    job(directory.path(), "slurm 7", Some(5));
    let receiver = receiver();
    let watcher = sending(directory.path(), &receiver).env(TOKEN, "not-for-others").spawn().unwrap();
    let (head, body) = answer(&receiver, "204 No Content");
    let output = watcher.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.len()), (Some(1), 0), "{output:?}");
    assert!(head.starts_with("post /findings http/1.1\r\n"), "{head}");
    for header in ["authorization: bearer not-for-others", "content-type: application/json"] {
        assert!(head.lines().any(|line| line == header), "{head}");
    }
    assert_eq!(serde_json::from_str::<Value>(&body).unwrap(), findings(&output)[0]);
}

#[test]
fn a_finding_is_sent_again_and_no_redirect_is_followed() {
    let directory = tempfile::tempdir().unwrap();
    job(directory.path(), "slurm 7", Some(5));
    let (receiver, other) = (receiver(), receiver());
    let watcher = sending(directory.path(), &receiver).env(TOKEN, "not-for-others").spawn().unwrap();
    let first = answer(&receiver, &format!("307 Away\r\nlocation: http://{}/", other.local_addr().unwrap()));
    let second = answer(&receiver, "200 OK");
    let output = watcher.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.len()), (Some(1), 0), "{output:?}");
    assert_eq!(first.1, second.1);
    other.set_nonblocking(true).unwrap();
    assert_eq!(other.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
}

#[test]
fn a_receiver_without_an_answer_does_not_hold_the_watch_up() {
    let directory = tempfile::tempdir().unwrap();
    job(directory.path(), "slurm 7", Some(5));
    let receiver = receiver();
    let watcher = sending(directory.path(), &receiver).spawn().unwrap();
    // each connection stays open until the watcher has ended
    let kept = thread::spawn({
        let receiver = receiver.try_clone().unwrap();
        move || receiver.accept()
    });
    let output = watcher.wait_with_output().unwrap();
    assert!(kept.join().unwrap().is_ok());
    assert_eq!((output.status.code(), findings(&output).len()), (Some(1), 1), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("--webhook: 1 of 1 findings were not accepted"), "{said}");
}

#[test]
fn a_receiver_that_is_away_is_named_once_and_never_the_secret() {
    let directory = tempfile::tempdir().unwrap();
    job(directory.path(), "slurm 7", Some(5));
    let receiver = receiver();
    let mut command = sending(directory.path(), &receiver);
    drop(receiver);
    let output = command.env(TOKEN, "not-for-others").output().unwrap();
    assert_eq!((output.status.code(), findings(&output).len()), (Some(1), 1), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("1 of 1 findings were not accepted") && !said.contains("not-for-others"), "{said}");
}
