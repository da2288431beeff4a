//! Jobs that fork while they record: from threads beside those that record, and from signal handlers in the midst of a
//! callback.

use crate::harm::threads::busy;

/// Children call all that NCCL may call, and end; their parent's figures are right.
#[test]
fn children_come_to_their_end_and_record_nothing() {
    for scenario in ["forked_amid_recording", "forked_in_a_handler"] {
        busy(scenario, 0).check().figures();
    }
}

/// As by a fork of the kernel's own, of which the C library tells nobody.
#[test]
fn children_of_which_nobody_hears_come_to_their_end() {
    busy("forked_in_silence", 0).check().figures();
}
