//! The trace, decoded.

use super::*;
use crate::blank::blank;
use common::name::NcclName;
use report::job::{Communicator, Gpu, Member, TimedBy};
use report::stream::{Call, RankPart};

/// `Trace`.
#[derive(Clone, PartialEq, prost::Message)]
struct Whole {
    #[prost(message, repeated, tag = "1")]
    packets: Vec<Packet>,
}

fn job() -> Job {
    let gpu = |name: &str| Gpu { name: name.into(), ..Gpu::default() };
    let members = (0..2).map(|rank| Member { rank, gpu: rank as usize, made: 0 }).collect();
    Job {
        gpus: vec![gpu("rank 0"), gpu("rank 1")],
        communicators: vec![Communicator { comm: 0xaa, nranks: 2, members, ..Communicator::default() }],
        ..Job::default()
    }
}

fn judged(gpu: usize, span: Option<[i64; 2]>, latest: Option<[i64; 2]>) -> JudgedCall {
    let call = Call {
        rank: gpu as i32,
        gpu,
        function: NcclName::of(Some(c"AllReduce")),
        sequence: Some((7, 0)),
        bytes: 64,
        algorithm: NcclName::of(Some(c"RING")),
        enqueued: 1_100,
        enqueued_own: 1_100,
        source: if span.is_some() { TimedBy::Stamps } else { TimedBy::Enqueue },
        ..blank()
    };
    let wait = latest.zip(span).map(|([latest, _], [start, _])| latest - start);
    let part = RankPart { call, span, wait, likely: 10, error: 20 };
    JudgedCall { part, occurrence: 4, latest, cost: None, shared: 0, margin: 0 }
}

const OUTSIDE: Placed<'_> = Placed { step: None, dimension: "unknown" };

fn written(all: &[JudgedCall]) -> Vec<Packet> {
    let mut trace = Trace::new(Vec::new());
    all.iter().for_each(|judged| trace.call(&job(), judged, &OUTSIDE));
    Whole::decode(trace.finish().unwrap().as_slice()).unwrap().packets
}

fn events(packets: &[Packet]) -> Vec<(u64, i32, u64, Option<&str>)> {
    let events = packets.iter().filter_map(|packet| Some((packet.timestamp?, packet.event.as_ref()?)));
    events.map(|(time, event)| (time, event.kind, event.track, event.name.as_deref())).collect()
}

#[test]
fn waits_and_transfers_lie_in_their_calls() {
    let packets = written(&[judged(0, Some([2_000, 5_000]), Some([3_000, 5_000]))]);
    let name = Some("AllReduce");
    assert_eq!(
        events(&packets),
        [
            (1_100, INSTANT, 1, name),
            (2_000, BEGIN, 2, name),
            (2_000, BEGIN, 2, Some("wait")),
            (3_000, END, 2, None),
            (3_000, BEGIN, 2, Some("transfer")),
            (5_000, END, 2, None),
            (5_000, END, 2, None)
        ]
    );
    let tracks: Vec<_> = packets.iter().filter_map(|it| it.track.as_ref()).map(|it| (&*it.name, it.parent)).collect();
    assert_eq!(tracks, [("rank 0", None), ("NCCL 00000000000000aa", Some(1))]);
    let begin = packets.iter().filter_map(|it| it.event.as_ref()).find(|it| !it.flows.is_empty()).unwrap();
    assert_eq!(begin.flows, [5]);
    let wait = begin.annotations.iter().find(|it| it.name == "wait_ns").unwrap();
    assert_eq!(wait.value, Some(AnnotationValue::Signed(1_000)));
}

#[test]
fn overlapping_calls_are_on_further_tracks() {
    let span = |start, stop| judged(0, Some([start, stop]), None);
    let packets = written(&[span(2_000, 5_000), span(3_000, 4_000), span(4_500, 6_000), span(5_000, 7_000)]);
    let begins = events(&packets).into_iter().filter(|event| event.1 == BEGIN).map(|event| event.2);
    assert_eq!(begins.collect::<Vec<_>>(), [2, 3, 3, 2]);
}

#[test]
fn calls_without_a_gpu_time_are_marks() {
    let packets = written(&[judged(1, None, None)]);
    assert_eq!(events(&packets), [(1_100, INSTANT, 1, Some("AllReduce"))]);
}

#[test]
fn a_disk_that_is_full_is_an_error() {
    let mut short = [0_u8; 10];
    let mut trace = Trace::new(&mut short[..]);
    trace.call(&job(), &judged(0, None, None), &OUTSIDE);
    assert!(trace.finish().is_err());
}

#[test]
fn steps_have_slices_with_what_was_waited_in_them() {
    let mut job = job();
    job.communicators[0].name = "dp".into();
    let mut trace = Trace::new(Vec::new());
    // the warm-up, two steps, an evaluation, and a step whose last call is the recording's
    for (start, step) in
        [(2_000, None), (3_000, Some(0)), (4_000, Some(0)), (6_000, Some(1)), (8_000, None), (9_000, Some(2))]
    {
        let judged = judged(0, Some([start, start + 900]), Some([start + 100, start + 900]));
        trace.call(&job, &judged, &Placed { step, dimension: "DP" });
    }
    let packets = Whole::decode(trace.finish().unwrap().as_slice()).unwrap().packets;
    let tracks: Vec<_> = packets.iter().filter_map(|it| it.track.as_ref()).map(|it| (it.uuid, &*it.name)).collect();
    assert_eq!(tracks, [(1, "rank 0"), (2, "DP dp"), (3, "steps"), (4, "waited in a step")]);
    let of = |track| events(&packets).into_iter().filter(move |event| event.2 == track).map(|it| (it.0, it.1, it.3));
    let slices = [
        (3_000, BEGIN, Some("step 0")),
        (6_000, END, None),
        (6_000, BEGIN, Some("step 1")),
        (6_900, END, None),
        (9_000, BEGIN, Some("step 2")),
        (9_900, END, None),
    ];
    assert_eq!(of(3).collect::<Vec<_>>(), slices);
    let values = packets.iter().filter_map(|it| Some((it.timestamp?, it.event.as_ref()?.value?)));
    assert_eq!(values.collect::<Vec<_>>(), [(3_000, 200), (6_000, 100), (9_000, 100)]);
}
