use super::choices;
use crate::answer::{
    AdapterProof, Communicators, NcclChoices, NcclFinding, Pairs, Part, RankPair, ReportedCommunicator,
};
use crate::job::{Communicator, Gpu, Job, Member, Process};
use crate::nccl_log::{LogReader, NcclLog};
use common::hardware::nics::rates::NicRate;
use common::links::{GpuLinks, ProcessLinks};
use std::collections::BTreeMap;

/// A job of two processes with a GPU each on one machine, and a communicator of both.
fn job(adapter: &str) -> Job {
    let adapters = vec![NicRate { name: adapter.into(), mbit_s: 400_000 }];
    let links = ProcessLinks { gpus: vec![], adapters };
    let process = Process { host: Some("made0.site".into()), links: Some(links), ..Process::default() };
    let members = (0..2).map(|rank| Member { rank, gpu: rank as usize, made: 0 }).collect();
    Job {
        processes: vec![process; 2],
        gpus: (0..2).map(|process| Gpu { process, ..Gpu::default() }).collect(),
        communicators: vec![Communicator { comm: 7, nranks: 2, members, ..Communicator::default() }],
        places: BTreeMap::from([(7, 0)]),
    }
}

/// A line of rank `rank`, whose process is on machine `host`.
fn line(host: usize, rank: usize, thread: usize, text: &str) -> String {
    format!("made{host}:{}:{thread}{rank} [0] NCCL INFO {text}\n", 10 + rank)
}

/// The init of a rank on machine `host`, on the machine's GPU `gpu`.
fn init(id: u64, (rank, nranks, nodes): (usize, usize, usize), (host, process, gpu): (usize, usize, usize)) -> String {
    let fields =
        format!("comm 0x{id}{rank} rank {rank} nranks {nranks} cudaDev 0 nvmlDev {gpu} busId 1 commId 0x{id:x}");
    ["cudaDriverVersion 13000".to_owned(), format!("ncclCommInitRank {fields} - Init START")]
        .into_iter()
        .chain([format!(
            "comm 0x{id}{rank} rank {rank} nRanks {nranks} nNodes {nodes} localRanks 1 localRank 0 MNNVL 0"
        )])
        .chain([format!("ncclCommInitRank {fields} - Init COMPLETE")])
        .map(|text| line(host, process, 1, &text))
        .chain([line(
            host,
            process,
            1,
            &format!(
                "Init timings - f: rank {rank} nranks {nranks} total 1.00 (kernels 0.10, \
            alloc 0.10, bootstrap 0.10, allgathers 0.10, topo 0.10, graphs 0.10, connections 0.10, rest 0.30)"
            ),
        )])
        .collect()
}

fn read(text: &str) -> NcclLog {
    let mut reader = LogReader::default();
    reader.read(text.as_bytes()).unwrap();
    reader.finish()
}

fn known(log: &NcclLog, job: &Job) -> NcclChoices {
    let absent = (&Part::Absent(String::new()), &Part::Absent(String::new()));
    choices(Some(log), Some(job), absent).known().unwrap().clone()
}

#[test]
fn the_recordings_adapters_prove_that_sockets_are_a_fallback() {
    let socket = |host, rank| line(host, rank, 1, "Using network Socket");
    let inits = [socket(0, 0), init(9, (0, 2, 2), (0, 0, 0)), socket(1, 1), init(9, (1, 2, 2), (1, 1, 0))].concat();
    let log = read(&(inits + &line(0, 0, 3, "Channel 00/0 : 0[0] -> 1[0] [send] via NET/Socket/0")));
    let found = known(&log, &job("mlx5_0:1")).findings;
    let [NcclFinding::Sockets { adapters, connections: 1, .. }] = &found[..] else { panic!("{found:?}") };
    assert_eq!(adapters, &Some(AdapterProof::Recording { host: "made0".into(), adapters: "mlx5_0:1".into() }));
    assert!(known(&log, &job("eth0")).findings.is_empty());
}

#[test]
fn transfers_inside_a_node_are_found_where_a_like_node_has_none() {
    let id = |comm: u64| format!("{comm:016x}");
    // communicator 7 on node 0, 8 on node 1, each of the node's two GPUs
    let of = |places: [&str; 4], nnodes: i32, operations: u64| {
        let process = |place: &&str| {
            let gpus = vec![GpuLinks { gpu: (*place).into(), ..GpuLinks::default() }];
            Process { links: Some(ProcessLinks { gpus, adapters: vec![] }), ..Process::default() }
        };
        let communicator = |comm: u64, first: usize| {
            let members = (0..2).map(|rank| Member { rank, gpu: first + rank as usize, made: 0 }).collect();
            Communicator { comm, nranks: 2, nnodes, members, ..Communicator::default() }
        };
        let job = Job {
            processes: places.iter().map(process).collect(),
            gpus: (0..4).map(|process| Gpu { process, node: process / 2, ..Gpu::default() }).collect(),
            communicators: vec![communicator(7, 0), communicator(8, 2)],
            places: BTreeMap::from([(7, 0), (8, 1)]),
        };
        let row = |comm, operations| ReportedCommunicator { comm: id(comm), operations, ..Default::default() };
        let communicators = Part::Known(Communicators { rows: vec![row(7, 1), row(8, operations)] });
        let pair = RankPair { comm: id(7), transfers: 5, ..RankPair::default() };
        let pairs = Part::Known(Pairs { rows: vec![pair], ..Pairs::default() });
        choices(None, Some(&job), (&pairs, &communicators))
    };
    let expected = NcclFinding::ProxyInsideNode { comm: id(7), pairs: 1, transfers: 5, other: id(8) };
    assert_eq!(of(["a", "b", "a", "b"], 1, 1).known().unwrap().findings, [expected]);
    // other GPUs, pretended nodes, and a communicator without operations
    for other in [of(["a", "b", "a", "c"], 1, 1), of(["a", "b", "a", "b"], 2, 1), of(["a", "b", "a", "b"], 1, 0)] {
        assert_eq!(other.absent(), Some(NcclChoices::NO_LOG));
    }
}

/// Process 0 is rank 0 of two communicators, with process 1 on its machine and with process 2 on another one.
#[test]
fn a_connection_is_of_the_communicator_in_which_its_peer_has_this_gpu() {
    let inits = |gpu| {
        [
            init(7, (0, 2, 1), (0, 0, 0)),
            init(7, (1, 2, 1), (0, 1, 1)),
            init(8, (0, 2, 2), (0, 0, 0)),
            init(8, (1, 2, 2), (1, 2, gpu)),
        ]
        .concat()
    };
    let connection = line(0, 0, 3, "Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM");
    let rows = |text: &str| {
        let known = known(&read(text), &Job::default());
        let routes = known.communicators.iter().map(|row| row.routes.len());
        (routes.collect::<Vec<_>>(), known.unplaced)
    };
    assert_eq!(rows(&(inits(0) + &connection)), (vec![1, 0], 0));
    assert_eq!(rows(&(inits(1) + &connection)), (vec![0, 0], 1));
    // without its begin, a process may have further communicators
    let cut = init(7, (0, 2, 1), (0, 0, 0)).replace("cudaDriverVersion", "x") + &connection;
    assert_eq!(rows(&cut), (vec![0], 1));
}
