//! Records of communication in OTF2 archives: those of a replay, and those that `scorep-nccl trace` adds to an experiment.

mod copy;
mod damaged;
mod experiment;
mod names;
mod records;
use crate::support::{reference, tool};

use experiment::HOST;
use records::{count, disorder, expected, found};
use reference::json::read;
use reference::operations::each;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

fn skipped() -> bool {
    let is_missing = Command::new("otf2-print").arg("--version").output().is_err();
    if is_missing || HOST.is_none() {
        tool::skip("OTF2 or otf2-print is not installed (Debian: libotf2-trace-dev, otf2-tools)");
        return true;
    }
    false
}

#[test]
fn the_archive_of_a_replay_has_the_messages_and_collectives_of_the_recordings() {
    if skipped() {
        return;
    }
    for (name, run) in tool::runs() {
        let captures = tool::captures(&run);
        let directory = tempfile::tempdir().unwrap();
        let archive = directory.path().join("archive");
        let said = tool::succeed(tool::tool().arg("replay").args(&captures).arg("--otf2").arg(&archive));
        let mut all = Vec::new();
        for recording in captures.iter().map(|path| read(path).unwrap()) {
            let sizes: BTreeMap<_, _> = recording.contexts.values().map(|it| (it.comm.clone(), it.nranks)).collect();
            all.extend(each(&recording).unwrap().iter().flat_map(|it| expected(it, sizes[&it.comm])));
        }
        let (found, expected) = (found(&archive), count(all.into_iter()));
        let differences: Vec<_> = found.iter().filter(|it| expected.get(it.0) != Some(it.1)).collect();
        let missing: Vec<_> = expected.iter().filter(|it| found.get(it.0) != Some(it.1)).collect();
        assert!(
            !expected.is_empty() && differences.is_empty() && missing.is_empty(),
            "{name}: {differences:#?} {missing:#?} {said}"
        );
        assert_eq!(disorder(&archive), Vec::<String>::new(), "{name}");
        assert!(!fs::read_dir(&archive).unwrap().any(|entry| entry.unwrap().file_name() == "plain"));
    }
}

/// Another release of OTF2's library, and another reader.
#[test]
fn pypis_otf2_reads_the_same_records() {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let python = target.join("tables/bin/python");
    if skipped() {
        return;
    }
    if !Command::new(&python).args(["-c", "import otf2"]).output().is_ok_and(|output| output.status.success()) {
        return tool::skip("PyPI's otf2 is not installed (scripts/test-tables)");
    }
    for run in ["nodes2x2_collectives", "nodes4x1_pipeline"] {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().join("archive");
        tool::succeed(tool::tool().arg("replay").arg(tool::run(run)).arg("--otf2").arg(&place));
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/communication/messages.py");
        let mut read = Command::new(&python);
        read.env("PYTHONDONTWRITEBYTECODE", "1").arg(script).arg(place.join("traces.otf2"));
        let read = count(tool::succeed(&mut read).lines().map(str::to_owned));
        let found = found(&place);
        assert!(!found.is_empty() && read == found, "{run}: {} records, not {}", read.len(), found.len());
    }
}
