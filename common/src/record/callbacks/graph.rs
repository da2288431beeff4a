//! Launches into streams that are captured into CUDA graphs, and the replays of a recording's graphs.
//!
//! Into a stream that is captured into a CUDA graph nothing is recorded, unless `NCCL_SCOREP_GRAPH_EVENTS` asks for it:
//! then the two events become nodes of the graph, which each replay records anew.

use super::launch::BegunLaunch;
use crate::event::handle::Handle;
use crate::launch::{KernelId, Launch, LaunchSource, News, Recorded, Starts, Untimed};
use crate::record::recorder::Recorder;
use crate::record::thread::ThreadCell;

impl Recorder {
    /// Begins the events around a launch into a stream that is captured. `None` if the stream is not captured.
    #[cold]
    pub(super) fn events_in_graph(
        &self,
        cell: &ThreadCell,
        context: u64,
        index: u32,
        stream: usize,
    ) -> Option<BegunLaunch> {
        let first_call = cell.launching.first_launch(index);
        if let Some((call, context)) = cell.launching.take_captured() {
            self.launches.tell(News::Ambiguous { context, call });
        }
        let driver = self.launches.driver()?;
        let calls = driver.calls()?;
        if !calls.captures(stream) {
            return None;
        }
        let chosen = || {
            let (call, context) = (first_call?, Handle::parse_context(context)?);
            let is_chosen = driver.records_in_graphs() && self.launches.is_capture_chosen(self.settings.graph_events);
            let mut launch = if is_chosen { self.launches.make_for_graph(&calls) } else { None }?;
            // of the launching thread's current context, as the kernel is: else NCCL could not launch it
            let LaunchSource::Events { first, .. } = launch.source else { return None };
            calls.record_in_graph(first, stream)?;
            (launch.stream, launch.before, launch.number) = (stream, cell.now(), call);
            launch.kernel = Some(KernelId { context, order: 0 });
            Some(launch)
        };
        Some(chosen().map_or((None, Some(Untimed::Graph)), |launch| (Some(launch), None)))
    }

    /// Ends the events around a captured launch. Nothing of the launch runs before its graph is replayed.
    #[cold]
    pub(super) fn capture_ends(&self, cell: &ThreadCell, mut launch: Box<Launch>) {
        cell.launching.begin(None, Some(Untimed::Graph));
        let LaunchSource::Events { last, .. } = launch.source else { return };
        let calls = self.launches.driver().and_then(|driver| driver.calls());
        let is_recorded = calls.is_some_and(|calls| calls.record_in_graph(last, launch.stream).is_some());
        if let (true, Some(KernelId { context, .. })) = (is_recorded, launch.kernel) {
            launch.after = cell.now().max(1);
            cell.launching.captured(launch.number, context);
            self.launches.tell(News::Captured(launch));
        }
    }

    /// Reports the time of a graph's replay from a recording, at the start of one of its operations.
    #[cold]
    pub(super) fn tell_replay(&self, cell: &ThreadCell, kernel: KernelId, recorded: Recorded) {
        let now = cell.recently();
        let mut launch = self.launches.recorded(recorded, now);
        (launch.kernel, launch.stamps, launch.starts) = (Some(kernel), true, Starts::InGraph);
        launch.after = now.max(1);
        self.launches.tell(News::Launched(launch));
    }
}
