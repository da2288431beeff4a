//! A first look at the tables, before the stream: what repeats on each GPU, and what is done in each communicator.

use super::met::{MetCalls, MetSequences};
use super::pattern::{Repetition, Walk};
use super::patterns::Patterns;
use super::sequence::Sequence;
use super::token::{Detail, OwnCommunicators};
use super::{accumulation, bursts, closing};
use crate::analysis::dimension::Tally;
use crate::job::{Job, RankOperation, RowListener};
use crate::stream::{MatchingPlace, Places};
use rustc_hash::FxHashMap;

/// Calls of a GPU in which a repetition is looked for.
const MAX_CALLS: usize = if cfg!(test) { 1 << 12 } else { 1 << 18 };

/// What the tables' beginnings say. Of each GPU the first 262,144 calls are looked at.
#[derive(Debug)]
pub struct Survey<'a> {
    job: &'a Job,
    places: Places,
    present: PresentProcess,
    met: MetSequences,
    own: OwnCommunicators,
    /// What is done in each communicator.
    pub tallies: Vec<Tally>,
    /// Steps of several micro-steps.
    pub(super) accumulated: Patterns,
    /// Steps whose calls are all alike.
    pub(super) bursts: Patterns,
    pub(super) exact: Patterns,
    pub(super) without_counts: Patterns,
}

/// The process whose operations are looked at.
#[derive(Debug, Default)]
struct PresentProcess {
    process: usize,
    /// Places of its GPUs in the job.
    gpus: Vec<usize>,
    /// The calls of each GPU.
    sequences: FxHashMap<usize, Sequence>,
}

impl<'a> Survey<'a> {
    /// Prepares the survey of a job.
    pub fn new(job: &'a Job) -> Self {
        let patterns = || Patterns::new(job.gpus.len());
        let tallies = vec![Tally::default(); job.communicators.len()];
        let [accumulated, bursts, exact, without_counts] = std::array::from_fn(|_| patterns());
        let (places, present, met) = (Places::new(job), PresentProcess::default(), MetSequences::default());
        let own = OwnCommunicators::new(job);
        Self { job, places, present, met, own, tallies, accumulated, bursts, exact, without_counts }
    }
}

impl RowListener for Survey<'_> {
    fn begin(&mut self, process: usize) {
        let gpus: Vec<usize> = (0..self.job.gpus.len()).filter(|&gpu| self.job.gpus[gpu].process == process).collect();
        let sequences = gpus.iter().map(|&gpu| (gpu, Sequence::default())).collect();
        self.present = PresentProcess { process, gpus, sequences };
    }

    fn row(&mut self, row: &RankOperation) {
        let place = self.places.of_operation(self.present.process, row.comm, row.rank);
        let Some(MatchingPlace { gpu, communicator, .. }) = place else { return };
        let Some(sequence) = self.present.sequences.get_mut(&gpu) else { return };
        if sequence.len() < MAX_CALLS {
            let own = self.own.place(gpu, communicator);
            sequence.add(row, communicator, own, self.job, &mut self.tallies);
        } else {
            sequence.is_cut = true;
        }
    }

    fn end(&mut self) {
        let PresentProcess { gpus, mut sequences, .. } = std::mem::take(&mut self.present);
        for gpu in gpus {
            let Some(mut sequence) = sequences.remove(&gpu) else { continue };
            sequence.finish(self.job, &mut self.tallies);
            if sequence.len() == 0 {
                continue;
            }
            let MetCalls { exact, without_counts, .. } = self.met.meet(&sequence);
            let accumulated = accumulation::steps(&sequence, exact);
            look(&mut self.accumulated, gpu, Detail::Exact, &sequence, accumulated);
            let period = closing::period(&sequence, exact);
            let of_bursts = period.and_then(|period| bursts::steps(&sequence, period));
            look(&mut self.bursts, gpu, Detail::Exact, &sequence, of_bursts);
            let whole = period.and_then(|period| period.repetition(None));
            look(&mut self.exact, gpu, Detail::Exact, &sequence, whole);
            // without counts, calls of one function and of any size would each be a step
            let least = if self.exact.has(gpu) { 1 } else { 2 };
            let without = without_counts.best().and_then(|period| period.repetition(None));
            let without = without.filter(|found| found.pattern.len() >= least);
            look(&mut self.without_counts, gpu, Detail::WithoutCounts, &sequence, without);
        }
    }
}

/// Adds the steps of a GPU with their lengths.
fn look(patterns: &mut Patterns, gpu: usize, detail: Detail, sequence: &Sequence, found: Option<Repetition>) {
    let Some(found) = found else { return patterns.miss(gpu) };
    let tokens = &sequence.tokens[detail as usize];
    let mut walk = Walk::default();
    let (mut begins, mut steps, mut last_stop, mut stop) = (vec![], 0, 0, 0);
    for (&token, times) in tokens.iter().zip(&sequence.times).skip(found.from) {
        let met = walk.meet(&found.pattern, token);
        if met.is_first {
            begins.push(times[0]);
            stop = 0;
        }
        if met.fits {
            stop = stop.max(times[1]);
        }
        if met.is_last {
            steps += 1;
            last_stop = stop;
        }
    }
    // a step ends with the next one's begin, the last one with its last call
    if begins.len() == steps {
        begins.push(last_stop);
    }
    let lengths: Vec<f64> = begins.windows(2).map(|pair| pair[1].saturating_sub(pair[0]) as f64).collect();
    patterns.add(gpu, found, &lengths, sequence.is_cut);
}
