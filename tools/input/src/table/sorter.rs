//! Sorts records of equal length that may not fit into memory. Records compare as their bytes do.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::path::{Path, PathBuf};

/// Memory for the records that are sorted at a time, bytes.
const MEMORY: usize = 4 << 20;

/// Takes the records in, in any order.
pub(super) struct Sorter<const N: usize> {
    records: Vec<[u8; N]>,
    /// Number of records that are sorted at a time.
    most: usize,
    /// Files of sorted records, without names.
    runs: Vec<File>,
    scratch: PathBuf,
}

impl<const N: usize> Sorter<N> {
    /// Makes a sorter that keeps its files in the directory `scratch`.
    pub(super) fn new(scratch: &Path) -> Self {
        Self { records: Vec::new(), most: MEMORY / N, runs: Vec::new(), scratch: scratch.into() }
    }

    /// Adds a record.
    ///
    /// # Errors
    /// A file cannot be made or written.
    pub(super) fn push(&mut self, record: [u8; N]) -> io::Result<()> {
        self.records.push(record);
        if self.records.len() < self.most {
            return Ok(());
        }
        self.records.sort_unstable();
        let mut file = BufWriter::new(tempfile::tempfile_in(&self.scratch)?);
        self.records.drain(..).try_for_each(|record| file.write_all(&record))?;
        let mut file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.rewind()?;
        self.runs.push(file);
        Ok(())
    }

    /// Returns all records, sorted.
    ///
    /// # Errors
    /// A file cannot be read.
    pub(super) fn sorted(mut self) -> io::Result<Sorted<N>> {
        self.records.sort_unstable();
        let runs = self.runs.into_iter().map(|file| SortedRun::File(BufReader::new(file)));
        let mut runs: Vec<SortedRun<N>> = runs.collect();
        runs.push(SortedRun::Memory(self.records.into_iter()));
        let mut sorted = Sorted { heads: BinaryHeap::new(), runs };
        for run in 0..sorted.runs.len() {
            sorted.advance(run)?;
        }
        Ok(sorted)
    }
}

/// Sorted records.
enum SortedRun<const N: usize> {
    File(BufReader<File>),
    Memory(std::vec::IntoIter<[u8; N]>),
}

impl<const N: usize> SortedRun<N> {
    fn next(&mut self) -> io::Result<Option<[u8; N]>> {
        let mut record = [0; N];
        match self {
            Self::Memory(records) => Ok(records.next()),
            Self::File(file) => match file.read_exact(&mut record) {
                Ok(()) => Ok(Some(record)),
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
                Err(error) => Err(error),
            },
        }
    }
}

/// All records in their order.
pub(super) struct Sorted<const N: usize> {
    /// The next record of each run, with the run's place.
    heads: BinaryHeap<Reverse<([u8; N], usize)>>,
    runs: Vec<SortedRun<N>>,
}

impl<const N: usize> Sorted<N> {
    /// Returns the next record, without taking it.
    pub(super) fn peek(&self) -> Option<&[u8; N]> {
        self.heads.peek().map(|Reverse((record, _))| record)
    }

    /// Takes the next record; `None` behind the last.
    ///
    /// # Errors
    /// A file cannot be read.
    pub(super) fn take(&mut self) -> io::Result<Option<[u8; N]>> {
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
            let mut sorter: Sorter<2> = Sorter { most, ..Sorter::new(&std::env::temp_dir()) };
            // 997 is prime, so all numbers below 1000 occur once in this order
            let numbers = (0..1000_u32).map(|number| (number * 997 % 1000) as u16);
            numbers.for_each(|number| sorter.push(number.to_be_bytes()).unwrap());
            assert_eq!(sorter.runs.len(), files);
            let mut sorted = sorter.sorted().unwrap();
            for number in 0..1000_u16 {
                assert_eq!(sorted.peek(), Some(&number.to_be_bytes()));
                assert_eq!(sorted.take().unwrap(), Some(number.to_be_bytes()));
            }
            assert_eq!(sorted.take().unwrap(), None);
        }
    }
}
