//! Bus bandwidth of a job's collectives, without the wait for the last rank.
//!
//! The time of every other rank contains that wait, so the least time counts. This holds for functions that no rank
//! ends before all have begun, and only these have a bus bandwidth ([`bus_bytes`]). A duration needs no common clock,
//! so operations whose begins are unknown count, too.

use super::matched::MatchedOperation;
use crate::event::name::NcclName;
use crate::operation::bus_bytes;
use crate::summary::{Bandwidth, SummaryCommunicator};
use crate::sums::enough::speaks_for_all;
use crate::sums::run_sums::hexadecimal;
use std::collections::BTreeMap;

/// Sums of the operations of a communicator, a function and a class of size.
#[derive(Debug, Clone, Copy, Default)]
struct BandwidthSum {
    count: u64,
    /// Number of operations that the GPU has timed on all ranks.
    timed: u64,
    /// Number of timed operations that are alone in their kernels. `bytes` and `least` are theirs.
    operations: u64,
    bytes: u64,
    /// Sum of the operations' least times, nanoseconds.
    least: u64,
    ranks: usize,
}

/// Sums of all operations that have the same bytes on all ranks. The class of a size is the binary logarithm of its
/// bytes.
#[derive(Debug, Default)]
pub(super) struct Bandwidths(BTreeMap<(u64, NcclName, u32), BandwidthSum>);

impl Bandwidths {
    pub(super) fn add(&mut self, matched: &MatchedOperation) {
        let Some(bytes) = matched.bytes.filter(|&bytes| bytes > 0) else { return };
        let sum = self.0.entry((matched.comm, matched.operation.0, bytes.ilog2())).or_default();
        sum.count += 1;
        let Some(lengths) = matched.lengths else { return };
        sum.timed += 1;
        if lengths.least > 0 && !lengths.is_fused {
            sum.operations += 1;
            sum.bytes = sum.bytes.saturating_add(bytes);
            sum.least = sum.least.saturating_add(lengths.least);
            sum.ranks = lengths.ranks;
        }
    }

    /// Returns the rows of communicators all of whose ranks were found, since a missing rank may have the least time,
    /// and of functions that have a bus bandwidth. Of a communicator, one in `one_in` operations was looked at.
    pub(super) fn into_rows(
        self,
        communicators: &[SummaryCommunicator],
        one_in: impl Fn(u64) -> u32,
    ) -> Vec<Bandwidth> {
        let communicators: BTreeMap<&str, &SummaryCommunicator> =
            communicators.iter().map(|communicator| (communicator.comm.as_str(), communicator)).collect();
        let rows = self.0.into_iter().filter_map(|((comm, function, class), sum)| {
            let one_in = one_in(comm);
            let comm = hexadecimal(comm);
            let communicator = communicators.get(comm.as_str())?;
            let all = usize::try_from(communicator.nranks).ok()? == sum.ranks;
            let bus = bus_bytes(function, sum.bytes, communicator.nranks).filter(|_| all && sum.operations > 0)?;
            Some(Bandwidth {
                comm,
                func: function.text(),
                from_bytes: 1 << class,
                count: sum.count,
                timed: sum.timed,
                operations: sum.operations,
                one_in,
                bytes: sum.bytes,
                least_us: sum.least as f64 / 1e3,
                // bytes per nanosecond
                busbw_gb_s: speaks_for_all(sum.timed, sum.count).then(|| bus / sum.least as f64),
            })
        });
        rows.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::name::FUNCTIONS;
    use crate::figures::arrivals::{Arrival, ArrivalShare, Arrivals, Collective, KnownTime, RankArrivals};
    use crate::lateness::causality::TOGETHER;
    use crate::lateness::clock_tree::ClockTree;
    use crate::lateness::lateness;
    use crate::sums::run_sums::CommunicatorRank;

    /// Returns the rows of a communicator of two ranks. Each rank is in a process of its own, whose clock was compared
    /// with no other. Of 100 all-reduces of 4 KiB, each takes 20 us on the second rank and 30 us on the first.
    fn rows(one_in: u32, change: impl Fn(i32, u64, &mut Arrival)) -> Vec<Bandwidth> {
        let of = |rank: i32| {
            let collective = |at: u64| {
                let length = if rank == 0 { 30_000 } else { 20_000 };
                let mut arrival = Arrival { length, bytes: 4096, known: KnownTime::Length, ..Arrival::default() };
                change(rank, at, &mut arrival);
                Collective { function: NcclName::of(Some(c"AllReduce")), sequence: at, order: at as u32, arrival }
            };
            let mut arrivals = Arrivals {
                ranks: vec![RankArrivals::new(CommunicatorRank { comm: 5, rank }, (0..100).map(collective).collect())],
                ..Arrivals::default()
            };
            arrivals.thin(ArrivalShare::of_operations(one_in));
            arrivals
        };
        let communicator =
            SummaryCommunicator { comm: hexadecimal(5), nranks: 2, nnodes: 1, name: String::new(), ranks: vec![] };
        let (lateness, bandwidth) = lateness(vec![of(0), of(1)], &ClockTree::new(&[None, None]), 1.0, &[communicator]);
        assert_eq!(lateness, []);
        bandwidth
    }

    #[test]
    fn a_bandwidth_takes_no_clock() {
        let [row] = &rows(1, |_, _, _| {})[..] else { panic!("one class of sizes") };
        assert_eq!((row.count, row.timed, row.operations, row.one_in), (100, 100, 100, 1));
        assert_eq!((row.least_us, row.busbw_gb_s), (2000.0, Some(0.2048)));
        let [part] = &rows(4, |_, _, _| {})[..] else { panic!("one class of sizes") };
        assert!((5..50).contains(&part.count) && part.one_in == 4 && part.busbw_gb_s == row.busbw_gb_s, "{part:?}");
    }

    /// Some operations have no time on one rank.
    #[test]
    fn a_bandwidth_is_of_nearly_all_operations_or_not_there() {
        for (timed, is_there) in [(100, true), (90, true), (89, false), (1, false)] {
            let untimed = |rank, at, arrival: &mut Arrival| {
                if rank == 1 && at >= timed {
                    *arrival = Arrival { known: KnownTime::Nothing, length: 0, ..*arrival };
                }
            };
            let [row] = &rows(1, untimed)[..] else { panic!("one class of sizes") };
            assert_eq!((row.count, row.timed, row.operations, row.busbw_gb_s.is_some()), (100, timed, timed, is_there));
        }
        assert_eq!(rows(1, |_, _, arrival| arrival.known = KnownTime::Nothing), []);
    }

    /// Each of two all-reduces in one kernel has the time of both.
    #[test]
    fn a_shared_kernel_is_in_no_bandwidth() {
        let fused =
            |first: u64| move |rank: i32, at: u64, arrival: &mut Arrival| arrival.is_fused = rank == 0 && at >= first;
        assert_eq!(rows(1, fused(0)), []);
        let [row] = &rows(1, fused(40))[..] else { panic!("one class of sizes") };
        assert_eq!((row.count, row.timed, row.operations, row.bytes), (100, 100, 40, 40 * 4096));
        assert_eq!(row.busbw_gb_s, Some(0.2048));
    }

    #[test]
    fn only_what_nobody_ends_before_all_have_begun_has_a_bus_bandwidth() {
        let text = |function: &str| std::ffi::CString::new(function).unwrap();
        let with = FUNCTIONS
            .map(text)
            .into_iter()
            .filter(|name| bus_bytes(NcclName::of(Some(name.as_c_str())), 8, 2).is_some());
        // the copy engine does these three between two barriers
        let by_copy_engine = [c"AlltoAll", c"Gather", c"Scatter"];
        let all: Vec<_> = TOGETHER.into_iter().chain(by_copy_engine).map(std::ffi::CStr::to_owned).collect();
        assert_eq!(with.collect::<Vec<_>>(), all);
    }
}
