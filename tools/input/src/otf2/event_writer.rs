//! Writes the events of one location.

use super::abi;
use super::archive::Archive;
use super::error::Otf2Error;
use super::metric::MetricLayout;

/// Writes a location's events, in the order of their times.
pub(super) struct EventWriter<'a> {
    archive: &'a Archive,
    handle: *mut abi::EventWriter,
    /// Attributes of the next event.
    attributes: *mut abi::AttributeList,
}

/// An attribute of an event, by number, with its value.
pub(super) enum EventAttribute {
    /// The value is a number.
    Number(u32, u64),
    /// The value is a string, by number.
    Text(u32, u32),
}

impl<'a> EventWriter<'a> {
    /// Opens the writer of a location; the event files must be open.
    pub(super) fn open(archive: &'a Archive, location: u64) -> Result<Self, Otf2Error> {
        // SAFETY: the archive is open as long as it is borrowed.
        let handle = unsafe { archive.library.event_writer(archive.handle, location) }?;
        // SAFETY: the function takes no argument.
        let attributes = unsafe { archive.library.new_attributes() }?;
        Ok(Self { archive, handle, attributes })
    }

    /// Returns OTF2's handle.
    pub(super) fn handle(&self) -> *mut abi::EventWriter {
        self.handle
    }

    /// Replaces the attributes of the next event.
    pub(super) fn say(
        &self,
        attributes: impl Iterator<Item = Result<EventAttribute, Otf2Error>>,
    ) -> Result<(), Otf2Error> {
        let library = self.archive.library;
        // SAFETY: the list is this writer's own.
        unsafe { library.clear_attributes(self.attributes) }?;
        for said in attributes {
            // SAFETY: as above; OTF2 keeps no pointer.
            unsafe {
                match said? {
                    EventAttribute::Number(attribute, value) => library.add_number(self.attributes, attribute, value),
                    EventAttribute::Text(attribute, string) => library.add_string(self.attributes, attribute, string),
                }
            }?;
        }
        Ok(())
    }

    /// Records that a region (by number) is entered.
    pub(super) fn enter(&self, time: u64, region: u32) -> Result<(), Otf2Error> {
        // SAFETY: the writer is open, and the list is its own.
        unsafe { self.archive.library.enter(self.handle, self.attributes, time, region) }
    }

    /// Records that a region (by number) is left.
    pub(super) fn leave(&self, time: u64, region: u32) -> Result<(), Otf2Error> {
        // SAFETY: the writer is open, and the list is its own.
        unsafe { self.archive.library.leave(self.handle, self.attributes, time, region) }
    }

    /// Records one value for each type of `layout`.
    pub(super) fn metric(&self, time: u64, layout: &MetricLayout, values: &[u64]) -> Result<(), Otf2Error> {
        let count = u8::try_from(values.len()).ok().filter(|_| values.len() == layout.types.len());
        let count = count.ok_or(Otf2Error::TooMany("values in a metric record"))?;
        let (types, values) = (layout.types.as_ptr(), values.as_ptr());
        // SAFETY: the writer is open, the attributes are its own, and both lists have `count` entries.
        unsafe { self.archive.library.metric(self.handle, self.attributes, time, layout.set, count, types, values) }
    }

    /// Closes the writer; returns the number of events that it wrote.
    pub(super) fn close(self) -> Result<u64, Otf2Error> {
        let mut count = 0;
        // SAFETY: the writer is open, belongs to this archive, and is not used again.
        unsafe {
            self.archive.library.delete_attributes(self.attributes)?;
            self.archive.library.count_events(self.handle, &raw mut count)?;
            self.archive.library.close_event_writer(self.archive.handle, self.handle)?;
        }
        Ok(count)
    }
}
