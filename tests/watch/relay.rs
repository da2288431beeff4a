//! `scorep-nccl watch DIR --relay` on nodes that share no file system, and `scorep-nccl watch -` behind a channel.

use super::watcher::signal;
use super::{findings, job, tool};
use common::status::ENDING;
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write, pipe};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use tempfile::TempDir;

/// A directory each of two nodes; of eight ranks, one is slow.
fn nodes(slow: u32) -> [TempDir; 2] {
    let nodes = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    job(nodes[0].path(), "slurm 7", Some(slow));
    for rank in 4..8 {
        let name = format!("slurm_7.{rank}{ENDING}");
        fs::copy(nodes[0].path().join(&name), nodes[1].path().join(&name)).unwrap();
        fs::remove_file(nodes[0].path().join(&name)).unwrap();
    }
    nodes
}

/// A relay, which ends with the test.
struct Relay(Child);

impl Relay {
    fn begin(directory: &Path, output: impl Into<Stdio>) -> Self {
        let mut relay = tool::tool();
        relay.arg("watch").arg(directory).args(["--relay", "--interval", "1.5"]).stdout(output);
        Self(relay.spawn().unwrap())
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn watch(input: impl Into<Stdio>, arguments: &[&str]) -> Command {
    let mut watch = tool::tool();
    watch.args(["watch", "-", "--interval", "1.5"]).args(arguments).stdin(input);
    watch.stdout(Stdio::piped()).stderr(Stdio::piped());
    watch
}

/// Returns the findings without the times at which they were found.
fn timeless(output: &Output) -> Vec<Value> {
    let mut found = findings(output);
    found.iter_mut().for_each(|finding| finding["time"] = Value::Null);
    found
}

#[test]
fn two_relays_in_one_pipe_are_judged_as_their_files() {
    let nodes = nodes(6);
    let mut direct = tool::tool();
    direct.arg("watch").args(nodes.each_ref().map(|node| node.path())).args(["--once", "--json", "--interval", "1.5"]);
    let direct = direct.output().unwrap();
    let (input, output) = pipe().unwrap();
    let _relays = nodes.each_ref().map(|node| Relay::begin(node.path(), output.try_clone().unwrap()));
    drop(output);
    let relayed = watch(input, &["--once", "--json"]).output().unwrap();
    assert_eq!((direct.status.code(), relayed.status.code()), (Some(1), Some(1)), "{relayed:?}");
    assert_eq!(timeless(&relayed), timeless(&direct));
    assert_eq!(timeless(&relayed)[0]["rank"]["rank"], 6, "{relayed:?}");
    assert!(relayed.stderr.is_empty(), "{relayed:?}");
}

#[test]
fn torn_and_foreign_lines_are_counted_and_hide_no_whole_one() {
    let nodes = nodes(1);
    let (input, mut output) = pipe().unwrap();
    let mut relays = nodes.each_ref().map(|node| Relay::begin(node.path(), Stdio::piped()));
    let lines = relays.each_mut().map(|relay| BufReader::new(relay.0.stdout.take().unwrap()).lines());
    let watch = watch(input, &["--once", "--json"]).spawn().unwrap();
    output.write_all(&vec![b'x'; 1 << 20]).unwrap();
    output.write_all(b"\n\xff\xfe\x1b[2J\nsrun: a word\n").unwrap();
    let [one, other] = lines;
    // a torn line before each whole one, up to the end of the watch, whose input is closed then
    for (one, other) in one.map_while(Result::ok).zip(other.map_while(Result::ok)) {
        let torn = &other[..other.len() / 2];
        if output.write_all(format!("{torn}\n{torn}{one}\n3: {other}\r\n").as_bytes()).is_err() {
            break;
        }
    }
    let watched = watch.wait_with_output().unwrap();
    let (found, said) = (findings(&watched), String::from_utf8_lossy(&watched.stderr));
    assert_eq!((watched.status.code(), found.len()), (Some(1), 1), "{said}");
    assert_eq!((&found[0]["rank"]["rank"], &found[0]["excess"]["peers"]), (&1.into(), &7.into()));
    assert_eq!(said.matches("has torn or foreign lines, the first `xxx").count(), 1, "{said}");
    assert_eq!(said.matches(" torn or foreign lines in all").count(), 1, "{said}");
}

#[test]
fn an_input_that_is_none_gives_status_2() {
    let (input, mut output) = pipe().unwrap();
    let watch = watch(input, &["--lines"]).spawn().unwrap();
    output.write_all(b"no relay\n").unwrap();
    drop(output);
    let watched = watch.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&watched.stderr);
    assert_eq!((watched.status.code(), watched.stdout.len()), (Some(2), 0), "{said}");
    assert!(said.contains("the first `no relay`") && said.contains("standard input has ended"), "{said}");
}

#[test]
fn a_relay_that_ends_is_named_and_its_processes_are_not_taken_for_killed() {
    let nodes = nodes(6);
    let (input, output) = pipe().unwrap();
    let mut relays = nodes.each_ref().map(|node| Relay::begin(node.path(), output.try_clone().unwrap()));
    drop(output);
    let mut watch = watch(input, &["--json"]).spawn().unwrap();
    let mut found = BufReader::new(watch.stdout.take().unwrap()).lines();
    let first: Value = serde_json::from_str(&found.next().unwrap().unwrap()).unwrap();
    assert_eq!(first["rank"]["rank"], 6, "{first:#}");
    signal(&relays[0].0, libc::SIGTERM);
    assert_eq!(relays[0].0.wait().unwrap().code(), Some(0));
    let mut said = BufReader::new(watch.stderr.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    let place = format!("{} has ended", nodes[0].path().display());
    assert!(line.contains("the relay of ") && line.contains(&place), "{line}");
    drop(relays);
    let kinds: Vec<Value> =
        found.map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap()["kind"].take()).collect();
    let mut rest = String::new();
    said.read_to_string(&mut rest).unwrap();
    assert_eq!((watch.wait().unwrap().code(), kinds), (Some(1), vec![]), "{rest}");
    assert!(rest.contains("standard input has ended, and so does the watch"), "{rest}");
}
