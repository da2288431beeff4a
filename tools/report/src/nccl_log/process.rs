//! A process as its log describes it, and the phases of its communicators' inits (`Init timings`).

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::rc::Rc;

/// Most settings that are kept of a process; NCCL knows some 300.
const MAX_SETTINGS: usize = 512;

/// A process, by its lines.
#[derive(Debug, Default)]
pub struct LoggedProcess {
    /// The machine's name, up to its first dot.
    pub host: Rc<str>,
    /// Process id.
    pub pid: u32,
    /// Whether the log has what NCCL logs before its first communicator.
    pub has_begin: bool,
    /// NCCL's release; most releases log it on one rank alone.
    pub version: Option<Rc<str>>,
    /// Settings that NCCL took from the environment or from its file of settings, with the last value.
    pub settings: BTreeMap<Rc<str>, Rc<str>>,
    /// The adapters of InfiniBand or RoCE that NCCL found: `[0]mlx5_0:1/IB`.
    pub infiniband: Option<Rc<str>>,
    /// Whether NCCL looked for such adapters and found none.
    pub has_no_infiniband: bool,
    /// The interfaces of the sockets' network.
    pub sockets: Option<Rc<str>>,
    /// Libraries of network plugins that NCCL did not find.
    pub missing_plugin: Option<Rc<str>>,
    /// An adapter that cannot reach the memory of GPUs.
    pub no_gpu_direct: Option<Rc<str>>,
}

impl LoggedProcess {
    /// Keeps a setting. Returns whether there was room.
    pub(super) fn set(&mut self, name: Rc<str>, value: Rc<str>) -> bool {
        let has_room = self.settings.len() < MAX_SETTINGS || self.settings.contains_key(&name);
        if has_room {
            self.settings.insert(name, value);
        }
        has_room
    }

    /// Returns the value of a setting.
    pub fn setting(&self, name: &str) -> Option<&str> {
        self.settings.get(name).map(|value| &**value)
    }
}

/// Longest time that is believed, seconds: a week.
const MAX_SECONDS: f64 = 604_800.0;

/// Times of a rank's init, seconds, each with two decimals.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct InitPhases {
    /// From the begin to the end.
    pub total: f64,
    /// Loading of NCCL's kernels onto the GPU.
    pub kernels: f64,
    /// Memory; 0 up to release 2.22.
    pub alloc: f64,
    /// All ranks find each other.
    pub bootstrap: f64,
    /// Exchanges between all ranks.
    pub allgathers: f64,
    /// The machine's topology.
    pub topo: f64,
    /// The search of rings and trees.
    pub graphs: f64,
    /// Connections between ranks; later NCCLs make most of these with the first operation.
    pub connections: f64,
    /// All else.
    pub rest: f64,
}

impl InitPhases {
    /// Returns the means of several ranks; `None` for none.
    pub fn mean(ranks: &[Self]) -> Option<Self> {
        let mean = |of: fn(&Self) -> f64| ranks.iter().map(of).sum::<f64>() / ranks.len() as f64;
        (!ranks.is_empty()).then(|| Self {
            total: mean(|it| it.total),
            kernels: mean(|it| it.kernels),
            alloc: mean(|it| it.alloc),
            bootstrap: mean(|it| it.bootstrap),
            allgathers: mean(|it| it.allgathers),
            topo: mean(|it| it.topo),
            graphs: mean(|it| it.graphs),
            connections: mean(|it| it.connections),
            rest: mean(|it| it.rest),
        })
    }

    /// Returns the phases that a rank spends by itself, in NCCL's order. In the others it waits for later ranks.
    pub fn own(&self) -> [(&'static str, f64); 5] {
        [
            ("kernels", self.kernels),
            ("alloc", self.alloc),
            ("topo", self.topo),
            ("graphs", self.graphs),
            ("rest", self.rest),
        ]
    }
}

/// Reads `total 1.08 (kernels 0.51, alloc 0.02, bootstrap 0.22, ...)`; `None` if it is cut.
pub(super) fn phases(text: &str) -> Option<InitPhases> {
    let seconds = |label: &str| {
        let (_, behind) = text.split_once(label)?;
        let end = behind.find([',', ')', ' '])?;
        behind.get(..end)?.parse().ok().filter(|seconds: &f64| seconds.abs() <= MAX_SECONDS)
    };
    Some(InitPhases {
        total: seconds(" total ")?,
        kernels: seconds("kernels ")?,
        alloc: seconds("alloc ").unwrap_or(0.0),
        bootstrap: seconds("bootstrap ")?,
        allgathers: seconds("allgathers ")?,
        topo: seconds("topo ")?,
        graphs: seconds("graphs ")?,
        connections: seconds("connections ")?,
        rest: seconds("rest ")?,
    })
}
