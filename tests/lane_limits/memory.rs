//! Memory for lanes: Score-P's, of which each location takes a part, and the library's own for operations.

use crate::lane_limits::{check_counters, shown};
use crate::support::job::lanes::{PLACE, check};
use crate::support::job::{Plan, plan};

/// Score-P's default memory: each location takes 1 MiB of 15.6.
#[test]
fn too_little_memory_means_fewer_lanes() {
    let job = plan("communicators", 20).without("SCOREP_TOTAL_MEMORY").run();
    let lanes = job.only().lanes().len();
    assert!((5..20).contains(&lanes), "{lanes}");
    let said = job.said();
    assert!(said.len() == 1 && said[0].contains("SCOREP_TOTAL_MEMORY"), "{said:?}");
    check_counters(job.only());
    // with enough memory there is no message
    let job = plan("communicators", 20).run();
    assert_eq!((job.said().len(), job.only().lanes().len()), (0, 20));
    check(job.only(), 1e9, &PLACE);
}

/// No memory is left for lanes.
#[test]
fn no_memory_means_no_lanes() {
    let job = plan("communicators", 3).with("SCOREP_TOTAL_MEMORY", "2M").run();
    let said = job.said();
    assert!(said.len() == 1 && said[0].contains("SCOREP_TOTAL_MEMORY"), "{said:?}");
    assert!(job.only().lanes().is_empty());
    check_counters(job.only());
}

/// A MiB has room for 18,724 operations of 56 bytes.
#[test]
fn operations_beyond_the_lanes_memory_are_dropped_and_counted() {
    let job = plan("many", 30_000).with("NCCL_SCOREP_LANE_MB", "1").run();
    let shown = shown(job.only());
    assert!((18_000..30_000).contains(&shown), "{shown}");
    let said = job.said();
    let dropped = (30_000 - shown).to_string();
    assert!(
        said.len() == 1 && said[0].contains("NCCL_SCOREP_LANE_MB") && said[0].contains(&dropped),
        "{dropped}: {said:?}"
    );
    check_counters(job.only());

    let job = plan("many", 30_000).run();
    assert_eq!(job.said(), Vec::<&str>::new());
    check(job.only(), 1e9, &PLACE);
}

/// After Score-P has flushed its trace, only the lanes can be written that were made when half of the memory was used: 3
/// of 64 MiB.
#[test]
fn after_a_flush_no_location_is_made() {
    let plan = plan("communicators", 20).with("STAND_IN_HAS_FLUSHED", "1").with("STAND_IN_USED", "40");
    let job = plan.clone().run();
    assert_eq!(job.only().lanes().len(), 3);
    let said = job.said();
    assert!(said.len() == 1 && said[0].contains("3 of 20") && said[0].contains("SCOREP_TOTAL_MEMORY"), "{said:?}");
    // without a profile, one more location does no harm if there is memory for it
    let job = plan.clone().with("SCOREP_ENABLE_PROFILING", "false").run();
    assert_eq!((job.only().lanes().len(), job.said().len()), (4, 1));
    // the last eighth of the memory is said to be the last, before Score-P ends the program for want of it
    let job = plan.with("STAND_IN_USED", "58").run();
    assert!(
        job.said()[0].contains("of 64 MiB of its memory") && job.said()[0].contains("SCOREP_TOTAL_MEMORY"),
        "{:?}",
        job.said()
    );
}

/// A location takes whole pages, whatever their size.
#[test]
fn large_pages_mean_fewer_lanes() {
    for tracing in ["true", "false"] {
        let plan = plan("communicators", 20).with("SCOREP_ENABLE_TRACING", tracing).with("SCOREP_PAGE_SIZE", "128k");
        let plan = plan.with("SCOREP_TOTAL_MEMORY", "32M");
        let job = plan.run();
        assert!(
            job.only().lanes().len() < 20 && job.said()[0].contains("SCOREP_TOTAL_MEMORY"),
            "{tracing}: {:?}",
            job.said()
        );
    }
}

/// The names of locations that were created early and are not needed say so. Without need there is none.
#[test]
fn spare_locations_are_named_as_such() {
    let unused = |plan: Plan| {
        let job = plan.run();
        let names = job.only().locations().into_iter().map(|location| location.name);
        names.filter(|name| name == "NCCL (unused)").count()
    };
    let half = |name: &str| plan(name, 2).with("STAND_IN_USED", "40");
    assert_eq!(unused(half("communicators")), 1);
    assert_eq!(unused(plan("communicators", 2)), 0);
    assert_eq!(unused(half("nothing")), 0);
    assert_eq!(unused(half("communicators").with("SCOREP_TOTAL_MEMORY", "16M").with("STAND_IN_USED", "9")), 0);
    assert_eq!(unused(half("communicators").with("SCOREP_PROFILING_FORMAT", "tau_snapshot")), 0);
    assert_eq!(unused(half("communicators").with("SCOREP_ENABLE_UNWINDING", "true")), 0);
    assert_eq!(unused(half("communicators").with("SCOREP_ENABLE_TRACING", "false")), 0);
}
