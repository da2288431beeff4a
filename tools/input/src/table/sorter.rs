//! Sorts records that may not fit into memory.

use super::packed::Packed;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Seek};
use std::path::{Path, PathBuf};

/// Memory for the records that are sorted at a time, bytes.
const MEMORY: usize = 4 << 20;

/// Takes the records in, in any order.
#[derive(Debug)]
pub(super) struct Sorter<T> {
    records: Vec<T>,
    /// Number of records that are sorted at a time.
    most: usize,
    /// Files of sorted records, without names.
    runs: Vec<File>,
    scratch: PathBuf,
}

impl<T: Packed + Ord> Sorter<T> {
    /// Makes a sorter that keeps its files in the directory `scratch`.
    pub(super) fn new(scratch: &Path) -> Self {
        Self { records: Vec::new(), most: MEMORY / size_of::<T>(), runs: Vec::new(), scratch: scratch.into() }
    }

    /// Adds a record.
    ///
    /// # Errors
    /// A file cannot be made or written.
    pub(super) fn push(&mut self, record: T) -> io::Result<()> {
        self.records.push(record);
        if self.records.len() < self.most {
            return Ok(());
        }
        self.records.sort_unstable();
        let mut file = BufWriter::new(tempfile::tempfile_in(&self.scratch)?);
        self.records.drain(..).try_for_each(|record| record.write(&mut file))?;
        let mut file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.rewind()?;
        self.runs.push(file);
        Ok(())
    }

    /// Returns all records, sorted.
    ///
    /// # Errors
    /// A file cannot be read.
    pub(super) fn sorted(mut self) -> io::Result<Sorted<T>> {
        self.records.sort_unstable();
        let runs = self.runs.into_iter().map(|file| SortedRun::File(BufReader::new(file)));
        let mut runs: Vec<SortedRun<T>> = runs.collect();
        runs.push(SortedRun::Memory(self.records.into_iter()));
        let mut sorted = Sorted { heads: BinaryHeap::new(), runs };
        for run in 0..sorted.runs.len() {
            sorted.advance(run)?;
        }
        Ok(sorted)
    }
}

/// Sorted records.
enum SortedRun<T> {
    File(BufReader<File>),
    Memory(std::vec::IntoIter<T>),
}

impl<T: Packed> SortedRun<T> {
    fn next(&mut self) -> io::Result<Option<T>> {
        match self {
            Self::Memory(records) => Ok(records.next()),
            Self::File(file) => (!file.fill_buf()?.is_empty()).then(|| T::read(file)).transpose(),
        }
    }
}

/// All records in their order.
pub(super) struct Sorted<T> {
    /// The next record of each run, with the run's place.
    heads: BinaryHeap<Reverse<(T, usize)>>,
    runs: Vec<SortedRun<T>>,
}

impl<T: Packed + Ord> Sorted<T> {
    /// Returns the next record; `None` after the last.
    ///
    /// # Errors
    /// A file cannot be read.
    pub(super) fn next(&mut self) -> io::Result<Option<T>> {
        let Some(Reverse((record, run))) = self.heads.pop() else { return Ok(None) };
        self.advance(run)?;
        Ok(Some(record))
    }

    fn advance(&mut self, run: usize) -> io::Result<()> {
        if let Some(next) = self.runs.get_mut(run).map_or(Ok(None), SortedRun::next)? {
            self.heads.push(Reverse((next, run)));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_into_memory_is_sorted_too() {
        for (most, files) in [(2_000, 0), (1_000, 1), (300, 3), (7, 142)] {
            let mut sorter: Sorter<u16> = Sorter { most, ..Sorter::new(&std::env::temp_dir()) };
            // 997 is prime, so all numbers below 1000 occur once in this order
            let numbers = (0..1000_u32).map(|number| (number * 997 % 1000) as u16);
            numbers.for_each(|number| sorter.push(number).unwrap());
            assert_eq!(sorter.runs.len(), files);
            let mut sorted = sorter.sorted().unwrap();
            for number in 0..1000_u16 {
                assert_eq!(sorted.next().unwrap(), Some(number));
            }
            assert_eq!(sorted.next().unwrap(), None);
        }
    }
}
