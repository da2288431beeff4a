//! The steps played again with other own times or transfers, and how long they take then.

use super::owns::Owns;
use super::run::CallRun;

/// Calls of a GPU in a stretch from which on one of them says little.
const MIN_CALLS: usize = 100;

/// The stretches of a job with their own times.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scene<'a> {
    pub(super) runs: &'a [CallRun],
    pub(super) owns: &'a [Owns],
    /// Steps that are left out of the mean length, sorted.
    pub(super) left_out: &'a [u32],
}

/// Returns the own times of the host and of the GPU before a call of a stretch, nanoseconds.
pub(super) type OwnTimesBefore<'a> = &'a dyn Fn(usize, usize) -> [i64; 2];
/// Returns a transfer in place of the measured one: see [`CallRun::play`].
pub(super) type OtherTransfer<'a> = &'a dyn Fn(&CallRun, usize, Option<usize>, i64) -> i64;

/// Leaves transfers as they are.
pub(super) fn unchanged(_: &CallRun, _: usize, _: Option<usize>, transfer: i64) -> i64 {
    transfer
}

/// Lengths of steps: sum over GPUs and steps, and their number.
#[derive(Debug, Clone, Copy, Default)]
struct StepLengths {
    length: f64,
    count: u64,
}

impl Scene<'_> {
    /// Returns the mean length of a step with other own times and transfers, nanoseconds: `own` returns the own time of
    /// a call of a stretch, `transfer` the transfer of a call, or that between a call and one that it meets. `None` if
    /// the steps cannot be played.
    pub(super) fn play(&self, own: OwnTimesBefore<'_>, transfer: OtherTransfer<'_>) -> Option<f64> {
        let mut sum = StepLengths::default();
        for (stretch, (run, owns)) in self.runs.iter().zip(self.owns).enumerate() {
            let scaled = |call: usize, other: Option<usize>, time: i64| transfer(run, call, other, time);
            let times = run.play(&owns.paths, &|call| own(stretch, call), &scaled)?;
            self.add(run, &|call| times[call], &mut sum);
        }
        (sum.count > 0).then(|| sum.length / sum.count as f64)
    }

    /// Returns the mean length of a step with nothing changed, nanoseconds; `None` if the steps cannot be played.
    pub(super) fn reenacted(&self) -> Option<f64> {
        self.play(&|stretch, call| self.owns[stretch].clocks(call), &unchanged)
    }

    /// Returns the mean length of a step as measured, nanoseconds.
    pub(super) fn measured(&self) -> Option<f64> {
        let mut sum = StepLengths::default();
        for run in self.runs {
            self.add(run, &|call| [run.calls[call].begin, run.calls[call].end], &mut sum);
        }
        (sum.count > 0).then(|| sum.length / sum.count as f64)
    }

    /// Adds the lengths of the steps of a stretch, from begin to begin. The first one of a stretch of few calls is left
    /// out: its first call begins as measured, whatever was changed. The only one of a stretch goes to its last end.
    fn add(&self, run: &CallRun, times: &dyn Fn(usize) -> [i64; 2], sum: &mut StepLengths) {
        for gpu in 0..run.first.len() - 1 {
            let calls = run.first[gpu]..run.first[gpu + 1];
            let mut begins: Vec<(u32, i64)> = vec![];
            for call in calls.clone() {
                let step = run.calls[call].step;
                if begins.last().is_none_or(|(last, _)| *last != step) {
                    begins.push((step, times(call)[0]));
                }
            }
            if let ([(_, begin)], Some(end)) = (&begins[..], calls.map(|call| times(call)[1]).max()) {
                (sum.length, sum.count) = (sum.length + (end - begin) as f64, sum.count + 1);
            }
            let from = usize::from(begins.len() > 3 && run.first[gpu + 1] - run.first[gpu] < MIN_CALLS);
            for pair in begins.get(from..).unwrap_or_default().windows(2) {
                let follows = pair[0].0 + 1 == pair[1].0;
                if follows && self.left_out.binary_search(&pair[0].0).is_err() {
                    (sum.length, sum.count) = (sum.length + (pair[1].1 - pair[0].1) as f64, sum.count + 1);
                }
            }
        }
    }
}
