//! A thread's last events, as far as later events depend on them.

use crate::base::sync::{AtomicU64, Ordering};

/// Number of proxy operations whose last step a thread remembers.
const STEPS: usize = if cfg!(loom) { 2 } else { 16 };
/// Number of operations for which a thread remembers that a kernel channel has stopped.
const OPERATIONS: usize = if cfg!(loom) { 2 } else { 16 };

/// A step that has started.
#[derive(Debug)]
#[cfg_attr(loom, derive(Default))]
struct NotedStep {
    /// Handle of its proxy operation.
    proxy: AtomicU64,
    number: AtomicU64,
    handle: AtomicU64,
}

/// See the module. Only the owning thread reads or writes it. A newer event takes the place of an older one.
#[derive(Debug)]
#[cfg_attr(loom, derive(Default))]
pub(crate) struct Noted {
    /// The last started steps, by proxy operation.
    steps: [NotedStep; STEPS],
    /// Handles of operations whose kernel channels stopped last.
    stopped: [AtomicU64; OPERATIONS],
}

impl Noted {
    /// Notes that the thread has started a step of a proxy operation.
    #[inline(always)]
    pub(crate) fn start_step(&self, proxy: u64, number: u64, handle: u64) {
        let noted = &self.steps[proxy as usize % STEPS];
        noted.proxy.store(proxy, Ordering::Relaxed);
        noted.number.store(number, Ordering::Relaxed);
        noted.handle.store(handle, Ordering::Relaxed);
    }

    /// Returns the handle of a step that the thread has started, if it is still known.
    #[inline(always)]
    pub(crate) fn started_step(&self, proxy: u64, number: u64) -> Option<u64> {
        let noted = &self.steps[proxy as usize % STEPS];
        let same = noted.proxy.load(Ordering::Relaxed) == proxy && noted.number.load(Ordering::Relaxed) == number;
        same.then(|| noted.handle.load(Ordering::Relaxed))
    }

    /// Notes that a kernel channel of the operation stops on this thread. Returns whether it is the first one, as far
    /// as the thread remembers.
    #[inline(always)]
    pub(crate) fn is_first_to_stop(&self, operation: u64) -> bool {
        let stopped = &self.stopped[operation as usize % OPERATIONS];
        let first = stopped.load(Ordering::Relaxed) != operation;
        stopped.store(operation, Ordering::Relaxed);
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::thread::ThreadCell;

    #[test]
    fn the_last_step_of_a_proxy_operation_is_kept_in_mind() {
        let noted = &ThreadCell::new().unwrap().noted;
        noted.start_step(33, 4, 99);
        assert_eq!(
            [noted.started_step(33, 4), noted.started_step(33, 5), noted.started_step(33 + STEPS as u64, 4)],
            [Some(99), None, None]
        );
    }

    #[test]
    fn one_kernel_channel_of_an_operation_is_the_first_to_stop() {
        let noted = &ThreadCell::new().unwrap().noted;
        let other = 33 + OPERATIONS as u64;
        assert_eq!(
            [33, 33, 34, 33, other, other, 33].map(|operation| noted.is_first_to_stop(operation)),
            [true, false, true, false, true, false, true]
        );
    }
}
