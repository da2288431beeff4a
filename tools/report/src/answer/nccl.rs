//! What NCCL itself chose, by its log: communicators, and its fallbacks.

use crate::nccl_log::InitPhases;
use serde::{Deserialize, Serialize};

/// NCCL's choices.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct NcclChoices {
    /// Communicators of the log, those of most ranks first.
    pub communicators: Vec<LoggedChoices>,
    /// Fallbacks, the one that costs most first.
    pub findings: Vec<NcclFinding>,
    /// Processes in the log.
    pub processes: u64,
    /// Their machines.
    pub hosts: u64,
    /// Connections that are in no row of `communicators`: they may be of several.
    #[serde(default)]
    pub unplaced: u64,
    /// Lines in the log.
    pub lines: u64,
    /// Lines of NCCL's.
    pub of_nccl: u64,
    /// Lines of NCCL's that could not be read: cut, mixed, or of a communicator that the log does not have.
    pub unread: u64,
    /// Lines that were passed over: too long, or too many for the memory that is used.
    pub passed_over: u64,
}

impl NcclChoices {
    /// Why the part is absent without a log.
    pub const NO_LOG: &'static str = "there is no log of NCCL (--nccl-log FILE, of a run with NCCL_DEBUG=INFO).";
}

/// A communicator of the log.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LoggedChoices {
    /// Its name in the log: `c0ffee...`, or `split 1 of c0ffee..., color 0`.
    pub name: String,
    /// The communicator of the report that it is, 16 hexadecimal digits; absent where no input proves it.
    pub comm: Option<String>,
    /// Number of ranks.
    pub nranks: u32,
    /// Ranks in the log.
    pub here: u64,
    /// Number of nodes.
    pub nodes: Option<u32>,
    /// NCCL's releases.
    pub releases: Vec<String>,
    /// The networks that its ranks chose, each once.
    pub networks: Vec<String>,
    /// Ways of its connections.
    pub routes: Vec<LoggedRoute>,
    /// Channels for collectives.
    pub channels: Option<u32>,
    /// Channels for NVLink SHARP.
    pub nvls_channels: Option<u32>,
    /// Channels for sends and receives.
    pub p2p_channels: Option<u32>,
    /// Adapters and interfaces of that network, each once, without addresses: `mlx5_0:1`, `eth0`.
    pub interfaces: Vec<String>,
    /// Phases of a rank's init, the mean of all ranks.
    pub mean_init: Option<InitPhases>,
    /// The rank whose init took longest.
    pub slowest: Option<u32>,
    /// Phases of that rank's init.
    pub slowest_init: Option<InitPhases>,
}

/// Connections of a communicator that take one way, each rank pair and channel counted once, at the sender.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoggedRoute {
    /// `P2P/CUMEM`, `SHM/direct`, `NET/IB/GDRDMA`.
    pub route: String,
    /// Inside a node.
    pub within: u64,
    /// Between nodes.
    pub between: u64,
    /// Where the log does not prove which.
    pub unknown: u64,
}

/// A setting that NCCL took from the environment.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LoggedSetting {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// Who proves that there are InfiniBand or RoCE adapters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AdapterProof {
    /// NCCL found them on one of the machines that use sockets.
    SameHost {
        /// The machine.
        host: String,
        /// The adapters.
        adapters: String,
    },
    /// NCCL found them on another machine of the job.
    OtherHost {
        /// The machine.
        host: String,
        /// The adapters.
        adapters: String,
    },
    /// The recording's process found them on one of the machines that use sockets.
    Recording {
        /// The machine.
        host: String,
        /// The adapters.
        adapters: String,
    },
}

/// Why NCCL took sockets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SocketsCause {
    /// A setting in the log.
    Setting(LoggedSetting),
    /// By their name: NCCL took them although it found adapters, or did not look for any. That is `NCCL_NET`, which
    /// NCCL does not log, or the program (`netName` of `ncclConfig_t`).
    ByName,
}

/// A fallback. Hosts are the first few in the order of their names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum NcclFinding {
    /// Sockets are used between nodes.
    Sockets {
        /// Machines.
        hosts: Vec<String>,
        /// Number of the machines.
        host_count: u64,
        /// Connections between nodes over sockets; 0 where the log has none.
        connections: u64,
        /// What asks for sockets.
        cause: Option<SocketsCause>,
        /// Who proves that there are adapters.
        adapters: Option<AdapterProof>,
    },
    /// GPUs of one node are connected by another way than peer-to-peer access.
    InsideNode {
        /// The way: `SHM/direct`, `NET/Socket`.
        route: String,
        /// Pairs of GPUs.
        pairs: u64,
        /// Machines.
        hosts: Vec<String>,
        /// Number of the machines.
        host_count: u64,
        /// The settings that forbid or limit other ways.
        settings: Vec<LoggedSetting>,
        /// A node of the communicator whose same GPUs use peer-to-peer access.
        alike: Option<String>,
    },
    /// Operations have transfers between GPUs of one node, and none between the same GPUs of another node: by the
    /// recording's events.
    ProxyInsideNode {
        /// Communicator, 16 hexadecimal digits.
        comm: String,
        /// Pairs of ranks.
        pairs: u64,
        /// Transfers.
        transfers: u64,
        /// The communicator of the other node, 16 hexadecimal digits.
        other: String,
    },
    /// Connections between nodes do not use GPUDirect RDMA.
    NoGpuDirect {
        /// The way: `NET/IB`.
        route: String,
        /// Connections without it.
        connections: u64,
        /// Machines.
        hosts: Vec<String>,
        /// Number of the machines.
        host_count: u64,
        /// A node whose same GPUs use it.
        alike: Option<String>,
        /// The setting that limits it.
        setting: Option<LoggedSetting>,
        /// An adapter that NCCL says cannot.
        adapter: Option<String>,
    },
    /// The network plugin that `NCCL_NET_PLUGIN` names was not found.
    PluginMissing {
        /// Files that NCCL looked for.
        files: String,
        /// Number of processes.
        processes: u64,
    },
    /// Communicators have as many channels as a setting allows.
    LimitedChannels {
        /// The setting.
        setting: LoggedSetting,
        /// Communicators.
        communicators: u64,
    },
    /// A communicator has fewer channels than another one of the same shape.
    FewerChannels {
        /// Communicator.
        name: String,
        /// Its machines.
        hosts: Vec<String>,
        /// Its channels for collectives.
        channels: u32,
        /// The other communicator.
        other: String,
        /// The other one's channels.
        other_channels: u32,
    },
    /// Ranks of a communicator have different releases of NCCL.
    Releases {
        /// Communicator.
        name: String,
        /// Releases.
        releases: Vec<String>,
    },
    /// Ranks of a communicator have different values of a setting that must be equal.
    Settings {
        /// Communicator.
        name: String,
        /// The setting.
        setting: String,
        /// Values, each with a rank that has it.
        values: Vec<(String, u32)>,
    },
    /// A rank's init takes much longer than the others'.
    SlowInit {
        /// Communicator.
        name: String,
        /// The rank.
        rank: u32,
        /// Its machine.
        host: String,
        /// The phase.
        phase: String,
        /// Its time, seconds.
        seconds: f64,
        /// Median of all ranks, seconds.
        median_s: f64,
        /// Number of such ranks of the communicator.
        ranks: u64,
    },
    /// Sockets are asked for by name, and the log has no connection over a network.
    UnusedSockets {
        /// What asks for them.
        cause: SocketsCause,
    },
    /// NCCL warned.
    Warning {
        /// The text of the first one.
        text: String,
        /// How often.
        count: u64,
        /// The machine of the first one.
        host: String,
        /// Whether several processes did.
        is_of_several: bool,
    },
}
