//! Jobs by chance: whatever they lack, every operation is in one call, and every call comes in its host's order.

use super::{Heard, hear_tables};
use crate::job::RankOperation;
use crate::made::{MS, MadeJob, Maker, Start, US};
use fastrand::Rng;

/// Makes a job of up to 6 ranks, this many on a node, with some communicators of some of them, and collectives and
/// exchanges by chance.
fn job(random: &mut Rng, on_each_node: usize) -> MadeJob {
    let ranks = random.usize(1..7);
    let mut maker = Maker::new(ranks, on_each_node);
    let mut comms = Vec::new();
    for _ in 0..random.usize(1..5) {
        let mut of: Vec<usize> = (0..ranks).collect();
        random.shuffle(&mut of);
        of.truncate(random.usize(1..=ranks));
        comms.push((maker.communicator("", &of), of.len()));
    }
    for number in 0..random.u64(1..80) {
        let (comm, size) = comms[random.usize(..comms.len())];
        let start = Start::Together((number + 1) * MS);
        if random.bool() {
            let function = ["AllReduce", "Broadcast"][random.usize(..2)];
            maker.collective(comm, function, random.u64(..100), start, 40 * US);
        } else {
            let message = |random: &mut Rng| (random.usize(..size), random.usize(..size), random.u64(..100));
            let messages: Vec<_> = (0..random.usize(1..8)).map(|_| message(random)).collect();
            maker.exchange(comm, &messages, start, 40 * US);
        }
    }
    maker.finish()
}

/// Returns how many sends and receives, or one collective, the calls of a GPU are made of, with their communicators.
fn rows_of_calls(heard: &Heard, gpu: usize) -> Vec<(usize, Option<u64>)> {
    let calls = heard.of(gpu).into_iter();
    calls
        .flat_map(|call| {
            let row = (call.communicator, call.sequence.map(|(sequence, _)| sequence));
            std::iter::repeat_n(row, call.messages.len().max(1))
        })
        .collect()
}

fn rows(of: &[RankOperation]) -> Vec<(usize, Option<u64>)> {
    of.iter().map(|row| ((row.comm - 0xc000) as usize, row.sequence)).collect()
}

#[test]
fn whole_jobs_are_matched_wholly() {
    let mut random = Rng::with_seed(1);
    for case in 0..200 {
        let made = job(&mut random, 6);
        let (heard, counts, _) = hear_tables(&made.job, &made.table);
        assert_eq!(counts.unmatched, 0, "{case}");
        assert_eq!(counts.compared, counts.matched, "{case}");
        for (gpu, of) in made.table.0.iter().enumerate() {
            assert_eq!(rows_of_calls(&heard, gpu), rows(of), "{case}");
        }
    }
}

#[test]
fn jobs_that_lack_rows_lose_no_others() {
    let mut random = Rng::with_seed(2);
    let mut unmatched = 0;
    for case in 0..400 {
        let mut made = job(&mut random, 2);
        for of in &mut made.table.0 {
            match random.u32(..4) {
                0 => of.retain(|_| random.u32(..10) > 0),
                1 => of.truncate(random.usize(..=of.len())),
                _ => {}
            }
        }
        if random.bool() {
            let communicator = random.usize(..made.job.communicators.len());
            made.job.communicators[communicator].repeated = vec![0];
        }
        let (heard, counts, _) = hear_tables(&made.job, &made.table);
        let all: usize = made.table.0.iter().map(Vec::len).sum();
        assert_eq!((counts.operations, counts.foreign), (all as u64, 0), "{case}");
        assert!(heard.occurrences.iter().all(|it| it.is_whole || it.compared.is_none()));
        unmatched += counts.unmatched;
        for (gpu, of) in made.table.0.iter().enumerate() {
            assert_eq!(rows_of_calls(&heard, gpu), rows(of), "{case}");
        }
    }
    assert!(unmatched > 1000, "{unmatched}");
}
