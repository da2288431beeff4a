//! Conditions beside operations: one reading of them gives the answer's part and the causes of late ranks.

use crate::analysis::whole::{JobFacts, report};
use crate::answer::{CauseKind, Conditions, Report};
use crate::job::{OperationTables, ProcessOperations, Unreadable};
use crate::made::{MS, MadeJob, Maker, Start, US};
use common::conditions::{ConditionRow, HostCondition};
use std::cell::RefCell;

const RANKS: usize = 4;
const SLOW: usize = 3;

/// A made job in which the launching thread of [`SLOW`] waits for a processor for 30 % of the time.
struct Beside<'a> {
    made: &'a MadeJob,
    /// The processes whose conditions were read, in that order.
    read: RefCell<Vec<usize>>,
}

impl OperationTables for Beside<'_> {
    fn operations(&self, process: usize) -> Result<ProcessOperations<'_>, Unreadable> {
        self.made.table.operations(process)
    }

    fn conditions(&self, process: usize) -> Result<Vec<ConditionRow>, Unreadable> {
        self.read.borrow_mut().push(process);
        let [begin, end] = self.made.job.processes[process].span;
        let waiting = if process == SLOW { 30_000 } else { 0 };
        let host = HostCondition { waiting_us: Some(waiting), running_us: Some(50_000), ..HostCondition::default() };
        let row = |until| ConditionRow { until, length_us: 100_000, host, gpus: vec![] };
        Ok((begin..end).step_by(100_000_000).skip(1).map(row).collect())
    }
}

/// Steps of three all-reduces after computations of 5 ms, of which those of [`SLOW`] take 30 % longer.
fn made() -> MadeJob {
    let mut maker = Maker::new(RANKS, RANKS);
    let world = maker.communicator("world", &(0..RANKS).collect::<Vec<_>>());
    let mut end = MS;
    for step in 0..60 {
        for place in 0..3 {
            let varied = |rank: usize| ((rank as u64 * 31 + step * 17 + place * 7) % 13) * 10 * US;
            let work = |rank: usize| if rank == SLOW { 6_500 * US } else { 5_000 * US };
            let begins: Vec<u64> = (0..RANKS).map(|rank| end + work(rank) + varied(rank)).collect();
            end = maker.collective(world, "AllReduce", 1 << (20 + place), Start::Each(&begins), 400 * US);
        }
    }
    maker.finish()
}

fn answer(table: &dyn OperationTables, made: &MadeJob) -> Report {
    report(&made.job, table, JobFacts::default(), &mut [], &mut |_| {}).unwrap()
}

#[test]
fn one_reading_gives_the_part_and_the_causes() {
    let made = made();
    let table = Beside { made: &made, read: RefCell::default() };
    let report = answer(&table, &made);
    assert_eq!(table.read.into_inner(), (0..RANKS).collect::<Vec<_>>(), "each process once");
    let conditions = report.conditions.known().unwrap();
    let waiting: Vec<_> = conditions.rows.iter().map(|row| row.waiting.unwrap()).collect();
    assert_eq!((conditions.of_steps, conditions.processes), (true, 4));
    assert!(waiting[..SLOW].iter().all(|share| *share == 0.0) && (waiting[SLOW] - 0.3).abs() < 1e-9, "{waiting:?}");
    assert!(conditions.rows[0].length_us.is_some_and(|us| us > 8e5), "{conditions:?}");
    assert_eq!(conditions.map.waiting[SLOW][0], Some(0.3));
    let found = &report.stragglers.known().unwrap().found;
    assert_eq!(found.iter().map(|it| it.gpus.as_slice()).collect::<Vec<_>>(), [[SLOW]]);
    let causes: Vec<CauseKind> = found[0].causes.iter().flatten().map(|cause| cause.kind).collect();
    assert_eq!(causes.first(), Some(&CauseKind::Processor), "{found:?}");
}

#[test]
fn operations_alone_give_a_report_without_conditions() {
    let made = made();
    let report = answer(&made.table, &made);
    assert_eq!(report.conditions.absent(), Some(Conditions::NOT_IN_INPUTS));
    assert_eq!(report.stragglers.known().unwrap().found[0].causes, None);
}
