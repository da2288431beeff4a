//! The functions of OTF2 that the tool calls, with the names of their symbols and their C types.
//!
//! [`library`](super::library) makes a method of each, and has the names of the types in scope.

/// Hands the list to the macro that declares the functions.
///
/// `coded` functions return an error code, `handed` ones a handle. The `other` ones return neither.
macro_rules! functions { ($declare:ident) => { $declare! {
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
        define_paradigm = "OTF2_GlobalDefWriter_WriteParadigm" (
            writer: *mut abi::GlobalDefinitionWriter, paradigm: u8, name: u32, class: u8,
        );
        // In C the value is a union; here it is passed as its bits.
        define_location_property = "OTF2_GlobalDefWriter_WriteLocationProperty" (
            writer: *mut abi::GlobalDefinitionWriter, location: u64, name: u32, kind: u8, value: u64,
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
        on_clock_offset = "OTF2_DefReaderCallbacks_SetClockOffsetCallback" (
            callbacks: *mut abi::LocalDefinitionCallbacks, callback: abi::OffsetCallback,
        );
        register_local_definition_callbacks = "OTF2_Reader_RegisterDefCallbacks" (
            reader: *mut abi::Reader, definitions: *mut abi::LocalDefinitionReader,
            callbacks: *const abi::LocalDefinitionCallbacks, data: *mut c_void,
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
        apply_clock_offsets = "OTF2_EvtReader_ApplyClockOffsets" (events: *mut abi::EventReader, apply: bool);
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
        new_local_definition_callbacks = "OTF2_DefReaderCallbacks_New" () -> abi::LocalDefinitionCallbacks;
        event_reader = "OTF2_Reader_GetEvtReader" (reader: *mut abi::Reader, location: u64) -> abi::EventReader;
        new_event_callbacks = "OTF2_EvtReaderCallbacks_New" () -> abi::EventCallbacks;
    }
    other {
        describe = "OTF2_Error_GetDescription" (abi::ErrorCode) -> *const c_char;
        set_error_callback = "OTF2_Error_RegisterCallback" (abi::ErrorCallback, *mut c_void) -> Option<abi::ErrorCallback>;
        delete_definition_callbacks = "OTF2_GlobalDefReaderCallbacks_Delete" (*mut abi::GlobalDefinitionCallbacks) -> ();
        delete_local_definition_callbacks = "OTF2_DefReaderCallbacks_Delete" (*mut abi::LocalDefinitionCallbacks) -> ();
        delete_event_callbacks = "OTF2_EvtReaderCallbacks_Delete" (*mut abi::EventCallbacks) -> ();
        has_attribute = "OTF2_AttributeList_TestAttributeByID" (*const abi::AttributeList, u32) -> bool;
    }
} } }

pub(super) use functions;
