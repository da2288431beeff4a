//! Logs that are cut, damaged, hostile or huge.

use crate::nccl_log::made::Job;
use crate::nccl_log::{choices, kinds, report};
use crate::support::bounded;
use serde_json::Value;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::time::Duration;

#[test]
fn a_log_that_is_cut_anywhere_says_nothing_wrong() {
    let (whole, mut random) = (Job::new(2, 2).mixed(), fastrand::Rng::with_seed(3));
    for _ in 0..40 {
        let (from, to) = (random.usize(..whole.len() / 2), random.usize(whole.len() / 2..whole.len()));
        let choices = choices(&whole[from..to]);
        assert_eq!(kinds(&choices), Vec::<&str>::new(), "{from}..{to}: {choices}");
        for communicator in choices["communicators"].as_array().unwrap() {
            assert_eq!(communicator["nranks"], 4);
            assert!(communicator["here"].as_u64().unwrap() <= 4);
        }
    }
}

#[test]
fn lines_that_are_mixed_into_each_other_are_counted_and_not_guessed() {
    let job = Job { inside: |_| "SHM/direct", ..Job::new(1, 2) };
    let two = [job.line(0, 1, "NCCL_P2P_DIS"), job.line(1, 1, "NCCL_P2P_DISABLE set by environment to 1")].concat();
    let choices = choices(format!("{}{two}\nmade0:1000\n:77 [0] NCCL INFO Using network Socket\n", job.text()));
    assert!(kinds(&choices).is_empty(), "{choices}");
    assert_eq!(choices["unread"], 2, "{choices}");
}

/// Bytes, digits and words of lines are exchanged; the tool has 1 GiB of memory.
#[test]
fn damaged_logs_end_in_a_report() {
    let directory = tempfile::tempdir().unwrap();
    let (file, mut random) = (directory.path().join("log"), fastrand::Rng::with_seed(11));
    let whole = Job::new(2, 4).mixed().into_bytes();
    for _ in 0..30 {
        let mut log = whole.clone();
        for _ in 0..random.usize(1..400) {
            let at = random.usize(..log.len());
            log[at] = *random.choice(b"0123456789-[]:/ \n\r\0\xff\xc3x9NC").unwrap();
        }
        fs::write(&file, &log).unwrap();
        let mut command = report(&[&file]);
        command.args(["--all", "--top", "5"]);
        let ended = bounded::ended(&command, directory.path(), Duration::from_secs(60));
        assert_eq!((ended.fault(), ended.code), (None, Some(0)), "{}", ended.said);
    }
}

#[test]
fn numbers_beyond_all_bounds_take_no_memory() {
    let job = Job::new(1, 2);
    let big = "99999999999999999999";
    let lines = [
        format!(
            "ncclCommInitRank comm 0x{big} rank 0 nranks {big} cudaDev 0 nvmlDev 0 busId 0 commId 0x{big} - Init START"
        ),
        "ncclCommInitRank comm 0x1 rank 0 nranks 4194304 cudaDev 0 nvmlDev 4294967295 busId 0 commId 0x1 - Init START"
            .into(),
        format!("{big} coll channels, 0 collnet channels, 0 nvls channels, 1 p2p channels, 1 p2p channels per peer"),
        format!("Channel {big}/0 : 0[{big}] -> {big}[0] via P2P/CUMEM"),
        "Channel 00/0 : 0[0] -> 4194303[0] via P2P/CUMEM".into(),
        format!("NCCL_MAX_NCHANNELS set by environment to {big}."),
        "NCCL_MAX_NCHANNELS set by environment to -9223372036854775808.".into(),
        format!("NCCL_X{} set by environment to {}", "Y".repeat(3000), "z".repeat(3000)),
    ];
    let lines: String = lines.iter().map(|line| job.line(0, 2, line) + "\n").collect();
    let long = [vec![b'x'; 3 << 20], b" NCCL INFO ".to_vec(), vec![b'y'; 3 << 20], b"\n".to_vec()].concat();
    let log = [lines.into_bytes(), long, job.text().into_bytes()].concat();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("log");
    fs::write(&file, log).unwrap();
    let ended = bounded::ended(report(&[&file]).args(["--json", "-"]), directory.path(), Duration::from_secs(60));
    assert_eq!(ended.fault(), None);
    let report: Value = serde_json::from_str(&ended.printed).unwrap();
    assert_eq!(report["choices"]["known"]["passed_over"], 1, "{}", report["choices"]);
}

/// 200 MB of a job's output, and the lines of NCCL's of half a million processes, threads and communicators that there
/// are not: the tool has 1 GiB of memory.
#[test]
#[ignore = "a log of 200 MB"]
fn a_huge_log_takes_bounded_memory() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    let mut file = BufWriter::new(File::create(&path).unwrap());
    let job = Job { inside: |_| "SHM/direct", ..Job::new(1, 2) }.set("NCCL_P2P_DISABLE set by environment to 1");
    let other = "epoch 7 step 123456 loss 0.123456 of some other program's output, which is much longer than NCCL's\n"
        .repeat(1000);
    for line in job.text().lines() {
        writeln!(file, "{line}").unwrap();
        file.write_all(other.as_bytes()).unwrap();
        file.write_all(other.as_bytes()).unwrap();
    }
    for number in 0..400_000_u64 {
        let by = format!("far{number}:{number}:{number} [0] NCCL INFO");
        let fields = format!("comm 0x{number:x} rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 1 commId 0x{number:x}");
        writeln!(file, "{by} ncclCommInitRank {fields} - Init START").unwrap();
        writeln!(file, "{by} Channel 00/0 : 0[0] -> 1[0] via P2P/IPC{number}").unwrap();
    }
    let filler = other.repeat(20);
    while file.get_ref().metadata().unwrap().len() < 200 << 20 {
        file.write_all(filler.as_bytes()).unwrap();
    }
    drop(file);
    let ended = bounded::ended(report(&[&path]).args(["--json", "-"]), directory.path(), Duration::from_secs(300));
    assert_eq!(ended.fault(), None);
    let report: Value = serde_json::from_str(&ended.printed).unwrap();
    let choices = &report["choices"]["known"];
    assert_eq!(kinds(choices), ["inside_node"], "{}", choices["findings"]);
    assert!(choices["passed_over"].as_u64().unwrap() > 0, "{}", choices["lines"]);
}
