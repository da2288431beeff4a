//! The kernels of a communicator: the operations that share a kernel, and the kernel's time by CUDA events.
//!
//! A kernel is named by the order of its first operation. Most kernels run a single operation, which stamps time:
//! nothing is kept of them.

use crate::event::name::{FUNCTIONS, NcclName};
use crate::launch::{KernelTime, Untimed};
use crate::record::context::switching::ChannelsAsked;
use std::collections::BTreeMap;

/// Largest number of kernels kept. Beyond it, the oldest kernels are forgotten, and events give their operations no
/// time.
const MOST: usize = 65_536;

/// What is known of a kernel's time by CUDA events.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum KernelTiming {
    /// Its launch has not been reported.
    #[default]
    Unheard,
    /// Its events have not completed yet.
    Awaited,
    /// The events have timed it.
    Timed(KernelTime),
    /// The events give no time, for this reason.
    Untimed(Untimed),
}

/// The distance from a kernel's first operation to its first recorded operation of each function. All functions without
/// a counter of their own share the last place. An operation too small to be recorded does not count.
#[derive(Debug, Clone, Copy)]
pub struct Firsts([u16; FUNCTIONS.len() + 1]);

/// No operation of this function has begun.
const NONE_YET: u16 = u16::MAX;

impl Default for Firsts {
    fn default() -> Self {
        Self::NONE
    }
}

impl Firsts {
    /// No operation of any function has begun.
    pub const NONE: Self = Self([NONE_YET; FUNCTIONS.len() + 1]);

    fn begun(&mut self, function: NcclName, distance: u16) {
        let first = &mut self.0[function.function().unwrap_or(FUNCTIONS.len())];
        *first = distance.min(*first);
    }

    /// Returns the smallest distance among the wanted functions. `wanted` gets [`NcclName::none`] for the functions
    /// without a counter of their own.
    fn among(&self, wanted: impl Fn(NcclName) -> bool) -> Option<u16> {
        let names = (0..FUNCTIONS.len()).map(NcclName::of_function).chain([NcclName::none()]);
        let of_wanted = self.0.iter().zip(names).filter(|&(&first, name)| first != NONE_YET && wanted(name));
        of_wanted.map(|(&first, _)| first).min()
    }
}

/// Which sums of kernel times count a kernel at a given operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CountedKernels {
    /// Sums by function: the operation is the kernel's first of its function.
    pub in_function: bool,
    /// Sums over all functions: the operation is the kernel's first.
    pub at_all: bool,
}

/// A kernel.
#[derive(Debug, Clone, Copy, Default)]
pub struct Kernel {
    /// Whether it runs more than one operation.
    pub shared: bool,
    /// Its time by events.
    pub when: KernelTiming,
    /// Whether it was launched without stamps asked for.
    pub unstamped: bool,
    /// Whether NCCL was asked for GPU times when its operations were called.
    pub asked: ChannelsAsked,
    /// Its first recorded operation of each function.
    pub firsts: Firsts,
}

impl Kernel {
    /// Returns which sums count the kernel at an operation of this function, `distance` starts behind the kernel's
    /// first. All events that began before the operation must have been read.
    pub fn counted(&self, distance: u16, function: NcclName) -> CountedKernels {
        let same = |of: NcclName| of.function() == function.function();
        CountedKernels { in_function: self.is_first(distance, same), at_all: self.is_first(distance, |_| true) }
    }

    /// Returns whether the operation at this distance is the kernel's first recorded one among the wanted functions.
    pub fn is_first(&self, distance: u16, wanted: impl Fn(NcclName) -> bool) -> bool {
        // nothing may be kept of a kernel that runs a single operation
        distance == self.firsts.among(wanted).unwrap_or(0)
    }

    /// Returns whether its events are still to complete.
    pub fn is_awaited(&self) -> bool {
        self.when == KernelTiming::Awaited
    }

    /// Returns whether events will say nothing more about it.
    pub fn is_settled(&self) -> bool {
        matches!(self.when, KernelTiming::Timed(_) | KernelTiming::Untimed(_))
    }
}

/// A kernel, and the handles of its operations under way.
#[derive(Debug, Default)]
struct KernelsUnderWay {
    kernel: Kernel,
    operations: Vec<u64>,
}

/// The kernels of a communicator that something is kept of.
#[derive(Debug, Default)]
pub struct CommunicatorKernels {
    kept: BTreeMap<u64, KernelsUnderWay>,
    /// Whether NCCL's kernel launches are reported, so that operations are looked up by their kernel.
    launches: bool,
    /// Whether NCCL may report launches: then a kernel of one operation is kept, too, since its launch may be heard of
    /// later.
    may_report: bool,
    /// Whether the report of a launch was lost, or forgotten among too many.
    lost: bool,
}

impl CommunicatorKernels {
    /// NCCL may report kernel launches, though none has been heard of yet. Called before the first operation.
    pub fn may_report_launches(&mut self) {
        self.may_report = true;
    }

    /// From this call on, kernel launches are reported.
    pub fn expect_launches(&mut self) {
        self.launches = true;
        self.may_report = true;
    }

    /// Returns whether kernel launches are reported.
    pub fn expects_launches(&self) -> bool {
        self.launches
    }

    /// Reports of launches were lost.
    pub fn lose_news(&mut self) {
        self.lost = true;
    }

    /// Returns why a kernel whose launch was not reported has no time. It may be a graph's replay, which has no events:
    /// in a communicator with graphs, NCCL reports launches on one thread and their operations on another. Or, where
    /// reports were lost, the collector heard of the launch too late.
    pub fn cause_of_silence(&self) -> Untimed {
        match (self.launches, self.lost) {
            (false, _) => Untimed::NotBelieved,
            (true, false) => Untimed::Graph,
            (true, true) => Untimed::NoEvent,
        }
    }

    /// Adds an operation of a kernel, `distance` starts behind the kernel's first. `function` is `None` for an
    /// operation too small to be recorded.
    #[inline]
    pub fn begun(&mut self, first: u64, distance: u16, handle: u64, function: Option<NcclName>) {
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

    /// Returns what is known of a kernel.
    #[inline]
    pub fn get(&self, first: u64) -> Kernel {
        if self.kept.is_empty() {
            return Kernel::default();
        }
        self.kept.get(&first).map_or_else(Kernel::default, |kept| kept.kernel)
    }

    /// Sets what is known of a kernel's time. Returns the kernel's operations so far.
    pub fn learn(&mut self, first: u64, when: KernelTiming) -> &[u64] {
        let kept = self.kept.entry(first).or_default();
        kept.kernel.when = when;
        &kept.operations
    }

    /// Notes a kernel's launch, and whether stamps were asked for. Returns the kernel's operations so far.
    pub fn launched(&mut self, first: u64, stamps: bool, when: KernelTiming) -> &[u64] {
        self.bound();
        let kept = self.kept.entry(first).or_default();
        kept.kernel.unstamped = !stamps;
        kept.kernel.when = when;
        &kept.operations
    }

    /// Notes that NCCL was not asked for GPU times when an operation of this kernel was called, or perhaps not.
    pub fn unasked(&mut self, first: u64, asked: ChannelsAsked) {
        self.bound();
        let kernel = &mut self.kept.entry(first).or_default().kernel;
        kernel.asked = asked;
        if asked == ChannelsAsked::No && kernel.when == KernelTiming::Unheard {
            (kernel.unstamped, kernel.when) = (true, KernelTiming::Untimed(Untimed::NotBelieved));
        }
    }

    fn bound(&mut self) {
        if self.kept.len() > MOST {
            self.kept.pop_first();
            self.lost = true;
        }
    }

    /// Forgets kernels whose first operation started before this order: nothing more comes of them.
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
        let mut kernels = CommunicatorKernels::default();
        kernels.begun(5, 0, 70, None);
        assert!(kernels.kept.is_empty());
        kernels.begun(5, 1, 71, None);
        assert!(kernels.get(5).shared && !kernels.get(6).shared);
        kernels.forget_before(6);
        assert!(!kernels.get(5).shared);
    }

    #[test]
    fn a_launch_that_was_forgotten_among_too_many_is_no_graphs_replay() {
        let mut kernels = CommunicatorKernels::default();
        kernels.expect_launches();
        for first in 0..=MOST as u64 {
            kernels.launched(first, false, KernelTiming::Awaited);
        }
        assert_eq!(kernels.cause_of_silence(), Untimed::Graph);
        kernels.launched(MOST as u64 + 1, false, KernelTiming::Awaited);
        assert_eq!((kernels.get(0).when, kernels.cause_of_silence()), (KernelTiming::Unheard, Untimed::NoEvent));
    }

    #[test]
    fn a_kernels_first_operation_is_known_that_began_before_any_launch_was_heard_of() {
        let [send, recv] = [c"Send", c"Recv"].map(|name| NcclName::of(Some(name)));
        let mut kernels = CommunicatorKernels::default();
        kernels.may_report_launches();
        kernels.begun(5, 0, 70, Some(send));
        kernels.expect_launches();
        kernels.begun(5, 1, 71, Some(recv));
        let kernel = kernels.get(5);
        assert_eq!([kernel.counted(0, send).at_all, kernel.counted(1, recv).at_all], [true, false]);
        assert_eq!(kernels.learn(5, KernelTiming::Awaited), [70, 71]);
    }

    #[test]
    fn a_kernel_has_the_operations_that_began_whatever_is_heard_first() {
        let mut kernels = CommunicatorKernels::default();
        kernels.expect_launches();
        kernels.begun(5, 0, 70, None);
        assert_eq!(kernels.launched(5, false, KernelTiming::Awaited), [70]);
        kernels.begun(5, 1, 71, None);
        let cause = KernelTiming::Untimed(Untimed::Graph);
        assert_eq!(kernels.learn(5, cause), [70, 71]);
        let kernel = kernels.get(5);
        assert!(kernel.shared && kernel.unstamped && kernel.when == cause && !kernel.is_awaited());
        assert!(kernels.launched(9, true, KernelTiming::Awaited).is_empty() && kernels.get(9).is_awaited());
    }

    #[test]
    fn the_first_recorded_of_each_function_and_of_some_are_known_whatever_is_read_first() {
        let mut kernels = CommunicatorKernels::default();
        kernels.expect_launches();
        let [send, recv, other] = [c"Send", c"Recv", c"Other"].map(|name| NcclName::of(Some(name)));
        // the first operation is too small to be recorded
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
        // nothing is kept of a kernel with a single operation
        let all = |at_all| CountedKernels { in_function: at_all, at_all };
        assert_eq!([0, 1].map(|distance| Kernel::default().counted(distance, send)), [all(true), all(false)]);
    }

    #[test]
    fn there_are_only_so_many() {
        let mut kernels = CommunicatorKernels::default();
        (0..2 * MOST as u64).for_each(|first| kernels.begun(first, 1, first, None));
        assert!(kernels.kept.len() <= MOST && kernels.get(2 * MOST as u64 - 1).shared);
    }
}
