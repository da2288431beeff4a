//! `scorep-nccl table`: the operations' tables of recordings against the summary and the lanes of their replay.

mod dataset;
mod memory;
mod sums;

use crate::support::{tool, trace};
use report::job::{OperationTables, RankOperation};
use report::table::{OpenedTables, Tables};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// Returns a command that makes tables.
fn table(recordings: &[&Path], to: &Path) -> Command {
    let mut command = tool::tool();
    command.arg("table").args(recordings).arg("--to").arg(to);
    command
}

/// Makes the tables of a run. Returns the rows of each process.
fn made(run: &str, environment: &[(&str, &str)]) -> Vec<Vec<RankOperation>> {
    let to = TempDir::new().unwrap();
    tool::succeed(table(&[&tool::run(run)], to.path()).envs(environment.iter().copied()));
    rows(&Tables::open(&[to.path().into()]))
}

fn rows(opened: &OpenedTables) -> Vec<Vec<RankOperation>> {
    assert_eq!(opened.left_out, []);
    let of_process = |process| opened.tables.operations(process).unwrap().map(Result::unwrap).collect();
    (0..opened.job.processes.len()).map(of_process).collect()
}

/// nodes2x2_train, rank 0: 192 all-reduces, and 24 sends and 24 receives of a group and a kernel each, none in a graph.
#[test]
fn an_operation_has_what_it_was_called_with() {
    let rows = made("nodes2x2_train", &[]).remove(0);
    let first = rows[0];
    let names = [first.function, first.datatype, first.algorithm, first.protocol].map(common::name::NcclName::text);
    assert_eq!(names, ["AllReduce", "ncclBfloat16", "RING", "SIMPLE"]);
    assert_eq!((first.comm, first.rank, first.order, first.sequence), (0x6a35_4bfa_7336_b7a5, 0, 1, Some(0)));
    assert_eq!((first.count, first.bytes, first.channels, first.root), (Some(4_194_304), 8_388_608, 24, None));
    // CollApi on line 8 of the recording: group 1, the first stream
    assert_eq!((first.enqueued, first.group, first.stream), (142_036_882_506 + 364_211_929, Some(1), 1));
    assert_eq!((first.kernel, first.alone, first.replay, first.unfinished), (1, true, 0, false));
    let groups: BTreeSet<_> = rows.iter().map(|it| it.group).collect();
    assert_eq!((rows.len(), groups.len()), (240, 240));
    assert_eq!(rows.iter().filter(|it| it.is_message()).map(|it| it.sequence).collect::<BTreeSet<_>>(), [None].into());
}

/// An all-to-all of two ranks: two sends and two receives of one group. The recordings of 2.28 name the group, and sends
/// and receives to oneself are among them.
#[test]
fn messages_of_one_group_have_one_number() {
    let rows = made("truth_moe", &[]).remove(0);
    let mut groups: BTreeMap<_, Vec<&RankOperation>> = BTreeMap::new();
    for row in rows.iter().filter(|it| it.is_message()) {
        groups.entry(row.group.unwrap()).or_default().push(row);
    }
    assert_eq!(groups.len(), 40);
    for messages in groups.values() {
        let peers: Vec<_> = messages.iter().map(|it| (it.function.text(), it.peer)).collect();
        let of = |function: &str| peers.iter().filter(|it| it.0 == function).map(|it| it.1).collect::<BTreeSet<_>>();
        assert_eq!([of("Send"), of("Recv")], [[Some(0), Some(1)].into(), [Some(0), Some(1)].into()]);
        assert!(messages.iter().all(|it| it.kernel == messages[0].kernel && !it.alone));
    }
}

/// Replays of a graph are enqueued when they run, in groups of their own, on a stream that nobody names.
#[test]
fn replays_of_a_graph_are_not_their_capture() {
    let rows = made("nvlink2_graph", &[]).remove(0);
    let of_graph: Vec<&RankOperation> = rows.iter().filter(|it| it.stream == 0).collect();
    assert_eq!((rows.len(), of_graph.len()), (23, 20));
    assert_eq!(of_graph.iter().map(|it| it.enqueued).collect::<BTreeSet<_>>().len(), 20);
    assert_eq!(rows.iter().map(|it| it.group).collect::<BTreeSet<_>>().len(), 23);
    // the host launches a graph and not its kernels
    assert!(rows.iter().all(|it| it.launched.is_none() || it.stream != 0));
    assert!(rows.iter().any(|it| it.launched.is_some()));
}

/// The library leaves small operations out, except for those to oneself. The others have their places in the order of starts, and their facts.
#[test]
fn an_operation_is_found_among_those_that_are_left_out() {
    let all = made("nodes2x2_collectives", &[]);
    let large = made("nodes2x2_collectives", &[("NCCL_SCOREP_MIN_BYTES", "65536")]);
    for (all, large) in all.iter().zip(&large) {
        let called = |it: &RankOperation| {
            (it.comm, it.rank, it.order, it.function, it.count, it.datatype, it.root, it.group, it.enqueued, it.replay)
        };
        let expected: Vec<_> =
            all.iter().filter(|it| it.bytes >= 65_536 || it.peer == Some(it.rank)).map(called).collect();
        assert!(!expected.is_empty() && expected.len() < all.len());
        let found: Vec<_> = large.iter().map(called).collect();
        assert!(found == expected, "{} operations, {} expected", found.len(), expected.len());
    }
}

/// Lanes begin where operations begin, or up to 20 us later where an operation reaches into the next one.
#[test]
fn times_are_those_of_the_lanes() {
    if Command::new("otf2-print").arg("--version").output().is_err() {
        return tool::skip("otf2-print is not installed (Debian: otf2-tools)");
    }
    let run = tool::run("nodes2x2_train");
    let directory = TempDir::new().unwrap();
    let archive = directory.path().join("archive");
    tool::succeed(tool::tool().arg("replay").arg(&run).args(["--format", "json", "--otf2"]).arg(&archive));
    let mut lanes: BTreeMap<String, Vec<(u64, Option<u64>)>> = BTreeMap::new();
    for location in &trace::Trace::read(&archive).locations {
        let Some((owner, rest)) = location.name.split_once(" rank ") else { continue };
        let rank = rest.split(' ').next().unwrap();
        let enters = location.events.iter().filter(|event| matches!(event.what, trace::What::Enter(_)));
        let queued = |event: &trace::Event| Some(event.attributes.get("nccl_queued")?.parse().unwrap());
        let begins = enters.map(|event| (event.time, queued(event)));
        lanes.entry(format!("{owner} rank {rank}")).or_default().extend(begins);
    }
    let mut tables: BTreeMap<String, Vec<(u64, Option<u64>)>> = BTreeMap::new();
    for row in made("nodes2x2_train", &[]).concat() {
        let start = row.time.unwrap().start;
        let queued = row.later().map(|_| start.saturating_sub(row.launched.unwrap()));
        tables.entry(format!("NCCL {:016x} rank {}", row.comm, row.rank)).or_default().push((start, queued));
    }
    assert_eq!(lanes.keys().collect::<Vec<_>>(), tables.keys().collect::<Vec<_>>());
    let mut known = 0;
    for (owner, begins) in &mut lanes {
        let starts = tables.get_mut(owner).unwrap();
        begins.sort_unstable();
        starts.sort_unstable();
        assert_eq!(begins.len(), starts.len(), "{owner}");
        for ((begin, lane), (start, table)) in begins.iter().zip(starts) {
            assert!((*start..=*start + 20_000).contains(begin), "{owner}: {start} {begin}");
            // a time of a lane is rounded, and so is the other one
            let is_same = lane.zip(*table).is_some_and(|(lane, table)| (table..=table + 20_002).contains(&(lane + 2)));
            assert!(is_same || lane.is_none() && table.is_none(), "{owner}: {lane:?} {table:?}");
            known += usize::from(is_same);
        }
    }
    assert!(known > 100, "{known}");
}
