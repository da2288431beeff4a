//! Causes of made ranks whose conditions are known.

use super::difference::{cause_of_pause, causes, is_stop};
use super::profile::Profile;
use super::{ProcessRows, StepBegins, peers};
use crate::analysis::whole::{JobFacts, report};
use crate::answer::{CauseKind, LateCause, Report, Straggler};
use crate::job::{OperationTables, ProcessOperations, Unreadable};
use crate::made::{MS, MadeJob, Maker, Start, US};
use common::conditions::{ConditionRow, GpuRow, HostCondition};

const SECOND: i64 = 1_000_000_000;
const STEP_US: f64 = 10_000.0;

/// Host and GPU of a rank that waits for nothing, with small differences by its number.
fn usual(number: u64) -> (HostCondition, GpuRow) {
    let host = HostCondition {
        running_us: Some(900_000 - 1_000 * number),
        waiting_us: Some(2_000 + 500 * number),
        stopped_us: Some(0),
        throttled_us: Some(0),
        steal_us: Some(0),
        major_faults: Some(number % 2),
        processors: Some(16),
        mhz: Some(3_000.0 + number as f64),
        ..HostCondition::default()
    };
    let gpu = GpuRow { sm_mhz: Some(1_980.0), power_capped: Some(0.0), hot: Some(0.0), ..GpuRow::default() };
    (host, gpu)
}

/// Rows of ten seconds.
fn rows(host: HostCondition, gpu: GpuRow) -> Vec<ConditionRow> {
    let row = |end| ConditionRow { until: end * SECOND as u64, length_us: 1_000_000, host, gpus: vec![gpu.clone()] };
    (1..=10).map(row).collect()
}

fn placed(rows: Vec<ConditionRow>) -> ProcessRows {
    ProcessRows::place(rows, 1, |own| i64::try_from(own).unwrap())
}

fn profile((host, gpu): (HostCondition, GpuRow)) -> Profile {
    Profile::over(&placed(rows(host, gpu)).all(0)).unwrap()
}

/// Returns the causes of a rank that takes 2 of 10 ms longer than seven peers.
fn of(hurt: (HostCondition, GpuRow), why: Option<LateCause>) -> Vec<CauseKind> {
    let peers: Vec<Profile> = (1..8).map(|number| profile(usual(number))).collect();
    let straggler = Straggler { own_us: 8_000.0, excess_us: 2_000.0, why, ..Straggler::default() };
    causes(&profile(hurt), &peers, &straggler, STEP_US).into_iter().map(|it| it.kind).collect()
}

fn host(change: impl Fn(&mut HostCondition)) -> Vec<CauseKind> {
    let (mut host, gpu) = usual(0);
    change(&mut host);
    of((host, gpu), Some(LateCause::Host))
}

fn gpu(change: impl Fn(&mut GpuRow)) -> Vec<CauseKind> {
    let (host, mut gpu) = usual(0);
    change(&mut gpu);
    of((host, gpu), Some(LateCause::Gpu))
}

#[test]
fn each_condition_of_a_host_is_named() {
    assert_eq!(host(|it| it.waiting_us = Some(200_000)), [CauseKind::Processor]);
    assert_eq!(host(|it| (it.waiting_us, it.processors) = (Some(200_000), Some(1))), [CauseKind::Affinity]);
    assert_eq!(host(|it| it.stopped_us = Some(150_000)), [CauseKind::Stopped]);
    // who is held up by a limit also waits
    let throttled = |it: &mut HostCondition| (it.throttled_us, it.waiting_us) = (Some(400_000), Some(300_000));
    assert_eq!(host(throttled), [CauseKind::Throttled, CauseKind::Processor]);
    assert_eq!(host(|it| it.major_faults = Some(2_000)), [CauseKind::Memory]);
    assert_eq!(host(|it| it.steal_us = Some(180_000)), [CauseKind::Stolen]);
    assert_eq!(host(|it| it.mhz = Some(2_200.0)), [CauseKind::HostClock]);
    assert_eq!(host(|it| it.running_us = Some(650_000)), [CauseKind::Blocked]);
}

/// The same extra wait of a step: of one thread, of one of two that take turns, and of two that wait at once.
#[test]
fn several_launching_threads_count_as_they_cost() {
    let waits = |threads: Option<f64>, running, waiting| {
        let host = HostCondition { threads, running_us: Some(running), waiting_us: Some(waiting), ..usual(0).0 };
        profile((host, usual(0).1))
    };
    let effect = |peers: Profile, own: Profile| {
        let straggler = Straggler { own_us: 8_000.0, excess_us: 2_000.0, ..Straggler::default() };
        let found = causes(&own, &[peers; 3], &straggler, STEP_US);
        let seen = found.iter().find(|it| it.kind == CauseKind::Processor).map(|it| (it.effect_us / 10.0).round());
        (seen, own.waiting.map(|share| (share * 1e3).round()))
    };
    let alone = effect(waits(Some(1.0), 800_000, 0), waits(Some(1.0), 700_000, 100_000));
    assert_eq!(alone, (Some(STEP_US / 100.0), Some(100.0)));
    let in_turns = effect(waits(Some(2.0), 800_000, 0), waits(Some(2.0), 700_000, 100_000));
    assert_eq!(in_turns, (Some(STEP_US / 100.0), Some(50.0)));
    let at_once = effect(waits(Some(2.0), 2_000_000, 0), waits(Some(2.0), 1_800_000, 200_000));
    assert_eq!(at_once, (Some(STEP_US / 100.0), Some(100.0)));
    // rows of an earlier version
    let sums = effect(waits(None, 800_000, 0), waits(None, 700_000, 100_000));
    assert_eq!(sums, (Some(STEP_US / 100.0), Some(100.0)));
}

#[test]
fn no_cause_is_named_without_a_difference_that_explains_something() {
    assert_eq!(host(|_| {}), []);
    assert_eq!(host(|it| it.waiting_us = Some(40_000)), [], "a fifth of the extra time");
    assert_eq!(host(|it| it.processors = Some(1)), [], "few processors, and no wait for them");
    // the peers differ by as much among themselves
    let peers: Vec<Profile> = (1..8)
        .map(|number| profile((HostCondition { waiting_us: Some(30_000 * number), ..usual(0).0 }, usual(0).1)))
        .collect();
    let own = profile((HostCondition { waiting_us: Some(240_000), ..usual(0).0 }, usual(0).1));
    let straggler = Straggler { own_us: 8_000.0, excess_us: 1_000.0, ..Straggler::default() };
    assert_eq!(causes(&own, &peers, &straggler, STEP_US), []);
    // nothing is known of the rank
    assert_eq!(of((HostCondition::default(), GpuRow::default()), None), []);
}

#[test]
fn each_condition_of_a_gpu_is_named() {
    assert_eq!(gpu(|it| it.sm_mhz = Some(1_500.0)), [CauseKind::GpuClock]);
    assert_eq!(gpu(|it| (it.sm_mhz, it.hot) = (Some(1_500.0), Some(0.8))), [CauseKind::GpuHot]);
    assert_eq!(gpu(|it| (it.sm_mhz, it.power_capped) = (Some(1_400.0), Some(1.0))), [CauseKind::GpuPower]);
    // a clock that explains less than half: the GPU has more work
    assert_eq!(
        gpu(|it| (it.sm_mhz, it.power_capped) = (Some(1_800.0), Some(1.0))),
        [CauseKind::GpuWork, CauseKind::GpuPower]
    );
    assert_eq!(gpu(|_| {}), [CauseKind::GpuWork]);
    assert_eq!(gpu(|it| it.sm_mhz = None), [], "without a clock, nothing is known");
    // a host's condition is no cause of a late GPU, and the reverse
    let (mut slow, gpu) = usual(0);
    slow.waiting_us = Some(300_000);
    assert_eq!(of((slow, gpu.clone()), Some(LateCause::Gpu)), [CauseKind::GpuWork]);
    assert_eq!(of((usual(0).0, GpuRow { sm_mhz: Some(1_000.0), ..gpu }), Some(LateCause::Host)), []);
}

#[test]
fn a_pause_has_the_condition_of_its_seconds() {
    let (quiet, gpu) = usual(0);
    let before = profile((quiet, gpu.clone()));
    let cause = |alike_us: f64, change: &dyn Fn(&mut HostCondition)| {
        let mut host = quiet;
        change(&mut host);
        let row = ConditionRow { until: SECOND as u64, length_us: 1_000_000, host, gpus: vec![] };
        cause_of_pause(&Profile::over(&placed(vec![row]).all(0)).unwrap(), &before, 50_000.0, alike_us)
    };
    assert_eq!(cause(50_000.0, &|_| {}), None);
    assert_eq!(cause(50_000.0, &|it| it.stopped_us = Some(49_000)), Some(CauseKind::Stopped));
    assert_eq!(cause(50_000.0, &|it| it.waiting_us = Some(60_000)), Some(CauseKind::Processor));
    assert_eq!(cause(50_000.0, &|it| it.waiting_us = Some(20_000)), None);
    // three such pauses in this second
    assert_eq!(cause(150_000.0, &|it| it.waiting_us = Some(60_000)), None);
}

#[test]
fn pauses_of_a_rank_that_is_stopped_again_and_again_are_its_stops() {
    let seconds = |stopped: &[u64]| {
        let row = |(number, &us): (usize, &u64)| ConditionRow {
            until: (number as u64 + 1) * SECOND as u64,
            length_us: 1_000_000,
            host: HostCondition { stopped_us: Some(us), ..usual(0).0 },
            gpus: vec![],
        };
        Profile::over(&placed(stopped.iter().enumerate().map(row).collect()).all(0)).unwrap()
    };
    let (then, all) = (seconds(&[150_000]), seconds(&[150_000; 4]));
    assert_eq!(cause_of_pause(&then, &all, 50_000.0, 150_000.0), None);
    // three stops of 50 ms a second: the pauses of the pause's second, and those of all seconds
    assert!(is_stop([&then, &all], 50_000.0, [150_000.0, 600_000.0]));
    assert!(is_stop([&then, &all], 50_000.0, [150_000.0, 2_000_000.0]), "other seconds have other pauses");
    assert!(!is_stop([&then, &all], 50_000.0, [400_000.0, 2_000_000.0]), "most pauses of the second are no stops");
    assert!(!is_stop([&then, &all], 50_000.0, [100_000.0, 100_000.0]), "most stops make no pause");
    assert!(!is_stop([&seconds(&[15_000]), &all], 50_000.0, [50_000.0, 600_000.0]), "not in these seconds");
    assert!(!is_stop([&seconds(&[0]), &seconds(&[0; 4])], 50_000.0, [50_000.0, 600_000.0]));
}

#[test]
fn a_rank_that_both_host_and_gpu_delay_has_the_gpus_part_as_work() {
    let peers: Vec<Profile> = (1..8).map(|number| profile(usual(number))).collect();
    let kinds = |gpu_share| {
        let straggler = Straggler { own_us: 8_000.0, excess_us: 2_000.0, gpu_share, ..Straggler::default() };
        let found = causes(&profile(usual(0)), &peers, &straggler, STEP_US);
        found.into_iter().map(|it| (it.kind, it.effect_us)).collect::<Vec<_>>()
    };
    assert_eq!(kinds(Some(0.75)), [(CauseKind::GpuWork, 1_500.0)]);
    assert_eq!(kinds(Some(0.25)), []);
    assert_eq!(kinds(None), []);
}

#[test]
fn ranks_that_stand_out_are_no_peers_but_those_that_pause_now_and_then_where_no_others_are_left() {
    assert_eq!(peers(&[1], &[0; 4], [&[1, 2], &[1]], 4), [0, 3]);
    assert_eq!(peers(&[1], &[0, 0, 7, 7], [&[0, 1], &[0, 1]], 4), [2, 3], "a stage");
    // of two ranks, rank 0 pauses, and rank 1 is always slow
    let both: [&[usize]; 2] = [&[0, 1], &[1]];
    assert_eq!([peers(&[1], &[0; 2], both, 2), peers(&[0], &[0; 2], both, 2)], [vec![0], vec![]]);
}

#[test]
fn rows_count_where_most_of_them_lies() {
    let (host, gpu) = usual(0);
    let mut rows = rows(host, gpu);
    rows[9].host.waiting_us = Some(1_000_000);
    let rows = placed(rows);
    let waiting = |end: i64| Profile::over(&rows.inside(0, [0, end])).unwrap().waiting.unwrap();
    assert!(waiting(9 * SECOND + SECOND / 4) < 0.01);
    assert!(waiting(9 * SECOND + SECOND * 3 / 4) > 0.1);
    assert_eq!(Profile::over(&rows.inside(0, [20 * SECOND, 21 * SECOND])), None);
}

#[test]
fn steps_without_a_begin_have_no_time() {
    let begins = StepBegins::default();
    assert_eq!((begins.from(0), begins.around(3)), (None, None));
}

const RANKS: usize = 6;

/// A job whose processes have conditions.
struct WithConditions<'a> {
    made: &'a MadeJob,
    of: &'a dyn Fn(usize, u64) -> HostCondition,
}

impl OperationTables for WithConditions<'_> {
    fn operations(&self, process: usize) -> Result<ProcessOperations<'_>, Unreadable> {
        self.made.table.operations(process)
    }

    /// Rows of 100 ms.
    fn conditions(&self, process: usize) -> Result<Vec<ConditionRow>, Unreadable> {
        let [begin, end] = self.made.job.processes[process].span;
        let row = |number: u64| ConditionRow {
            until: begin + (number + 1) * 100 * MS,
            length_us: 100_000,
            host: (self.of)(process, number),
            gpus: vec![],
        };
        Ok((0..(end - begin) / (100 * MS)).map(row).collect())
    }
}

/// Steps of three all-reduces, which a computation of `own` nanoseconds by rank and step waits for.
fn steps(own: impl Fn(usize, u64) -> u64) -> MadeJob {
    let mut maker = Maker::new(RANKS, RANKS);
    let world = maker.communicator("world", &(0..RANKS).collect::<Vec<_>>());
    let mut end = MS;
    for step in 0..60 {
        for place in 0..3_u64 {
            let little = |rank: usize| (rank as u64 * 7 + step * 3 + place) % 10 * 10 * US;
            let begins: Vec<u64> = (0..RANKS).map(|rank| end + own(rank, step) + little(rank)).collect();
            end = maker.collective(world, "AllReduce", 1 << (20 + place), Start::Each(&begins), 400 * US);
        }
    }
    maker.finish()
}

fn explained(made: &MadeJob, of: &dyn Fn(usize, u64) -> HostCondition) -> Report {
    report(&made.job, &WithConditions { made, of }, JobFacts::default(), &mut [], &mut |_| {}).unwrap()
}

#[test]
fn a_slow_rank_has_its_cause_in_the_answer() {
    let made = steps(|rank, _| if rank == 4 { 7 * MS } else { 5 * MS });
    let quiet = HostCondition { waiting_us: Some(100), running_us: Some(99_000), ..HostCondition::default() };
    let waits = HostCondition { waiting_us: Some(25_000), running_us: Some(75_000), ..quiet };
    let report = explained(&made, &|process, _| if process == 4 { waits } else { quiet });
    let found = &report.stragglers.known().unwrap().found;
    assert_eq!(found.iter().map(|it| it.gpus[0]).collect::<Vec<_>>(), [4]);
    let kinds = |report: &Report| {
        let found = &report.stragglers.known().unwrap().found;
        found[0].causes.as_ref().map(|causes| causes.iter().map(|it| it.kind).collect::<Vec<_>>())
    };
    assert_eq!(kinds(&report), Some(vec![CauseKind::Processor]));
    let cause = &found[0].causes.as_ref().unwrap()[0];
    assert_eq!([cause.own, cause.peers].map(|share| (share * 1e4).round() / 1e4), [0.25, 0.001]);
    // the same slow rank in conditions that are those of its peers, and in unknown ones
    let report = explained(&made, &|_, _| quiet);
    assert_eq!(kinds(&report), Some(vec![]));
    let report = explained(&made, &|_, _| HostCondition::default());
    assert_eq!(kinds(&report), None);
    // conditions alone make nobody slow
    let report = explained(&steps(|_, _| 5 * MS), &|process, _| if process == 4 { waits } else { quiet });
    assert!(report.stragglers.known().unwrap().found.is_empty());
}

#[test]
fn a_single_pause_has_the_cause_of_its_time() {
    let made = steps(|rank, step| if (rank, step) == (2, 30) { 55 * MS } else { 5 * MS });
    let report = report(&made.job, &made.table, JobFacts::default(), &mut [], &mut |_| {}).unwrap();
    let events = &report.stragglers.known().unwrap().events;
    assert!(events.iter().all(|event| event.gpu == 2 && event.cause.is_none()) && !events.is_empty(), "{events:?}");
    // 30 steps of 16.4 ms and some
    let pauses = 30 * 16 * MS / (100 * MS);
    let stopped = |process: usize, number: u64| HostCondition {
        stopped_us: Some(if process == 2 && (pauses..pauses + 3).contains(&number) { 50_000 } else { 0 }),
        ..HostCondition::default()
    };
    let explained = explained(&made, &stopped);
    let events = &explained.stragglers.known().unwrap().events;
    assert_eq!(events[0].cause, Some(CauseKind::Stopped), "{events:?}");
}
