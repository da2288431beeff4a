//! The metrics there are: names, units, meanings. One table serves Score-P, the summary and the documentation.

use crate::name::FUNCTIONS;
use std::ffi::{CStr, CString};
use std::sync::LazyLock;

/// Whom a counter belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// The process.
    Process,
    /// The calling thread.
    Thread,
}

/// Description of a counter: an accumulated whole number.
#[derive(Debug)]
pub struct Counter {
    /// Name.
    pub name: String,
    /// One sentence.
    pub description: CString,
    /// `ns`, `B` or `#`.
    pub unit: &'static CStr,
    /// Whom it belongs to.
    pub owner: Owner,
}

/// Description of a series: values over time.
#[derive(Debug, Clone, Copy)]
pub struct Series {
    /// Name; a rank may follow it as `@P`, where `by_peer`.
    pub name: &'static str,
    /// One sentence.
    pub description: &'static CStr,
    /// Unit.
    pub unit: &'static CStr,
    /// Whether there is one for each peer, too.
    pub by_peer: bool,
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

fixed! {
    /// Operations.
    Ops = "nccl_ops", c"#", Process, "Collective and point-to-point operations done";
    /// Bytes.
    Bytes = "nccl_bytes", c"B", Process, "Bytes of the operations done: elements times their size";
    /// Collective time.
    CollectiveTime = "nccl_collective_time", c"ns", Process, "Sum of the collective operations' times";
    /// Point-to-point time.
    P2pTime = "nccl_p2p_time", c"ns", Process, "Sum of the point-to-point operations' times";
    /// Busy time.
    BusyTime = "nccl_busy_time", c"ns", Process, "Time with at least one GPU-timed operation under way";
    /// Network bytes.
    NetBytes = "nccl_net_bytes", c"B", Process, "Bytes sent over the network";
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
    EnqueuedOps = "nccl_enqueued_ops", c"#", Thread, "Operations enqueued by calls of this thread, without replays of CUDA graphs";
    /// Enqueued bytes.
    EnqueuedBytes = "nccl_enqueued_bytes", c"B", Thread, "Bytes of the operations enqueued by calls of this thread, without replays of CUDA graphs";
    /// API time.
    ApiTime = "nccl_api_time", c"ns", Thread, "Time this thread spent inside NCCL's API";
    /// Untimed: graph. The causes are in the order of their numbers.
    UntimedGraph = "nccl_untimed_graph", c"#", Process, "Operations without a GPU time: of CUDA graphs";
    /// Untimed: no event.
    UntimedNoEvent = "nccl_untimed_no_event", c"#", Process, "Operations without a GPU time: no CUDA event was free";
    /// Untimed: CUDA failed.
    UntimedCudaFailed = "nccl_untimed_cuda_failed", c"#", Process, "Operations without a GPU time: a call of CUDA's failed";
    /// Untimed: not chosen.
    UntimedNotChosen = "nccl_untimed_not_chosen", c"#", Process, "Operations without a GPU time: left out to spare the job the cost of events";
    /// Untimed: not believed.
    UntimedNotBelieved = "nccl_untimed_not_believed", c"#", Process, "Operations without a GPU time: neither stamps nor events can be theirs";
}

/// What is shown by default: each counter costs at every enter and leave.
pub const DEFAULT: [Fixed; 6] =
    [Fixed::Ops, Fixed::Bytes, Fixed::BusyTime, Fixed::NetBytes, Fixed::EnqueuedBytes, Fixed::ApiTime];

/// What is counted of each function.
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
    ("bytes", c"B", "bytes of the operations done"),
    ("time", c"ns", "sum of the operations' times"),
];

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

/// All counters, in order.
pub fn counters() -> &'static [Counter] {
    &COUNTER_TABLE
}

/// Place of a function's counter in [`counters`].
pub fn of_function(function: usize, what: PerFunction) -> usize {
    FIXED.len() + function * PER_FUNCTION.len() + what as usize
}

/// All series.
pub const SERIES: [Series; 4] = [
    Series {
        name: "nccl_transfer_rate",
        description: c"Transfer rate over the network, fitted or bytes over active time, per window",
        unit: c"MB/s",
        by_peer: true,
    },
    Series {
        name: "nccl_transfer_latency",
        description: c"Latency of transfers over the network: regression of time over size, per window",
        unit: c"us",
        by_peer: true,
    },
    Series {
        name: "nccl_collective_time",
        description: c"Mean time of the GPU-timed collective operations, per window",
        unit: c"us",
        by_peer: false,
    },
    Series {
        name: "nccl_busbw",
        description: c"Bus bandwidth of the GPU-timed collective operations as nccl-tests defines it, per window",
        unit: c"GB/s",
        by_peer: false,
    },
];

/// The series that a token names: a name, or `name@P` for the transfers to rank P.
pub fn series(token: &str) -> Option<&'static Series> {
    let (name, peer) = token.split_once('@').map_or((token, None), |(name, peer)| (name, Some(peer)));
    let found = SERIES.iter().find(|series| series.name == name)?;
    match peer {
        None => Some(found),
        Some(peer) => (found.by_peer && peer.parse::<u32>().is_ok()).then_some(found),
    }
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
    fn series_are_named_with_or_without_a_peer() {
        assert_eq!(series("nccl_transfer_rate@3").unwrap().unit, c"MB/s");
        assert!(series("nccl_busbw").is_some());
        assert!(series("nccl_busbw@1").is_none() && series("nccl_transfer_rate@x").is_none());
        assert!(series("nccl_ops").is_none());
    }
}
