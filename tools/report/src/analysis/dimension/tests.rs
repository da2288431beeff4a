//! Guesses of whole jobs.

use super::*;
use crate::analysis::fold::Merge;
use crate::analysis::tests::calls::{job, name};

fn collectives(function: &str, count: u64, bytes: u64) -> Tally {
    Tally { collectives: [(name(function), [count, count * bytes])].into(), ..Tally::default() }
}

fn exchanges(count: u64) -> Tally {
    Tally { exchanges: count, all_to_all: count, ..Tally::default() }
}

/// 2 x 2 x 2: TP neighbours, DP two apart, PP four apart, and the world.
fn grid() -> Job {
    let groups: [&[usize]; 13] = [
        &[0, 1, 2, 3, 4, 5, 6, 7],
        &[0, 1],
        &[2, 3],
        &[4, 5],
        &[6, 7],
        &[0, 2],
        &[1, 3],
        &[4, 6],
        &[5, 7],
        &[0, 4],
        &[1, 5],
        &[2, 6],
        &[3, 7],
    ];
    job(&groups.iter().enumerate().map(|(at, gpus)| (at as u64, *gpus)).collect::<Vec<_>>())
}

fn tallies_of_grid(near: &Tally, middle: &Tally, far: &Tally) -> Vec<Tally> {
    let world = collectives("AllReduce", 8, 4);
    let of = |at| match at {
        0 => world.clone(),
        1..=4 => near.clone(),
        5..=8 => middle.clone(),
        _ => far.clone(),
    };
    (0..13).map(of).collect()
}

fn guessed(job: &Job, tallies: &[Tally]) -> Vec<(String, Origin)> {
    Dimensions::find(job, &[], tallies).by_communicator().into_iter().map(|it| (it.name, it.origin)).collect()
}

#[test]
fn a_grid_of_tp_dp_and_pp_is_guessed() {
    let sums = collectives("AllReduce", 400, 1 << 20);
    let tallies = tallies_of_grid(&sums, &collectives("ReduceScatter", 20, 1 << 24), &exchanges(100));
    let found = guessed(&grid(), &tallies);
    assert_eq!(found[0], ("unknown".into(), Origin::Unknown));
    for (range, name) in [(1..5, "TP"), (5..9, "DP"), (9..13, "PP")] {
        assert!(found[range].iter().all(|it| *it == (name.into(), Origin::Guessed)), "{name}: {found:?}");
    }
}

/// Sums of a loss over all pairs of stages are no dimension.
#[test]
fn small_sums_over_other_groups_do_not_confuse() {
    let mut job = grid();
    for (at, gpus) in [[0, 1, 2, 3], [4, 5, 6, 7]].into_iter().enumerate() {
        let member = |(rank, gpu): (usize, usize)| crate::job::Member { rank: rank as i32, gpu, made: 0 };
        let members = gpus.into_iter().enumerate().map(member).collect();
        let comm = 20 + at as u64;
        job.places.insert(comm, job.communicators.len());
        job.communicators.push(crate::job::Communicator { comm, nranks: 4, members, ..Default::default() });
    }
    let sums = collectives("AllReduce", 400, 1 << 20);
    let mut tallies = tallies_of_grid(&sums, &collectives("AllReduce", 20, 1 << 24), &exchanges(100));
    tallies.extend([collectives("AllReduce", 20, 4), collectives("AllReduce", 20, 4)]);
    let found = guessed(&job, &tallies);
    assert_eq!([&found[1].0, &found[5].0, &found[9].0, &found[13].0], ["TP", "DP", "PP", "unknown"]);
}

#[test]
fn a_message_to_itself_tells_an_all_to_all_of_two() {
    let experts = Tally { to_itself: 100, ..exchanges(100) };
    let tallies = tallies_of_grid(&collectives("AllReduce", 400, 1), &collectives("AllReduce", 20, 1), &experts);
    assert_eq!(guessed(&grid(), &tallies)[9].0, "EP");
}

#[test]
fn two_families_that_do_the_same_are_unknown() {
    let sums = collectives("AllReduce", 100, 1 << 20);
    let found = guessed(&grid(), &tallies_of_grid(&sums, &sums, &exchanges(100)));
    assert!(found[1..9].iter().all(|it| it.1 == Origin::Unknown), "{found:?}");
    assert_eq!(found[9].0, "PP");
    let found = guessed(&grid(), &tallies_of_grid(&sums, &exchanges(50), &exchanges(100)));
    assert!(found.iter().all(|it| it.1 == Origin::Unknown), "neighbours alone may be TP or DP: {found:?}");
}

#[test]
fn shards_and_replicas_are_both_dp() {
    let job = job(&[(1, &[0, 1]), (2, &[2, 3]), (3, &[0, 2]), (4, &[1, 3])]);
    let mut shards = collectives("AllGather", 200, 1 << 20);
    shards.merge(collectives("ReduceScatter", 100, 1 << 20));
    let replicas = collectives("AllReduce", 100, 1 << 20);
    let tallies = vec![shards.clone(), shards.clone(), replicas.clone(), replicas];
    assert!(guessed(&job, &tallies).iter().all(|it| it.0 == "DP"));
    // replicas are summed up once in four times, or it is something else
    for (bytes, names) in [(1 << 20, ["DP", "DP"]), (1 << 22, ["TP", "DP"])] {
        let seldom = collectives("AllReduce", 25, bytes);
        let tallies = vec![shards.clone(), shards.clone(), seldom.clone(), seldom];
        let found = guessed(&job, &tallies);
        assert_eq!([&found[0].0, &found[2].0], names);
    }
}

#[test]
fn the_world_alone_is_dp_if_it_sums_gradients() {
    let job = job(&[(1, &[0, 1, 2, 3])]);
    assert_eq!(guessed(&job, &[collectives("AllReduce", 10, 1 << 20)])[0].0, "DP");
    assert_eq!(guessed(&job, &[collectives("AllReduce", 10, 1 << 10)])[0].0, "unknown");
    assert_eq!(guessed(&job, &[collectives("AllGather", 10, 1 << 20)])[0].0, "unknown");
}

#[test]
fn a_missing_rank_leaves_its_family_unknown() {
    let mut job = grid();
    job.communicators[6].nranks = 3;
    let tallies = tallies_of_grid(&collectives("AllReduce", 400, 1), &collectives("AllReduce", 20, 1), &exchanges(100));
    assert!(guessed(&job, &tallies)[1..9].iter().all(|it| it.1 == Origin::Unknown));
}

#[test]
fn a_file_goes_before_a_name_and_a_name_before_a_guess() {
    let mut job = grid();
    job.communicators[1].name = "mesh_cp".into();
    job.communicators[2].name = "mesh_cp".into();
    let rules = rules("file", "ours ranks 2-3").unwrap();
    let tallies = tallies_of_grid(&collectives("AllReduce", 400, 1), &collectives("AllReduce", 20, 1), &exchanges(100));
    let found = Dimensions::find(&job, &rules, &tallies);
    let of = |place| (found.at(place).name, found.at(place).origin);
    assert_eq!(of(1), ("CP".into(), Origin::Name));
    assert_eq!(of(2), ("ours".into(), Origin::File));
    assert_eq!(of(3), ("TP".into(), Origin::Guessed));
    assert_eq!(found.number(3), found.number(4));
    assert_eq!(found.distinct.len(), 6);
}
