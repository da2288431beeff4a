//! Ranks and groups of ranks that are outliers in one run alone.

use super::verdict::{ChangeVerdict, MIN_CHANGE};
use crate::answer::{Report, Straggler, Stragglers};
use serde::{Deserialize, Serialize};

/// Who became late, and who is no longer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct NewlyLate {
    /// Those that are outliers after and not before, largest gain first; times are of the second run.
    pub became: Vec<StandingOut>,
    /// Those that were outliers before and no longer do; times are of the first run.
    pub no_longer: Vec<StandingOut>,
}

/// A rank or a group of ranks that is an outlier in one run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StandingOut {
    /// Its name: `rank 13`, `node007`, `stage 2`.
    pub name: String,
    /// Its own time a step beyond that of its peers, microseconds.
    pub excess_us: f64,
    /// The same over the peers' own time.
    pub excess: f64,
    /// What a step of that run gains if it is as its peers, microseconds.
    pub gain_us: Option<f64>,
    /// Of one that became late: worse if its excess is above the threshold.
    pub verdict: ChangeVerdict,
}

/// Compares who is an outlier; `None` where that is unknown of a run.
pub(super) fn compare(reports: [&Report; 2], threshold: f64) -> Option<NewlyLate> {
    let [Some(before), Some(after)] = reports.map(|report| report.stragglers.known()) else { return None };
    let standing = |found: &Straggler, sign: f64| {
        let peers_us = found.own_us - found.excess_us;
        let excess = if peers_us > 0.0 { found.excess_us / peers_us } else { 0.0 };
        StandingOut {
            name: found.name.clone(),
            excess_us: found.excess_us,
            excess,
            gain_us: found.gain_us,
            verdict: ChangeVerdict::sure(sign * excess, threshold),
        }
    };
    let alone = |in_this: &Stragglers, places: [usize; 2], sign: f64| {
        let other = [before, after][places[1]];
        let is_new = |found: &&Straggler| {
            let is_known = other.found.iter().any(|known| known.name == found.name);
            // just above the limits here and just below them there is no news
            let there = excess_there(found, reports, places);
            !is_known && there.is_none_or(|there| found.excess_us - there > MIN_CHANGE * in_this.step_us)
        };
        in_this.found.iter().filter(is_new).map(|found| standing(found, sign)).collect::<Vec<_>>()
    };
    Some(NewlyLate { became: alone(after, [1, 0], 1.0), no_longer: alone(before, [0, 1], -1.0) })
}

/// Returns the mean excess of the same ranks in the other report, where they are in it.
fn excess_there(found: &Straggler, reports: [&Report; 2], [this, other]: [usize; 2]) -> Option<f64> {
    let (this, other) = (reports[this], reports[other]);
    let ranks = &other.stragglers.known()?.ranks;
    let excess = |gpu: &usize| {
        let name = this.gpus.get(*gpu)?;
        let place = other.gpus.iter().position(|it| it == name)?;
        ranks.get(place)?.excess_us
    };
    let all: Option<Vec<f64>> = found.gpus.iter().map(excess).collect();
    all.filter(|all| !all.is_empty()).map(|all| all.iter().sum::<f64>() / all.len() as f64)
}
