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
}

impl TapGrace {
    /// Begins a period for all places given out before this call. The caller has read the number of these places
    /// before.
    pub(super) fn begin(&mut self, memory: &Memory) {
        self.inside = (0..).zip(memory.marks()).filter(|(_, mark)| mark % 2 == 1).collect();
    }

    pub(super) fn is_over(&mut self, memory: &Memory) -> bool {
        self.inside.retain(|&(list, mark)| memory.mark(list) == Some(mark));
        self.inside.is_empty()
    }
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
    fn a_thread_inside_a_callback_is_waited_for() {
        let memory = Memory::new(1 << 20).unwrap();
        assert!(begun(&memory).is_over(&memory));
        let inside = memory.enter().unwrap();
        let mut grace = begun(&memory);
        assert!(!grace.is_over(&memory));
        drop(inside);
        assert!(grace.is_over(&memory));
        let inside = memory.enter().unwrap();
        // a callback of a signal handler, inside the first one
        drop(memory.enter().unwrap());
        drop(inside);
        assert!(begun(&memory).is_over(&memory));
    }
}
