//! The functions of OTF2 that the tool calls, with the names of their symbols and their C types.
//!
//! [`library`](super::library) makes a method of each, and has the names of the types in scope.

/// Hands the list to the macro that declares the functions.
///
/// `coded` functions return an error code, `handed` ones a handle. The `other` ones return neither.
macro_rules! functions { ($declare:ident) => { $declare! {
    coded {
        version = "OTF2_Archive_GetVersion" (archive: *mut Archive, major: *mut u8, minor: *mut u8, bugfix: *mut u8);
        set_flush_callbacks = "OTF2_Archive_SetFlushCallbacks" (
            archive: *mut Archive, callbacks: *const FlushCallbacks, data: *mut c_void,
        );
        set_machine = "OTF2_Archive_SetMachineName" (archive: *mut Archive, name: *const c_char);
        set_description = "OTF2_Archive_SetDescription" (archive: *mut Archive, text: *const c_char);
        set_property = "OTF2_Archive_SetProperty" (
            archive: *mut Archive, name: *const c_char, value: *const c_char, overwrite: bool,
        );
        set_serial_callbacks = "OTF2_Archive_SetSerialCollectiveCallbacks" (archive: *mut Archive);
        set_creator = "OTF2_Archive_SetCreator" (archive: *mut Archive, creator: *const c_char);
        close_archive = "OTF2_Archive_Close" (archive: *mut Archive);

        open_event_files = "OTF2_Archive_OpenEvtFiles" (archive: *mut Archive);
        close_event_files = "OTF2_Archive_CloseEvtFiles" (archive: *mut Archive);
        close_event_writer = "OTF2_Archive_CloseEvtWriter" (archive: *mut Archive, writer: *mut EventWriter);
        count_events = "OTF2_EvtWriter_GetNumberOfEvents" (writer: *mut EventWriter, count: *mut u64);
        enter = "OTF2_EvtWriter_Enter" (
            writer: *mut EventWriter, attributes: *mut AttributeList, time: u64, region: u32,
        );
        leave = "OTF2_EvtWriter_Leave" (
            writer: *mut EventWriter, attributes: *mut AttributeList, time: u64, region: u32,
        );
        buffer_flush = "OTF2_EvtWriter_BufferFlush" (
            writer: *mut EventWriter, attributes: *mut AttributeList, time: u64, until: u64,
        );
        add_number = "OTF2_AttributeList_AddUint64" (attributes: *mut AttributeList, attribute: u32, value: u64);
        add_string = "OTF2_AttributeList_AddStringRef" (attributes: *mut AttributeList, attribute: u32, string: u32);
        clear_attributes = "OTF2_AttributeList_RemoveAllAttributes" (attributes: *mut AttributeList);
        delete_attributes = "OTF2_AttributeList_Delete" (attributes: *mut AttributeList);
        // In C a value is a union of int64_t, uint64_t and double; here it is passed as its bits.
        metric = "OTF2_EvtWriter_Metric" (
            writer: *mut EventWriter, attributes: *mut AttributeList, time: u64, metric: u32, count: u8,
            types: *const u8, values: *const u64,
        );

        send = "OTF2_EvtWriter_MpiSend" (
            writer: *mut EventWriter, attributes: *mut AttributeList, time: u64, receiver: u32, communicator: u32,
            tag: u32, bytes: u64,
        );
        receive = "OTF2_EvtWriter_MpiRecv" (
            writer: *mut EventWriter, attributes: *mut AttributeList, time: u64, sender: u32, communicator: u32,
            tag: u32, bytes: u64,
        );
        collective_begins = "OTF2_EvtWriter_MpiCollectiveBegin" (
            writer: *mut EventWriter, attributes: *mut AttributeList, time: u64,
        );
        collective_ends = "OTF2_EvtWriter_MpiCollectiveEnd" (
            writer: *mut EventWriter, attributes: *mut AttributeList, time: u64, operation: u8, communicator: u32,
            root: u32, sent: u64, received: u64,
        );

        open_local_definition_files = "OTF2_Archive_OpenDefFiles" (archive: *mut Archive);
        close_local_definition_files = "OTF2_Archive_CloseDefFiles" (archive: *mut Archive);
        close_local_definition_writer = "OTF2_Archive_CloseDefWriter" (
            archive: *mut Archive, writer: *mut LocalDefinitionWriter,
        );

        close_definition_writer = "OTF2_Archive_CloseGlobalDefWriter" (
            archive: *mut Archive, writer: *mut GlobalDefinitionWriter,
        );
        define_clock = "OTF2_GlobalDefWriter_WriteClockProperties" (
            writer: *mut GlobalDefinitionWriter, ticks_per_second: u64, offset: u64, length: u64, real_time: u64,
        );
        define_string = "OTF2_GlobalDefWriter_WriteString" (
            writer: *mut GlobalDefinitionWriter, number: u32, text: *const c_char,
        );
        define_node = "OTF2_GlobalDefWriter_WriteSystemTreeNode" (
            writer: *mut GlobalDefinitionWriter, number: u32, name: u32, class: u32, parent: u32,
        );
        define_node_domain = "OTF2_GlobalDefWriter_WriteSystemTreeNodeDomain" (
            writer: *mut GlobalDefinitionWriter, node: u32, domain: u8,
        );
        define_group = "OTF2_GlobalDefWriter_WriteLocationGroup" (
            writer: *mut GlobalDefinitionWriter, number: u32, name: u32, kind: u8, node: u32, creator: u32,
        );
        define_location = "OTF2_GlobalDefWriter_WriteLocation" (
            writer: *mut GlobalDefinitionWriter, number: u64, name: u32, kind: u8, events: u64, group: u32,
        );
        define_region = "OTF2_GlobalDefWriter_WriteRegion" (
            writer: *mut GlobalDefinitionWriter, number: u32, name: u32, canonical_name: u32, description: u32,
            role: u8, paradigm: u8, flags: u32, file: u32, first_line: u32, last_line: u32,
        );
        define_ranks = "OTF2_GlobalDefWriter_WriteGroup" (
            writer: *mut GlobalDefinitionWriter, number: u32, name: u32, kind: u8, paradigm: u8, flags: u32, count: u32,
            members: *const u64,
        );
        define_paradigm = "OTF2_GlobalDefWriter_WriteParadigm" (
            writer: *mut GlobalDefinitionWriter, paradigm: u8, name: u32, class: u8,
        );
        // In C the value is a union; here it is passed as its bits.
        define_location_property = "OTF2_GlobalDefWriter_WriteLocationProperty" (
            writer: *mut GlobalDefinitionWriter, location: u64, name: u32, kind: u8, value: u64,
        );
        define_communicator = "OTF2_GlobalDefWriter_WriteComm" (
            writer: *mut GlobalDefinitionWriter, number: u32, name: u32, group: u32, parent: u32, flags: u32,
        );
        define_attribute = "OTF2_GlobalDefWriter_WriteAttribute" (
            writer: *mut GlobalDefinitionWriter, number: u32, name: u32, description: u32, kind: u8,
        );
        define_metric_member = "OTF2_GlobalDefWriter_WriteMetricMember" (
            writer: *mut GlobalDefinitionWriter, number: u32, name: u32, description: u32, kind: u8, mode: u8,
            value_type: u8, base: u8, exponent: i64, unit: u32,
        );
        define_metric_class = "OTF2_GlobalDefWriter_WriteMetricClass" (
            writer: *mut GlobalDefinitionWriter, number: u32, count: u8, members: *const u32, occurrence: u8,
            recorder_kind: u8,
        );
        define_metric_recorder = "OTF2_GlobalDefWriter_WriteMetricClassRecorder" (
            writer: *mut GlobalDefinitionWriter, class: u32, recorder: u64,
        );
        set_serial_reading = "OTF2_Reader_SetSerialCollectiveCallbacks" (reader: *mut Reader);
        close_reader = "OTF2_Reader_Close" (reader: *mut Reader);
        chunks = "OTF2_Reader_GetChunkSize" (reader: *mut Reader, events: *mut u64, definitions: *mut u64);
        substrate = "OTF2_Reader_GetFileSubstrate" (reader: *mut Reader, substrate: *mut u8);
        count_definitions = "OTF2_Reader_GetNumberOfGlobalDefinitions" (reader: *mut Reader, count: *mut u64);
        machine_of = "OTF2_Reader_GetMachineName" (reader: *mut Reader, name: *mut *mut c_char);
        creator_of = "OTF2_Reader_GetCreator" (reader: *mut Reader, name: *mut *mut c_char);
        description_of = "OTF2_Reader_GetDescription" (reader: *mut Reader, text: *mut *mut c_char);
        count_snapshots = "OTF2_Reader_GetNumberOfSnapshots" (reader: *mut Reader, count: *mut u32);
        count_thumbnails = "OTF2_Reader_GetNumberOfThumbnails" (reader: *mut Reader, count: *mut u32);
        property_names = "OTF2_Reader_GetPropertyNames" (
            reader: *mut Reader, count: *mut u32, names: *mut *mut *mut c_char,
        );
        property = "OTF2_Reader_GetProperty" (reader: *mut Reader, name: *const c_char, value: *mut *mut c_char);
        register_definition_callbacks = "OTF2_Reader_RegisterGlobalDefCallbacks" (
            reader: *mut Reader, definitions: *mut GlobalDefinitionReader, callbacks: *const GlobalDefinitionCallbacks,
            data: *mut c_void,
        );
        read_definitions = "OTF2_Reader_ReadAllGlobalDefinitions" (
            reader: *mut Reader, definitions: *mut GlobalDefinitionReader, read: *mut u64,
        );
        close_definition_reader = "OTF2_Reader_CloseGlobalDefReader" (
            reader: *mut Reader, definitions: *mut GlobalDefinitionReader,
        );
        on_clock = "OTF2_GlobalDefReaderCallbacks_SetClockPropertiesCallback" (
            callbacks: *mut GlobalDefinitionCallbacks, callback: ClockCallback,
        );
        on_string = "OTF2_GlobalDefReaderCallbacks_SetStringCallback" (
            callbacks: *mut GlobalDefinitionCallbacks, callback: StringCallback,
        );
        on_node = "OTF2_GlobalDefReaderCallbacks_SetSystemTreeNodeCallback" (
            callbacks: *mut GlobalDefinitionCallbacks, callback: NodeCallback,
        );
        on_group = "OTF2_GlobalDefReaderCallbacks_SetLocationGroupCallback" (
            callbacks: *mut GlobalDefinitionCallbacks, callback: GroupCallback,
        );
        on_location = "OTF2_GlobalDefReaderCallbacks_SetLocationCallback" (
            callbacks: *mut GlobalDefinitionCallbacks, callback: LocationCallback,
        );
        on_region = "OTF2_GlobalDefReaderCallbacks_SetRegionCallback" (
            callbacks: *mut GlobalDefinitionCallbacks, callback: RegionCallback,
        );
        on_attribute = "OTF2_GlobalDefReaderCallbacks_SetAttributeCallback" (
            callbacks: *mut GlobalDefinitionCallbacks, callback: AttributeCallback,
        );
        on_metric_member = "OTF2_GlobalDefReaderCallbacks_SetMetricMemberCallback" (
            callbacks: *mut GlobalDefinitionCallbacks, callback: MemberCallback,
        );
        on_metric_class = "OTF2_GlobalDefReaderCallbacks_SetMetricClassCallback" (
            callbacks: *mut GlobalDefinitionCallbacks, callback: ClassCallback,
        );
        select_location = "OTF2_Reader_SelectLocation" (reader: *mut Reader, location: u64);
        open_local_definitions = "OTF2_Reader_OpenDefFiles" (reader: *mut Reader);
        read_local_definitions = "OTF2_Reader_ReadAllLocalDefinitions" (
            reader: *mut Reader, definitions: *mut LocalDefinitionReader, read: *mut u64,
        );
        on_clock_offset = "OTF2_DefReaderCallbacks_SetClockOffsetCallback" (
            callbacks: *mut LocalDefinitionCallbacks, callback: OffsetCallback,
        );
        register_local_definition_callbacks = "OTF2_Reader_RegisterDefCallbacks" (
            reader: *mut Reader, definitions: *mut LocalDefinitionReader, callbacks: *const LocalDefinitionCallbacks,
            data: *mut c_void,
        );
        close_local_definition_reader = "OTF2_Reader_CloseDefReader" (
            reader: *mut Reader, definitions: *mut LocalDefinitionReader,
        );
        close_local_definitions = "OTF2_Reader_CloseDefFiles" (reader: *mut Reader);
        open_events = "OTF2_Reader_OpenEvtFiles" (reader: *mut Reader);
        close_events = "OTF2_Reader_CloseEvtFiles" (reader: *mut Reader);
        register_event_callbacks = "OTF2_Reader_RegisterEvtCallbacks" (
            reader: *mut Reader, events: *mut EventReader, callbacks: *const EventCallbacks, data: *mut c_void,
        );
        read_events = "OTF2_Reader_ReadLocalEvents" (
            reader: *mut Reader, events: *mut EventReader, count: u64, read: *mut u64,
        );
        apply_clock_offsets = "OTF2_EvtReader_ApplyClockOffsets" (events: *mut EventReader, apply: bool);
        close_event_reader = "OTF2_Reader_CloseEvtReader" (reader: *mut Reader, events: *mut EventReader);
        on_enter = "OTF2_EvtReaderCallbacks_SetEnterCallback" (
            callbacks: *mut EventCallbacks, callback: RegionEventCallback,
        );
        on_leave = "OTF2_EvtReaderCallbacks_SetLeaveCallback" (
            callbacks: *mut EventCallbacks, callback: RegionEventCallback,
        );
        on_metric = "OTF2_EvtReaderCallbacks_SetMetricCallback" (
            callbacks: *mut EventCallbacks, callback: MetricEventCallback,
        );
        on_buffer_flush = "OTF2_EvtReaderCallbacks_SetBufferFlushCallback" (
            callbacks: *mut EventCallbacks, callback: FlushEventCallback,
        );
        number_of = "OTF2_AttributeList_GetUint64" (attributes: *const AttributeList, attribute: u32, value: *mut u64);
        string_of = "OTF2_AttributeList_GetStringRef" (
            attributes: *const AttributeList, attribute: u32, string: *mut u32,
        );
    }
    handed {
        create_archive = "OTF2_Archive_Open" (
            path: *const c_char, name: *const c_char, mode: u8, event_chunk: u64, definition_chunk: u64, substrate: u8,
            compression: u8,
        ) -> Archive;
        event_writer = "OTF2_Archive_GetEvtWriter" (archive: *mut Archive, location: u64) -> EventWriter;
        new_attributes = "OTF2_AttributeList_New" () -> AttributeList;
        local_definition_writer = "OTF2_Archive_GetDefWriter" (
            archive: *mut Archive, location: u64,
        ) -> LocalDefinitionWriter;
        definition_writer = "OTF2_Archive_GetGlobalDefWriter" (archive: *mut Archive) -> GlobalDefinitionWriter;
        open_reader = "OTF2_Reader_Open" (anchor: *const c_char) -> Reader;
        definition_reader = "OTF2_Reader_GetGlobalDefReader" (reader: *mut Reader) -> GlobalDefinitionReader;
        new_definition_callbacks = "OTF2_GlobalDefReaderCallbacks_New" () -> GlobalDefinitionCallbacks;
        local_definition_reader = "OTF2_Reader_GetDefReader" (
            reader: *mut Reader, location: u64,
        ) -> LocalDefinitionReader;
        new_local_definition_callbacks = "OTF2_DefReaderCallbacks_New" () -> LocalDefinitionCallbacks;
        event_reader = "OTF2_Reader_GetEvtReader" (reader: *mut Reader, location: u64) -> EventReader;
        new_event_callbacks = "OTF2_EvtReaderCallbacks_New" () -> EventCallbacks;
    }
    other {
        describe = "OTF2_Error_GetDescription" (code: ErrorCode) -> *const c_char;
        set_error_callback = "OTF2_Error_RegisterCallback" (
            callback: ErrorCallback, data: *mut c_void,
        ) -> Option<ErrorCallback>;
        // OTF2 copies callbacks when it registers them
        delete_definition_callbacks = "OTF2_GlobalDefReaderCallbacks_Delete" (
            callbacks: *mut GlobalDefinitionCallbacks,
        ) -> ();
        delete_local_definition_callbacks = "OTF2_DefReaderCallbacks_Delete" (
            callbacks: *mut LocalDefinitionCallbacks,
        ) -> ();
        delete_event_callbacks = "OTF2_EvtReaderCallbacks_Delete" (callbacks: *mut EventCallbacks) -> ();
        has_attribute = "OTF2_AttributeList_TestAttributeByID" (
            attributes: *const AttributeList, attribute: u32,
        ) -> bool;
    }
} } }

pub(super) use functions;
