//! The events of one location.

use std::ptr;

use super::abi;
use super::archive::Archive;
use super::error::Otf2Error;
use super::plan::Values;

/// Writes a location's events, to be given in order of time.
pub(super) struct EventWriter<'a> {
    archive: &'a Archive,
    handle: *mut abi::EventWriter,
}

impl<'a> EventWriter<'a> {
    /// Opens the writer of a location; the event files must be open.
    pub(super) fn open(archive: &'a Archive, location: u64) -> Result<Self, Otf2Error> {
        // SAFETY: the archive is open as long as it is borrowed.
        let handle = unsafe { archive.library.event_writer(archive.handle, location) }?;
        Ok(Self { archive, handle })
    }

    /// Records that a region (by number) is entered.
    pub(super) fn enter(&self, time: u64, region: u32) -> Result<(), Otf2Error> {
        // SAFETY: the writer is open; no attributes is null.
        unsafe { self.archive.library.enter(self.handle, ptr::null_mut(), time, region) }
    }

    /// Records that a region (by number) is left.
    pub(super) fn leave(&self, time: u64, region: u32) -> Result<(), Otf2Error> {
        // SAFETY: the writer is open; no attributes is null.
        unsafe { self.archive.library.leave(self.handle, ptr::null_mut(), time, region) }
    }

    /// Records one value for each type of `layout`.
    pub(super) fn metric(&self, time: u64, layout: &Values, values: &[u64]) -> Result<(), Otf2Error> {
        let count = u8::try_from(values.len()).ok().filter(|_| values.len() == layout.types.len());
        let count = count.ok_or(Otf2Error::TooMany("values in a metric record"))?;
        let (types, values) = (layout.types.as_ptr(), values.as_ptr());
        // SAFETY: the writer is open, no attributes is null, and both lists are `count` long.
        unsafe { self.archive.library.metric(self.handle, ptr::null_mut(), time, layout.set, count, types, values) }
    }

    /// Closes the writer; answers how many events it wrote.
    pub(super) fn close(self) -> Result<u64, Otf2Error> {
        let mut count = 0;
        // SAFETY: the writer is open, of this archive, and not used again.
        unsafe {
            self.archive.library.count_events(self.handle, &raw mut count)?;
            self.archive.library.close_event_writer(self.archive.handle, self.handle)?;
        }
        Ok(count)
    }
}
