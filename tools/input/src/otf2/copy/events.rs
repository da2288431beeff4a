//! Copies the events of one location, with records of communication between them.

use super::super::abi;
use super::super::archive::Archive;
use super::super::error::Otf2Error;
use super::super::event_writer::EventWriter;
use super::super::library::Otf2Library;
use super::super::reader::ArchiveReader;
use std::ffi::c_void;

/// Events of a location that are read at a time.
const PIECE: u64 = 4096;

/// A record of communication. Ranks are places in the communicator's list of locations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Message<C = usize> {
    /// A message is sent to a rank.
    Send { communicator: C, to: u32, bytes: u64 },
    /// A message of a rank has come.
    Receive { communicator: C, from: u32, bytes: u64 },
    /// A collective begins.
    Begin,
    /// A collective ends. `operation` is OTF2's number, `root` a rank.
    End { communicator: C, operation: u8, root: Option<u32>, sent: u64, received: u64 },
}

impl<C> Message<C> {
    /// Returns the message with another name of its communicator.
    fn renamed<D>(self, name: impl Fn(C) -> D) -> Message<D> {
        match self {
            Self::Send { communicator, to, bytes } => Message::Send { communicator: name(communicator), to, bytes },
            Self::Receive { communicator, from, bytes } => {
                Message::Receive { communicator: name(communicator), from, bytes }
            }
            Self::Begin => Message::Begin,
            Self::End { communicator, operation, root, sent, received } => {
                Message::End { communicator: name(communicator), operation, root, sent, received }
            }
        }
    }
}

/// Returns the next record of a location that lies before an event at `until`, in ticks, with its time. It is asked until
/// there is none: before each event, with the event's time, and at the end.
pub(crate) type Due<'a> = &'a mut dyn FnMut(u64, u64) -> Option<(u64, Message)>;

/// The data of the callbacks.
struct CopyingEvents<'a> {
    library: &'static Otf2Library,
    writer: *mut abi::EventWriter,
    location: u64,
    due: Due<'a>,
    /// The archive's number of a communicator.
    number: &'a dyn Fn(usize) -> u32,
    /// Events that were copied.
    copied: u64,
    failed: Option<Otf2Error>,
}

/// Copies the events of a location; returns the number of records that were added.
pub(super) fn copy(
    reader: &ArchiveReader,
    archive: &Archive,
    location: u64,
    due: Due<'_>,
    number: &dyn Fn(usize) -> u32,
) -> Result<u64, Otf2Error> {
    let library = archive.library;
    let writer = EventWriter::open(archive, location)?;
    let mut copying =
        CopyingEvents { library, writer: writer.handle(), location, due, number, copied: 0, failed: None };
    let data = (&raw mut copying).cast::<c_void>();
    // SAFETY: the readers are open; OTF2 copies the callbacks, whose types are those declared, and uses `data` in
    // `read_events` alone, while `copying` waits.
    let read = unsafe {
        let events = library.event_reader(reader.handle(), location)?;
        let copied: Result<u64, Otf2Error> = (|| {
            let callbacks = library.new_event_callbacks()?;
            let registered = (|| {
                library.on_enter(callbacks, enter)?;
                library.on_leave(callbacks, leave)?;
                library.on_metric(callbacks, metric)?;
                library.on_buffer_flush(callbacks, buffer_flush)?;
                library.register_event_callbacks(reader.handle(), events, callbacks, data)
            })();
            library.delete_event_callbacks(callbacks);
            registered?;
            let mut all = 0;
            loop {
                let mut read = 0;
                library.read_events(reader.handle(), events, PIECE, &raw mut read)?;
                all += read;
                if read < PIECE {
                    return Ok(all);
                }
            }
        })();
        library.close_event_reader(reader.handle(), events)?;
        copied
    };
    if copying.failed.is_none() {
        copying.failed = copying.add_due(u64::MAX).err();
    }
    let CopyingEvents { copied, failed, .. } = copying;
    if let Some(failed) = failed {
        return Err(failed);
    }
    if copied != read? {
        return Err(Otf2Error::Unknown("event on a lane"));
    }
    Ok(writer.close()?.saturating_sub(copied))
}

impl CopyingEvents<'_> {
    /// Writes the records that lie before an event at a time.
    fn add_due(&mut self, until: u64) -> Result<(), Otf2Error> {
        while let Some((time, message)) = (self.due)(self.location, until) {
            self.add(time, message)?;
        }
        Ok(())
    }

    /// Writes a record of communication.
    fn add(&self, time: u64, message: Message) -> Result<(), Otf2Error> {
        let message = message.renamed(self.number);
        let (library, writer, none) = (self.library, self.writer, std::ptr::null_mut());
        // SAFETY: the writer is open; a record needs no attributes.
        unsafe {
            match message {
                Message::Send { communicator, to, bytes } => {
                    library.send(writer, none, time, to, communicator, 0, bytes)
                }
                Message::Receive { communicator, from, bytes } => {
                    library.receive(writer, none, time, from, communicator, 0, bytes)
                }
                Message::Begin => library.collective_begins(writer, none, time),
                Message::End { communicator, operation, root, sent, received } => {
                    let root = root.unwrap_or(abi::COLLECTIVE_ROOT_NONE);
                    library.collective_ends(writer, none, time, operation, communicator, root, sent, received)
                }
            }
        }
    }
}

/// Copies an event, after the records that are due.
///
/// # Safety
/// `data` is the pointer to a [`CopyingEvents`] that was registered, and nothing else uses it.
unsafe fn pass(
    data: *mut c_void,
    time: u64,
    write: impl FnOnce(&Otf2Library, *mut abi::EventWriter) -> Result<(), Otf2Error>,
) -> abi::CallbackCode {
    // SAFETY: the caller guarantees the pointer.
    let copying = unsafe { &mut *data.cast::<CopyingEvents<'_>>() };
    if copying.failed.is_none() {
        copying.copied += 1;
        copying.failed = copying.add_due(time).and_then(|()| write(copying.library, copying.writer)).err();
    }
    abi::CALLBACK_SUCCESS
}

/// # Safety
/// `data` is that of `copy`, `list` an attribute list of OTF2.
unsafe extern "C" fn enter(
    _location: u64,
    time: u64,
    _position: u64,
    data: *mut c_void,
    list: *mut abi::AttributeList,
    region: u32,
) -> abi::CallbackCode {
    // SAFETY: the caller, OTF2, passes the registered data, and keeps the list for the time of this call.
    unsafe { pass(data, time, |library, writer| library.enter(writer, list, time, region)) }
}

/// # Safety
/// As [`enter`].
unsafe extern "C" fn leave(
    _location: u64,
    time: u64,
    _position: u64,
    data: *mut c_void,
    list: *mut abi::AttributeList,
    region: u32,
) -> abi::CallbackCode {
    // SAFETY: as in `enter`.
    unsafe { pass(data, time, |library, writer| library.leave(writer, list, time, region)) }
}

/// # Safety
/// As [`enter`]; `types` and `values` point to `count` entries.
unsafe extern "C" fn metric(
    _location: u64,
    time: u64,
    _position: u64,
    data: *mut c_void,
    list: *mut abi::AttributeList,
    metric: u32,
    count: u8,
    types: *const u8,
    values: *const u64,
) -> abi::CallbackCode {
    // SAFETY: as in `enter`; the lists are OTF2's.
    unsafe { pass(data, time, |library, writer| library.metric(writer, list, time, metric, count, types, values)) }
}

/// # Safety
/// As [`enter`].
unsafe extern "C" fn buffer_flush(
    _location: u64,
    time: u64,
    _position: u64,
    data: *mut c_void,
    list: *mut abi::AttributeList,
    until: u64,
) -> abi::CallbackCode {
    // SAFETY: as in `enter`.
    unsafe { pass(data, time, |library, writer| library.buffer_flush(writer, list, time, until)) }
}
