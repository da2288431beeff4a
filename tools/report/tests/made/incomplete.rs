//! Jobs that lack something, or have something twice.

use super::{MS, MadeJob, Maker, Start, US};
use common::name::NcclName;

/// Makes `count` all-reduces of 4 ranks, 1 ms apart, that take 30 us.
fn reduces(count: u64) -> MadeJob {
    let mut maker = Maker::new(4, 4);
    let world = maker.communicator("world", &[0, 1, 2, 3]);
    for number in 0..count {
        maker.collective(world, "AllReduce", 1024, Start::Together((number + 1) * MS), 30 * US);
    }
    maker.finish()
}

/// Takes the last process out of a job.
fn without_the_last(mut made: MadeJob) -> MadeJob {
    made.job.processes.pop();
    made.job.gpus.pop();
    made.table.0.pop();
    made.clocks.pop();
    let here = made.job.gpus.len();
    for communicator in &mut made.job.communicators {
        communicator.members.retain(|member| member.gpu < here);
    }
    made
}

/// Makes `count` all-reduces of 4 ranks, of which the last one was not found.
pub(crate) fn missing_rank(count: u64) -> MadeJob {
    without_the_last(reduces(count))
}

/// Makes `count` all-reduces of 4 ranks. The table of the last one ends before its first operation.
pub(crate) fn rank_without_operations(count: u64) -> MadeJob {
    let mut made = reduces(count);
    if let Some(rows) = made.table.0.last_mut() {
        rows.clear();
    }
    made
}

/// Makes `count` all-reduces of 4 ranks; the last process claims to be rank 2, too.
pub(crate) fn repeated_rank(count: u64) -> MadeJob {
    let mut made = reduces(count);
    for row in made.table.0.iter_mut().skip(3).flatten() {
        row.rank = 2;
    }
    for communicator in &mut made.job.communicators {
        communicator.members.retain(|member| member.rank != 3);
        communicator.repeated = vec![2];
    }
    made
}

/// Makes `count` all-reduces of 4 ranks. Half of the last process' operations are of a communicator that the job does
/// not know.
pub(crate) fn foreign_rank(count: u64) -> MadeJob {
    let mut made = reduces(count);
    for row in made.table.0.iter_mut().skip(3).flatten().step_by(2) {
        row.comm = 0xf0e;
    }
    made
}

/// Makes a CUDA graph of two all-reduces of 4 ranks that is replayed `count` times, 1 ms apart.
pub(crate) fn graph_replays(count: u32) -> MadeJob {
    let mut maker = Maker::new(4, 4);
    let world = maker.communicator("world", &[0, 1, 2, 3]);
    let function = NcclName::of(Some(c"AllReduce"));
    for replay in 0..count {
        let time = MS * u64::from(replay + 1);
        for sequence in [0, 1] {
            let start = Start::Together(time + sequence * 100 * US);
            maker.replay(world, (function, sequence, replay), 1024, start, 30 * US);
        }
    }
    maker.finish()
}
