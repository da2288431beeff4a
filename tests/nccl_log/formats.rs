//! The forms of each release, of launchers and of files.

use crate::nccl_log::made::Job;
use crate::nccl_log::{choices, choices_of, kinds};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use std::io::Write;

/// Checks the one communicator of an ordinary job of two nodes with four GPUs each.
fn check(choices: &Value, minor: u32) {
    assert_eq!(kinds(choices), Vec::<&str>::new(), "{choices}");
    let all = choices["communicators"].as_array().unwrap();
    assert_eq!(all.len(), 1, "{choices}");
    let one = &all[0];
    let expected = json!({
        "name": "5ca1ab1e0000c0de", "nranks": 8, "here": 8, "nodes": 2, "channels": 16, "nvls_channels": 0,
        "p2p_channels": 32, "networks": ["IB"], "interfaces": ["mlx5_0:1", "mlx5_1:1"],
        "releases": [format!("2.{minor}.1+cuda12.9")], "slowest": 0,
    });
    for (field, value) in expected.as_object().unwrap() {
        assert_eq!(&one[field], value, "{field} of {one}");
    }
    let routes = json!([
        {"route": "NET/IB/GDRDMA", "within": 0, "between": 32, "unknown": 0},
        {"route": "P2P/CUMEM", "within": 96, "between": 0, "unknown": 0},
    ]);
    assert_eq!(one["routes"], routes, "{one}");
    assert!((one["mean_init"]["total"].as_f64().unwrap() - 0.9).abs() < 1e-9, "{one}");
    assert_eq!((&one["slowest_init"]["bootstrap"], &one["slowest_init"]["kernels"]), (&json!(0.3), &json!(0.2)));
    assert_eq!((&choices["processes"], &choices["hosts"], &choices["unread"]), (&json!(8), &json!(2), &json!(0)));
}

#[test]
fn each_release_is_read_whole_and_mixed() {
    for minor in 23..=32 {
        let job = Job { minor, ..Job::new(2, 4) };
        check(&choices(job.text()), minor);
        check(&choices(job.mixed()), minor);
    }
}

#[test]
fn launchers_and_times_change_nothing() {
    for before in [
        "3: ",
        "[rank3]:",
        "[1,3]<stdout>:",
        "[1,3]<stdout>: ",
        "[2026-01-02 03:04:05] ",
        "\u{1b}[36m(W pid=9)\u{1b}[0m ",
    ] {
        check(&choices(Job { before, ..Job::new(2, 4) }.mixed()), 28);
    }
    check(&choices(Job::new(2, 4).mixed().replace('\n', "\r\n")), 28);
}

#[test]
fn a_file_for_each_process_is_read_as_one_plain_or_compressed() {
    let (job, directory) = (Job::new(2, 4), tempfile::tempdir().unwrap());
    for rank in 0..job.ranks() {
        let text = job.of_rank(rank).join("\n");
        let file = std::fs::File::create(directory.path().join(format!("log.{rank}"))).unwrap();
        if rank % 2 == 0 {
            let mut file = GzEncoder::new(file, Compression::fast());
            file.write_all(text.as_bytes()).unwrap();
            file.finish().unwrap();
        } else {
            (&file).write_all(text.as_bytes()).unwrap();
        }
    }
    check(&choices_of(&[directory.path()]), 28);
    let files: Vec<_> = (0..job.ranks()).map(|rank| directory.path().join(format!("log.{rank}"))).collect();
    let files: Vec<_> = files.iter().map(std::path::PathBuf::as_path).collect();
    check(&choices_of(&files), 28);
}

#[test]
fn other_output_between_the_lines_is_passed_over() {
    let noise = "step 12 loss 0.37 | NCCL is fast | rank 3\n\nNCCL version 2.1.0\nEpoch 3: 10%\rEpoch 3: 20%\r";
    let log: String = Job::new(2, 4).mixed().lines().map(|line| format!("{line}\n{noise}")).collect();
    check(&choices(&log), 28);
    // output that ends without a line's end touches the next line's host
    let mut touched = Job::new(2, 4).mixed();
    let at = touched.rfind("\nmade1:").unwrap() + 1;
    touched.insert_str(at, "loss");
    let choices = choices(&touched);
    assert_eq!((&choices["hosts"], &choices["unread"]), (&json!(2), &json!(1)));
}

#[test]
fn splits_are_told_apart_in_each_release() {
    for (minor, number) in [(23, ""), (24, " splitCount 1"), (30, " childCount 1")] {
        let job = Job { minor, ..Job::new(2, 4) };
        let mut log = job.text();
        for rank in 0..8 {
            let (color, own) = (rank / 4, rank % 4);
            let fields = format!("comm 0x66{rank:06x} rank {own} nranks 4 cudaDev {own} nvmlDev {own} busId {own}b000");
            let split = format!("ncclCommSplit {fields} parent 0x55{rank:06x}{number} color {color} key {rank}");
            for line in [
                "Using network IB".to_owned(),
                format!("{split}- Init START"),
                format!("comm 0x66{rank:06x} rank {own} nRanks 4 nNodes 1 localRanks 4 localRank {own} MNNVL 0"),
                format!("{split} - Init COMPLETE"),
            ] {
                log += &(job.line(rank, 4, &line) + "\n");
            }
        }
        let choices = choices(&log);
        let all = choices["communicators"].as_array().unwrap();
        let names: Vec<_> = all.iter().map(|it| (it["name"].as_str().unwrap(), it["here"].as_u64().unwrap())).collect();
        let split = |color| format!("split 1 of 5ca1ab1e0000c0de, color {color}");
        assert_eq!(names, [("5ca1ab1e0000c0de", 8), (&split(0), 4), (&split(1), 4)], "2.{minor}");
        assert!(kinds(&choices).is_empty(), "{choices}");
    }
}

#[test]
fn a_communicator_is_the_reports_where_id_and_ranks_are_equal() {
    // that of the recording beside the log
    let job = |gpus| Job { id: 0x4c81_eaef_cb4a_7828, ..Job::new(1, gpus) };
    let comm = |job: Job| choices(job.text())["communicators"][0]["comm"].clone();
    assert_eq!(comm(job(2)), "4c81eaefcb4a7828");
    assert_eq!(comm(job(4)), Value::Null);
    assert_eq!(comm(Job::new(1, 2)), Value::Null);
}
