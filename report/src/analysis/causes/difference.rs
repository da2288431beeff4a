//! The differences between a rank's conditions and its peers', and how much of its extra time each explains.

use super::profile::Profile;
use crate::answer::{CauseKind, SeenCause, Straggler};

/// Part of the extra time that a cause explains at least.
const GOOD_PART: f64 = 0.3;
/// Part of the extra time by which two causes explain equally much: the one that makes the other comes first.
const EQUALLY: f64 = 0.3;
/// Part of a pause that a cause explains at least.
const OF_PAUSE: f64 = 0.5;
/// How many times the peers' own range a value lies above their median at least.
const OUTSIDE: f64 = 2.0;
/// Microseconds that a page fault with input takes, where nothing better is known: a read of a fast disk.
const FAULT_US: f64 = 100.0;

/// Returns the conditions in which a rank differs from its peers, those that explain most of its extra time first.
pub(super) fn causes(own: &Profile, peers: &[Profile], straggler: &Straggler, step_us: f64) -> Vec<SeenCause> {
    // pauses are in no median, and in the gain
    let excess_us = straggler.excess_us.max(straggler.gain_us.unwrap_or(0.0));
    if excess_us <= 0.0 {
        return vec![];
    }
    let candidate = |kind: CauseKind| {
        let (value, sign) = value_of(kind);
        let own_value = value(own)?;
        let mut values: Vec<f64> = peers.iter().filter_map(value).collect();
        values.sort_by(f64::total_cmp);
        let (least, most) = (*values.first()?, *values.last()?);
        let usual = values[values.len() / 2].midpoint(values[(values.len() - 1) / 2]);
        let range = if sign > 0.0 { most - usual } else { usual - least };
        // two peers' range is chance: at least a hundredth of their value
        let is_outside = sign * (own_value - usual) > OUTSIDE * range.max(usual.abs() * 0.01);
        let effect = effect(kind, own, own_value, usual, straggler, step_us);
        (is_outside && effect >= GOOD_PART * excess_us).then_some(SeenCause {
            kind,
            effect_us: effect.min(excess_us),
            own: own_value,
            peers: usual,
        })
    };
    let mut found: Vec<SeenCause> = CauseKind::ALL.into_iter().filter_map(candidate).collect();
    let is = |found: &[SeenCause], kind| found.iter().any(|it: &SeenCause| it.kind == kind);
    // the wait for a processor is the effect of a narrow affinity, and not another cause
    if is(&found, CauseKind::Affinity) {
        found.retain(|it| it.kind != CauseKind::Processor);
    }
    let most = found.iter().map(|it| it.effect_us).fold(0.0, f64::max);
    let rank = |it: &SeenCause| if it.effect_us >= most - EQUALLY * excess_us { 0 } else { 1 };
    found.sort_by(|one, other| {
        let by_effect =
            || if rank(one) == 0 { one.kind.cmp(&other.kind) } else { other.effect_us.total_cmp(&one.effect_us) };
        rank(one).cmp(&rank(other)).then_with(by_effect)
    });
    found
}

/// Returns how a condition is read, and 1 where more of it makes late, -1 where less does.
fn value_of(kind: CauseKind) -> (fn(&Profile) -> Option<f64>, f64) {
    match kind {
        CauseKind::Stopped => (|it| it.stopped, 1.0),
        CauseKind::Throttled => (|it| it.throttled, 1.0),
        CauseKind::Memory => (|it| it.major_faults, 1.0),
        CauseKind::Stolen => (|it| it.stolen, 1.0),
        CauseKind::Affinity => (|it| it.processors, -1.0),
        CauseKind::Processor => (|it| it.waiting, 1.0),
        CauseKind::HostClock => (|it| it.mhz, -1.0),
        CauseKind::Blocked => (Profile::blocked, 1.0),
    }
}

/// Returns how much longer a step is for a difference, microseconds.
fn effect(kind: CauseKind, own: &Profile, value: f64, usual: f64, straggler: &Straggler, step_us: f64) -> f64 {
    match kind {
        CauseKind::Memory => (value - usual) * step_us / 1e6 * FAULT_US,
        // fewer processors cost as long as the threads wait for one
        CauseKind::Affinity => own.waiting.unwrap_or(0.0) * step_us,
        CauseKind::HostClock if value > 0.0 => straggler.own_us * (1.0 - value / usual),
        CauseKind::HostClock => 0.0,
        _ => (value - usual) * step_us,
    }
}

/// Returns what was different in the seconds of a pause from the rank's other seconds.
pub(super) fn cause_of_pause(then: &Profile, usual: &Profile, excess_us: f64) -> Option<CauseKind> {
    let more = |kind: CauseKind| {
        let (value, _) = value_of(kind);
        let per_microsecond = if kind == CauseKind::Memory { FAULT_US / 1e6 } else { 1.0 };
        Some((value(then)? - value(usual)?) * then.length_us * per_microsecond)
    };
    let of_pauses =
        [CauseKind::Stopped, CauseKind::Throttled, CauseKind::Memory, CauseKind::Stolen, CauseKind::Processor];
    of_pauses.into_iter().find(|&kind| more(kind).is_some_and(|us| us >= OF_PAUSE * excess_us))
}
