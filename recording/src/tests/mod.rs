//! Tests of the reader with every recorded capture, and with every error that a capture can have, and of the writer.
//! This file makes the small captures.

mod accepted;
mod refused;
mod written;

use std::fs;
use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::*;

const META: &str = r#"{"cb":"meta","format":1,"api":5,"mask":4095,"pid":7,"real0":100,"mono0":50,"dropped":3}"#;
const INIT: &str = r#"{"t":1,"tid":1,"cb":"init","ctx":1,"comm":"ff","name":"","nnodes":1,"nranks":2,"rank":0}"#;
const GROUP: &str = r#"{"t":2,"tid":1,"cb":"start","ctx":1,"h":1,"type":"Group","parent":0,"rank":0}"#;

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

/// A whole capture.
#[derive(Debug)]
struct Capture {
    meta: Meta,
    lines: Vec<Callback>,
    kernels: Vec<Kernel>,
    skipped: Skipped,
}

fn read(path: &Path) -> Result<Capture, RecordingError> {
    let mut recording = KeptRecording::open(path)?;
    let (mut lines, mut kernels, mut contents) = (Vec::new(), Vec::new(), recording.contents()?);
    while let Some(content) = contents.next_line()? {
        match content {
            Content::Call(call) => lines.push(call),
            Content::Kernel(kernel) => kernels.push(kernel),
            _ => {}
        }
    }
    Ok(Capture { meta: recording.survey.meta, lines, kernels, skipped: recording.survey.skipped })
}

/// Reads these bytes as the file `c.gz`; an error comes without the folder of the file.
fn read_bytes(bytes: &[u8]) -> Result<Capture, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c.gz");
    fs::write(&path, bytes).unwrap();
    let prefix = format!("{}/", folder.path().display());
    read(&path).map_err(|error| error.to_string().replace(&prefix, ""))
}

fn read_lines(lines: &[&str]) -> Result<Capture, String> {
    read_bytes(&gzip(&(lines.join("\n") + "\n")))
}

fn start(kind: &str, fields: &str) -> String {
    format!(r#"{{"t":3,"tid":2,"cb":"start","ctx":1,"h":2,"type":{kind},"parent":1,"rank":0{fields}}}"#)
}
