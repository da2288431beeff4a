//! A gate that one thread passes for a while, and that any thread may shut. Once it is shut and nobody is inside,
//! nobody will be.
//!
//! The collector's calls of CUDA are behind a gate. When the process ends, the gate is shut first. CUDA's state goes when
//! the collector has come out. When a program may take one context down, the context's events are given up first: who
//! enters later sees that they are.

use crate::base::pause::pause;
use crate::base::sync::{AtomicBool, Ordering, fence};
use std::time::{Duration, Instant};

/// Pause between two looks at whether a thread is inside.
const LOOK: Duration = Duration::from_micros(50);

/// See the module.
#[derive(Debug)]
pub struct Gate {
    shut: AtomicBool,
    occupied: AtomicBool,
}

/// A thread is inside until this is dropped.
#[derive(Debug)]
pub struct InsideGate<'a>(&'a Gate);

impl Drop for InsideGate<'_> {
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
    /// Enters, unless the gate is shut. Not for two threads at the same time.
    pub fn enter(&self) -> Option<InsideGate<'_>> {
        self.occupied.store(true, Ordering::Relaxed);
        let inside = InsideGate(self);
        // pairs with the fence in `is_empty`: either the entering thread sees that the gate is shut, and all that the
        // asking thread has stored, or the asking thread sees that it is occupied
        fence(Ordering::SeqCst);
        (!self.shut.load(Ordering::Relaxed)).then_some(inside)
    }

    /// Lets no thread enter from now on.
    pub fn shut(&self) {
        self.shut.store(true, Ordering::Relaxed);
    }

    /// Returns whether the gate is shut.
    #[inline]
    pub fn is_shut(&self) -> bool {
        self.shut.load(Ordering::Relaxed)
    }

    /// Returns whether no thread is inside. After [`Gate::shut`], true is final. A thread that enters later sees all
    /// that the calling thread has stored before.
    pub fn is_empty(&self) -> bool {
        fence(Ordering::SeqCst);
        !self.occupied.load(Ordering::Acquire)
    }

    /// Waits until no thread is inside, at most for `patience`. Returns whether none was, as [`Gate::is_empty`]. A thread
    /// inside must not call this.
    pub fn wait(&self, patience: Duration) -> bool {
        let begun = Instant::now();
        while !self.is_empty() {
            if begun.elapsed() >= patience {
                return false;
            }
            pause(LOOK);
        }
        true
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
