//! Which calls are steps: decided before the stream.

use super::figures::warm_up;
use super::patterns::{Agreed, OfGpu};
use super::survey::Survey;
use super::token::Detail;
use crate::analysis::robust::{median_of, quantile_reached};
use crate::answer::StepSource;
use crate::job::{Job, StepRegions};

/// What the steps are.
#[derive(Debug)]
pub(super) enum StepUnit {
    /// The user's steps, by process, on the common clock.
    Regions(Vec<Vec<[i64; 2]>>),
    /// What repeats, by GPU.
    Patterns(Detail, Vec<Option<OfGpu>>),
    /// One stretch from the first call to the last.
    Whole,
}

/// The steps of a job, before their lengths are known exactly.
#[derive(Debug)]
pub struct StepPlan {
    pub(super) what: StepUnit,
    /// How they were found, or why there are none.
    pub(super) source: Result<StepSource, String>,
    /// Steps at the beginning that are longer than twice the median: of the first 262,144 calls of each GPU, or of all
    /// regions.
    pub(crate) warm_up: u64,
    /// Number of steps that all GPUs have, warm-up included, where that is known already.
    steps: Option<u64>,
    /// The slowest step after the warm-up, by the same lengths.
    pub(crate) slowest: Option<u64>,
    /// The step after the warm-up whose length is nearest to their median.
    pub(crate) usual: Option<u64>,
}

impl StepPlan {
    /// Decides on the steps: the user's regions if there are any, else what repeats, else none. `common` returns a
    /// process' time on the common clock.
    pub fn decide(
        job: &Job,
        survey: Survey<'_>,
        regions: Option<&StepRegions>,
        common: &dyn Fn(usize, u64) -> i64,
    ) -> Self {
        if let Some(regions) = regions {
            return match of_regions(job, regions, common) {
                Ok((by_process, agreed)) => {
                    let name = regions.name.clone();
                    let source = if regions.is_file { StepSource::File(name) } else { StepSource::Region(name) };
                    Self::new(StepUnit::Regions(by_process), source, &agreed)
                }
                Err(reason) => Self::none(reason),
            };
        }
        let Survey { accumulated, bursts, .. } = survey;
        let alike = bursts.begin_together().then_some(bursts);
        for patterns in [Some(accumulated), alike].into_iter().flatten() {
            if let Ok(agreed) = patterns.agreed(job) {
                let what = StepUnit::Patterns(Detail::Exact, patterns.by_gpu);
                return Self::new(what, StepSource::Repetition, &agreed);
            }
        }
        match (survey.exact.agreed(job), survey.without_counts.agreed(job)) {
            (Ok(agreed), _) => {
                Self::new(StepUnit::Patterns(Detail::Exact, survey.exact.by_gpu), StepSource::Repetition, &agreed)
            }
            (Err(_), Ok(agreed)) => {
                let what = StepUnit::Patterns(Detail::WithoutCounts, survey.without_counts.by_gpu);
                Self::new(what, StepSource::RepetitionWithoutCounts, &agreed)
            }
            (Err(exact), Err(without)) => {
                let also = if exact == without { String::new() } else { format!("; without counts, {without}") };
                Self::none(format!("no steps were found: {exact}{also}; give a region or a file of times"))
            }
        }
    }

    fn new(what: StepUnit, source: StepSource, agreed: &Agreed) -> Self {
        let lengths = &agreed.lengths[..];
        let warm_up = warm_up(lengths);
        let behind = lengths.get(warm_up..).unwrap_or_default();
        let longest = quantile_reached(behind, 1.0);
        let slowest = behind.iter().position(|&length| length >= longest).map(|step| step as u64);
        let middle = median_of(behind.iter().copied());
        let distance = |length: &f64| (length - middle).abs();
        let nearest = behind.iter().enumerate().min_by(|(_, a), (_, b)| distance(a).total_cmp(&distance(b)));
        let usual = nearest.map(|(step, _)| step as u64);
        Self { what, source: Ok(source), warm_up: warm_up as u64, steps: agreed.steps, slowest, usual }
    }

    /// Returns the plan of a job without steps, for this reason: the recording is one stretch.
    pub(crate) fn none(reason: String) -> Self {
        Self { what: StepUnit::Whole, source: Err(reason), warm_up: 0, steps: None, slowest: None, usual: None }
    }

    /// Returns whether there are steps.
    pub fn has_steps(&self) -> bool {
        self.source.is_ok()
    }

    /// Returns the steps of each GPU, where they are repetitions.
    pub(super) fn patterns(&self) -> Option<impl Iterator<Item = &OfGpu>> {
        let StepUnit::Patterns(_, by_gpu) = &self.what else { return None };
        Some(by_gpu.iter().flatten())
    }

    /// Returns the number of calls of all GPUs in a step, where that is known.
    pub(crate) fn calls(&self) -> Option<u64> {
        Some(self.patterns()?.map(|of| of.pattern.len() as u64).sum())
    }

    /// Returns the number of a step that counts, after the warm-up; `None` of the warm-up and of steps that some GPUs
    /// do not have.
    pub(crate) fn counted(&self, step: u64) -> Option<u64> {
        step.checked_sub(self.warm_up).filter(|_| self.steps.is_none_or(|steps| step < steps))
    }

    /// Returns whether the survey has seen all steps.
    pub(crate) fn is_surveyed(&self) -> bool {
        self.steps.is_some()
    }
}

/// Regions by process, and the mean distance of their begins by step.
type Regions = (Vec<Vec<[i64; 2]>>, Agreed);

/// Brings the regions to the common clock.
fn of_regions(job: &Job, regions: &StepRegions, common: &dyn Fn(usize, u64) -> i64) -> Result<Regions, String> {
    let name = &regions.name;
    let mut by_process = vec![];
    for process in 0..job.processes.len() {
        let own = regions.by_process.get(process).map_or(&[][..], |own| &own[..]);
        let own: Vec<[i64; 2]> = own.iter().map(|times| times.map(|time| common(process, time))).collect();
        by_process.push(own);
    }
    let counts = || job.gpus.iter().map(|gpu| (gpu, by_process.get(gpu.process).map_or(0, Vec::len)));
    let (least, most) = (counts().min_by_key(|of| of.1), counts().max_by_key(|of| of.1));
    let Some(((few, least), (many, most))) = least.zip(most) else { return Err("there are no operations".into()) };
    if least == 0 {
        return Err(format!("{} has no step `{name}`", few.name));
    }
    if most - least > 1 {
        return Err(format!("ranks disagree: {} has {least} steps `{name}`, {} has {most}", few.name, many.name));
    }
    let length = |of: &Vec<[i64; 2]>, step: usize| {
        let [begin, end] = *of.get(step)?;
        Some((of.get(step + 1).map_or(end, |next| next[0]) - begin) as f64)
    };
    let mean = |step| {
        let lengths: Vec<f64> = by_process.iter().filter_map(|of| length(of, step)).collect();
        lengths.iter().sum::<f64>() / lengths.len().max(1) as f64
    };
    let lengths = (0..least).map(mean).collect();
    Ok((by_process, Agreed { lengths, steps: Some(least as u64) }))
}
