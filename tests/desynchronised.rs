//! Which difference of ranks' calls `scorep-nccl hang` names, made with live processes (tests/c/nccl/status_host.c) and
//! the library that is shipped.

use crate::support::ranks;

use ranks::Ranks;
use serde_json::{Value, json};

const RANKS: usize = 3;

/// A communicator, in which rank 1 calls another operation than ranks 0 and 2.
struct Case {
    comm: &'static str,
    /// Function, with its root; count; type.
    most: (&'static str, u64, &'static str),
    odd: (&'static str, u64, &'static str),
    /// The difference, and the sentence behind the communicator's name; `None` where there is none.
    differs: Option<(&'static str, &'static str)>,
}

/// The same number of bytes everywhere, so that bytes alone show nothing.
const DIFFERENT: [Case; 6] = [
    Case {
        comm: "a1",
        most: ("AllReduce", 1024, "ncclFloat32"),
        odd: ("AllReduce", 1024, "ncclInt32"),
        differs: Some((
            "datatype",
            "have called AllReduce #0 with different types: ncclFloat32 on ranks 0,2; ncclInt32 on rank 1.",
        )),
    },
    Case {
        comm: "a2",
        most: ("ReduceScatter", 1024, "ncclFloat32"),
        odd: ("ReduceScatter", 2048, "ncclFloat16"),
        differs: Some((
            "count",
            "have called ReduceScatter #0 with different counts: 1024 on ranks 0,2; 2048 on rank 1.",
        )),
    },
    Case {
        comm: "a3",
        most: ("Reduce:0", 1024, "ncclFloat32"),
        odd: ("Reduce:1", 1024, "ncclFloat32"),
        differs: Some(("root", "have called Reduce #0 with different roots: root 0 on ranks 0,2; root 1 on rank 1.")),
    },
    Case {
        comm: "a4",
        most: ("Broadcast:2", 4096, "ncclInt8"),
        odd: ("Broadcast:0", 4096, "ncclInt8"),
        differs: Some((
            "root",
            "have called Broadcast #0 with different roots: root 2 on ranks 0,2; root 0 on rank 1.",
        )),
    },
    // a type before a root
    Case {
        comm: "a5",
        most: ("Reduce:0", 2048, "ncclBfloat16"),
        odd: ("Reduce:1", 2048, "ncclFloat16"),
        differs: Some((
            "datatype",
            "have called Reduce #0 with different types: ncclBfloat16 on ranks 0,2; ncclFloat16 on rank 1.",
        )),
    },
    Case {
        comm: "a6",
        most: ("AllReduce", 1024, "ncclFloat32"),
        odd: ("ReduceScatter", 1024, "ncclFloat32"),
        differs: Some((
            "function",
            "have called different functions as #0: AllReduce on ranks 0,2; ReduceScatter on rank 1.",
        )),
    },
];

/// Two names of one type, roots of a function without one, and a type that the library does not know.
const ALIKE: [Case; 3] = [
    Case { comm: "b1", most: ("AllReduce", 1024, "ncclFloat32"), odd: ("AllReduce", 1024, "ncclFloat"), differs: None },
    Case {
        comm: "b2",
        most: ("AllReduce:0", 1024, "ncclFloat32"),
        odd: ("AllReduce:1", 1024, "ncclFloat32"),
        differs: None,
    },
    Case {
        comm: "b3",
        most: ("AllReduce", 1024, "ncclFloat32"),
        odd: ("AllReduce", 8192, "ncclFloat4e2m1"),
        differs: None,
    },
];

/// Enters the collective of each case; those alike on all ranks finish.
fn orders(rank: usize, has_calls: bool, cases: &[Case]) -> String {
    let orders = cases.iter().map(|Case { comm, most, odd, differs }| {
        let (func, count, datatype) = if rank == 1 { odd } else { most };
        let of = format!("{comm} {func} {count} {datatype}");
        let (call, of_call) = if has_calls {
            (format!("call {comm}c {of}\n return {comm}c"), format!("{comm}c"))
        } else {
            (String::new(), String::new())
        };
        let finish = if differs.is_none() { format!("finish {comm}k") } else { String::new() };
        format!("init {comm} {rank} {RANKS}\n {call}\n start {comm}k {of} {of_call}\n begin {comm}k\n {finish}\n")
    });
    orders.collect()
}

/// The causes, by communicator.
fn found(answer: &Value) -> Vec<(String, Value)> {
    let findings = answer["findings"].as_array().unwrap().iter();
    let id = |finding: &Value| finding["communicator"]["id"].as_str().unwrap_or("?").trim_start_matches('0').to_owned();
    findings.map(|finding| (id(finding), finding.clone())).collect()
}

fn check(version: u32, preset: &str, cases: &[Case]) {
    let mut job = Ranks::begin_of(version, RANKS, preset);
    job.each(|rank| orders(rank, version >= 5, cases));
    let answer = job.hang(1);
    let different: Vec<&Case> = cases.iter().filter(|case| case.differs.is_some()).collect();
    let found = found(&answer);
    let comms: Vec<&str> = found.iter().map(|(comm, _)| comm.as_str()).collect();
    assert_eq!(comms, different.iter().map(|case| case.comm).collect::<Vec<_>>(), "v{version}, {preset}: {answer:#}");
    // a sentence may be broken anywhere between words
    let said = job.said(1, &["--verbose"]).split_whitespace().collect::<Vec<_>>().join(" ");
    for (case, (_, finding)) in different.iter().zip(&found) {
        let (difference, sentence) = case.differs.unwrap();
        let variants = finding["variants"].as_array().unwrap();
        let ranks: Vec<_> = variants.iter().map(|variant| (&variant["differs"], &variant["ranks"])).collect();
        let expected = [(&Value::Null, &json!([0, 2])), (&json!(difference), &json!([1]))];
        assert_eq!((&finding["cause"], ranks.as_slice()), (&json!("desynchronised"), &expected[..]), "{finding:#}");
        let sentence = format!("ranks of communicator {:0>16} {sentence}", case.comm);
        assert!(said.contains(&sentence), "v{version}, {preset}: {sentence}\n{said}");
    }
}

#[test]
fn the_first_difference_is_named_of_calls_and_operations() {
    let cases: Vec<Case> = DIFFERENT.into_iter().chain(ALIKE).collect();
    check(7, "api", &cases);
    check(7, "full", &cases);
}

/// Up to interface v4 NCCL reports no calls.
#[test]
fn the_first_difference_is_named_of_operations_alone() {
    let cases: Vec<Case> = DIFFERENT.into_iter().chain(ALIKE).collect();
    check(4, "full", &cases);
}
