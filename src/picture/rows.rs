//! Assigns operations and transfers to rows. Each location that the library would have in Score-P's trace is a row,
//! with the same name.

use super::recorded::{PictureOperation, PictureRank, PictureTransfer};
use std::collections::BTreeMap;

/// Name of the region that covers the time with at least one transfer under way.
pub(crate) const TRANSFERS: &str = "transfers";

/// A region on a row; times in nanoseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bar {
    pub(crate) region: String,
    pub(crate) start: u64,
    pub(crate) stop: u64,
}

/// A row of the picture, for one location.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PictureRow {
    pub(crate) name: String,
    pub(crate) bars: Vec<Bar>,
}

/// Returns the rows of a process: the operations of its ranks, with further rows where they overlap, and then the
/// transfers of its rank pairs.
pub(crate) fn of_process(operations: &[PictureOperation], transfers: &[PictureTransfer]) -> Vec<PictureRow> {
    let mut ranks: BTreeMap<PictureRank, Vec<&PictureOperation>> = BTreeMap::new();
    for operation in operations {
        ranks.entry(operation.of).or_default().push(operation);
    }
    let mut pairs: BTreeMap<(PictureRank, i32), Vec<&PictureTransfer>> = BTreeMap::new();
    for transfer in transfers {
        pairs.entry((transfer.of, transfer.peer)).or_default().push(transfer);
    }
    let lanes = ranks.into_iter().flat_map(|(of, operations)| lanes(of, operations));
    let pairs = pairs.into_iter().map(|((of, peer), transfers)| pair(of, peer, transfers));
    lanes.chain(pairs).collect()
}

/// Puts each operation into the first row whose last operation has ended.
fn lanes(of: PictureRank, mut operations: Vec<&PictureOperation>) -> Vec<PictureRow> {
    operations.sort_by_key(|operation| (operation.start, operation.stop));
    let mut rows: Vec<PictureRow> = Vec::new();
    for operation in operations {
        let bar = Bar { region: operation.region.clone(), start: operation.start, stop: operation.stop };
        let free = |row: &&mut PictureRow| row.bars.last().is_none_or(|last| last.stop <= bar.start);
        if let Some(row) = rows.iter_mut().find(free) {
            row.bars.push(bar);
        } else {
            let number = match rows.len() {
                0 => String::new(),
                others => format!(" ({})", others + 1),
            };
            rows.push(PictureRow { name: format!("NCCL {:016x} rank {}{number}", of.comm, of.rank), bars: vec![bar] });
        }
    }
    rows
}

/// Merges transfers that overlap or touch into one bar.
fn pair(of: PictureRank, peer: i32, mut transfers: Vec<&PictureTransfer>) -> PictureRow {
    transfers.sort_by_key(|transfer| transfer.start);
    let mut bars: Vec<Bar> = Vec::new();
    for transfer in transfers {
        match bars.last_mut().filter(|last| transfer.start <= last.stop) {
            Some(last) => last.stop = last.stop.max(transfer.stop),
            None => bars.push(Bar { region: TRANSFERS.into(), start: transfer.start, stop: transfer.stop }),
        }
    }
    PictureRow { name: format!("NCCL {:016x} {} to {peer}", of.comm, of.rank), bars }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OF: PictureRank = PictureRank { comm: 0xab, rank: 3 };

    fn spans(row: &PictureRow) -> Vec<(u64, u64)> {
        row.bars.iter().map(|bar| (bar.start, bar.stop)).collect()
    }

    #[test]
    fn overlapping_operations_have_rows_of_their_own() {
        let operation = |start, stop| PictureOperation { of: OF, region: "ncclSend".into(), start, stop };
        let rows = of_process(&[operation(5, 9), operation(0, 6), operation(6, 8)], &[]);
        let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(names, ["NCCL 00000000000000ab rank 3", "NCCL 00000000000000ab rank 3 (2)"]);
        assert_eq!((spans(&rows[0]), spans(&rows[1])), (vec![(0, 6), (6, 8)], vec![(5, 9)]));
    }

    #[test]
    fn transfers_of_a_pair_are_united() {
        let transfer = |start, stop| PictureTransfer { of: OF, peer: 1, channel: 0, bytes: 8, start, stop };
        let rows = of_process(&[], &[transfer(7, 9), transfer(0, 4), transfer(3, 5), transfer(5, 6)]);
        assert_eq!((rows[0].name.as_str(), spans(&rows[0])), ("NCCL 00000000000000ab 3 to 1", vec![(0, 6), (7, 9)]));
    }
}
