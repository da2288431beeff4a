//! The settings as a person sees them: names, defaults, meanings. The table in docs/settings.md is this one.

/// A setting as a person sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// Environment variable.
    pub name: &'static str,
    /// What holds when it is not set.
    pub default: &'static str,
    /// What it does, in one sentence.
    pub meaning: &'static str,
}

/// All settings there are.
pub const SETTINGS: [Setting; 28] = [
    Setting {
        name: "NCCL_SCOREP_SUMMARY",
        default: "(none)",
        meaning: "File that the process' summary is written to, as JSON; %r stands for the rank, %p for the process id, %h for the host.",
    },
    Setting {
        name: "NCCL_SCOREP_SUMMARY_SECONDS",
        default: "60",
        meaning: "Seconds between two summaries while the process runs, the first after five at most, each in the place of the one before and not complete; 0: one at its end alone.",
    },
    Setting {
        name: "NCCL_SCOREP_PRESET",
        default: "network",
        meaning: "Event types asked for: light (operations, GPU times), network (light, and transfers over the network), full (every type) or api (operations alone).",
    },
    Setting {
        name: "NCCL_SCOREP_MASK",
        default: "(of the preset)",
        meaning: "Event types asked for, as the sum of NCCL's bits; takes the place of the preset.",
    },
    Setting {
        name: "NCCL_SCOREP_MIN_BYTES",
        default: "0",
        meaning: "Operations of fewer bytes are not recorded, but for those to oneself; they are counted as skipped.",
    },
    Setting {
        name: "NCCL_SCOREP_GPU_TIME",
        default: "auto",
        meaning: "Source of the GPU's times: stamps (of NCCL's kernels, where they are right), events (CUDA's, around each launch), auto (stamps where they are right, events elsewhere) or off.",
    },
    Setting {
        name: "NCCL_SCOREP_TRUST_NCCL",
        default: "off",
        meaning: "on: ask for all event types of the preset, also where this NCCL is known for trouble with them.",
    },
    Setting {
        name: "NCCL_SCOREP_CHAIN",
        default: "(none)",
        meaning: "Name or path of a second profiler plugin that gets every callback, too.",
    },
    Setting {
        name: "NCCL_SCOREP_RECORD",
        default: "(none)",
        meaning: "Directory that a recording of all callbacks of the process is written to, for replay; %r, %p and %h as in NCCL_SCOREP_SUMMARY.",
    },
    Setting {
        name: "NCCL_SCOREP_RECORD_MB",
        default: "256",
        meaning: "Memory in MiB for what is recorded and not yet written; what does not fit is dropped and counted in the recording.",
    },
    Setting {
        name: "NCCL_SCOREP_RECORD_SECONDS",
        default: "10",
        meaning: "Seconds between two parts of the recording, each of which survives a process that is killed; 0: all at its end.",
    },
    Setting {
        name: "NCCL_SCOREP_REGRESSION",
        default: "median",
        meaning: "What transfer rate and latency are fitted through: the median, minimum (min) or mean (avg) service time of each size.",
    },
    Setting {
        name: "NCCL_SCOREP_WINDOW_EVENTS",
        default: "50000",
        meaning: "Events after which a communicator's window closes.",
    },
    Setting { name: "NCCL_SCOREP_WINDOW_SECONDS", default: "5", meaning: "Seconds after which a communicator's window closes." },
    Setting {
        name: "NCCL_SCOREP_DEADLINE_SECONDS",
        default: "60",
        meaning: "Seconds that a closed window waits for its events in progress; those left are counted as unfinished.",
    },
    Setting {
        name: "NCCL_SCOREP_SETTLE_SECONDS",
        default: "0.25",
        meaning: "Seconds without an event after which an operation with all its kernel channels seen is over; longer waits are in proportion.",
    },
    Setting {
        name: "NCCL_SCOREP_MEMORY_MB",
        default: "32",
        meaning: "Recording memory of the process in MiB; it is committed as it is used. When it is full, events are dropped and counted.",
    },
    Setting { name: "NCCL_SCOREP_TICK_RATE", default: "(measured)", meaning: "Ticks per second of Score-P's clock." },
    Setting {
        name: "NCCL_SCOREP_GPU_TICK",
        default: "(by the library)",
        meaning: "Nanoseconds that a stamp of the GPU counts. Where it is not set: 10 where the library that calls is AMD's RCCL, else 1.",
    },
    Setting {
        name: "NCCL_SCOREP_LANES",
        default: "on",
        meaning: "off: no locations of their own for communicators and rank pairs in Score-P's trace and profile.",
    },
    Setting {
        name: "NCCL_SCOREP_LANE_MB",
        default: "64",
        meaning: "Memory in MiB for the operations that the lanes and the job summary show, 48 bytes each; what does not fit is dropped and counted.",
    },
    Setting {
        name: "NCCL_SCOREP_LANE_PAIRS",
        default: "8",
        meaning: "Rank pairs of the process, the busiest ones, that get a lane of their transfers.",
    },
    Setting {
        name: "NCCL_SCOREP_HOST_REGIONS",
        default: "off",
        meaning: "on: calls of NCCL's API as regions on the calling thread (NCCL 2.28 and later).",
    },
    Setting {
        name: "NCCL_SCOREP_GATHER_KB",
        default: "1024",
        meaning: "What each process sends to the job summary at most, in KiB; 0: nothing is gathered, each process writes its own.",
    },
    Setting {
        name: "NCCL_SCOREP_OTEL",
        default: "off",
        meaning: "on: figures over OpenTelemetry, where OTEL_EXPORTER_OTLP_ENDPOINT and its siblings say; of a library that was built with it.",
    },
    Setting {
        name: "NCCL_SCOREP_OTEL_MAX_PEERS",
        default: "64",
        meaning: "Rank pairs of the process that get labels of their own there; those that come later are summed up as \"other\".",
    },
    Setting {
        name: "NCCL_SCOREP_PROM_DIR",
        default: "(none)",
        meaning: "Directory of node_exporter's textfile collector that figures are written to, a file a process; %r, %p and %h as in NCCL_SCOREP_SUMMARY. Of a library that was built with OpenTelemetry.",
    },
    Setting { name: "NCCL_SCOREP_LOG", default: "warn", meaning: "What is written to standard error: off, warn or info." },
];
