//! Types that both plugin interfaces and the measurement library use: locations, definitions and the enumerations that
//! describe them. Only values in use are declared.

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
/// A reference to a task.
pub type TaskHandle = *mut Task;

/// A definition of this process. Handles differ between processes; 0 is none.
pub type AnyHandle = u32;
/// A place in the program, with the calls that led there.
pub type CallingContextHandle = AnyHandle;
/// A location group: a process.
pub type LocationGroupHandle = AnyHandle;
/// A metric.
pub type MetricHandle = AnyHandle;
/// A registered parallel programming model.
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
/// No metric; as a parent, it means that the metric has none.
pub const INVALID_METRIC: MetricHandle = 0;
/// No region.
pub const INVALID_REGION: RegionHandle = 0;
/// No sampling set.
pub const INVALID_SAMPLING_SET: SamplingSetHandle = 0;
/// No source file, for a region whose place in the source is unknown.
pub const INVALID_SOURCE_FILE: SourceFileHandle = 0;

/// A line in a source file.
pub type LineNo = u32;
/// No line.
pub const INVALID_LINE_NO: LineNo = 0;

/// Exit status of the program.
pub type ExitStatus = i64;

/// Kind of the definition that a handle stands for.
pub type HandleType = u32;

/// Kind of a location.
pub type LocationType = u32;
/// A thread of the program. Score-P makes these.
pub const LOCATION_TYPE_CPU_THREAD: LocationType = 0;
/// A stream of an accelerator.
pub const LOCATION_TYPE_GPU: LocationType = 1;
/// Metric values only; entering a region on it aborts the application.
pub const LOCATION_TYPE_METRIC: LocationType = 2;

/// The programming model that a region or a location belongs to.
pub type ParadigmType = u32;
/// Instrumented by the user.
pub const PARADIGM_USER: ParadigmType = 1;
/// CUDA.
pub const PARADIGM_CUDA: ParadigmType = 11;

/// The kind of a programming model.
pub type ParadigmClass = u32;

/// Kind of a region.
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
/// A message, or a part of one.
pub const REGION_POINT2POINT: RegionType = 15;
/// A region that is no function of the program.
pub const REGION_ARTIFICIAL: RegionType = 36;

/// Type of a parameter's values.
pub type ParameterType = u32;

/// Source of a metric.
pub type MetricSourceType = u32;
/// A source other than those that Score-P knows.
pub const SOURCE_TYPE_OTHER: MetricSourceType = 3;

/// How a profile computes a metric.
pub type MetricProfilingType = u32;
/// The sum of the values, for the call path at which they were written and none above it.
pub const PROFILING_TYPE_EXCLUSIVE: MetricProfilingType = 0;
/// Value at the exit minus value at the entry, so including all functions called in between.
pub const PROFILING_TYPE_INCLUSIVE: MetricProfilingType = 1;

/// When the values of a sampling set are written.
pub type MetricOccurrence = u32;
/// At every enter and exit.
pub const OCCURRENCE_SYNCHRONOUS_STRICT: MetricOccurrence = 0;
/// At some of the events.
pub const OCCURRENCE_SYNCHRONOUS: MetricOccurrence = 1;
/// Independently of events.
pub const OCCURRENCE_ASYNCHRONOUS: MetricOccurrence = 2;

/// Owner of a sampling set's values, if it is not the location that writes them.
pub type MetricScope = u32;

/// The kind of location that writes a sampling set.
pub type SamplingSetClass = u32;
/// Any location.
pub const SAMPLING_SET_ABSTRACT: SamplingSetClass = 0;
/// Threads.
pub const SAMPLING_SET_CPU: SamplingSetClass = 1;
/// Streams of accelerators.
pub const SAMPLING_SET_GPU: SamplingSetClass = 2;
