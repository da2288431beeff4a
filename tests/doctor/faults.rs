//! The faults that the doctor knows, each planted in a sound site.

use crate::doctor::examine;
use crate::support::site::{Site, replace};
use crate::support::tool;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// A fault: its code, the damage to the site, and changes of the job's environment; an empty value unsets a variable.
struct Fault {
    code: &'static str,
    breaks: fn(&Site),
    settings: &'static [(&'static str, &'static str)],
}

const fn fault(code: &'static str, breaks: fn(&Site), settings: &'static [(&'static str, &'static str)]) -> Fault {
    Fault { code, breaks, settings }
}

const UNBROKEN: fn(&Site) = |_| {};

/// A setting that names the file `settings` in the directory of the job, and a function that makes it.
const FILE: &[(&str, &str)] = &[("NCCL_SCOREP_SETTINGS", "settings")];

pub(crate) fn file(site: &Site, lines: &str, mode: u32) {
    fs::write(site.path("work/settings"), lines).unwrap();
    fs::set_permissions(site.path("work/settings"), fs::Permissions::from_mode(mode)).unwrap();
}

const FAULTS: &[Fault] = &[
    fault("library", UNBROKEN, &[]),
    fault("library-missing", |site| fs::remove_file(site.path("lib/libnccl_series_plugin.so")).unwrap(), &[]),
    fault("library-broken", |site| replace(&site.path("lib/libnccl-profiler-scorep.so"), b"no library"), &[]),
    // a process that loads this library would end with it
    fault(
        "library-broken",
        |site| {
            let source = "#include <stdlib.h>\n__attribute__((constructor)) static void ends(void) { abort(); }";
            site.library("lib/libnccl-profiler-scorep.so", source);
        },
        &[],
    ),
    fault("library-not-found", UNBROKEN, &[("LD_LIBRARY_PATH", "/nowhere")]),
    fault(
        "library-copy",
        |site| {
            let link = site.path("lib/libnccl_plugin.so");
            fs::remove_file(&link).unwrap();
            fs::copy(site.path("lib").join(tool::LIBRARY), link).unwrap();
        },
        &[],
    ),
    fault(
        "library-version",
        |site| {
            site.library(
                &format!("lib/{}", tool::LIBRARY),
                "const char *scorep_nccl_version(void) { return \"9.9.9\"; }",
            )
        },
        &[],
    ),
    fault("nccl", UNBROKEN, &[]),
    fault("nccl-missing", |site| fs::remove_file(site.path("nccl/libnccl.so.2")).unwrap(), &[]),
    // the doctor's own process does not load NCCL
    fault(
        "nccl-unknown",
        |site| {
            site.library("nccl/libnccl.so.2", "int ncclGetVersion(int *version) { *version = 0; __builtin_trap(); }")
        },
        &[],
    ),
    fault("nccl-unknown", |site| replace(&site.path("nccl/libnccl.so.2"), b"no library"), &[]),
    fault("nccl-old", UNBROKEN, &[("HOST_RELEASE", "22203")]),
    fault("nccl-untimed", UNBROKEN, &[("HOST_RELEASE", "22602")]),
    fault("nccl-newer", UNBROKEN, &[("HOST_RELEASE", "24000")]),
    fault(
        "nccl-several",
        |site| {
            let packages = "home/.local/lib/python3.11/site-packages/nvidia/nccl/lib";
            fs::create_dir_all(site.path(packages)).unwrap();
            site.library(
                &format!("{packages}/libnccl.so.2"),
                "int ncclGetVersion(int *version) { *version = 22703; return 0; }",
            );
        },
        &[],
    ),
    fault(
        "nccl-hang",
        UNBROKEN,
        &[("HOST_RELEASE", "22907"), ("NCCL_SCOREP_TRUST_NCCL", "on"), ("NCCL_ALLGATHERV_ENABLE", "")],
    ),
    fault(
        "nccl-no-gpu-times",
        UNBROKEN,
        &[("HOST_RELEASE", "23007"), ("NCCL_ALLGATHERV_ENABLE", ""), ("NCCL_SCOREP_GPU_TIME", "stamps")],
    ),
    fault("nccl-broadcast", UNBROKEN, &[("HOST_RELEASE", "23203"), ("NCCL_SCOREP_GPU_TIME", "stamps")]),
    fault("nccl-alltoall", UNBROKEN, &[("NCCL_SCOREP_GPU_TIME", "stamps")]),
    fault("nccl-kernel-cost", UNBROKEN, &[("HOST_RELEASE", "23102")]),
    fault(
        "plugin-unasked",
        |site| std::os::unix::fs::symlink(tool::LIBRARY, site.path("lib/libnccl-profiler.so")).unwrap(),
        &[("NCCL_PROFILER_PLUGIN", "")],
    ),
    fault("plugin-not-set", UNBROKEN, &[("NCCL_PROFILER_PLUGIN", "")]),
    fault("plugin-other", UNBROKEN, &[("NCCL_PROFILER_PLUGIN", "inspector")]),
    fault("scorep", UNBROKEN, &[]),
    fault("scorep-missing", |site| fs::remove_file(site.path("scorep/bin/scorep-config")).unwrap(), &[]),
    // one program hangs, and one fails
    fault("scorep-silent", |site| site.script("scorep/bin/scorep-config", "exec sleep 1000"), &[]),
    fault("scorep-silent", |site| site.script("scorep/bin/scorep-config", "exit 3"), &[]),
    fault(
        "scorep-threads",
        |site| site.instrumented(&["mpp_mpi", "thread_mockup"]),
        &[("COMMAND", "mpirun ./program")],
    ),
    fault(
        "scorep-threads",
        |site| site.instrumented(&["adapter_cuda_event", "thread_mockup"]),
        &[("COMMAND", "./program")],
    ),
    fault("scorep-thread-model", UNBROKEN, &[]),
    fault("scorep-version", |site| site.score_p("11.0", "libscorep_measurement.so.99"), &[]),
    fault("scorep-lanes", |site| fs::remove_file(site.path("scorep/lib/libscorep_measurement.so.11")).unwrap(), &[]),
    fault("scorep-not-asked", UNBROKEN, &[("SCOREP_METRIC_PLUGINS", "other_plugin")]),
    fault("scorep-no-summary", UNBROKEN, &[("SCOREP_SUBSTRATE_PLUGINS", "")]),
    fault("scorep-counter", UNBROKEN, &[("SCOREP_METRIC_NCCL_PLUGIN", "nccl_opps")]),
    fault("scorep-blank", UNBROKEN, &[("SCOREP_METRIC_PLUGINS", "nccl_plugin, other_plugin")]),
    fault("scorep-no-counters", UNBROKEN, &[("SCOREP_METRIC_NCCL_PLUGIN", "")]),
    fault("scorep-series", UNBROKEN, &[("SCOREP_METRIC_PLUGINS", "nccl_plugin,nccl_series_plugin")]),
    fault(
        "scorep-series-name",
        UNBROKEN,
        &[("SCOREP_METRIC_NCCL_SERIES_PLUGIN", "nccl_window_effective_busbw,nccl_transfer_rate@3")],
    ),
    fault("scorep-nothing", UNBROKEN, &[("SCOREP_ENABLE_PROFILING", "false")]),
    fault("scorep-memory", UNBROKEN, &[("SCOREP_ENABLE_TRACING", "true")]),
    fault(
        "scorep-memory",
        |site| site.profile("40MB"),
        &[("SCOREP_ENABLE_TRACING", "true"), ("SCOREP_TOTAL_MEMORY", "48M")],
    ),
    fault("scorep-memory-unknown", UNBROKEN, &[("SCOREP_ENABLE_TRACING", "true"), ("SCOREP_TOTAL_MEMORY", "64M")]),
    fault(
        "scorep-directory",
        UNBROKEN,
        &[("TORCHELASTIC_RUN_ID", "1"), ("RANK", "3"), ("SCOREP_EXPERIMENT_DIRECTORY", "/tmp/run-4713")],
    ),
    fault("settings-file", |site| file(site, "", 0o644), FILE),
    fault("settings-file-refused", UNBROKEN, FILE),
    fault("settings-file-refused", |site| file(site, "", 0o666), FILE),
    fault("settings-file-line", |site| file(site, "NCCL_SCOREP_PRESET: api", 0o644), FILE),
    fault("settings-file-line", |site| file(site, "NCCL_SCOREP_LOG=off\nNCCL_SCOREP_LOG=info", 0o644), FILE),
    fault("setting-origin", |site| file(site, "NCCL_SCOREP_PRESET=api", 0o644), FILE),
    fault("setting-value", UNBROKEN, &[("NCCL_SCOREP_MEMORY_MB", "much")]),
    fault("setting-value", |site| file(site, "NCCL_SCOREP_MEMORY_MB=much", 0o644), FILE),
    fault("setting-unknown", |site| file(site, "NCCL_SCOREP_PRESETS=full", 0o644), FILE),
    fault("setting-path", |site| file(site, "NCCL_SCOREP_SUMMARY=/proc/nowhere/%p.json", 0o644), FILE),
    fault("setting-unknown", UNBROKEN, &[("NCCL_SCOREP_PRESETS", "full")]),
    // where not even root can create a directory
    fault("setting-path", UNBROKEN, &[("NCCL_SCOREP_SUMMARY", "/proc/nowhere/%p.json")]),
    fault("setting-path", UNBROKEN, &[("NCCL_SCOREP_SUMMARY", "/tmp")]),
    fault("setting-path", UNBROKEN, &[("NCCL_SCOREP_RECORD", "/etc/passwd")]),
    fault("setting-path", UNBROKEN, &[("NCCL_SCOREP_STATUS", "/proc/nowhere/status")]),
    fault("setting-path", UNBROKEN, &[("NCCL_SCOREP_STATUS", "/etc/passwd")]),
    fault("setting-path", UNBROKEN, &[("NCCL_SCOREP_PROM_DIR", "/tmp/no-such-directory")]),
    fault("setting-path", UNBROKEN, &[("NCCL_SCOREP_PROM_DIR", "/etc/passwd")]),
    fault("chain-missing", UNBROKEN, &[("NCCL_SCOREP_CHAIN", "no-such-plugin")]),
    fault("chain-missing", UNBROKEN, &[("NCCL_SCOREP_CHAIN", "scorep")]),
    fault("otel-missing", UNBROKEN, &[("NCCL_SCOREP_OTEL", "on")]),
    fault("otel-missing", UNBROKEN, &[("NCCL_SCOREP_PROM_DIR", "/tmp")]),
    fault("summary-shared", UNBROKEN, &[("NCCL_SCOREP_SUMMARY", "all.json"), ("RANK", "0"), ("WORLD_SIZE", "8")]),
    fault("summary-shared", UNBROKEN, &[("NCCL_SCOREP_SUMMARY", "all.json"), ("PMIX_RANK", "0")]),
    fault("summary-shared", UNBROKEN, &[("NCCL_SCOREP_SUMMARY", "all.json"), ("SLURM_NTASKS", "8")]),
    fault(
        "summary-shared",
        UNBROKEN,
        &[("NCCL_SCOREP_SUMMARY", "a.%h.json"), ("LOCAL_RANK", "3"), ("LOCAL_WORLD_SIZE", "8")],
    ),
    fault("shared-memory", UNBROKEN, &[("SHARED", "/proc")]),
    fault("one-processor", UNBROKEN, &[("PROCESSORS", "1")]),
    fault("slurm-export", UNBROKEN, &[("SLURM_EXPORT_ENV", "NONE")]),
    fault("slurm-node", UNBROKEN, &[("SLURM_JOB_NUM_NODES", "2"), ("SLURM_JOB_ID", "17")]),
];

#[test]
fn every_fault_is_told_with_its_code_and_a_way_out() {
    for Fault { code, breaks, settings } in FAULTS {
        let site = Site::new();
        breaks(&site);
        let (report, status) = examine(&site, settings);
        let finding = report["findings"].as_array().unwrap().iter().find(|finding| finding["code"] == *code);
        let finding = finding.unwrap_or_else(|| panic!("{code} is not told: {report:#}"));
        let expected = match finding["level"].as_str().unwrap() {
            "failure" => 2,
            "warning" => 1,
            _ => 0,
        };
        assert!(status >= expected && report["status"] == status, "{code}: {status} {report:#}");
        assert_eq!(finding["cure"].as_str().unwrap().is_empty(), finding["level"] == "good", "{code}");
    }
}

#[test]
fn no_finding_is_left_out_here() {
    let headings = include_str!("../../docs/troubleshooting.md").lines();
    let told: BTreeSet<&str> = headings.filter_map(|line| line.strip_prefix("### `")?.strip_suffix('`')).collect();
    assert_eq!(FAULTS.iter().map(|fault| fault.code).collect::<BTreeSet<_>>(), told);
}
