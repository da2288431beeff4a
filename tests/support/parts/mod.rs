//! Parts of a made job, as its processes send them to the first one when Score-P's processes gather their figures.
//!
//! A training with tensor, data and pipeline parallelism: eight ranks a node share each layer, and ten stages follow
//! each other. Each process is a rank of four communicators: of all ranks, and of one of each dimension.

use common::arrivals::{Arrival, Arrivals, Collective, RankArrivals};
use common::clock_tree::{ClockOffset, ParentLink, binomial};
use common::name::NcclName;
use common::run_sums::CommunicatorRank;
use common::summary::{Channel, RankPlace, Summary, SummaryCommunicator, SummaryOperations, SummaryProcess, Transfers};
use serde::Serialize;
use std::ffi::CStr;

/// Ranks of a node.
pub(crate) const NODE: u32 = 8;
/// Stages of the pipeline.
const STAGES: u32 = 10;
/// The communicator of all ranks.
pub(crate) const WORLD: u64 = 1;
/// The rank that begins each collective of all ranks so much later, nanoseconds.
pub(crate) const LATE: (u32, u64) = (777, 3_000_000);
/// Channels of a connection between nodes.
const CHANNELS: u8 = 16;
/// A made job.
pub(crate) struct Parts {
    pub(crate) ranks: u32,
    /// A process' summary that the library has written.
    pub(crate) process: SummaryProcess,
    /// Most bytes of a part.
    pub(crate) bytes: usize,
    /// Arrivals of a part.
    pub(crate) arrivals: usize,
    /// Whether each part has as many rows as fit, and all arrivals are of one communicator.
    pub(crate) are_full: bool,
}

/// The text of a part.
#[derive(Serialize)]
struct Part<'a> {
    summary: &'a Summary,
    link: ParentLink,
    nanoseconds_per_tick: f64,
}

/// A process as a rank of a communicator.
struct Member {
    comm: u64,
    rank: u32,
    nranks: u32,
}

impl Parts {
    /// The communicators of a process: of all ranks, tensor, data and pipeline parallelism.
    fn members(&self, process: u32) -> [Member; 4] {
        let stage = self.ranks / STAGES;
        let member = |comm, rank, nranks| Member { comm, rank, nranks };
        let within = process % stage;
        [
            member(WORLD, process, self.ranks),
            member(0x1000_0000 + u64::from(process / NODE), process % NODE, NODE),
            member(0x2000_0000 + u64::from(process / stage * NODE + process % NODE), within / NODE, stage / NODE),
            member(0x3000_0000 + u64::from(within), process / stage, STAGES),
        ]
    }

    /// Returns what a process other than the first sends, and its number of rows of operations.
    pub(crate) fn of(&self, number: u32) -> (Vec<u8>, usize) {
        let arrivals = self.arrivals(number).encode();
        let mut summary = self.summary(number);
        let room = self.bytes - arrivals.len() - size_of::<u64>();
        if self.are_full {
            summary.channels.clear();
            summary.transfers.clear();
            let row = summary.operations[0].clone();
            let of_a_row =
                serde_json::to_vec(&SummaryOperations { peer: Some(1000), ..row.clone() }).unwrap().len() + 1;
            let more = (room - self.text(number, &summary).len()) / of_a_row;
            let peers = (0..more).map(|peer| SummaryOperations { peer: Some(1000 + peer as i32), ..row.clone() });
            summary.operations.extend(peers);
        }
        let mut text = self.text(number, &summary);
        if text.len() > room {
            summary.channels.clear();
            text = self.text(number, &summary);
        }
        assert!(text.len() <= room, "{} bytes and {} of arrivals", text.len(), arrivals.len());
        ([&(text.len() as u64).to_le_bytes()[..], &text, &arrivals].concat(), summary.operations.len())
    }

    fn text(&self, number: u32, summary: &Summary) -> Vec<u8> {
        let part = Part { summary, link: self.link(number), nanoseconds_per_tick: 1.0 };
        serde_json::to_vec(&part).unwrap()
    }

    fn link(&self, number: u32) -> ParentLink {
        let leader = number - number % NODE;
        // each node's clock began a second later
        let met = |ticks: u64, parent: u32| ClockOffset {
            own: ticks + u64::from(number / NODE) * 1_000_000_000,
            parents: ticks + u64::from(parent / NODE) * 1_000_000_000,
            error: 500,
        };
        if number != leader {
            return ParentLink { parent: leader, begin: None, end: ClockOffset { own: 0, parents: 0, error: 0 } };
        }
        let (parent, _) = binomial((number / NODE) as usize, self.ranks.div_ceil(NODE) as usize);
        let parent = parent.unwrap() as u32 * NODE;
        ParentLink { parent, begin: Some(met(1 << 40, parent)), end: met((1 << 40) + (1 << 42), parent) }
    }

    fn arrivals(&self, number: u32) -> Arrivals {
        let functions: [&CStr; 3] = [c"AllReduce", c"AllGather", c"ReduceScatter"];
        let all = self.arrivals as u64;
        let counts = if self.are_full { [all, 0, 0] } else { [all - all / 4, all / 8, all / 8] };
        let of_rank = |(place, count): (usize, u64)| {
            let Member { comm, rank, .. } = self.members(number)[place];
            let late = if comm == WORLD && rank == LATE.0 { LATE.1 } else { 0 };
            let collective = |at: u64| {
                let begin = (1 << 40) + at * 10_000_000 + u64::from(number / NODE) * 1_000_000_000;
                let arrival = Arrival {
                    time: begin + late,
                    length: 4_000_000 - late,
                    clock: [400, 300],
                    ahead: 20_000,
                    bytes: 25 << 20,
                    ..Arrival::default()
                };
                let function = NcclName::of(Some(functions[place]));
                Collective { function, sequence: at, order: at as u32, arrival }
            };
            RankArrivals::new(CommunicatorRank { comm, rank: rank as i32 }, (0..count).map(collective).collect())
        };
        Arrivals { ranks: counts.into_iter().enumerate().map(of_rank).collect(), ..Arrivals::default() }
    }

    fn summary(&self, number: u32) -> Summary {
        let mut summary = Summary::merge(vec![]);
        let mut process = self.process.clone();
        process.origin.host = Some(format!("node{:05}", number / NODE));
        process.origin.job = Some("slurm 1234567.0".into());
        process.origin.rank = Some(number);
        process.origin.ranks = Some(self.ranks);
        let variables = [("SLURM_JOB_ID", 1_234_567), ("SLURM_PROCID", number), ("SLURM_NTASKS", self.ranks)];
        process.origin.variables = variables.map(|(name, value)| (name.to_owned(), value.to_string())).into();
        summary.processes = vec![process];
        let id = |comm: u64| format!("{comm:016x}");
        for (member, name) in self.members(number).iter().zip(["world", "tp", "dp", "pp"]) {
            let ranks = vec![RankPlace { rank: member.rank as i32, process: 0 }];
            let (nranks, nnodes) = (member.nranks as i32, member.nranks.div_ceil(NODE) as i32);
            summary.communicators.push(SummaryCommunicator {
                comm: id(member.comm),
                nranks,
                nnodes,
                name: name.into(),
                ranks,
            });
        }
        let members = self.members(number);
        let rows: [(&Member, &[&str]); 3] = [
            (&members[0], &["AllReduce"]),
            (&members[1], &["AllGather", "AllReduce", "ReduceScatter"]),
            (&members[2], &["AllGather", "AllReduce", "ReduceScatter"]),
        ];
        let collectives = rows.iter().flat_map(|(member, functions)| {
            functions.iter().map(|function| operations(id(member.comm), member.rank, function, None))
        });
        summary.operations = collectives.collect();
        let [.., data, pipeline] = &members;
        let next = |member: &Member| ((member.rank + 1) % member.nranks) as i32;
        for peer in [next(pipeline), pipeline.rank as i32 - 1].into_iter().filter(|&peer| peer >= 0) {
            let row = |function| operations(id(pipeline.comm), pipeline.rank, function, Some(peer));
            summary.operations.extend(["Send", "Recv"].map(row));
        }
        for (member, channels) in [(&members[0], CHANNELS), (data, CHANNELS), (pipeline, 2)] {
            let (comm, rank, peer) = (id(member.comm), member.rank as i32, next(member));
            summary.transfers.push(transfers(comm.clone(), rank, peer, channels));
            let channel = |channel| Channel {
                comm: comm.clone(),
                rank,
                peer,
                channel,
                transfers: 123_456,
                bytes: 12_345_678_901,
                mean_size_bytes: 131_072.123,
                mean_time_us: 4_365.671_440_104_167,
            };
            summary.channels.extend((0..channels).map(channel));
        }
        summary
    }
}

fn operations(comm: String, rank: u32, function: &str, peer: Option<i32>) -> SummaryOperations {
    SummaryOperations {
        comm,
        rank: rank as i32,
        kind: if peer.is_some() { "P2p" } else { "Coll" }.into(),
        func: function.into(),
        peer,
        count: 123_456,
        bytes: 123_456 << 20,
        gpu_timed: 123_456,
        event_timed: 0,
        time_us: 12_345_678.901,
        kernel_time_us: 12_345_678.901,
        kernel_once_us: 12_345_678.901,
        min_us: Some(1227.552),
        max_us: Some(4715.616),
        proxy_timed: 0,
        proxy_time_us: 0.0,
        enqueue_timed: 0,
        enqueue_time_us: 0.0,
    }
}

fn transfers(comm: String, rank: i32, peer: i32, channels: u8) -> Transfers {
    Transfers {
        comm,
        rank,
        peer,
        transfers: 1_234_567,
        bytes: 123_456_789_012,
        sizes: 3,
        channels: channels.into(),
        active_us: 436_982.942,
        sustained_rate_mb_s: Some(460.719_567_413_328_9),
        typical_rate_mb_s: Some(1_677.856_472_814_710_3),
        typical_error_mb_s: None,
        mean_in_flight: Some(6.626_953_125),
        max_in_flight: Some(8),
        fit: None,
        channel_fits: None,
    }
}
