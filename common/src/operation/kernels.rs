//! The kernels of a communicator: which operations share one, and when events say that it ran.
//!
//! A kernel is named by the place of its first operation in the order of starts. Of most kernels nothing is kept: they
//! run one operation, and stamps time it.

use crate::event::name::{FUNCTIONS, Name};
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

/// How far behind a kernel's first operation its first recorded one of each function is, those without a counter of
/// their own together; an operation that is too small to be recorded is none of them.
#[derive(Debug, Clone, Copy)]
pub struct Firsts([u16; FUNCTIONS.len() + 1]);

/// No operation of the function has begun.
const NONE_YET: u16 = u16::MAX;

impl Default for Firsts {
    fn default() -> Self {
        Self::NONE
    }
}

impl Firsts {
    /// No operation has begun.
    pub const NONE: Self = Self([NONE_YET; FUNCTIONS.len() + 1]);

    fn begun(&mut self, function: Name, distance: u16) {
        let first = &mut self.0[function.function().unwrap_or(FUNCTIONS.len())];
        *first = distance.min(*first);
    }

    /// The first one of the functions that are wanted; those without a counter go by the name of none.
    fn among(&self, wanted: impl Fn(Name) -> bool) -> Option<u16> {
        let names = (0..FUNCTIONS.len()).map(Name::of_function).chain([Name::none()]);
        let of_wanted = self.0.iter().zip(names).filter(|&(&first, name)| first != NONE_YET && wanted(name));
        of_wanted.map(|(&first, _)| first).min()
    }
}

/// Which sums of kernels' times count a kernel with one of its operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counted {
    /// Those that count it once for each function: it is the kernel's first of its own.
    pub in_function: bool,
    /// Those that count it once: it is the first of all.
    pub at_all: bool,
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
    /// Its first recorded operations.
    pub firsts: Firsts,
}

impl Kernel {
    /// Which sums count it with the operation that is so far behind the first one. All that began before the operation
    /// must have been read.
    pub fn counted(&self, distance: u16, function: Name) -> Counted {
        let same = |of: Name| of.function() == function.function();
        Counted { in_function: self.is_first(distance, same), at_all: self.is_first(distance, |_| true) }
    }

    /// Whether that operation is the kernel's first recorded one among those whose functions are wanted.
    pub fn is_first(&self, distance: u16, wanted: impl Fn(Name) -> bool) -> bool {
        // of one that runs a single operation nothing may be kept
        distance == self.firsts.among(wanted).unwrap_or(0)
    }

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
    /// NCCL may report launches: a kernel of one operation is kept, too, whose launch may be heard of later.
    may_report: bool,
}

impl Kernels {
    /// NCCL may report launches, though nobody may have heard of one yet. To be said before the first operation.
    pub fn may_report_launches(&mut self) {
        self.may_report = true;
    }

    /// From here on launches are reported.
    pub fn expect_launches(&mut self) {
        self.launches = true;
        self.may_report = true;
    }

    /// Whether they are.
    pub fn expects_launches(&self) -> bool {
        self.launches
    }

    /// Why a kernel has no time of whose launch nobody has heard: a graph's replay has none, and in a communicator with
    /// graphs NCCL reports launches on one thread and their operations on another; or the launch was heard of too late,
    /// since `news_lost`.
    pub fn cause_of_silence(&self, news_lost: bool) -> Untimed {
        match (self.launches, news_lost) {
            (false, _) => Untimed::NotBelieved,
            (true, false) => Untimed::Graph,
            (true, true) => Untimed::NoEvent,
        }
    }

    /// An operation of a kernel has begun, so far behind the first one; without a function where it is too small to be
    /// recorded.
    #[inline]
    pub fn begun(&mut self, first: u64, distance: u16, handle: u64, function: Option<Name>) {
        if distance > 0 || self.may_report {
            let kept = self.kept.entry(first).or_default();
            kept.kernel.shared |= distance > 0;
            if let Some(function) = function {
                kept.kernel.firsts.begun(function, distance);
            }
            if self.may_report {
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
        kernels.begun(5, 0, 70, None);
        assert!(kernels.kept.is_empty());
        kernels.begun(5, 1, 71, None);
        assert!(kernels.get(5).shared && !kernels.get(6).shared);
        kernels.forget_before(6);
        assert!(!kernels.get(5).shared);
    }

    #[test]
    fn a_kernels_first_operation_is_known_that_began_before_any_launch_was_heard_of() {
        let [send, recv] = [c"Send", c"Recv"].map(|name| Name::of(Some(name)));
        let mut kernels = Kernels::default();
        kernels.may_report_launches();
        kernels.begun(5, 0, 70, Some(send));
        kernels.expect_launches();
        kernels.begun(5, 1, 71, Some(recv));
        let kernel = kernels.get(5);
        assert_eq!([kernel.counted(0, send).at_all, kernel.counted(1, recv).at_all], [true, false]);
        assert_eq!(kernels.learn(5, When::Awaited), [70, 71]);
    }

    #[test]
    fn a_kernel_has_the_operations_that_began_whatever_is_heard_first() {
        let mut kernels = Kernels::default();
        kernels.expect_launches();
        kernels.begun(5, 0, 70, None);
        assert_eq!(kernels.launched(5, false, When::Awaited), [70]);
        kernels.begun(5, 1, 71, None);
        let cause = When::Untimed(Untimed::Graph);
        assert_eq!(kernels.learn(5, cause), [70, 71]);
        let kernel = kernels.get(5);
        assert!(kernel.shared && kernel.unstamped && kernel.when == cause && !kernel.is_awaited());
        assert!(kernels.launched(9, true, When::Awaited).is_empty() && kernels.get(9).is_awaited());
    }

    #[test]
    fn the_first_recorded_of_each_function_and_of_some_are_known_whatever_is_read_first() {
        let mut kernels = Kernels::default();
        kernels.expect_launches();
        let [send, recv, other] = [c"Send", c"Recv", c"Other"].map(|name| Name::of(Some(name)));
        // the first one is too small to be recorded
        for (distance, function) in
            [(3, Some(recv)), (0, None), (4, Some(other)), (1, Some(send)), (2, Some(recv)), (5, Some(send))]
        {
            kernels.begun(70, distance, u64::from(distance), function);
        }
        let kernel = kernels.get(70);
        let counted =
            |function| (0..6).filter(|&distance| kernel.counted(distance, function).in_function).collect::<Vec<_>>();
        assert_eq!([send, recv, other].map(counted), [[1], [2], [4]]);
        assert_eq!(
            (0..6).map(|distance| kernel.counted(distance, recv).at_all).collect::<Vec<_>>(),
            [0, 1, 0, 0, 0, 0].map(|n| n == 1)
        );
        assert!(kernel.is_first(2, |function| function != send) && !kernel.is_first(1, |function| function != send));
        // of one alone nothing is kept
        let all = |at_all| Counted { in_function: at_all, at_all };
        assert_eq!([0, 1].map(|distance| Kernel::default().counted(distance, send)), [all(true), all(false)]);
    }

    #[test]
    fn there_are_only_so_many() {
        let mut kernels = Kernels::default();
        (0..2 * MOST as u64).for_each(|first| kernels.begun(first, 1, first, None));
        assert!(kernels.kept.len() <= MOST && kernels.get(2 * MOST as u64 - 1).shared);
    }
}
