//! Made jobs through the stream, from rows to answers.

use super::super::*;
use crate::analysis::steps::Survey;
use crate::answer::{Origin, StepSource};
use crate::job::read_all;
use crate::made::{self, Changes, MadeJob, random, steps, two_by_two_by_two};
use crate::stream::{CommonClock, run};

fn by_step(made: &MadeJob) -> (ByStep, Dimensions) {
    let mut survey = Survey::new(&made.job);
    read_all(made.job.processes.len(), &made.table, &mut [&mut survey]).unwrap();
    let clocks = CommonClock::read(&made.job, &made.table).unwrap();
    let common = |process: usize, time: u64| clocks.time(process, time);
    let dimensions = Dimensions::find(&made.job, &[], &survey.tallies);
    let plan = StepPlan::decide(&made.job, survey, None, &common);
    let options = Options { top: 5, ..Options::default() };
    let mut stepwise = Stepwise::new(&made.job, plan, &dimensions, &options, None, &common);
    run(&made.job, &made.table, &clocks, &mut [&mut stepwise]).unwrap();
    (stepwise.finish(&made.job), dimensions)
}

#[test]
fn steps_of_known_number_and_length() {
    let changes = Changes { warm_up: 2, outlier: Some(40), shift: Some(62) };
    let made = steps(102, changes);
    let (found, dimensions) = by_step(&made);
    let steps = found.steps.known().unwrap();
    assert_eq!((steps.source.clone(), steps.count, steps.warm_up), (StepSource::Repetition, 100, 2));
    assert_eq!((steps.period, steps.covered), (Some(4), 1.0));
    assert_eq!((steps.median_us, steps.p99_us), (5_000.0, 6_250.0));
    assert_eq!((steps.slowest[0].step, steps.slowest[0].length_us), (38, 10_000.0));
    let shifts: Vec<u64> = steps.shifts.iter().map(|shift| shift.step).collect();
    assert_eq!(shifts, [60]);
    let budget = found.budget.known().unwrap();
    for gpu in &budget.gpus {
        // four transfers of 100 us in each step but the one in which all ranks stood
        assert_eq!((gpu.transferring_ns + gpu.waiting_ns, gpu.not_compared_ns), (99 * 400_000, 0));
        assert_eq!(gpu.total_ns, gpu.waiting_ns + gpu.transferring_ns + gpu.idle_ns);
    }
    let Part::Known(swim) = found.detail.answer(&made.job, &dimensions, None) else { panic!("no step in detail") };
    assert_eq!((swim.step, swim.usual.map(|usual| usual.length_us)), (Some(38), Some(5_000.0)));
}

#[test]
fn chance_has_no_steps() {
    let (found, _) = by_step(&random(500, 3));
    assert!(found.steps.absent().is_some());
    assert!(!found.budget.known().unwrap().of_steps);
}

#[test]
fn three_dimensions_are_guessed_or_read() {
    for (named, origin) in [(false, Origin::Guessed), (true, Origin::Name)] {
        let (found, dimensions) = by_step(&two_by_two_by_two(10, named));
        let names: Vec<String> = dimensions.by_communicator().into_iter().map(|of| of.name).collect();
        assert_eq!(names[0], "unknown");
        for (places, name) in [(1..5, "TP"), (5..9, "PP"), (9..13, "DP")] {
            assert!(places.clone().all(|at| dimensions.at(at).origin == origin), "{named}");
            assert!(names[places].iter().all(|of| of == name), "{names:?}");
        }
        let steps = found.steps.known().unwrap();
        assert_eq!((steps.count, steps.period, steps.median_us), (10, Some(5), 4_000.0));
        let shares = &found.budget.known().unwrap().dimensions;
        let of = |name: &str| shares.iter().find(|share| share.dimension == name).unwrap();
        assert_eq!((of("TP").time_us, of("PP").time_us, of("DP").time_us), (200.0, 200.0, 400.0));
        assert_eq!((of("TP").operations, of("PP").operations, of("DP").bytes), (2.0, 2.0, 16.0 * 1024.0 * 1024.0));
        let windows = &found.phases.known().unwrap().windows;
        let window = |from: &str, to: &str| windows.iter().find(|it| it.from == from && it.to == to).unwrap();
        assert_eq!((window("PP", "DP").count, window("PP", "DP").median_us), (80, 900.0));
        assert_eq!((window("DP", "TP").count, window("DP", "TP").median_us), (72, 600.0));
    }
}

/// Missing, repeated and foreign ranks, replays, exchanges, clocks apart: whatever the job, the parts of each GPU's
/// time add up.
#[test]
fn budgets_of_all_made_jobs_add_up() {
    let jobs = [
        made::delayed(4, 2, 500 * made::US),
        made::late_sender(300 * made::US),
        made::late_receiver(300 * made::US),
        made::all_to_all(4, |from, to| 1000 * (1 + from + to) as u64),
        made::ring(5),
        made::throttled(4, 50),
        made::apart(30),
        made::missing_rank(60),
        made::rank_without_operations(60),
        made::repeated_rank(60),
        made::foreign_rank(60),
        made::graph_replays(60),
        random(300, 8),
        steps(30, Changes { outlier: Some(7), ..Changes::default() }),
        two_by_two_by_two(5, false),
    ];
    for (at, job) in jobs.iter().enumerate() {
        let (found, _) = by_step(job);
        let budget = found.budget.known().unwrap();
        let mut active = 0;
        for gpu in &budget.gpus {
            let parts = gpu.waiting_ns + gpu.transferring_ns + gpu.overlapped_ns + gpu.computing_ns + gpu.idle_ns;
            assert_eq!(parts, gpu.total_ns, "job {at}");
            active += gpu.waiting_ns + gpu.transferring_ns;
        }
        assert!(active > 0, "job {at}");
        let operations: f64 = budget.dimensions.iter().map(|share| share.operations).sum();
        assert!(operations > 0.0 && budget.timed > 0.0, "job {at}");
    }
}
