//! A grace period: it is over when all callbacks that were in progress at its begin have ended. Then their records are
//! in memory.

use super::memory::Memory;

/// A thread's list and its mark inside one callback.
type ListMark = (usize, u64);

/// Threads that were inside a callback when the period began and have not been seen outside since.
///
/// When no thread is left, memory holds all records whose places in the order were given out before the period.
#[derive(Debug, Default)]
pub(super) struct TapGrace {
    inside: Vec<ListMark>,
    /// Callbacks that are no longer waited for. Mostly a signal handler has left the callback (siglongjmp), and the
    /// thread has made no other callback since.
    given_up: Vec<ListMark>,
}

impl TapGrace {
    /// Begins a period for all places given out before this call. The caller has read the number of these places
    /// before.
    pub(super) fn begin(&mut self, memory: &Memory) {
        let Self { inside, given_up } = self;
        given_up.retain(|one| is_inside(memory, one));
        let marks = (0..).zip(memory.marks()).filter(|(_, mark)| mark % 2 == 1);
        inside.clear();
        inside.extend(marks.filter(|one| !given_up.contains(one)));
    }

    pub(super) fn is_over(&mut self, memory: &Memory) -> bool {
        self.inside.retain(|one| is_inside(memory, one));
        self.inside.is_empty()
    }

    /// Ends the period, and stops waiting for the callbacks that are still in progress. The records that they add from
    /// here on are late. A thread's next callback is waited for again.
    pub(super) fn give_up(&mut self) {
        self.given_up.append(&mut self.inside);
    }
}

fn is_inside(memory: &Memory, &(list, mark): &ListMark) -> bool {
    memory.mark(list) == Some(mark)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begun(memory: &Memory) -> TapGrace {
        let mut grace = TapGrace::default();
        grace.begin(memory);
        grace
    }

    #[test]
    fn a_thread_inside_a_callback_is_waited_for_and_one_that_jumped_out_is_not() {
        let memory = Memory::new(1 << 20).unwrap();
        assert!(begun(&memory).is_over(&memory));
        let inside = memory.enter().unwrap();
        let mut grace = begun(&memory);
        assert!(!grace.is_over(&memory));
        drop(inside);
        assert!(grace.is_over(&memory));
        // as siglongjmp leaves it
        std::mem::forget(memory.enter().unwrap());
        let mut grace = begun(&memory);
        let inside = memory.enter().unwrap();
        assert!(grace.is_over(&memory) && !begun(&memory).is_over(&memory));
        // a callback of a signal handler, inside the first one
        drop(memory.enter().unwrap());
        drop(inside);
        assert!(begun(&memory).is_over(&memory));
    }

    #[test]
    fn a_thread_that_stays_inside_is_waited_for_once() {
        let memory = Memory::new(1 << 20).unwrap();
        std::mem::forget(memory.enter().unwrap());
        let mut grace = begun(&memory);
        assert!(!grace.is_over(&memory));
        grace.give_up();
        for _ in 0..3 {
            grace.begin(&memory);
            assert!(grace.is_over(&memory), "waited for again");
        }
        let inside = memory.enter().unwrap();
        grace.begin(&memory);
        assert!(!grace.is_over(&memory), "another callback of the thread");
        drop(inside);
        assert!(grace.is_over(&memory));
    }
}
