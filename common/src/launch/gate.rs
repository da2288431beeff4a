//! A gate that one thread goes through for a while, and that any may shut: once it is shut and nobody is inside, nobody
//! will be.
//!
//! The collector's calls of CUDA are behind one. When the process ends, or a program may take a context down, the gate
//! is shut first, and CUDA goes when the collector has come out.

use crate::base::sync::{AtomicBool, Ordering, fence};
use std::time::{Duration, Instant};

/// Between two looks at whether somebody is inside.
const LOOK: Duration = Duration::from_micros(50);

/// See the module.
#[derive(Debug)]
pub struct Gate {
    shut: AtomicBool,
    occupied: AtomicBool,
}

/// Somebody is inside until this is dropped.
#[derive(Debug)]
pub struct Inside<'a>(&'a Gate);

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.0.occupied.store(false, Ordering::Release);
    }
}

impl Default for Gate {
    fn default() -> Self {
        Self { shut: AtomicBool::new(false), occupied: AtomicBool::new(false) }
    }
}

impl Gate {
    /// Goes in, unless it is shut. Not for two threads at a time.
    pub fn enter(&self) -> Option<Inside<'_>> {
        self.occupied.store(true, Ordering::Relaxed);
        let inside = Inside(self);
        // with the one in `is_empty`: who goes in sees that it is shut, or who asks sees that somebody went in
        fence(Ordering::SeqCst);
        (!self.shut.load(Ordering::Relaxed)).then_some(inside)
    }

    /// Lets nobody in from here on.
    pub fn shut(&self) {
        self.shut.store(true, Ordering::Relaxed);
    }

    /// Whether it is.
    #[inline]
    pub fn is_shut(&self) -> bool {
        self.shut.load(Ordering::Relaxed)
    }

    /// Whether nobody is inside: after [`Gate::shut`] that stays so.
    pub fn is_empty(&self) -> bool {
        fence(Ordering::SeqCst);
        !self.occupied.load(Ordering::Acquire)
    }

    /// Waits until nobody is, for so long at most. Not for who is inside.
    pub fn wait(&self, patience: Duration) {
        let begun = Instant::now();
        while !self.is_empty() && begun.elapsed() < patience {
            std::thread::sleep(LOOK);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_inside_is_waited_for_and_nobody_follows() {
        let gate = Gate::default();
        assert!(gate.is_empty() && !gate.is_shut());
        std::thread::scope(|scope| {
            let inside = gate.enter().unwrap();
            gate.shut();
            assert!(!gate.is_empty());
            let waits = scope.spawn(|| gate.wait(Duration::from_secs(100)));
            drop(inside);
            waits.join().unwrap();
        });
        assert!(gate.enter().is_none() && gate.is_empty() && gate.is_shut());
    }

    #[test]
    fn nobody_is_waited_for_for_ever() {
        let gate = Gate::default();
        let _inside = gate.enter().unwrap();
        gate.wait(Duration::from_millis(1));
        assert!(!gate.is_empty());
    }
}
