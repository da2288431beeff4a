//! What both plugin interfaces and the measurement library speak of: locations, definitions and the enumerations that
//! describe them. Only those numbers are here that something uses.

/// A thread or stream on which events happen; Score-P's own, and opaque.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Location {
    _unused: [u8; 0],
}

/// A task, of OpenMP for example; Score-P's own, and opaque.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Task {
    _unused: [u8; 0],
}
/// A task, by reference.
pub type TaskHandle = *mut Task;

/// A definition of this process. Numbers differ from process to process; 0 is none.
pub type AnyHandle = u32;
/// A place in the program, reached on one way.
pub type CallingContextHandle = AnyHandle;
/// A location group: a process.
pub type LocationGroupHandle = AnyHandle;
/// A metric.
pub type MetricHandle = AnyHandle;
/// A parallel programming model that has been registered.
pub type ParadigmHandle = AnyHandle;
/// A parameter, whose values split a call path.
pub type ParameterHandle = AnyHandle;
/// A region.
pub type RegionHandle = AnyHandle;
/// Metrics that are written together.
pub type SamplingSetHandle = AnyHandle;
/// A source file.
pub type SourceFileHandle = AnyHandle;
/// A string.
pub type StringHandle = AnyHandle;
/// No metric; as parent: a metric of its own.
pub const INVALID_METRIC: MetricHandle = 0;
/// No region.
pub const INVALID_REGION: RegionHandle = 0;
/// No sampling set.
pub const INVALID_SAMPLING_SET: SamplingSetHandle = 0;
/// No source file: where a region is in the source is not known.
pub const INVALID_SOURCE_FILE: SourceFileHandle = 0;

/// A line in a source file.
pub type LineNo = u32;
/// No line.
pub const INVALID_LINE_NO: LineNo = 0;

/// What the program ends with.
pub type ExitStatus = i64;

/// What kind of definition a handle stands for.
pub type HandleType = u32;

/// What runs on a location.
pub type LocationType = u32;
/// A thread of the program. Score-P makes these.
pub const LOCATION_TYPE_CPU_THREAD: LocationType = 0;
/// A stream of an accelerator.
pub const LOCATION_TYPE_GPU: LocationType = 1;
/// Values only; a region on it aborts the application.
pub const LOCATION_TYPE_METRIC: LocationType = 2;

/// The programming model that a region or a location belongs to.
pub type ParadigmType = u32;
/// Instrumented by the user.
pub const PARADIGM_USER: ParadigmType = 1;
/// CUDA.
pub const PARADIGM_CUDA: ParadigmType = 11;

/// The kind of a programming model.
pub type ParadigmClass = u32;

/// What a region does.
pub type RegionType = u32;
/// A function.
pub const REGION_FUNCTION: RegionType = 1;
/// A collective from one to all.
pub const REGION_COLL_ONE2ALL: RegionType = 11;
/// A collective from all to one.
pub const REGION_COLL_ALL2ONE: RegionType = 12;
/// A collective from all to all.
pub const REGION_COLL_ALL2ALL: RegionType = 13;
/// A collective of another kind.
pub const REGION_COLL_OTHER: RegionType = 14;
/// A message, or part of one.
pub const REGION_POINT2POINT: RegionType = 15;
/// Nothing that the program has as a function.
pub const REGION_ARTIFICIAL: RegionType = 36;

/// The type of a parameter's values.
pub type ParameterType = u32;

/// Who brings a metric.
pub type MetricSourceType = u32;
/// None of the sources that Score-P knows.
pub const SOURCE_TYPE_OTHER: MetricSourceType = 3;

/// What a profile makes of a metric.
pub type MetricProfilingType = u32;
/// The sum of the values, for the call path at which they were written and for none above it.
pub const PROFILING_TYPE_EXCLUSIVE: MetricProfilingType = 0;
/// Value at the exit less value at the entry, so with all that was called.
pub const PROFILING_TYPE_INCLUSIVE: MetricProfilingType = 1;

/// When a sampling set's values come.
pub type MetricOccurrence = u32;
/// With every enter and leave.
pub const OCCURRENCE_SYNCHRONOUS_STRICT: MetricOccurrence = 0;
/// With some of the events.
pub const OCCURRENCE_SYNCHRONOUS: MetricOccurrence = 1;
/// At times of their own.
pub const OCCURRENCE_ASYNCHRONOUS: MetricOccurrence = 2;

/// Whose values a sampling set's are, where they are not those of the location that writes them.
pub type MetricScope = u32;

/// The kind of location that writes a sampling set.
pub type SamplingSetClass = u32;
/// Any.
pub const SAMPLING_SET_ABSTRACT: SamplingSetClass = 0;
/// Threads.
pub const SAMPLING_SET_CPU: SamplingSetClass = 1;
/// Streams of accelerators.
pub const SAMPLING_SET_GPU: SamplingSetClass = 2;
