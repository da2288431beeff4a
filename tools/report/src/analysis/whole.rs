//! All parts of the answer. The tables are read twice ([`Pass`]), the second time for all parts at once.
//!
//! ```text
//!          ┌──► sample of all ──► clocks ─────────────┐
//! tables ──┤    (one process after the other)         ├──► stream ──► parts ──► Report
//!          └──► survey ──► plan of steps, dimensions ─┘
//! ```

use super::causes::{Explanation, StepBegins};
use super::choices::choices;
use super::communicators::{CallSum, CallSums};
use super::complete::{self, Incompleteness};
use super::conditions::{self, Overview};
use super::dimension::Dimensions;
use super::late::WaitListener;
use super::pairs::{LateRanks, Messages};
use super::series::StepTransfers;
use super::speed::{Speeds, shape};
use super::steps::{StepPlan, Survey};
use super::stepwise::Stepwise;
use super::stragglers::SlowRow;
use super::tags::TagSums;
use super::transfers::TransferSums;
use super::unfinished::Courses;
use crate::answer::{Answers, Conditions, Input, Pairs, Part, Report, SCHEMA, Series, Stragglers, WatchFindings};
use crate::job::{Job, Kernels, OperationTables, Options, StepRegions, Unreadable, read_all};
use crate::nccl_log::NcclLog;
use crate::stream::{self, ClockSampling, CommonClock, JudgedCall, Listener, Occurrence};
use common::summary;
use std::rc::Rc;

/// What is known of a job beside its operations.
#[derive(Debug, Clone, Default)]
pub struct JobFacts {
    /// The user's facts and choices.
    pub options: Options,
    /// Kernels of the computation.
    pub kernels: Option<Kernels>,
    /// The user's steps.
    pub regions: Option<StepRegions>,
    /// Where the links' rate is from.
    pub link: Option<String>,
    /// The inputs, with those that were left out.
    pub inputs: Vec<Input>,
    /// Transfers over the network by the processes' summaries.
    pub transfers: Vec<summary::Transfers>,
    /// Transfers by state, and of operations, by the same summaries.
    pub by_state: TransferSums,
    /// NCCL's log.
    pub log: Option<Rc<NcclLog>>,
    /// Remarks, a sentence each.
    pub notes: Vec<String>,
    /// Why times between operations are not those of the ranks: operations are left out on purpose. Parts that are made
    /// of such times are absent for this reason. `None` where all operations are there.
    pub between_unknown: Option<String>,
}

/// Makes the report of a job. `onlookers` see each call with its step; `watch` hears of each pass before it begins.
///
/// # Errors
/// A table cannot be read.
pub fn report(
    job: &Job,
    table: &dyn OperationTables,
    facts: JobFacts,
    onlookers: &mut [&mut dyn Onlooker],
    watch: &mut dyn FnMut(Pass),
) -> Result<Report, Unreadable> {
    watch(Pass::Survey);
    let (mut sampling, mut survey) = (ClockSampling::new(job), Survey::new(job));
    read_all(job.processes.len(), table, &mut [&mut sampling, &mut survey])?;
    let clocks = CommonClock::from_sample(job, sampling);
    let common = |process: usize, own: u64| clocks.time(process, own);
    let JobFacts { mut options, kernels, regions, link, inputs, transfers, by_state, log, notes, between_unknown } =
        facts;
    options.links = options.links.with_machines(job);
    let dimensions = Dimensions::find(job, &options.dimensions, &survey.tallies);
    let plan = match &between_unknown {
        Some(reason) => StepPlan::none(reason.clone()),
        None => StepPlan::decide(job, survey, regions.as_ref(), &common),
    };
    let series = if plan.has_steps() { StepTransfers::of_steps() } else { StepTransfers::of_slices(job) };
    let (mut found, mut calls, mut tags) = (Incompleteness::default(), CallSums::new(job), TagSums::default());
    let (mut speeds, mut messages, mut courses) = (Speeds::default(), Messages::default(), Courses::new(job));
    let mut parts = PartsByStep {
        late: WaitListener::new(job, options.top),
        stepwise: Stepwise::new(job, plan, &dimensions, &options, kernels, &common),
        series,
        begins: StepBegins::default(),
        dimensions: &dimensions,
        onlookers,
    };
    watch(Pass::Stream);
    let counts = stream::run(
        job,
        table,
        &clocks,
        &mut [&mut found, &mut calls, &mut tags, &mut speeds, &mut messages, &mut courses, &mut parts],
    )?;
    let named = dimensions.by_communicator();
    let clock = |process: usize, own: u64| clocks.error_of(process).map(|_| clocks.time(process, own));
    let begin = (0..job.processes.len()).filter_map(|process| clock(process, job.processes[process].span[0])).min();
    let compared = complete::MachineClocks { nodes: clocks.count() as u64, error: clocks.error() };
    calls.add(None, CallSum { operations: counts.foreign, ..CallSum::default() });
    let mut complete = found.finish(job, inputs, &compared, calls.whole());
    complete.early = courses.early(job);
    complete.early.iter_mut().for_each(|early| early.step = parts.stepwise.last_of(early.gpu));
    let mut by_step = parts.stepwise.finish(job);
    between_unknown.iter().for_each(|reason| by_step.withhold(reason));
    let late = by_step.stragglers.known().map(LateRanks::find).unwrap_or_default();
    let mut pairs = messages.finish(job, &named, &transfers, &late);
    if let (Part::Known(pairs), Some(of_network)) = (&mut pairs, by_step.of_network.take()) {
        let gains = of_network.gains(&slow_rows(job, pairs), pairs.slow.len());
        pairs.slow.iter_mut().zip(gains).for_each(|(part, gain)| part.gain_us = gain);
    }
    let conditions = conditions(job, table, &clocks, &parts.begins, &mut by_step.stragglers);
    complete.notes.extend(notes);
    complete.notes.extend(by_step.notes);
    if counts.foreign > 0 {
        let foreign = counts.foreign;
        complete.notes.push(format!("{foreign} operations are of communicators that no process introduces: left out."));
    }
    let steps = by_step.steps.known().map(|steps| steps.count);
    let [lengths_us, waits_us] = by_step.lengths_and_waits;
    let series = Series { lengths_us, waits_us, outside_us: by_step.outside_us, ..parts.series.finish(job, &named) };
    let mut speed = speeds.finish(job, &named, &options.links);
    if let Part::Known(speed) = &mut speed {
        speed.link = link.or(speed.link.take());
        let rows = pairs.known().map_or(&[][..], |pairs| &pairs.rows);
        speed.slow = shape::slow(job, &speed.rows, rows, complete.wait_error_us);
    }
    let communicators = calls.finish(job, &named, &clock, begin);
    let swim = match &between_unknown {
        Some(reason) => Part::Absent(reason.clone()),
        None => by_step.detail.answer(job, &dimensions, by_step.stragglers.known()),
    };
    let own_shares = between_unknown.is_none().then_some(&by_step.own_shares[..]);
    Ok(Report {
        schema: SCHEMA.into(),
        answers: Answers::default(),
        gpus: job.gpus.iter().map(|gpu| gpu.name.clone()).collect(),
        nodes: job.node_names(),
        nccl: job.releases(),
        complete,
        steps: by_step.steps,
        budget: by_step.budget,
        phases: by_step.phases,
        stragglers: by_step.stragglers,
        conditions,
        findings: Part::Absent(WatchFindings::NO_LOG.into()),
        late: parts.late.finish(job, steps, own_shares),
        speed,
        choices: choices(log.as_deref(), Some(job), (&pairs, &communicators)),
        pairs,
        transfers: by_state.finish(job),
        communicators,
        tags: tags.finish(),
        unfinished: courses.finish(job),
        swim,
        series,
    })
}

/// Returns the conditions of the processes, and adds the causes that they have for ranks that are outliers.
fn conditions(
    job: &Job,
    table: &dyn OperationTables,
    clocks: &CommonClock,
    begins: &StepBegins,
    stragglers: &mut Part<Stragglers>,
) -> Part<Conditions> {
    let is_placed = |process: usize| clocks.error_of(process).is_some();
    let spans = (0..job.processes.len()).filter(|&process| is_placed(process));
    let spans = spans.map(|process| job.processes[process].span.map(|time| clocks.time(process, time)));
    let whole = spans.reduce(|[begin, end], [other, last]| [begin.min(other), end.max(last)]);
    let mut overview = Overview::new(job, begins.from(0), whole);
    let mut explanation = match stragglers {
        Part::Known(stragglers) => Some(Explanation::new(job, begins, stragglers)),
        Part::Absent(_) => None,
    };
    conditions::each_process(job, table, clocks, |process, rows| {
        overview.add(job, process, rows, is_placed(process));
        explanation.iter_mut().for_each(|it| it.add(job, process, rows));
    });
    explanation.into_iter().for_each(Explanation::finish);
    overview.finish()
}

/// Returns the slow pairs by place in the job, with the parts of the network that explain them.
fn slow_rows(job: &Job, pairs: &Pairs) -> Vec<SlowRow> {
    let place = |gpu: Option<usize>| gpu.and_then(|gpu| u32::try_from(gpu).ok());
    let row = |part: usize, row: usize| {
        let pair = pairs.rows.get(row)?;
        Some(SlowRow {
            part,
            communicator: u32::try_from(job.place(&pair.comm)?).ok()?,
            gpus: [place(pair.from)?, place(pair.to)?],
            factor: pair.median? / pair.judged().filter(|rate| *rate > 0.0)?,
            carries_collectives: pair.transfers > 0,
        })
    };
    let rows = pairs.slow.iter().enumerate().flat_map(|(part, of)| of.rows.iter().filter_map(move |&it| row(part, it)));
    rows.collect()
}

/// A pass over the tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pass {
    /// The clocks are compared, and steps are looked for.
    Survey,
    /// The operations are matched and counted.
    Stream,
}

/// Where a call is in the job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placed<'a> {
    /// Its step, counted after the warm-up; `None` outside of these.
    pub step: Option<u64>,
    /// The dimension of parallelism that its communicator serves; `unknown` where nothing says.
    pub dimension: &'a str,
}

/// Sees all calls of a job while its report is made.
pub trait Onlooker {
    /// The next call of a GPU, in the order in which its host enqueued them.
    fn call(&mut self, job: &Job, judged: &JudgedCall, placed: &Placed<'_>);
}

/// The parts that take the step of a call, too.
struct PartsByStep<'a, 'b> {
    late: WaitListener,
    stepwise: Stepwise<'a>,
    series: StepTransfers,
    begins: StepBegins,
    dimensions: &'a Dimensions,
    onlookers: &'a mut [&'b mut dyn Onlooker],
}

impl Listener for PartsByStep<'_, '_> {
    fn occurrence(&mut self, job: &Job, occurrence: &Occurrence) {
        self.late.occurrence(job, occurrence);
    }

    fn call(&mut self, job: &Job, judged: &JudgedCall) {
        self.stepwise.call(job, judged);
        let step = self.stepwise.last;
        self.late.add(judged, step.is_some());
        self.series.call(job, judged, step);
        self.begins.call(judged.call(), step);
        if !self.onlookers.is_empty() {
            let placed = Placed { step, dimension: self.dimensions.name_of(judged.call().communicator) };
            self.onlookers.iter_mut().for_each(|onlooker| onlooker.call(job, judged, &placed));
        }
    }
}
