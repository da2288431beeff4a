//! The lines of a capture, as tests look at them: read here on their own, not with the tool's reader.

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

/// Whether the last line says that the process has come to its end, and no other does.
pub(crate) fn ends(lines: &[Value]) -> bool {
    let of_end = lines.iter().position(|line| line["cb"] == "end");
    of_end.is_some_and(|place| place + 1 == lines.len())
}

/// The meta line, and the lines that a replay plays: not those after the end of the last communicator, when NCCL has no
/// plugin, nor the process' conditions, nor that it has ended.
pub(crate) fn played(capture: &Path) -> (Value, Vec<Value>) {
    let (meta, lines) = all(capture);
    let mut alive = 0;
    let mut played = Vec::new();
    let is_played = |line: &Value| !["end", "conditions"].iter().any(|it| line["cb"] == **it);
    for line in lines.into_iter().filter(is_played) {
        alive += i32::from(line["cb"] == "init");
        if alive > 0 {
            alive -= i32::from(line["cb"] == "finalize");
            played.push(line);
        }
    }
    (meta, played)
}

/// The meta line alone, of a file that is being written: none where it is written this moment.
pub(crate) fn head(capture: &Path) -> Option<Value> {
    let mut text = String::new();
    // the first member is the meta line
    flate2::read::GzDecoder::new(File::open(capture).ok()?).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}
