//! Calls of a library that is taken down meanwhile.

use common::gate::Gate;
use loom::cell::UnsafeCell;
use loom::sync::Arc;
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
