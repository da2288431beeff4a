//! Writes the archive's definitions, with one method for each kind.

use super::abi;
use super::archive::{Archive, c_string};
use super::error::Otf2Error;
use super::lanes::value_type;
use super::metric::Properties;
use super::numbered::Numbered;
use super::plan::{ClockProperties, PlannedRecords};
use super::region::ArchiveRegion;
use crate::trace::{Attribute, Metric};

/// Writes definitions. Definitions that another one names by number must be written before it. Strings are defined at
/// their first use.
pub(super) struct DefinitionWriter<'a> {
    archive: &'a Archive,
    handle: *mut abi::GlobalDefinitionWriter,
    strings: Numbered<String>,
}

impl<'a> DefinitionWriter<'a> {
    /// Opens the archive's one writer of definitions.
    pub(super) fn open(archive: &'a Archive) -> Result<Self, Otf2Error> {
        // SAFETY: the archive is open as long as it is borrowed.
        let handle = unsafe { archive.library.definition_writer(archive.handle) }?;
        Ok(Self { archive, handle, strings: Numbered::new("strings") })
    }

    /// Returns the number of a string, and defines it if it is new.
    fn string(&mut self, text: &str) -> Result<u32, Otf2Error> {
        let (number, new) = self.strings.number(text.to_owned())?;
        if new {
            let text = c_string(text.as_bytes())?;
            // SAFETY: the writer is open; OTF2 copies the string.
            unsafe { self.archive.library.define_string(self.handle, number, text.as_ptr()) }?;
        }
        Ok(number)
    }

    /// Defines the strings that events name by number; must come before all other strings.
    pub(super) fn strings(&mut self, strings: &Numbered<&str>) -> Result<(), Otf2Error> {
        strings.iter().try_for_each(|(_, text)| self.string(text).map(drop))
    }

    /// Defines the clock; must come before all other definitions.
    pub(super) fn clock(&self, clock: &ClockProperties) -> Result<(), Otf2Error> {
        // The wall-clock time of the offset is not known in a replay.
        let real_time = abi::UNDEFINED_TIMESTAMP;
        // SAFETY: the writer is open.
        unsafe {
            self.archive.library.define_clock(
                self.handle,
                clock.ticks_per_second,
                clock.offset,
                clock.length,
                real_time,
            )
        }
    }

    /// Defines a node of the system tree within `parent`.
    pub(super) fn node(
        &mut self,
        number: u32,
        name: &str,
        class: &str,
        parent: Option<u32>,
        domain: u8,
    ) -> Result<(), Otf2Error> {
        let (name, class) = (self.string(name)?, self.string(class)?);
        let parent = parent.unwrap_or(abi::UNDEFINED_UINT32);
        // SAFETY: the writer is open.
        unsafe {
            self.archive.library.define_node(self.handle, number, name, class, parent)?;
            self.archive.library.define_node_domain(self.handle, number, domain)
        }
    }

    /// Defines a process on a node.
    pub(super) fn group(&mut self, number: u32, name: &str, node: u32) -> Result<(), Otf2Error> {
        let name = self.string(name)?;
        let creator = abi::UNDEFINED_UINT32;
        // SAFETY: the writer is open.
        unsafe {
            self.archive.library.define_group(
                self.handle,
                number,
                name,
                abi::LOCATION_GROUP_TYPE_PROCESS,
                node,
                creator,
            )
        }
    }

    /// Defines a location of a process, with the number of its events.
    pub(super) fn location(
        &mut self,
        number: u64,
        name: &str,
        records: &PlannedRecords<'_>,
        events: u64,
        group: u32,
    ) -> Result<(), Otf2Error> {
        let name = self.string(name)?;
        let kind = match records {
            PlannedRecords::Moments { .. } => abi::LOCATION_TYPE_CPU_THREAD,
            PlannedRecords::Lane { .. } => abi::LOCATION_TYPE_ACCELERATOR_STREAM,
        };
        // SAFETY: the writer is open.
        unsafe { self.archive.library.define_location(self.handle, number, name, kind, events, group) }
    }

    /// Defines a region.
    pub(super) fn region(&mut self, number: u32, region: &ArchiveRegion<'_>) -> Result<(), Otf2Error> {
        let &ArchiveRegion { name, role, paradigm } = region;
        let (name, none) = (self.string(name)?, self.string("")?);
        let (flags, file) = (abi::REGION_FLAG_NONE, abi::UNDEFINED_UINT32);
        // SAFETY: the writer is open.
        unsafe {
            self.archive.library.define_region(self.handle, number, name, name, none, role, paradigm, flags, file, 0, 0)
        }
    }

    /// Defines an attribute.
    pub(super) fn attribute(&mut self, number: u32, attribute: &Attribute) -> Result<(), Otf2Error> {
        let (name, description) = (self.string(&attribute.name)?, self.string(&attribute.description)?);
        let kind = value_type(attribute.is_text);
        // SAFETY: the writer is open.
        unsafe { self.archive.library.define_attribute(self.handle, number, name, description, kind) }
    }

    /// Defines a metric.
    pub(super) fn member(&mut self, number: u32, metric: &Metric) -> Result<(), Otf2Error> {
        let Properties { mode, value_type, base } = Properties::from_score_p(metric)?;
        let (name, description, unit) =
            (self.string(&metric.name)?, self.string(&metric.description)?, self.string(&metric.unit)?);
        // SAFETY: the writer is open.
        unsafe {
            self.archive.library.define_metric_member(
                self.handle,
                number,
                name,
                description,
                abi::METRIC_TYPE_OTHER,
                mode,
                value_type,
                base,
                metric.exponent,
                unit,
            )
        }
    }

    /// Defines a class of metrics (by number) that threads record with each event.
    pub(super) fn strict_class(&self, number: u32, members: &[u32]) -> Result<(), Otf2Error> {
        self.class(number, members, abi::METRIC_SYNCHRONOUS_STRICT, abi::RECORDER_KIND_CPU)
    }

    /// Defines a class of one metric (by number) that lanes record.
    pub(super) fn gpu_class(&self, number: u32, member: u32) -> Result<(), Otf2Error> {
        self.class(number, &[member], abi::METRIC_ASYNCHRONOUS, abi::RECORDER_KIND_GPU)
    }

    fn class(&self, number: u32, members: &[u32], occurrence: u8, recorder: u8) -> Result<(), Otf2Error> {
        let count = u8::try_from(members.len()).map_err(|_| Otf2Error::TooMany("metrics in a class"))?;
        // SAFETY: the writer is open, and `members` has `count` entries.
        unsafe {
            let library = self.archive.library;
            library.define_metric_class(self.handle, number, count, members.as_ptr(), occurrence, recorder)
        }
    }

    /// Defines a location as a recorder of a class.
    pub(super) fn recorder(&self, class: u32, location: u64) -> Result<(), Otf2Error> {
        // SAFETY: the writer is open.
        unsafe { self.archive.library.define_metric_recorder(self.handle, class, location) }
    }

    /// Closes the writer.
    pub(super) fn close(self) -> Result<(), Otf2Error> {
        // SAFETY: the writer is open, belongs to this archive, and is not used again.
        unsafe { self.archive.library.close_definition_writer(self.archive.handle, self.handle) }
    }
}
