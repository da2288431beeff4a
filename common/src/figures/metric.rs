//! The table of metrics: names, units, meanings. It serves Score-P, the summary and the documentation.

use crate::base::alike::alike;
use crate::event::name::FUNCTIONS;
use std::collections::BTreeSet;
use std::ffi::{CStr, CString};
use std::sync::LazyLock;

/// The scope of a counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// The process.
    Process,
    /// The calling thread.
    Thread,
}

/// A counter: an accumulated whole number.
#[derive(Debug)]
pub struct Counter {
    /// Name.
    pub name: String,
    /// One sentence.
    pub description: CString,
    /// `ns`, `B` or `#`.
    pub unit: &'static CStr,
    /// Its scope.
    pub owner: Owner,
}

/// A series: values over time.
#[derive(Debug, Clone, Copy)]
pub struct SeriesMetric {
    /// Name. A series' full name has the communicator and peer behind it (`series::SeriesName`).
    pub name: &'static str,
    /// One sentence.
    pub description: &'static CStr,
    /// Unit.
    pub unit: &'static CStr,
    /// The figure that its values show.
    pub figure: Figure,
    /// Whether there is one for each peer, too.
    pub by_peer: bool,
    /// Whether communicators without a series of their own are summed up in one.
    pub of_other: bool,
}

/// The figure that a series shows of each window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Figure {
    /// Bytes over the time that a send was under way.
    TransferRate,
    /// The latency of the fit.
    TransferLatency,
    /// Mean time of GPU-timed collectives.
    CollectiveTime,
    /// Bus bandwidth of GPU-timed collectives.
    BusBandwidth,
    /// Bytes per second that the GPUs sent over NVLink.
    NvlinkSent,
    /// Bytes per second that the GPUs received over NVLink.
    NvlinkReceived,
}

macro_rules! fixed {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $unit:literal, $owner:ident, $text:literal;)*) => {
        /// The counters that every process has, by their place in [`counters`].
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(usize)]
        pub enum Fixed { $($(#[$doc])* $variant),* }
        const FIXED: &[(&str, &CStr, Owner, &str)] = &[$(($name, $unit, Owner::$owner, $text)),*];
    };
}

// The order is visible: the token `*` shows the first 20. Causes of a missing GPU time stay together, in the order of
// their numbers, and last.
fixed! {
    /// Operations.
    Ops = "nccl_ops", c"#", Process, "Collective and point-to-point operations done";
    /// Bytes.
    Bytes = "nccl_bytes", c"B", Process, "Bytes of the buffers of the operations done, no traffic: elements times their size";
    /// Collective time.
    CollectiveTime = "nccl_collective_time", c"ns", Process, "Sum of the GPU times of collectives, waits included, each kernel once";
    /// Point-to-point time.
    P2pTime = "nccl_p2p_time", c"ns", Process, "Sum of the GPU times of sends and receives, waits included, each kernel once";
    /// Busy time.
    BusyTime = "nccl_busy_time", c"ns", Process, "Time with a GPU-timed operation under way, waits included";
    /// Network bytes.
    NetBytes = "nccl_net_bytes", c"B", Process, "Bytes sent over the network, with the flags of NCCL's protocols";
    /// Network time.
    NetTime = "nccl_net_time", c"ns", Process, "Time with at least one send over the network under way";
    /// GPU-timed operations.
    GpuTimedOps = "nccl_gpu_timed_ops", c"#", Process, "Operations whose time is the GPU's own";
    /// Event-timed operations.
    EventTimedOps = "nccl_event_timed_ops", c"#", Process, "Operations whose time is the GPU's own, from CUDA's events";
    /// Out of step.
    OutOfStep = "nccl_out_of_step", c"#", Process, "Operations whose GPU stamps may be another operation's and are not used";
    /// Unfinished.
    UnfinishedOps = "nccl_unfinished_ops", c"#", Process, "Operations of which something never ended";
    /// Invisible.
    InvisibleOps = "nccl_invisible_ops", c"#", Process, "Calls of NCCL's API that NCCL reports no further";
    /// Dropped.
    Dropped = "nccl_dropped", c"#", Process, "Events not recorded for want of room";
    /// Enqueued operations.
    EnqueuedOps = "nccl_enqueued_ops", c"#", Thread, "Operations enqueued by calls of this thread, graph replays apart";
    /// Enqueued bytes.
    EnqueuedBytes = "nccl_enqueued_bytes", c"B", Thread, "Bytes of the operations enqueued by calls of this thread";
    /// API time.
    ApiTime = "nccl_api_time", c"ns", Thread, "Time this thread spent inside NCCL's API";
    /// Incomplete.
    Incomplete = "nccl_incomplete", c"#", Process, "What is missing, and operations without a requested GPU time";
    /// Proxy time.
    ProxyTime = "nccl_proxy_time", c"ns", Process, "Without GPU times: sum of the times from enqueue to last proxy stop";
    /// Enqueue time.
    EnqueueTime = "nccl_enqueue_time", c"ns", Process, "With neither GPU times nor proxy operations: sum of enqueue times";
    /// Skipped.
    SkippedOps = "nccl_skipped_ops", c"#", Process, "Operations smaller than NCCL_SCOREP_MIN_BYTES, which are not recorded";
    /// Foreign.
    ForeignProxyOps = "nccl_foreign_proxy_ops", c"#", Process, "Proxy operations for other processes (PXN), not followed";
    /// Sent over NVLink.
    NvlinkSentBytes = "nccl_nvlink_sent_bytes", c"B", Process, "Data sent over NVLink, all traffic; by NCCL_SCOREP_NVLINK";
    /// Received over NVLink.
    NvlinkReceivedBytes = "nccl_nvlink_received_bytes", c"B", Process, "Data received over NVLink, all traffic; by NCCL_SCOREP_NVLINK";
    /// Untimed: graph. The causes are in the order of their numbers.
    UntimedGraph = "nccl_untimed_graph", c"#", Process, "No GPU time: of CUDA graphs";
    /// Untimed: no event.
    UntimedNoEvent = "nccl_untimed_no_event", c"#", Process, "No GPU time: no CUDA event was free";
    /// Untimed: CUDA failed.
    UntimedCudaFailed = "nccl_untimed_cuda_failed", c"#", Process, "No GPU time: a call of CUDA's failed";
    /// Untimed: not chosen.
    UntimedNotChosen = "nccl_untimed_not_chosen", c"#", Process, "No GPU time: left out to limit the cost of events";
    /// Untimed: not believed.
    UntimedNotBelieved = "nccl_untimed_not_believed", c"#", Process, "No GPU time: neither stamps nor events are believed";
}

/// The counters shown by default. Few, since each costs time at every enter and leave, and memory of a trace.
pub const DEFAULT: [Fixed; 3] = [Fixed::Ops, Fixed::Bytes, Fixed::CollectiveTime];

/// The counters of each function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub enum PerFunction {
    /// Operations.
    Ops,
    /// Bytes.
    Bytes,
    /// Time.
    Time,
}

const PER_FUNCTION: [(&str, &CStr, &str); 3] = [
    ("ops", c"#", "operations done"),
    ("bytes", c"B", "bytes of the buffers of the operations done, no traffic"),
    ("time", c"ns", "sum of the GPU times, waits included, each kernel once for each function"),
];

/// Number of counters that are of no function.
pub const GENERAL: usize = FIXED.len();

/// Number of counters.
pub const COUNTERS: usize = FIXED.len() + FUNCTIONS.len() * PER_FUNCTION.len();

static COUNTER_TABLE: LazyLock<Vec<Counter>> = LazyLock::new(|| {
    let fixed = FIXED.iter().map(|&(name, unit, owner, text)| (name.to_owned(), unit, owner, text.to_owned()));
    let functions = FUNCTIONS.iter().flat_map(|function| {
        PER_FUNCTION.iter().map(move |(suffix, unit, text)| {
            let name = format!("nccl_{}_{suffix}", function.to_lowercase());
            (name, *unit, Owner::Process, format!("{function}: {text}"))
        })
    });
    let describe = |(name, unit, owner, text): (String, _, _, String)| Counter {
        name,
        description: CString::new(text).unwrap_or_default(),
        unit,
        owner,
    };
    fixed.chain(functions).map(describe).collect()
});

/// Returns all counters, in order.
pub fn counters() -> &'static [Counter] {
    &COUNTER_TABLE
}

/// Returns what to write in place of a name that no counter has: the counters that it may mean, or where all are.
pub fn in_place_of(name: &str) -> String {
    let nearest = alike(name, "nccl_", counters().iter().map(|counter| counter.name.as_str()));
    match nearest[..] {
        [] => "docs/metrics.md lists the counters; default names three of them".into(),
        _ => format!("{} may be meant (docs/metrics.md)", nearest[..nearest.len().min(3)].join(", ")),
    }
}

/// Returns the name of a counter as [`counters`] has it; `None` if no counter has this name.
pub(crate) fn own_name(name: &str) -> Option<&'static str> {
    static NAMES: LazyLock<BTreeSet<&'static str>> =
        LazyLock::new(|| counters().iter().map(|counter| counter.name.as_str()).collect());
    NAMES.get(name).copied()
}

/// Returns the place of a function's counter in [`counters`].
pub fn of_function(function: usize, what: PerFunction) -> usize {
    FIXED.len() + function * PER_FUNCTION.len() + what as usize
}

/// All series.
pub static SERIES: [SeriesMetric; 4] = [
    SeriesMetric {
        name: "nccl_window_transfer_rate",
        description: c"Bytes sent over the network, over the time that a send was under way, of each window",
        unit: c"B/s",
        figure: Figure::TransferRate,
        by_peer: true,
        of_other: true,
    },
    SeriesMetric {
        name: "nccl_window_transfer_latency",
        description: c"Latency of the sends over the network by the fit of service times over sizes, of each window that has one",
        unit: c"ns",
        figure: Figure::TransferLatency,
        by_peer: true,
        of_other: false,
    },
    SeriesMetric {
        name: "nccl_window_collective_time",
        description: c"Mean time of the GPU-timed collective operations, of each window with at least 90 % of them timed",
        unit: c"ns",
        figure: Figure::CollectiveTime,
        by_peer: false,
        of_other: true,
    },
    SeriesMetric {
        name: "nccl_window_effective_busbw",
        description: c"Bus bandwidth of the GPU-timed collective operations as nccl-tests defines it, with the wait for the last rank, of each window",
        unit: c"B/s",
        figure: Figure::BusBandwidth,
        by_peer: false,
        of_other: true,
    },
];

/// Series of the process, of no communicator: a value for each reading of NVML (`NCCL_SCOREP_NVLINK`).
pub static PROCESS_SERIES: [SeriesMetric; 2] = [
    SeriesMetric {
        name: "nccl_nvlink_sent_rate",
        description:
            c"Data that the process' GPUs sent over NVLink, all traffic, over the time since the reading before",
        unit: c"B/s",
        figure: Figure::NvlinkSent,
        by_peer: false,
        of_other: false,
    },
    SeriesMetric {
        name: "nccl_nvlink_received_rate",
        description:
            c"Data that the process' GPUs received over NVLink, all traffic, over the time since the reading before",
        unit: c"B/s",
        figure: Figure::NvlinkReceived,
        by_peer: false,
        of_other: false,
    },
];

/// Former names of series, from when a series covered all communicators and `@P` selected the peer.
const FORMER: [(&str, &str); 4] = [
    ("nccl_transfer_rate", "nccl_window_transfer_rate"),
    ("nccl_transfer_latency", "nccl_window_transfer_latency"),
    ("nccl_collective_time", "nccl_window_collective_time"),
    ("nccl_busbw", "nccl_window_effective_busbw"),
];

/// Returns the series of this name.
pub fn series(name: &str) -> Option<&'static SeriesMetric> {
    SERIES.iter().find(|series| series.name == name)
}

/// Returns the series that had this name formerly, with or without a rank behind it.
pub fn former_series(name: &str) -> Option<&'static SeriesMetric> {
    let name = name.split_once('@').map_or(name, |(name, _)| name);
    let (_, now) = FORMER.iter().find(|(former, _)| *former == name)?;
    series(now)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_are_unique_and_fit_for_cube() {
        let names: HashSet<&str> = counters().iter().map(|counter| counter.name.as_str()).collect();
        assert_eq!(names.len(), COUNTERS);
        let plain = |name: &&str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        assert!(names.iter().all(plain));
        const { assert!(COUNTERS < 255, "Score-P takes at most 255 strictly synchronous metrics") };
    }

    #[test]
    fn places_match_names() {
        assert_eq!(counters()[Fixed::Ops as usize].name, "nccl_ops");
        assert_eq!(counters()[Fixed::ApiTime as usize].name, "nccl_api_time");
        assert_eq!(counters()[of_function(5, PerFunction::Bytes)].name, "nccl_send_bytes");
        assert_eq!(counters()[COUNTERS - 1].name, "nccl_scatter_time");
    }

    #[test]
    fn no_series_has_a_counters_name_or_a_former_one() {
        for series in SERIES.iter().chain(&PROCESS_SERIES) {
            assert!(counters().iter().all(|counter| counter.name != series.name), "{}", series.name);
            assert!(former_series(series.name).is_none(), "{}", series.name);
        }
        for (former, now) in FORMER {
            assert_eq!(
                [former_series(former).unwrap().name, former_series(&format!("{former}@3")).unwrap().name],
                [now; 2]
            );
            assert!(series(former).is_none());
        }
    }
}
