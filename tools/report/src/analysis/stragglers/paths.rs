//! What each call follows from: the two clocks of progress of a rank.
//!
//! ```text
//! enqueue(i)  = max(enqueue(i - 1), end(released) - beside) + host(i)           the host's clock
//! computed(i) = max(computed(i - 1) + gpu(i), end(awaited) + gpu(i) - ahead)   the GPU's, or enqueue(i) + gpu(i)
//! begin(i)    = max(enqueue(i) + launch, computed(i), ends of the calls that it queues behind)
//! ```
//! A host goes on while its GPU waits, unless it waits for its GPU itself (`released`: a call whose end it waited for).
//! A computation goes on beside an operation, unless it waits for that (`awaited`). Which of both holds at a place of a
//! program is found in [`super::fit`]. `computed` is seen where a call waits for its computation alone; where it was
//! launched later, or queued, it has been over before the begin, and its own time is the usual one of the place, at
//! most as long as the begin allows.

use super::fit::{GpuFrom, HOST_EARLY_NS, HostFrom, PlacePath, Seen};
use super::run::{CallRun, NONE};

/// How a call follows from the calls before it on its GPU. Times are nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallPath {
    /// Own time of the host before the enqueue.
    pub(super) host: i64,
    /// Own time of the GPU before the call.
    pub(super) gpu: i64,
    /// The call whose end the host waited for.
    pub(super) released: u32,
    /// The call whose end the computation waited for.
    pub(super) awaited: u32,
    /// The part of `host` that does not wait for `released`.
    pub(super) beside: u32,
    /// From the enqueue to the begin of a call that nothing else keeps.
    pub(super) launch: u32,
    /// The part of `gpu` that does not wait for `awaited`.
    pub(super) ahead: u32,
    /// Whether the computation begins when the host has enqueued it: the GPU was idle.
    pub(super) from_host: bool,
    /// Whether the enqueue is known.
    pub(super) has_host: bool,
    /// Whether the computation was over before the call could begin, so that its own time was not seen.
    pub(super) is_hidden: bool,
    /// Whether the host was ahead of its GPU: a host whose GPU waits for it launches more slowly.
    pub(super) is_ahead: bool,
}

/// Nanoseconds by which begins of operations that CUDA events time may be early.
const EVENTS_EARLY_NS: i64 = 100_000;
/// How many times as long as usual a computation takes at most, and nanoseconds more, to be the one that kept a call.
const MAX_USUAL_RATIO: f64 = 1.3;
const MAX_LATE_NS: u16 = 50_000;
impl CallPath {
    /// Returns the path of a call that belongs to no step: its computation waits for the call before, unless it began
    /// before that had ended.
    pub(super) fn between(run: &CallRun, call: usize, computed: &[i64]) -> Self {
        Self::at_place(run, call, computed, &PlacePath::BETWEEN, f64::INFINITY, Seen::Free).0
    }

    /// Returns the path of a call at a place, and when its computation was over. `usual` is the own time of the GPU
    /// where it is hidden.
    pub(super) fn at_place(
        run: &CallRun,
        call: usize,
        computed: &[i64],
        place: &PlacePath,
        usual: f64,
        seen: Seen,
    ) -> (Self, i64) {
        let begin = run.calls[call].begin;
        let enqueued = run.enqueued(call);
        let mut path = Self {
            host: 0,
            gpu: 0,
            released: NONE,
            awaited: NONE,
            beside: 0,
            launch: 0,
            ahead: 0,
            from_host: false,
            has_host: false,
            is_hidden: false,
            is_ahead: false,
        };
        let Some(before) = run.before(call) else { return (path, begin) };
        let back =
            |count: u8| call.checked_sub(usize::from(count)).filter(|&it| it >= run.first[run.gpus[call] as usize]);
        let end = |call: usize| run.calls[call].end;
        if let Some(enqueued) = enqueued.filter(|_| place.host != HostFrom::Unknown) {
            let since = run.enqueued(before).map(|before| enqueued - before);
            let waits = match place.host {
                HostFrom::Waits(count) => back(count),
                HostFrom::Sometimes(count) if since.is_some_and(|it| it as f64 > place.host_usual) => back(count),
                _ => None,
            };
            let released = waits.filter(|&it| end(it) <= enqueued + HOST_EARLY_NS);
            if let Some(released) = released {
                let host = (enqueued - end(released)).saturating_add(place.beside).min(since.unwrap_or(i64::MAX));
                path.beside = u32::try_from(host - (enqueued - end(released))).unwrap_or_default();
                (path.released, path.host, path.has_host) = (released as u32, host, true);
            } else if let Some(since) = since {
                // a launch waits for room in a full queue
                let is_full = [before, call].iter().all(|&it| i64::from(run.calls[it].lead) > place.full_queue.0);
                path.host = if is_full { since.min(place.full_queue.1) } else { since };
                path.has_host = true;
            }
        }
        let has_ended = |it: usize, ahead: i64| end(it) - ahead <= begin + EVENTS_EARLY_NS.min(ahead + 20_000);
        let mut anchor = computed[before];
        match place.gpu {
            GpuFrom::Host(count) if path.has_host => {
                path.from_host = true;
                anchor = anchor.max(enqueued.unwrap_or(anchor));
                let awaited = back(count).filter(|&it| count > 0 && has_ended(it, 0));
                if let Some(awaited) = awaited {
                    path.awaited = awaited as u32;
                    anchor = anchor.max(end(awaited));
                }
            }
            GpuFrom::Waits(count, ahead) => {
                // a call that began before that end did not wait for it
                if let Some(awaited) = back(count).filter(|&it| has_ended(it, ahead)) {
                    path.awaited = awaited as u32;
                    path.ahead = u32::try_from(ahead).unwrap_or(u32::MAX);
                    anchor = anchor.max(end(awaited) - ahead);
                }
            }
            _ => {}
        }
        let room = begin - anchor;
        // a call that the computation would have kept as long was not kept by its launch
        let is_kept = room as f64 <= usual * MAX_USUAL_RATIO + f64::from(MAX_LATE_NS);
        let seen = if seen == Seen::Launched && is_kept { Seen::Free } else { seen };
        if let Some(enqueued) = enqueued.filter(|_| path.has_host) {
            let most = if seen == Seen::Launched { i64::MAX } else { place.launch };
            path.launch = u32::try_from((begin - enqueued).clamp(0, most)).unwrap_or_default();
        }
        path.is_hidden = seen != Seen::Free;
        path.is_ahead = path.has_host && path.released == NONE && !path.from_host && seen != Seen::Launched;
        path.gpu = if path.is_hidden && usual < room as f64 { (usual as i64).max(0) } else { room };
        (path, anchor + path.gpu)
    }
}
