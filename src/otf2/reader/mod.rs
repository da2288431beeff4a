//! An OTF2 archive that is being read, through the real OTF2 library.
//!
//! The library applies each location's clock offsets and local numbers by itself, once it has read the local
//! definitions.

mod definitions;
mod events;

use super::abi;
use super::archive::c_string;
use super::error::Otf2Error;
use super::library::{self, Library};
use definitions::Unresolved;
use std::ffi::c_void;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

pub(crate) use definitions::{Definitions, Group, Location};
pub(crate) use events::{Event, Events};

/// An open archive.
pub(crate) struct Reader {
    library: &'static Library,
    handle: *mut abi::Reader,
    /// Whether the event files are open.
    events: bool,
}

impl Reader {
    /// Opens the archive with this anchor file, `traces.otf2`.
    ///
    /// # Errors
    /// OTF2 is missing, is not of version 3, or refuses the file.
    pub(crate) fn open(anchor: &Path) -> Result<Self, Otf2Error> {
        let library = library::opened()?;
        let path = c_string(anchor.as_os_str().as_bytes())?;
        // SAFETY: the path is a C string that outlives the call.
        let handle = unsafe { library.open_reader(path.as_ptr()) }?;
        let reader = Self { library, handle, events: false };
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
            library.free_definition_callbacks(callbacks);
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
        // SAFETY: the reader is open, and each local reader is closed in the reader that opened it.
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
                    let mut read = 0;
                    library.read_local_definitions(handle, definitions, &raw mut read)?;
                    library.close_local_definition_reader(handle, definitions)?;
                }
            }
            if are_open {
                library.close_local_definitions(handle)?;
            }
        }
        Ok(())
    }

    /// Returns the events of a selected location.
    ///
    /// # Errors
    /// OTF2 cannot open them.
    pub(crate) fn events(&self, location: u64) -> Result<Events<'_>, Otf2Error> {
        Events::open(self, location)
    }
}

impl Drop for Reader {
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
