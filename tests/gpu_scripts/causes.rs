//! The verdict of tests/gpu/causes.py on a report.

use serde_json::{Value, json};

/// Returns what it prints of a report with these causes of ranks and pauses, and whether it is content.
fn judged(fault: &str, ranks: &[&[&str]], pauses: &[&str]) -> Option<(String, bool)> {
    let mut python = super::python()?;
    let causes = |kinds: &[&str]| kinds.iter().map(|kind| json!({"kind": kind})).collect::<Vec<Value>>();
    let found = ranks.iter().map(|kinds| json!({"name": "rank 1", "causes": causes(kinds)})).collect::<Vec<_>>();
    let events = pauses.iter().map(|kind| json!({"cause": kind})).collect::<Vec<_>>();
    let directory = tempfile::tempdir().unwrap();
    let report = directory.path().join("report.json");
    std::fs::write(&report, json!({"stragglers": {"known": {"found": found, "events": events}}}).to_string()).unwrap();
    let output = python.args(["causes.py", "judge", fault]).arg(report).output().unwrap();
    Some((String::from_utf8(output.stdout).unwrap(), output.status.success()))
}

#[test]
fn a_cause_that_was_not_planted_is_wrong_and_none_is_unknown() {
    for (fault, ranks, pauses, verdict, is_content) in [
        ("sleep", &[&["blocked"][..]][..], &[][..], "right", true),
        ("busy", &[&["blocked"]], &[], "wrong", false),
        ("stops", &[], &["stopped"], "right", true),
        ("stops", &[], &[], "unknown", true),
        ("none", &[], &[], "right", true),
        ("none", &[&[]], &[], "right", true),
        ("none", &[&["processor"]], &[], "wrong", false),
        ("kernels", &[&["gpu_work", "gpu_power"]], &[], "right", true),
    ] {
        let Some((said, content)) = judged(fault, ranks, pauses) else { return };
        assert!(said.starts_with(verdict) && content == is_content, "{fault} {ranks:?} {pauses:?}: {said}");
    }
}
