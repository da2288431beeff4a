//! A first look at the tables, before the stream: what repeats on each GPU, and what is done in each communicator.

use super::pattern::{Periods, Repetition, Walk};
use super::patterns::Patterns;
use super::sequence::Sequence;
use super::token::{Detail, OwnCommunicators};
use super::{accumulation, closing};
use crate::analysis::dimension::Tallies;
use crate::job::{Job, OperationTables, Unreadable};
use rustc_hash::FxHashMap;

/// Calls of a GPU in which a repetition is looked for.
const PREFIX: usize = if cfg!(test) { 1 << 12 } else { 1 << 18 };

/// What the tables' beginnings say. Of each GPU the first 262,144 calls are looked at, one process after the other.
#[derive(Debug)]
pub struct Survey {
    own: OwnCommunicators,
    pub(super) tallies: Tallies,
    /// Steps of several micro-steps.
    pub(super) accumulated: Patterns,
    pub(super) exact: Patterns,
    pub(super) without_counts: Patterns,
}

impl Survey {
    /// Prepares the survey of a job.
    pub fn new(job: &Job) -> Self {
        let patterns = || Patterns::new(job.gpus.len());
        let tallies = Tallies::new(job.communicators.len());
        let (accumulated, exact, without_counts) = (patterns(), patterns(), patterns());
        Self { own: OwnCommunicators::of(job), tallies, accumulated, exact, without_counts }
    }

    /// Looks at the operations of one process.
    ///
    /// # Errors
    /// The process' table cannot be read, or not further: what was read before counts.
    pub fn read(&mut self, job: &Job, table: &dyn OperationTables, process: usize) -> Result<(), Unreadable> {
        let gpus: Vec<usize> = (0..job.gpus.len()).filter(|&gpu| job.gpus[gpu].process == process).collect();
        let mut sequences: FxHashMap<usize, Sequence> = gpus.iter().map(|&gpu| (gpu, Sequence::default())).collect();
        let mut known = FxHashMap::default();
        let mut error = None;
        for row in table.operations(process)? {
            let row = match row {
                Ok(row) => row,
                Err(cause) => {
                    error = Some(cause);
                    break;
                }
            };
            let key = (row.comm, row.rank);
            let place = *known.entry(key).or_insert_with(|| {
                let place = job.places.get(&row.comm).copied()?;
                // a rank that two processes claim belongs to each, as in the stream
                let members = &job.communicators.get(place)?.members;
                let is_here = |gpu: &usize| gpus.contains(gpu);
                let own =
                    members.iter().filter(|member| member.rank == row.rank).map(|member| member.gpu).find(is_here);
                let gpu = own.or(gpus.first().copied())?;
                Some((gpu, place, self.own.place(gpu, place)))
            });
            let Some((gpu, place, own)) = place else { continue };
            let Some(sequence) = sequences.get_mut(&gpu) else { continue };
            if sequence.len() >= PREFIX {
                sequence.is_cut = true;
                if sequences.values().all(|sequence| sequence.is_cut) {
                    break;
                }
                continue;
            }
            sequence.add(&row, place, own, job, &mut self.tallies);
        }
        for gpu in gpus {
            let Some(mut sequence) = sequences.remove(&gpu) else { continue };
            sequence.finish(job, &mut self.tallies);
            if sequence.len() == 0 {
                continue;
            }
            let periods = |detail: Detail| Periods::of(&sequence.tokens[detail as usize], &sequence.bytes);
            let exact = periods(Detail::Exact);
            let accumulated = accumulation::steps(&sequence, &exact);
            look(&mut self.accumulated, gpu, Detail::Exact, &sequence, accumulated);
            let whole = closing::period(&sequence, &exact).and_then(|period| period.repetition(None));
            look(&mut self.exact, gpu, Detail::Exact, &sequence, whole);
            drop(exact);
            // without counts, calls of one function and of any size would each be a step
            let least = if self.exact.has(gpu) { 1 } else { 2 };
            let without = periods(Detail::WithoutCounts).best().and_then(|period| period.repetition(None));
            let without = without.filter(|found| found.pattern.len() >= least);
            look(&mut self.without_counts, gpu, Detail::WithoutCounts, &sequence, without);
        }
        error.map_or(Ok(()), Err)
    }

    /// Returns what is done in each communicator.
    pub fn tallies(&self) -> &Tallies {
        &self.tallies
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
