//! Rows of known times.

use super::*;
use crate::analysis::tests::occurrences::{call, collective, exchange, job, occurrence, play};
use crate::stream::{Call, CallKind, Occurrence};
use common::name::NcclName;

fn rows(job: &Job, links: &Links, occurrences: &[Occurrence]) -> Vec<SpeedRow> {
    let mut speeds = Speeds::default();
    play(&mut speeds, job, occurrences);
    let dimension = Dimension { name: "DP".into(), ..Dimension::default() };
    speeds.finish(job, &[dimension], links).known().unwrap().rows.clone()
}

fn plain(job: &Job, occurrences: &[Occurrence]) -> Vec<SpeedRow> {
    rows(job, &Links::default(), occurrences)
}

/// Of four ranks the last one begins 40 us after the first and all end 10 us later: 1 MB in 10 us is 100 GB/s. With
/// 4 ranks the factor is 1.5, and the mean duration 50, 50, 50 and 10 us over 4.
#[test]
fn an_all_reduce_has_the_bandwidths_of_its_transfer_and_of_its_mean_duration() {
    let job = job(&[0; 4], &[&[0, 1, 2, 3]]);
    let of = |number: u64| {
        let begin = number as i64 * 100_000;
        collective(&job, number, 0, "AllReduce", 1_000_000, &[begin, begin, begin, begin + 40_000], begin + 50_000)
    };
    let links = Links { others: Some(1600.0), ..Links::default() };
    let rows = rows(&job, &links, &(0..20).map(of).collect::<Vec<_>>());
    let [row] = rows.as_slice() else { panic!("one row: {rows:?}") };
    let expected = SpeedRow {
        function: "AllReduce".into(),
        comm: "0000000000000001".into(),
        nranks: 4,
        dimension: "DP".into(),
        from_bytes: 1_000_000,
        to_bytes: 1_000_000,
        algorithm: "RING".into(),
        protocol: "SIMPLE".into(),
        count: 20,
        compared: 20,
        min_us: Some(10.0),
        median_us: Some(10.0),
        p95_us: Some(10.0),
        max_us: Some(10.0),
        mean_us: Some(40.0),
        algbw: Some(100.0),
        busbw: Some(150.0),
        busbw_mean: Some(37.5),
        nnodes: 1,
        utilisation: Some(0.75),
        ..SpeedRow::default()
    };
    assert_eq!(*row, expected);
}

/// The bytes of an all-gather are one rank's: S is 4 MB, and 3 MB cross the bus.
#[test]
fn an_all_gather_counts_the_bytes_of_all_ranks() {
    let job = job(&[0; 4], &[&[0, 1, 2, 3]]);
    let row = &plain(&job, &[collective(&job, 0, 0, "AllGather", 1_000_000, &[0; 4], 20_000)])[0];
    assert_eq!((row.algbw, row.busbw), (Some(200.0), Some(150.0)));
    let row = &plain(&job, &[collective(&job, 0, 0, "Broadcast", 1_000_000, &[0; 4], 20_000)])[0];
    assert_eq!((row.algbw, row.busbw, row.busbw_mean), (Some(50.0), None, None));
}

/// Each of four ranks sends 250 kB to each other one, and to itself or not: 750 kB cross the bus in 10 us.
#[test]
fn an_equal_all_to_all_has_a_bus_bandwidth_with_and_without_the_message_to_itself() {
    let job = job(&[0; 4], &[&[0, 1, 2, 3]]);
    for with_itself in [false, true] {
        let of = |rank: usize| {
            let peers = (0..4).filter(|&peer| with_itself || peer != rank as i32);
            let messages: Vec<_> =
                peers.flat_map(|peer| [true, false].map(|is_send| (peer, is_send, 250_000))).collect();
            let call = Call { kind: CallKind::AllToAll, ..exchange(&job, 0, rank, &messages) };
            (call, [0, 10_000])
        };
        let rows = plain(&job, &[occurrence(0, (0..4).map(of).collect(), 0)]);
        let row = &rows[0];
        assert_eq!((row.function.as_str(), row.from_bytes, rows.len()), ("AlltoAll", 750_000, 1));
        assert_eq!((row.algbw, row.busbw, row.imbalance, row.busiest), (Some(100.0), Some(75.0), None, None));
    }
}

/// Rank 0 sends 3 MB to rank 1, and nobody else anything: the busiest rank has 3 MB, the mean is 2 MB.
#[test]
fn unequal_sizes_have_no_bus_bandwidth_but_the_busiest_rank_s() {
    let job = job(&[0; 3], &[&[0, 1, 2]]);
    let all = |rank: usize, sent: &[(i32, u64)], received: &[(i32, u64)]| {
        let sends = sent.iter().map(|&(peer, bytes)| (peer, true, bytes));
        let messages: Vec<_> = sends.chain(received.iter().map(|&(peer, bytes)| (peer, false, bytes))).collect();
        (Call { kind: CallKind::AllToAll, ..exchange(&job, 0, rank, &messages) }, [0, 100_000])
    };
    let calls = vec![
        all(0, &[(1, 3_000_000), (2, 0)], &[(1, 0), (2, 0)]),
        all(1, &[(0, 0), (2, 0)], &[(0, 3_000_000), (2, 0)]),
        all(2, &[(0, 0), (1, 0)], &[(0, 0), (1, 0)]),
    ];
    let row = &plain(&job, &[occurrence(0, calls, 0)])[0];
    assert_eq!((row.algbw, row.busbw, row.busbw_mean), (None, None, None));
    assert_eq!((row.imbalance, row.busiest), (Some(1.5), Some(30.0)));
}

#[test]
fn a_send_and_its_receive_are_one_row() {
    let job = job(&[0; 2], &[&[0, 1]]);
    let calls =
        vec![(exchange(&job, 0, 0, &[(1, true, 500)]), [0, 100]), (exchange(&job, 0, 1, &[(0, false, 500)]), [0, 100])];
    let row = &plain(&job, &[occurrence(0, calls, 0)])[0];
    assert_eq!((row.function.as_str(), row.from_bytes, row.busbw), ("SendRecv", 500, Some(5.0)));
}

/// Two operations in one kernel count, without times.
#[test]
fn a_shared_kernel_has_no_time() {
    let job = job(&[0; 2], &[&[0, 1]]);
    let fused = |rank| (Call { is_fused: rank == 0, ..call(&job, 0, rank, "AllReduce", 8) }, [0, 10]);
    let row = &plain(&job, &[occurrence(0, vec![fused(0), fused(1)], 0)])[0];
    assert_eq!((row.count, row.compared, row.min_us, row.mean_us, row.busbw), (1, 0, None, None, None));
}

/// NCCL chose for the operations of a kernel together: settings are judged where all of a function are alone.
#[test]
fn settings_are_not_judged_by_operations_that_share_kernels() {
    let mut job = job(&[0; 2], &[&[0, 1]]);
    job.processes[0].nccl_settings = [("NCCL_PROTO".to_owned(), "^LL".to_owned())].into();
    let of = |number: u64, bytes: u64, is_fused: bool| {
        let part = |rank| (Call { is_fused, ..call(&job, 0, rank, "AllReduce", bytes) }, [0, 10]);
        occurrence(number, vec![part(0), part(1)], 0)
    };
    let forced = |all: &[Occurrence]| plain(&job, all).iter().filter(|row| row.forced.is_some()).count();
    assert_eq!(forced(&[of(0, 8, false), of(1, 1024, false)]), 2);
    assert_eq!(forced(&[of(0, 8, false), of(1, 1024, true)]), 0);
}

/// An operation that was not compared has a mean duration and no transfer.
#[test]
fn what_was_not_compared_is_absent() {
    let job = job(&[0; 2], &[&[0, 1]]);
    let mut one = collective(&job, 0, 0, "AllReduce", 1000, &[0, 0], 1000);
    one.compared = None;
    let row = &plain(&job, &[one])[0];
    assert_eq!((row.count, row.compared, row.busbw, row.algbw), (1, 0, None, None));
    assert_eq!((row.mean_us, row.busbw_mean), (Some(1.0), Some(1.0)));
    assert!(Speeds::default().finish(&job, &[], &Links::default()).absent().is_some());
}

/// Sizes of one function and communicator are put together, whatever the algorithm.
#[test]
fn many_sizes_are_powers_of_two_and_algorithms_stay_apart() {
    let job = job(&[0; 2], &[&[0, 1]]);
    let mut all: Vec<Occurrence> =
        (0..16).map(|number| collective(&job, number, 0, "AllReduce", 1024 + number, &[0, 0], 100)).collect();
    for part in &mut all[3].parts {
        part.call.algorithm = NcclName::of(Some(c"TREE"));
    }
    let rows = plain(&job, &all);
    let found: Vec<_> = rows.iter().map(|row| (row.from_bytes, row.to_bytes, &*row.algorithm, row.count)).collect();
    assert_eq!(found, [(1024, 2047, "RING", 15), (1024, 2047, "TREE", 1)]);
    assert_eq!(plain(&job, &all[..15]).len(), 15);
}

/// Sixteen communicators of two ranks in a node; in one of them an all-reduce of 16 MiB takes 130 us instead of 100 us.
#[test]
fn a_communicator_is_slow_among_those_of_its_shape() {
    let groups: Vec<[usize; 2]> = (0..16).map(|group| [2 * group, 2 * group + 1]).collect();
    let groups: Vec<&[usize]> = groups.iter().map(|group| &group[..]).collect();
    let job = job(&[0; 32], &groups);
    let slow = |takes: &dyn Fn(usize, u64) -> i64| {
        let mut speeds = Speeds::default();
        for group in 0..16 {
            for number in 0..20 {
                let stop = takes(group, number);
                play(&mut speeds, &job, &[collective(&job, number, group, "AllReduce", 16 << 20, &[0, 0], stop)]);
            }
        }
        let part = speeds.finish(&job, &[], &Links::default());
        let rows = &part.known().unwrap().rows;
        assert!(rows.iter().all(|row| row.expected.is_some()));
        let found = shape::slow(&job, rows, &[], None);
        found.into_iter().map(|slow| (slow.gpus, slow.shape)).collect::<Vec<_>>()
    };
    let usual = |group: usize, number: u64| 100_000 + (number as i64 * 37 + group as i64 * 11) % 20 * 100;
    assert_eq!(slow(&usual), []);
    let planted = |group, number| if group == 3 { usual(group, number) * 13 / 10 } else { usual(group, number) };
    assert_eq!(slow(&planted), [(vec![6, 7], 16)]);
    // by 10 % alone, and in a few operations alone
    assert_eq!(
        slow(&|group, number| if group == 3 { usual(group, number) * 11 / 10 } else { usual(group, number) }),
        []
    );
    assert_eq!(slow(&|group, number| usual(group, number) * if group == 3 && number < 8 { 5 } else { 1 }), []);
}

#[test]
fn a_baseline_is_joined_by_shape_function_and_size() {
    let row = |busbw| SpeedRow {
        function: "AllReduce".into(),
        nranks: 8,
        nnodes: 2,
        dimension: "DP".into(),
        from_bytes: 64,
        to_bytes: 64,
        busbw: Some(busbw),
        ..SpeedRow::default()
    };
    let earlier = crate::answer::Report {
        speed: Part::Known(Speed { rows: vec![row(40.0), row(44.0), row(50.0)], ..Speed::default() }),
        ..crate::sample::sample(1)
    };
    let baseline = Baseline::of_json(&serde_json::to_string(&earlier).unwrap()).unwrap();
    let mut speed = Speed { rows: vec![row(22.0), SpeedRow { nnodes: 4, ..row(22.0) }], ..Speed::default() };
    baseline.add_to(&mut speed, "a.json");
    assert_eq!(speed.rows.iter().map(|row| row.expected).collect::<Vec<_>>(), [Some(44.0), None]);
    assert_eq!(speed.baseline.as_deref(), Some("a.json"));
    let error = Baseline::of_json("{}").unwrap_err();
    assert!(error.starts_with("it is no report as --json writes it"), "{error}");
}
