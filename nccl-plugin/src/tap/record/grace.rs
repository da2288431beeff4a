//! Knowing that the callbacks that were under way at some time have ended: then what they have recorded is in the
//! memory.

use super::memory::Memory;

/// A thread's lane and its mark inside one callback.
type Inside = (usize, u64);

/// Threads that were inside a callback when the period began, and have not been seen outside since. What they take into
/// the memory for places in the order that were given out before is there when none is left.
#[derive(Debug, Default)]
pub(super) struct Grace {
    inside: Vec<Inside>,
    /// Not waited for any more. Mostly a signal handler has left that callback (siglongjmp), and its thread has made
    /// none since.
    given_up: Vec<Inside>,
}

impl Grace {
    /// Begins a period for all places given out before this call: who reads them has read the next place before it.
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

    /// Ends the period, and waits for those that are still inside no more until they make another callback. What they
    /// record in this one is late.
    pub(super) fn give_up(&mut self) {
        self.given_up.append(&mut self.inside);
    }
}

fn is_inside(memory: &Memory, &(lane, mark): &Inside) -> bool {
    memory.mark(lane) == Some(mark)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begun(memory: &Memory) -> Grace {
        let mut grace = Grace::default();
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
        // a handler's callback in the midst of it
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
