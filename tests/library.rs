//! The shipped library: its exports, that it stays loaded, and that a C program without Score-P gets its figures.

use crate::support::tool;

use serde_json::Value;
use std::process::Command;

/// Returns a program's output with the library of the tests' build, and with the shipped library where it exists.
fn outputs(program: &str, arguments: &[&str]) -> Vec<String> {
    let shipped = tool::shipped(tool::LIBRARY).inspect_err(|missing| tool::skip(missing));
    let libraries = [tool::library()].into_iter().chain(shipped.ok());
    libraries.map(|library| tool::succeed(Command::new(program).args(arguments).arg(library))).collect()
}

#[test]
fn it_exports_what_the_hosts_look_up_and_nothing_else() {
    let expected = [
        "SCOREP_MetricPlugin_nccl_plugin_get_info",
        "SCOREP_MetricPlugin_nccl_series_plugin_get_info",
        "SCOREP_SubstratePlugin_nccl_get_info",
        "ncclProfiler_v1",
        "ncclProfiler_v2",
        "ncclProfiler_v3",
        "ncclProfiler_v4",
        "ncclProfiler_v5",
        "ncclProfiler_v6",
        "ncclProfiler_v7",
        "scorep_nccl_features",
        "scorep_nccl_flush",
        "scorep_nccl_version",
    ];
    for text in outputs("nm", &["--dynamic", "--defined-only", "--format=posix"]) {
        let mut names: Vec<&str> = text.lines().filter_map(|line| line.split(' ').next()).collect();
        names.sort_unstable();
        assert_eq!(names, expected);
    }
}

#[test]
fn it_stays_loaded_when_its_hosts_close_it() {
    let without_score_p = tool::library().with_file_name("libnccl_profiler.so");
    for library in [tool::library(), without_score_p] {
        let text = tool::succeed(Command::new("readelf").arg("--dynamic").arg(&library));
        assert!(text.contains("NODELETE"), "{}", library.display());
    }
}

#[test]
fn it_needs_no_library_of_its_hosts() {
    let is_system =
        |line: &&&str| ["libc.so", "libgcc_s.so", "libm.so", "ld-linux"].iter().any(|name| line.contains(name));
    for text in outputs("readelf", &["--dynamic"]) {
        let needed: Vec<&str> = text.lines().filter(|line| line.contains("(NEEDED)")).collect();
        assert!(needed.iter().all(|line| is_system(&line)), "{needed:?}");
    }
}

#[test]
fn a_c_program_without_score_p_gets_its_figures_at_exit() {
    for version in ["4", "5", "6"] {
        let directory = tempfile::tempdir().unwrap();
        let summary = directory.path().join("%p.json");
        let mut command = Command::new(env!("HOST_ALL_REDUCE_HOST"));
        command.arg(tool::library()).arg(version);
        command.env("NCCL_SCOREP_SUMMARY", &summary).env("NCCL_ALLGATHERV_ENABLE", "0");
        tool::succeed(&mut command);
        let written = directory.path().read_dir().unwrap().next().unwrap().unwrap().path();
        let summary: Value = serde_json::from_slice(&std::fs::read(written).unwrap()).unwrap();
        let operation = &summary["operations"][0];
        let figures = ["count", "bytes", "gpu_timed"].map(|field| operation[field].as_u64().unwrap());
        assert_eq!((operation["func"].as_str(), figures), (Some("AllReduce"), [1, 4096, 1]), "v{version}");
        assert_eq!(operation["time_us"].as_f64(), Some(50.0));
        let transfer = &summary["transfers"][0];
        assert_eq!((transfer["peer"].as_i64(), transfer["bytes"].as_u64()), (Some(1), Some(4096)));
        assert_eq!(summary["channels"][0]["channel"].as_u64(), Some(3));
        // a second stop, an invented handle, a state of a stopped handle
        assert_eq!(summary["processes"][0]["ignored_handles"].as_u64(), Some(3), "v{version}");
    }
}

/// The launcher that starts the job may be a large program.
#[test]
fn peak_memory_is_that_of_the_program_alone() {
    const LARGE: u64 = 200 << 20;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("summary.json");
    let large = vec![1_u8; LARGE as usize];
    let mut command = Command::new(env!("HOST_ALL_REDUCE_HOST"));
    command.arg(tool::library()).arg("5").env("NCCL_SCOREP_SUMMARY", &path);
    tool::succeed(&mut command);
    assert_eq!(std::hint::black_box(&large).len() as u64, LARGE);
    let summary: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let peak = summary["processes"][0]["peak_memory_bytes"].as_u64().unwrap();
    assert!(peak > 1 << 20 && peak < LARGE, "{} MiB", peak >> 20);
}

#[test]
fn kernel_events_are_not_asked_for_where_they_can_hang_a_job() {
    let mask = |enable: Option<&str>, gpu_time: &str| {
        let mut command = Command::new(env!("HOST_ALL_REDUCE_HOST"));
        command.arg(tool::library()).arg("6").env_remove("NCCL_ALLGATHERV_ENABLE");
        command.envs(enable.map(|value| ("NCCL_ALLGATHERV_ENABLE", value))).env("NCCL_SCOREP_GPU_TIME", gpu_time);
        let output = command.output().unwrap();
        let mask: u64 = String::from_utf8(output.stdout).unwrap().trim().replace("mask ", "").parse().unwrap();
        (mask & 64 != 0, String::from_utf8(output.stderr).unwrap())
    };
    assert_eq!(mask(Some("0"), "auto"), (true, String::new()));
    for enable in [None, Some("1")] {
        // events time kernels instead
        assert_eq!(mask(enable, "auto"), (false, String::new()));
        let (asked, said) = mask(enable, "stamps");
        assert!(!asked && said.lines().count() == 1 && said.contains("NCCL_ALLGATHERV_ENABLE=0"), "{said}");
    }
}
