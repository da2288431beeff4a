//! Logs as NCCL writes them with `NCCL_DEBUG=INFO`, of invented jobs: the forms of NCCL 2.23 to 2.32, with names and
//! numbers of our own.

use std::fmt::Write;

/// A job of one communicator of `nodes` x `gpus` ranks, which is ordinary unless a field says otherwise.
#[derive(Clone)]
pub(crate) struct Job {
    /// NCCL's minor release.
    pub(crate) minor: u32,
    pub(crate) nodes: usize,
    pub(crate) gpus: usize,
    /// Id of its communicator.
    pub(crate) id: u64,
    /// Number of its first machine.
    pub(crate) first: usize,
    /// What stands in each line before the host.
    pub(crate) before: &'static str,
    /// Lines of each process before its init, behind `NCCL INFO`.
    pub(crate) settings: Vec<&'static str>,
    /// Whether NCCL finds adapters on a node.
    pub(crate) has_adapters: fn(usize) -> bool,
    /// Whether `NCCL_NET` names the network, which NCCL does not log.
    pub(crate) by_name: bool,
    pub(crate) network: &'static str,
    /// How GPUs of a node are connected.
    pub(crate) inside: fn(usize) -> &'static str,
    /// How a node is connected to the next one.
    pub(crate) between: fn(usize) -> &'static str,
    pub(crate) channels: u32,
    /// Seconds of a rank's phase `topo`.
    pub(crate) topo: fn(usize) -> f64,
}

impl Job {
    /// An ordinary job: NVLinks inside nodes, InfiniBand with GPUDirect RDMA between them.
    pub(crate) fn new(nodes: usize, gpus: usize) -> Self {
        Self {
            minor: 28,
            nodes,
            gpus,
            id: 0x5ca1_ab1e_0000_c0de,
            first: 0,
            before: "",
            settings: vec![],
            has_adapters: |_| true,
            by_name: false,
            network: "IB",
            inside: |_| "P2P/CUMEM/read",
            between: |_| "NET/IB/0/GDRDMA",
            channels: 16,
            topo: |_| 0.25,
        }
    }

    /// The same with sockets between nodes, and no other adapters.
    pub(crate) fn over_sockets(nodes: usize, gpus: usize) -> Self {
        let between: fn(usize) -> &'static str = |_| "NET/Socket/0";
        Self { has_adapters: |_| false, network: "Socket", between, ..Self::new(nodes, gpus) }
    }

    pub(crate) fn set(mut self, line: &'static str) -> Self {
        self.settings.push(line);
        self
    }

    pub(crate) fn ranks(&self) -> usize {
        self.nodes * self.gpus
    }

    fn node(&self, rank: usize) -> usize {
        self.first + rank / self.gpus
    }

    /// Returns a line of a rank's thread.
    pub(crate) fn line(&self, rank: usize, thread: usize, text: &str) -> String {
        let (before, node, gpu) = (self.before, self.node(rank), rank % self.gpus);
        format!("{before}made{node}:{}:{} [{gpu}] NCCL INFO {text}", 1000 + rank, thread * 1000 + rank)
    }

    pub(crate) fn warning(&self, rank: usize, text: &str) -> String {
        let function = if self.minor >= 29 { " (ncclMade)" } else { "" };
        let line = self.line(rank, 2, text);
        line.replace("NCCL INFO", &format!("transport/made.cc:{}{function} NCCL WARN", 10 + rank))
    }

    /// Returns the lines of a rank.
    pub(crate) fn of_rank(&self, rank: usize) -> Vec<String> {
        let (ranks, gpu, node) = (self.ranks(), rank % self.gpus, rank / self.gpus);
        let mut lines = Vec::new();
        let mut main = |text: &str| lines.push(self.line(rank, 1, text));
        let colon = if self.minor >= 26 { "Bootstrap:" } else { "Bootstrap :" };
        main(&format!("{colon} Using eth0:10.1.0.{node}<0>"));
        main("cudaDriverVersion 13000");
        if rank == 0 {
            main(&format!("NCCL version 2.{}.1+cuda12.9", self.minor));
        }
        self.settings.iter().for_each(|line| main(line));
        let mut init = |text: &str| lines.push(self.line(rank, 2, text));
        init("NET/Plugin: Could not find: libnccl-net.so. Using internal net plugin.");
        match (self.has_adapters)(self.node(rank)) {
            _ if self.by_name && self.minor == 28 => (),
            true => init(&format!("NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB eth0:10.1.0.{node}<0>")),
            false => init("NET/IB : No device found."),
        }
        if self.network == "Socket" {
            init(&format!("NET/Socket : Using [0]eth0:10.1.0.{node}<0>"));
        }
        init(&format!("Using network {}", self.network));
        let fields =
            format!("comm 0x55{rank:06x} rank {rank} nranks {ranks} cudaDev {gpu} nvmlDev {gpu} busId {gpu}b000");
        let end = format!("commId 0x{:x} - Init", self.id);
        let begin = if self.minor >= 29 { format!("[Rank {rank}] ") } else { String::new() };
        init(&format!("{begin}ncclCommInitRankConfig {fields} {end} START"));
        init(&format!(
            "comm 0x55{rank:06x} rank {rank} nRanks {ranks} nNodes {} localRanks {} localRank {gpu} MNNVL 0",
            self.nodes, self.gpus
        ));
        init(&format!("Channel 00/{:02} :    0   1", self.channels));
        init("Trees [0] 1/-1/-1->0->-1 [1] 1/-1/-1->0->-1");
        init("P2P Chunksize set to 524288");
        init(&format!(
            "{0} coll channels, {0} collnet channels, 0 nvls channels, 32 p2p channels, 2 p2p channels per peer",
            self.channels
        ));
        init(&format!("ncclCommInitRankConfig {fields} {end} COMPLETE"));
        let topo = (self.topo)(rank);
        init(&format!(
            "Init timings - ncclCommInitRankConfig: rank {rank} nranks {ranks} total {:.2} (kernels 0.20, alloc 0.05, \
             bootstrap 0.30, allgathers 0.02, topo {topo:.2}, graphs 0.03, connections 0.04, rest 0.01)",
            0.65 + topo
        ));
        lines.extend(self.connections(rank));
        lines.push(self.line(rank, 3, "Connected all rings, use ring PXN 0 GDR 1"));
        lines
    }

    /// The ring's connections of a rank, by a thread of their own, as with the first operation.
    fn connections(&self, rank: usize) -> Vec<String> {
        let place = |rank: usize| format!("{rank}[{}]", rank % self.gpus);
        let [previous, next] = [rank + self.ranks() - 1, rank + 1].map(|peer| peer % self.ranks());
        let is_near = |peer: usize| self.node(peer) == self.node(rank);
        let mut lines = Vec::new();
        for channel in 0..self.channels {
            let mut say = |text: String| lines.push(self.line(rank, 3, &text));
            let [from, own, to] = [previous, rank, next].map(place);
            if !is_near(previous) {
                let way = (self.between)(self.node(previous));
                say(format!("Channel {channel:02}/0 : {from} -> {own} [receive] via {way}"));
            }
            match is_near(next) {
                false => say(format!(
                    "Channel {channel:02}/0 : {own} -> {to} [send] via {}",
                    (self.between)(self.node(rank))
                )),
                true if (self.inside)(self.node(rank)).starts_with("SHM") => {
                    // the second end is logged up to 2.29
                    let second = if self.minor < 30 { "/direct" } else { "" };
                    say(format!("Channel {channel:02} : {own} -> {to} via SHM/direct{second}"));
                }
                true if (self.inside)(self.node(rank)).starts_with("NET") => {
                    say(format!(
                        "Channel {channel:02}/0 : {own} -> {to} [send] via {}",
                        (self.inside)(self.node(rank))
                    ));
                }
                true => say(format!("Channel {channel:02}/0 : {own} -> {to} via {}", (self.inside)(self.node(rank)))),
            }
        }
        lines
    }

    /// Returns the lines of all ranks, one after the other.
    pub(crate) fn text(&self) -> String {
        (0..self.ranks()).flat_map(|rank| self.of_rank(rank)).fold(String::new(), |mut text, line| {
            let _ = writeln!(text, "{line}");
            text
        })
    }

    /// Returns the lines of all ranks, as they come to one file: each rank's in their order, the ranks mixed.
    pub(crate) fn mixed(&self) -> String {
        let mut random = fastrand::Rng::with_seed(7);
        let mut left: Vec<_> = (0..self.ranks()).map(|rank| self.of_rank(rank).into_iter()).collect();
        let mut text = String::new();
        while !left.is_empty() {
            let at = random.usize(..left.len());
            match left[at].next() {
                Some(line) => text += &(line + "\n"),
                None => drop(left.swap_remove(at)),
            }
        }
        text
    }
}
