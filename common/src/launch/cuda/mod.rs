//! CUDA's driver, where the process has it loaded: the few functions that time a kernel by events around its launch.
//!
//! The library links and loads nothing of CUDA. Every call may fail at any time (a context that is gone, a driver that
//! shuts down, an error of the application's). The first failure ends all calls for good, and the collector reports it
//! in one line.
//!
//! While a thread captures a CUDA graph in the global mode, calls of other threads that might wait or allocate would
//! break that capture: making an event, and asking when it happened. The library makes such calls in the relaxed
//! capture mode ([`Relaxed`]). Recording an event in a stream that is not captured breaks no capture. Into a stream
//! that is captured, events are recorded only as nodes of the graph, and only if a person has asked for it
//! ([`CudaCalls::record_in_graph`]). Score-P sees none of these calls (`unseen`).

mod calls;

pub(crate) use calls::{CudaCalls, Look, Relaxed};

use crate::base::cancel::Uncancelled;
use crate::base::symbols::SharedLibrary;
use crate::base::unseen::Unseen;
use crate::launch::gate::Gate;
use std::ffi::{CStr, c_char, c_int, c_uint};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// CUDA_SUCCESS, and CUDA_ERROR_NOT_READY: the event has not happened yet.
const SUCCESS: c_int = 0;
const NOT_READY: c_int = 600;
/// CUDA_ERROR_INVALID_HANDLE: also of an event that was never recorded, as before the first replay of its graph.
const INVALID_HANDLE: c_int = 400;
/// CU_STREAM_CAPTURE_MODE_RELAXED, CU_STREAM_CAPTURE_STATUS_NONE, CU_STREAM_CAPTURE_STATUS_ACTIVE, CU_EVENT_DEFAULT,
/// CU_EVENT_RECORD_EXTERNAL.
const RELAXED: c_int = 2;
const NO_CAPTURE: c_int = 0;
const CAPTURE: c_int = 1;
const DEFAULT: c_uint = 0;
const EXTERNAL: c_uint = 1;
/// CU_STREAM_NON_BLOCKING: the stream and the legacy stream do not wait for each other.
const NON_BLOCKING: c_uint = 1;

/// How long [`Driver::end`] waits for the collector's call under way. Such calls take microseconds.
const PATIENCE: Duration = Duration::from_millis(20);

/// An event of CUDA: its handle, which is never used as a pointer. It belongs to the context that it was made in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CudaEvent(usize);

#[cfg(test)]
impl CudaEvent {
    /// Makes an event that no driver knows.
    pub(crate) fn of_tests(number: usize) -> Self {
        Self(number)
    }
}

/// A context of CUDA: its handle, which is never used as a pointer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CudaContext(pub usize);

/// A stream of the library's own: its handle, which is never used as a pointer, and its context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stream {
    handle: usize,
    context: CudaContext,
}

#[cfg(test)]
impl Stream {
    /// Makes a stream that no driver knows.
    pub(crate) fn of_tests(context: CudaContext) -> Self {
        Self { handle: 1, context }
    }
}

/// A function of the driver, for the line about its failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum DriverFunction {
    CtxGetCurrent,
    EventCreate,
    EventRecord,
    EventElapsedTime,
    ThreadExchangeStreamCaptureMode,
    EventDestroy,
    CtxGetId,
    EventRecordWithFlags,
    StreamDestroy,
    CtxPushCurrent,
}

impl DriverFunction {
    const NAMES: [&str; 10] = [
        "cuCtxGetCurrent",
        "cuEventCreate",
        "cuEventRecord",
        "cuEventElapsedTime",
        "cuThreadExchangeStreamCaptureMode",
        "cuEventDestroy",
        "cuCtxGetId",
        "cuEventRecordWithFlags",
        "cuStreamDestroy",
        "cuCtxPushCurrent",
    ];
}

/// The driver's functions, declared as CUDA's driver interface documents them. Handles are as wide as pointers.
#[derive(Debug)]
pub struct Driver {
    context: unsafe extern "C" fn(*mut usize) -> c_int,
    create: unsafe extern "C" fn(*mut usize, c_uint) -> c_int,
    record: unsafe extern "C" fn(usize, usize) -> c_int,
    elapsed: unsafe extern "C" fn(*mut f32, usize, usize) -> c_int,
    capturing: unsafe extern "C" fn(usize, *mut c_int) -> c_int,
    exchange: unsafe extern "C" fn(*mut c_int) -> c_int,
    error_name: unsafe extern "C" fn(c_int, *mut *const c_char) -> c_int,
    destroy: unsafe extern "C" fn(usize) -> c_int,
    /// In CUDA 12.0 and later.
    id: Option<unsafe extern "C" fn(usize, *mut u64) -> c_int>,
    /// In CUDA 11.1 and later.
    record_with_flags: Option<unsafe extern "C" fn(usize, usize, c_uint) -> c_int>,
    create_stream: Option<unsafe extern "C" fn(*mut usize, c_uint) -> c_int>,
    destroy_stream: Option<unsafe extern "C" fn(usize) -> c_int>,
    push: Option<unsafe extern "C" fn(usize) -> c_int>,
    pop: Option<unsafe extern "C" fn(*mut usize) -> c_int>,
    unseen: Unseen,
    /// Shut when calls are over, for whatever reason. The collector enters it for its own calls.
    gate: Gate,
    /// The first failure: the function in the upper half, the error in the lower one; 0 for none.
    failure: AtomicU64,
}

impl Driver {
    /// Returns the loaded driver. `None` where there is none, and for a driver without these functions (before CUDA
    /// 10.1).
    pub fn look_up() -> Option<Self> {
        let library = SharedLibrary::find(c"libcuda.so.1")?;
        // the handle is kept, so that the functions stay where they are
        // SAFETY: the types are those of CUDA's driver interface, whose functions keep their types.
        unsafe {
            Some(Self {
                context: library.symbol(c"cuCtxGetCurrent")?,
                create: library.symbol(c"cuEventCreate")?,
                record: library.symbol(c"cuEventRecord")?,
                elapsed: library.symbol(c"cuEventElapsedTime")?,
                capturing: library.symbol(c"cuStreamIsCapturing")?,
                exchange: library.symbol(c"cuThreadExchangeStreamCaptureMode")?,
                error_name: library.symbol(c"cuGetErrorName")?,
                destroy: library.symbol(c"cuEventDestroy_v2")?,
                id: library.symbol(c"cuCtxGetId"),
                record_with_flags: library.symbol(c"cuEventRecordWithFlags"),
                create_stream: library.symbol(c"cuStreamCreate"),
                destroy_stream: library.symbol(c"cuStreamDestroy_v2"),
                push: library.symbol(c"cuCtxPushCurrent_v2"),
                pop: library.symbol(c"cuCtxPopCurrent_v2"),
                unseen: Unseen::look_up(),
                gate: Gate::default(),
                failure: AtomicU64::new(0),
            })
        }
    }

    /// Returns whether calls are over.
    #[inline]
    pub fn is_over(&self) -> bool {
        self.gate.is_shut()
    }

    /// Returns `None` when calls are over.
    fn goes_on(&self) -> Option<()> {
        (!self.is_over()).then_some(())
    }

    /// Ends all calls, and waits for the collector's call under way. The collector itself must not call this.
    pub fn end(&self) {
        self.gate.shut();
        self.gate.wait(PATIENCE);
    }

    /// Waits until the collector has left its look, at most for `patience`. Returns whether it has: a look that begins
    /// later sees what the calling thread did before this call.
    pub fn wait_for_look(&self, patience: Duration) -> bool {
        self.gate.wait(patience)
    }

    /// Returns whether Score-P watches: only threads that launch may record events (`at_launch`).
    pub fn is_watched(&self) -> bool {
        self.unseen.is_score_p_there()
    }

    /// Returns whether the driver can record events in a CUDA graph.
    pub fn records_in_graphs(&self) -> bool {
        self.record_with_flags.is_some()
    }

    /// Returns whether a call has failed.
    pub fn has_failed(&self) -> bool {
        self.failure.load(Ordering::Relaxed) != 0
    }

    /// Describes the failure that has ended the calls, for a person; `None` without a failure.
    pub fn failure(&self) -> Option<String> {
        let failure = self.failure.load(Ordering::Relaxed);
        let (function, error) = (DriverFunction::NAMES.get((failure >> 32) as usize)?, failure as u32 as c_int);
        if error == SUCCESS {
            return None;
        }
        let mut name = std::ptr::null();
        // SAFETY: the function writes a pointer to a string that lives as long as the driver, or NULL.
        let told = unsafe { (self.error_name)(error, &raw mut name) } == SUCCESS && !name.is_null();
        // SAFETY: the pointer is not NULL, so it is such a string.
        let name = if told { unsafe { CStr::from_ptr(name) }.to_string_lossy() } else { "unknown error".into() };
        Some(format!("{function} answered {name} ({error})"))
    }

    fn fail(&self, function: DriverFunction, error: c_int) {
        self.gate.shut();
        let failure = (function as u64) << 32 | u64::from(error.cast_unsigned());
        let _ = self.failure.compare_exchange(0, failure, Ordering::Relaxed, Ordering::Relaxed);
    }

    fn succeeds(&self, function: DriverFunction, error: c_int) -> Option<()> {
        if error == SUCCESS {
            return Some(());
        }
        self.fail(function, error);
        None
    }

    /// Begins calls of one thread. `None` when calls are over.
    pub fn calls(&self) -> Option<CudaCalls<'_>> {
        if self.is_over() {
            return None;
        }
        Some(CudaCalls { driver: self, _unseen: self.unseen.enter(), _whole: Uncancelled::new() })
    }

    /// Begins calls of the collector, for which [`Driver::end`] waits. `None` when calls are over.
    pub fn look(&self) -> Option<Look<'_>> {
        let inside = self.gate.enter()?;
        Some(Look { driver: self, _unseen: self.unseen.enter(), _inside: inside })
    }

    /// See [`CudaCalls::id`].
    fn id(&self, context: CudaContext) -> Option<u64> {
        self.goes_on()?;
        let mut id = 0;
        // SAFETY: the driver looks the context up among its own and returns an error if it is gone; it writes one
        // number.
        let result = unsafe { (self.id?)(context.0, &raw mut id) };
        self.succeeds(DriverFunction::CtxGetId, result).map(|()| id)
    }

    /// See [`CudaCalls::relaxed`].
    fn relaxed(&self) -> Option<Relaxed<'_>> {
        self.goes_on()?;
        let mode = self.exchange(RELAXED)?;
        Some(Relaxed { driver: self, mode })
    }

    /// See [`CudaCalls::record`] and [`Relaxed::record`].
    fn record(&self, event: CudaEvent, stream: usize) -> Option<()> {
        self.goes_on()?;
        // SAFETY: `create` made the event, and only its owner, who calls this, destroys it. The stream is the one that
        // NCCL launches into during this call, or the library's own, which the same owner destroys.
        let result = unsafe { (self.record)(event.0, stream) };
        self.succeeds(DriverFunction::EventRecord, result)
    }

    /// Sets the calling thread's capture mode. Returns the previous mode.
    fn exchange(&self, mut mode: c_int) -> Option<c_int> {
        // SAFETY: the function reads and writes one integer.
        let result = unsafe { (self.exchange)(&raw mut mode) };
        self.succeeds(DriverFunction::ThreadExchangeStreamCaptureMode, result).map(|()| mode)
    }
}
