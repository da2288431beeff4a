//! The events of one location, a piece at a time.

use super::super::abi;
use super::super::error::Otf2Error;
use super::super::library::Otf2Library;
use super::ArchiveReader;
use super::clocks::ClockOffsets;
use std::ffi::c_void;
use std::ptr;

/// An event.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ArchiveEvent<'a> {
    /// A region begins.
    Enter(u32, Attributes<'a>),
    /// The last region that began ends.
    Leave,
    /// The first value of a metric, as bits.
    Metric(u32, u64),
}

/// The attributes of an event.
#[derive(Clone, Copy)]
pub(crate) struct Attributes<'a> {
    library: &'a Otf2Library,
    list: *const abi::AttributeList,
}

impl std::fmt::Debug for Attributes<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Attributes")
    }
}

impl Attributes<'_> {
    fn has(&self, attribute: u32) -> bool {
        // SAFETY: OTF2 keeps the list for the time of the callback, which this value does not outlive.
        unsafe { self.library.has_attribute(self.list, attribute) }
    }

    /// Returns the number that an attribute has.
    pub(crate) fn number(&self, attribute: Option<&u32>) -> Option<u64> {
        let attribute = *attribute.filter(|attribute| self.has(**attribute))?;
        let mut value = 0;
        // SAFETY: as above; OTF2 writes one number.
        unsafe { self.library.number_of(self.list, attribute, &raw mut value) }.ok()?;
        Some(value)
    }

    /// Returns the number of the string that an attribute has.
    pub(crate) fn string(&self, attribute: Option<&u32>) -> Option<u32> {
        let attribute = *attribute.filter(|attribute| self.has(**attribute))?;
        let mut value = 0;
        // SAFETY: as above; OTF2 writes one number.
        unsafe { self.library.string_of(self.list, attribute, &raw mut value) }.ok()?;
        Some(value)
    }
}

/// The receiver of events with their times in ticks.
type Each<'a> = &'a mut dyn FnMut(u64, ArchiveEvent<'_>);

/// The data of the callbacks, registered anew for each piece.
struct Passing<'a> {
    library: &'a Otf2Library,
    offsets: Option<&'a ClockOffsets>,
    each: Each<'a>,
    latest: u64,
}

/// Events of one location. The reader keeps its buffer until this is dropped.
pub(crate) struct LocationEvents<'a> {
    reader: &'a ArchiveReader,
    handle: *mut abi::EventReader,
    /// Those that replace the archive's own.
    offsets: Option<&'a ClockOffsets>,
    latest: u64,
}

impl<'a> LocationEvents<'a> {
    /// Opens the events of a location of the archive.
    pub(super) fn open(reader: &'a ArchiveReader, location: u64) -> Result<Self, Otf2Error> {
        // SAFETY: the reader is open, and its event files are, too.
        let handle = unsafe { reader.library.event_reader(reader.handle, location) }?;
        let offsets = reader.shared.get(&location).map(AsRef::as_ref);
        let events = Self { reader, handle, offsets, latest: 0 };
        if offsets.is_some() {
            // SAFETY: the event reader is open.
            unsafe { reader.library.apply_clock_offsets(handle, false) }?;
        }
        Ok(events)
    }

    /// Passes the next events, at most `most`, to `each`; returns whether there may be more.
    pub(crate) fn read(&mut self, most: u64, each: Each<'_>) -> Result<bool, Otf2Error> {
        let library = self.reader.library;
        let mut passing = Passing { library, offsets: self.offsets, each, latest: self.latest };
        let data = (&raw mut passing).cast::<c_void>();
        let mut read = 0;
        // SAFETY: the readers are open; OTF2 copies the callbacks, and uses `data` in `read_events` alone.
        unsafe {
            let callbacks = library.new_event_callbacks()?;
            let registered = (|| {
                library.on_enter(callbacks, enter)?;
                library.on_leave(callbacks, leave)?;
                library.on_metric(callbacks, metric)?;
                library.register_event_callbacks(self.reader.handle, self.handle, callbacks, data)
            })();
            library.delete_event_callbacks(callbacks);
            registered?;
            library.read_events(self.reader.handle, self.handle, most, &raw mut read)?;
        }
        self.latest = passing.latest;
        Ok(read == most)
    }

    /// Returns the latest time of the events that were passed, ticks.
    pub(crate) fn latest(&self) -> u64 {
        self.latest
    }
}

impl Drop for LocationEvents<'_> {
    fn drop(&mut self) {
        // SAFETY: the reader is open, and the handle is not used again.
        let _ = unsafe { self.reader.library.close_event_reader(self.reader.handle, self.handle) };
    }
}

/// Passes an event on.
///
/// # Safety
/// `data` is the pointer to a [`Passing`] that was registered, and nothing else uses it.
unsafe fn pass(
    data: *mut c_void,
    time: u64,
    event: impl FnOnce(&Otf2Library) -> ArchiveEvent<'_>,
) -> abi::CallbackCode {
    // SAFETY: the caller guarantees the pointer.
    let passing = unsafe { &mut *data.cast::<Passing<'_>>() };
    let time = passing.offsets.map_or(time, |offsets| offsets.corrected(time));
    passing.latest = passing.latest.max(time);
    (passing.each)(time, event(passing.library));
    abi::CALLBACK_SUCCESS
}

/// # Safety
/// `data` is that of `LocationEvents::read`, `list` an attribute list of OTF2.
unsafe extern "C" fn enter(
    _location: u64,
    time: u64,
    _position: u64,
    data: *mut c_void,
    list: *mut abi::AttributeList,
    region: u32,
) -> abi::CallbackCode {
    // SAFETY: the caller, OTF2, passes the registered data.
    unsafe { pass(data, time, |library| ArchiveEvent::Enter(region, Attributes { library, list })) }
}

/// # Safety
/// `data` is that of `LocationEvents::read`.
unsafe extern "C" fn leave(
    _location: u64,
    time: u64,
    _position: u64,
    data: *mut c_void,
    _list: *mut abi::AttributeList,
    _region: u32,
) -> abi::CallbackCode {
    // SAFETY: the caller, OTF2, passes the registered data.
    unsafe { pass(data, time, |_| ArchiveEvent::Leave) }
}

/// # Safety
/// `data` is that of `LocationEvents::read`, `values` points to `count` values of 64 bits.
unsafe extern "C" fn metric(
    _location: u64,
    time: u64,
    _position: u64,
    data: *mut c_void,
    _list: *mut abi::AttributeList,
    metric: u32,
    count: u8,
    _types: *const u8,
    values: *const u64,
) -> abi::CallbackCode {
    if count == 0 || ptr::eq(values, ptr::null()) {
        return abi::CALLBACK_SUCCESS;
    }
    // SAFETY: the caller, OTF2, passes the registered data and at least one value.
    unsafe {
        let value = *values;
        pass(data, time, |_| ArchiveEvent::Metric(metric, value))
    }
}
