//! An OTF2 archive that is being read, through the real OTF2 library.
//!
//! The library applies each location's clock offsets and local numbers by itself, once it has read the local
//! definitions.

mod anchor;
mod clocks;
mod definitions;
mod events;

use super::abi;
use super::archive::{Archive, c_string};
use super::error::Otf2Error;
use super::library::{self, Otf2Library};
use clocks::ClockOffsets;
use definitions::Unresolved;
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;
use std::rc::Rc;

pub(crate) use definitions::{ArchiveLocation, Definitions, LocationGroup};
pub(crate) use events::{ArchiveEvent, LocationEvents};

/// An open archive.
pub(crate) struct ArchiveReader {
    library: &'static Otf2Library,
    handle: *mut abi::Reader,
    /// Whether the event files are open.
    events: bool,
    /// Clock offsets of the selected locations.
    offsets: BTreeMap<u64, Rc<ClockOffsets>>,
    /// Those that replace them ([`ArchiveReader::share_clocks`]).
    shared: BTreeMap<u64, Rc<ClockOffsets>>,
}

impl ArchiveReader {
    /// Opens the archive with this anchor file, `traces.otf2`.
    ///
    /// # Errors
    /// OTF2 is missing, is not of version 3, or refuses the file.
    pub(crate) fn open(anchor: &Path) -> Result<Self, Otf2Error> {
        let library = library::opened()?;
        anchor::check(anchor)?;
        let path = c_string(anchor.as_os_str().as_bytes())?;
        // SAFETY: the path is a C string that outlives the call.
        let handle = unsafe { library.open_reader(path.as_ptr()) }?;
        let reader = Self { library, handle, events: false, offsets: BTreeMap::new(), shared: BTreeMap::new() };
        // SAFETY: the reader is open.
        unsafe { library.set_serial_reading(handle) }?;
        Ok(reader)
    }

    /// Reads the global definitions.
    ///
    /// # Errors
    /// OTF2 cannot read them.
    pub(crate) fn definitions(&self) -> Result<Definitions, Otf2Error> {
        let Self { library, handle, .. } = *self;
        let mut found = Unresolved::default();
        let mut read = 0;
        // SAFETY: the reader is open; OTF2 copies the callbacks, whose types are those declared, and passes them `found`
        // while `read_definitions` runs.
        unsafe {
            let reader = library.definition_reader(handle)?;
            let callbacks = library.new_definition_callbacks()?;
            let registered = (|| {
                library.on_clock(callbacks, definitions::clock)?;
                library.on_string(callbacks, definitions::string)?;
                library.on_node(callbacks, definitions::node)?;
                library.on_group(callbacks, definitions::group)?;
                library.on_location(callbacks, definitions::location)?;
                library.on_region(callbacks, definitions::region)?;
                library.on_attribute(callbacks, definitions::attribute)?;
                library.on_metric_member(callbacks, definitions::member)?;
                library.on_metric_class(callbacks, definitions::class)?;
                let data = (&raw mut found).cast::<c_void>();
                library.register_definition_callbacks(handle, reader, callbacks, data)
            })();
            library.delete_definition_callbacks(callbacks);
            registered?;
            library.read_definitions(handle, reader, &raw mut read)?;
            library.close_definition_reader(handle, reader)?;
        }
        Ok(found.resolve())
    }

    /// Opens the event files for these locations, with their local definitions. To be called once.
    ///
    /// # Errors
    /// OTF2 cannot open the files.
    pub(crate) fn select(&mut self, locations: &[u64]) -> Result<(), Otf2Error> {
        let Self { library, handle, .. } = *self;
        // SAFETY: the reader is open, and each local reader is closed in the reader that opened it. OTF2 copies the
        // callbacks, whose types are those declared, and passes them `offsets` while `read_local_definitions` runs.
        unsafe {
            for &location in locations {
                library.select_location(handle, location)?;
            }
            // an archive may lack local definitions; then nothing is to be applied
            let are_open = library.open_local_definitions(handle).is_ok();
            library.open_events(handle)?;
            self.events = true;
            for &location in locations.iter().filter(|_| are_open) {
                if let Ok(definitions) = library.local_definition_reader(handle, location) {
                    let (mut read, mut offsets) = (0, ClockOffsets::default());
                    let callbacks = library.new_local_definition_callbacks()?;
                    let registered = library.on_clock_offset(callbacks, clocks::offset).and_then(|()| {
                        let data = (&raw mut offsets).cast::<c_void>();
                        library.register_local_definition_callbacks(handle, definitions, callbacks, data)
                    });
                    library.delete_local_definition_callbacks(callbacks);
                    registered?;
                    library.read_local_definitions(handle, definitions, &raw mut read)?;
                    library.close_local_definition_reader(handle, definitions)?;
                    self.offsets.insert(location, Rc::new(offsets));
                }
            }
            if are_open {
                library.close_local_definitions(handle)?;
            }
        }
        Ok(())
    }

    /// Puts the events of all processes of a node on the clock of its first process, from now on.
    pub(crate) fn share_clocks(&mut self, definitions: &Definitions) {
        self.shared = clocks::shared(definitions, &self.offsets);
    }

    /// Returns OTF2's library.
    pub(super) fn library(&self) -> &'static Otf2Library {
        self.library
    }

    /// Returns OTF2's handle.
    pub(super) fn handle(&self) -> *mut abi::Reader {
        self.handle
    }

    /// Returns the sizes of the chunks of events and of definitions, bytes.
    ///
    /// # Errors
    /// OTF2 does not know them, or the archive is not one of plain files.
    pub(super) fn chunks(&self) -> Result<(u64, u64), Otf2Error> {
        let (mut events, mut definitions, mut substrate) = (0, 0, 0);
        // SAFETY: the reader is open; OTF2 writes one number each.
        unsafe {
            self.library.substrate(self.handle, &raw mut substrate)?;
            self.library.chunks(self.handle, &raw mut events, &raw mut definitions)?;
        }
        if substrate == abi::SUBSTRATE_POSIX { Ok((events, definitions)) } else { Err(Otf2Error::Substrate) }
    }

    /// Returns whether the archive has snapshots or thumbnails, which describe its events.
    ///
    /// # Errors
    /// OTF2 does not know it.
    pub(super) fn has_snapshots(&self) -> Result<bool, Otf2Error> {
        let (mut snapshots, mut thumbnails) = (0, 0);
        // SAFETY: the reader is open; OTF2 writes one number each.
        unsafe {
            self.library.count_snapshots(self.handle, &raw mut snapshots)?;
            self.library.count_thumbnails(self.handle, &raw mut thumbnails)?;
        }
        Ok(snapshots + thumbnails > 0)
    }

    /// Returns the number of global definitions.
    ///
    /// # Errors
    /// OTF2 does not know it.
    pub(super) fn count_definitions(&self) -> Result<u64, Otf2Error> {
        let mut count = 0;
        // SAFETY: the reader is open; OTF2 writes one number.
        unsafe { self.library.count_definitions(self.handle, &raw mut count) }?;
        Ok(count)
    }

    /// Gives another archive the creator, the description, the machine and the properties of this one.
    ///
    /// # Errors
    /// OTF2 cannot set them.
    pub(super) fn describe(&self, archive: &Archive) -> Result<(), Otf2Error> {
        let Self { library, handle, .. } = *self;
        // SAFETY: the reader and the archive are open. OTF2 gives each text to its caller, in memory of C's, and copies
        // the texts that it takes. It has one text for each name.
        unsafe {
            let mut text = ptr::null_mut();
            library.creator_of(handle, &raw mut text)?;
            library.set_creator(archive.handle, text)?;
            libc::free(text.cast());
            library.description_of(handle, &raw mut text)?;
            library.set_description(archive.handle, text)?;
            libc::free(text.cast());
            library.machine_of(handle, &raw mut text)?;
            library.set_machine(archive.handle, text)?;
            libc::free(text.cast());
            let (mut count, mut names) = (0, ptr::null_mut());
            library.property_names(handle, &raw mut count, &raw mut names)?;
            for place in 0..count as usize {
                let (name, mut value) = (*names.add(place), ptr::null_mut());
                library.property(handle, name, &raw mut value)?;
                library.set_property(archive.handle, name, value, true)?;
                libc::free(value.cast());
            }
            // the names are in one piece with their list
            libc::free(names.cast());
        }
        Ok(())
    }

    /// Returns the events of a selected location.
    ///
    /// # Errors
    /// OTF2 cannot open them.
    pub(crate) fn events(&self, location: u64) -> Result<LocationEvents<'_>, Otf2Error> {
        LocationEvents::open(self, location)
    }
}

impl Drop for ArchiveReader {
    fn drop(&mut self) {
        // SAFETY: the reader is open and is not used again.
        unsafe {
            if self.events {
                let _ = self.library.close_events(self.handle);
            }
            let _ = self.library.close_reader(self.handle);
        }
    }
}
