//! Whole jobs with figures that are known in advance.

mod budget;
mod steps;
mod stream;

use super::*;
use crate::analysis::steps::Survey;
use crate::analysis::tests::calls::{Rows, collective, job};
use crate::answer::Swim;
use crate::job::{Links, StepRegions, read_all};

/// A clock that all processes read.
fn common(_: usize, time: u64) -> i64 {
    time as i64
}

fn plan(job: &Job, calls: &[JudgedCall], regions: Option<&StepRegions>) -> StepPlan {
    let mut survey = Survey::new(job);
    let rows = Rows::of(job, calls);
    read_all(job.processes.len(), &rows, &mut [&mut survey]).unwrap();
    StepPlan::decide(job, survey, regions, &common)
}

pub(super) fn answer(
    job: &Job,
    calls: &[JudgedCall],
    regions: Option<&StepRegions>,
    kernels: Option<Kernels>,
) -> ByStep {
    let dimensions = dimensions(job);
    let links = Links { others: Some(80.0), ..Links::default() };
    let options = Options { top: 3, links, ..Options::default() };
    let mut stepwise = Stepwise::new(job, plan(job, calls, regions), &dimensions, &options, kernels, &common);
    calls.iter().for_each(|judged| stepwise.call(job, judged));
    stepwise.finish(job)
}

fn dimensions(job: &Job) -> Dimensions {
    let rules = crate::analysis::dimension::rules("dimensions", "TP name tp\nDP name dp\n").unwrap();
    Dimensions::find(job, &rules, &Survey::new(job).tallies)
}

/// Returns the step in detail.
pub(super) fn swim(job: &Job, found: ByStep) -> Swim {
    let Part::Known(swim) = found.detail.answer(job, &dimensions(job), None) else { panic!("no step in detail") };
    swim
}

/// A call of `function` and `count` on both GPUs: begin, end.
pub(super) fn both(job: &Job, comm: u64, function: &str, count: u64, at: [i64; 2]) -> [JudgedCall; 2] {
    [0, 1].map(|gpu| collective(job, comm, gpu, function, count).at(at[0] - 1, at[0], at[1]).wait(0).judged())
}

pub(super) fn two() -> Job {
    let mut job = job(&[(7, &[0, 1]), (8, &[0, 1])]);
    job.communicators[0].name = "tp".into();
    job.communicators[1].name = "dp".into();
    job
}

/// Steps of these lengths: 4 equal layers on `tp`, and a sum of 1,000 on `dp`; before them, other operations.
pub(super) fn training(job: &Job, lengths: &[i64]) -> Vec<JudgedCall> {
    let mut calls = vec![];
    let mut at = 1_000;
    for count in [3, 5, 5, 64, 9] {
        calls.extend(both(job, 8, "Broadcast", count, [at, at + 10]));
        at += 10_000;
    }
    for length in lengths {
        for layer in 0..4 {
            calls.extend(both(job, 7, "AllReduce", 64, [at + 100 * layer, at + 100 * layer + 50]));
        }
        calls.extend(both(job, 8, "AllReduce", 1000, [at + 400, at + 900]));
        at += length;
    }
    calls
}
