//! All parts of the answer in one pass over the stream.
//!
//! ```text
//! tables ──► Survey (one process after the other) ──► Plan, Dimensions ──┐
//! tables ──► Clocks (a sample of all) ───────────────────────────────────┴──► stream ──► parts ──► Report
//! ```

use super::communicators::Usage;
use super::complete::{self, Found};
use super::dimension::Dimensions;
use super::late::Waits;
use super::pairs::Messages;
use super::series::Transfers;
use super::speed::Speeds;
use super::steps::{Plan, Survey};
use super::stepwise::Stepwise;
use super::unfinished::Courses;
use crate::answer::{Answers, Callbacks, Input, Part, Report, SCHEMA};
use crate::job::{Job, Kernels, Options, StepRegions, Table, Unreadable};
use crate::stream::{self, Clocks, Judged, Listener, Occurrence};
use common::summary;

/// What is known of a job beside its operations.
#[derive(Debug, Clone, Default)]
pub struct Facts {
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
    /// Remarks, a sentence each.
    pub notes: Vec<String>,
}

/// Makes the report of a job. `also` listen to the stream, too; `watch` hears of each pass before it begins.
///
/// # Errors
/// A table cannot be read.
pub fn report(
    job: &Job,
    table: &dyn Table,
    facts: Facts,
    also: &mut [&mut dyn Listener],
    watch: &mut dyn FnMut(Pass),
) -> Result<Report, Unreadable> {
    watch(Pass::Clocks);
    let clocks = Clocks::of(job, table)?;
    let common = |process: usize, own: u64| clocks.time(process, own);
    let mut survey = Survey::new(job);
    for process in 0..job.processes.len() {
        watch(Pass::Survey(process));
        survey.read(job, table, process)?;
    }
    let Facts { options, kernels, regions, link, inputs, transfers, notes } = facts;
    let dimensions = Dimensions::of(job, &options.dimensions, survey.tallies());
    let plan = Plan::of(job, survey, regions.as_ref(), &common);
    let series = if plan.has_steps() { Transfers::of_steps() } else { Transfers::of_slices(job) };
    let mut parts = Parts {
        found: Found::new(),
        late: Waits::new(job, options.top),
        speed: Speeds::new(),
        pairs: Messages::new(),
        usage: Usage::new(job),
        courses: Courses::new(job),
        stepwise: Stepwise::new(job, plan, &dimensions, &options, kernels, &common),
        series,
    };
    watch(Pass::Stream);
    let mut listeners: Vec<&mut dyn Listener> = vec![&mut parts];
    also.iter_mut().for_each(|listener| listeners.push(*listener));
    let counts = stream::run(job, table, &clocks, &mut listeners)?;
    let named = dimensions.by_communicator();
    let clock = |process: usize, own: u64| clocks.error_of(process).map(|_| clocks.time(process, own));
    let begin = (0..job.processes.len()).filter_map(|process| clock(process, job.processes[process].span[0])).min();
    let compared = complete::Clocks { nodes: clocks.count() as u64, error: clocks.error() };
    parts.found.add(counts.foreign, 0);
    let mut complete = parts.found.finish(job, inputs, &compared);
    let by_step = parts.stepwise.finish(job);
    complete.notes.extend(notes);
    complete.notes.extend(by_step.notes);
    if counts.foreign > 0 {
        let foreign = counts.foreign;
        complete.notes.push(format!("{foreign} operations are of communicators that no process introduces: left out."));
    }
    let steps = by_step.steps.known().map(|steps| steps.count);
    let mut speed = parts.speed.finish(job, &named, &options.links);
    if let crate::answer::Part::Known(speed) = &mut speed {
        speed.link = link;
    }
    let stragglers = Part::Absent("The steps were not re-enacted.".into());
    let swim = by_step.detail.answer(job, &dimensions, stragglers.known());
    Ok(Report {
        schema: SCHEMA.into(),
        answers: Answers::default(),
        gpus: job.gpus.iter().map(|gpu| gpu.name.clone()).collect(),
        nodes: job.node_names(),
        complete,
        steps: by_step.steps,
        budget: by_step.budget,
        phases: by_step.phases,
        stragglers,
        late: parts.late.finish(job, steps),
        speed,
        pairs: parts.pairs.finish(job, &transfers),
        communicators: parts.usage.finish(job, &named, &clock, begin),
        unfinished: parts.courses.finish(job),
        swim,
        callbacks: Part::Absent(Callbacks::NOT_IN_INPUTS.into()),
        series: parts.series.finish(job, &named),
    })
}

/// A pass over the tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pass {
    /// The clocks are compared.
    Clocks,
    /// The steps of a process are looked for.
    Survey(usize),
    /// The operations are matched and counted.
    Stream,
}

/// All parts that listen.
struct Parts<'a> {
    found: Found,
    late: Waits,
    speed: Speeds,
    pairs: Messages,
    usage: Usage,
    courses: Courses,
    stepwise: Stepwise<'a>,
    series: Transfers,
}

impl Listener for Parts<'_> {
    fn occurrence(&mut self, job: &Job, occurrence: &Occurrence) {
        self.found.occurrence(job, occurrence);
        self.late.occurrence(job, occurrence);
        self.speed.occurrence(job, occurrence);
        self.pairs.occurrence(job, occurrence);
        self.usage.occurrence(job, occurrence);
        self.courses.occurrence(job, occurrence);
    }

    fn call(&mut self, job: &Job, judged: &Judged) {
        self.found.call(job, judged);
        self.speed.call(job, judged);
        self.pairs.call(job, judged);
        self.usage.call(job, judged);
        self.courses.call(job, judged);
        self.stepwise.call(job, judged);
        self.late.add(judged, self.stepwise.step().is_some());
        self.series.call(job, judged, self.stepwise.step());
    }
}
