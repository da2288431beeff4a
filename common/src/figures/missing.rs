//! What the figures of a process lack, by kind.

use crate::base::{log, notes};
use crate::config;
use crate::figures::board;
use crate::figures::metric::Fixed;
use crate::record::thread::ThreadCell;
use crate::sums::run_sums::Totals;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Whether the memory of this process' recording is full.
static FULL: AtomicBool = AtomicBool::new(false);

/// Number of callbacks that the replayed recording lacks.
static LACKING: AtomicU64 = AtomicU64::new(0);

/// The words of a note around the number of callbacks that the recording lacks.
const LACKS: [&str; 2] = ["the recording lacks ", " callbacks: the figures are too small"];
/// The words before a number that was last updated with the last part of a cut recording.
const AT_LEAST: &str = "at least ";

/// Returns the number of callbacks that the recording lacks, if a process' note tells it.
pub(crate) fn lacking(note: &str) -> Option<u64> {
    let number = note.strip_prefix(LACKS[0])?.strip_suffix(LACKS[1])?;
    number.strip_prefix(AT_LEAST).unwrap_or(number).parse().ok()
}

/// Notes that the replayed recording lacks this number of callbacks. If the recording is cut, the number is as old as
/// its last part; [`cut`] must have been called before.
pub fn lack(callbacks: u64) {
    if callbacks > 0 {
        LACKING.fetch_add(callbacks, Ordering::Relaxed);
        let at_least = if is_cut() { AT_LEAST } else { "" };
        notes::add(format!("{}{at_least}{callbacks}{}", LACKS[0], LACKS[1]));
    }
}

/// Whether the replayed recording ends before its process did.
static CUT: AtomicBool = AtomicBool::new(false);

/// Notes that the replayed recording ends before its process did: the process was killed, or its recording could not be
/// written on.
pub fn cut() {
    CUT.store(true, Ordering::Relaxed);
    notes::add("the recording ends before its process did: the figures are those up to there".into());
}

/// Returns whether the replayed recording ends before its process did.
pub(crate) fn is_cut() -> bool {
    CUT.load(Ordering::Relaxed)
}

/// Notes that the memory of this process' recording is full. For callbacks, which must not log: the collector does.
pub fn recording_is_full() {
    FULL.store(true, Ordering::Relaxed);
}

/// Warns once if the recording is full. Not for callbacks.
pub fn tell_of_full_recording() {
    static TOLD: Once = Once::new();
    if FULL.load(Ordering::Relaxed) {
        TOLD.call_once(|| {
            let size = config::settings().record_bytes >> 20;
            log::warn(&format!(
                "the recording is full and ends here: its memory is {size} MiB (96 bytes a callback). NCCL_SCOREP_RECORD_MB makes it \
                 larger; the summary and the counters go on"
            ));
        });
    }
}

/// Number of callbacks under way at the end of the process.
static LEFT: AtomicU64 = AtomicU64::new(0);

/// Counts callbacks that are under way at the end of the process. Their events are not recorded.
pub(crate) fn leave_behind(callbacks: u64) {
    LEFT.fetch_add(callbacks, Ordering::Relaxed);
}

/// Returns the number of callbacks that were under way at the end of the process.
pub(crate) fn left_behind() -> u64 {
    LEFT.load(Ordering::Relaxed)
}

/// Number of events that the collector had no time to take in wholly at the end of the process.
static UNREAD: AtomicU64 = AtomicU64::new(0);

/// Counts events that were recorded, and that not all figures have: the process has ended.
pub(crate) fn leave_unread(events: u64) {
    UNREAD.fetch_add(events, Ordering::Relaxed);
}

/// Returns the number of events that the collector had no time to take in wholly.
pub(crate) fn unread() -> u64 {
    UNREAD.load(Ordering::Relaxed)
}

/// Counts of missing events that threads keep, since the process began; they never fall. [`Totals`] has the others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Missing {
    /// Events not recorded for want of room or because the process ended in their callback, events that the collector
    /// had no time to take in, and callbacks that the replayed recording lacks.
    pub dropped: u64,
    /// Operations too small to be recorded.
    pub skipped: u64,
    /// Proxy operations of other processes (PXN).
    pub foreign_proxy_ops: u64,
    /// Events of a type that this version does not know.
    pub unknown_events: u64,
    /// Events whose parent was not recorded although operations of all sizes are.
    pub parentless: u64,
}

impl Missing {
    /// Returns the counts of all threads so far.
    pub fn of_threads() -> Self {
        let others = [LACKING.load(Ordering::Relaxed), left_behind(), unread()];
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

    /// Raises the counters that say what is missing to these counts.
    pub(crate) fn show(&self, totals: &Totals) {
        let counts = [
            (Fixed::Dropped, self.dropped),
            (Fixed::SkippedOps, self.skipped),
            (Fixed::ForeignProxyOps, self.foreign_proxy_ops),
            (Fixed::Incomplete, self.sum(totals)),
        ];
        counts.into_iter().for_each(|(counter, count)| board::raise(counter as usize, count));
    }

    /// Returns the number of all missing events, calls and operations; 0 only if none is missing. An operation
    /// may count more than once: one that never ended may lack a GPU time, too.
    pub fn sum(&self, totals: &Totals) -> u64 {
        let Self { dropped, skipped, foreign_proxy_ops, unknown_events, parentless } = *self;
        let of_totals = totals.unfinished + totals.invisible + totals.orphans + totals.untimed.iter().sum::<u64>();
        let of_threads = skipped + foreign_proxy_ops + unknown_events + parentless;
        // a recording may claim to lack any number
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
