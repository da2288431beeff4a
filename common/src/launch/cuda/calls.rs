//! Calls of CUDA's driver, by threads of the application and by the collector.

use super::{
    CAPTURE, CudaContext, CudaEvent, DEFAULT, Driver, DriverFunction, EXTERNAL, INVALID_HANDLE, NO_CAPTURE,
    NON_BLOCKING, NOT_READY, SUCCESS, Stream,
};
use crate::base::cancel::Uncancelled;
use crate::base::unseen;
use crate::clock::CLOCK;
use crate::launch::gate::InsideGate;
use std::ffi::c_int;

/// Calls of one thread, hidden from Score-P until this is dropped.
#[derive(Debug)]
pub struct CudaCalls<'a> {
    pub(super) driver: &'a Driver,
    pub(super) _unseen: unseen::HiddenThread,
    /// A call of CUDA may wait, which is a cancellation point.
    pub(super) _whole: Uncancelled,
}

/// Calls of the collector, hidden from Score-P until this is dropped.
#[derive(Debug)]
pub struct Look<'a> {
    pub(super) driver: &'a Driver,
    pub(super) _unseen: unseen::HiddenThread,
    pub(super) _inside: InsideGate<'a>,
}

impl Look<'_> {
    /// Returns whether the context still has its number. If not, it was reset, and the library must not ask about its
    /// events. True where the number is not known, and when calls are over.
    pub fn is_there(&self, context: CudaContext, id: Option<u64>) -> bool {
        id.is_none() || id == self.driver.id(context) || self.driver.is_over()
    }

    /// Puts the calling thread into the relaxed capture mode.
    pub fn relaxed(&self) -> Option<Relaxed<'_>> {
        self.driver.relaxed()
    }
}

/// Calls of one thread in the relaxed capture mode until this is dropped. They break no capture.
#[derive(Debug)]
pub struct Relaxed<'a> {
    pub(super) driver: &'a Driver,
    /// The thread's previous mode.
    pub(super) mode: c_int,
}

impl Drop for Relaxed<'_> {
    fn drop(&mut self) {
        // restored whatever happened meanwhile: the mode is the application's
        let _ = self.driver.exchange(self.mode);
    }
}

impl CudaCalls<'_> {
    /// Returns the calling thread's context.
    pub fn context(&self) -> Option<CudaContext> {
        self.driver.goes_on()?;
        let mut context = 0;
        // SAFETY: the function writes one handle.
        let result = unsafe { (self.driver.context)(&raw mut context) };
        self.driver.succeeds(DriverFunction::CtxGetCurrent, result)?;
        (context != 0).then_some(CudaContext(context))
    }

    /// Returns the context's number, which no other context gets. After a reset the number differs, though the handle
    /// is the same. `None` where the driver does not give one.
    pub fn id(&self, context: CudaContext) -> Option<u64> {
        self.driver.id(context)
    }

    /// Puts the calling thread into the relaxed capture mode.
    pub fn relaxed(&self) -> Option<Relaxed<'_>> {
        self.driver.relaxed()
    }

    /// Returns whether the stream must be left alone: it is being captured into a graph, or its state is unknown.
    pub fn is_captured(&self, stream: usize) -> bool {
        let mut status = NO_CAPTURE;
        // SAFETY: the stream is the one that NCCL launches into during this call; the function writes one integer.
        let result = unsafe { (self.driver.capturing)(stream, &raw mut status) };
        // for the legacy stream the call fails while another stream is captured, which is no fault
        result != SUCCESS || status != NO_CAPTURE
    }

    /// Returns whether the stream is known to be captured into a graph, and the capture to be valid.
    pub fn captures(&self, stream: usize) -> bool {
        let mut status = NO_CAPTURE;
        // SAFETY: as in `is_captured`.
        let result = unsafe { (self.driver.capturing)(stream, &raw mut status) };
        result == SUCCESS && status == CAPTURE
    }

    /// Adds to the graph that the stream is captured into that the event is recorded at this place, at every replay.
    /// The event must be of the stream's context: the driver may end a capture over a call that fails.
    pub fn record_in_graph(&self, event: CudaEvent, stream: usize) -> Option<()> {
        self.driver.goes_on()?;
        // SAFETY: `create` made the event, and nobody destroys an event of a graph. The stream is the one that NCCL
        // launches into during this call.
        let result = unsafe { (self.driver.record_with_flags?)(event.0, stream, EXTERNAL) };
        self.driver.succeeds(DriverFunction::EventRecordWithFlags, result)
    }

    /// Records an event behind all work in the stream.
    pub fn record(&self, event: CudaEvent, stream: usize) -> Option<()> {
        self.driver.record(event, stream)
    }
}

impl Relaxed<'_> {
    /// Makes an event in the calling thread's context.
    pub fn create(&self) -> Option<CudaEvent> {
        self.driver.goes_on()?;
        let mut event = 0;
        // SAFETY: the function writes one handle.
        let result = unsafe { (self.driver.create)(&raw mut event, DEFAULT) };
        self.driver.succeeds(DriverFunction::EventCreate, result).map(|()| CudaEvent(event))
    }

    /// Makes a stream of the library's own in the calling thread's context. `None` where the driver has none to give:
    /// nothing else depends on it.
    pub fn create_stream(&self, context: CudaContext) -> Option<Stream> {
        let driver = self.driver;
        driver.goes_on()?;
        let has_all = [driver.destroy_stream.is_some(), driver.push.is_some(), driver.pop.is_some()] == [true; 3];
        let create = driver.create_stream.filter(|_| has_all)?;
        let mut handle = 0;
        // SAFETY: the function writes one handle.
        let result = unsafe { create(&raw mut handle, NON_BLOCKING) };
        (result == SUCCESS).then_some(Stream { handle, context })
    }

    /// Destroys a stream of the library's own. Nobody may use it later.
    pub fn destroy_stream(&self, stream: Stream) {
        let Some(destroy) = self.driver.destroy_stream.filter(|_| !self.driver.is_over()) else { return };
        // SAFETY: `create_stream` made the stream, and its owner gives it up here.
        let result = unsafe { destroy(stream.handle) };
        let _ = self.driver.succeeds(DriverFunction::StreamDestroy, result);
    }

    /// Returns whether Score-P watches: see [`Driver::is_watched`].
    pub fn is_watched(&self) -> bool {
        self.driver.is_watched()
    }

    /// Records an event in a stream of the library's own, in the calling thread's context. Returns the ticks right before.
    pub fn record_here(&self, event: CudaEvent, stream: Stream) -> Option<u64> {
        self.driver.goes_on()?;
        let from = CLOCK.now();
        self.driver.record(event, stream.handle).map(|()| from)
    }

    /// Records an event in a stream of the library's own, which has no other work. The stream's context is the calling
    /// thread's meanwhile: tools that watch CUDA may expect one.
    pub fn record(&self, event: CudaEvent, stream: Stream) -> Option<()> {
        self.driver.goes_on()?;
        let (push, pop) = (self.driver.push?, self.driver.pop?);
        // SAFETY: the driver returns an error if the context is gone.
        let result = unsafe { push(stream.context.0) };
        self.driver.succeeds(DriverFunction::CtxPushCurrent, result)?;
        let recorded = self.driver.record(event, stream.handle);
        let mut popped = 0;
        // SAFETY: the function writes one handle, of the context that this thread has pushed.
        let _ = unsafe { pop(&raw mut popped) };
        recorded
    }

    /// Looks at an event until it has happened; returns the ticks of the look that shows it. `None` if no look of so many
    /// does. Looks follow each other without a pause.
    pub fn see(&self, event: CudaEvent, looks: usize) -> Option<u64> {
        (0..looks).find_map(|_| self.has_happened(event).then(|| CLOCK.now()))
    }

    /// Returns whether an event that was recorded has happened.
    pub fn has_happened(&self, event: CudaEvent) -> bool {
        self.elapsed(event, event).is_some()
    }

    /// Destroys an event. Nobody may ask about it later.
    pub fn destroy(&self, event: CudaEvent) {
        if self.driver.is_over() {
            return;
        }
        // SAFETY: `create` made the event, and its owner gives it up here.
        let result = unsafe { (self.driver.destroy)(event.0) };
        let _ = self.driver.succeeds(DriverFunction::EventDestroy, result);
    }

    /// Returns the nanoseconds from one event to another of the same context; negative if the second came first. `None`
    /// while either has not happened, and when calls are over.
    pub fn elapsed(&self, from: CudaEvent, to: CudaEvent) -> Option<i64> {
        self.elapsed_unless(|error| error == NOT_READY, from, to)
    }

    /// Like [`Relaxed::elapsed`], where `to` is an event of a graph, which may not have been replayed yet.
    pub fn elapsed_in_graph(&self, from: CudaEvent, to: CudaEvent) -> Option<i64> {
        self.elapsed_unless(|error| matches!(error, NOT_READY | INVALID_HANDLE), from, to)
    }

    /// Returns the nanoseconds between two events, or `None` for an error that is expected.
    fn elapsed_unless(&self, expected: impl Fn(c_int) -> bool, from: CudaEvent, to: CudaEvent) -> Option<i64> {
        self.driver.goes_on()?;
        let mut milliseconds = 0.0;
        // SAFETY: `create` made both events, and only their owner, who calls this, destroys them; the function writes
        // one number.
        let result = unsafe { (self.driver.elapsed)(&raw mut milliseconds, from.0, to.0) };
        if expected(result) {
            return None;
        }
        self.driver.succeeds(DriverFunction::EventElapsedTime, result)?;
        Some((f64::from(milliseconds) * 1e6).round() as i64)
    }
}
