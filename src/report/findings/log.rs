//! Reads logs of findings, line by line. A line that is none, or of another job, costs no other line.

use super::joined::{JoinedFindings, LoggedFinding};
use common::files;
use live::watch::{FINDING_SCHEMA, LONGEST_LOG, WatchFinding};
use report::answer::{LeftOutLines, Part, WatchFindings};
use report::job::Unreadable;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// Longest line, bytes: a pause of 10,000 ranks has 1 MB.
const LONGEST: u64 = 4 << 20;
/// Findings of all logs.
const MOST: usize = 100_000;
/// Names of other jobs.
const NAMES: usize = 5;
/// How the schemas of all versions begin.
const FAMILY: &str = "scorep-nccl finding ";

/// The part of a line that all versions have.
#[derive(Debug, Deserialize)]
struct FindingHead {
    schema: String,
}

/// Reads all logs as one. Findings of jobs with other names than `names` are left out; without `names`, none is.
/// Returns the files that cannot be read to their ends, too; the findings before are in the part.
pub(super) fn read(paths: &[PathBuf], names: &BTreeSet<String>) -> (Part<WatchFindings>, Vec<Unreadable>) {
    if paths.is_empty() {
        return (Part::Absent(WatchFindings::NO_LOG.into()), vec![]);
    }
    let mut reader = LogReader { names, found: vec![], findings: WatchFindings::default() };
    let wrong = |path: &PathBuf| Some(Unreadable::whole(path, reader.file(path).err()?));
    let left_out: Vec<Unreadable> = paths.iter().filter_map(wrong).collect();
    let LogReader { mut found, mut findings, .. } = reader;
    if left_out.len() == paths.len() && findings.lines == 0 {
        return (Part::Absent(WatchFindings::NOT_READ.into()), left_out);
    }
    // several watchers may have written, each with its own delay
    found.sort_by_key(LoggedFinding::time);
    let mut joined = JoinedFindings::default();
    found.into_iter().for_each(|finding| joined.add(finding));
    findings.rows = joined.finish();
    (Part::Known(findings), left_out)
}

struct LogReader<'a> {
    names: &'a BTreeSet<String>,
    found: Vec<LoggedFinding>,
    findings: WatchFindings,
}

impl LogReader<'_> {
    fn file(&mut self, path: &Path) -> io::Result<()> {
        let mut file = BufReader::new(files::input(path)?.take(LONGEST_LOG + 1));
        let (mut line, mut number, mut read) = (vec![], 0_u64, 0);
        loop {
            line.clear();
            let length = file.by_ref().take(LONGEST).read_until(b'\n', &mut line)? as u64;
            let is_long = length == LONGEST && !line.ends_with(b"\n");
            read += if is_long { length + pass_over(&mut file)? } else { length };
            number += 1;
            if read > LONGEST_LOG {
                let mib = LONGEST_LOG >> 20;
                return Err(io::Error::other(format!("it has more than {mib} MiB, which no log of findings has")));
            }
            if length == 0 {
                return Ok(());
            }
            let place = || format!("{}, line {number}", path.display());
            if is_long {
                self.findings.lines += 1;
                add(&mut self.findings.too_long, place);
            } else if !line.trim_ascii().is_empty() {
                self.findings.lines += 1;
                self.line(&line, place);
            }
        }
    }

    fn line(&mut self, line: &[u8], place: impl Fn() -> String) {
        let findings = &mut self.findings;
        let is_newer = |head: FindingHead| head.schema.starts_with(FAMILY) && head.schema != FINDING_SCHEMA;
        let finding = match serde_json::from_slice::<WatchFinding>(line) {
            Ok(finding) if finding.schema == FINDING_SCHEMA => LoggedFinding::of(finding),
            _ if serde_json::from_slice(line).is_ok_and(is_newer) => return add(&mut findings.newer, place),
            _ => None,
        };
        let Some(finding) = finding else { return add(&mut findings.unread, place) };
        match finding.job() {
            Some(job) if !self.names.is_empty() && !self.names.contains(job) => {
                if findings.others.len() < NAMES && !findings.others.iter().any(|name| name == job) {
                    findings.others.push(job.to_owned());
                }
                add(&mut findings.of_others, place);
            }
            _ if self.found.len() == MOST => add(&mut findings.passed_over, place),
            job => {
                findings.unnamed += u64::from(job.is_none() || self.names.is_empty());
                self.found.push(finding);
            }
        }
    }
}

/// Counts a line that is left out.
fn add(lines: &mut LeftOutLines, place: impl Fn() -> String) {
    lines.count += 1;
    lines.first.get_or_insert_with(place);
}

/// Passes over the rest of a line. Returns its length.
fn pass_over(file: &mut impl BufRead) -> io::Result<u64> {
    let mut passed = 0;
    loop {
        let buffer = file.fill_buf()?;
        let (length, is_end) = match buffer.iter().position(|byte| *byte == b'\n') {
            Some(end) => (end + 1, true),
            None => (buffer.len(), buffer.is_empty()),
        };
        file.consume(length);
        passed += length as u64;
        if is_end {
            return Ok(passed);
        }
    }
}
