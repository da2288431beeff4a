//! Transfers over the network by state, and those of operations, from the summaries of the job's processes.

use super::fold::Keyed;
use super::pairs::MAX_PAIRS;
use crate::answer::{NetworkTransfers, OperationSends, PairStates, Part};
use crate::job::Job;
use common::summary::{OperationTransfers, TransferStates};

/// Gathers rows of summaries.
#[derive(Debug, Clone, Default)]
pub struct TransferSums {
    /// By communicator, sender and receiver.
    states: Keyed<(u64, i32, i32), PairStates, MAX_PAIRS>,
    /// By function, communicator and least bytes.
    operations: Keyed<(String, u64, u64), OperationSends, { usize::MAX }>,
}

impl TransferSums {
    /// Adds the rows of a summary. Rows of communicators that are summed up have no id, and are left out.
    pub fn add(&mut self, states: &[TransferStates], operations: &[OperationTransfers]) {
        states.iter().for_each(|row| self.add_states(row));
        for row in operations {
            let Ok(comm) = u64::from_str_radix(&row.comm, 16) else { continue };
            let sum = self.operations.value((row.func.clone(), comm, row.from_bytes));
            sum.operations = sum.operations.saturating_add(row.operations);
            sum.transfers = sum.transfers.saturating_add(row.transfers);
            sum.bytes = sum.bytes.saturating_add(row.bytes);
            sum.time_us += row.time_us;
        }
    }

    fn add_states(&mut self, row: &TransferStates) {
        let Ok(comm) = u64::from_str_radix(&row.comm, 16) else { return };
        let is_send = row.direction == "send";
        let (from, to) = if is_send { (row.rank, row.peer) } else { (row.peer, row.rank) };
        let pair = self.states.value((comm, from, to));
        let (count, times, added) = match is_send {
            true => {
                let added = [row.queued_us, row.gpu_us, row.peer_us.unwrap_or_default(), row.network_us];
                (&mut pair.sent, &mut pair.send_us, added)
            }
            false => {
                let added = [row.queued_us, row.network_us, row.flush_us.unwrap_or_default(), row.gpu_us];
                (&mut pair.received, &mut pair.receive_us, added)
            }
        };
        *count = count.saturating_add(row.transfers);
        times.get_or_insert_default().iter_mut().zip(added).for_each(|(sum, us)| *sum += us);
    }

    /// Takes the rows of these communicators out.
    #[must_use]
    pub fn split_off(&mut self, is_own: impl Fn(u64) -> bool) -> Self {
        Self {
            states: self.states.split_off(|(comm, ..)| is_own(*comm)),
            operations: self.operations.split_off(|(_, comm, _)| is_own(*comm)),
        }
    }

    /// Returns the part of the answer.
    pub fn finish(self, job: &Job) -> Part<NetworkTransfers> {
        if self.states.is_empty() && self.operations.is_empty() {
            return Part::Absent(
                "There are no transfers over the network with their states: all ranks share a node, NCCL reported \
                 none, or the inputs lack them."
                    .into(),
            );
        }
        let left_out = self.states.others.sent.saturating_add(self.states.others.received);
        let states = self.states.into_sorted().into_iter().map(|((comm, rank, peer), row)| {
            let [from, to] = [rank, peer].map(|rank| job.gpu(comm, rank));
            PairStates { comm: format!("{comm:016x}"), rank, peer, from, to, ..row }
        });
        let operations =
            self.operations.into_sorted().into_iter().map(|((function, comm, from_bytes), row)| OperationSends {
                function,
                comm: format!("{comm:016x}"),
                from_bytes,
                to_bytes: from_bytes.saturating_add(from_bytes.saturating_sub(1)),
                ..row
            });
        let (states, operations) = (states.collect(), operations.collect());
        Part::Known(NetworkTransfers { states, operations, left_out })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(comm: &str, rank: i32, peer: i32, direction: &str, gpu_us: f64) -> TransferStates {
        let (peer_us, flush_us) = if direction == "send" { (Some(2.0), None) } else { (None, Some(4.0)) };
        let (comm, direction) = (comm.to_owned(), direction.to_owned());
        TransferStates {
            comm,
            rank,
            peer,
            direction,
            transfers: 3,
            bytes: 8,
            queued_us: 7.0,
            gpu_us,
            peer_us,
            network_us: 3.0,
            flush_us,
        }
    }

    #[test]
    fn a_pair_has_the_senders_and_the_receivers_side() {
        let mut sums = TransferSums::default();
        sums.add(&[row("ab", 3, 7, "send", 1.0), row("cd", 0, 1, "send", 9.0), row("others", 0, 1, "send", 9.0)], &[]);
        sums.add(&[row("ab", 7, 3, "receive", 5.0)], &[]);
        let own = sums.split_off(|comm| comm == 0xab);
        let found = own.finish(&Job::default());
        let [pair] = &found.known().unwrap().states[..] else { unreachable!() };
        assert_eq!((pair.comm.as_str(), pair.rank, pair.peer), ("00000000000000ab", 3, 7));
        assert_eq!((pair.sent, pair.send_us), (3, Some([7.0, 1.0, 2.0, 3.0])));
        assert_eq!((pair.received, pair.receive_us, pair.whole_us()), (3, Some([7.0, 3.0, 4.0, 5.0]), 18.0));
        assert_eq!(sums.states.clone().into_sorted().len(), 1, "that of the other communicator stays");
    }

    #[test]
    fn operations_are_summed_over_ranks() {
        let of = |rank| OperationTransfers {
            comm: "ab".into(),
            rank,
            kind: "Coll".into(),
            func: "AllReduce".into(),
            from_bytes: 1024,
            operations: 2,
            transfers: 8,
            bytes: 4096,
            time_us: 1.5,
        };
        let mut sums = TransferSums::default();
        sums.add(&[], &[of(0), of(1)]);
        let found = sums.finish(&Job::default());
        let [row] = &found.known().unwrap().operations[..] else { unreachable!() };
        assert_eq!((row.operations, row.transfers, row.bytes, row.time_us), (4, 16, 8192, 3.0));
        assert_eq!((row.from_bytes, row.to_bytes), (1024, 2047));
    }

    #[test]
    fn without_rows_the_part_is_absent() {
        assert!(TransferSums::default().finish(&Job::default()).known().is_none());
    }
}
