//! Jobs of one communicator.

use super::{DriftingClock, MS, MadeJob, Maker, S, Start, US};

/// Makes 100 all-reduces of 4 KiB among `ranks` ranks, 1 ms apart, that take 30 us. In every tenth one, from the 10th
/// on, `late` comes `by` nanoseconds after the others.
pub(crate) fn delayed(ranks: usize, late: usize, by: u64) -> MadeJob {
    let mut maker = Maker::new(ranks, 4);
    let world = maker.communicator("world", &(0..ranks).collect::<Vec<_>>());
    for number in 0..100 {
        let time = (number + 1) * MS;
        let is_late = number % 10 == 9;
        let starts: Vec<u64> = (0..ranks).map(|rank| if is_late && rank == late { time + by } else { time }).collect();
        maker.collective(world, "AllReduce", 1024, Start::Each(&starts), 30 * US);
    }
    maker.finish()
}

/// Makes 20 transfers of 1 MB from rank 0 to rank 1, 1 ms apart, that take 50 us; rank `late` begins `by` nanoseconds
/// after the other one.
fn transfers(late: usize, by: u64) -> MadeJob {
    let mut maker = Maker::new(2, 2);
    let world = maker.communicator("pipeline", &[0, 1]);
    for number in 0..20 {
        let mut starts = [(number + 1) * MS; 2];
        starts[late] += by;
        maker.exchange(world, &[(0, 1, 1_000_000)], Start::Each(&starts), 50 * US);
    }
    maker.finish()
}

/// Makes 20 transfers of 1 MB from rank 0 to rank 1 that take 50 us; the send begins `by` nanoseconds after the
/// receive.
pub(crate) fn late_sender(by: u64) -> MadeJob {
    transfers(0, by)
}

/// The same, but the receive begins `by` nanoseconds after the send.
pub(crate) fn late_receiver(by: u64) -> MadeJob {
    transfers(1, by)
}

/// Makes 50 all-to-alls among `ranks` ranks, 1 ms apart, that take 80 us. `bytes` gives the bytes from one rank to
/// another, also to itself.
pub(crate) fn all_to_all(ranks: usize, bytes: impl Fn(usize, usize) -> u64) -> MadeJob {
    let mut maker = Maker::new(ranks, 4);
    let world = maker.communicator("experts", &(0..ranks).collect::<Vec<_>>());
    let pairs = (0..ranks).flat_map(|from| (0..ranks).map(move |to| (from, to)));
    let messages: Vec<_> = pairs.map(|(from, to)| (from, to, bytes(from, to))).collect();
    for number in 0..50 {
        maker.exchange(world, &messages, Start::Together((number + 1) * MS), 80 * US);
    }
    maker.finish()
}

/// Makes 50 exchanges around a ring: each rank sends 64 KiB to the next one. 1 ms apart, 40 us each.
pub(crate) fn ring(ranks: usize) -> MadeJob {
    let mut maker = Maker::new(ranks, 4);
    let world = maker.communicator("context", &(0..ranks).collect::<Vec<_>>());
    let messages: Vec<_> = (0..ranks).map(|rank| (rank, (rank + 1) % ranks, 65_536)).collect();
    for number in 0..50 {
        maker.exchange(world, &messages, Start::Together((number + 1) * MS), 40 * US);
    }
    maker.finish()
}

/// Makes `count` transfers of 1 MB between each two of `ranks` ranks, both ways, one pair after the other; a transfer
/// takes 50 us, and 200 us from rank 0 to rank 1.
pub(crate) fn throttled(ranks: usize, count: u64) -> MadeJob {
    exchanged(ranks, count, |from, to| if (from, to) == (0, 1) { 200 * US } else { 50 * US })
}

/// Makes `count` transfers of 1 MB between each two of `ranks` ranks, both ways, one after the other. `takes` gives how
/// long one takes, nanoseconds.
pub(crate) fn exchanged(ranks: usize, count: u64, takes: impl Fn(usize, usize) -> u64) -> MadeJob {
    let mut maker = Maker::new(ranks, 4);
    let world = maker.communicator("world", &(0..ranks).collect::<Vec<_>>());
    let mut time = MS;
    for _ in 0..count {
        for from in 0..ranks {
            for to in (0..ranks).filter(|&to| to != from) {
                let end = maker.exchange(world, &[(from, to, 1_000_000)], Start::Together(time), takes(from, to));
                time = end + 100 * US;
            }
        }
    }
    maker.finish()
}

/// Makes `seconds` of all-reduces among 4 ranks on nodes of their own, 10 ms apart, that take 30 us; all begin at once.
/// The nodes' clocks are hours apart, and drift by -50, 0, 25 and 50 ppm; their times of day differ by up to 40 ms.
pub(crate) fn apart(seconds: u64) -> MadeJob {
    let mut maker = Maker::new(4, 1);
    for (node, drift_ppm) in [-50, 0, 25, 50].into_iter().enumerate() {
        let at_0 = 1_000 * S + node as u64 * 3_600 * S;
        let day_ahead = [0, 40, -30, 10][node] * MS as i64;
        maker.clock(node, DriftingClock { at_0, drift_ppb: drift_ppm * 1_000, day_ahead });
    }
    let world = maker.communicator("world", &[0, 1, 2, 3]);
    for number in 0..seconds * 100 {
        maker.collective(world, "AllReduce", 1024, Start::Together((number + 1) * 10 * MS), 30 * US);
    }
    maker.finish()
}
