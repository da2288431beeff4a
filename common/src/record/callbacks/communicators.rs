//! The begin and the end of a communicator: its context, its launches, and what the collector hears of it.

use super::NO_CONTEXT;
use crate::base::log;
use crate::clock::CLOCK;
use crate::event::InitCommunicator;
use crate::record::news::News;
use crate::record::recorder::Recorder;
use crate::record::thread::ThreadCell;
use std::sync::atomic::{AtomicBool, Ordering};

impl Recorder {
    /// Opens a communicator's context. Returns its number; [`NO_CONTEXT`] if there is no room.
    pub fn init(&self, communicator: InitCommunicator) -> u64 {
        let now = match ThreadCell::of_callback(false) {
            Some(cell) => {
                cell.others.one();
                cell.now()
            }
            None => CLOCK.now(),
        };
        let Some(id) = self.contexts.open(communicator.api_calls, now) else {
            static TOLD: AtomicBool = AtomicBool::new(false);
            if !TOLD.swap(true, Ordering::Relaxed) {
                log::warn("too many communicators at a time (4096); those beyond are not recorded");
            }
            return NO_CONTEXT;
        };
        if let Some((context, _)) = self.contexts.find(id.raw()) {
            context.time_by(&communicator.timed, communicator.kernel_events);
            if communicator.introduced {
                context.tell(communicator.rank);
            }
        }
        if communicator.timed.launches {
            let pool = self.launches.begin();
            if let (Some(pool), Some((context, _))) = (pool, self.contexts.find(id.raw())) {
                context.launch_from(pool);
            }
        }
        self.send(News::Opened { id, communicator });
        id.raw()
    }

    /// Ends a communicator's context. Returns the pool of its launches if it was the last communicator in that CUDA
    /// context: the collector is then to ask for the pool's events a last time.
    pub fn finalize(&self, context: u64) -> Option<u32> {
        let cell = ThreadCell::of_callback(false);
        cell.inspect(|cell| cell.others.one());
        let pool = self.contexts.find(context).and_then(|(context, _)| context.pool());
        match (self.contexts.end(context), cell) {
            (Some(id), _) => {
                self.send(News::Ended { id, time: CLOCK.now() });
                return pool.filter(|&pool| self.launches.leave(pool));
            }
            (None, Some(cell)) => cell.ignored.add(u64::from(context != 0 && context != NO_CONTEXT)),
            (None, None) => {}
        }
        None
    }
}
