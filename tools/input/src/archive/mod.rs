//! An OTF2 archive as an input of the report: the lanes become operations, CUDA's kernels computation, and regions of
//! the user's steps.
//!
//! An archive has one clock. It does not say how well the GPUs' clocks are known, nor in which order the host enqueued
//! operations: they are in the order of their begins.

pub(crate) mod lane;
pub(crate) mod nccl_kernel;
mod process;
mod rows;
mod sizes;
pub mod spans;
#[cfg(test)]
mod tests;

use crate::otf2::Otf2Error;
use crate::otf2::reader::{ArchiveReader, Definitions};
use report::job::{Kernels, StepRegions};
use report::table::About;
use std::path::Path;

pub(crate) use process::about;
pub(crate) use rows::ArchiveRows;
pub use sizes::{Sizes, sizes};

/// An archive.
pub struct Archive {
    reader: ArchiveReader,
    definitions: Definitions,
    /// Places of the location groups with lanes, threads or streams, in the order of their numbers.
    groups: Vec<usize>,
}

impl Archive {
    /// Opens an archive by its anchor file.
    ///
    /// # Errors
    /// OTF2 is missing, or cannot read the archive.
    pub fn open(anchor: &Path) -> Result<Self, Otf2Error> {
        let mut reader = ArchiveReader::open(anchor)?;
        let definitions = reader.definitions()?;
        definitions.check(definitions.begin.saturating_add(definitions.length))?;
        let with_events = definitions.locations.iter().filter(|location| location.events > 0);
        reader.select(&with_events.map(|location| location.number).collect::<Vec<_>>())?;
        reader.share_clocks(&definitions);
        let has_events =
            |number: u32| definitions.locations.iter().any(|location| location.group == number && location.events > 0);
        let groups = (0..definitions.groups.len()).filter(|&place| has_events(definitions.groups[place].number));
        let groups = groups.collect();
        Ok(Self { reader, definitions, groups })
    }

    /// Number of processes with events.
    pub fn processes(&self) -> usize {
        self.groups.len()
    }

    /// Describes a process, with the ranks of its lanes; `None` if it has no lanes of operations.
    pub fn about(&self, place: usize, file: &str, sizes: &Sizes) -> Option<About> {
        about(&self.definitions, *self.groups.get(place)?, file, sizes)
    }

    /// Returns the operations of a process, in the order of their begins.
    ///
    /// # Errors
    /// OTF2 cannot read the lanes.
    pub fn operations(&self, place: usize) -> Result<ArchiveRows<'_>, Otf2Error> {
        let lanes =
            self.locations_of(place).filter_map(|location| Some((lane::of_name(&location.name)?, location.number)));
        ArchiveRows::open(&self.reader, &self.definitions, lanes)
    }

    /// Returns the kernels of the computation of all processes; `None` if the archive has no kernels at all.
    ///
    /// # Errors
    /// OTF2 cannot read the streams.
    pub fn kernels(&self) -> Result<Option<Kernels>, Otf2Error> {
        let of = |place| {
            let streams = self.locations_of(place).filter(|location| location.is_stream);
            let streams = streams.filter(|location| !location.name.starts_with(lane::PREFIX));
            let numbers: Vec<u64> = streams.map(|location| location.number).collect();
            spans::united(&self.reader, &self.definitions, &numbers, |region| nccl_kernel::Runs::of(region).is_none())
        };
        let by_process = (0..self.processes()).map(of).collect::<Result<Vec<_>, _>>()?;
        Ok(by_process.iter().any(|of| !of.is_empty()).then_some(Kernels { by_process }))
    }

    /// Returns the regions of this name; `None` if no process has one.
    ///
    /// # Errors
    /// OTF2 cannot read the threads.
    pub fn regions(&self, name: &str) -> Result<Option<StepRegions>, Otf2Error> {
        let of = |place| {
            let threads = self.locations_of(place).filter(|location| !location.is_stream);
            let numbers: Vec<u64> = threads.map(|location| location.number).collect();
            spans::of_region(&self.reader, &self.definitions, &numbers, name)
        };
        let by_process = (0..self.processes()).map(of).collect::<Result<Vec<_>, _>>()?;
        let is_there = by_process.iter().any(|of| !of.is_empty());
        Ok(is_there.then(|| StepRegions { name: name.to_owned(), is_file: false, by_process }))
    }

    fn locations_of(&self, place: usize) -> impl Iterator<Item = &crate::otf2::reader::ArchiveLocation> {
        let group = self.groups.get(place).and_then(|&place| self.definitions.groups.get(place));
        let number = group.map(|group| group.number);
        self.definitions.locations.iter().filter(move |location| Some(location.group) == number && location.events > 0)
    }
}
