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
        meaning: "File for the process' summary, as JSON; %r: rank, %p: process id, %h: host.",
    },
    Setting {
        name: "NCCL_SCOREP_SUMMARY_SECONDS",
        default: "60",
        meaning: "Seconds between summaries while the process runs; 0: one at its end alone.",
    },
    Setting {
        name: "NCCL_SCOREP_PRESET",
        default: "network",
        meaning: "Event types: api (operations), light (+ GPU times), network (+ transfers) or full.",
    },
    Setting {
        name: "NCCL_SCOREP_MASK",
        default: "(of the preset)",
        meaning: "Event types as the sum of NCCL's bits; replaces the preset.",
    },
    Setting {
        name: "NCCL_SCOREP_MIN_BYTES",
        default: "0",
        meaning: "Operations of fewer bytes are skipped and counted, except those to self.",
    },
    Setting {
        name: "NCCL_SCOREP_GPU_TIME",
        default: "auto",
        meaning: "Source of GPU times: stamps (of NCCL's kernels), events (CUDA's), auto or off.",
    },
    Setting {
        name: "NCCL_SCOREP_TRUST_NCCL",
        default: "off",
        meaning: "on: ask for all event types of the preset, even where this NCCL has known trouble.",
    },
    Setting {
        name: "NCCL_SCOREP_CHAIN",
        default: "(none)",
        meaning: "Name or path of a second profiler plugin, which gets every callback, too.",
    },
    Setting {
        name: "NCCL_SCOREP_RECORD",
        default: "(none)",
        meaning: "Directory for a recording of all callbacks; %r, %p, %h as in NCCL_SCOREP_SUMMARY.",
    },
    Setting {
        name: "NCCL_SCOREP_RECORD_MB",
        default: "256",
        meaning: "Memory in MiB for callbacks not yet written; when it is full, the recording ends.",
    },
    Setting {
        name: "NCCL_SCOREP_RECORD_SECONDS",
        default: "10",
        meaning: "Seconds between parts of the recording, which survive a kill; 0: all at the end.",
    },
    Setting {
        name: "NCCL_SCOREP_REGRESSION",
        default: "median",
        meaning: "Service time of each size that rate and latency are fitted to: median, min, avg.",
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
        meaning: "Seconds that a closed window waits for events that have not ended.",
    },
    Setting {
        name: "NCCL_SCOREP_SETTLE_SECONDS",
        default: "0.25",
        meaning: "Seconds without an event after which a complete operation is over.",
    },
    Setting {
        name: "NCCL_SCOREP_MEMORY_MB",
        default: "32",
        meaning: "Memory in MiB for events of the process; when it is full, events are dropped.",
    },
    Setting { name: "NCCL_SCOREP_TICK_RATE", default: "(measured)", meaning: "Ticks per second of Score-P's clock." },
    Setting {
        name: "NCCL_SCOREP_GPU_TICK",
        default: "(by the library)",
        meaning: "Nanoseconds per tick of GPU stamps; unset: 10 for AMD's RCCL, else 1.",
    },
    Setting {
        name: "NCCL_SCOREP_LANES",
        default: "on",
        meaning: "off: no locations for communicators and rank pairs in Score-P's trace and profile.",
    },
    Setting {
        name: "NCCL_SCOREP_LANE_MB",
        default: "64",
        meaning: "Memory in MiB for operations on lanes and in the job summary, 48 bytes each.",
    },
    Setting {
        name: "NCCL_SCOREP_LANE_PAIRS",
        default: "8",
        meaning: "Rank pairs of the process, the busiest ones, whose transfers get a lane.",
    },
    Setting {
        name: "NCCL_SCOREP_HOST_REGIONS",
        default: "off",
        meaning: "on: NCCL API calls become regions of the calling thread (NCCL 2.28 and later).",
    },
    Setting {
        name: "NCCL_SCOREP_GATHER_KB",
        default: "1024",
        meaning: "Most KiB that a process sends to the job summary; 0: each process writes its own.",
    },
    Setting {
        name: "NCCL_SCOREP_OTEL",
        default: "off",
        meaning: "on: export metrics via OTLP (requires a build with OpenTelemetry).",
    },
    Setting {
        name: "NCCL_SCOREP_OTEL_MAX_PEERS",
        default: "64",
        meaning: "Rank pairs of the process with labels of their own; others become \"other\".",
    },
    Setting {
        name: "NCCL_SCOREP_PROM_DIR",
        default: "(none)",
        meaning: "Directory for Prometheus textfiles (requires a build with OpenTelemetry).",
    },
    Setting { name: "NCCL_SCOREP_LOG", default: "warn", meaning: "Messages on standard error: off, warn or info." },
];
