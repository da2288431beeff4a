//! The collectives of a communicator, in the same order on all of its ranks: readers take the k-th of each rank for
//! one collective. Ranks that have others, or another order, get no records.

use super::communicators::mpi_operation;
use super::heard::HeardOperation;
use super::records::{RankRecord, RecordKind};
use common::name::NcclName;
use std::collections::{BTreeMap, HashMap, VecDeque};

/// Why the collectives of a communicator have no record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unequal {
    /// Two ranks, each with its number of collectives.
    Count([(i32, usize); 2]),
    /// A rank whose collectives are others than the first rank's, from this one on; counted from 0.
    Other(i32, usize),
}

/// A collective as all ranks have it.
fn shared(operation: &HeardOperation) -> (NcclName, u64, i32, u64) {
    (operation.function, operation.sequence, operation.other, operation.bytes)
}

/// Passes the records of a communicator's collectives, each with the rank that has it, in the order of each rank.
///
/// # Errors
/// The ranks do not have the same collectives in the same order.
pub(super) fn record(
    ranks: &BTreeMap<i32, Vec<HeardOperation>>,
    mut pass: impl FnMut(i32, RankRecord),
) -> Result<(), Unequal> {
    let of = |operations: &Vec<HeardOperation>| -> Vec<HeardOperation> {
        operations.iter().filter(|operation| mpi_operation(operation.function).is_some()).copied().collect()
    };
    let mut ranks = ranks.iter().map(|(&rank, operations)| (rank, of(operations)));
    let Some((first_rank, first)) = ranks.next() else { return Ok(()) };
    let mut all = vec![(first_rank, first)];
    for (rank, own) in ranks {
        let first = &all[0].1;
        if own.len() != first.len() {
            return Err(Unequal::Count([(first_rank, first.len()), (rank, own.len())]));
        }
        let own = as_on(first, own).map_err(|place| Unequal::Other(rank, place))?;
        all.push((rank, own));
    }
    for (rank, operations) in all {
        // those that share a kernel overlap: for readers, they follow one another
        let mut end = 0;
        for operation in operations {
            let begin = operation.begin.max(end);
            end = operation.end.max(begin);
            pass(rank, RankRecord::new(RecordKind::Begin, begin, &operation));
            pass(rank, RankRecord::new(RecordKind::End, end, &operation));
        }
    }
    Ok(())
}

/// Puts a rank's collectives into the order of another rank's, to which they are equal. Only those that overlap change
/// places: a kernel that runs several begins and ends them in an order of its own.
///
/// # Errors
/// The place of the first that is another, or that would be out of its time.
fn as_on(first: &[HeardOperation], own: Vec<HeardOperation>) -> Result<Vec<HeardOperation>, usize> {
    let difference =
        |own: &[HeardOperation]| first.iter().zip(own).position(|(one, other)| shared(one) != shared(other));
    let Some(place) = difference(&own) else { return Ok(own) };
    let mut numbered: HashMap<(NcclName, u64), VecDeque<HeardOperation>> = HashMap::new();
    for operation in own {
        numbered.entry((operation.function, operation.sequence)).or_default().push_back(operation);
    }
    let taken = first.iter().map(|it| numbered.get_mut(&(it.function, it.sequence)).and_then(VecDeque::pop_front));
    let own: Vec<HeardOperation> = taken.collect::<Option<_>>().ok_or(place)?;
    if let Some(place) = difference(&own) {
        return Err(place);
    }
    let mut end = u64::MAX;
    for (place, operation) in own.iter().enumerate().rev() {
        if operation.begin > end {
            return Err(place);
        }
        end = operation.end.min(end);
    }
    Ok(own)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operation(function: &str, sequence: u64, [begin, end]: [u64; 2]) -> HeardOperation {
        HeardOperation {
            begin,
            end,
            bytes: 8,
            sequence,
            other: -1,
            function: NcclName::of_text(function),
            is_timed: true,
        }
    }

    /// Returns the times of the records of each rank.
    fn recorded(ranks: [Vec<HeardOperation>; 2]) -> Result<[Vec<u64>; 2], Unequal> {
        let mut records = [Vec::new(), Vec::new()];
        record(&(0..).zip(ranks).collect(), |rank, record| records[rank as usize].push(record.time))?;
        Ok(records)
    }

    #[test]
    fn collectives_of_a_kernel_follow_one_another_in_the_order_of_the_first_rank() {
        let one = [operation("AllReduce", 5, [10, 20]), operation("AllGather", 2, [11, 19])];
        let other = [operation("AllGather", 2, [30, 44]), operation("AllReduce", 5, [31, 40])];
        let records = recorded([one.to_vec(), other.to_vec()]).unwrap();
        assert_eq!(records, [vec![10, 20, 20, 20], vec![31, 40, 40, 44]]);
    }

    #[test]
    fn ranks_with_other_collectives_have_no_records() {
        let [first, second] = [[10, 20], [30, 40]];
        let one = vec![operation("AllReduce", 0, first), operation("AllGather", 0, second)];
        assert_eq!(recorded([one.clone(), one[..1].to_vec()]), Err(Unequal::Count([(0, 2), (1, 1)])));
        // one after the other, in another order
        let swapped = vec![operation("AllGather", 0, first), operation("AllReduce", 0, second)];
        assert_eq!(recorded([one.clone(), swapped]), Err(Unequal::Other(1, 0)));
        let other = vec![one[0], HeardOperation { bytes: 9, ..one[1] }];
        assert_eq!(recorded([one, other]), Err(Unequal::Other(1, 1)));
    }
}
