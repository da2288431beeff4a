//! A rank's steps: its own time and its excess over its peers, with and without pauses.

use super::owns::{MIN_STEPS, Owns};
use super::peers::{Division, Peers};
use super::run::CallRun;
use crate::analysis::robust::{NORMAL, error, median, median_of, quantile, spread};
use std::ops::Range;

/// The steps of a rank. Times are nanoseconds.
#[derive(Debug, Default)]
pub(super) struct RankSteps {
    /// Step, own time and excess without pauses, in the order of time.
    pub(super) steps: Vec<(u32, f64, f64)>,
    /// The usual excess by place: the median over steps.
    pub(super) by_place: Vec<f64>,
    /// The usual own times of the host and of the GPU by place, and their usual excesses.
    pub(super) clocks_by_place: Vec<[f64; 2]>,
    pub(super) excess_of_clocks: Vec<[f64; 2]>,
    /// Medians over steps of own time and excess.
    pub(super) own: f64,
    pub(super) excess: f64,
    /// Median over steps of the excess with pauses.
    pub(super) with_pauses: f64,
    /// Standard error of the excess.
    pub(super) error: f64,
}

impl RankSteps {
    /// Returns the mean excess of its steps, without pauses.
    pub(super) fn mean_excess(&self) -> f64 {
        self.steps.iter().map(|(_, _, excess)| excess).sum::<f64>() / self.steps.len().max(1) as f64
    }

    /// Takes the steps of a member of some peers in a stretch; `None` if it has none with own times.
    pub(super) fn take(
        (runs, division): (&[CallRun], &Division),
        peers: &Peers,
        member: usize,
        owns: &[Owns],
        stretch: &Range<u32>,
    ) -> Option<Self> {
        let program = &division.programs[peers.program];
        let has_peers = peers.members.len() > 1;
        let calls: Vec<(usize, u32, &[u32])> = program
            .steps
            .iter()
            .enumerate()
            .filter(|(_, (_, number))| stretch.contains(number))
            .filter_map(|(step, &(stretch, number))| Some((stretch, number, program.calls(step, member)?)))
            .collect();
        let is_known = |stretch: usize, call: usize| {
            runs[stretch].is_known(call) && (!has_peers || owns[stretch].excess[call].is_finite())
        };
        let at = |place: usize, of: &dyn Fn(usize, usize) -> f64| {
            let known = |&(stretch, _, calls): &(usize, u32, &[u32])| {
                let call = calls[place] as usize;
                is_known(stretch, call).then(|| of(stretch, call))
            };
            median_of(calls.iter().filter_map(known))
        };
        let by_places =
            |of: &dyn Fn(usize, usize) -> f64| (0..program.places).map(|place| at(place, of)).collect::<Vec<f64>>();
        let by_place: Vec<f64> = by_places(&|stretch, call| owns[stretch].excess_of(call));
        let own_by_place: Vec<f64> = by_places(&|stretch, call| owns[stretch].own[call] as f64);
        let of_clocks = |of: &dyn Fn(usize, usize) -> [f64; 2]| -> Vec<[f64; 2]> {
            let [host, gpu] = [0, 1].map(|clock| by_places(&|stretch, call| of(stretch, call)[clock]));
            host.into_iter().zip(gpu).map(|(host, gpu)| [host, gpu]).collect()
        };
        let clocks_by_place = of_clocks(&|stretch, call| owns[stretch].clocks(call).map(|it| it as f64));
        let excess_of_clocks = of_clocks(&|stretch, call| owns[stretch].excess_of_clocks(call));
        let mut single: Vec<f64> = vec![];
        let mut with_pauses: Vec<f64> = vec![];
        let mut steps = vec![];
        for &(stretch, number, calls) in &calls {
            let owns = &owns[stretch];
            let (mut own, mut excess, mut all, mut known) = (0.0, 0.0, 0.0, 0);
            for (place, &call) in calls.iter().enumerate() {
                let call = call as usize;
                if !is_known(stretch, call) {
                    continue;
                }
                known += 1;
                all += owns.excess_of(call);
                if owns.is_pause[call] {
                    (own, excess) = (own + own_by_place[place], excess + by_place[place]);
                } else {
                    own += owns.own[call] as f64;
                    excess += owns.excess_of(call);
                    single.push(owns.excess_of(call));
                }
            }
            // a step without most of its own times says nothing
            if 2 * known > calls.len() {
                steps.push((number, own, excess));
                with_pauses.push(all);
            }
        }
        let values: Vec<f64> = steps.iter().map(|it| it.2).collect();
        let [excess, deviation] = spread(&values);
        let error = if steps.len() < MIN_STEPS {
            // too few steps to see how they vary: single calls do
            let [_, deviation] = spread(&single);
            error(deviation * (program.places as f64).sqrt(), steps.len())
        } else {
            error(deviation, steps.len())
        };
        let own = median_of(steps.iter().map(|it| it.1));
        let with_pauses = median(&mut with_pauses);
        (!steps.is_empty()).then_some(Self {
            steps,
            by_place,
            clocks_by_place,
            excess_of_clocks,
            own,
            excess,
            with_pauses,
            error,
        })
    }

    /// Returns the stretch of steps in which the excess is another one, with the medians in it and outside; `None` if
    /// it is the same all the time.
    ///
    /// It is the stretch of at least [`STRETCH_LIMITS`] of the steps, and as many outside, with the largest difference
    /// of means over its standard error, of excesses cut off at five deviations (circular binary segmentation: Olshen
    /// et al., Biostatistics 2004, 5(4), 557-572, for one change).
    pub(super) fn stretch(&self) -> Option<ExcessStretch> {
        let count = self.steps.len();
        let values: Vec<f64> = self.steps.iter().map(|it| it.2).collect();
        if count < 4 * MIN_STEPS {
            return None;
        }
        // from step to step a lasting change is seen once
        let mut differences: Vec<f64> = values.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
        let deviation = NORMAL * median(&mut differences) / 2.0_f64.sqrt();
        // a change in few of the steps moves no median
        let mut sorted = values.clone();
        let [low, high] = [0.05, 0.95].map(|share| quantile(&mut sorted, share));
        let limit = 5.0 * deviation.max(1.0);
        let mut sums = vec![0.0];
        for value in &values {
            sums.push(sums[sums.len() - 1] + value.clamp(low - limit, high + limit));
        }
        let least = STRETCH_LIMITS.0.max((STRETCH_LIMITS.1 * count as f64).ceil() as usize).min(count / 2);
        let every = (count / MAX_STRETCH_ENDS).max(1);
        let (all, mut best) = (sums[count], (0.0, 0..0));
        for from in (0..count).step_by(every) {
            for until in (from + least..=count).rev().step_by(every) {
                let (inside, outside) = ((until - from) as f64, (count - (until - from)) as f64);
                if count - (until - from) < MIN_STEPS {
                    continue;
                }
                let sum = sums[until] - sums[from];
                let difference = sum / inside - (all - sum) / outside;
                let of_error = difference / (deviation.max(1.0) * (1.0 / inside + 1.0 / outside).sqrt());
                if of_error > best.0 {
                    best = (of_error, from..until);
                }
            }
        }
        let (of_error, at) = best;
        let outside: Vec<f64> = values[..at.start].iter().chain(&values[at.end..]).copied().collect();
        let own = median_of(self.steps[at.clone()].iter().map(|it| it.1));
        (of_error > MIN_CHANGE_Z).then(|| ExcessStretch {
            from: self.steps[at.start].0,
            until: self.steps.get(at.end).map(|it| it.0),
            outside: median(&mut outside.clone()),
            inside: median(&mut values[at.clone()].to_vec()),
            own,
        })
    }
}

/// Standard errors of a difference of means from which on it is a change.
const MIN_CHANGE_Z: f64 = 10.0;
/// Steps of a stretch at least, and share of all steps.
const STRETCH_LIMITS: (usize, f64) = (10, 0.05);
/// Steps between which begins and ends of a stretch are sought.
const MAX_STRETCH_ENDS: usize = 256;

/// A stretch of steps with another excess.
#[derive(Debug, Clone, Copy)]
pub(super) struct ExcessStretch {
    /// Its first step, and the first one after it; `None` where it lasts until the end.
    pub(super) from: u32,
    pub(super) until: Option<u32>,
    /// Median excess outside and inside, nanoseconds.
    pub(super) outside: f64,
    pub(super) inside: f64,
    /// Median own time in it, nanoseconds.
    pub(super) own: f64,
}
