//! The library linked into a program (`NCCL_PROFILER_PLUGIN=STATIC_PLUGIN`): hosts that find its tables in themselves, as
//! NCCL does. The archive is not optimized, and has no OpenTelemetry.

use crate::support::{host, once, tool};

use host::{Run, VERSIONS};
use once::made_once;
use serde_json::Value;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// NCCL's name for the program itself.
const LINKED: &str = "STATIC_PLUGIN";

/// Returns a host that is linked with the archive.
fn linked_host(name: &str) -> PathBuf {
    let hosts = made_once("static_plugin", |place| {
        let archive = archive();
        ["nccl_host", "surroundings_host"].iter().for_each(|name| linked(name, &archive, &place.join(name)));
    });
    hosts.join(name)
}

/// Makes the archive as `make static` does, unoptimized. Not where cargo has built the tests: their library, and what it
/// is linked with, would be built anew.
fn archive() -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("install-alone");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["rustc", "--quiet", "--package", "scorep-nccl-substrate", "--lib", "--crate-type", "staticlib"]);
    tool::of_no_package(&mut cargo);
    cargo.arg("--target-dir").arg(&target).env_remove("CARGO_BUILD_TARGET").env("CARGO_PROFILE_DEV_DEBUG", "0");
    tool::succeed(cargo.current_dir(env!("CARGO_MANIFEST_DIR")));
    target.join("debug/libscorep_substrate_nccl.a")
}

/// The flags that an installation has in its file for pkg-config, with the archive by this name.
fn flags(archive: &str) -> String {
    let file = include_str!("../cmake/scorep-nccl-static.pc.in");
    file.lines().find_map(|line| line.strip_prefix("Libs: ")).unwrap().replace("${archive}", archive)
}

#[test]
fn the_page_has_the_flags_of_the_installed_file() {
    let page = include_str!("../docs/install.md");
    let (_, flags_there) = page.split_once("By hand, the flags are:\n\n").unwrap();
    let plain =
        |flags: &str| flags.replace("-Wl,", " ").replace(',', " ").split_whitespace().collect::<Vec<_>>().join(" ");
    let there = flags_there.split("\n\n").next().unwrap();
    assert_eq!(plain(there), plain(&flags("libscorep_substrate_nccl.a")));
}

/// Compiles a host and links it with these flags.
fn linked(host: &str, archive: &Path, program: &Path) {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c/nccl");
    let flags = flags(archive.to_str().unwrap());
    let mut compiler = Command::new("cc");
    compiler.args(["-std=gnu11", "-O1", "-g"]).arg(sources.join(host).with_extension("c")).arg("-o").arg(program);
    tool::succeed(compiler.args(flags.split(' ')));
}

fn play(scenario: &str, version: u32, settings: &[(&str, &OsStr)]) -> Run {
    let program = tool::host(linked_host("nccl_host").to_str().unwrap());
    host::play_in(program, Path::new(LINKED), scenario, version, settings, 0)
}

/// What NCCL does with a program that has the plugin inside: load, unload, load again, many threads, forks, an end on
/// another thread, and names and handles of all kinds.
#[test]
#[ignore = "installation"]
fn a_program_that_is_linked_with_the_plugin_gets_its_figures() {
    VERSIONS.iter().for_each(|&version| play("children_in_every_order", version, &[]).check());
    for scenario in
        ["made_again", "two_threads", "odd_contexts", "forked_communicator", "exit_of_a_thread", "last_callbacks"]
    {
        play(scenario, 7, &[]).check();
    }
}

#[test]
#[ignore = "installation"]
fn a_recording_and_a_second_plugin_work_beside_it() {
    let directory = tempfile::tempdir().unwrap();
    let second = OsStr::new(env!("SECOND_PLUGIN_V6"));
    let settings = [("NCCL_SCOREP_RECORD", directory.path().as_os_str()), ("NCCL_SCOREP_CHAIN", second)];
    play("children_in_every_order", 7, &settings).check();
    assert_eq!(directory.path().read_dir().unwrap().count(), 1);
}

/// What the program has is the plugin that NCCL calls already.
#[test]
#[ignore = "installation"]
fn the_linked_plugin_is_no_second_plugin() {
    let run = play("two_threads", 7, &[("NCCL_SCOREP_CHAIN", OsStr::new(LINKED))]);
    let said = run.lines();
    assert!(said.len() == 1 && said[0].contains("STATIC_PLUGIN is scorep-nccl itself"), "{said:?}");
    run.check_but(&["warnings"]);
}

/// The tables alone are NCCL's to find, and functions that say who this is.
#[test]
#[ignore = "installation"]
fn the_program_exports_the_tables_and_needs_no_file_of_the_library() {
    let program = &linked_host("nccl_host");
    let names = tool::succeed(Command::new("nm").args(["--dynamic", "--defined-only", "--format=posix"]).arg(program));
    let ours = |line: &&str| line.contains("nccl") && !line.starts_with("ncclGetVersion");
    let names: Vec<&str> = names.lines().filter(ours).filter_map(|line| line.split(' ').next()).collect();
    let tables = VERSIONS.map(|version| format!("ncclProfiler_v{version}"));
    assert!(tables.iter().all(|table| names.contains(&table.as_str())), "{names:?}");
    let known = |name: &&str| name.starts_with("ncclProfiler_v") || name.starts_with("scorep_nccl_");
    assert!(names.iter().all(known), "{names:?}");
    let needed = tool::succeed(Command::new("readelf").arg("--dynamic").arg(program));
    assert!(needed.contains("(NEEDED)") && !needed.contains("libscorep") && !needed.contains("libnccl"), "{needed}");
}

/// Plays the host of surroundings; returns the library's lines and the summary.
fn surrounded(library: &Path, things: &[String]) -> (Vec<String>, Value) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("summary.json");
    let mut command = tool::host(linked_host("surroundings_host").to_str().unwrap());
    command.arg(library).arg("7").args(things);
    command.env("NCCL_ALLGATHERV_ENABLE", "0").env("NCCL_SCOREP_SUMMARY", &path).env("HOST_RELEASE", "23203");
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    // a line that every run of this host prints
    let said = said.lines().filter(|line| !line.contains("oneself")).map(str::to_owned).collect();
    (said, serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap())
}

#[test]
#[ignore = "installation"]
fn a_copy_for_score_p_beside_the_linked_one_is_warned_of() {
    let nccl = format!("nccl={}", env!("NCCL_STAND_IN"));
    let copy = format!("copy={}", tool::library().display());
    for (things, warnings) in [(vec![nccl.clone()], 0), (vec![nccl, copy], 1)] {
        let (said, summary) = surrounded(Path::new(LINKED), &things);
        let is_right = |line: &String| line.contains("linked into the program") && line.contains(LINKED);
        assert!(said.len() == warnings && said.iter().all(is_right), "{things:?}: {said:?}");
        let process = &summary["processes"][0];
        assert_eq!(process["notes"].to_string().contains("linked into the program"), warnings == 1, "{process}");
        assert_eq!((process["nccl"].as_str(), process["events"].as_u64()), (Some("2.32.3"), Some(6)));
    }
}

/// A copy that nobody calls is no harm.
#[test]
#[ignore = "installation"]
fn a_program_that_is_linked_with_the_plugin_may_use_the_installed_one() {
    let (said, summary) = surrounded(&tool::library(), &[format!("nccl={}", env!("NCCL_STAND_IN"))]);
    assert!(said.is_empty(), "{said:?}");
    assert_eq!(summary["processes"][0]["events"].as_u64(), Some(6), "{summary:#}");
}
