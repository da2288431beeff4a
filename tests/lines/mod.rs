//! The lines of a capture, as tests look at them: read here on their own, not with the tool's reader.
#![allow(dead_code, reason = "each test target uses a part of its own")]

use flate2::read::MultiGzDecoder;
use serde_json::Value;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The meta line, and all others.
pub(crate) fn all(capture: &Path) -> (Value, Vec<Value>) {
    let mut text = String::new();
    MultiGzDecoder::new(File::open(capture).unwrap()).read_to_string(&mut text).unwrap();
    let mut lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    (lines.next().unwrap(), lines.collect())
}

/// The meta line, and the lines that a replay plays: not those after the end of the last communicator, when NCCL has no plugin.
pub(crate) fn played(capture: &Path) -> (Value, Vec<Value>) {
    let (meta, lines) = all(capture);
    let mut alive = 0;
    let mut played = Vec::new();
    for line in lines {
        alive += i32::from(line["cb"] == "init");
        if alive > 0 {
            alive -= i32::from(line["cb"] == "finalize");
            played.push(line);
        }
    }
    (meta, played)
}
