//! By how much a profiler's clock differs from that of the process, by NCCL's own kernels.
//!
//! An operation and a kernel that may run it, whose lengths agree, vote for the difference of their begins. The true
//! difference has a vote of each operation; others have those of kernels that happen to lie alike.

use super::matching::{APART, LaunchedKernel};
use super::own::OwnKernel;
use std::collections::HashMap;

/// Largest difference that is looked for, nanoseconds.
pub(super) const REACH: u64 = 100_000_000;
/// Width of a bin of votes, nanoseconds.
const BIN: i64 = 20_000;
/// Most operations that vote.
const VOTES: usize = 2000;
/// Most kernels before its begin, and as many after it, that an operation looks at.
const BESIDE: usize = 1000;
/// Fewest votes of a difference.
const FEWEST: u32 = 8;
/// Share of the most votes with which another difference is as likely.
const RIVAL: f64 = 0.8;
/// Difference up to which the most votes decide between likely ones, nanoseconds. Nobody vouches for the time of day,
/// so a likely difference beyond that leaves all of them open.
const DAY: i64 = 1_000_000;
/// Bins up to this far apart are of one difference.
const NEIGHBOURS: u64 = 2;

/// Returns by how many nanoseconds kernels are later than their operations; `None` if they do not show it.
pub(super) fn later(kernels: &[OwnKernel], launched: &[LaunchedKernel]) -> Option<i64> {
    let mut kernels: Vec<&OwnKernel> = kernels.iter().collect();
    kernels.sort_by_key(|kernel| kernel.span[0]);
    let mut votes: HashMap<i64, Vec<i64>> = HashMap::new();
    let every = launched.len().div_ceil(VOTES).max(1);
    let mut voters = 0_u32;
    for of in launched.iter().step_by(every) {
        let [start, stop] = of.span;
        let here = kernels.partition_point(|kernel| kernel.span[0] < start);
        let near = kernels.iter().skip(here.saturating_sub(BESIDE)).take(2 * BESIDE);
        let mut has_voted = false;
        for kernel in near.filter(|kernel| kernel.span[0].abs_diff(start) <= REACH) {
            let lengths = [stop.saturating_sub(start), kernel.span[1].saturating_sub(kernel.span[0])];
            if lengths[0].abs_diff(lengths[1]) <= APART && of.may_be_run_by(kernel.runs) {
                let difference = kernel.span[0].cast_signed().wrapping_sub(start.cast_signed());
                votes.entry(difference.div_euclid(BIN)).or_default().push(difference);
                has_voted = true;
            }
        }
        voters += u32::from(has_voted);
    }
    // a difference may lie at the border of two bins
    let of = |bin: i64| votes.get(&bin).map_or(0, |votes| u32::try_from(votes.len()).unwrap_or(u32::MAX));
    let both = |bin: i64| of(bin).saturating_add(of(bin + 1));
    let most = votes.keys().map(|&bin| both(bin)).max()?;
    if most < FEWEST.max(voters / 2) {
        return None;
    }
    let is_likely = |bin: &i64| f64::from(both(*bin)) >= RIVAL * f64::from(most);
    let likely: Vec<i64> = votes.keys().copied().filter(is_likely).collect();
    let chosen = likely.iter().copied().max_by_key(|&bin| (both(bin), -bin.abs()))?;
    // operations that are evenly apart fit differences of whole periods: one too many or one too few is a wrong time
    let has_rival = likely.iter().any(|bin| bin.abs_diff(chosen) > NEIGHBOURS);
    let is_within_day = || likely.iter().all(|bin| bin.abs() * BIN <= DAY);
    let has_most = || likely.iter().all(|&bin| both(bin) < most || bin.abs_diff(chosen) <= NEIGHBOURS);
    if has_rival && !(is_within_day() && has_most()) {
        return None;
    }
    let mut seen: Vec<i64> = [chosen, chosen + 1].iter().filter_map(|bin| votes.get(bin)).flatten().copied().collect();
    seen.sort_unstable();
    seen.get(seen.len() / 2).copied()
}
