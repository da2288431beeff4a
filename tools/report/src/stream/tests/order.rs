//! The order of calls, and memory.

use super::hear;
use crate::made::{self, MS, MadeJob, Maker, Start, US};
use fastrand::Rng;

/// Makes a job of two communicators of 4 ranks, in which each rank enqueues operations of both in an order of its own.
fn mixed(count: u64) -> MadeJob {
    let mut maker = Maker::new(4, 2);
    let comms = [maker.communicator("a", &[0, 1, 2, 3]), maker.communicator("b", &[0, 1, 2, 3])];
    for number in 0..count {
        for (comm, place) in comms.into_iter().zip(0..) {
            maker.collective(comm, "AllReduce", 8, Start::Together((number + 1) * MS + place * 200 * US), 50 * US);
        }
    }
    let mut made = maker.finish();
    let mut random = Rng::with_seed(7);
    for rows in &mut made.table.0 {
        for pair in rows.chunks_mut(2) {
            random.shuffle(pair);
        }
    }
    made
}

#[test]
fn calls_come_in_the_order_in_which_each_host_enqueued_them() {
    let made = mixed(300);
    let (heard, counts, _) = hear(&made);
    assert_eq!((counts.matched, heard.calls.len()), (600, 2400));
    for (gpu, rows) in made.table.0.iter().enumerate() {
        let enqueued: Vec<_> = rows.iter().map(|row| (row.comm - 0xc000, row.sequence)).collect();
        let calls = heard.of(gpu).into_iter().map(|call| (call.communicator as u64, call.sequence.map(|it| it.0)));
        assert_eq!(calls.collect::<Vec<_>>(), enqueued);
    }
}

#[test]
fn occurrences_are_numbered_and_calls_refer_to_them() {
    let (heard, ..) = hear(&made::two_by_two_by_two(10, true));
    let numbers: Vec<u64> = heard.occurrences.iter().map(|it| it.number).collect();
    assert_eq!(numbers, (0..20 * 10).collect::<Vec<_>>());
    for judged in &heard.calls {
        let occurrence = &heard.occurrences[judged.occurrence as usize];
        assert!(occurrence.parts.contains(&judged.part));
    }
}

#[test]
fn memory_does_not_grow_with_the_length_of_the_job() {
    let most = |made: &MadeJob| hear(made).1.most_held;
    assert_eq!(most(&mixed(50)), most(&mixed(500)));
    let parallel = |steps| most(&made::two_by_two_by_two(steps, false));
    assert_eq!(parallel(10), parallel(100));
    assert!(parallel(10) <= 64, "{}", parallel(10));
}

/// Puts each two ranks of a job into one process with two GPUs, whose rows alternate.
fn two_in_a_process(mut made: MadeJob) -> MadeJob {
    let tables = std::mem::take(&mut made.table.0);
    for pair in tables.chunks(2) {
        let [one, other] = pair else { panic!("an even number of ranks") };
        made.table.0.push(one.iter().zip(other).flat_map(|(&one, &other)| [one, other]).collect());
    }
    for (rank, gpu) in made.job.gpus.iter_mut().enumerate() {
        (gpu.process, gpu.index) = (rank / 2, rank % 2);
    }
    let mut place = 0;
    made.job.processes.retain(|_| {
        place += 1;
        place % 2 == 1
    });
    made
}

#[test]
fn ranks_of_one_process_have_calls_of_their_own() {
    let made = two_in_a_process(made::all_to_all(4, |_, _| 1000));
    let (heard, counts, _) = hear(&made);
    assert_eq!((counts.matched, counts.unmatched, counts.compared, heard.calls.len()), (50, 0, 50, 200));
    assert!(heard.calls.iter().all(|judged| judged.call().messages.len() == 8));
    let made = two_in_a_process(made::delayed(4, 3, 100 * US));
    let (heard, counts, _) = hear(&made);
    assert_eq!((counts.matched, counts.compared, heard.calls.len()), (100, 100, 400));
    assert_eq!(heard.calls.iter().filter(|judged| judged.cost.is_some()).count(), 10);
    for gpu in 0..4 {
        let numbers: Vec<_> = heard.of(gpu).iter().map(|call| call.sequence).collect();
        assert_eq!(numbers, (0..100).map(|number| Some((number, 0))).collect::<Vec<_>>());
    }
}
