//! A job of three dimensions of parallelism.

use super::{MS, MadeJob, Maker, Start, US};

/// Name of the communicators of tensor parallelism.
const TENSOR: &str = "tp";
/// Name of the communicators of pipeline parallelism.
const PIPELINE: &str = "pp";
/// Name of the communicators of data parallelism.
const DATA: &str = "dp";

/// Makes `steps` steps of 8 ranks on 2 nodes, 2 x 2 x 2: tensor-parallel neighbours (0,1), (2,3) and so on,
/// data-parallel (0,2), (1,3), (4,6), (5,7), pipeline stages (0,4), (1,5), (2,6), (3,7). With `named`, communicators
/// have the names above. A step takes 4 ms: two all-reduces of 4 MB in each tensor group, a transfer of 1 MB from the
/// first stage to the second and one back, and an all-reduce of 16 MB in each data group.
pub(crate) fn two_by_two_by_two(steps: u64, named: bool) -> MadeJob {
    let mut maker = Maker::new(8, 4);
    maker.communicator("", &[0, 1, 2, 3, 4, 5, 6, 7]);
    let mut groups = |name: &str, groups: [[usize; 2]; 4]| {
        groups.map(|ranks| maker.communicator(if named { name } else { "" }, &ranks))
    };
    let tensor = groups(TENSOR, [[0, 1], [2, 3], [4, 5], [6, 7]]);
    let pipeline = groups(PIPELINE, [[0, 4], [1, 5], [2, 6], [3, 7]]);
    let data = groups(DATA, [[0, 2], [1, 3], [4, 6], [5, 7]]);
    for step in 0..steps {
        let begin = MS + step * 4 * MS;
        maker.step(begin);
        for comm in tensor {
            maker.collective(comm, "AllReduce", 1 << 20, Start::Together(begin), 100 * US);
        }
        for comm in pipeline {
            maker.exchange(comm, &[(0, 1, 1_000_000)], Start::Together(begin + 500 * US), 100 * US);
        }
        for comm in tensor {
            maker.collective(comm, "AllReduce", 1 << 20, Start::Together(begin + MS), 100 * US);
        }
        for comm in pipeline {
            maker.exchange(comm, &[(1, 0, 1_000_000)], Start::Together(begin + 2 * MS), 100 * US);
        }
        for comm in data {
            maker.collective(comm, "AllReduce", 1 << 22, Start::Together(begin + 3 * MS), 400 * US);
        }
    }
    maker.step(MS + steps * 4 * MS);
    maker.finish()
}
