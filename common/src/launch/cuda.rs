//! CUDA's driver, where the process has it loaded: the few functions that time a kernel by events around its launch.
//!
//! The library links nothing of CUDA's and loads nothing of it. Every call may fail at any time (a context that is
//! gone, a driver that shuts down, an error of the application's): the first failure ends all calls for good, and the
//! collector says so in one line.
//!
//! While a thread captures a CUDA graph in the global mode, calls of others that might wait or take memory would break
//! that capture: making an event, and asking when it happened. They are made in the relaxed capture mode ([`Relaxed`]).
//! Work for a stream that is not captured, as an event's record is, is no such call. Score-P sees none of them
//! (`unseen`).

use crate::base::cancel::Uncancelled;
use crate::base::unseen::{self, Unseen};
use crate::launch::gate::{Gate, Inside};
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// CUDA_SUCCESS, and CUDA_ERROR_NOT_READY: what was asked about has not happened yet.
const SUCCESS: c_int = 0;
const NOT_READY: c_int = 600;
/// CU_STREAM_CAPTURE_MODE_RELAXED, CU_STREAM_CAPTURE_STATUS_NONE, CU_EVENT_DEFAULT.
const RELAXED: c_int = 2;
const NO_CAPTURE: c_int = 0;
const DEFAULT: c_uint = 0;

/// How long the end of all calls waits for one of the collector's that is under way: those take microseconds.
const PATIENCE: Duration = Duration::from_millis(20);

/// An event of CUDA's: its handle, which is never followed as a pointer. It belongs to the context that it was made in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event(usize);

/// A context of CUDA's: its handle, which is never followed as a pointer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Context(pub usize);

/// A function of the driver that is called, as the line about its failure names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Function {
    CtxGetCurrent,
    EventCreate,
    EventRecord,
    EventElapsedTime,
    ThreadExchangeStreamCaptureMode,
    EventDestroy,
    CtxGetId,
}

impl Function {
    const NAMES: [&str; 7] = [
        "cuCtxGetCurrent",
        "cuEventCreate",
        "cuEventRecord",
        "cuEventElapsedTime",
        "cuThreadExchangeStreamCaptureMode",
        "cuEventDestroy",
        "cuCtxGetId",
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
    /// CUDA 12.0 and later.
    id: Option<unsafe extern "C" fn(usize, *mut u64) -> c_int>,
    unseen: Unseen,
    /// Shut when calls are over, for whatever reason; the collector is inside for its own.
    gate: Gate,
    /// The first failure: the function in the upper half, the error in the lower one; 0 for none.
    failure: AtomicU64,
}

/// The function of that name and type in a library that is loaded.
///
/// # Safety
/// `T` is the type of a pointer to that function.
unsafe fn function<T: Copy>(library: *mut c_void, name: &CStr) -> Option<T> {
    const { assert!(size_of::<T>() == size_of::<*mut c_void>()) };
    // SAFETY: the caller of `Driver::look_up` holds a valid handle.
    let found = unsafe { libc::dlsym(library, name.as_ptr()) };
    // SAFETY: a pointer to a function, of the type that the caller vouches for.
    (!found.is_null()).then(|| unsafe { std::mem::transmute_copy::<*mut c_void, T>(&found) })
}

impl Driver {
    /// The driver that is loaded; `None` where there is none, or one without these functions (before CUDA 10.1).
    pub fn look_up() -> Option<Self> {
        // SAFETY: with RTLD_NOLOAD nothing is loaded or initialised.
        let library = unsafe { libc::dlopen(c"libcuda.so.1".as_ptr(), libc::RTLD_NOW | libc::RTLD_NOLOAD) };
        if library.is_null() {
            return None;
        }
        // the handle is kept, so that the functions stay where they are
        // SAFETY: the types are those of CUDA's driver interface, whose functions keep their types.
        unsafe {
            Some(Self {
                context: function(library, c"cuCtxGetCurrent")?,
                create: function(library, c"cuEventCreate")?,
                record: function(library, c"cuEventRecord")?,
                elapsed: function(library, c"cuEventElapsedTime")?,
                capturing: function(library, c"cuStreamIsCapturing")?,
                exchange: function(library, c"cuThreadExchangeStreamCaptureMode")?,
                error_name: function(library, c"cuGetErrorName")?,
                destroy: function(library, c"cuEventDestroy_v2")?,
                id: function(library, c"cuCtxGetId"),
                unseen: Unseen::look_up(),
                gate: Gate::default(),
                failure: AtomicU64::new(0),
            })
        }
    }

    /// Whether no call may be made any more.
    #[inline]
    pub fn is_over(&self) -> bool {
        self.gate.is_shut()
    }

    /// `None` when no call may be made any more.
    fn goes_on(&self) -> Option<()> {
        (!self.is_over()).then_some(())
    }

    /// Makes no call from here on, and waits for the collector's that is under way. Not for the collector itself.
    pub fn end(&self) {
        self.gate.shut();
        self.gate.wait(PATIENCE);
    }

    /// Whether one has failed.
    pub fn has_failed(&self) -> bool {
        self.failure.load(Ordering::Relaxed) != 0
    }

    /// Why calls are over, when one has failed: for a person.
    pub fn failure(&self) -> Option<String> {
        let failure = self.failure.load(Ordering::Relaxed);
        let (function, error) = (Function::NAMES.get((failure >> 32) as usize)?, failure as u32 as c_int);
        if error == SUCCESS {
            return None;
        }
        let mut name = std::ptr::null();
        // SAFETY: it writes a pointer to a string that lives as long as the driver, or NULL.
        let told = unsafe { (self.error_name)(error, &raw mut name) } == SUCCESS && !name.is_null();
        // SAFETY: see above.
        let name = if told { unsafe { CStr::from_ptr(name) }.to_string_lossy() } else { "unknown error".into() };
        Some(format!("{function} answered {name} ({error})"))
    }

    fn fail(&self, function: Function, error: c_int) {
        self.gate.shut();
        let failure = (function as u64) << 32 | u64::from(error.cast_unsigned());
        let _ = self.failure.compare_exchange(0, failure, Ordering::Relaxed, Ordering::Relaxed);
    }

    fn succeeds(&self, function: Function, error: c_int) -> Option<()> {
        if error == SUCCESS {
            return Some(());
        }
        self.fail(function, error);
        None
    }

    /// Calls that go together. `None` when calls are over.
    pub fn calls(&self) -> Option<Calls<'_>> {
        if self.is_over() {
            return None;
        }
        Some(Calls { driver: self, _unseen: self.unseen.enter(), _whole: Uncancelled::new() })
    }

    /// The collector's calls, which whoever ends all calls waits for. `None` when calls are over.
    pub fn look(&self) -> Option<Look<'_>> {
        let inside = self.gate.enter()?;
        Some(Look { driver: self, _unseen: self.unseen.enter(), _inside: inside })
    }

    /// See [`Calls::id`].
    fn id(&self, context: Context) -> Option<u64> {
        self.goes_on()?;
        let mut id = 0;
        // SAFETY: the driver looks the context up among its own, and answers with an error where it is gone; it writes
        // one number.
        let result = unsafe { (self.id?)(context.0, &raw mut id) };
        self.succeeds(Function::CtxGetId, result).map(|()| id)
    }

    /// See [`Calls::relaxed`].
    fn relaxed(&self) -> Option<Relaxed<'_>> {
        self.goes_on()?;
        let mode = self.exchange(RELAXED)?;
        Some(Relaxed { driver: self, mode })
    }

    /// Puts the calling thread into a capture mode. Gives the mode before.
    fn exchange(&self, mut mode: c_int) -> Option<c_int> {
        // SAFETY: it reads and writes one integer.
        let result = unsafe { (self.exchange)(&raw mut mode) };
        self.succeeds(Function::ThreadExchangeStreamCaptureMode, result).map(|()| mode)
    }
}

/// Calls of one thread, unseen until this is dropped.
#[derive(Debug)]
pub struct Calls<'a> {
    driver: &'a Driver,
    _unseen: unseen::Inside,
    /// CUDA may wait in a call.
    _whole: Uncancelled,
}

/// Calls of the collector's, unseen until this is dropped.
#[derive(Debug)]
pub struct Look<'a> {
    driver: &'a Driver,
    _unseen: unseen::Inside,
    _inside: Inside<'a>,
}

impl Look<'_> {
    /// Whether the context is the one that it was, under that number: events of one that was reset must not be asked
    /// about. When calls are over, nothing is asked.
    pub fn is_there(&self, context: Context, id: Option<u64>) -> bool {
        id.is_none() || id == self.driver.id(context) || self.driver.is_over()
    }

    /// The calling thread in the relaxed capture mode.
    pub fn relaxed(&self) -> Option<Relaxed<'_>> {
        self.driver.relaxed()
    }
}

/// Calls of one thread in the relaxed capture mode until this is dropped, which break no capture.
#[derive(Debug)]
pub struct Relaxed<'a> {
    driver: &'a Driver,
    /// The thread's own mode.
    mode: c_int,
}

impl Drop for Relaxed<'_> {
    fn drop(&mut self) {
        // given back whatever happened meanwhile: it is the application's
        let _ = self.driver.exchange(self.mode);
    }
}

impl Calls<'_> {
    /// The calling thread's context.
    pub fn context(&self) -> Option<Context> {
        self.driver.goes_on()?;
        let mut context = 0;
        // SAFETY: it writes one handle.
        let result = unsafe { (self.driver.context)(&raw mut context) };
        self.driver.succeeds(Function::CtxGetCurrent, result)?;
        (context != 0).then_some(Context(context))
    }

    /// The context's number, which no other gets: another after a reset, though the handle is the same. `None` where
    /// nobody can tell.
    pub fn id(&self, context: Context) -> Option<u64> {
        self.driver.id(context)
    }

    /// The same in the relaxed capture mode.
    pub fn relaxed(&self) -> Option<Relaxed<'_>> {
        self.driver.relaxed()
    }

    /// Whether the stream must be left alone: it is being captured into a graph, or nobody can say.
    pub fn is_captured(&self, stream: usize) -> bool {
        let mut status = NO_CAPTURE;
        // SAFETY: the stream is the one that NCCL launches into during this call; it writes one integer.
        let result = unsafe { (self.driver.capturing)(stream, &raw mut status) };
        // of the legacy stream it fails while another stream is captured, which is no fault
        result != SUCCESS || status != NO_CAPTURE
    }

    /// Records an event behind all that is in the stream.
    pub fn record(&self, event: Event, stream: usize) -> Option<()> {
        self.driver.goes_on()?;
        // SAFETY: the event was made by `create` and is destroyed by its owner alone, who calls; the stream is the one
        // that NCCL launches into during this call.
        let result = unsafe { (self.driver.record)(event.0, stream) };
        self.driver.succeeds(Function::EventRecord, result)
    }
}

impl Relaxed<'_> {
    /// Makes an event in the calling thread's context.
    pub fn create(&self) -> Option<Event> {
        self.driver.goes_on()?;
        let mut event = 0;
        // SAFETY: it writes one handle.
        let result = unsafe { (self.driver.create)(&raw mut event, DEFAULT) };
        self.driver.succeeds(Function::EventCreate, result).map(|()| Event(event))
    }

    /// Takes an event apart, of which nobody will ask.
    pub fn destroy(&self, event: Event) {
        if self.driver.is_over() {
            return;
        }
        // SAFETY: the event was made by `create`, and its owner gives it up here.
        let result = unsafe { (self.driver.destroy)(event.0) };
        let _ = self.driver.succeeds(Function::EventDestroy, result);
    }

    /// Nanoseconds from one event to another of the same context; negative when the second came first. `None` while
    /// either has not happened, and when calls are over.
    pub fn elapsed(&self, from: Event, to: Event) -> Option<i64> {
        self.driver.goes_on()?;
        let mut milliseconds = 0.0;
        // SAFETY: both were made by `create` and are destroyed by their owner alone, who calls; it writes one number.
        let result = unsafe { (self.driver.elapsed)(&raw mut milliseconds, from.0, to.0) };
        if result == NOT_READY {
            return None;
        }
        self.driver.succeeds(Function::EventElapsedTime, result)?;
        Some((f64::from(milliseconds) * 1e6).round() as i64)
    }
}
