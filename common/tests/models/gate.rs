//! Calls of a library that is taken down meanwhile.

use common::gate::Gate;
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;

/// One thread uses what is behind the gate, the other one takes it down when the gate is shut and nobody is inside. The
/// cell fails the model where both could touch it at a time, or where the one would not see what the other did.
#[test]
fn nobody_is_behind_a_gate_that_is_shut_and_empty() {
    crate::check(None, || {
        let gate = Arc::new(Gate::default());
        let library = Arc::new(UnsafeCell::new(true));
        let collector = thread::spawn({
            let (gate, library) = (Arc::clone(&gate), Arc::clone(&library));
            move || {
                for _ in 0..2 {
                    if let Some(_inside) = gate.enter() {
                        // SAFETY: the model checks that nobody writes meanwhile.
                        assert!(library.with(|library| unsafe { *library }), "used when it was gone");
                    }
                }
            }
        });
        gate.shut();
        if gate.is_empty() {
            // SAFETY: the model checks that nobody reads meanwhile.
            library.with_mut(|library| unsafe { *library = false });
        }
        collector.join().unwrap();
    });
}

/// The gate stays open; a generation of what is behind it is given up, and taken down once nobody is inside. Who enters
/// later sees that the generation has ended.
#[test]
fn nobody_behind_an_empty_gate_uses_what_was_given_up_before() {
    crate::check(None, || {
        let (gate, generation) = (Arc::new(Gate::default()), Arc::new(AtomicU32::new(0)));
        let events = Arc::new(UnsafeCell::new(true));
        let collector = thread::spawn({
            let (gate, generation, events) = (Arc::clone(&gate), Arc::clone(&generation), Arc::clone(&events));
            move || {
                for _ in 0..2 {
                    let _inside = gate.enter().unwrap();
                    if generation.load(Ordering::Acquire) == 0 {
                        // SAFETY: the model checks that nobody writes meanwhile.
                        assert!(events.with(|events| unsafe { *events }), "used when they were gone");
                    }
                }
            }
        });
        let given_up = generation.compare_exchange(0, 1, Ordering::AcqRel, Ordering::Relaxed);
        assert!(given_up.is_ok());
        if gate.is_empty() {
            // SAFETY: the model checks that nobody reads meanwhile.
            events.with_mut(|events| unsafe { *events = false });
        }
        collector.join().unwrap();
    });
}
