//! `scorep-nccl compare`: a run with itself, its halves, and with a slower one.

use crate::report::{json, ran, report};
use crate::support::tool;
use ::report::job::{OperationTables, RankOperation};
use ::report::table::{About, MadeCommunicator, OpenedTables, TableWriter, Tables};
use std::cell::Cell;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

fn compare(before: &Path, after: &Path) -> Command {
    let mut command = tool::tool();
    command.arg("compare").args([before, after]);
    command
}

/// Writes a dataset again. Operations for which `change` gives `false` are left out; it gets an operation's number in
/// its process, and how many the process has.
fn rewritten(dataset: &Path, to: &Path, change: impl Fn([usize; 2], &mut RankOperation) -> bool) {
    let OpenedTables { job, tables, .. } = Tables::open(&[dataset.into()]);
    for (number, process) in job.processes.iter().enumerate() {
        let mut made = Vec::new();
        for communicator in &job.communicators {
            let own = communicator.members.iter().filter(|it| job.gpus[it.gpu].process == number);
            made.extend(own.map(|member| MadeCommunicator {
                comm: format!("{:016x}", communicator.comm),
                name: communicator.name.clone(),
                nranks: communicator.nranks,
                nnodes: communicator.nnodes,
                rank: member.rank,
                made: member.made,
            }));
        }
        let mut writer = TableWriter::create(to, &process.id).unwrap();
        let mut rows: Vec<RankOperation> = tables.operations(number).unwrap().map(Result::unwrap).collect();
        let count = rows.len();
        for (place, row) in rows.iter_mut().enumerate() {
            if change([place, count], row) {
                writer.push(row).unwrap();
            }
        }
        let summary = tables.summary(number).unwrap();
        writer.finish(&About { process: process.clone(), communicators: made, summary, conditions: vec![] }).unwrap();
    }
}

/// The tables of a training's run.
fn train(directory: &Path) -> std::path::PathBuf {
    let dataset = directory.join("train");
    crate::report::table(&tool::run("nodes2x2_train"), &dataset);
    dataset
}

#[test]
fn a_run_is_equal_to_itself_and_its_halves_to_each_other() {
    let directory = TempDir::new().unwrap();
    let dataset = train(directory.path());
    let halves = ["first", "second"].map(|name| directory.path().join(name));
    for (number, half) in halves.iter().enumerate() {
        rewritten(&dataset, half, |[place, count], _| place * 2 / count == number);
    }
    for [before, after] in [[&dataset, &tool::run("nodes2x2_train")], [&halves[0], &halves[1]]] {
        let (status, printed, said) = ran(compare(before, after).args(["--json", "-"]));
        assert_eq!((status, said.as_str()), (Some(0), ""), "{printed}");
    }
}

#[test]
fn a_function_that_takes_twice_as_long_is_worse() {
    let directory = TempDir::new().unwrap();
    let (dataset, slow) = (train(directory.path()), directory.path().join("slow"));
    // what follows comes as much later: own times stay as they are
    let later = Cell::new(0);
    rewritten(&dataset, &slow, |[place, _], row| {
        later.set(if place == 0 { 0 } else { later.get() });
        row.enqueued += later.get();
        let time = row.time.as_mut().unwrap();
        [&mut time.start, &mut time.stop].into_iter().for_each(|time| *time += later.get());
        if row.function.text() == "AllReduce" {
            let length = time.stop - time.start;
            row.duration *= 2;
            time.stop += length;
            later.set(later.get() + length);
        }
        true
    });
    let (status, printed, said) = ran(&mut compare(&dataset, &slow));
    assert_eq!((status, said.as_str()), (Some(1), ""), "{printed}");
    assert!(printed.contains("AllReduce"), "{printed}");
    // the other way round it is better, which is no fault
    assert_eq!(ran(&mut compare(&slow, &dataset)).0, Some(0));
    // and more than the threshold allows only if the threshold is small
    assert_eq!(ran(compare(&dataset, &slow).args(["--threshold", "1000"])).0, Some(0));
}

/// All times of the run are a quarter longer. The page and the JSON are written, and an earlier report as JSON serves as
/// well as the run.
#[test]
fn a_step_that_takes_longer_is_said_first() {
    let directory = TempDir::new().unwrap();
    let (dataset, slow) = (train(directory.path()), directory.path().join("slow"));
    rewritten(&dataset, &slow, |_, row| {
        let longer = |time: &mut u64| *time += *time / 4;
        [&mut row.enqueued, &mut row.duration].into_iter().for_each(longer);
        let time = row.time.as_mut().unwrap();
        [&mut time.start, &mut time.stop].into_iter().for_each(longer);
        true
    });
    let [page, comparison, before] =
        ["page.html", "comparison.json", "before.json"].map(|name| directory.path().join(name));
    let files = ["--html".as_ref(), page.as_os_str(), "--json".as_ref(), comparison.as_os_str()];
    let (status, printed, said) = ran(compare(&dataset, &slow).args(files));
    assert_eq!((status, said.as_str()), (Some(1), ""), "{printed}");
    assert!(printed.starts_with("A step takes 25 % longer: "), "{printed}");
    assert!(std::fs::read_to_string(&page).unwrap().contains("A step takes 25\u{a0}% longer: "));
    let comparison = json(&comparison);
    assert_eq!(comparison["step"]["known"]["verdict"], "worse");
    assert_eq!((&comparison["worse"], &comparison["runs"][0]["ranks"]), (&true.into(), &4.into()));
    tool::succeed(report([&dataset]).arg("--json").arg(&before));
    let (status, again, said) = ran(&mut compare(&before, &slow));
    assert_eq!((status, said.as_str()), (Some(1), ""));
    assert_eq!(again, printed);
}

#[test]
fn runs_that_cannot_be_compared_have_an_exit_status_of_their_own() {
    let directory = TempDir::new().unwrap();
    let run = tool::run("nvlink2_graph");
    let (status, printed, said) = ran(&mut compare(&run, &directory.path().join("missing")));
    assert_eq!((status, printed.as_str()), (Some(2), ""));
    assert!(said.contains("missing: No such file"), "{said}");
    // a recording is left out
    let copy = directory.path().join("copy");
    std::fs::create_dir(&copy).unwrap();
    for capture in tool::captures(&run) {
        std::fs::copy(&capture, copy.join(capture.file_name().unwrap())).unwrap();
    }
    std::fs::write(copy.join("more.jsonl.gz"), "damaged").unwrap();
    let (status, _, said) = ran(&mut compare(&run, &copy));
    assert_eq!(status, Some(2), "{said}");
    assert!(said.contains("more.jsonl.gz"), "{said}");
}
