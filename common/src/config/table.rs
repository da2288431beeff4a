//! All settings, one entry each: field, type, name, default, values and meaning. The table in docs/settings.md has the
//! same content.

use super::choices::{ConditionChoice, GpuTime, LaneChoice, Preset, Regression};
use super::value::{
    KIB, MIB, bytes, is_set, mask, name, not_negative, parsed, path, positive, shown, some, switch, whole, word,
};
use crate::base::log::Verbosity;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// A setting as the documentation shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// Environment variable.
    pub name: &'static str,
    /// Default value. In parentheses if no value means the same.
    pub default: &'static str,
    /// Meaning, in one sentence.
    pub meaning: &'static str,
}

/// Parses the default value of a field. A default in parentheses gives the type's default.
fn by_default<T: Default>(default: &str, parse: impl Fn(&OsStr) -> Option<T>) -> T {
    Some(default).filter(|text| !text.starts_with('(')).and_then(|text| parse(text.as_ref())).unwrap_or_default()
}

/// Field, type, variable, default, parser, values that it takes, meaning.
macro_rules! settings {
    ($($field:ident: $type:ty = $name:literal, $default:literal, $parse:expr, $wanted:literal, $meaning:literal;)*) => {
        /// Parsed settings.
        #[derive(Debug, Clone, PartialEq)]
        pub struct Settings {
            $(#[doc = concat!("See `", $name, "`.")] pub $field: $type,)*
        }

        /// All settings.
        pub const SETTINGS: &[Setting] = &[$(Setting { name: $name, default: $default, meaning: $meaning },)*];

        impl Default for Settings {
            fn default() -> Self {
                Self { $($field: by_default($default, $parse),)* }
            }
        }

        impl Settings {
            /// Parses the settings that `lookup` returns. A value that cannot be understood leaves the default in force
            /// and gives one line.
            pub fn parse(lookup: impl Fn(&str) -> Option<OsString>) -> (Self, Vec<String>) {
                let (mut settings, mut complaints) = (Self::default(), Vec::new());
                $(if let Some(value) = lookup($name).filter(|value| is_set(value)) {
                    match ($parse)(&value) {
                        Some(value) => settings.$field = value,
                        None => complaints.push(format!(
                            "{}={} is not understood ({}); the default holds",
                            $name,
                            shown(&value),
                            $wanted
                        )),
                    }
                })*
                (settings, complaints)
            }
        }
    };
}

settings! {
    settings_file: Option<PathBuf> = "NCCL_SCOREP_SETTINGS", "(/etc/scorep-nccl.conf)", path, "a path",
        "File of settings that the environment does not have; off: none.";
    summary: Option<PathBuf> = "NCCL_SCOREP_SUMMARY", "(none)", path, "a path",
        "File for the process' summary, as JSON; %r: rank, %p: process id, %h: host.";
    summary_seconds: f64 = "NCCL_SCOREP_SUMMARY_SECONDS", "60", not_negative, "a number of seconds, 0 for the end alone",
        "Seconds between summaries while the process runs; 0: one at its end alone.";
    status: Option<PathBuf> = "NCCL_SCOREP_STATUS", "(none)", path, "a path",
        "Directory for a file of the process' state each second; takes requests, too.";
    preset: Preset = "NCCL_SCOREP_PRESET", "network", parsed, "light, network, full or api",
        "Event types: api (operations), light (+ GPU times), network (+ transfers) or full.";
    mask: Option<u64> = "NCCL_SCOREP_MASK", "(of the preset)", mask, "a number from 0 to 4294967295, decimal or 0x",
        "Event types as the sum of NCCL's bits; replaces the preset.";
    min_bytes: u64 = "NCCL_SCOREP_MIN_BYTES", "0", whole(0..=u64::MAX), "a number of bytes",
        "Operations of fewer bytes are skipped and counted, except those to self.";
    gpu_time: GpuTime = "NCCL_SCOREP_GPU_TIME", "auto", word, "auto, stamps, events or off",
        "Source of GPU times: stamps (of NCCL's kernels), events (CUDA's), auto or off.";
    graph_events: u32 = "NCCL_SCOREP_GRAPH_EVENTS", "0", whole(0..=1_000_000), "a number of launches from 0 to 1000000",
        "CUDA events time one launch in N of those in CUDA graphs, 10 us each; 0: none.";
    trust_nccl: bool = "NCCL_SCOREP_TRUST_NCCL", "off", switch, "on or off",
        "on: ask for all event types of the preset, even where this NCCL has known trouble.";
    chain: Option<String> = "NCCL_SCOREP_CHAIN", "(none)", name, "a name or a path",
        "Name or path of a second profiler plugin, which gets every callback, too.";
    record: Option<PathBuf> = "NCCL_SCOREP_RECORD", "(none)", path, "a path",
        "Directory for a recording of all callbacks; %r, %p, %h as in NCCL_SCOREP_SUMMARY.";
    record_bytes: usize = "NCCL_SCOREP_RECORD_MB", "256", bytes(MIB, 1..=65_536), "a number of MiB from 1 to 65536",
        "Memory in MiB for callbacks not yet written; when it is full, the recording ends.";
    record_seconds: f64 = "NCCL_SCOREP_RECORD_SECONDS", "10", not_negative, "a number of seconds, 0 for the end alone",
        "Seconds between parts of the recording, which survive a kill; 0: all at the end.";
    regression: Regression = "NCCL_SCOREP_REGRESSION", "median", word, "median, min or avg",
        "Service time of each size that rate and latency are fitted to: median, min, avg.";
    window_events: u32 = "NCCL_SCOREP_WINDOW_EVENTS", "50000", whole(64..=100_000_000), "a number of events from 64 to 100000000",
        "Events after which a communicator's window closes.";
    window_seconds: f64 = "NCCL_SCOREP_WINDOW_SECONDS", "5", positive, "a positive number of seconds",
        "Seconds after which a communicator's window closes.";
    deadline_seconds: f64 = "NCCL_SCOREP_DEADLINE_SECONDS", "60", positive, "a positive number of seconds",
        "Seconds that a closed window waits for events that have not ended.";
    settle_seconds: f64 = "NCCL_SCOREP_SETTLE_SECONDS", "0.25", positive, "a positive number of seconds",
        "Seconds without an event after which a complete operation is over.";
    memory_bytes: usize = "NCCL_SCOREP_MEMORY_MB", "32", bytes(MIB, 1..=8192), "a number of MiB from 1 to 8192",
        "Memory in MiB for events of the process; when it is full, events are dropped.";
    tick_rate: Option<f64> = "NCCL_SCOREP_TICK_RATE", "(measured)", some(positive), "a positive number of ticks per second",
        "Ticks per second of Score-P's clock.";
    gpu_tick: Option<u64> = "NCCL_SCOREP_GPU_TICK", "(by the library)", some(whole(1..=1000)), "a number of nanoseconds from 1 to 1000",
        "Nanoseconds per tick of GPU stamps; unset: 10 for AMD's RCCL, else 1.";
    lanes: LaneChoice = "NCCL_SCOREP_LANES", "on", word, "on, tried, always or off",
        "Locations in Score-P: on (tries a new release), tried (known ones), always or off.";
    lane_bytes: usize = "NCCL_SCOREP_LANE_MB", "64", bytes(MIB, 1..=65_536), "a number of MiB from 1 to 65536",
        "Memory in MiB for operations on lanes and in the job summary, 56 bytes each.";
    lane_pairs: usize = "NCCL_SCOREP_LANE_PAIRS", "8", whole(0..=1000), "a number of rank pairs from 0 to 1000",
        "Rank pairs of the process, the busiest ones, whose transfers get a lane.";
    host_regions: bool = "NCCL_SCOREP_HOST_REGIONS", "off", switch, "on or off",
        "on: NCCL API calls become regions of the calling thread (NCCL 2.28 and later).";
    gather_bytes: usize = "NCCL_SCOREP_GATHER_KB", "1024", bytes(KIB, 0..=1 << 20), "a number of KiB from 0 to 1048576",
        "Most KiB that a process sends to the job summary; 0: each process writes its own.";
    otel: bool = "NCCL_SCOREP_OTEL", "off", switch, "on or off",
        "on: export metrics via OTLP (requires a build with OpenTelemetry).";
    otel_most_peers: usize = "NCCL_SCOREP_OTEL_MAX_PEERS", "64", whole(0..=65_536), "a number of rank pairs from 0 to 65536",
        "Rank pairs of the process with labels of their own; others become \"other\".";
    prom_dir: Option<PathBuf> = "NCCL_SCOREP_PROM_DIR", "(none)", path, "a path",
        "Directory for Prometheus textfiles (requires a build with OpenTelemetry).";
    nvlink: bool = "NCCL_SCOREP_NVLINK", "off", switch, "on or off",
        "on: count bytes over NVLink (NVML's), PCIe and network adapters, each second.";
    links: bool = "NCCL_SCOREP_LINKS", "on", switch, "on or off",
        "off: the rates of NVLinks, PCIe and network adapters are not read at the start.";
    conditions: ConditionChoice = "NCCL_SCOREP_CONDITIONS", "host", word, "host, all or off",
        "For causes of late ranks, each second: host (its time), all (GPUs, too) or off.";
    verbosity: Verbosity = "NCCL_SCOREP_LOG", "warn", word, "off, warn or info",
        "Messages on standard error: off, warn or info.";
}
