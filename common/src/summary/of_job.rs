//! The summary of several processes.

use super::{SCHEMA, Summary, SummaryProcess};

/// Kinds of rows that a summary leaves out if there is no room for all, in the order in which they are left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowKind {
    /// Rows by channel.
    Channels,
    /// Rows by channel and by rank pair.
    Transfers,
    /// Rows by channel, by rank pair and of operations.
    Operations,
}

/// The summaries of several processes on their way into one, which may come one after the other.
#[derive(Debug)]
pub struct Merging(Summary);

impl Default for Merging {
    fn default() -> Self {
        Self(Summary { schema: SCHEMA.into(), complete: true, ..Summary::default() })
    }
}

impl Merging {
    /// Adds the summary of the process with this number.
    pub fn add(&mut self, number: u32, part: Summary) {
        let Self(merged) = self;
        merged.complete &= part.complete;
        merged
            .processes
            .extend(part.processes.into_iter().map(|process| SummaryProcess { process: number, ..process }));
        merged.communicators.extend(part.communicators.into_iter().map(|mut communicator| {
            communicator.ranks.iter_mut().for_each(|place| place.process = number);
            communicator
        }));
        merged.operations.extend(part.operations);
        merged.transfers.extend(part.transfers);
        merged.channels.extend(part.channels);
        merged.states.extend(part.states);
        merged.operation_transfers.extend(part.operation_transfers);
        merged.clocks = merged.clocks.or(part.clocks);
        merged.lateness.extend(part.lateness);
        merged.launches.extend(part.launches);
        merged.bandwidth.extend(part.bandwidth);
        merged.notes.extend(part.notes);
    }

    /// Returns the summary of all processes that were added.
    #[must_use]
    pub fn merged(self) -> Summary {
        let Self(mut merged) = self;
        // of several processes, the summary has the result of their comparison, and nothing else of a sample
        if merged.processes.len() > 1 {
            merged.processes.iter_mut().for_each(|process| (process.arrivals, process.conditions) = (None, vec![]));
            merged.launches.clear();
        }
        merged.sort();
        merged.communicators.dedup_by(|next, kept| {
            let same = next.comm == kept.comm;
            if same {
                kept.ranks.append(&mut next.ranks);
            }
            same
        });
        merged.communicators.iter_mut().for_each(|communicator| communicator.ranks.sort_unstable());
        merged.jobs = merged.find_jobs();
        merged.notes.extend(merged.notes_of_ranks());
        merged
    }
}

impl Summary {
    /// Merges the summaries of several processes, numbered in their order.
    pub fn merge(parts: Vec<Self>) -> Self {
        Self::merge_numbered((0..).zip(parts))
    }

    /// Merges the summaries of several processes with these numbers.
    pub fn merge_numbered(parts: impl IntoIterator<Item = (u32, Self)>) -> Self {
        let mut merging = Merging::default();
        parts.into_iter().for_each(|(number, part)| merging.add(number, part));
        merging.merged()
    }

    /// Sorts the rows by their keys, so that their order does not depend on the order of merging.
    pub(super) fn sort(&mut self) {
        self.communicators.sort_by(|a, b| a.comm.cmp(&b.comm));
        self.communicators.iter_mut().for_each(|communicator| communicator.ranks.sort_unstable());
        // compared in place: keys of their own would take as much memory as the rows of a large job
        self.operations.sort_by(|a, b| {
            (&a.comm, a.rank, &a.kind, &a.func, a.peer).cmp(&(&b.comm, b.rank, &b.kind, &b.func, b.peer))
        });
        self.transfers.sort_by(|a, b| (&a.comm, a.rank, a.peer).cmp(&(&b.comm, b.rank, b.peer)));
        self.channels.sort_by(|a, b| (&a.comm, a.rank, a.peer, a.channel).cmp(&(&b.comm, b.rank, b.peer, b.channel)));
        self.states
            .sort_by(|a, b| (&a.comm, a.rank, a.peer, &a.direction).cmp(&(&b.comm, b.rank, b.peer, &b.direction)));
        self.operation_transfers.sort_by(|a, b| {
            (&a.comm, a.rank, &a.kind, &a.func, a.from_bytes).cmp(&(&b.comm, b.rank, &b.kind, &b.func, b.from_bytes))
        });
        self.lateness.sort_by(|a, b| (&a.comm, a.rank).cmp(&(&b.comm, b.rank)));
        self.launches.sort_by(|a, b| (&a.comm, a.rank).cmp(&(&b.comm, b.rank)));
        self.bandwidth.sort_by(|a, b| (&a.comm, &a.func, a.from_bytes).cmp(&(&b.comm, &b.func, b.from_bytes)));
    }

    /// Leaves rows out and notes it. The counters stay.
    pub fn leave_out(&mut self, rows: RowKind, why: &str) {
        const LEFT_OUT: &str = "rows that are left out";
        self.channels.clear();
        self.launches.clear();
        let mut what = "channels and launches";
        if rows != RowKind::Channels {
            self.transfers.clear();
            self.states.clear();
            what = "rank pairs, channels and launches";
        }
        if rows == RowKind::Operations {
            self.operations.clear();
            self.operation_transfers.clear();
            what = "operations, rank pairs, channels and launches";
        }
        if let Some(process) = self.processes.first_mut() {
            // an earlier note's rows are contained in the new note's
            process.notes.retain(|note| !note.starts_with(LEFT_OUT));
            process.notes.push(format!("{LEFT_OUT}: {what}; {why}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::{RankPlace, SummaryCommunicator};

    fn part(comm: &str, rank: i32) -> Summary {
        let communicator = SummaryCommunicator {
            comm: comm.into(),
            nranks: 4,
            nnodes: 1,
            name: String::new(),
            ranks: vec![RankPlace { rank, process: 0 }],
        };
        Summary { communicators: vec![communicator], ..Summary::merge(vec![]) }
    }

    #[test]
    fn a_communicator_has_the_ranks_of_all_processes() {
        let merged = Summary::merge_numbered([(7, part("b", 3)), (2, part("a", 1)), (4, part("b", 0))]);
        let ranks: Vec<_> = merged.communicators.iter().map(|row| (row.comm.as_str(), row.ranks.clone())).collect();
        let place = |rank, process| RankPlace { rank, process };
        assert_eq!(ranks, [("a", vec![place(1, 2)]), ("b", vec![place(0, 4), place(3, 7)])]);
    }
}
