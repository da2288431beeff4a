//! The check of a measurement of Score-P with CUDA (tests/gpu/score_p.py), on an archive and a profile made here.

use super::{python, tool};
use serde_json::json;
use std::fmt::Write;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

/// Steps of a rank, in ticks of a nanosecond.
const STEPS: u64 = 40;
const STEP: u64 = 1_000_000;
/// Bytes of an all-reduce, of an exchange of the ring, and of the other exchange of every second step.
const REDUCED: u64 = 4096;
const EXCHANGED: u64 = 1 << 22;
const TO_EACH: u64 = 1 << 20;
const EXCHANGE: &str = "ncclDevKernel_SendRecv(ncclDevKernelArgs)";
/// A lane lies so much later than its kernel, and ends so much earlier.
const LATER: u64 = 2_000;

/// What is wrong in a measurement.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    None,
    /// Every tenth lane of rank 1 begins 20 us after its kernel.
    Begin,
    /// So it is, and the ranks share a GPU.
    Length,
    /// All lanes of rank 1 lie 20 us behind their kernels, and the ranks share a GPU: no fault.
    Shared,
    /// Lanes of a rank have one operation less than the program.
    Count,
    /// Six kernels have no operation.
    Kernel,
    /// A message of MPI is shorter than the program's.
    Message,
    /// A send of the ring is shorter than MPI's message, and the program says so.
    Short,
    /// A send of the ring begins before its call.
    Early,
    /// An exchange of MPI begins before that of NCCL has ended.
    Exchange,
    /// An MPI_Allreduce begins before the step's operation has ended.
    Order,
    /// The profile has no kernels.
    Profile,
    /// The summary finds another rank late.
    Late,
}

/// Lines of events as otf2-print has them, with their times.
#[derive(Default)]
struct Events {
    lines: Vec<(u64, String)>,
    /// Begin of the step that the following events lie in.
    step: u64,
}

impl Events {
    fn add(&mut self, kind: &str, location: u64, time: u64, rest: &str) {
        let time = self.step + time;
        self.lines.push((time, format!("{kind:<10} {location:>20} {time:>20}  {rest}")));
    }

    fn region(&mut self, location: u64, name: &str, begin: u64, end: u64) {
        let rest = format!("Region: \"{name}\" <7>");
        self.add("ENTER", location, begin, &rest);
        self.add("LEAVE", location, end, &rest);
    }

    /// The lines in the order of time; a metric lies inside its region.
    fn sorted(mut self) -> String {
        let inside = |line: &str| ["ENTER", "METRIC", "LEAVE"].iter().position(|kind| line.starts_with(kind));
        self.lines.sort_by_key(|(time, line)| (*time, inside(line)));
        self.lines.into_iter().map(|(_, line)| line).collect::<Vec<_>>().join("\n")
    }
}

/// What otf2-print says of a measurement of two ranks: definitions and events.
fn printed(fault: Fault) -> [String; 2] {
    let mut definitions =
        "CLOCK_PROPERTIES                          Ticks per Seconds: 1000000000, Global Offset: 0\n".to_owned();
    let mut events = Events::default();
    for rank in 0..2_u64 {
        let (process, streams) = (rank, 2 + rank);
        let [host, lane, stream] = [0, 1, 2].map(|number| 10 * rank + number);
        let _ = write!(
            definitions,
            "LOCATION_GROUP    {process}  Name: \"MPI Rank {rank}\" <1>, Type: PROCESS, Parent: \"node\" <1>, Creator: UNDEFINED\n\
             LOCATION_GROUP    {streams}  Name: \"CUDA Context 1\" <2>, Type: ACCELERATOR, Parent: \"node\" <1>, \
             Creator: \"MPI Rank {rank}\" <{process}>\n\
             LOCATION   {host}  Name: \"Master thread\" <3>, Type: CPU_THREAD, # Events: 9, Group: \"MPI Rank {rank}\" <{process}>\n\
             LOCATION   {lane}  Name: \"NCCL 5fd1ca601f9abf69 rank {rank}\" <4>, Type: ACCELERATOR_STREAM, # Events: 9, \
             Group: \"MPI Rank {rank}\" <{process}>\n\
             LOCATION   {stream}  Name: \"CUDA[0:13]\" <5>, Type: ACCELERATOR_STREAM, # Events: 9, \
             Group: \"CUDA Context 1\" <{streams}>\n"
        );
        for step in 0..STEPS {
            events.step = step * STEP;
            let is_off = matches!(fault, Fault::Begin | Fault::Length) && rank == 1 && step % 10 == 0;
            let far = if is_off { 20_000 } else { LATER };
            let behind = if fault == Fault::Shared && rank == 1 { 20_000 } else { 0 };
            let is_faulty = rank == 0 && step == 7;
            let end = if fault == Fault::Order && is_faulty { 300_000 } else { 700_000 };
            let by_mpi = if fault == Fault::Exchange && is_faulty { 530_000 } else { 600_000 };
            let length = if fault == Fault::Message && is_faulty { EXCHANGED / 2 } else { EXCHANGED };
            events.region(host, "step", 0, 900_000);
            events.region(host, "ncclAllReduce", 10_000, 20_000);
            events.region(host, "cudaLaunchKernel", 11_000, 12_000);
            events.region(host, "ncclSend", 21_000, 22_000);
            events.region(host, "ncclGroupEnd", 23_000, 30_000);
            events.region(host, "MPI_Sendrecv", by_mpi, 650_000);
            events.region(host, "MPI_Allreduce", end, 800_000);
            events.region(stream, "wait", 50_000, 90_000);
            events.region(stream, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgs)", 100_000, 500_000);
            events.region(stream, EXCHANGE, 510_000, 560_000);
            if fault == Fault::Kernel && (3..9).contains(&step) {
                events.region(stream, EXCHANGE, 600_000, 610_000);
            }
            let operation = |events: &mut Events, name: &str, begin: u64, end: u64, bytes: u64| {
                let begin = begin + far + behind;
                events.region(lane, name, begin, end - LATER + behind);
                let value = format!("Metric: 1, 1 Value: (\"nccl_op_bytes\" <58>; UINT64; {bytes})");
                events.add("METRIC", lane, begin, &value);
            };
            if fault != Fault::Count || step != 5 {
                operation(&mut events, "ncclAllReduce", 100_000, 500_000, REDUCED);
            }
            let begin = if fault == Fault::Early && is_faulty { 1_000 } else { 510_000 };
            let bytes = if fault == Fault::Short && is_faulty { EXCHANGED / 2 } else { EXCHANGED };
            operation(&mut events, "ncclSend", begin, 560_000, bytes);
            if step % 2 == 1 {
                events.region(host, "ncclSend", 31_000, 32_000);
                events.region(host, "ncclGroupEnd", 33_000, 34_000);
                events.region(stream, EXCHANGE, 565_000, 595_000);
                operation(&mut events, "ncclSend", 565_000, 595_000, TO_EACH);
            }
            let copied = "Window: \"CUDA_WINDOW\" <1>, Bytes: 4194304, Matching: 42";
            events.add("RMA_PUT", stream, 596_000, copied);
            events.add("RMA_OP_COMPLETE_BLOCKING", stream, 598_000, copied);
            let message = format!("Receiver: 1 (\"Master thread\" <1>), Tag: 0, Length: {length}");
            events.add("MPI_SEND", host, by_mpi + 1_000, &message);
        }
    }
    [definitions, events.sorted()]
}

/// Makes the measurement's directory, with a stand-in for otf2-print in it.
fn measurement(fault: Fault) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    std::fs::create_dir_all(at("experiment/nccl")).unwrap();
    let gpus = if matches!(fault, Fault::Length | Fault::Shared) { 1 } else { 2 };
    for rank in 0..2 {
        let short = if fault == Fault::Short && rank == 0 { EXCHANGED / 2 } else { 0 };
        let sent = STEPS * EXCHANGED + STEPS / 2 * TO_EACH - short;
        let did = json!({"rank": rank, "ranks": 2, "gpus": gpus, "steps": STEPS, "late_rank": 1, "late": 8,
            "did": {"AllReduce": [STEPS, STEPS * REDUCED], "Send": [STEPS * 3 / 2, sent]},
            "mpi": [STEPS, STEPS * EXCHANGED]});
        std::fs::write(at(&format!("did.{rank}.json")), did.to_string()).unwrap();
    }
    // rank 0 is last more often, by microseconds
    let mean = if fault == Fault::Late { [600.0, 4.0] } else { [4.0, 600.0] };
    let rows = [(0, 20), (1, 8)].map(|(rank, last)| json!({"rank": rank, "last": last, "mean_us": mean[rank]}));
    let lateness = json!({"lateness": rows});
    std::fs::write(at("experiment/nccl/summary.json"), lateness.to_string()).unwrap();
    let called = if fault == Fault::Profile { "spin" } else { "ncclDevKernel_AllReduce" };
    let anchor = format!(
        "<cube><program><region id=\"0\"><name>KERNELS</name></region><region id=\"1\"><name>{called}</name></region>\
         <cnode id=\"0\" calleeId=\"0\"><cnode id=\"1\" calleeId=\"1\"/></cnode></program></cube>"
    );
    std::fs::write(at("anchor.xml"), anchor).unwrap();
    let mut tar = Command::new("tar");
    tool::succeed(tar.arg("-cf").arg(at("experiment/profile.cubex")).arg("-C").arg(directory.path()).arg("anchor.xml"));
    let [definitions, events] = printed(fault);
    std::fs::write(at("definitions"), definitions).unwrap();
    std::fs::write(at("events"), events).unwrap();
    let here = directory.path().display();
    let script = format!("#!/bin/sh\ncase $1 in -G) cat {here}/definitions ;; *) cat {here}/events ;; esac\n");
    std::fs::write(at("otf2-print"), script).unwrap();
    tool::succeed(Command::new("chmod").arg("+x").arg(at("otf2-print")));
    directory
}

/// Makes the directory of two processes of PyTorch, each with a measurement of its own.
fn of_processes(fault: Fault) -> TempDir {
    let whole = measurement(fault);
    for rank in 0..2 {
        let own = whole.path().join(format!("experiment.{rank}"));
        std::fs::create_dir(&own).unwrap();
        // a process of a job without MPI has no number, and knows its own lanes alone
        let [definitions, events] = printed(fault).map(|text| text.replace("\"MPI Rank ", "\"Process "));
        let of_rank = |line: &&str| line.split_whitespace().nth(1).is_some_and(|place| place.len() == 1 + rank);
        let events: Vec<&str> = events.lines().filter(of_rank).collect();
        std::fs::write(own.join("definitions"), definitions).unwrap();
        std::fs::write(own.join("events"), events.join("\n").replace("\"step\"", "\"__main__:step\"")).unwrap();
    }
    let script = "#!/bin/sh\ncase $1 in -G) cat \"${2%/*}/definitions\" ;; *) cat \"${1%/*}/events\" ;; esac\n";
    std::fs::write(whole.path().join("otf2-print"), script).unwrap();
    std::fs::remove_dir_all(whole.path().join("experiment")).unwrap();
    whole
}

#[test]
fn processes_of_pytorch_have_counts_and_steps() {
    let said = |fault| {
        let output = checked(of_processes(fault).path())?;
        let said = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap()).concat();
        Some((output.status.success(), said))
    };
    let Some(right) = said(Fault::None) else { return };
    assert_eq!(right, (true, "counts and bytes of 2 ranks\n".into()));
    let (is_right, said) = said(Fault::Count).unwrap();
    assert!(!is_right && said.contains("rank 1: lanes have {'AllReduce': [39, 159744],"), "{said}");
}

/// A script on a measurement, with the stand-in for otf2-print.
fn script(name: &str, measurement: &Path) -> Option<Command> {
    let mut python = python()?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::iter::once(measurement.to_owned()).chain(std::env::split_paths(&path));
    python.arg(name).arg(measurement).env("PATH", std::env::join_paths(path).unwrap());
    Some(python)
}

fn checked(measurement: &Path) -> Option<Output> {
    Some(script("score_p.py", measurement)?.output().unwrap())
}

#[test]
fn a_step_is_drawn_with_calls_lanes_kernels_and_copies() {
    let measurement = measurement(Fault::None);
    let svg = measurement.path().join("step.svg");
    let Some(mut plot) = script("score_p_plot.py", measurement.path()) else { return };
    tool::succeed(plot.args(["7", "7"]).arg(&svg));
    let drawn = std::fs::read_to_string(svg).unwrap();
    let count = |title: &str| drawn.matches(&format!("<title>{title}</title>")).count();
    // of two ranks
    for (title, number) in [
        ("MPI_Sendrecv, 50 us", 2),
        ("copy, 2 us", 2),
        ("ncclSend, 46 us", 2),
        ("ncclSend, 26 us", 2),
        ("ncclDevKernel_SendRecv, 50 us", 2),
        ("wait, 40 us", 2),
    ] {
        assert_eq!(count(title), number, "{title}: {drawn}");
    }
}

#[test]
fn a_measurement_with_cuda_is_held_against_its_archive() {
    for (fault, word) in [
        (Fault::None, "begin 2.0 us (2.0 to 2.0) after their kernel and end -2.0 us (-2.0 to -2.0)"),
        (Fault::None, "an exchange by NCCL: 9.0 us (9.0 to 9.0) in calls, 46.0 us (46.0 to 46.0) on the lane"),
        (Fault::Begin, "rank 1: 92 of 100 operations lie at their kernels, within 5 us"),
        (Fault::Length, "rank 1: 92 of 100 operations are as long as their kernels, within 10 us"),
        (Fault::Shared, "rank 1 was late 8 times and is last in 8, by 600 us in the mean"),
        (
            Fault::Count,
            "lanes have {'AllReduce': [39, 159744], 'Send': [60, 188743680]}, the program made {'AllReduce': [40, 163840],",
        ),
        (Fault::Kernel, "rank 0: 6 of 106 kernels have no operation"),
        (Fault::Order, "rank 0: 1 steps are not in order on the time line"),
        (
            Fault::Message,
            "rank 0: messages of MPI and their bytes are [40, 165675008], the program sent [40, 167772160]",
        ),
        (Fault::Short, "rank 0: 39 sends of NCCL are as large as the 40 of MPI"),
        (Fault::Early, "rank 0: 1 exchanges are not in order on the time line"),
        (Fault::Exchange, "rank 0: 1 exchanges are not in order on the time line"),
        (Fault::Profile, "the profile has no kernel of NCCL below KERNELS"),
        (Fault::Late, "rank 1 was late 8 times, and the summary has {0: 20, 1: 8}, by {0: 600.0, 1: 4.0} us"),
    ] {
        let Some(output) = checked(measurement(fault).path()) else { return };
        let said = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap()).concat();
        assert!(
            output.status.success() == matches!(fault, Fault::None | Fault::Shared) && said.contains(word),
            "{word}: {said}"
        );
    }
}
