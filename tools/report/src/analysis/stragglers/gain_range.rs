//! Between which two a gain lies.
//!
//! Where own times are hidden, they may be as long as those of the slowest rank, or shorter than all that is seen: the
//! gain lies between those of both. Hosts that ran ahead of their GPUs may do so no more in a shorter step, and then
//! they take longer to launch ([`WAITED_HOST_FACTOR`]): the gain may be less. How far they ran ahead is not known as
//! well as what GPUs compute, so that it may be more, too: at most the whole time by which the ranks are later than
//! their peers. And a gain is known as well as the steps are played: where they are too short, they may lack it.

use super::fit::Hidden;
use super::owns::Owns;
use super::rank::RankSteps;
use super::rules;
use super::run::CallRun;
use super::scene::Scene;
use super::standing::StandingTogether;
use super::whatif::{GAIN_ERROR, MAX_MODEL_ERROR, WAITED_HOST_FACTOR, WhatIf};
use crate::answer::Straggler;
use std::cmp::Ordering;

/// Least gain, as a share of a step, of a rank that is named though it may gain nothing: hosts alone differ by a tenth.
const MIN_DOUBTED_GAIN: f64 = 0.1;
/// What a gain is at least of what it may be at most, up to which it may be nothing.
const MIN_GAIN_RATIO: f64 = 0.05;

/// The own times where they are not seen, and the ranks against those that are not outliers.
type Taken = (Vec<Owns>, Vec<Option<RankSteps>>);

/// Finds the ranges of gains.
pub(super) struct GainRanges<'a> {
    pub(super) runs: &'a [CallRun],
    /// Steps that are left out of the mean length, sorted.
    pub(super) left_out: &'a [u32],
    /// Mean length of a step as measured, nanoseconds.
    pub(super) measured: f64,
    pub(super) standing: &'a [StandingTogether],
    pub(super) taken: &'a mut dyn FnMut(Hidden) -> Taken,
}

/// What a group gains, microseconds.
#[derive(Debug, Clone, Copy)]
struct Gains {
    /// With hosts as they were.
    least: f64,
    most: f64,
    /// With hosts that launch for waiting GPUs.
    waited_for: f64,
    /// With the usual hidden own times.
    usual: f64,
}

impl GainRanges<'_> {
    /// Fills in between which two the gain of each group lies, and leaves out who may gain nothing, unless a slower one
    /// hides it. `whole` is by how much a GPU is later than its peers, nanoseconds a step in the mean of all. `lone`
    /// has the GPUs of which one place alone shows how slow they are. Returns the own times as they are likely.
    pub(super) fn bound(
        &mut self,
        found: &mut Vec<Straggler>,
        whole: &dyn Fn(usize) -> f64,
        lone: &[usize],
    ) -> Vec<Owns> {
        let of = |it: &Straggler| {
            let gain = it.gain_us.unwrap_or_default();
            Gains { least: gain, most: gain, waited_for: gain, usual: gain }
        };
        let mut gains: Vec<Gains> = found.iter().map(of).collect();
        for (hidden, waits) in [(Hidden::Longest, true), (Hidden::Shortest, false)] {
            let (owns, ranks) = (self.taken)(hidden);
            let what_if = self.what_if(&owns, &ranks);
            let reenacted = what_if.scene.reenacted().filter(|it| (it / self.measured - 1.0).abs() <= MAX_MODEL_ERROR);
            let Some(reenacted) = reenacted else { continue };
            for (it, gains) in found.iter().zip(&mut gains).filter(|(it, _)| it.gain_us.is_some()) {
                let Some(group) = self.standing.iter().find(|group| group.gpus == it.gpus) else { continue };
                // a stage gains most where the others compute nothing unseen
                let group = if waits { group.clone() } else { group.against_seen() };
                let gain = |host: f64| Some((reenacted - what_if.without(&[&group], host)?) / 1e3);
                if let Some(gain) = gain(1.0) {
                    // a gain is known as well as the step is played
                    let with_off = gain + (self.measured - reenacted) / 1e3;
                    gains.least = gains.least.min(gain.min(with_off));
                    gains.most = gains.most.max(gain.max(with_off));
                }
                if let Some(gain) = gain(WAITED_HOST_FACTOR).filter(|_| waits) {
                    gains.waited_for = gains.waited_for.min(gain);
                }
            }
        }
        for (it, gains) in found.iter_mut().zip(&gains).filter(|(it, _)| it.gain_us.is_some()) {
            // neither end is likelier, but a rank that is slow at the one place that shows it is likely so everywhere
            let is_lone = it.gpus.iter().all(|gpu| lone.contains(gpu));
            let likely = if is_lone { gains.usual } else { f64::midpoint(gains.least, gains.most) };
            let is_by_hosts = gains.least - gains.waited_for > rules::MIN_EXCESS_NS / 1e3;
            let whole = it.gpus.iter().map(|&gpu| whole(gpu)).fold(0.0, f64::max) / 1e3;
            let most = if is_by_hosts { gains.most.max(whole) } else { gains.most };
            it.gain_us = Some(likely);
            (it.gain_least_us, it.gain_most_us) = (Some(gains.least.min(gains.waited_for)), Some(most));
            if it.range_us().is_some() {
                it.gain_least_us = it.gain_least_us.map(|least| least - GAIN_ERROR * likely);
                it.gain_most_us = Some((most + GAIN_ERROR * most).min(self.measured / 1e3));
            }
        }
        let (owns, ranks) = (self.taken)(Hidden::Usual);
        let what_if = self.what_if(&owns, &ranks);
        let mut gains = gains.iter();
        found.retain(|it| {
            let Some(gains) = gains.next().filter(|_| it.gain_us.is_some()) else { return true };
            let costs = |least: f64| it.gain_us.is_none_or(|us| us * 1e3 >= least);
            let is_something =
                it.gain_least_us.zip(it.gain_most_us).is_none_or(|(least, most)| least > MIN_GAIN_RATIO * most);
            let is_sure = is_something || costs(MIN_DOUBTED_GAIN * self.measured);
            let is_hidden = || what_if.hidden(self.standing, &it.gpus);
            // a rank that gains next to nothing was named since a slower one hides it
            gains.usual * 1e3 < rules::least_gain(self.measured)
                || is_sure && gains.least > 0.0
                || is_hidden().is_some_and(|hidden| hidden >= rules::least(self.measured))
        });
        found.sort_by(|one, other| other.gain_us.partial_cmp(&one.gain_us).unwrap_or(Ordering::Equal));
        owns
    }

    fn what_if<'s>(&'s self, owns: &'s [Owns], ranks: &'s [Option<RankSteps>]) -> WhatIf<'s> {
        WhatIf { scene: Scene { runs: self.runs, owns, left_out: self.left_out }, ranks }
    }
}
