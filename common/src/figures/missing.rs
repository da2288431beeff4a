//! What the figures of a process lack, by its kind.

use crate::base::{log, notes};
use crate::config;
use crate::record::thread::ThreadCell;
use crate::sums::run_sums::Totals;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The memory of this process' recording is full.
static FULL: AtomicBool = AtomicBool::new(false);

/// Callbacks that the recording lacks that is replayed.
static LACKING: AtomicU64 = AtomicU64::new(0);

/// The words around the number of callbacks that the recording lacks.
const LACKS: [&str; 2] = ["the recording lacks ", " callbacks: the figures are too small"];
/// Before a number that is as old as the last part of a recording that was cut.
const AT_LEAST: &str = "at least ";

/// How many callbacks a process' note says that its recording lacks.
pub(crate) fn lacking(note: &str) -> Option<u64> {
    let number = note.strip_prefix(LACKS[0])?.strip_suffix(LACKS[1])?;
    number.strip_prefix(AT_LEAST).unwrap_or(number).parse().ok()
}

/// The recording that is replayed lacks so many callbacks. Where it is cut ([`cut`], before this), the count is as old
/// as its last part.
pub fn lack(callbacks: u64) {
    if callbacks > 0 {
        LACKING.fetch_add(callbacks, Ordering::Relaxed);
        let at_least = if is_cut() { AT_LEAST } else { "" };
        notes::add(format!("{}{at_least}{callbacks}{}", LACKS[0], LACKS[1]));
    }
}

/// The recording that is replayed ends before its process did.
static CUT: AtomicBool = AtomicBool::new(false);

/// The recording that is replayed ends before its process did: it was killed, or its recording could not be written on.
pub fn cut() {
    CUT.store(true, Ordering::Relaxed);
    notes::add("the recording ends before its process did: the figures are those up to there".into());
}

/// Whether it does.
pub(crate) fn is_cut() -> bool {
    CUT.load(Ordering::Relaxed)
}

/// The memory of this process' recording is full. For a callback: the collector says it.
pub fn recording_is_full() {
    FULL.store(true, Ordering::Relaxed);
}

/// Says once that the recording is full, where it is. Not from a callback.
pub fn tell_of_full_recording() {
    static TOLD: Once = Once::new();
    if FULL.load(Ordering::Relaxed) {
        TOLD.call_once(|| {
            let size = config::settings().record_bytes >> 20;
            log::warn(&format!(
                "the recording is full and ends here: its memory is {size} MiB (88 bytes a callback). NCCL_SCOREP_RECORD_MB makes it \
                 larger; the summary and the counters go on"
            ));
        });
    }
}

/// Events whose callbacks signal handlers have left before they were recorded.
static LEFT: AtomicU64 = AtomicU64::new(0);

/// A callback that started an event was left by a signal handler (`siglongjmp`), and its event is not recorded.
pub(crate) fn leave_behind() {
    LEFT.fetch_add(1, Ordering::Relaxed);
}

/// How many so far.
pub(crate) fn left_behind() -> u64 {
    LEFT.load(Ordering::Relaxed)
}

/// What threads know of it; the rest is in [`Totals`]. Counts since the process began, which never fall.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Missing {
    /// Events not recorded for want of room or because a signal handler has left their callback, and callbacks that the
    /// recording lacks that is replayed.
    pub dropped: u64,
    /// Operations that are too small to be recorded.
    pub skipped: u64,
    /// Proxy operations of other processes (PXN).
    pub foreign_proxy_ops: u64,
    /// Events of a type that this version does not know.
    pub unknown_events: u64,
    /// Events whose parent was not recorded, where operations of all sizes are.
    pub parentless: u64,
}

impl Missing {
    /// Of all threads so far.
    pub fn of_threads() -> Self {
        let others = [LACKING.load(Ordering::Relaxed), left_behind()];
        let dropped = others.into_iter().fold(ThreadCell::all_dropped(), u64::saturating_add);
        let mut missing = Self { dropped, ..Self::default() };
        for cell in ThreadCell::all() {
            missing.skipped += cell.skipped.get();
            missing.foreign_proxy_ops += cell.foreign.get();
            missing.unknown_events += cell.unknown.get();
            missing.parentless += cell.parentless.get();
        }
        missing
    }

    /// All that is missing: 0 only where nothing is. An operation may be in it more than once, as one that never ended
    /// and has no GPU time.
    pub fn sum(&self, totals: &Totals) -> u64 {
        let Self { dropped, skipped, foreign_proxy_ops, unknown_events, parentless } = *self;
        let of_totals = totals.unfinished + totals.invisible + totals.orphans + totals.untimed.iter().sum::<u64>();
        let of_threads = skipped + foreign_proxy_ops + unknown_events + parentless;
        // a recording may say that it lacks any number
        dropped.saturating_add(of_totals + of_threads)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_missing_counts() {
        let mut totals = Totals::default();
        (totals.unfinished, totals.invisible, totals.orphans, totals.untimed) = (1, 2, 4, [8, 16, 32, 64, 128]);
        let missing =
            Missing { dropped: 256, skipped: 512, foreign_proxy_ops: 1024, unknown_events: 2048, parentless: 4096 };
        assert_eq!((missing.sum(&totals), Missing::default().sum(&Totals::default())), (8191, 0));
        assert_eq!(Missing { dropped: u64::MAX, ..missing }.sum(&totals), u64::MAX);
    }
}
