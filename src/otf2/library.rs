//! The OTF2 library. It is found, opened and resolved when the first archive is written.

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_void};
use std::sync::LazyLock;

use super::abi;
use super::error::{LibraryError, Otf2Error};

/// File names by upstream and by Debian, and the names in their development packages. The version is checked when an
/// archive is created.
const NAMES: [&str; 4] = ["libotf2.so.10", "libopen-trace-format2.so.10", "libotf2.so", "libopen-trace-format2.so"];

/// Declares the functions to resolve. Functions that return an error code or a handle become methods that return a
/// `Result`.
macro_rules! functions {
    (
        coded { $($coded:ident = $coded_symbol:literal ($($coded_argument:ident: $coded_type:ty),* $(,)?);)* }
        handed { $($handed:ident = $handed_symbol:literal ($($handed_argument:ident: $handed_type:ty),* $(,)?) -> $handle:ty;)* }
        other { $($other:ident = $other_symbol:literal ($($other_type:ty),* $(,)?) -> $answer:ty;)* }
    ) => {
        struct Functions {
            $($coded: unsafe extern "C" fn($($coded_type),*) -> abi::ErrorCode,)*
            $($handed: unsafe extern "C" fn($($handed_type),*) -> *mut $handle,)*
            $($other: unsafe extern "C" fn($($other_type),*) -> $answer,)*
        }

        impl Functions {
            /// # Safety
            ///
            /// The functions of the library must have the types declared below.
            unsafe fn resolve(library: &'static str, object: &libloading::Library) -> Result<Self, LibraryError> {
                Ok(Self {
                    // SAFETY: the caller guarantees the types, here and below.
                    $($coded: unsafe { symbol(library, object, $coded_symbol) }?,)*
                    // SAFETY: as above.
                    $($handed: unsafe { symbol(library, object, $handed_symbol) }?,)*
                    // SAFETY: as above.
                    $($other: unsafe { symbol(library, object, $other_symbol) }?,)*
                })
            }
        }

        #[allow(clippy::too_many_arguments, reason = "the lists are OTF2's")]
        impl Otf2Library {
            $(
                #[doc = concat!("Calls `", $coded_symbol, "`.")]
                ///
                /// # Safety
                ///
                /// Handles must be open and belong together, pointers must be valid for what OTF2 reads or writes
                /// there.
                pub(super) unsafe fn $coded(&self, $($coded_argument: $coded_type),*) -> Result<(), Otf2Error> {
                    // SAFETY: the caller guarantees the arguments, `resolve`'s caller the type.
                    let code = unsafe { (self.functions.$coded)($($coded_argument),*) };
                    self.outcome($coded_symbol, code, ())
                }
            )*
            $(
                #[doc = concat!("Calls `", $handed_symbol, "`; never answers null.")]
                ///
                /// # Safety
                ///
                /// Handles must be open and pointers must be valid for what OTF2 reads there.
                pub(super) unsafe fn $handed(&self, $($handed_argument: $handed_type),*) -> Result<*mut $handle, Otf2Error> {
                    // SAFETY: the caller guarantees the arguments, `resolve`'s caller the type.
                    let handle = unsafe { (self.functions.$handed)($($handed_argument),*) };
                    let code = if handle.is_null() { abi::ERROR } else { abi::SUCCESS };
                    self.outcome($handed_symbol, code, handle)
                }
            )*
        }
    };
}

functions! {
    coded {
        version = "OTF2_Archive_GetVersion" (archive: *mut abi::Archive, major: *mut u8, minor: *mut u8, bugfix: *mut u8);
        set_flush_callbacks = "OTF2_Archive_SetFlushCallbacks" (
            archive: *mut abi::Archive, callbacks: *const abi::FlushCallbacks, data: *mut c_void,
        );
        set_machine = "OTF2_Archive_SetMachineName" (archive: *mut abi::Archive, name: *const c_char);
        set_description = "OTF2_Archive_SetDescription" (archive: *mut abi::Archive, text: *const c_char);
        set_property = "OTF2_Archive_SetProperty" (
            archive: *mut abi::Archive, name: *const c_char, value: *const c_char, overwrite: bool,
        );
        set_serial_callbacks = "OTF2_Archive_SetSerialCollectiveCallbacks" (archive: *mut abi::Archive);
        set_creator = "OTF2_Archive_SetCreator" (archive: *mut abi::Archive, creator: *const c_char);
        close_archive = "OTF2_Archive_Close" (archive: *mut abi::Archive);

        open_event_files = "OTF2_Archive_OpenEvtFiles" (archive: *mut abi::Archive);
        close_event_files = "OTF2_Archive_CloseEvtFiles" (archive: *mut abi::Archive);
        close_event_writer = "OTF2_Archive_CloseEvtWriter" (archive: *mut abi::Archive, writer: *mut abi::EventWriter);
        count_events = "OTF2_EvtWriter_GetNumberOfEvents" (writer: *mut abi::EventWriter, count: *mut u64);
        enter = "OTF2_EvtWriter_Enter" (
            writer: *mut abi::EventWriter, attributes: *mut abi::AttributeList, time: u64, region: u32,
        );
        leave = "OTF2_EvtWriter_Leave" (
            writer: *mut abi::EventWriter, attributes: *mut abi::AttributeList, time: u64, region: u32,
        );
        buffer_flush = "OTF2_EvtWriter_BufferFlush" (
            writer: *mut abi::EventWriter, attributes: *mut abi::AttributeList, time: u64, until: u64,
        );
        add_number = "OTF2_AttributeList_AddUint64" (attributes: *mut abi::AttributeList, attribute: u32, value: u64);
        add_string = "OTF2_AttributeList_AddStringRef" (attributes: *mut abi::AttributeList, attribute: u32, string: u32);
        clear_attributes = "OTF2_AttributeList_RemoveAllAttributes" (attributes: *mut abi::AttributeList);
        delete_attributes = "OTF2_AttributeList_Delete" (attributes: *mut abi::AttributeList);
        // In C a value is a union of int64_t, uint64_t and double; here it is passed as its bits.
        metric = "OTF2_EvtWriter_Metric" (
            writer: *mut abi::EventWriter, attributes: *mut abi::AttributeList, time: u64, metric: u32, count: u8,
            types: *const u8, values: *const u64,
        );

        send = "OTF2_EvtWriter_MpiSend" (
            writer: *mut abi::EventWriter, attributes: *mut abi::AttributeList, time: u64, receiver: u32,
            communicator: u32, tag: u32, bytes: u64,
        );
        receive = "OTF2_EvtWriter_MpiRecv" (
            writer: *mut abi::EventWriter, attributes: *mut abi::AttributeList, time: u64, sender: u32,
            communicator: u32, tag: u32, bytes: u64,
        );
        collective_begins = "OTF2_EvtWriter_MpiCollectiveBegin" (
            writer: *mut abi::EventWriter, attributes: *mut abi::AttributeList, time: u64,
        );
        collective_ends = "OTF2_EvtWriter_MpiCollectiveEnd" (
            writer: *mut abi::EventWriter, attributes: *mut abi::AttributeList, time: u64, operation: u8,
            communicator: u32, root: u32, sent: u64, received: u64,
        );

        open_local_definition_files = "OTF2_Archive_OpenDefFiles" (archive: *mut abi::Archive);
        close_local_definition_files = "OTF2_Archive_CloseDefFiles" (archive: *mut abi::Archive);
        close_local_definition_writer = "OTF2_Archive_CloseDefWriter" (
            archive: *mut abi::Archive, writer: *mut abi::LocalDefinitionWriter,
        );

        close_definition_writer = "OTF2_Archive_CloseGlobalDefWriter" (
            archive: *mut abi::Archive, writer: *mut abi::GlobalDefinitionWriter,
        );
        define_clock = "OTF2_GlobalDefWriter_WriteClockProperties" (
            writer: *mut abi::GlobalDefinitionWriter, ticks_per_second: u64, offset: u64, length: u64, real_time: u64,
        );
        define_string = "OTF2_GlobalDefWriter_WriteString" (
            writer: *mut abi::GlobalDefinitionWriter, number: u32, text: *const c_char,
        );
        define_node = "OTF2_GlobalDefWriter_WriteSystemTreeNode" (
            writer: *mut abi::GlobalDefinitionWriter, number: u32, name: u32, class: u32, parent: u32,
        );
        define_node_domain = "OTF2_GlobalDefWriter_WriteSystemTreeNodeDomain" (
            writer: *mut abi::GlobalDefinitionWriter, node: u32, domain: u8,
        );
        define_group = "OTF2_GlobalDefWriter_WriteLocationGroup" (
            writer: *mut abi::GlobalDefinitionWriter, number: u32, name: u32, kind: u8, node: u32, creator: u32,
        );
        define_location = "OTF2_GlobalDefWriter_WriteLocation" (
            writer: *mut abi::GlobalDefinitionWriter, number: u64, name: u32, kind: u8, events: u64, group: u32,
        );
        define_region = "OTF2_GlobalDefWriter_WriteRegion" (
            writer: *mut abi::GlobalDefinitionWriter, number: u32, name: u32, canonical_name: u32, description: u32,
            role: u8, paradigm: u8, flags: u32, file: u32, first_line: u32, last_line: u32,
        );
        define_ranks = "OTF2_GlobalDefWriter_WriteGroup" (
            writer: *mut abi::GlobalDefinitionWriter, number: u32, name: u32, kind: u8, paradigm: u8, flags: u32,
            count: u32, members: *const u64,
        );
        define_communicator = "OTF2_GlobalDefWriter_WriteComm" (
            writer: *mut abi::GlobalDefinitionWriter, number: u32, name: u32, group: u32, parent: u32, flags: u32,
        );
        define_attribute = "OTF2_GlobalDefWriter_WriteAttribute" (
            writer: *mut abi::GlobalDefinitionWriter, number: u32, name: u32, description: u32, kind: u8,
        );
        define_metric_member = "OTF2_GlobalDefWriter_WriteMetricMember" (
            writer: *mut abi::GlobalDefinitionWriter, number: u32, name: u32, description: u32, kind: u8, mode: u8,
            value_type: u8, base: u8, exponent: i64, unit: u32,
        );
        define_metric_class = "OTF2_GlobalDefWriter_WriteMetricClass" (
            writer: *mut abi::GlobalDefinitionWriter, number: u32, count: u8, members: *const u32, occurrence: u8,
            recorder_kind: u8,
        );
        define_metric_recorder = "OTF2_GlobalDefWriter_WriteMetricClassRecorder" (
            writer: *mut abi::GlobalDefinitionWriter, class: u32, recorder: u64,
        );
        set_serial_reading = "OTF2_Reader_SetSerialCollectiveCallbacks" (reader: *mut abi::Reader);
        close_reader = "OTF2_Reader_Close" (reader: *mut abi::Reader);
        chunks = "OTF2_Reader_GetChunkSize" (reader: *mut abi::Reader, events: *mut u64, definitions: *mut u64);
        substrate = "OTF2_Reader_GetFileSubstrate" (reader: *mut abi::Reader, substrate: *mut u8);
        count_definitions = "OTF2_Reader_GetNumberOfGlobalDefinitions" (reader: *mut abi::Reader, count: *mut u64);
        machine_of = "OTF2_Reader_GetMachineName" (reader: *mut abi::Reader, name: *mut *mut c_char);
        creator_of = "OTF2_Reader_GetCreator" (reader: *mut abi::Reader, name: *mut *mut c_char);
        description_of = "OTF2_Reader_GetDescription" (reader: *mut abi::Reader, text: *mut *mut c_char);
        count_snapshots = "OTF2_Reader_GetNumberOfSnapshots" (reader: *mut abi::Reader, count: *mut u32);
        count_thumbnails = "OTF2_Reader_GetNumberOfThumbnails" (reader: *mut abi::Reader, count: *mut u32);
        property_names = "OTF2_Reader_GetPropertyNames" (
            reader: *mut abi::Reader, count: *mut u32, names: *mut *mut *mut c_char,
        );
        property = "OTF2_Reader_GetProperty" (reader: *mut abi::Reader, name: *const c_char, value: *mut *mut c_char);
        register_definition_callbacks = "OTF2_Reader_RegisterGlobalDefCallbacks" (
            reader: *mut abi::Reader, definitions: *mut abi::GlobalDefinitionReader,
            callbacks: *const abi::GlobalDefinitionCallbacks, data: *mut c_void,
        );
        read_definitions = "OTF2_Reader_ReadAllGlobalDefinitions" (
            reader: *mut abi::Reader, definitions: *mut abi::GlobalDefinitionReader, read: *mut u64,
        );
        close_definition_reader = "OTF2_Reader_CloseGlobalDefReader" (
            reader: *mut abi::Reader, definitions: *mut abi::GlobalDefinitionReader,
        );
        on_clock = "OTF2_GlobalDefReaderCallbacks_SetClockPropertiesCallback" (
            callbacks: *mut abi::GlobalDefinitionCallbacks, callback: abi::ClockCallback,
        );
        on_string = "OTF2_GlobalDefReaderCallbacks_SetStringCallback" (
            callbacks: *mut abi::GlobalDefinitionCallbacks, callback: abi::StringCallback,
        );
        on_node = "OTF2_GlobalDefReaderCallbacks_SetSystemTreeNodeCallback" (
            callbacks: *mut abi::GlobalDefinitionCallbacks, callback: abi::NodeCallback,
        );
        on_group = "OTF2_GlobalDefReaderCallbacks_SetLocationGroupCallback" (
            callbacks: *mut abi::GlobalDefinitionCallbacks, callback: abi::GroupCallback,
        );
        on_location = "OTF2_GlobalDefReaderCallbacks_SetLocationCallback" (
            callbacks: *mut abi::GlobalDefinitionCallbacks, callback: abi::LocationCallback,
        );
        on_region = "OTF2_GlobalDefReaderCallbacks_SetRegionCallback" (
            callbacks: *mut abi::GlobalDefinitionCallbacks, callback: abi::RegionCallback,
        );
        on_attribute = "OTF2_GlobalDefReaderCallbacks_SetAttributeCallback" (
            callbacks: *mut abi::GlobalDefinitionCallbacks, callback: abi::AttributeCallback,
        );
        on_metric_member = "OTF2_GlobalDefReaderCallbacks_SetMetricMemberCallback" (
            callbacks: *mut abi::GlobalDefinitionCallbacks, callback: abi::MemberCallback,
        );
        on_metric_class = "OTF2_GlobalDefReaderCallbacks_SetMetricClassCallback" (
            callbacks: *mut abi::GlobalDefinitionCallbacks, callback: abi::ClassCallback,
        );
        select_location = "OTF2_Reader_SelectLocation" (reader: *mut abi::Reader, location: u64);
        open_local_definitions = "OTF2_Reader_OpenDefFiles" (reader: *mut abi::Reader);
        read_local_definitions = "OTF2_Reader_ReadAllLocalDefinitions" (
            reader: *mut abi::Reader, definitions: *mut abi::LocalDefinitionReader, read: *mut u64,
        );
        close_local_definition_reader = "OTF2_Reader_CloseDefReader" (
            reader: *mut abi::Reader, definitions: *mut abi::LocalDefinitionReader,
        );
        close_local_definitions = "OTF2_Reader_CloseDefFiles" (reader: *mut abi::Reader);
        open_events = "OTF2_Reader_OpenEvtFiles" (reader: *mut abi::Reader);
        close_events = "OTF2_Reader_CloseEvtFiles" (reader: *mut abi::Reader);
        register_event_callbacks = "OTF2_Reader_RegisterEvtCallbacks" (
            reader: *mut abi::Reader, events: *mut abi::EventReader, callbacks: *const abi::EventCallbacks,
            data: *mut c_void,
        );
        read_events = "OTF2_Reader_ReadLocalEvents" (
            reader: *mut abi::Reader, events: *mut abi::EventReader, count: u64, read: *mut u64,
        );
        close_event_reader = "OTF2_Reader_CloseEvtReader" (reader: *mut abi::Reader, events: *mut abi::EventReader);
        on_enter = "OTF2_EvtReaderCallbacks_SetEnterCallback" (
            callbacks: *mut abi::EventCallbacks, callback: abi::RegionEventCallback,
        );
        on_leave = "OTF2_EvtReaderCallbacks_SetLeaveCallback" (
            callbacks: *mut abi::EventCallbacks, callback: abi::RegionEventCallback,
        );
        on_metric = "OTF2_EvtReaderCallbacks_SetMetricCallback" (
            callbacks: *mut abi::EventCallbacks, callback: abi::MetricEventCallback,
        );
        on_buffer_flush = "OTF2_EvtReaderCallbacks_SetBufferFlushCallback" (
            callbacks: *mut abi::EventCallbacks, callback: abi::FlushEventCallback,
        );
        number_of = "OTF2_AttributeList_GetUint64" (
            attributes: *const abi::AttributeList, attribute: u32, value: *mut u64,
        );
        string_of = "OTF2_AttributeList_GetStringRef" (
            attributes: *const abi::AttributeList, attribute: u32, string: *mut u32,
        );
        define_metric_instance = "OTF2_GlobalDefWriter_WriteMetricInstance" (
            writer: *mut abi::GlobalDefinitionWriter, number: u32, class: u32, recorder: u64, scope_kind: u8, scope: u64,
        );
    }
    handed {
        create_archive = "OTF2_Archive_Open" (
            path: *const c_char, name: *const c_char, mode: u8, event_chunk: u64, definition_chunk: u64, substrate: u8,
            compression: u8,
        ) -> abi::Archive;
        event_writer = "OTF2_Archive_GetEvtWriter" (archive: *mut abi::Archive, location: u64) -> abi::EventWriter;
        new_attributes = "OTF2_AttributeList_New" () -> abi::AttributeList;
        local_definition_writer = "OTF2_Archive_GetDefWriter" (
            archive: *mut abi::Archive, location: u64,
        ) -> abi::LocalDefinitionWriter;
        definition_writer = "OTF2_Archive_GetGlobalDefWriter" (archive: *mut abi::Archive) -> abi::GlobalDefinitionWriter;
        open_reader = "OTF2_Reader_Open" (anchor: *const c_char) -> abi::Reader;
        definition_reader = "OTF2_Reader_GetGlobalDefReader" (reader: *mut abi::Reader) -> abi::GlobalDefinitionReader;
        new_definition_callbacks = "OTF2_GlobalDefReaderCallbacks_New" () -> abi::GlobalDefinitionCallbacks;
        local_definition_reader = "OTF2_Reader_GetDefReader" (
            reader: *mut abi::Reader, location: u64,
        ) -> abi::LocalDefinitionReader;
        event_reader = "OTF2_Reader_GetEvtReader" (reader: *mut abi::Reader, location: u64) -> abi::EventReader;
        new_event_callbacks = "OTF2_EvtReaderCallbacks_New" () -> abi::EventCallbacks;
    }
    other {
        describe = "OTF2_Error_GetDescription" (abi::ErrorCode) -> *const c_char;
        set_error_callback = "OTF2_Error_RegisterCallback" (abi::ErrorCallback, *mut c_void) -> Option<abi::ErrorCallback>;
        delete_definition_callbacks = "OTF2_GlobalDefReaderCallbacks_Delete" (*mut abi::GlobalDefinitionCallbacks) -> ();
        delete_event_callbacks = "OTF2_EvtReaderCallbacks_Delete" (*mut abi::EventCallbacks) -> ();
        has_attribute = "OTF2_AttributeList_TestAttributeByID" (*const abi::AttributeList, u32) -> bool;
    }
}

/// The opened library with its functions.
pub(super) struct Otf2Library {
    functions: Functions,
    /// Keeps the library loaded as long as its functions are used.
    object: libloading::Library,
}

// OTF2 has one error handler per process, so the library is opened once, gets its handler once, and stays.
static LIBRARY: LazyLock<Result<Otf2Library, LibraryError>> = LazyLock::new(|| Otf2Library::open(&NAMES));

/// Returns the library; the first call opens it.
pub(super) fn opened() -> Result<&'static Otf2Library, &'static LibraryError> {
    LIBRARY.as_ref()
}

impl Otf2Library {
    /// Opens the first library of the list that can be opened.
    fn open(names: &[&'static str]) -> Result<Self, LibraryError> {
        let mut reasons = Vec::new();
        for &name in names {
            // SAFETY: the names are OTF2's, whose constructors do no harm.
            match unsafe { libloading::Library::new(name) } {
                Ok(object) => return Self::resolve(name, object),
                Err(reason) => reasons.push(reason.to_string()),
            }
        }
        Err(LibraryError::Missing(reasons.join("; ")))
    }

    fn resolve(name: &'static str, object: libloading::Library) -> Result<Self, LibraryError> {
        // SAFETY: the types are those of OTF2 3. `Archive::create` refuses other versions before it calls functions
        // that differ in them.
        let functions = unsafe { Functions::resolve(name, &object) }?;
        // SAFETY: `note_error` has the handler's type and lives as long as the process.
        unsafe { (functions.set_error_callback)(note_error, std::ptr::null_mut()) };
        Ok(Self { functions, object })
    }

    /// Looks up a function that not every release has.
    ///
    /// # Safety
    ///
    /// `F` must be the function's type.
    pub(super) unsafe fn find<F: Copy>(&self, symbol: &str) -> Option<F> {
        // SAFETY: the caller guarantees the type.
        unsafe { self.object.get::<F>(symbol.as_bytes()) }.ok().map(|function| *function)
    }

    /// Returns `value`, or an error if the call returned a failure or OTF2 reported an error that the call's result
    /// hides.
    pub(super) fn outcome<T>(&self, function: &'static str, code: abi::ErrorCode, value: T) -> Result<T, Otf2Error> {
        // The first reported error is nearest to the cause; the call's result often says only that something failed.
        let reported = REPORTED.replace(abi::SUCCESS);
        let code = if reported == abi::SUCCESS { code } else { reported };
        if code == abi::SUCCESS {
            return Ok(value);
        }
        Err(Otf2Error::Call { function, reason: self.description(code) })
    }

    /// Returns whether a list has an attribute.
    ///
    /// # Safety
    ///
    /// The list must be OTF2's.
    pub(super) unsafe fn has(&self, attributes: *const abi::AttributeList, attribute: u32) -> bool {
        // SAFETY: the caller guarantees the list.
        unsafe { (self.functions.has_attribute)(attributes, attribute) }
    }

    /// Frees the callbacks of definitions, which OTF2 has copied.
    ///
    /// # Safety
    ///
    /// The callbacks must be OTF2's, and are not used again.
    pub(super) unsafe fn free_definition_callbacks(&self, callbacks: *mut abi::GlobalDefinitionCallbacks) {
        // SAFETY: the caller guarantees the callbacks.
        unsafe { (self.functions.delete_definition_callbacks)(callbacks) }
    }

    /// Frees the callbacks of events, which OTF2 has copied.
    ///
    /// # Safety
    ///
    /// The callbacks must be OTF2's, and are not used again.
    pub(super) unsafe fn free_event_callbacks(&self, callbacks: *mut abi::EventCallbacks) {
        // SAFETY: the caller guarantees the callbacks.
        unsafe { (self.functions.delete_event_callbacks)(callbacks) }
    }

    fn description(&self, code: abi::ErrorCode) -> String {
        // SAFETY: OTF2 accepts every number, and returns a static text of its own, or null.
        unsafe {
            let text = (self.functions.describe)(code);
            if text.is_null() {
                return format!("error {code}");
            }
            CStr::from_ptr(text).to_string_lossy().into_owned()
        }
    }
}

thread_local! {
    /// The first error that OTF2 has reported on this thread since the end of the last call.
    static REPORTED: Cell<abi::ErrorCode> = const { Cell::new(abi::SUCCESS) };
}

/// OTF2's error handler. It notes the code for [`Otf2Library::outcome`] instead of printing it.
extern "C" fn note_error(
    _data: *mut c_void,
    _file: *const c_char,
    _line: u64,
    _function: *const c_char,
    code: abi::ErrorCode,
    _format: *const c_char,
    _arguments: *mut c_void,
) -> abi::ErrorCode {
    // Negative codes are warnings. `try_with` fails at the end of a thread, when no call will read the code.
    if code > abi::SUCCESS {
        let _ = REPORTED.try_with(|reported| {
            if reported.get() == abi::SUCCESS {
                reported.set(code);
            }
        });
    }
    code
}

/// Looks up a function.
///
/// # Safety
///
/// `F` must be the function's type.
unsafe fn symbol<F: Copy>(
    library: &'static str,
    object: &libloading::Library,
    symbol: &'static str,
) -> Result<F, LibraryError> {
    // SAFETY: the caller guarantees the type.
    match unsafe { object.get::<F>(symbol.as_bytes()) } {
        Ok(function) => Ok(*function),
        Err(_) => Err(LibraryError::Symbol { library, symbol }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both errors name the tried files and the cure.
    #[test]
    fn what_cannot_be_used_is_named() {
        let missing = Otf2Library::open(&["libnone.so.1", "libnone.so"]).err().unwrap().to_string();
        let symbol = Otf2Library::open(&["libnone.so.1", "libc.so.6"]).err().unwrap().to_string();
        assert!(missing.contains("libnone.so.1:") && missing.contains("libnone.so:"), "{missing}");
        assert!(symbol.starts_with("libc.so.6 has no OTF2_"), "{symbol}");
        for text in [missing, symbol] {
            assert!(text.contains("install libotf2-trace-dev (Debian)"), "{text}");
            assert!(text.contains("libotf2.so.10 on LD_LIBRARY_PATH"), "{text}");
        }
    }
}
