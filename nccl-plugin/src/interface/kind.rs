//! NCCL's event types and states, by number.

/// Bits of a descriptor's type and of the activation mask.
pub mod event {
    /// Group of operations.
    pub const GROUP: u64 = 1 << 0;
    /// Collective operation.
    pub const COLL: u64 = 1 << 1;
    /// Send or receive.
    pub const P2P: u64 = 1 << 2;
    /// Proxy operation.
    pub const PROXY_OP: u64 = 1 << 3;
    /// Step of a proxy operation.
    pub const PROXY_STEP: u64 = 1 << 4;
    /// State of the proxy thread.
    pub const PROXY_CTRL: u64 = 1 << 5;
    /// Kernel channel (v3 and later).
    pub const KERNEL_CH: u64 = 1 << 6;
    /// Event of a network plugin (v3 and later).
    pub const NET_PLUGIN: u64 = 1 << 7;
    /// Group of API calls (v5 and later).
    pub const GROUP_API: u64 = 1 << 8;
    /// Call of a collective function (v5 and later).
    pub const COLL_API: u64 = 1 << 9;
    /// Call of a point-to-point function (v5 and later).
    pub const P2P_API: u64 = 1 << 10;
    /// Launch of a kernel (v5 and later).
    pub const KERNEL_LAUNCH: u64 = 1 << 11;
    /// Collective by copy engine (v6 and later).
    pub const CE_COLL: u64 = 1 << 12;
    /// Synchronisation of a collective by copy engine (v6 and later).
    pub const CE_SYNC: u64 = 1 << 13;
    /// Batch of copies of a collective by copy engine (v6 and later).
    pub const CE_BATCH: u64 = 1 << 14;
    /// Phase within a kernel channel (v7 and later).
    pub const KERNEL_PHASE: u64 = 1 << 15;
}

/// Event states that this plugin reads.
pub mod state {
    /// A send step waits for the GPU.
    pub const PROXY_STEP_SEND_GPU_WAIT: i32 = 8;
    /// The data of a send step goes to the network.
    pub const PROXY_STEP_SEND_WAIT: i32 = 9;
    /// A receive step waits for data of the network.
    pub const PROXY_STEP_RECEIVE_WAIT: i32 = 10;
    /// The data of a receive step has come and is flushed into the GPU's memory.
    pub const PROXY_STEP_RECEIVE_FLUSH_WAIT: i32 = 11;
    /// A receive step waits for the GPU.
    pub const PROXY_STEP_RECEIVE_GPU_WAIT: i32 = 12;
    /// A progress thread has no proxy operation that moves on.
    pub const PROXY_CTRL_IDLE: i32 = 13;
    /// A progress thread moves proxy operations on.
    pub const PROXY_CTRL_ACTIVE: i32 = 14;
    /// A progress thread falls asleep.
    pub const PROXY_CTRL_SLEEP: i32 = 15;
    /// A progress thread wakes up.
    pub const PROXY_CTRL_WAKEUP: i32 = 16;
    /// A progress thread begins to take over proxy operations.
    pub const PROXY_CTRL_APPEND: i32 = 17;
    /// A progress thread has taken over proxy operations.
    pub const PROXY_CTRL_APPEND_END: i32 = 18;
    /// A send step waits for the receiver (v4 and later).
    pub const PROXY_STEP_SEND_PEER_WAIT: i32 = 20;
    /// The GPU has finished a kernel channel.
    pub const KERNEL_CH_STOP: i32 = 22;
    /// The application calls `ncclGroupEnd`.
    pub const GROUP_END_API_START: i32 = 24;
}
