//! Launches, with CUDA events around those that the GPU's stamps will not time.
//!
//! NCCL itself calls CUDA between a launch's begin and end, so the library may do so too. Two events cost some 3 us
//! there, which is the price of a time. A launch without events costs a few instructions.

use crate::clock::CLOCK;
use crate::event::handle::{Handle, Shared};
use crate::launch::cuda::CudaCalls;
use crate::launch::{KernelId, Launch, LaunchSource, News, Starts, Untimed};
use crate::record::context::Context;
use crate::record::host_region::{self, HostRegion};
use crate::record::recorder::Recorder;
use crate::record::thread::ThreadCell;
use crate::record::thread::launching::Silent;

/// A launch with its events, or the reason why it has none. Neither, where nobody wants events.
pub(super) type BegunLaunch = (Option<Box<Launch>>, Option<Untimed>);

/// Reports that a launch or its operations have started. For an outer group's kernel, the group ends there.
pub(super) fn started(handle: u64) {
    if matches!(Handle::shared(handle), Some(Shared::NestedLaunch | Shared::NestedGroup)) {
        host_region::started(handle, || HostRegion::GroupEnd);
    }
}

impl Recorder {
    /// Handles the start of a kernel's launch into a stream. Returns the handle with which NCCL reports its end, or 0.
    #[cold]
    #[inline(never)]
    pub(super) fn launch_begins(&self, cell: &ThreadCell, context: u64, stream: usize) -> u64 {
        // also where launches are not timed
        let now = cell.now();
        cell.launching.note_launch(context, now);
        let is_nested = cell.begin_launch(now);
        let is_timed = self.launches.are_timed() && self.begin_events(cell, context, stream);
        match (is_nested, is_timed) {
            (true, _) => Handle::nested_launch().raw(),
            (false, true) => Handle::kernel_launch().raw(),
            (false, false) => 0,
        }
    }

    /// Begins the events around a launch. Returns whether there are any.
    fn begin_events(&self, cell: &ThreadCell, raw: u64, stream: usize) -> bool {
        let Some((context, index)) = self.contexts.find(raw) else { return false };
        let launching = &cell.launching;
        launching.launch_stamped(context.has_stamps());
        context.ask_for_stamps(self.stamps.are_wanted());
        let begun = if !self.needs_events(cell, context, index) {
            (None, None)
        } else if self.settings.graph_events == 0 {
            self.events(cell, stream, None)
        } else {
            self.events_in_graph(cell, raw, index, stream).unwrap_or_else(|| self.events(cell, stream, None))
        };
        let is_begun = begun.0.is_some();
        self.leave(launching.begin(begun.0, begun.1));
        // the kernels of the group's silent calls cannot be told apart from this kernel
        if let Some(launch) = launching.end_silent() {
            self.refuse_silent(launch.kernel);
            self.leave(Some(launch));
        }
        is_begun
    }

    /// Ends a launch that no operation has followed on this thread, so that nobody asks for its time.
    fn leave(&self, left: Option<Box<Launch>>) {
        match left {
            Some(launch) if launch.is_over() => self.launches.tell(News::Launched(launch)),
            Some(launch) => self.launches.give_back(launch),
            None => {}
        }
    }

    /// Handles the return of a launch.
    fn launch_ends(&self, cell: &ThreadCell) {
        let Some(launch) = cell.launching.take() else { return };
        if launch.starts == Starts::InGraph {
            return self.capture_ends(cell, launch);
        }
        let (launch, untimed) = match self.end_events(cell, launch) {
            Some(launch) => (Some(launch), None),
            None => (None, Some(Untimed::CudaFailed)),
        };
        cell.launching.begin(launch, untimed);
    }

    /// Handles the return of a launch, or the stop of the last operation of an outer group's kernel.
    #[cold]
    #[inline(never)]
    pub(super) fn launch_stops(&self, cell: &ThreadCell, event: Shared) {
        match event {
            Shared::GroupApi | Shared::ProxyCtrl | Shared::NetPlugin => {}
            Shared::KernelLaunch => self.launch_ends(cell),
            Shared::NestedLaunch => {
                self.launch_ends(cell);
                cell.pass_launch(cell.now(), CLOCK.last_scale());
            }
            // the thread has read the clock last when that operation stopped
            Shared::NestedGroup => cell.end_launch(cell.recently(), CLOCK.last_scale()),
        }
    }

    /// Returns whether the kernel about to be launched most likely needs events to get a time.
    fn needs_events(&self, cell: &ThreadCell, context: &Context, index: u32) -> bool {
        if self.launches.are_replayed() {
            return true;
        }
        let believed = || {
            let (function, class) = cell.launching.only_call(index)?;
            let is_p2p =
                matches!(function.function().map(|index| crate::event::name::FUNCTIONS[index]), Some("Send" | "Recv"));
            Some(is_p2p || context.believes(function, class))
        };
        let stamped = self.settings.gpu_time.has_stamps() && cell.launching.has_stamps() && !context.is_in_doubt();
        !(stamped && believed().unwrap_or(false))
    }

    /// Reports that a broadcast, which NCCL launched without reporting an operation, gets no time.
    pub(super) fn refuse_silent(&self, kernel: Option<KernelId>) {
        if let Some(kernel) = kernel {
            self.launches.tell(News::Untimed { kernel, cause: Untimed::NotBelieved, stamps: false });
        }
    }

    /// Records the first event in the stream. `pool` is the pool of the stream's CUDA context, where that is known and
    /// may not be the current context.
    #[cold]
    fn events(&self, cell: &ThreadCell, stream: usize, pool: Option<u32>) -> BegunLaunch {
        if let Some(recorded) = cell.launching.take_recorded() {
            return (Some(self.launches.recorded(recorded, cell.now())), None);
        }
        let Some(driver) = self.launches.driver() else { return (None, None) };
        if self.settings.gpu_time.is_shared() && !self.share.is_next_chosen() {
            return (None, Some(Untimed::NotChosen));
        }
        let failed = (None, Some(Untimed::CudaFailed));
        let Some(calls) = driver.calls() else { return failed };
        if calls.is_captured(stream) {
            return (None, Some(Untimed::Graph));
        }
        let Some(mut launch) = self.launches.take(&calls) else {
            return if driver.is_over() { failed } else { (None, Some(Untimed::NoEvent)) };
        };
        if let (LaunchSource::Events { pool: of, .. }, Some(pool)) = (launch.source, pool)
            && of != pool as usize
        {
            self.launches.give_back(launch);
            return (None, Some(Untimed::NotBelieved));
        }
        launch.stream = stream;
        launch.before = cell.now();
        match Self::record_first(&calls, &launch) {
            Some(()) => (Some(launch), None),
            None => failed,
        }
    }

    fn record_first(calls: &CudaCalls<'_>, launch: &Launch) -> Option<()> {
        match launch.source {
            LaunchSource::Events { first, .. } => calls.record(first, launch.stream),
            LaunchSource::Recording(_) => Some(()),
        }
    }

    /// Records the last event. `None` if that fails: the launch is dropped then, because the state of its events is
    /// unknown.
    fn end_events(&self, cell: &ThreadCell, mut launch: Box<Launch>) -> Option<Box<Launch>> {
        launch.after = cell.now().max(1);
        if let LaunchSource::Events { pool, last, .. } = launch.source {
            let calls = self.launches.driver()?.calls()?;
            calls.record(last, launch.stream)?;
            self.launches.make_anchor(pool, &calls);
        }
        Some(launch)
    }

    /// Reports a launch to the collector when the first operation of its kernel has started.
    #[cold]
    pub(super) fn tell_launch(&self, cell: &ThreadCell, kernel: KernelId) {
        let stamps = cell.launching.has_stamps();
        let (launch, untimed) = cell.launching.news();
        let untimed = match launch {
            Some(mut launch) if launch.is_over() => {
                (launch.kernel, launch.stamps) = (Some(kernel), stamps);
                return self.launches.tell(News::Launched(launch));
            }
            // NCCL never reported the end of this launch
            Some(launch) => {
                self.launches.give_back(launch);
                Some(Untimed::NotBelieved)
            }
            None => untimed,
        };
        if let Some(cause) = untimed {
            self.launches.tell(News::Untimed { kernel, cause, stamps });
        }
    }

    /// Learns from the start of an operation, which is a send or receive if it has a peer. Whether the stamps of a
    /// collective are trusted predicts the same for the next collective of that function and size.
    #[cold]
    pub(super) fn learn(&self, cell: &ThreadCell, context: &Context, index: u32, peer: Option<i32>, believed: bool) {
        if peer.is_some() {
            if peer == context.rank() && !context.counts_self() {
                context.doubt();
            }
        } else if let Some((function, class)) = cell.launching.only_call(index) {
            context.learn(function, class, believed);
        }
    }

    /// Records the first of the two events around the copies of a collective by copy engine.
    #[cold]
    pub(super) fn copies_begin(&self, cell: &ThreadCell, stream: usize) {
        let (launch, untimed) = self.events(cell, stream, None);
        self.leave(cell.launching.begin(launch, untimed));
    }

    /// Names the collective of these copies, once it has started and has its place in the order of starts.
    #[cold]
    pub(super) fn copies_are(&self, cell: &ThreadCell, kernel: KernelId, handle: u64) {
        match cell.launching.news() {
            (Some(mut launch), _) => {
                (launch.kernel, launch.number) = (Some(kernel), handle);
                cell.launching.begin(Some(launch), None);
            }
            (None, Some(cause)) => self.launches.tell(News::Untimed { kernel, cause, stamps: false }),
            (None, None) => {}
        }
    }

    /// Records the last event, once all copies are in the stream.
    #[cold]
    #[inline(never)]
    pub(super) fn copies_end(&self, cell: &ThreadCell) {
        if let Some(launch) = cell.launching.take() {
            self.end_and_tell(cell, launch, Starts::AtOnce);
        }
    }

    fn end_and_tell(&self, cell: &ThreadCell, launch: Box<Launch>, starts: Starts) {
        let kernel = launch.kernel;
        match (self.end_events(cell, launch), kernel) {
            (Some(mut launch), _) => {
                launch.starts = starts;
                self.launches.tell(News::Launched(launch));
            }
            (None, Some(kernel)) => {
                self.launches.tell(News::Untimed { kernel, cause: Untimed::CudaFailed, stamps: false })
            }
            (None, None) => {}
        }
    }

    /// Handles the moment at which a group of API calls is about to launch its kernels. For calls of which NCCL reports
    /// nothing more, the first event is recorded now.
    #[cold]
    #[inline(never)]
    pub(super) fn group_launches(&self, cell: &ThreadCell) {
        if let Some(silent) = cell.launching.take_silent() {
            self.silent_begins(cell, silent);
        }
    }

    #[cold]
    fn silent_begins(&self, cell: &ThreadCell, Silent { kernel, stream, handle }: Silent) {
        // NCCL sets the GPU only when it launches: another GPU may be current
        let pool = self.contexts.find(kernel.context.raw()).and_then(|(context, _)| context.pool());
        match self.events(cell, stream, pool) {
            (Some(mut launch), _) => {
                (launch.kernel, launch.number) = (Some(kernel), handle);
                self.leave(cell.launching.begin_silent(launch));
            }
            (None, cause) => {
                let cause = cause.unwrap_or(Untimed::NotBelieved);
                self.launches.tell(News::Untimed { kernel, cause, stamps: false });
            }
        }
    }

    /// Records the last event around the silent calls, once the group is over and has launched its kernels.
    #[cold]
    #[inline(never)]
    pub(super) fn group_has_launched(&self, cell: &ThreadCell) {
        if let Some(launch) = cell.launching.end_silent() {
            self.end_and_tell(cell, launch, Starts::Within);
        }
    }

    /// Handles the begin of a group of API calls.
    #[cold]
    #[inline(never)]
    pub(super) fn group_begins(&self, cell: &ThreadCell, context: u64) {
        cell.launching.begin_group(self.contexts.find(context).is_some_and(|(context, _)| context.has_stamps()));
    }

    /// Gives the launch that begins on this thread its number in a recording.
    pub fn number_launch(&self, cell: &ThreadCell, number: u64) {
        if let Some(mut launch) = cell.launching.take() {
            // a captured launch has no time of its own: its number is its call's
            if launch.starts != Starts::InGraph {
                launch.number = number;
            }
            cell.launching.begin(Some(launch), None);
        }
    }
}
