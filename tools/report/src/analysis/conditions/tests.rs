//! Rows of processes, and the answer that is made of them.

use super::{Overview, ProcessRows, each_process};
use crate::answer::{Conditions, Part};
use crate::job::{Gpu, Job, OperationTables, Process, ProcessOperations, Unreadable};
use crate::stream::CommonClock;
use common::conditions::{ConditionRow, GpuRow, HostCondition};

const SECOND: u64 = 1_000_000_000;

/// A job of processes with this number of GPUs each.
fn job(processes: usize, gpus: usize) -> Job {
    let of_process = |process: usize| (0..gpus).map(move |index| Gpu { process, index, ..Gpu::default() });
    Job {
        processes: vec![Process { span: [0, 4 * SECOND], ..Process::default() }; processes],
        gpus: (0..processes).flat_map(of_process).collect(),
        ..Job::default()
    }
}

/// A row of a second that ends at the second `end`.
fn row(end: u64, host: HostCondition, gpus: Vec<GpuRow>) -> ConditionRow {
    ConditionRow { until: end * SECOND, length_us: 1_000_000, host, gpus }
}

fn waiting(share: f64) -> HostCondition {
    HostCondition { waiting_us: Some((share * 1e6) as u64), ..HostCondition::default() }
}

fn clock(bus: &str, sm_mhz: f64) -> GpuRow {
    GpuRow { bus: bus.into(), sm_mhz: Some(sm_mhz), sm_max_mhz: Some(2_000.0), ..GpuRow::default() }
}

/// Returns the answer of processes with these rows; clocks are one.
fn answer(job: &Job, rows: &[Vec<ConditionRow>], steps: Option<[i64; 2]>) -> Part<Conditions> {
    let end = i64::try_from(4 * SECOND).unwrap();
    let mut overview = Overview::new(job, steps, Some([0, end]));
    let gpus = job.gpus.len() / rows.len().max(1);
    for (process, rows) in rows.iter().enumerate().filter(|(_, rows)| !rows.is_empty()) {
        let rows = ProcessRows::place(rows.clone(), gpus, |own| i64::try_from(own).unwrap());
        overview.add(job, process, &rows, true);
    }
    overview.finish()
}

fn known(answer: Part<Conditions>) -> Conditions {
    let Part::Known(conditions) = answer else { panic!("{answer:?}") };
    conditions
}

#[test]
fn means_are_by_length_and_unknown_rows_are_in_none() {
    let host = |running, waiting, processors| HostCondition {
        running_us: Some(running),
        waiting_us: waiting,
        stopped_us: Some(0),
        major_faults: Some(3),
        processors: Some(processors),
        ..HostCondition::default()
    };
    let long = ConditionRow { length_us: 3_000_000, ..row(4, host(2_400_000, None, 8), vec![clock("a", 1_000.0)]) };
    let gpu = GpuRow { errors: Some(2), temperature_c: Some(71.0), ..clock("a", 2_000.0) };
    let rows = vec![row(1, host(400_000, Some(100_000), 2), vec![gpu]), long];
    let conditions = known(answer(&job(1, 1), &[rows], None));
    let of = conditions.rows[0];
    assert_eq!((conditions.of_steps, conditions.processes, of.length_us), (false, 1, Some(4e6)));
    assert_eq!((of.running, of.waiting, of.throttled), (Some(0.7), Some(0.1), None));
    assert!((of.blocked.unwrap() - 0.2).abs() < 1e-9, "{of:?}");
    assert_eq!((of.major_faults, of.processors), (Some(1.5), Some(2)));
    assert_eq!((of.sm_mhz, of.sm_mhz_least, of.sm_max_mhz), (Some(1_250.0), Some(1_000.0), Some(2_000.0)));
    assert_eq!((of.errors, of.temperature_c, of.power_w), (Some(2), Some(71.0), None));
}

#[test]
fn figures_are_of_the_steps_if_a_row_lies_in_them() {
    let rows = || vec![(1..=4).map(|end| row(end, waiting(end as f64 / 10.0), vec![])).collect::<Vec<_>>()];
    let second = 1_000_000_000;
    let conditions = known(answer(&job(1, 1), &rows(), Some([second * 7 / 5, second * 16 / 5])));
    // from 1.4 s to 3.2 s: most of the second and all of the third row, and little of the fourth one
    assert_eq!((conditions.of_steps, conditions.rows[0].waiting), (true, Some(0.25)));
    assert_eq!(conditions.rows[0].length_us, Some(2e6));
    let conditions = known(answer(&job(1, 1), &rows(), Some([second, second * 11 / 10])));
    assert_eq!((conditions.of_steps, conditions.rows[0].waiting), (false, Some(0.25)));
    assert_eq!(conditions.rows[0].length_us, Some(4e6), "steps shorter than a row: the whole recording");
}

#[test]
fn only_the_gpu_of_a_process_with_one_is_known_to_be_its_rank_s() {
    let both = || vec![clock("a", 1_000.0), clock("b", 1_800.0)];
    let clocks = |gpus: usize, rows: Vec<ConditionRow>| -> Vec<Option<f64>> {
        known(answer(&job(1, gpus), &[rows], None)).rows.iter().map(|row| row.sm_mhz).collect()
    };
    let one = vec![row(1, waiting(0.0), vec![clock("a", 1_000.0)]), row(2, waiting(0.0), vec![clock("a", 1_600.0)])];
    assert_eq!(clocks(1, one.clone()), [Some(1_300.0)]);
    // which of two a rank is on, nobody knows
    let two = vec![row(1, waiting(0.0), both()), row(2, waiting(0.0), vec![clock("b", 1_600.0)])];
    assert_eq!((clocks(1, two.clone()), clocks(2, two), clocks(2, one)), (vec![None], vec![None; 2], vec![None; 2]));
}

#[test]
fn the_course_has_the_overlap_of_rows_with_bins() {
    let host = |share| HostCondition { waiting_us: Some(share), ..HostCondition::default() };
    // a row from 0.5 to 2.5 s, and one from 2.5 to 3.5 s
    let at = |tenths: u64, length_us: u64, share| ConditionRow {
        until: tenths * SECOND / 10,
        length_us,
        ..row(0, host(share), vec![clock("a", 1_500.0)])
    };
    let map = known(answer(&job(1, 1), &[vec![at(25, 2_000_000, 400_000), at(35, 1_000_000, 600_000)]], None)).map;
    assert_eq!((map.bin_us, map.gpus_in_row), (1e6, 1));
    assert_eq!(map.waiting, [[Some(0.2), Some(0.2), Some(0.4), Some(0.6)]]);
    assert_eq!(map.sm_clock, [[Some(0.75); 4]]);
    assert!(map.power.is_empty(), "nobody has it");
}

#[test]
fn neighbours_of_a_large_job_share_a_row_with_the_figure_that_is_worth_a_look() {
    let all: Vec<_> = (0..600_u32)
        .map(|process| vec![row(1, waiting(f64::from(process) / 1000.0), vec![clock("a", 1e3 + f64::from(process))])])
        .collect();
    let map = known(answer(&job(600, 1), &all, None)).map;
    assert_eq!((map.gpus_in_row, map.waiting.len(), map.sm_clock.len()), (3, 200, 200));
    assert_eq!((map.waiting[1][0], map.sm_clock[1][0]), (Some(0.005), Some(0.5015)));
    assert_eq!((map.waiting[1].len(), map.waiting[1][1]), (4, None));
}

#[test]
fn a_long_recording_has_120_bins_and_rows_outside_of_it_do_no_harm() {
    let job = job(1, 1);
    let mut overview = Overview::new(&job, None, Some([0, 360_000_000_000]));
    let rows = [0, 180, 360, 900].map(|end| row(end, waiting(0.5), vec![]));
    let rows = ProcessRows::place(rows.to_vec(), 1, |own| i64::try_from(own).unwrap());
    overview.add(&job, 0, &rows, true);
    // a process whose clock nothing connects is in the table alone
    overview.add(&job, 0, &rows, false);
    let map = known(overview.finish()).map;
    let bins: Vec<usize> = (0..120).filter(|&bin| map.waiting[0][bin].is_some()).collect();
    assert_eq!((map.bin_us, map.waiting[0].len(), bins), (3e6, 120, vec![59, 119]));
}

/// Conditions of each process.
struct Tables(Vec<Vec<ConditionRow>>);

impl OperationTables for Tables {
    fn operations(&self, _process: usize) -> Result<ProcessOperations<'_>, Unreadable> {
        Ok(Box::new(std::iter::empty()))
    }

    fn conditions(&self, process: usize) -> Result<Vec<ConditionRow>, Unreadable> {
        let none = Unreadable { file: "made".into(), place: None, cause: "is damaged".into() };
        self.0.get(process).cloned().ok_or(none)
    }
}

#[test]
fn processes_without_conditions_are_left_out_and_without_any_the_part_is_absent() {
    let job = job(3, 1);
    let tables = Tables(vec![vec![], vec![row(1, waiting(0.5), vec![])]]);
    let clocks = CommonClock::read(&job, &tables).unwrap();
    let mut seen = vec![];
    each_process(&job, &tables, &clocks, |process, _| seen.push(process));
    assert_eq!(seen, [1]);
    let conditions = known(answer(&job, &[vec![], vec![row(1, waiting(0.5), vec![])], vec![]], None));
    let waiting: Vec<_> = conditions.rows.iter().map(|row| row.waiting).collect();
    assert_eq!((conditions.processes, waiting), (1, vec![None, Some(0.5), None]));
    assert_eq!(answer(&job, &[], None).absent(), Some(Conditions::NOT_IN_INPUTS));
}
