//! Operations by their size: exact sizes as long as there are few, then powers of two.

use super::fold::Merge;
use std::collections::BTreeMap;

/// From this number of sizes on, sizes are put together.
const MAX_EXACT_SIZES: usize = 16;

/// Things by size. Fewer than 16 sizes stay apart; more are put together from each power of two to below the next.
#[derive(Debug, Clone)]
pub struct BySize<T> {
    /// By size, or by the class' least size.
    cells: BTreeMap<u64, T>,
    is_folded: bool,
}

impl<T> Default for BySize<T> {
    fn default() -> Self {
        Self { cells: BTreeMap::new(), is_folded: false }
    }
}

/// Returns the least size of a size's class.
fn class(bytes: u64) -> u64 {
    bytes.checked_ilog2().map_or(0, |power| 1 << power)
}

impl<T: Merge + Default> BySize<T> {
    /// Returns the cell of a size in bytes.
    pub fn cell(&mut self, bytes: u64) -> &mut T {
        if !self.is_folded && self.cells.len() + 1 >= MAX_EXACT_SIZES && !self.cells.contains_key(&bytes) {
            self.is_folded = true;
            for (bytes, cell) in std::mem::take(&mut self.cells) {
                self.cells.entry(class(bytes)).or_default().merge(cell);
            }
        }
        self.cells.entry(if self.is_folded { class(bytes) } else { bytes }).or_default()
    }

    /// Returns the cells, each with the smallest and largest size that it may have.
    pub fn into_cells(self) -> impl Iterator<Item = ([u64; 2], T)> {
        let is_folded = self.is_folded;
        self.cells.into_iter().map(move |(from, cell)| {
            let to = if is_folded { from + from.saturating_sub(1) } else { from };
            ([from, to], cell)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Count(u64);

    impl Merge for Count {
        fn merge(&mut self, other: Self) {
            self.0 += other.0;
        }
    }

    fn cells(sizes: impl Iterator<Item = u64>) -> Vec<([u64; 2], u64)> {
        let mut by_size = BySize::<Count>::default();
        sizes.for_each(|bytes| by_size.cell(bytes).0 += 1);
        by_size.into_cells().map(|(sizes, count)| (sizes, count.0)).collect()
    }

    #[test]
    fn fifteen_sizes_stay_apart() {
        let twice = (1..=15).chain(1..=15);
        assert_eq!(cells(twice), (1..=15).map(|bytes| ([bytes; 2], 2)).collect::<Vec<_>>());
    }

    #[test]
    fn the_sixteenth_size_makes_powers_of_two() {
        let expected = [([0, 0], 1), ([1, 1], 1), ([2, 3], 2), ([4, 7], 4), ([8, 15], 8)];
        assert_eq!(cells(0..=15), expected);
        let ends = cells([u64::MAX].into_iter().chain(0..=15));
        assert_eq!(ends.last(), Some(&([1 << 63, u64::MAX], 1)));
    }
}
