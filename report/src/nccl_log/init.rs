//! The phases of a communicator's init on a rank: NCCL's line `Init timings`.

use serde::{Deserialize, Serialize};

/// Longest time that is believed, seconds: a week.
const LONGEST: f64 = 604_800.0;

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
        behind.get(..end)?.parse().ok().filter(|seconds: &f64| seconds.abs() <= LONGEST)
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
