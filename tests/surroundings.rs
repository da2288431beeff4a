//! The library's surroundings in a process (tests/c/nccl/surroundings_host.c): NCCL's log, other copies of the library,
//! the size of /dev/shm, Score-P's measurement, and a collector that does not answer.

use crate::support::tool;

use serde_json::Value;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Word of the line about operations whose GPU times are not believed, which every run prints from v4 on.
const OUT_OF_STEP: &str = "oneself";

/// One process of the host: its output, the library's lines, and the summary if there is one.
struct Run {
    printed: Vec<String>,
    said: Vec<String>,
    summary: Option<Value>,
    files: usize,
}

/// Plays a process with these surroundings; it ends with its own exit status.
fn play(version: u32, things: &[String], settings: &[(&str, &str)]) -> Run {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("summary.json");
    let mut command = tool::host(env!("HOST_SURROUNDINGS_HOST"));
    command.arg(tool::library()).arg(version.to_string()).args(things);
    // so that the library asks for kernel events in every version
    command.env("NCCL_ALLGATHERV_ENABLE", "0").env("NCCL_SCOREP_SUMMARY", &path);
    command.envs(settings.iter().copied());
    let output = command.output().unwrap();
    let lines = |bytes: &[u8]| String::from_utf8_lossy(bytes).lines().map(str::to_owned).collect::<Vec<_>>();
    let (printed, said) = (lines(&output.stdout), lines(&output.stderr));
    assert_eq!(output.status.code(), Some(3), "v{version}, {things:?}: {}\n{}", output.status, said.join("\n"));
    let summary = std::fs::read(&path).ok().map(|bytes| serde_json::from_slice(&bytes).unwrap());
    Run { printed, said, summary, files: directory.path().read_dir().unwrap().count() }
}

impl Run {
    /// Returns the library's lines without the line with [`OUT_OF_STEP`].
    fn warnings(&self) -> Vec<&str> {
        self.said.iter().map(String::as_str).filter(|line| !line.contains(OUT_OF_STEP)).collect()
    }

    /// Returns the lines that NCCL's logger got.
    fn logged(&self) -> Vec<&str> {
        self.printed.iter().filter_map(|line| line.strip_prefix("log ")).collect()
    }

    /// Returns the number that the host printed under this name.
    fn number(&self, name: &str) -> Option<u32> {
        self.printed.iter().filter_map(|line| line.split_once(' ')).find(|(found, _)| *found == name)?.1.parse().ok()
    }
}

fn things(things: &[&str]) -> Vec<String> {
    things.iter().map(|&thing| thing.to_owned()).collect()
}

/// Returns the introduction in NCCL's log: NCCL_LOG_INFO, NCCL_INIT, a file name, no line number, then the text.
fn introduction(nccl: &str, version: u32, types: &str, scorep: &str) -> String {
    let ours = env!("CARGO_PKG_VERSION");
    format!(
        "3 1 scorep-nccl 0 scorep-nccl {ours}: NCCL {nccl}, profiler interface v{version}, {types}, {scorep} Score-P"
    )
}

#[test]
fn nccls_log_is_told_once_what_is_there() {
    let nccl = format!("nccl={}", env!("NCCL_STAND_IN"));
    let with = |more: &[&str]| [things(&[&nccl]), things(more)].concat();
    let releases = [(4, "22705", "2.27.5"), (5, "22809", "2.28.9"), (6, "23007", "2.30.7"), (7, "23203", "2.32.3")];
    let masks = [0x5e, 0xf5e, 0x1f5e, 0x1f5e];
    for ((version, number, release), mask) in releases.into_iter().zip(masks) {
        let types = format!("preset network (0x{mask:x})");
        let run = play(version, &with(&[]), &[("HOST_RELEASE", number)]);
        assert_eq!(run.logged(), [introduction(release, version, &types, "without")], "v{version}");
        assert_eq!(run.warnings(), Vec::<&str>::new(), "v{version}");
        let run = play(version, &with(&["score-p"]), &[("HOST_RELEASE", number), ("NCCL_SCOREP_PRESET", "api")]);
        let types = format!("preset api (0x{:x})", mask & !0x858);
        assert_eq!(run.logged(), [introduction(release, version, &types, "with")], "v{version}");
    }
    // an NCCL without a release, and an NCCL that would speak another version, is not the calling NCCL
    for settings in [&[][..], &[("HOST_RELEASE", "22705")]] {
        let run = play(5, &with(&[]), &[settings, &[("NCCL_SCOREP_MASK", "0x2")]].concat());
        assert_eq!(run.logged(), [introduction("of unknown release", 5, "mask (0x2)", "without")]);
    }
}

/// Up to v3 NCCL gives no logger, and from v4 on it may be NULL: the line goes to standard error only, if the level
/// asks for it.
#[test]
fn no_log_of_nccls_is_no_harm() {
    for version in 1..=7 {
        let run = play(version, &[], &[("NCCL_SCOREP_LOG", "info")]);
        let begins = format!("scorep-nccl: scorep-nccl {}: NCCL of unknown release, ", env!("CARGO_PKG_VERSION"));
        let warnings = run.warnings();
        assert!(warnings.len() == 1 && warnings[0].starts_with(&begins), "v{version}: {warnings:?}");
        assert_eq!(play(version, &[], &[]).warnings(), Vec::<&str>::new(), "v{version}");
    }
}

/// Puts the library under another name into a directory of its own: as a copy, or as a link, which is correct.
fn another(link: bool) -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("libscorep_substrate_nccl_plugin.so");
    let made = |path: &Path| match link {
        true => std::os::unix::fs::symlink(tool::library(), path),
        false => std::fs::copy(tool::library(), path).map(drop),
    };
    made(&path).unwrap();
    (directory, path)
}

#[test]
fn settings_that_there_are_not_are_named_once() {
    let misspelt = [("NCCL_SCOREP_PRESTE", "api"), ("NCCL_SCOREP_QQ", "1"), ("NCCL_SCOREP_SUMARY_SECONDS", " ")];
    let run = play(7, &[], &misspelt);
    let warnings: Vec<&str> = run.warnings().into_iter().filter(|line| line.contains("no setting")).collect();
    assert_eq!(warnings.len(), 1, "{:?}", run.said);
    let warning = warnings[0];
    assert!(warning.contains("NCCL_SCOREP_PRESTE (NCCL_SCOREP_PRESET may be meant)"), "{warning}");
    assert!(warning.contains("NCCL_SCOREP_QQ") && !warning.contains("SUMARY"), "{warning}");
    let run = play(7, &[], &[misspelt[0], ("NCCL_SCOREP_LOG", "off")]);
    assert!(run.warnings().is_empty());
}

#[test]
fn a_copy_of_the_library_is_warned_of_and_a_link_is_not() {
    for (link, warnings) in [(false, 1), (true, 0)] {
        let (_directory, path) = another(link);
        let run = play(7, &[format!("copy={}", path.display())], &[]);
        let told = run.warnings();
        let is_warning = |line: &&str| line.starts_with("scorep-nccl: warning: 2 copies of this library are loaded");
        assert!(told.len() == warnings && told.iter().all(is_warning), "link {link}: {told:?}");
        // the summary's notes have the warning, too
        let notes = run.summary.unwrap()["processes"][0]["notes"].to_string();
        assert_eq!(notes.contains("2 copies of this library"), !link, "{notes}");
    }
}

#[test]
fn too_little_shared_memory_is_warned_of_where_it_is_needed() {
    let api = ("NCCL_SCOREP_PRESET", "api");
    for (mebibytes, settings, warnings) in [(64, &[][..], 1), (127, &[], 1), (128, &[], 0), (64, &[api], 0)] {
        let run = play(7, &[format!("shm={mebibytes}")], settings);
        let begins = format!("scorep-nccl: warning: /dev/shm has {mebibytes} MiB;");
        let told = run.warnings();
        assert!(told.len() == warnings && told.iter().all(|line| line.starts_with(&begins)), "{mebibytes}: {told:?}");
    }
}

/// Score-P records the I/O of every thread that is not marked as inside the measurement. The library's threads must be
/// marked, whether Score-P has the metric plugins or not.
#[test]
fn our_threads_keep_out_of_score_ps_recording() {
    // the collector's line about operations out of step, and the summary, which a thread of the library writes
    for plugins in [&["measurement"][..], &["measurement", "score-p"]] {
        let run = play(7, &things(plugins), &[]);
        assert_eq!(run.said.len(), 1, "{plugins:?}: {:?}", run.said);
        let found = ["seen", "unseen", "main"].map(|name| run.number(name));
        assert!(matches!(found, [Some(0), Some(2..), Some(0)]), "{plugins:?}: {found:?}");
    }
    // a Score-P that has the function, and no count for this thread
    assert_eq!(play(7, &things(&["score-p"]), &[]).said.len(), 1);
}

/// A collector that does not answer delays the end of the process for a limited time. Then there is no summary, and one
/// line says so.
#[test]
fn a_collector_that_does_not_answer_is_told_of_at_the_end() {
    let run = play(7, &things(&["stuck"]), &[]);
    let told = run.warnings();
    assert!(told.len() == 1 && told[0].contains("the collector thread does not answer") && run.files == 0, "{told:?}");
}
