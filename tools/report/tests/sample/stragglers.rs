//! What the sample's ranks cost a step: [`LATE`] stands out, another rank paused once.

use super::groups::Groups;
use super::scale::{LATE, STEP_US, STEPS};
use report::answer::{CostsWhen, ExcessMap, LateCause, RankGroup, RankOwn, Straggler, StragglerPause, Stragglers};

const OWN_US: f64 = 12_800.0;
const EXCESS_US: f64 = 690.0;

pub(super) fn of(groups: &Groups) -> Stragglers {
    let late = LATE.min(groups.ranks - 1);
    let small = |gpu: usize| f64::from((gpu as u32).wrapping_mul(2_654_435_761)) / f64::from(u32::MAX) - 0.5;
    let excess = |gpu: usize| if gpu == late { EXCESS_US } else { 20.0 * small(gpu) };
    let rank = |gpu: usize| RankOwn {
        peers: 0,
        own_us: OWN_US + excess(gpu),
        excess_us: Some(excess(gpu)),
        z: Some(excess(gpu) / 10.0),
        gain_us: (gpu == late).then_some(0.93 * EXCESS_US),
    };
    let found = Straggler {
        group: RankGroup::Rank,
        name: format!("rank {late}"),
        gpus: vec![late],
        own_us: OWN_US + EXCESS_US,
        excess_us: EXCESS_US,
        peers: groups.ranks as u64 - 1,
        z: EXCESS_US / 10.0,
        gain_us: Some(0.93 * EXCESS_US),
        gain_least_us: None,
        gain_most_us: None,
        when: CostsWhen::Always,
        why: Some(LateCause::Gpu),
        gpu_share: Some(0.9),
        causes: None,
    };
    let gpus_in_row = groups.ranks.div_ceil(256);
    let of_row = |row: usize| (0..STEPS as usize).map(move |step| (row, step));
    let bin = |(row, step): (usize, usize)| {
        let gpus = row * gpus_in_row..((row + 1) * gpus_in_row).min(groups.ranks);
        gpus.map(|gpu| excess(gpu) + 60.0 * small(gpu * 61 + step)).fold(f64::MIN, f64::max) as f32
    };
    let rows = (0..groups.ranks.div_ceil(gpus_in_row)).map(|row| of_row(row).map(bin).collect()).collect();
    Stragglers {
        steps: STEPS,
        step_us: STEP_US,
        reenacted_us: STEP_US * 1.001,
        found: vec![found],
        together_us: None,
        jitter_us: Some(0.012 * STEP_US),
        unlimited_us: None,
        compared: groups.ranks as u64,
        ranks: (0..groups.ranks).map(rank).collect(),
        events: vec![StragglerPause {
            gpu: 0,
            step: 31,
            excess_us: 0.3 * STEP_US,
            cost_us: Some(0.29 * STEP_US),
            cause: None,
        }],
        event_count: 1,
        event_ranks: 1,
        events_us: 0.29 * STEP_US / STEPS as f64,
        stalls: None,
        map: ExcessMap { steps_in_bin: 1, gpus_in_row: gpus_in_row as u64, rows },
    }
}
