//! The differences between a rank's conditions and its peers', and how much of its extra time each explains.

use super::profile::Profile;
use crate::answer::{CauseKind, LateCause, SeenCause, Straggler};

/// Part of the extra time that a cause explains at least.
const MIN_EXPLAINED: f64 = 0.3;
/// Part of the extra time by which two causes explain equally much: the one that makes the other comes first.
const EQUAL_PART: f64 = 0.3;
/// Part of a pause that a cause explains at least.
const MIN_OF_PAUSE: f64 = 0.5;
/// The same of a stop, whose length is known to some 10 ms, and mostly too short.
const MIN_OF_STOP: f64 = 0.4;
/// Part by which the stops of a rank exceed its pauses at most, in all, if stops make pauses.
const MAX_BEYOND_PAUSES: f64 = 0.3;
/// Length of the rows around a pause at most, in pauses: of longer ones, a pause is too small a part.
const MAX_LENGTH_IN_PAUSES: f64 = 200.0;
/// Part of a rank's launching threads by which their number differs from the peers' at most, where their times are
/// compared.
const MAX_THREADS_DIFFERENCE: f64 = 0.1;
/// How many times the peers' own range a value lies beyond their median at least.
const MIN_RANGES_OUTSIDE: f64 = 2.0;
/// The range of peers that are alike, as a part of their median.
const MIN_RANGE: f64 = 0.01;
/// Microseconds that a page fault with input takes, where nothing better is known: a read of a fast disk.
const FAULT_US: f64 = 100.0;
/// Share of the time for which a limit holds a GPU's clock down more than those of its peers, from which on it is the
/// reason for a slow clock.
const MIN_HELD_SHARE: f64 = 0.05;

/// A condition as it is compared.
struct Compared {
    kind: CauseKind,
    value: fn(&Profile) -> Option<f64>,
    /// 1 where more of it makes late, -1 where less does.
    sign: f64,
}

/// The conditions that are compared, in the order of [`CauseKind::ALL`].
const COMPARED: [Compared; 9] = [
    Compared { kind: CauseKind::Stopped, value: |it| it.stopped, sign: 1.0 },
    Compared { kind: CauseKind::Throttled, value: |it| it.throttled, sign: 1.0 },
    Compared { kind: CauseKind::Memory, value: |it| it.major_faults, sign: 1.0 },
    Compared { kind: CauseKind::Stolen, value: |it| it.stolen, sign: 1.0 },
    Compared { kind: CauseKind::Affinity, value: |it| it.processors, sign: -1.0 },
    Compared { kind: CauseKind::Processor, value: |it| it.waiting, sign: 1.0 },
    Compared { kind: CauseKind::HostClock, value: |it| it.mhz, sign: -1.0 },
    Compared { kind: CauseKind::Blocked, value: Profile::blocked, sign: 1.0 },
    Compared { kind: CauseKind::GpuClock, value: |it| it.sm_mhz, sign: -1.0 },
];

/// Returns the conditions in which a rank differs from its peers, those that explain most of its extra time first.
pub(super) fn causes(own: &Profile, peers: &[Profile], straggler: &Straggler, step_us: f64) -> Vec<SeenCause> {
    // pauses are in no median, and in the gain
    let extra_us = straggler.excess_us.max(straggler.gain_us.unwrap_or(0.0));
    if extra_us <= 0.0 {
        return vec![];
    }
    let is_possible = |kind: CauseKind| match straggler.why {
        Some(LateCause::Host) => !kind.is_of_gpu(),
        Some(LateCause::Gpu) => kind.is_of_gpu(),
        None => true,
    };
    // means of threads: of other threads, they say nothing
    let has_alike_threads = beyond(own, peers, |it| it.threads)
        .is_none_or(|more| more.abs() <= MAX_THREADS_DIFFERENCE * own.threads.unwrap_or(1.0));
    let candidate = |&Compared { kind, value, sign }: &Compared| {
        if matches!(kind, CauseKind::Blocked | CauseKind::Processor) && !has_alike_threads {
            return None;
        }
        let own_value = value(own)?;
        let [usual, range] = usual(peers, value, sign)?;
        let is_outside = sign * (own_value - usual) > MIN_RANGES_OUTSIDE * range.max(usual.abs() * MIN_RANGE);
        let waits_more = beyond(own, peers, |it| it.waiting).map(|more| more * own.turns());
        let effect = match kind {
            CauseKind::Memory => (own_value - usual) * step_us / 1e6 * FAULT_US,
            // fewer processors cost as long as the threads wait longer for one
            CauseKind::Affinity => waits_more.unwrap_or(0.0) * step_us,
            // summed over processors: it costs no more than the threads wait
            CauseKind::Throttled => waits_more.unwrap_or(f64::INFINITY).min(own_value - usual) * step_us,
            // a processor whose thread sleeps lowers its clock
            CauseKind::HostClock if beyond(own, peers, Profile::blocked).is_some_and(|more| more > MIN_HELD_SHARE) => {
                0.0
            }
            CauseKind::HostClock | CauseKind::GpuClock => straggler.own_us * (1.0 - own_value / usual),
            CauseKind::Processor | CauseKind::Blocked => (own_value - usual) * own.turns() * step_us,
            _ => (own_value - usual) * step_us,
        };
        let kind = if kind == CauseKind::GpuClock { reason(own, peers) } else { kind };
        let seen = SeenCause { kind, effect_us: effect.min(extra_us), own: own_value, peers: usual };
        (is_outside && effect >= MIN_EXPLAINED * extra_us).then_some(seen)
    };
    let mut found: Vec<SeenCause> = COMPARED.iter().filter(|it| is_possible(it.kind)).filter_map(candidate).collect();
    // the wait for a processor is the effect of few processors, and not another cause
    if found.iter().any(|it| it.kind == CauseKind::Affinity) {
        found.retain(|it| it.kind != CauseKind::Processor);
    }
    let most = found.iter().map(|it| it.effect_us).fold(0.0, f64::max);
    let is_behind = |it: &SeenCause| it.effect_us < most - EQUAL_PART * extra_us;
    found.sort_by(|one, other| {
        let of_both = || match is_behind(one) {
            true => other.effect_us.total_cmp(&one.effect_us),
            false => one.kind.cmp(&other.kind),
        };
        is_behind(one).cmp(&is_behind(other)).then_with(of_both)
    });
    // where both have a part of the extra time, the GPU's part counts
    let of_gpu = match (straggler.why, straggler.gpu_share) {
        (Some(LateCause::Gpu), _) => extra_us,
        (None, Some(share)) => extra_us * share,
        _ => 0.0,
    };
    add_work(&mut found, own, peers, of_gpu, extra_us);
    found
}

/// Returns how far a rank's value lies above the median of its peers'.
fn beyond(own: &Profile, peers: &[Profile], value: fn(&Profile) -> Option<f64>) -> Option<f64> {
    let [usual, _] = usual(peers, value, 1.0)?;
    Some(value(own)? - usual)
}

/// Returns the median of the peers' values, and how far the most distant one lies on the side that makes late.
fn usual(peers: &[Profile], value: fn(&Profile) -> Option<f64>, sign: f64) -> Option<[f64; 2]> {
    let mut values: Vec<f64> = peers.iter().filter_map(value).collect();
    values.sort_by(f64::total_cmp);
    let (least, most) = (*values.first()?, *values.last()?);
    let usual = values[values.len() / 2].midpoint(values[(values.len() - 1) / 2]);
    Some([usual, if sign > 0.0 { most - usual } else { usual - least }])
}

/// Returns why a GPU's clock is slow: the limit that holds it down longest beyond those of its peers.
fn reason(own: &Profile, peers: &[Profile]) -> CauseKind {
    let limits = [
        Compared { kind: CauseKind::GpuHot, value: |it| it.hot, sign: 1.0 },
        Compared { kind: CauseKind::GpuPower, value: |it| it.power_capped, sign: 1.0 },
        Compared { kind: CauseKind::GpuBrake, value: |it| it.power_brake, sign: 1.0 },
    ];
    let held = |&Compared { kind, value, sign }: &Compared| {
        Some((kind, sign * beyond(own, peers, value)?)).filter(|(_, more)| *more >= MIN_HELD_SHARE)
    };
    let longest = limits.iter().filter_map(held).max_by(|(_, one), (_, other)| one.total_cmp(other));
    longest.map_or(CauseKind::GpuClock, |(kind, _)| kind)
}

/// Adds that a late GPU has more work, if its clock is known and leaves a good part of the extra time that is the
/// GPU's. A GPU whose power is at the limit, and not its peers', is late by its work, too.
fn add_work(found: &mut Vec<SeenCause>, own: &Profile, peers: &[Profile], of_gpu_us: f64, extra_us: f64) {
    let is_at_limit = found.first().is_some_and(|it| it.kind == CauseKind::GpuPower);
    let by_clock: f64 = found.iter().filter(|it| it.kind.is_of_gpu()).map(|it| it.effect_us).sum();
    let left = if is_at_limit { extra_us } else { of_gpu_us } - by_clock;
    if left < MIN_EXPLAINED * extra_us {
        return;
    }
    if let (Some(own), Some([peers, _])) = (own.sm_mhz, usual(peers, |it| it.sm_mhz, -1.0)) {
        let place = found.iter().position(|it| it.effect_us < left).unwrap_or(found.len());
        found.insert(place, SeenCause { kind: CauseKind::GpuWork, effect_us: left, own, peers });
    }
}

/// Returns whether a pause is a stop, by the rank's conditions in its seconds and in all its time, and by the rank's
/// pauses: those of its seconds that are not much shorter, and all. So a rank that is stopped again and again has a
/// cause, although its other seconds are like those of the pause.
pub(super) fn is_stop([then, all]: [&Profile; 2], excess_us: f64, [alike_us, all_us]: [f64; 2]) -> bool {
    let stopped = |profile: &Profile| profile.stopped.map_or(0.0, |it| it * profile.length_us);
    let are_pauses = stopped(all) <= (1.0 + MAX_BEYOND_PAUSES) * all_us;
    then.length_us <= MAX_LENGTH_IN_PAUSES * excess_us
        && stopped(then) >= MIN_OF_STOP * alike_us.max(excess_us)
        && are_pauses
}

/// Returns the first condition in which the seconds of a pause differ from the rank's other seconds by as much as half
/// of the pause, and of those pauses of these seconds that are not much shorter, `alike_us` in all. They must be at
/// least twice as much: in long rows, chance alone makes so much of a short pause.
pub(super) fn cause_of_pause(then: &Profile, usual: &Profile, excess_us: f64, alike_us: f64) -> Option<CauseKind> {
    let of_pauses =
        [CauseKind::Stopped, CauseKind::Throttled, CauseKind::Memory, CauseKind::Stolen, CauseKind::Processor];
    let explains = |it: &&Compared| {
        let a_microsecond = match it.kind {
            CauseKind::Memory => FAULT_US / 1e6,
            CauseKind::Processor => then.turns(),
            _ => 1.0,
        };
        let more = (it.value)(then).zip((it.value)(usual)).map(|(then, usual)| then - usual);
        let is_twice = more.zip((it.value)(usual)).is_some_and(|(more, usual)| more >= usual);
        let is_close = then.length_us <= MAX_LENGTH_IN_PAUSES * excess_us;
        let explains =
            more.is_some_and(|more| more * then.length_us * a_microsecond >= MIN_OF_PAUSE * alike_us.max(excess_us));
        is_twice && is_close && explains
    };
    COMPARED.iter().filter(|it| of_pauses.contains(&it.kind)).find(explains).map(|it| it.kind)
}
