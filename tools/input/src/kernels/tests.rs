//! Traces of profilers, and the operations that their kernels time.

use super::matching::MatchedTimes;
use super::own::KernelLane;
use super::*;
use crate::archive::nccl_kernel::Runs;
use common::name::NcclName;
use report::job::{RankOperation, Time, TimedBy};

fn process(rank: u32) -> Process {
    Process { rank: Some(rank), real0: 1_700_000_000_000_000_000, mono0: 5_000_000_000, ..Process::default() }
}

fn written(text: &str) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("trace.json");
    std::fs::write(&file, text).unwrap();
    (directory, file)
}

const EVENTS: &str = r#"[
    {"ph":"X","cat":"kernel","name":"gemm","ts":1.5,"dur":2,"args":{"device":0}},
    {"ph":"X","cat":"kernel","name":"gemm","ts":3.5,"dur":1},
    {"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce","pid":0,"tid":7,"ts":9,"dur":100},
    {"ph":"X","cat":"cpu_op","name":"aten::mm","ts":0,"dur":1000},
    {"ph":"M","name":"process_name","pid":"Spans","tid":"PyTorch Profiler","args":{"name":"python"}},
    {"ph":"X","cat":"kernel","name":"cut off","ts":30,"dur":null},
    {"ph":"X","cat":"gpu_memset","name":"Memset","ts":20,"dur":0.5}]"#;

#[test]
fn kernels_are_on_the_clock_of_their_process() {
    let text = format!(
        r#"{{"schemaVersion":1,"distributedInfo":{{"rank":3}},"traceEvents":{EVENTS},"baseTimeNanoseconds":1700000000000001000}}"#
    );
    let (_directory, file) = written(&text);
    let (kernels, problems) = read(&[file], &[process(2), process(3)]);
    assert!(problems.is_empty(), "{problems:?}");
    // 1 us behind `real0`; touching kernels are one interval
    assert_eq!(kernels.computation.by_process, [vec![], vec![[5_000_002_500, 5_000_005_500]]]);
    assert_eq!(kernels.nccl, [vec![], vec![own("ncclDevKernel_AllReduce", 7, [5_000_010_000, 5_000_110_000])]]);
}

#[test]
fn times_beyond_all_clocks_overflow_nothing() {
    let event = r#"{"cat":"kernel","name":"gemm","ts":-1e300,"dur":1e301}"#;
    let (_directory, file) =
        written(&format!(r#"{{"traceEvents":[{event}],"baseTimeNanoseconds":18446744073709551615}}"#));
    let (kernels, problems) = read(&[file], &[process(0)]);
    assert!(problems.is_empty(), "{problems:?}");
    assert_eq!(kernels.computation.by_process, [vec![[0, u64::MAX]]]);
}

#[test]
fn traces_without_a_place_are_refused() {
    let (_directory, file) = written(&format!(r#"{{"traceEvents":{EVENTS}}}"#));
    let refused = |processes: &[Process]| read(std::slice::from_ref(&file), processes).1.remove(0).to_string();
    let text = refused(&[process(0), process(1)]);
    assert!(text.contains("names no rank") && text.contains("1 traces"), "{text}");
    assert!(refused(&[Process::default()]).contains("does not say the time of day"));
    let (_directory, foreign) = written(&format!(r#"{{"distributedInfo":{{"rank":9}},"traceEvents":{EVENTS}}}"#));
    assert!(read(&[foreign], &[process(0)]).1.remove(0).to_string().contains("no process of the job has rank 9"));
    let (_directory, broken) = written(r#"{"traceEvents":[{"ph":"X",]}"#);
    let text = read(&[broken], &[process(0)]).1.remove(0).to_string();
    assert!(text.contains("trace.json") && text.contains("line 1 column"), "{text}");
}

/// An operation of communicator 1, alone in its kernel.
fn operation(order: u64, function: &str, [start, stop]: [u64; 2]) -> RankOperation {
    RankOperation {
        comm: 1,
        function: NcclName::of_text(function),
        order,
        kernel: order,
        source: TimedBy::Stamps,
        duration: stop - start,
        time: Some(Time { start, stop, clock: [500, 700], ahead: 90 }),
        stream: 3,
        ..RankOperation::default()
    }
}

fn own(name: &str, lane: i64, span: [u64; 2]) -> OwnKernel {
    OwnKernel { runs: Runs::of(name).unwrap(), lane: KernelLane([0, lane]), span }
}

/// Returns the times of operations with the kernels' times, and the number of kernels that have timed nothing.
fn timed(kernels: Vec<OwnKernel>, operations: &[RankOperation]) -> (Vec<Option<[u64; 2]>>, usize) {
    let matched = MatchedTimes::of(kernels, Box::new(operations.iter().copied().map(Ok)));
    let of = |operation: &RankOperation| {
        let timed = matched.timed(*operation);
        timed.time.filter(|_| timed.source == TimedBy::Kernels).map(|time| [time.start, time.stop])
    };
    (operations.iter().map(of).collect(), matched.unmatched)
}

const REDUCE: &str = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)";

/// Stamps of 100 all-reduces, 12 us apart, show each of them 9 us late: nearer to the kernel behind it. The last 20 are
/// apart, so that the difference of the clocks can be seen.
#[test]
fn the_difference_of_the_clocks_is_found_first() {
    let begin = |k: u64| 1_000_000 + if k < 100 { 12_000 * k } else { 1_200_000 + 500_000 * (k - 100) };
    let true_span = |k: u64| [begin(k), begin(k) + 11_000];
    let kernels = (0..250).map(|k| own(REDUCE, 7, true_span(k))).collect();
    let operations: Vec<_> = (0..250).map(|k| operation(k, "AllReduce", true_span(k).map(|t| t + 9_000))).collect();
    let (times, unmatched) = timed(kernels, &operations);
    assert_eq!((times, unmatched), ((0..250).map(|k| Some(true_span(k))).collect::<Vec<_>>(), 0));
}

#[test]
fn a_kernel_times_what_its_name_and_stream_say() {
    let near = |function, k: u64| operation(k, function, [1_002_000 + 100_000 * k, 1_049_000 + 100_000 * k]);
    let span = |k: u64| [1_000_000 + 100_000 * k, 1_050_000 + 100_000 * k];
    // the same function at the same time on two streams
    let other = RankOperation { comm: 2, stream: 4, ..near("AllReduce", 2) };
    let beside = RankOperation { comm: 2, stream: 4, ..near("AllReduce", 4) };
    let operations = [
        near("AllReduce", 0),
        near("AllReduce", 1),
        near("AllReduce", 2),
        other,
        near("AllGather", 3),
        beside,
        RankOperation { time: None, source: TimedBy::Proxy, ..near("AllReduce", 5) },
    ];
    let kernels = vec![
        own(REDUCE, 7, span(0)),
        own(REDUCE, 7, span(1)),
        own(REDUCE, 7, span(2)),
        own(REDUCE, 8, span(2).map(|time| time + 1_000)),
        own(REDUCE, 8, span(4)),
        // another function, no operation with a time, and none at all
        own(REDUCE, 7, span(3)),
        own(REDUCE, 7, span(5)),
        own(REDUCE, 7, span(900)),
    ];
    let (times, unmatched) = timed(kernels, &operations);
    let on_the_other = span(2).map(|time| time + 1_000);
    let expected = [Some(span(0)), Some(span(1)), Some(span(2)), Some(on_the_other), None, Some(span(4)), None];
    assert_eq!((times, unmatched), (expected.to_vec(), 3));
}

/// All sends and receives of a kernel have its time, whose clock is known as well as theirs and the difference of both.
#[test]
fn all_operations_of_a_kernel_have_its_time() {
    let message = |order, function| {
        let of = operation(order, function, [1_004_000, 1_020_000]);
        RankOperation { peer: Some(1), kernel: 6, source: TimedBy::Events, ..of }
    };
    let operations = [message(6, "Send"), message(7, "Recv")];
    let kernels = vec![own("ncclDevKernel_SendRecv", 7, [1_001_000, 1_019_000])];
    let matched = MatchedTimes::of(kernels, Box::new(operations.iter().copied().map(Ok)));
    assert_eq!((matched.count(), matched.unmatched), (1, 0));
    for operation in operations {
        let timed = matched.timed(operation);
        assert_eq!((timed.source, timed.duration), (TimedBy::Kernels, 18_000));
        assert_eq!(timed.time, Some(Time { start: 1_001_000, stop: 1_019_000, clock: [3_500, 3_700], ahead: 0 }));
    }
}

#[test]
fn damaged_times_end_nothing() {
    let kernels = (0..1000).map(|_| own("ncclDevKernel_Generic", 1, [u64::MAX, 0])).collect();
    assert_eq!(timed(kernels, &[operation(0, "AllReduce", [0, u64::MAX])]).0, [None]);
}
