//! One cause each.

use super::super::Condition;
use super::super::finding::{CallDifference, CallShift, Diagnosis, HangVerdict, RootCause};
use super::job::{At, Job, ago, who};
use crate::statuses::Life;
use common::status::{OpenCall, StatusOperation, Waiting};

/// Returns the only cause.
fn cause(diagnosis: &Diagnosis) -> &RootCause {
    assert_eq!((diagnosis.verdict, diagnosis.findings.len()), (HangVerdict::Hang, 1), "{diagnosis:#?}");
    &diagnosis.findings[0].cause
}

/// Four ranks, of which rank 2 does not enter the next collective.
fn skipped() -> Job {
    let job = Job::of(4).communicator("world", &[0, 1, 2, 3], 50);
    [0, 1, 3].into_iter().fold(job, |job, rank| job.enters(rank, "world", "AllReduce", 40 + rank as u64, At::Begun))
}

#[test]
fn a_rank_that_has_not_entered_is_named_with_those_that_wait() {
    let diagnosis = skipped().diagnosis();
    let RootCause::NotEntered { wait } = cause(&diagnosis) else { unreachable!("{diagnosis:?}") };
    assert_eq!(who(wait), ("world", Some(100), vec![0, 1, 3], vec![2]));
    assert_eq!((wait.seconds, wait.call.as_ref().unwrap().bytes), (43.0, 4096));
    let lacking = &wait.lacking[0];
    assert_eq!((lacking.process.pid, lacking.seconds), (1002, Some(51.0)));
}

#[test]
fn a_wait_that_is_short_or_moves_is_late_alone() {
    let late = |job: Job| {
        let diagnosis = job.diagnosis();
        assert!(diagnosis.findings.is_empty() && diagnosis.verdict == HangVerdict::Well, "{diagnosis:#?}");
        diagnosis.late.map(|wait| who(&wait).3)
    };
    let short = Job::of(2).communicator("world", &[0, 1], 4).enters(0, "world", "AllReduce", 3, At::Begun);
    assert_eq!(late(short), Some(vec![1]));
    assert_eq!(late(skipped().with(2, |process| process.moved[0] = true)), Some(vec![2]));
}

#[test]
fn a_root_that_has_finished_does_not_wait() {
    let job = Job::of(2).communicator("world", &[0, 1], 50).enters(0, "world", "Broadcast", 40, At::Finished);
    assert_eq!(job.diagnosis().verdict, HangVerdict::Idle);
}

#[test]
fn the_first_call_that_differs_is_named_with_the_minority() {
    let job = Job::of(4).communicator("world", &[0, 1, 2, 3], 50);
    let job = [0, 1, 3].into_iter().fold(job, |job, rank| job.enters(rank, "world", "AllReduce", 40, At::Begun));
    // what the others call next, as its own
    let job = [0, 1, 3].into_iter().fold(job, |job, rank| job.enters(rank, "world", "AllGather", 40, At::Entered));
    let diagnosis = job.enters(2, "world", "AllGather", 40, At::Begun).diagnosis();
    let RootCause::Desynchronised { number: 100, variants, .. } = cause(&diagnosis) else {
        unreachable!("{diagnosis:?}")
    };
    let ranks: Vec<_> = variants.iter().map(|variant| (variant.call.func.as_str(), variant.ranks.clone())).collect();
    assert_eq!(ranks, [("AllReduce", vec![0, 1, 3]), ("AllGather", vec![2])]);
    assert_eq!(variants[1].shift, Some(CallShift::Lacks));
    assert_eq!(diagnosis.findings[0].waits.len(), 1);
}

/// Ranks 0 to 2 call one operation, each of which a test changes. Returns the differences from the majority's call and
/// the ranks of each call; nothing where no rank differs.
fn variants(change: impl Fn(usize, &mut StatusOperation)) -> Vec<(Option<CallDifference>, Vec<i32>)> {
    variants_of(|job| job, 8, change)
}

/// As [`variants`], of operations that were entered so many seconds ago in a job that is changed.
fn variants_of(
    change_job: impl Fn(Job) -> Job,
    seconds: u64,
    change: impl Fn(usize, &mut StatusOperation),
) -> Vec<(Option<CallDifference>, Vec<i32>)> {
    let job = change_job(Job::of(3).communicator("world", &[0, 1, 2], seconds + 1));
    let mut job = (0..3).fold(job, |job, rank| job.enters(rank, "world", "Reduce", seconds, At::Begun));
    (0..3).for_each(|rank| change(rank, job.at(rank, "world").operations.last_mut().unwrap()));
    let diagnosis = job.diagnosis();
    let found = diagnosis.findings.iter().find_map(|finding| match &finding.cause {
        RootCause::Desynchronised { variants, .. } => Some(variants),
        _ => None,
    });
    let Some(variants) = found else { return vec![] };
    variants.iter().map(|variant| (variant.differs, variant.ranks.clone())).collect()
}

#[test]
fn the_first_part_that_differs_is_named() {
    let of = |change: fn(&mut StatusOperation)| {
        // with everything known
        let found = variants(|rank, operation| {
            (operation.count, operation.root) = (Some(1024), Some(0));
            if rank == 1 {
                change(operation);
            }
        });
        if let Some(most) = found.first() {
            assert_eq!(most, &(None, vec![0, 2]));
        }
        found.get(1).map(|(differs, ranks)| (differs.unwrap(), ranks.clone()))
    };
    let differs = |difference| Some((difference, vec![1]));
    assert_eq!(of(|_| {}), None);
    let all: fn(&mut StatusOperation) = |operation| {
        (operation.func, operation.root) = ("AllReduce".into(), Some(1));
        (operation.count, operation.bytes, operation.datatype) = (Some(2048), 2048, Some("ncclInt8".into()));
    };
    assert_eq!(of(all), differs(CallDifference::Function));
    // as many bytes
    assert_eq!(
        of(|operation| (operation.count, operation.datatype) = (Some(2048), Some("ncclFloat16".into()))),
        differs(CallDifference::Count)
    );
    assert_eq!(
        of(|operation| (operation.datatype, operation.root) = (Some("ncclInt32".into()), Some(1))),
        differs(CallDifference::Datatype)
    );
    // as many elements
    assert_eq!(
        of(|operation| (operation.bytes, operation.datatype) = (8192, Some("ncclInt64".into()))),
        differs(CallDifference::Datatype)
    );
    assert_eq!(of(|operation| operation.root = Some(1)), differs(CallDifference::Root));
    // as of an earlier library
    assert_eq!(of(|operation| (operation.count, operation.datatype, operation.root) = (None, None, None)), None);
    assert_eq!(
        of(|operation| (operation.count, operation.datatype, operation.bytes) = (None, None, 8192)),
        differs(CallDifference::Bytes)
    );
    // a type of unknown size
    assert_eq!(of(|operation| (operation.count, operation.datatype, operation.bytes) = (None, None, 0)), None);
}

/// As an all-gather of as many bytes: NCCL forbids it, and moves them.
#[test]
fn types_that_differ_hold_up_nothing_where_gpus_have_finished() {
    let finished = |change: fn(&mut StatusOperation), all: bool| {
        let found = variants(|rank, operation| {
            (operation.count, operation.root) = (Some(1024), Some(0));
            operation.finished = Some(ago(1)).filter(|_| all || rank > 0);
            if rank == 1 {
                change(operation);
            }
        });
        found.get(1).and_then(|(differs, _)| *differs)
    };
    let as_bytes: fn(&mut StatusOperation) =
        |operation| (operation.count, operation.datatype) = (Some(4096), Some("ncclInt8".into()));
    assert_eq!([true, false].map(|all| finished(as_bytes, all)), [None, Some(CallDifference::Count)]);
    let integers: fn(&mut StatusOperation) = |operation| operation.datatype = Some("ncclInt32".into());
    assert_eq!([true, false].map(|all| finished(integers, all)), [None, Some(CallDifference::Datatype)]);
    assert_eq!(finished(|operation| operation.root = Some(1), true), Some(CallDifference::Root));
    let shorter: fn(&mut StatusOperation) = |operation| (operation.count, operation.bytes) = (Some(512), 2048);
    assert_eq!(finished(shorter, true), Some(CallDifference::Count));
}

/// The diagnosis takes 5 s for a hang.
#[test]
fn types_that_differ_hold_up_nothing_where_ranks_go_on_or_have_just_entered() {
    let found = |moved: bool, sees_gpu: bool, seconds: u64| {
        let job = |job: Job| {
            (0..3).fold(job, |mut job, rank| {
                job.at(rank, "world").sees_gpu = sees_gpu;
                job.with(rank, |observed| observed.moved = vec![moved])
            })
        };
        !variants_of(job, seconds, |rank, operation| {
            operation.datatype = Some(if rank == 1 { "ncclInt32" } else { "ncclFloat32" }.into());
        })
        .is_empty()
    };
    assert!(found(false, false, 8) && found(false, true, 8) && found(true, true, 8));
    assert!(!found(true, false, 8), "the ranks go on");
    assert!(!found(false, false, 2) && !found(false, true, 2), "they are in it for less than that");
}

/// A rank that says less agrees with all others, which may differ nevertheless.
#[test]
fn ranks_differ_though_another_one_says_nothing() {
    for silent in 0..3 {
        let others: Vec<usize> = (0..3).filter(|&rank| rank != silent).collect();
        let types = variants(|rank, operation| match rank {
            _ if rank == silent => operation.datatype = None,
            _ if rank == others[0] => operation.datatype = Some("ncclInt32".into()),
            _ => {}
        });
        assert_eq!(
            types.iter().map(|(differs, _)| *differs).collect::<Vec<_>>(),
            [None, Some(CallDifference::Datatype)]
        );
        let roots = variants(|rank, operation| operation.root = [None, Some(5), Some(6)][(rank + 3 - silent) % 3]);
        assert_eq!(roots.iter().map(|(differs, _)| *differs).collect::<Vec<_>>(), [None, Some(CallDifference::Root)]);
        let mut ranks: Vec<i32> = roots.iter().flat_map(|(_, ranks)| ranks.clone()).collect();
        ranks.sort_unstable();
        assert_eq!(ranks, [0, 1, 2]);
    }
}

#[test]
fn a_process_that_is_gone_is_dead_and_others_wait_for_it() {
    let dead = |life, beats| {
        let diagnosis = skipped().with(2, |process| (process.life, process.beats) = (life, beats)).diagnosis();
        let RootCause::Processes { condition, processes } = cause(&diagnosis) else { unreachable!("{diagnosis:?}") };
        let waits: Vec<_> = diagnosis.findings[0].waits.iter().map(who).collect();
        assert_eq!(waits, [("world", Some(100), vec![0, 1, 3], vec![2])]);
        (*condition, processes.iter().map(|process| process.rank.unwrap()).collect::<Vec<_>>())
    };
    assert_eq!(dead(Life::Gone, false), (Condition::Dead, vec![2]));
    assert_eq!(dead(Life::Zombie, true), (Condition::Dead, vec![2]));
    assert_eq!(dead(Life::Left, false), (Condition::Left, vec![2]));
    assert_eq!(dead(Life::Stopped, false), (Condition::Stopped, vec![2]));
    assert_eq!(dead(Life::Elsewhere, false), (Condition::Silent, vec![2]));
}

#[test]
fn a_dead_process_that_had_entered_is_still_waited_for() {
    let job = Job::of(2).communicator("world", &[0, 1], 50);
    let job = (0..2).fold(job, |job, rank| job.enters(rank, "world", "AllReduce", 40, At::Begun));
    let diagnosis = job.with(1, |process| (process.life, process.beats) = (Life::Gone, false)).diagnosis();
    assert!(matches!(cause(&diagnosis), RootCause::Processes { condition: Condition::Dead, .. }));
    assert_eq!(who(&diagnosis.findings[0].waits[0]), ("world", Some(100), vec![0], vec![1]));
}

#[test]
fn a_process_that_may_have_left_by_exit_is_named_if_others_wait_alone() {
    let job = Job::of(4).communicator("world", &[0, 1, 2, 3], 50);
    let diagnosis = job.with(2, |process| (process.life, process.beats) = (Life::Left, false)).diagnosis();
    assert_eq!((diagnosis.verdict, diagnosis.findings.len()), (HangVerdict::Idle, 0));
    assert_eq!((diagnosis.processes.left, diagnosis.processes.dead, diagnosis.processes.running), (1, 0, 3));
}

#[test]
fn a_process_that_has_ended_in_order_is_named_if_others_wait() {
    let ended = |job: Job| job.with(2, |process| process.status.over = Some(ago(30))).diagnosis();
    let diagnosis = ended(skipped());
    assert!(matches!(cause(&diagnosis), RootCause::Processes { condition: Condition::Ended, .. }));
    let diagnosis = ended(Job::of(4).communicator("world", &[0, 1, 2, 3], 50));
    assert_eq!((diagnosis.verdict, diagnosis.findings.len()), (HangVerdict::Idle, 0));
    assert_eq!((diagnosis.processes.ended, diagnosis.processes.running), (1, 3));
}

#[test]
fn communicators_in_crossed_order_are_named_with_the_ranks() {
    let job = Job::of(3).communicator("a", &[0, 1, 2], 50).communicator("b", &[0, 1, 2], 50);
    let job = job.enters(0, "a", "AllReduce", 40, At::Begun).enters(2, "a", "AllReduce", 40, At::Begun);
    let diagnosis = job.enters(1, "b", "AllGather", 41, At::Begun).diagnosis();
    let RootCause::Crossed { circle } = cause(&diagnosis) else { unreachable!("{diagnosis:?}") };
    let legs: Vec<_> = circle.iter().map(who).collect();
    assert_eq!(legs, [("a", Some(100), vec![0, 2], vec![1]), ("b", Some(100), vec![1], vec![0, 2])]);
    assert!(diagnosis.findings[0].waits.is_empty());
}

/// All calls are made, and the GPUs' streams have another order.
#[test]
fn crossed_order_on_gpus_is_seen() {
    let mut job = Job::of(2).communicator("a", &[0, 1], 50).communicator("b", &[0, 1], 50);
    for (rank, first, second) in [(0, "a", "b"), (1, "b", "a")] {
        job = job.enters(rank, first, "AllReduce", 40, At::Begun).enters(rank, second, "AllReduce", 40, At::Entered);
    }
    let diagnosis = job.diagnosis();
    let RootCause::Crossed { circle } = cause(&diagnosis) else { unreachable!("{diagnosis:?}") };
    assert_eq!(circle.len(), 2);
}

#[test]
fn a_gpu_that_does_not_begin_is_named() {
    let job = Job::of(3).communicator("world", &[0, 1, 2], 50);
    let job = job.enters(0, "world", "AllReduce", 40, At::Begun).enters(1, "world", "AllReduce", 40, At::Begun);
    let diagnosis = job.enters(2, "world", "AllReduce", 41, At::Entered).diagnosis();
    let RootCause::NotBegun { wait } = cause(&diagnosis) else { unreachable!("{diagnosis:?}") };
    assert_eq!(who(wait), ("world", Some(100), vec![0, 1], vec![2]));
}

#[test]
fn a_link_that_stands_is_named_with_both_ends() {
    let job = Job::of(3).communicator("world", &[0, 1, 2], 50);
    let job = (0..3).fold(job, |job, rank| job.enters(rank, "world", "AllReduce", 40, At::Begun));
    let job = job.transfers(2, "world", 0, true, Waiting::Gpu).transfers(0, "world", 2, false, Waiting::Step);
    let job = job.transfers(1, "world", 2, true, Waiting::Network).transfers(2, "world", 1, false, Waiting::Step);
    let links = |diagnosis: &Diagnosis| {
        let RootCause::Unfinished { wait, network, .. } = cause(diagnosis) else { unreachable!("{diagnosis:?}") };
        assert_eq!(who(wait).2, vec![0, 1, 2]);
        (network[0].from, network[0].to, network[0].sender.unwrap().state, network[0].receiver.is_some())
    };
    assert_eq!(links(&job.diagnosis()), (1, 2, Waiting::Network, true));
    // where GPUs are not seen, the link alone shows the wait
    let blind = (0..3).fold(job, |job, rank| {
        job.with(rank, |process| {
            let at = &mut process.status.communicators[0];
            at.sees_gpu = false;
            at.operations.iter_mut().for_each(|operation| (operation.begun, operation.finished) = (None, None));
        })
    });
    assert_eq!(links(&blind.diagnosis()), (1, 2, Waiting::Network, true));
}

#[test]
fn a_send_that_nobody_receives_names_the_peer() {
    let job = Job::of(2).communicator("world", &[0, 1], 50).calls(0, "world", "Send", 1, 40, At::Begun);
    let diagnosis = job.diagnosis();
    let RootCause::NotEntered { wait } = cause(&diagnosis) else { unreachable!("{diagnosis:?}") };
    assert_eq!(who(wait), ("world", None, vec![0], vec![1]));
    let job = job.calls(1, "world", "Recv", 0, 30, At::Entered);
    assert!(matches!(cause(&job.diagnosis()), RootCause::NotBegun { .. }));
}

/// Two ranks that receive from each other first.
#[test]
fn sends_and_receives_in_a_circle_are_crossed() {
    let job = Job::of(2).communicator("world", &[0, 1], 50).calls(0, "world", "Recv", 1, 40, At::Begun);
    let diagnosis = job.calls(1, "world", "Recv", 0, 40, At::Begun).diagnosis();
    assert!(matches!(cause(&diagnosis), RootCause::Crossed { .. }));
}

#[test]
fn a_call_that_does_not_return_is_named() {
    let mut job = Job::of(2).communicator("world", &[0, 1], 50);
    job.at(1, "world").calls.push(OpenCall { func: "GroupEnd".into(), since: ago(40) });
    let diagnosis = job.diagnosis();
    let RootCause::Calls { func, ranks, seconds, .. } = cause(&diagnosis) else { unreachable!("{diagnosis:?}") };
    assert_eq!((func.as_str(), ranks.as_slice(), *seconds), ("GroupEnd", &[1][..], 40.0));
}
