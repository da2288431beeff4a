//! Score-P's memory: how much of it is free for locations and regions. Without memory for a definition, Score-P aborts
//! the application.

use super::Measurement;
use super::target::LaneTarget;
use crate::sys::measurement::{Allocator, MemoryUse};

/// Bytes of a location's first buffer, if Score-P writes a trace.
pub const BUFFER_BYTES: u64 = 1 << 20;
/// Further bytes of a location, and the least number of pages: its part of the profile, and Score-P's other data.
const PROFILE_BYTES: u64 = 64 << 10;
const PROFILE_PAGES: u64 = 8;
/// Bytes left to Score-P for the end of the measurement, and the least number of pages: definitions, and the profile's
/// last nodes.
pub const LEFT_BYTES: u64 = 2 << 20;
const LEFT_PAGES: u64 = 32;
/// Most pages that a region takes in a location's profile: twice the need of its node and its counters.
const REGION_PAGES: u64 = 4;

impl Measurement {
    /// Returns the bytes of a page (`SCOREP_PAGE_SIZE`), never 0.
    pub(super) fn page(&self) -> u64 {
        // SAFETY: the function takes nothing and reads a variable.
        unsafe { (self.0.page_size)() }.max(1)
    }

    /// Returns the bytes that are left to Score-P.
    fn left(&self) -> u64 {
        LEFT_BYTES.max(LEFT_PAGES * self.page())
    }

    /// Returns the allocator of all of Score-P's memory.
    fn allocator(&self) -> *mut Allocator {
        // SAFETY: the function takes nothing. The page manager of all definitions exists before plugins are loaded and
        // until the end. It begins with a pointer to the allocator in Score-P 8 and 9; in others a trial
        // has gone through it, or the user forces it.
        unsafe { *self.0.definition_pages() }
    }

    /// Returns whether Score-P ran out of memory and wrote its trace to the file.
    fn has_flushed(&self) -> bool {
        // SAFETY: the function takes nothing and reads a variable.
        unsafe { (self.0.has_flushed)() }
    }

    /// Returns the bytes that are free now. The result is right only until the first write of the trace to its file:
    /// Score-P counts pages as used that it was asked for but did not have.
    pub(super) fn free_memory(&self) -> u64 {
        let (mut pages, mut maintenance) = (MemoryUse::default(), MemoryUse::default());
        // SAFETY: the allocator is Score-P's own; both structures are zero and of the type that it fills in.
        let page_count = unsafe {
            (self.0.memory_use)(self.allocator(), &raw mut pages, &raw mut maintenance);
            (self.0.page_count)(self.allocator())
        };
        u64::from(page_count.saturating_sub(pages.pages_used)) * self.page()
    }

    /// Returns the bytes that are free now, and those of all memory; `None` once they cannot be known any more.
    pub(crate) fn free_of_total(&self) -> Option<(u64, u64)> {
        (!self.has_flushed()).then(|| (self.free_memory(), self.memory().0))
    }

    /// Returns whether Score-P has memory for pieces of these sizes. It allocates the pieces and gives them back.
    pub(super) fn has_pieces(&self, pieces: &[u64]) -> bool {
        // SAFETY: the allocator is Score-P's own; this function owns the page manager.
        let pages = unsafe { (self.0.new_pages)(self.allocator()) };
        if pages.is_null() {
            return false;
        }
        // SAFETY: as above; the memory is never written to.
        let has = pieces.iter().all(|&bytes| !unsafe { (self.0.allocate)(pages, bytes as usize) }.is_null());
        // SAFETY: as above; nothing points into the memory.
        unsafe { (self.0.delete_pages)(pages) };
        has
    }

    /// Implements [`LaneTarget::memory`].
    pub(super) fn memory_and_share(&self) -> (u64, u64) {
        // SAFETY: the function takes nothing and reads a variable.
        let total = unsafe { (self.0.total_memory)() };
        let page = self.page();
        let buffer = if self.is_tracing() { BUFFER_BYTES.next_multiple_of(page) + page } else { 0 };
        (total, buffer + PROFILE_BYTES.max(PROFILE_PAGES * page))
    }

    /// Implements [`LaneTarget::room`].
    pub(super) fn locations_left(&self) -> usize {
        let (_, each) = self.memory();
        if self.has_flushed() {
            // now known for one location at a time only
            return usize::from(self.has_pieces(&[each, self.left()]));
        }
        usize::try_from(self.free_memory().saturating_sub(self.left()) / each).unwrap_or(usize::MAX)
    }

    /// Implements [`LaneTarget::has_room_for_region`].
    pub(super) fn has_region_left(&self) -> bool {
        let bytes = REGION_PAGES * self.page();
        if self.has_flushed() { self.has_pieces(&[bytes]) } else { self.free_memory() >= bytes }
    }

    /// Implements [`LaneTarget::can_make_locations`].
    pub(super) fn takes_locations(&self) -> bool {
        !(self.has_flushed() && self.is_profiling())
    }
}
