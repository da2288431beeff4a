//! The checks themselves: they find nothing wrong with what otf2-print and cube_dump show of a right run, and what is
//! wrong with others.

use std::collections::BTreeMap;

use super::captured::Process;
use super::lanes::{self, Rules};
use super::profile::Profile;
use crate::support::reference::operations::Operation;
use crate::support::trace::Trace;

const DEFINITIONS: &str = r#"
CLOCK_PROPERTIES                          Ticks per Seconds: 1000000000, Global Offset: 100, Length: 900000, Date: UNDEFINED
LOCATION_GROUP                         0  Name: "Process" <116>, Type: PROCESS, Parent: "node::vm" <1>, Creator: UNDEFINED
LOCATION                               0  Name: "Master thread" <12>, Type: CPU_THREAD, # Events: 4, Group: "Process" <0>
LOCATION                     21474836480  Name: "NCCL 0123456789abcdef rank 0" <112>, Type: ACCELERATOR_STREAM, # Events: 10, Group: "Process" <0>
LOCATION                     25769803776  Name: "NCCL 0123456789abcdef 0 to 2" <113>, Type: ACCELERATOR_STREAM, # Events: 3, Group: "Process" <0>
"#;

const EVENTS: &str = r#"
Event                                   Location            Timestamp  Attributes
--------------------------------------------------------------------------------
PROGRAM_BEGIN                                  0                  100  Name: "app" <88>, 1 Arguments: "threads" <89>
                                                                       ADDITIONAL ATTRIBUTES: ("ProcessId" <2>; UINT64; 11240)
METRIC                                         0                  500  Metric: 0, 2 Values: ("nccl_ops" <8>; UINT64; 0), ("nccl_bytes" <6>; UINT64; 0)
ENTER                                          0                  500  Region: "forward" <19>
ENTER                                25769803776                  900  Region: "NCCL transfers" <23>
METRIC                               25769803776                  900  Metric: 3, 1 Value: ("nccl_pair_bytes" <15>; UINT64; 777)
METRIC                               21474836480                 1000  Metric: 1, 1 Value: ("nccl_op_effective_busbw" <13>; UINT64; 150000000)
ENTER                                21474836480                 1000  Region: "ncclAllReduce" <22>
                                                                       ADDITIONAL ATTRIBUTES: ("nccl_sequence" <4>; UINT64; 0), ("nccl_algorithm" <5>; STRING; "RING" <114>), ("nccl_protocol" <7>; STRING; "RING" <114>), ("nccl_timing" <6>; STRING; "stamps" <115>)
METRIC                               21474836480                 1000  Metric: 2, 1 Value: ("nccl_op_bytes" <14>; UINT64; 4000)
LEAVE                                21474836480                41000  Region: "ncclAllReduce" <22>
METRIC                               21474836480                41000  Metric: 1, 1 Value: ("nccl_op_effective_busbw" <13>; UINT64; 0)
ENTER                                21474836480                41000  Region: "ncclSend (not GPU-timed)" <24>
                                                                       ADDITIONAL ATTRIBUTES: ("nccl_timing" <6>; STRING; "proxy" <116>)
METRIC                               21474836480                41000  Metric: 2, 1 Value: ("nccl_op_bytes" <14>; UINT64; 777)
LEAVE                                21474836480                52000  Region: "ncclSend (not GPU-timed)" <24>
METRIC                                         0                60000  Metric: 0, 2 Values: ("nccl_ops" <8>; UINT64; 2), ("nccl_bytes" <6>; UINT64; 4777)
LEAVE                                          0                60000  Region: "forward" <19>
LEAVE                                25769803776                70000  Region: "NCCL transfers" <23>
PROGRAM_END                                    0                80000  Exit status: UNDEFINED
"#;

const RULES: Rules = Rules { tolerance_us: 2.0, complete: true };

fn operation(func: &str, sequence: Option<i64>, bytes: i64, gpu_us: Option<f64>) -> Operation {
    let kind = if sequence.is_some() { "Coll" } else { "P2p" }.to_owned();
    let peer = if sequence.is_some() { None } else { Some(2) };
    let algorithm = sequence.map(|_| "RING".to_owned());
    let (comm, func) = ("0123456789abcdef".into(), func.into());
    Operation {
        comm,
        rank: 0,
        kind,
        func,
        peer,
        root: None,
        sequence,
        bytes,
        protocol: algorithm.clone(),
        algorithm,
        gpu_us,
        by_events: false,
        is_first: true,
        is_first_of_function: true,
    }
}

fn process() -> Process {
    let operations = vec![operation("AllReduce", Some(0), 4000, Some(39.5)), operation("Send", None, 777, None)];
    Process {
        name: "Process".into(),
        operations,
        calls: BTreeMap::new(),
        ranks: BTreeMap::from([("0123456789abcdef".into(), 4)]),
    }
}

/// Everything wrong with a trace.
fn wrong(definitions: &str, events: &str) -> Vec<String> {
    let trace = Trace::parse(definitions, events);
    let comm = || "0123456789abcdef".to_owned();
    let gpu_timed = BTreeMap::from([((comm(), 0), 1)]);
    let mut wrong = trace.disorder();
    wrong.extend(trace.miscounts(&["nccl_ops", "nccl_bytes"], false));
    wrong.extend(lanes::wrong(&trace, &process(), &gpu_timed, RULES));
    wrong.extend(lanes::wrong_pairs(&trace, &process(), &BTreeMap::from([((comm(), 0, 2), 777)]), RULES));
    wrong
}

#[test]
fn a_right_trace_is_right() {
    assert_eq!(wrong(DEFINITIONS, EVENTS), Vec::<String>::new());
    let further = DEFINITIONS.replace("rank 0\"", "rank 0 (2)\"");
    assert_eq!(wrong(&further, EVENTS), Vec::<String>::new());
    assert_eq!(Trace::parse(DEFINITIONS, EVENTS).locations[0].within("forward", "nccl_bytes"), Some(4777));
}

#[test]
fn a_trace_alone_has_the_values_that_change() {
    let wrong = |events: &str| Trace::parse(DEFINITIONS, events).miscounts(&["nccl_ops", "nccl_bytes"], true);
    let changed = "METRIC                                         0                60000  Metric: 0, 1 Value: (\"nccl_bytes\" <6>; UINT64; 0)\n\
                   ENTER                                          0                60000  Region: \"backward\" <20>\n";
    let events = |times: usize| {
        EVENTS.replace(
            "METRIC                                         0                60000",
            &(changed.repeat(times) + "METRIC                                         0                60000"),
        )
    };
    assert_eq!(wrong(&events(1)), Vec::<String>::new());
    let found = wrong(&events(2));
    assert!(found[0].ends_with("nccl_bytes is 0 again at Enter(\"backward\")"), "{found:?}");
}

#[test]
fn what_is_wrong_with_a_trace_is_found() {
    // what is changed, into what, and what is said of it
    let cases = [
        ("41000  Region: \"ncclAllReduce\"", "38000  Region: \"ncclAllReduce\"", "instead of 39.5 us"),
        ("41000  Region: \"ncclAllReduce\"", "43000  Region: \"ncclAllReduce\"", "longer than any"),
        ("52000  Region: \"ncclSend", "40000  Region: \"ncclSend", "comes after"),
        ("LEAVE                                21474836480                52000", "NOTHING", "never left"),
        ("52000  Region: \"ncclSend", "52000  Region: \"ncclRecv", "out of turn"),
        ("\"nccl_sequence\" <4>; UINT64; 0", "\"nccl_sequence\" <4>; UINT64; 1", "0 times instead of 1"),
        (
            "\"nccl_algorithm\" <5>; STRING; \"RING\"",
            "\"nccl_algorithm\" <5>; STRING; \"TREE\"",
            "0 times instead of 1",
        ),
        ("\"nccl_op_bytes\" <14>; UINT64; 4000", "\"nccl_op_bytes\" <14>; UINT64; 4001", "0 times instead of 1"),
        ("\"nccl_op_bytes\" <14>; UINT64; 777", "\"nccl_pair_rate\" <14>; UINT64; 777", "without bytes"),
        ("\"proxy\"", "\"guess\"", "timed by"),
        ("\"proxy\"", "\"events\"", "by the summary"),
        ("\"proxy\"", "\"stamps\"", "is timed by"),
        ("ncclSend (not GPU-timed)\" <24>", "ncclSend\" <24>", "is timed by"),
        ("UINT64; 150000000", "UINT64; 250000000", "B/s instead of"),
        (
            "41000  Metric: 1, 1 Value: (\"nccl_op_effective_busbw\"",
            "41100  Metric: 1, 1 Value: (\"nccl_op_effective_busbw\"",
            "does not end with",
        ),
        (
            "1000  Metric: 1, 1 Value: (\"nccl_op_effective_busbw\"",
            "990  Metric: 1, 1 Value: (\"nccl_op_effective_busbw\"",
            "does not begin with",
        ),
        ("\"nccl_pair_bytes\" <15>; UINT64; 777", "\"nccl_pair_bytes\" <15>; UINT64; 776", "776 B instead of"),
        ("UINT64; 0), (\"nccl_bytes\"", "UINT64; 3), (\"nccl_bytes\"", "falls"),
        ("60000  Metric", "59000  Metric", "counters []"),
        ("(\"nccl_ops\" <8>; UINT64; 0), ", "", "counters"),
    ];
    for (right, changed, said) in cases {
        assert!(EVENTS.contains(right), "{right}");
        let found = wrong(DEFINITIONS, &EVENTS.replacen(right, changed, 1));
        assert!(found.iter().any(|wrong| wrong.contains(said)), "{changed}: {found:?}");
    }
    for (name, said) in [
        ("NCCL 0123456789abcdef rank 1", "no operations"),
        ("NCCL rank 0", "whose"),
        ("NCCL 0123456789abcdef rank 0 2", "whose"),
    ] {
        let found = wrong(&DEFINITIONS.replace("NCCL 0123456789abcdef rank 0", name), EVENTS);
        assert!(found.iter().any(|wrong| wrong.contains(said)), "{name}: {found:?}");
    }
    let without_pair = wrong(&DEFINITIONS.replace("0 to 2", "0 to 3"), EVENTS);
    assert!(without_pair.iter().any(|wrong| wrong.contains("777 B instead of None")), "{without_pair:?}");
}

const SYSTEM: &str = "\
machine Linux (id=0, class=machine, description= )
  |-node vm (id=1, class=node, description= )
    |-Process (id=0, type=process, rank=0 )
      |-Master thread (id=0, type=thread, rank=0)
      |-NCCL 0123456789abcdef rank 0 (id=1, type=accelerator stream, rank=5)
";

const CALLS: &str = "\
 -------------------------- LIST OF REGIONS --------------------------
	forward:forward	   ( id=19, -1, -1, paradigm=user, role=user, url=, descr=, mod=)
 -------------------------- CALL TREE --------------------------------
app  [ ( id=0,   mod=), -1, -1, paradigm=measurement, role=artificial, url=, descr=, mode=]
  |-forward  [ ( id=1,   mod=), -1, -1, paradigm=user, role=user, url=, descr=, mode=]
  |-KERNELS  [ ( id=2,   mod=), -1, -1, paradigm=cuda, role=artificial, url=, descr=, mode=]
    |-ncclAllReduce  [ ( id=3,   mod=), -1, -1, paradigm=cuda, role=all2all, url=, descr=, mode=]
    |-ncclSend (not GPU-timed)  [ ( id=4,   mod=), -1, -1, paradigm=cuda, role=point2point, url=, descr=, mode=]
";

const VALUES: &str = "\
Cnode ID, Thread ID,nccl_enqueued_bytes,nccl_op_bytes,time,visits
0,0,4777,0,0.000061,2
0,1,0,4777,5.1e-05,2
1,0,4777,0,5.95e-05,1
1,1,0,0,0,0
3,0,0,0,0,0
3,1,0,4000,4e-05,1
4,0,0,0,0,0
4,1,0,777,1.1e-05,1
";

#[test]
fn what_is_wrong_with_a_profile_is_found() {
    let profile = Profile::parse(SYSTEM, CALLS, VALUES);
    assert_eq!(
        (profile.value("forward", 0, "nccl_enqueued_bytes"), profile.total(0, "nccl_enqueued_bytes")),
        (4777.0, 4777.0)
    );
    let wrong = |values: &str| lanes::wrong_in_profile(&Profile::parse(SYSTEM, CALLS, values), &process(), RULES, true);
    assert_eq!(wrong(VALUES), Vec::<String>::new());
    for (right, changed) in
        [("4000,4e-05,1", "4000,4e-05,2"), ("4000,4e-05,1", "4001,4e-05,1"), ("4000,4e-05,1", "4000,4.3e-05,1")]
    {
        assert_eq!(wrong(&VALUES.replace(right, changed)).len(), 1, "{changed}");
    }
}
