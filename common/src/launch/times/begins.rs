//! The begin of a kernel between the two events of its launch.
//!
//! The first event of a launch happens as soon as the stream is free, which may be before the host has launched the
//! kernel. No kernel begins before its launch. So the kernel begins shortly behind the first event, or at the launch's
//! end if that is later. The end is brought to the events' clock by what is known of the two clocks so far
//! (`HostClock`). The timeline works the begin out anew with all that the whole run has shown
//! ([`crate::figures::timeline`]).
//!
//! Two kinds of launches leave the begin uncertain. A kernel that is over when its launch returns began at any time
//! between the two events. A kernel that NCCL does not report was launched at any time in the call that ended its
//! group. They get a time only if the uncertainty is short, absolutely or in proportion to the kernel.

use super::host_clock::HostClock;
use crate::launch::{Anchor, KernelTime, Launch, Starts, Untimed};

/// Least nanoseconds between two events with a kernel between them. Less means that the kernel was launched elsewhere.
const LEAST: u64 = 5_000;

/// A kernel was most likely over when its launch returned, if it ended less than `BLINK` nanoseconds after that, or up to
/// `LONG_BEHIND` nanoseconds before, and the first event happened more than `LONG_BEFORE` nanoseconds before that. This
/// happens on a thread that lost its processor. Launches of a group take up to 45 us.
const BLINK: u64 = 8_000;
const LONG_BEFORE: u64 = 100_000;
const LONG_BEHIND: u64 = 100_000;

/// A kernel begins no earlier than this many nanoseconds after the event before its launch: 2.4 to 4.1 us on H200s, by
/// CUPTI's kernels.
pub(crate) const BEHIND_EVENT: u64 = 3_200;

/// Nanoseconds of the shortest kernel with the event behind it. A kernel that would be shorter began before its launch
/// returned.
pub(crate) const SHORTEST: u64 = 2_000;

/// A time is given if the begin is known to this many nanoseconds, or to this part (one in `KNOWN_PART`) of the time.
const KNOWN: u64 = 60_000;
const KNOWN_PART: u64 = 10;

/// When NCCL launches the kernel within the call that ends a group, all but the last part (one in `LAST_PART`) of the
/// call is over. With this value, events around ncclBroadcast, alone and in groups of two, differ least from CUPTI's
/// kernels (NCCL 2.32.3 on H200s; calls of 15 to 60 us).
const LAST_PART: u64 = 4;

/// Returns the time at which a launch most likely launched its kernel, ticks.
pub(super) fn likely_launch(&Launch { before, after, starts, .. }: &Launch) -> u64 {
    match starts {
        Starts::AtOnce => before,
        Starts::Within => after - after.saturating_sub(before) / LAST_PART,
        Starts::AtReturn => after,
        // long before: the host has no part in it
        Starts::InGraph => 0,
    }
}

/// Returns the time of the kernel between two events.
pub(super) fn begin(
    host: &mut HostClock,
    launch: &Launch,
    (first, last): (u64, u64),
    (learnt, anchor): (u64, Option<Anchor>),
    scale: f64,
) -> Result<KernelTime, Untimed> {
    let &Launch { before, after, .. } = launch;
    if let Some(anchor) = anchor {
        host.anchored(anchor, scale);
    }
    if launch.starts == Starts::InGraph {
        let time = of_replay((first, last), before, learnt).map(|time| KernelTime { anchor, ..time });
        return time.ok_or(Untimed::NotBelieved);
    }
    // how late an event happens that has waited says nothing of the launch, unless something else shows the clocks
    let has_waited = host.learn(before, (first, last), scale) && !host.is_anchored(before, scale);
    let launched = likely_launch(launch);
    let waited = first.saturating_add(BEHIND_EVENT).min(last);
    let [latest_launch, latest_return] =
        [launched, after].map(|ticks| if has_waited { waited } else { host.latest(ticks, scale).max(waited) });
    // a launch that seems to lie far behind the kernel: the events that showed how late an event happens had waited, and
    // so had this one
    let ended = latest_launch.saturating_sub(LONG_BEHIND)..=latest_launch.saturating_add(BLINK);
    let is_over = ended.contains(&last) && latest_return > first.saturating_add(LONG_BEFORE);
    let start = if is_over || latest_launch.saturating_add(SHORTEST) > last { waited } else { latest_launch };
    let unknown = match launch.starts {
        _ if is_over => last.saturating_sub(first),
        Starts::Within => (start - waited).max(latest_return.saturating_sub(start)),
        Starts::AtOnce | Starts::AtReturn | Starts::InGraph => 0,
    };
    let is_known = unknown <= KNOWN.max(last.saturating_sub(start) / KNOWN_PART);
    // events that are closer together mean that the kernel was launched elsewhere
    if last.saturating_sub(first) < LEAST || !is_known {
        return Err(Untimed::NotBelieved);
    }
    Ok(KernelTime { start, stop: last, first, before, launched, learnt, anchor })
}

/// Returns the time of the kernel between two events of a replay that was reported at `before`. `None` if they are so
/// close together that no kernel ran between them.
pub(super) fn of_replay((first, stop): (u64, u64), before: u64, learnt: u64) -> Option<KernelTime> {
    let start = first.saturating_add(BEHIND_EVENT).min(stop);
    // the host has no part in the launch: it lies long before
    let time = KernelTime { start, stop, first, before, launched: 0, learnt, anchor: None };
    (stop.saturating_sub(first) >= LEAST).then_some(time)
}
