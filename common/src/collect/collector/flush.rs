//! Flushes: all that was recorded is taken in, before a look at the counters or before the end.

use super::Collector;
use crate::base::answer::Reply;
use crate::base::notes;
use crate::clock;
use crate::clock::CLOCK;
use crate::figures::missing;

/// Time for which the last flush waits for callbacks under way, nanoseconds.
const FLUSH_PATIENCE: u64 = 1_000_000_000;
/// Longest time for which the last flush reads, and half of that for which it goes on without the callbacks under way,
/// nanoseconds. Among hundreds of threads at full speed, the collector gets a hundredth of a processor, and the summary
/// is to be written before [`crate::control`] waits no longer for it.
const LAST_FLUSH: u64 = 6_000_000_000;
/// Least number of rounds of a flush, since a machine that stands still for a while must not end it early.
const FLUSH_ROUNDS: u32 = 100;

impl Collector {
    /// Takes in all that was recorded before the call, in as many rounds as needed. The last flush goes on until all
    /// windows are taken apart, up to [`LAST_FLUSH`]. For that it waits for callbacks under way, up to
    /// [`FLUSH_PATIENCE`].
    pub(super) fn flush(&mut self, last: bool, done: Reply<()>) {
        if last && self.launches.have_readings() {
            // reads the replays that the times belong to, before their communicators end
            self.round(false);
        }
        if last {
            for (&index, communicator) in &mut self.communicators {
                if let Some(context) = self.recorder.contexts.at(index) {
                    context.die();
                }
                communicator.end(CLOCK.now());
            }
        }
        let is_over = |since: u64, time: u64| clock::monotonic() >= since.saturating_add(time);
        let (begun, now) = (clock::monotonic(), CLOCK.now());
        let mut rounds = 1;
        // bounded, since events may come faster than they are read; a clock that goes back is not waited for
        while self.round(last).horizon < now.min(CLOCK.now())
            && if last { !is_over(begun, LAST_FLUSH) } else { rounds < FLUSH_ROUNDS || !is_over(begun, FLUSH_PATIENCE) }
        {
            rounds += 1;
        }
        let (read, mut rounds) = (clock::monotonic(), 1);
        while last
            && !self.communicators.is_empty()
            && (rounds < FLUSH_ROUNDS || !is_over(read, FLUSH_PATIENCE))
            && !is_over(begun, LAST_FLUSH)
        {
            std::thread::yield_now();
            self.round(last);
            rounds += 1;
        }
        if last && !self.communicators.is_empty() {
            // the callback does not end, as one whose signal handler ends the process; what the other threads have
            // recorded is read all the same
            missing::leave_behind(self.graces.give_up() as u64);
            let (given_up, mut rounds) = (clock::monotonic(), 0);
            while !self.communicators.is_empty() && rounds < FLUSH_ROUNDS && !is_over(given_up, LAST_FLUSH / 2) {
                self.round(last);
                std::thread::yield_now();
                rounds += 1;
            }
            missing::leave_unread(self.communicators.values().map(|left| left.unread(&self.recorder.pool)).sum());
            notes::add("the measurement ended inside a callback: an event may be missing".into());
        }
        done.give(());
    }
}
