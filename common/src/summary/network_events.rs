//! The events of network plugins in a process.

use crate::record::network_events::{self, CountedNetwork, NetworkCount};
use serde::{Deserialize, Serialize};

/// Events of one device, of one direction of sockets, or of other network plugins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkEvents {
    /// `queue pair`, `socket` or `other`.
    pub kind: String,
    /// Place of the device among those that NCCL has merged into one, else 0; of queue pairs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merged_device: Option<i32>,
    /// `send` or `receive`, of sockets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direction: Option<String>,
    /// Number of queue pairs, or of file descriptors of sockets. Events of the first 1,024 are counted by device and
    /// direction; those of the others share a row without this number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends: Option<u64>,
    /// Number of events: work requests of queue pairs, transfers over sockets.
    pub events: u64,
    /// Bytes. A receive of a queue pair has 0.
    pub bytes: u64,
}

impl NetworkEvents {
    /// Makes the rows of this process.
    pub(super) fn of_process() -> Vec<Self> {
        network_events::counts().into_iter().map(Self::of).collect()
    }

    /// Makes a row.
    pub(crate) fn of(count: NetworkCount) -> Self {
        let direction = |sends: bool| if sends { "send" } else { "receive" }.to_owned();
        let (kind, merged_device, direction) = match count.of {
            CountedNetwork::QueuePairs(device) => ("queue pair", device, None),
            CountedNetwork::Sockets(sends) => ("socket", None, sends.map(direction)),
            CountedNetwork::Other => ("other", None, None),
        };
        Self { kind: kind.into(), merged_device, direction, ends: count.ends, events: count.events, bytes: count.bytes }
    }
}
