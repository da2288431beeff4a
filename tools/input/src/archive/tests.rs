//! Archives written by the replay's own writer, and read back.

use super::*;
use crate::otf2;
use crate::trace::{
    Attribute, LaneEvent, LaneRecord, LaneRegion, LaneTrace, Metric, ProcessTrace, ThreadTrace, TraceLanes, TraceMoment,
};
use common::name::NcclName;
use report::job::{RankOperation, TimedBy};

const BEGIN: u64 = 5_000;

fn record(time: u64, event: LaneEvent, attributes: &[(u32, u64)]) -> LaneRecord {
    LaneRecord { time: BEGIN + time, event, attributes: attributes.to_vec() }
}

/// Returns the records of an operation; attributes are sequence, peer and timing.
fn operation(region: u32, [start, stop]: [u64; 2], bytes: u64, attributes: &[(u32, u64)]) -> Vec<LaneRecord> {
    vec![
        record(start, LaneEvent::Enter(region), attributes),
        record(start, LaneEvent::Count(0, bytes), &[]),
        record(stop, LaneEvent::Leave(region), &[]),
    ]
}

fn lane(name: &str, operations: Vec<Vec<LaneRecord>>) -> LaneTrace {
    LaneTrace { name: name.into(), records: operations.concat() }
}

fn process() -> ProcessTrace {
    let region = |name: &str| LaneRegion { name: name.into(), kind: 0, paradigm: 0 };
    let attribute = |name: &str, is_text| Attribute { name: name.into(), description: "Words".into(), is_text };
    let bytes = Metric {
        name: "nccl_op_bytes".into(),
        description: "Bytes".into(),
        unit: "B".into(),
        mode: 0,
        value_type: 1,
        base: 1,
        exponent: 0,
    };
    // strings: 0 stamps, 1 proxy, 2 events
    let lanes = vec![
        lane(
            "NCCL 00000000000000aa rank 1",
            vec![
                operation(0, [100, 200], 64, &[(0, 7), (2, 0)]),
                operation(1, [300, 450], 32, &[(1, 0), (2, 2)]),
                operation(3, [600, 700], 8, &[(0, 0), (2, 1)]),
            ],
        ),
        lane("NCCL 00000000000000aa rank 1 (2)", vec![operation(2, [300, 450], 16, &[(1, 0), (2, 2)])]),
        lane("NCCL 00000000000000aa 1 to 0", vec![operation(4, [0, 900], 1, &[])]),
        lane("NCCL 00000000000000bb rank 0", vec![operation(0, [250, 260], 4, &[(0, 7), (2, 0)])]),
        lane("CUDA[0:7]", vec![operation(5, [10, 20], 0, &[]), operation(6, [20, 90], 0, &[])]),
    ];
    let moment = |time, enter| TraceMoment { time: BEGIN + time, enter, region: "step".into(), values: vec![] };
    ProcessTrace {
        name: "train.r1".into(),
        job: String::new(),
        node: "n017".into(),
        members: vec![],
        ticks_per_second: 2_000_000_000,
        begin: BEGIN,
        end: BEGIN + 1000,
        counters: vec![],
        threads: vec![ThreadTrace {
            name: "thread 1".into(),
            moments: vec![moment(40, true), moment(400, false), moment(500, true), moment(980, false)],
        }],
        lanes: TraceLanes {
            regions: [
                "ncclAllReduce",
                "ncclSend",
                "ncclRecv",
                "ncclAllReduce (not GPU-timed)",
                "NCCL transfers",
                "gemm",
            ]
            .map(region)
            .into_iter()
            .chain([region("ncclDevKernel_AllReduce")])
            .collect(),
            counters: vec![bytes],
            attributes: vec![
                attribute("nccl_sequence", false),
                attribute("nccl_peer", false),
                attribute("nccl_timing", true),
            ],
            strings: ["stamps", "proxy", "events"].map(String::from).to_vec(),
            lanes,
        },
    }
}

/// Writes the process into an archive and opens it; `None` without OTF2.
fn archive() -> Option<(tempfile::TempDir, Archive)> {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().join("archive");
    match otf2::write(&place, &[process()], None) {
        Ok(anchor) => Some((directory, Archive::open(&anchor).unwrap())),
        Err(otf2::Otf2Error::Library(reason)) => {
            println!("skipped: {reason}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn lanes_become_operations_in_the_order_of_their_begins() {
    let Some((_directory, archive)) = archive() else { return };
    let mut rows = archive.operations(0).unwrap();
    let mut all: Vec<RankOperation> = Vec::new();
    while let Some(operation) = rows.next().unwrap() {
        all.push(operation);
    }
    let shown = |it: &RankOperation| (it.comm, it.function, it.sequence, it.peer, it.bytes, it.source, it.duration);
    assert_eq!(
        all.iter().map(shown).collect::<Vec<_>>(),
        [
            (0xaa, NcclName::of(Some(c"AllReduce")), Some(7), None, 64, TimedBy::Stamps, 50),
            (0xbb, NcclName::of(Some(c"AllReduce")), Some(7), None, 4, TimedBy::Stamps, 5),
            (0xaa, NcclName::of(Some(c"Send")), None, Some(0), 32, TimedBy::Events, 75),
            (0xaa, NcclName::of(Some(c"Recv")), None, Some(0), 16, TimedBy::Events, 75),
            (0xaa, NcclName::of(Some(c"AllReduce")), Some(0), None, 8, TimedBy::Proxy, 50),
        ]
    );
    // a tick is half a nanosecond
    let times: Vec<_> = all.iter().map(|it| it.time.map(|time| [time.start, time.stop])).collect();
    assert_eq!(times, [Some([50, 100]), Some([125, 130]), Some([150, 225]), Some([150, 225]), None]);
    // the send and the receive share a kernel, and are one exchange
    assert_eq!(
        all.iter().map(|it| (it.order, it.kernel)).collect::<Vec<_>>(),
        [(0, 0), (0, 0), (1, 1), (2, 1), (3, 3)]
    );
    assert_eq!((all[2].group, all[3].group, all[0].group), (Some(1), Some(1), None));
}

#[test]
fn processes_kernels_and_regions_are_found() {
    let Some((_directory, archive)) = archive() else { return };
    assert_eq!(archive.processes(), 1);
    let About { process, communicators, .. } = archive.about(0, "run", &Sizes::default()).unwrap();
    assert_eq!((process.host.as_deref(), process.rank, process.span), (Some("n017"), Some(1), [0, 500]));
    let ranks: Vec<_> = communicators.iter().map(|made| (made.comm.as_str(), made.rank)).collect();
    assert_eq!(ranks, [("00000000000000aa", 1), ("00000000000000bb", 0)]);
    let kernels = archive.kernels().unwrap().unwrap();
    assert_eq!(kernels.by_process, [[[5, 10]]]);
    let steps = archive.regions("step").unwrap().unwrap();
    assert_eq!(steps.by_process, [[[20, 200], [250, 490]]]);
    assert_eq!(archive.regions("none").unwrap(), None);
}

#[test]
fn a_broken_archive_is_an_error() {
    let Some((directory, _)) = archive() else { return };
    let anchor = directory.path().join("archive/traces.otf2");
    std::fs::write(&anchor, b"no archive").unwrap();
    assert!(Archive::open(&anchor).is_err());
}
