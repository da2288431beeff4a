//! The steps that were found on each GPU. GPUs that do the same share one pattern.

use super::pattern::Repetition;
use super::token::CallToken;
use crate::job::Job;
use rustc_hash::FxHashSet;
use std::sync::Arc;

/// Calls of all patterns together: 128 MiB.
const MAX_PATTERN_CALLS: usize = 32 << 20;

/// Where a GPU's steps begin, and what they are.
#[derive(Debug, Clone)]
pub(super) struct OfGpu {
    pub(super) pattern: Arc<[CallToken]>,
    /// Calls before the first step.
    pub(super) from: u64,
    /// Micro-steps of a step, where it has several.
    pub(super) micro: Option<u64>,
    /// Steps in the part that was looked at.
    steps: usize,
    is_cut: bool,
}

/// Steps that all GPUs have.
#[derive(Debug)]
pub(super) struct Agreed {
    /// Mean lengths over GPUs, nanoseconds.
    pub(super) lengths: Vec<f64>,
    /// Number of steps, if all operations were looked at.
    pub(super) steps: Option<u64>,
}

/// The steps by GPU.
#[derive(Debug)]
pub(super) struct Patterns {
    pub(super) by_gpu: Vec<Option<OfGpu>>,
    known: FxHashSet<Arc<[CallToken]>>,
    room: usize,
    /// GPUs on which nothing repeats.
    missed: Vec<usize>,
    /// Sum of the lengths of each step, and the number of GPUs that have it.
    lengths: Vec<(f64, u32)>,
}

impl Patterns {
    pub(super) fn new(gpus: usize) -> Self {
        let (known, missed, lengths) = (FxHashSet::default(), vec![], vec![]);
        Self { by_gpu: vec![None; gpus], known, room: MAX_PATTERN_CALLS, missed, lengths }
    }

    /// Returns whether the steps of all GPUs are the same calls, and begin with the same one of them.
    pub(super) fn begin_together(&self) -> bool {
        let mut known = self.by_gpu.iter().flatten().map(|of| (&of.pattern, of.from));
        known.next().is_none_or(|first| known.all(|it| it == first))
    }

    /// Returns whether a GPU has steps.
    pub(super) fn has(&self, gpu: usize) -> bool {
        self.by_gpu.get(gpu).is_some_and(Option::is_some)
    }

    /// Notes that nothing repeats on a GPU.
    pub(super) fn miss(&mut self, gpu: usize) {
        self.missed.push(gpu);
    }

    /// Adds a GPU's steps with their lengths in nanoseconds.
    pub(super) fn add(&mut self, gpu: usize, found: Repetition, lengths: &[f64], is_cut: bool) {
        let pattern: Arc<[CallToken]> = found.pattern.into();
        let pattern = match self.known.get(&pattern) {
            Some(known) => Arc::clone(known),
            None if pattern.len() > self.room => return self.miss(gpu),
            None => {
                self.room -= pattern.len();
                self.known.insert(Arc::clone(&pattern));
                pattern
            }
        };
        if lengths.len() > self.lengths.len() {
            self.lengths.resize(lengths.len(), (0.0, 0));
        }
        for ((sum, gpus), length) in self.lengths.iter_mut().zip(lengths) {
            (*sum, *gpus) = (*sum + length, *gpus + 1);
        }
        if let Some(place) = self.by_gpu.get_mut(gpu) {
            let micro = found.micro.map(|micro| micro as u64);
            *place = Some(OfGpu { pattern, from: found.from as u64, micro, steps: lengths.len(), is_cut });
        }
    }

    /// Returns the steps that all GPUs have.
    ///
    /// # Errors
    /// A GPU has no steps, or another number of them: the reason in words. All recordings may end within a step, and
    /// those of processes that were ended may lack steps.
    pub(super) fn agreed(&self, job: &Job) -> Result<Agreed, String> {
        let name = |gpu: usize| job.gpus.get(gpu).map_or("?", |gpu| gpu.name.as_str());
        if let Some(&gpu) = self.missed.first() {
            return Err(format!("no repetition covers half of the operations of {}", name(gpu)));
        }
        let found = || self.by_gpu.iter().enumerate().filter_map(|(gpu, of)| Some((gpu, of.as_ref()?)));
        let is_complete = |gpu: usize| {
            job.gpus.get(gpu).and_then(|gpu| job.processes.get(gpu.process)).is_some_and(|process| process.complete)
        };
        let whole = || found().filter(|(_, of)| !of.is_cut);
        let fewest = whole().filter(|(gpu, _)| is_complete(*gpu)).min_by_key(|(_, of)| of.steps);
        let ends = fewest.zip(whole().max_by_key(|(_, of)| of.steps));
        if let Some(((few, least), (many, most))) = ends.filter(|((_, least), (_, most))| most.steps - least.steps > 1)
        {
            let (few, many) = (name(few), name(many));
            return Err(format!("ranks disagree: {few} repeats {} times, {many} {} times", least.steps, most.steps));
        }
        let gpus = found().count() as u32;
        if gpus == 0 {
            return Err("there are no operations".into());
        }
        // of recordings that were cut, GPUs with fewer calls in a step show more steps
        let shared = self.lengths.iter().take_while(|(_, of)| *of == gpus);
        let lengths: Vec<f64> = shared.map(|(sum, of)| sum / f64::from(*of)).collect();
        let is_cut = found().any(|(_, of)| of.is_cut);
        Ok(Agreed { steps: (!is_cut).then_some(lengths.len() as u64), lengths })
    }
}
