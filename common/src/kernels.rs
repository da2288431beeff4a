//! The kernels of a communicator: which operations share one, and when events say that it ran.
//!
//! A kernel is named by the place of its first operation in the order of starts. Of most kernels nothing is kept: they run one operation, and
//! stamps time it.

use crate::launch::{KernelTime, Untimed};
use std::collections::BTreeMap;

/// Kernels that are kept; past it the oldest are forgotten, and their operations have no time.
const MOST: usize = 65_536;

/// What is known of a kernel's time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum When {
    /// Nobody has heard of its launch.
    #[default]
    Unheard,
    /// Its events are to happen.
    Awaited,
    /// Events say that it ran then.
    Timed(KernelTime),
    /// Events say nothing, for that reason.
    Untimed(Untimed),
}

/// A kernel.
#[derive(Debug, Clone, Copy, Default)]
pub struct Kernel {
    /// It runs more than one operation.
    pub shared: bool,
    /// Its time.
    pub when: When,
    /// The GPU's stamps were not asked for.
    pub unstamped: bool,
}

impl Kernel {
    /// Whether its events are still to happen.
    pub fn is_awaited(&self) -> bool {
        self.when == When::Awaited
    }

    /// Whether all is known that events will say.
    pub fn is_settled(&self) -> bool {
        matches!(self.when, When::Timed(_) | When::Untimed(_))
    }
}

/// A kernel, and its operations that are under way.
#[derive(Debug, Default)]
struct Kept {
    kernel: Kernel,
    operations: Vec<u64>,
}

/// The kernels of a communicator that something is kept of.
#[derive(Debug, Default)]
pub struct Kernels {
    kept: BTreeMap<u64, Kept>,
    /// Launches are told of, so that operations are to be found by their kernel.
    launches: bool,
}

impl Kernels {
    /// From here on launches are told of.
    pub fn expect_launches(&mut self) {
        self.launches = true;
    }

    /// Whether they are.
    pub fn expects_launches(&self) -> bool {
        self.launches
    }

    /// An operation of a kernel has begun, so far behind the first one.
    #[inline]
    pub fn begun(&mut self, first: u64, distance: u16, handle: u64) {
        if distance > 0 || self.launches {
            let kept = self.kept.entry(first).or_default();
            kept.kernel.shared |= distance > 0;
            if self.launches {
                kept.operations.push(handle);
            }
            self.bound();
        }
    }

    /// What is known of a kernel.
    #[inline]
    pub fn get(&self, first: u64) -> Kernel {
        if self.kept.is_empty() {
            return Kernel::default();
        }
        self.kept.get(&first).map_or_else(Kernel::default, |kept| kept.kernel)
    }

    /// Something is learnt of a kernel's time. Gives its operations so far.
    pub fn learn(&mut self, first: u64, when: When) -> &[u64] {
        let kept = self.kept.entry(first).or_default();
        kept.kernel.when = when;
        &kept.operations
    }

    /// A kernel was launched, whose stamps were asked for or not.
    pub fn launched(&mut self, first: u64, stamps: bool, when: When) -> &[u64] {
        self.bound();
        let kept = self.kept.entry(first).or_default();
        kept.kernel.unstamped = !stamps;
        kept.kernel.when = when;
        &kept.operations
    }

    fn bound(&mut self) {
        if self.kept.len() > MOST {
            self.kept.pop_first();
        }
    }

    /// Nothing more comes of kernels whose first operation started before that order.
    pub fn forget_before(&mut self, order: u64) {
        if self.kept.first_key_value().is_some_and(|(&first, _)| first < order) {
            self.kept = self.kept.split_off(&order);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_an_operation_alone_nothing_is_kept_where_launches_are_not_told_of() {
        let mut kernels = Kernels::default();
        kernels.begun(5, 0, 70);
        assert!(kernels.kept.is_empty());
        kernels.begun(5, 1, 71);
        assert!(kernels.get(5).shared && !kernels.get(6).shared);
        kernels.forget_before(6);
        assert!(!kernels.get(5).shared);
    }

    #[test]
    fn a_kernel_has_the_operations_that_began_whatever_is_heard_first() {
        let mut kernels = Kernels::default();
        kernels.expect_launches();
        kernels.begun(5, 0, 70);
        assert_eq!(kernels.launched(5, false, When::Awaited), [70]);
        kernels.begun(5, 1, 71);
        let cause = When::Untimed(Untimed::Graph);
        assert_eq!(kernels.learn(5, cause), [70, 71]);
        let kernel = kernels.get(5);
        assert!(kernel.shared && kernel.unstamped && kernel.when == cause && !kernel.is_awaited());
        assert!(kernels.launched(9, true, When::Awaited).is_empty() && kernels.get(9).is_awaited());
    }

    #[test]
    fn there_are_only_so_many() {
        let mut kernels = Kernels::default();
        (0..2 * MOST as u64).for_each(|first| kernels.begun(first, 1, first));
        assert!(kernels.kept.len() <= MOST && kernels.get(2 * MOST as u64 - 1).shared);
    }
}
