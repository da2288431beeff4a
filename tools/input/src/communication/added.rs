//! The additions to an archive, and what they lack.

use serde::{Deserialize, Serialize};

/// The additions to an archive.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Added {
    /// Communicators.
    pub(crate) communicators: usize,
    /// Messages: sends with their receives.
    pub(crate) messages: u64,
    /// Collectives, one of each rank.
    pub(crate) collectives: u64,
    /// Sends and receives without a record, because their other side is not in the archive.
    pub(crate) alone: u64,
    /// Collectives without a record, because their root is not in the archive.
    pub(crate) rootless: u64,
    /// Collectives without a record, because the ranks of their communicator have others, or another order.
    pub(crate) unequal: u64,
    /// The first such communicator, in words.
    pub(crate) unequal_first: String,
    /// Communicators whose number of ranks is not known: it is taken for that of their lanes.
    pub(crate) unsized_communicators: usize,
    /// Communicators with ranks that have no lane: the numbers of their other ranks are places among those with lanes.
    pub(crate) partial_communicators: usize,
    /// Operations of communicators without records: two processes of the archive have the same rank of them.
    pub(crate) ambiguous: u64,
    /// Messages that end before they begin, and by how many nanoseconds at most: the clocks of their ranks differ, or
    /// the GPU has not timed them.
    pub(crate) reversed: (u64, u64),
}

impl Added {
    /// Returns a sentence on each thing that the records lack.
    pub(crate) fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        let mut remark = |count: u64, text: String| {
            if count > 0 {
                remarks.push(text);
            }
        };
        let Self {
            alone,
            rootless,
            unequal,
            ref unequal_first,
            unsized_communicators,
            partial_communicators,
            ambiguous,
            reversed,
            ..
        } = *self;
        remark(
            alone,
            format!(
                "{alone} sends and receives have no record: the other side of some is not in the trace, or has other bytes \
                 (lanes without memory, or ranks without a trace)"
            ),
        );
        remark(rootless, format!("{rootless} collectives have no record: their root is not in the trace"));
        remark(
            unequal,
            format!(
                "{unequal} collectives have no record: readers match those of a communicator by their order, and its \
                 ranks do not have the same. {unequal_first}"
            ),
        );
        remark(
            unsized_communicators as u64,
            format!(
                "{unsized_communicators} communicators: the trace has no nccl/summary.json that says how many ranks \
                 they have; the bytes of their collectives are those among the ranks with lanes"
            ),
        );
        remark(
            partial_communicators as u64,
            format!(
                "{partial_communicators} communicators have ranks without lanes: viewers number the other ranks \
                 without these"
            ),
        );
        remark(
            ambiguous,
            format!("about {ambiguous} operations have no record: two processes have the same rank of a communicator"),
        );
        let (count, nanoseconds) = reversed;
        remark(
            count,
            format!(
                "{count} messages end before they begin, by {:.1} us at most: the clocks of their ranks differ by so \
                 much, or the GPU has not timed them",
                nanoseconds as f64 / 1e3
            ),
        );
        remarks
    }
}
