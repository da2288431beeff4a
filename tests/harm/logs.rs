//! NCCL's log functions that do what they should not while the library calls them.

use crate::harm::job::Job;

/// One that ends its thread, and one that begins another communicator: both harm nobody.
#[test]
fn a_log_function_may_do_anything() {
    for scenario in ["logged_by_a_thread_that_ends", "logged_by_one_that_begins_again"] {
        let found = Job::scenario(scenario, 0, &[]).set("NCCL_SCOREP_RECORD", ".").check();
        found.figures();
        assert!(found.files() == [1, 1] && found.said.is_empty(), "{scenario}: {:?}", found.said);
    }
}
