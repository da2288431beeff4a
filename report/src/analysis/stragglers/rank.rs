//! A rank's steps: its own time and its excess over its peers, with and without pauses.

use super::owns::{Owns, STEPS};
use super::peers::{Division, Peers};
use super::robust::{NORMAL, error, median, spread};
use super::run::CallRun;

/// The steps of a rank. Times are nanoseconds.
#[derive(Debug, Default)]
pub(super) struct RankSteps {
    /// Step, own time and excess without pauses, in the order of time.
    pub(super) steps: Vec<(u32, f64, f64)>,
    /// The usual excess by place: the median over steps.
    pub(super) by_place: Vec<f64>,
    /// The usual own time by place.
    pub(super) own_by_place: Vec<f64>,
    /// The part of it before the call's enqueue, by place; `None` where enqueues are not known.
    pub(super) host_by_place: Vec<Option<f64>>,
    /// Medians over steps of own time and excess.
    pub(super) own: f64,
    pub(super) excess: f64,
    /// Median over steps of the excess with pauses.
    pub(super) with_pauses: f64,
    /// Standard error of the excess.
    pub(super) error: f64,
}

impl RankSteps {
    /// Takes the steps of a member of some peers, from step `from` on; `None` if it has none with own times.
    pub(super) fn of(
        (runs, division): (&[CallRun], &Division),
        peers: &Peers,
        member: usize,
        owns: &[Owns],
        from: u32,
    ) -> Option<Self> {
        let program = &division.programs[peers.program];
        let has_peers = peers.members.len() > 1;
        let calls: Vec<(usize, u32, &[u32])> = program
            .steps
            .iter()
            .enumerate()
            .filter(|(_, (_, number))| *number >= from)
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
            median(&mut calls.iter().filter_map(known).collect::<Vec<f64>>())
        };
        let by_places =
            |of: &dyn Fn(usize, usize) -> f64| (0..program.places).map(|place| at(place, of)).collect::<Vec<f64>>();
        let by_place: Vec<f64> = by_places(&|stretch, call| owns[stretch].excess_of(call));
        let own_by_place: Vec<f64> = by_places(&|stretch, call| owns[stretch].own[call] as f64);
        let lead = |stretch: usize, call: usize| f64::from(runs[stretch].calls[call].lead);
        let host = |stretch: usize, call: usize| (owns[stretch].own[call] as f64 - lead(stretch, call)).max(0.0);
        let host_by_place = by_places(&lead).into_iter().zip(by_places(&host));
        let host_by_place = host_by_place.map(|(lead, host): (f64, f64)| (lead > 0.0).then_some(host)).collect();
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
        let error = if steps.len() < STEPS {
            // too few steps to see how they vary: single calls do
            let [_, deviation] = spread(&single);
            error(deviation * (program.places as f64).sqrt(), steps.len())
        } else {
            error(deviation, steps.len())
        };
        let own = median(&mut steps.iter().map(|it| it.1).collect::<Vec<f64>>());
        let with_pauses = median(&mut with_pauses);
        (!steps.is_empty()).then_some(Self {
            steps,
            by_place,
            own_by_place,
            host_by_place,
            own,
            excess,
            with_pauses,
            error,
        })
    }

    /// Returns the step from which on the excess is another one, with the medians before and behind it; `None` if it is
    /// the same all the time.
    ///
    /// The place is that of the largest difference of means over its standard error, of excesses cut off at five
    /// deviations (a CUSUM test for one change of the mean).
    pub(super) fn change(&self) -> Option<ExcessChange> {
        let count = self.steps.len();
        let values: Vec<f64> = self.steps.iter().map(|it| it.2).collect();
        if count < 4 * STEPS {
            return None;
        }
        // from step to step a lasting change is seen once
        let mut differences: Vec<f64> = values.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
        let deviation = NORMAL * median(&mut differences) / 2.0_f64.sqrt();
        let [middle, wide] = spread(&values);
        let limit = 5.0 * wide.max(deviation);
        let cut: Vec<f64> = values.iter().map(|value| (value - middle).clamp(-limit, limit)).collect();
        let all: f64 = cut.iter().sum();
        let (mut sum, mut best) = (0.0, (0.0, 0));
        for (at, value) in cut.iter().enumerate() {
            let before = at as f64;
            let behind = (count - at) as f64;
            if at >= STEPS && count - at >= STEPS {
                let difference = (all - sum) / behind - sum / before;
                let of_error = difference.abs() / (deviation.max(1.0) * (1.0 / before + 1.0 / behind).sqrt());
                if of_error > best.0 {
                    best = (of_error, at);
                }
            }
            sum += value;
        }
        let (of_error, at) = best;
        let medians = [&values[..at], &values[at..]].map(|values| median(&mut values.to_vec()));
        let own = median(&mut self.steps[at..].iter().map(|it| it.1).collect::<Vec<f64>>());
        (of_error > CHANGED).then(|| ExcessChange {
            step: self.steps[at].0,
            before: medians[0],
            behind: medians[1],
            own,
        })
    }
}

/// Standard errors of a difference of means from which on it is a change.
const CHANGED: f64 = 8.0;

/// A lasting change of the excess.
#[derive(Debug, Clone, Copy)]
pub(super) struct ExcessChange {
    /// First step behind it.
    pub(super) step: u32,
    /// Median excess before and behind it, nanoseconds.
    pub(super) before: f64,
    pub(super) behind: f64,
    /// Median own time behind it, nanoseconds.
    pub(super) own: f64,
}
