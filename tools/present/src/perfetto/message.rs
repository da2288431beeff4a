//! The part of Perfetto's trace format that is written here, with the field numbers of `protos/perfetto/trace`.

/// `TracePacket`. A trace is a sequence of these, each as field 1 of `Trace`.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Packet {
    /// Nanoseconds.
    #[prost(uint64, optional, tag = "8")]
    pub(super) timestamp: Option<u64>,
    /// The sequence of packets that it belongs to; Perfetto ignores events without one.
    #[prost(uint32, tag = "10")]
    pub(super) sequence: u32,
    #[prost(message, optional, tag = "11")]
    pub(super) event: Option<TrackEvent>,
    #[prost(message, optional, tag = "60")]
    pub(super) track: Option<Track>,
}

/// `TrackDescriptor`.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Track {
    #[prost(uint64, tag = "1")]
    pub(super) uuid: u64,
    #[prost(string, tag = "2")]
    pub(super) name: String,
    #[prost(message, optional, tag = "3")]
    pub(super) process: Option<ProcessDescriptor>,
    #[prost(uint64, optional, tag = "5")]
    pub(super) parent: Option<u64>,
    /// For a track of values.
    #[prost(message, optional, tag = "8")]
    pub(super) counter: Option<Counter>,
}

/// `CounterDescriptor`.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Counter {
    /// [`TIME_NS`].
    #[prost(int32, tag = "3")]
    pub(super) unit: i32,
}

/// `CounterDescriptor.UNIT_TIME_NS`.
pub(super) const TIME_NS: i32 = 1;

/// `ProcessDescriptor`.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct ProcessDescriptor {
    #[prost(int32, tag = "1")]
    pub(super) pid: i32,
    #[prost(string, tag = "6")]
    pub(super) name: String,
}

/// `TrackEvent`.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct TrackEvent {
    #[prost(message, repeated, tag = "4")]
    pub(super) annotations: Vec<Annotation>,
    /// [`BEGIN`], [`END`], [`INSTANT`] or [`VALUE`].
    #[prost(int32, tag = "9")]
    pub(super) kind: i32,
    #[prost(uint64, tag = "11")]
    pub(super) track: u64,
    #[prost(string, repeated, tag = "22")]
    pub(super) categories: Vec<String>,
    #[prost(string, optional, tag = "23")]
    pub(super) name: Option<String>,
    /// Of a [`VALUE`].
    #[prost(int64, optional, tag = "30")]
    pub(super) value: Option<i64>,
    /// Events with one number are joined by arrows.
    #[prost(fixed64, repeated, tag = "47")]
    pub(super) flows: Vec<u64>,
}

/// `TrackEvent.TYPE_SLICE_BEGIN`.
pub(super) const BEGIN: i32 = 1;
/// `TrackEvent.TYPE_SLICE_END`.
pub(super) const END: i32 = 2;
/// `TrackEvent.TYPE_INSTANT`.
pub(super) const INSTANT: i32 = 3;

/// `TrackEvent.TYPE_COUNTER`.
pub(super) const VALUE: i32 = 4;

/// `DebugAnnotation`: a named value of an event.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Annotation {
    #[prost(string, tag = "10")]
    pub(super) name: String,
    #[prost(oneof = "AnnotationValue", tags = "3, 4, 5, 6")]
    pub(super) value: Option<AnnotationValue>,
}

/// The value of an [`Annotation`].
#[derive(Clone, PartialEq, prost::Oneof)]
pub(super) enum AnnotationValue {
    #[prost(uint64, tag = "3")]
    Unsigned(u64),
    #[prost(int64, tag = "4")]
    Signed(i64),
    #[prost(double, tag = "5")]
    Double(f64),
    #[prost(string, tag = "6")]
    Text(String),
}
