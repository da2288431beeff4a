//! The file of a process' state (`NCCL_SCOREP_STATUS`): does it say which operations the process has entered, begun and
//! finished, and what it waits for, while the process runs, hangs, and after it is dead?

use crate::support::status;

use common::status::{SCHEMA, Waiting};
use status::{Job, of};

const FULL: &[(&str, &str)] = &[("NCCL_SCOREP_PRESET", "full"), ("NCCL_SCOREP_TRUST_NCCL", "on")];

#[test]
fn a_running_process_says_how_far_it_is() {
    let mut job = Job::begin(7, FULL);
    job.order(
        "init ab 1 4
         whole ab 3
         call c0 ab AllGather 5 ncclInt8
         return c0
         start o0 ab AllGather 5 ncclInt8 c0
         begin o0
         proxy p0 o0 3 2 1
         step s0 p0
         call c1 ab AllReduce 7 ncclInt64
         return c1
         start o1 ab AllReduce 7 ncclInt64 c1
         call send ab Send 9 ncclInt8
         return send
         start o2 ab Send 9 ncclInt8 send",
    );
    let status = job.next_status();
    assert_eq!((status.schema.as_str(), status.pid, status.over, status.silent_since), (SCHEMA, job.pid(), None, None));
    assert!(status.born.is_some() && status.origin.host.is_some() && status.written > 1_600_000_000_000_000_000);
    let one = of(&status, "ab");
    assert_eq!((one.rank, one.nranks, one.ended, one.counts_all, one.sees_gpu), (Some(1), 4, None, true, true));
    assert_eq!((one.entered, one.entered_p2p, one.begun, one.finished), (5, 1, 4, 3));
    let shown: Vec<_> =
        one.operations.iter().map(|operation| (operation.number, operation.func.as_str(), operation.bytes)).collect();
    let reduce = |number| (Some(number), "AllReduce", 4096);
    assert_eq!(
        shown,
        [reduce(0), reduce(1), reduce(2), (Some(3), "AllGather", 5), (Some(4), "AllReduce", 56), (None, "Send", 9)]
    );
    let gpu: Vec<_> =
        one.operations.iter().map(|operation| (operation.begun.is_some(), operation.finished.is_some())).collect();
    assert_eq!(gpu[2..], [(true, true), (true, false), (false, false), (false, false)]);
    assert_eq!(one.operations[5].peer, Some(1));
    let times = |status: &common::status::StatusOperation| [status.entered, status.begun.unwrap_or(status.entered)];
    assert!(one.operations.iter().flat_map(times).all(|time| time >= one.opened && time <= status.written), "{one:#?}");
    assert_eq!(one.waits.len(), 1, "{one:#?}");
    let wait = &one.waits[0];
    assert_eq!((wait.peer, wait.channel, wait.sends, wait.steps, wait.state), (3, 2, true, 0, Waiting::Step));
    assert_eq!(one.calls, []);

    // the step goes on, and the operation ends
    job.order("sent s0");
    assert_eq!(of(&job.next_status(), "ab").waits[0].state, Waiting::Network);
    job.order("end s0");
    let waits = of(&job.next_status(), "ab").waits.clone();
    assert_eq!((waits[0].state, waits[0].steps), (Waiting::Gpu, 1));
    job.order("end p0\n finish o0\n begin o1\n finish o1");
    let status = job.next_status();
    let one = of(&status, "ab");
    assert_eq!((one.begun, one.finished, one.waits.len()), (5, 5, 0));
    assert!(status.beat > 3);
    let last = {
        job.order("finalize ab");
        job.next_status()
    };
    assert!(of(&last, "ab").ended.is_some());
    job.end();
    let over = job.status().unwrap();
    assert!(over.over.is_some() && over.off.is_none());
    assert_eq!(job.said(), "");
}

#[test]
fn the_last_state_of_a_killed_process_stays() {
    let mut job = Job::begin(5, FULL);
    job.order("init ab 0 2\n whole ab 100\n call c ab AllReduce 1 ncclInt8");
    job.await_status(|status| status.communicators.first().is_some_and(|one| one.entered == 101));
    job.kill();
    let status = job.status().unwrap();
    let one = of(&status, "ab");
    assert_eq!((status.over, one.entered, one.finished, one.calls[0].func.as_str()), (None, 101, 100, "AllReduce"));
}

#[test]
fn calls_that_have_not_returned_are_named_and_a_groups_end_too() {
    let mut job = Job::begin(5, FULL);
    job.order("init ab 0 2\n init cd 0 2\n group cd\n call c cd AllReduce 1 ncclInt8\n return c\n launch");
    let status = job.next_status();
    let calls = &of(&status, "cd").calls;
    assert!(calls.len() == 1 && calls[0].func == "GroupEnd" && calls[0].since <= status.written, "{status:#?}");
    assert_eq!(of(&status, "ab").calls, []);
    job.order("start o cd AllReduce 1 ncclInt8 c\n end_group");
    assert_eq!(of(&job.next_status(), "cd").calls, []);
}

/// All ranks of a communicator number their collectives alike, whatever NCCL reports.
#[test]
fn collectives_are_counted_alike_with_calls_and_without() {
    for version in [1, 3, 4, 5, 6, 7] {
        for preset in ["api", "full"] {
            let settings =
                [("NCCL_SCOREP_PRESET", preset), ("NCCL_SCOREP_TRUST_NCCL", "on"), ("NCCL_SCOREP_MIN_BYTES", "100")];
            let mut job = Job::begin(version, &settings);
            let (call, of_call) =
                if version >= 5 { ("call c ab Reduce 1 ncclInt8\n return c\n", " c") } else { ("", "") };
            job.order(&format!(
                "init ab 0 2\n whole ab 70\n {call} start s ab Reduce 1 ncclInt8{of_call}\n whole ab 2"
            ));
            let status = job.next_status();
            let one = status.communicators.first().unwrap();
            assert_eq!((one.entered, one.entered_p2p, one.counts_all), (73, 0, true), "v{version}, {preset}");
            let last = one.operations.last().unwrap();
            assert_eq!(
                (last.number, one.operations.len()),
                (Some(72), common::status::MOST_OPERATIONS.min(one.operations.len()))
            );
            assert_eq!(one.sees_gpu, preset == "full" && version >= 4, "v{version}, {preset}");
        }
    }
}

/// A directory that cannot be made costs the job one line.
#[test]
fn a_directory_that_cannot_be_written_costs_one_line() {
    let mut job = Job::begin(7, &[("NCCL_SCOREP_STATUS", "/proc/nowhere/status")]);
    job.order("init ab 0 2\n whole ab 3");
    let operations = job.end()["operations"][0]["count"].clone();
    assert_eq!(operations, 3);
    assert!(job.said().lines().count() == 1 && job.said().contains("NCCL_SCOREP_STATUS"), "{}", job.said());
}

/// Each interface version passes types and roots in a way of its own. What NCCL does not say of the caller's elements
/// is left out.
#[test]
fn elements_and_roots_are_said_in_every_version() {
    for version in 1..=7 {
        let mut job = Job::begin(version, FULL);
        let has_calls = version >= 5;
        // with NCCL's own elements of the operation, where they are others
        let orders = [
            ("Reduce:1", "512 ncclInt64", "512 ncclInt64"),
            ("AllReduce:1", "1024 ncclFloat16", "1024 ncclFloat16"),
            ("Broadcast:0", "7 ncclFloat64", "56 ncclInt8"),
            ("AllGather", "7 ncclUint32", "28 ncclInt8"),
        ];
        job.order("init ab 0 2");
        for (place, (func, called, enqueued)) in orders.iter().enumerate() {
            if has_calls {
                job.order(&format!("call c{place} ab {func} {called}\n return c{place}"));
            }
            let call = if has_calls { format!("c{place}") } else { String::new() };
            job.order(&format!("start o{place} ab {func} {enqueued} {call}"));
        }
        let status = job.next_status();
        let one = status.communicators.first().unwrap();
        let said: Vec<_> = one
            .operations
            .iter()
            .map(|operation| (operation.count, operation.datatype.as_deref(), operation.bytes, operation.root))
            .collect();
        let in_bytes = |count, datatype, bytes, root| match has_calls {
            true => (Some(count), Some(datatype), bytes, root),
            false => (None, None, bytes, root),
        };
        assert_eq!(
            said,
            [
                (Some(512), Some("ncclInt64"), 4096, Some(1)),
                (Some(1024), Some("ncclFloat16"), 2048, None),
                in_bytes(7, "ncclFloat64", 56, Some(0)),
                in_bytes(7, "ncclUint32", 28, None),
            ],
            "v{version}"
        );
    }
}
