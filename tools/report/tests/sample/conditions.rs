//! The conditions of the sample's processes: the GPU of [`LATE`] becomes hot and slow, and the first rank waits for a
//! processor for some seconds. The recording has 40 s, most of them before the steps.

use super::groups::Groups;
use super::scale::{LATE, STEP_US, STEPS};
use report::answer::{ConditionMap, Conditions, ProcessConditions};

const BINS: usize = 40;
const CLOCK: f64 = 1_980.0;

pub(super) fn of(groups: &Groups) -> Conditions {
    let late = LATE.min(groups.ranks - 1);
    let gpus_in_row = groups.ranks.div_ceil(256);
    let rows = |of: &dyn Fn(usize, usize) -> f32| {
        let row = |row: usize| (0..BINS).map(move |bin| Some(of(row, bin)));
        (0..groups.ranks.div_ceil(gpus_in_row)).map(|at| row(at).collect()).collect()
    };
    let varied = |row: usize, bin: usize| ((row * 31 + bin * 17) % 7) as f32 / 1_000.0;
    let clock = |row, bin| if row == late / gpus_in_row && bin >= 12 { 0.94 } else { 0.97 - varied(row, bin) };
    let waiting = |row, bin| if row == 0 && (25..29).contains(&bin) { 0.3 } else { varied(row, bin) / 10.0 };
    let conditions = |gpu: usize| ProcessConditions {
        length_us: Some(STEPS as f64 * STEP_US),
        running: Some(0.91),
        waiting: Some(if gpu == 0 { 0.03 } else { 0.000_3 }),
        blocked: Some(if gpu == 0 { 0.06 } else { 0.0897 }),
        stopped: Some(0.0),
        throttled: None,
        memory_stall: Some(0.0),
        stolen: Some(0.0),
        major_faults: Some(0.0),
        processors: Some(14),
        near_gpu: Some(14),
        mhz: Some(2_450.0),
        sm_mhz: Some(CLOCK * if gpu == late { 0.94 } else { 0.967 }),
        sm_mhz_least: Some(CLOCK * if gpu == late { 0.90 } else { 0.96 }),
        sm_max_mhz: Some(CLOCK),
        power_capped: Some(0.4),
        hot: Some(if gpu == late { 0.9 } else { 0.0 }),
        power_brake: Some(0.0),
        power_w: Some(655.0),
        power_limit_w: Some(700.0),
        temperature_c: Some(if gpu == late { 87.0 } else { 64.0 }),
        use_percent: Some(97.0),
        errors: Some(0),
    };
    Conditions {
        of_steps: true,
        processes: groups.ranks as u64,
        rows: (0..groups.ranks).map(conditions).collect(),
        map: ConditionMap {
            bin_us: 1e6,
            gpus_in_row: gpus_in_row as u64,
            waiting: rows(&waiting),
            sm_clock: rows(&clock),
            power: rows(&|row, bin| 0.93 + varied(row, bin) * 10.0),
        },
    }
}
