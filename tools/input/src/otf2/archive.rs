//! An OTF2 archive that is being written.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

use super::abi;
use super::error::Otf2Error;
use super::library::Otf2Library;

/// Name of the anchor file; OTF2 puts the other files beside it.
pub const ANCHOR: &str = "traces.otf2";
/// The name without its extension, as OTF2 expects it.
const NAME: &std::ffi::CStr = c"traces";

/// Name and version of the archive's creator.
const CREATOR: &str = concat!(env!("CARGO_PKG_NAME"), " ", env!("CARGO_PKG_VERSION"));

// OTF2 keeps the address of this structure, so it is a static.
static FLUSH_CALLBACKS: abi::FlushCallbacks = abi::FlushCallbacks {
    before: always_flush,
    // No BufferFlush events: a flush here is no part of the measurement.
    after: None,
};

/// An open archive.
///
/// Dropping it does not close it or its writers. That happens only after a failure, and closing it then would make OTF2
/// write again what could not be written.
pub(super) struct Archive {
    pub(super) library: &'static Otf2Library,
    pub(super) handle: *mut abi::Archive,
}

impl Archive {
    /// Opens an archive in an empty directory, for writing by this process only. `event_chunk` comes from
    /// [`super::chunk`].
    pub(super) fn create(library: &'static Otf2Library, directory: &Path, event_chunk: u64) -> Result<Self, Otf2Error> {
        Self::create_with(library, directory, event_chunk, abi::CHUNK_SIZE_DEFINITIONS_DEFAULT)
    }

    /// The same, with a size of the definitions' chunks.
    pub(super) fn create_with(
        library: &'static Otf2Library,
        directory: &Path,
        event_chunk: u64,
        definition_chunk: u64,
    ) -> Result<Self, Otf2Error> {
        let path = c_string(directory.as_os_str().as_bytes())?;
        let creator = c_string(CREATOR.as_bytes())?;
        // SAFETY: both texts are C strings that outlive the call; the numbers are OTF2's.
        let handle = unsafe {
            library.create_archive(
                path.as_ptr(),
                NAME.as_ptr(),
                abi::FILEMODE_WRITE,
                event_chunk,
                definition_chunk,
                abi::SUBSTRATE_POSIX,
                abi::COMPRESSION_NONE,
            )
        }?;
        let archive = Self { library, handle };
        // SAFETY: the archive is open; OTF2 copies the creator, and the callbacks are static.
        unsafe {
            library.set_serial_callbacks(handle)?;
            let (mut major, mut minor, mut bugfix) = (0, 0, 0);
            library.version(handle, &raw mut major, &raw mut minor, &raw mut bugfix)?;
            if major != abi::VERSION_MAJOR {
                return Err(Otf2Error::Version(major, minor));
            }
            library.set_flush_callbacks(handle, &raw const FLUSH_CALLBACKS, ptr::null_mut())?;
            library.set_creator(handle, creator.as_ptr())?;
        }
        Ok(archive)
    }

    /// Opens the files that event writers write to.
    pub(super) fn open_event_files(&self) -> Result<(), Otf2Error> {
        // SAFETY: the archive is open.
        unsafe { self.library.open_event_files(self.handle) }
    }

    /// Closes the event files; all event writers must be closed before.
    pub(super) fn close_event_files(&self) -> Result<(), Otf2Error> {
        // SAFETY: the archive is open.
        unsafe { self.library.close_event_files(self.handle) }
    }

    /// Writes empty local definitions for each location, because readers look for their files.
    pub(super) fn write_local_definitions(&self, locations: impl Iterator<Item = u64>) -> Result<(), Otf2Error> {
        // SAFETY: the archive is open, and each writer is closed in the archive that opened it.
        unsafe {
            self.library.open_local_definition_files(self.handle)?;
            for location in locations {
                let writer = self.library.local_definition_writer(self.handle, location)?;
                self.library.close_local_definition_writer(self.handle, writer)?;
            }
            self.library.close_local_definition_files(self.handle)
        }
    }

    /// Writes the anchor file, which makes the directory an archive.
    pub(super) fn close(self) -> Result<(), Otf2Error> {
        // SAFETY: the archive is open, and is not used again.
        unsafe { self.library.close_archive(self.handle) }
    }
}

/// Converts a text into a C string.
pub(super) fn c_string(text: &[u8]) -> Result<CString, Otf2Error> {
    CString::new(text).map_err(|_| Otf2Error::ZeroByte(String::from_utf8_lossy(text).into_owned()))
}

/// Makes OTF2 write its buffers whenever they are full or closed.
extern "C" fn always_flush(
    _data: *mut std::ffi::c_void,
    _file_type: u8,
    _location: u64,
    _caller: *mut std::ffi::c_void,
    _last: bool,
) -> u8 {
    abi::FLUSH
}
