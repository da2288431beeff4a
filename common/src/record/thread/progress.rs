//! The time of a thread that progresses NCCL's proxy operations, by the thread's states.
//!
//! Each interval between two changes of the state belongs to one state, so the times add up to the time from the
//! thread's first known state to its last change. Before the thread's first Idle or Active, and behind a switch of the
//! event types, the state is unknown, and the time counts nowhere.

use super::count::Count;
use crate::base::sync::{AtomicU32, AtomicU64, Ordering};
use crate::event::progress::{ProgressChange, ProgressState};
use crate::record::context::switching;

/// Stands for an unknown state; the others are at their place in [`ProgressState::ALL`], plus one.
const UNKNOWN: u32 = 0;

/// The times and counts of a progress thread. Only the thread itself writes.
#[derive(Debug, Default)]
pub struct Progress {
    /// The present state.
    state: AtomicU32,
    /// Idle or Active: the state behind a sleep or an append.
    polling: AtomicU32,
    /// Number of switches of the event types at the last change.
    switches: AtomicU32,
    /// 1 once the present thread has reported a state.
    is_seen: AtomicU32,
    /// Threads that have reported states here, one after the other.
    threads: Count,
    /// Time of the last change, ticks.
    since: AtomicU64,
    /// Ticks in each state.
    ticks: [Count; 4],
    /// How often each state began.
    entered: [Count; 4],
    /// Proxy operations taken over.
    appended: Count,
}

impl Progress {
    /// Notes a change at `now`, ticks.
    pub(crate) fn change(&self, change: ProgressChange, now: u64) {
        let switches = switching::switches();
        if self.switches.load(Ordering::Relaxed) != switches {
            // changes in between were not reported
            self.forget();
            self.switches.store(switches, Ordering::Relaxed);
        }
        if self.is_seen.load(Ordering::Relaxed) == 0 {
            self.is_seen.store(1, Ordering::Relaxed);
            self.threads.one();
        }
        if let Some(place) = self.state.load(Ordering::Relaxed).checked_sub(1)
            && let Some(ticks) = self.ticks.get(place as usize)
        {
            ticks.add(now.saturating_sub(self.since.load(Ordering::Relaxed)));
        }
        self.since.store(now, Ordering::Relaxed);
        match change {
            ProgressChange::Active => self.poll(ProgressState::Active),
            ProgressChange::Idle => self.poll(ProgressState::Idle),
            ProgressChange::Sleep => self.enter(ProgressState::Asleep),
            ProgressChange::Append => self.enter(ProgressState::Appending),
            ProgressChange::Wakeup => self.leave(),
            ProgressChange::AppendEnd { operations } => {
                self.appended.add(operations.into());
                self.leave();
            }
        }
    }

    fn poll(&self, state: ProgressState) {
        self.polling.store(state as u32 + 1, Ordering::Relaxed);
        self.enter(state);
    }

    fn enter(&self, state: ProgressState) {
        self.state.store(state as u32 + 1, Ordering::Relaxed);
        self.entered[state as usize].one();
    }

    fn leave(&self) {
        self.state.store(self.polling.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    /// Forgets the state, not the times and counts.
    fn forget(&self) {
        self.state.store(UNKNOWN, Ordering::Relaxed);
        self.polling.store(UNKNOWN, Ordering::Relaxed);
    }

    /// Forgets the thread, when another one takes its place.
    pub(super) fn begin_anew(&self) {
        self.forget();
        self.is_seen.store(0, Ordering::Relaxed);
    }

    /// Returns the number of threads that have reported states here.
    pub fn threads(&self) -> u64 {
        self.threads.get()
    }

    /// Returns the ticks in each state, in the order of [`ProgressState::ALL`].
    pub fn ticks(&self) -> [u64; 4] {
        self.ticks.each_ref().map(Count::get)
    }

    /// Returns how often each state began, in the same order.
    pub fn entered(&self) -> [u64; 4] {
        self.entered.each_ref().map(Count::get)
    }

    /// Returns the number of proxy operations taken over.
    pub fn appended(&self) -> u64 {
        self.appended.get()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use ProgressChange::{Active, Append, AppendEnd, Idle, Sleep, Wakeup};

    #[test]
    fn each_interval_belongs_to_one_state() {
        let progress = Progress::default();
        assert_eq!(progress.threads(), 0);
        let changes = [
            // what lies before is unknown
            (AppendEnd { operations: 1 }, 5),
            (Idle, 10),
            (Sleep, 12),
            (Wakeup, 112),
            (Append, 115),
            (AppendEnd { operations: 3 }, 122),
            (Active, 130),
            (Append, 160),
            (AppendEnd { operations: 2 }, 164),
            (Idle, 194),
        ];
        changes.into_iter().for_each(|(change, now)| progress.change(change, now));
        // active: 130-160 and 164-194; idle: 10-12, 112-115, 122-130; asleep: 12-112; appending: 115-122, 160-164
        assert_eq!(progress.ticks(), [60, 13, 100, 11]);
        assert_eq!((progress.entered(), progress.appended()), ([1, 2, 1, 2], 6));
        progress.begin_anew();
        progress.change(Sleep, 1000);
        progress.change(Wakeup, 1007);
        progress.change(Active, 2000);
        // the time up to the sleep and behind it has no state
        assert_eq!((progress.ticks(), progress.threads()), ([60, 13, 107, 11], 2));
        // a clock that goes back takes nothing away
        progress.change(Idle, 1990);
        assert_eq!(progress.ticks(), [60, 13, 107, 11]);
    }
}
