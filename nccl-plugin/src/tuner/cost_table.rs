//! NCCL's table of predicted times: one for each algorithm with each protocol, microseconds. A time below 0 stands for
//! one that cannot be chosen. NCCL takes the first of the least times.

use common::name::NcclName;
use common::predictions::PredictedWay;
use std::ffi::{CStr, c_int};

/// NCCL's algorithms, by number.
const ALGORITHMS: [&CStr; 7] = [c"TREE", c"RING", c"COLLNET_DIRECT", c"COLLNET_CHAIN", c"NVLS", c"NVLS_TREE", c"PAT"];
/// NCCL's protocols, by number.
const PROTOCOLS: [&CStr; 3] = [c"LL", c"LL128", c"SIMPLE"];
/// NCCL's functions that have predictions, by number (ncclFunc_t).
const FUNCTIONS: [&CStr; 5] = [c"Broadcast", c"Reduce", c"AllGather", c"ReduceScatter", c"AllReduce"];

/// NCCL's time of what cannot be chosen.
const IGNORED: f32 = -1.0;
/// Numbers of the algorithms that reduce in the network and over NVLink.
const COLLNET_CHAIN: usize = 3;
const NVLS: [usize; 2] = [4, 5];
/// Number of the protocol that they use.
const SIMPLE: usize = 2;

/// Most times of a table that is read. NCCL's has 21.
const MOST: usize = 64;

/// Returns the name of one of NCCL's functions that have predictions.
pub(super) fn function(number: c_int) -> Option<NcclName> {
    named(&FUNCTIONS, usize::try_from(number).ok()?)
}

fn named(names: &[&'static CStr], number: usize) -> Option<NcclName> {
    names.get(number).map(|name| NcclName::of(Some(*name)))
}

/// A copy of NCCL's table.
#[derive(Debug, Clone, Copy)]
pub(super) struct CostTable {
    times: [f32; MOST],
    protocols: usize,
}

impl CostTable {
    /// Copies a table of these numbers of algorithms and protocols. `None` if there is none of a plausible size.
    ///
    /// # Safety
    /// `times` is NULL or that many readable times, algorithm after algorithm.
    pub(super) unsafe fn read(times: *const f32, algorithms: c_int, protocols: c_int) -> Option<Self> {
        let [algorithms, protocols] = [algorithms, protocols].map(|number| usize::try_from(number).unwrap_or(0));
        let number = algorithms.checked_mul(protocols).filter(|&number| number > 0 && number <= MOST)?;
        if times.is_null() {
            return None;
        }
        let mut copy = Self { times: [IGNORED; MOST], protocols };
        // SAFETY: the caller guarantees that so many times can be read, and the copy has room for them.
        unsafe { times.copy_to_nonoverlapping(copy.times.as_mut_ptr(), number) };
        Some(copy)
    }

    /// Returns the number of ways that can be chosen.
    pub(super) fn candidates(&self) -> u8 {
        self.times.iter().filter(|&&time| time >= 0.0).count() as u8
    }

    /// Returns the place of the way that NCCL takes, if it takes one.
    pub(super) fn choice(&self) -> Option<usize> {
        let all = self.times.iter().enumerate().filter(|&(_, &time)| (0.0..f32::MAX).contains(&time));
        all.fold(None, |least: Option<(usize, f32)>, (place, &time)| match least {
            Some((_, least_time)) if least_time <= time => least,
            _ => Some((place, time)),
        })
        .map(|(place, _)| place)
    }

    /// Returns the way at a place, with its time, which is not a number where the way cannot be chosen.
    pub(super) fn way(&self, place: usize) -> PredictedWay {
        let name = |names, number: Option<usize>| number.and_then(|number| named(names, number)).unwrap_or_default();
        PredictedWay {
            algorithm: name(&ALGORITHMS, place.checked_div(self.protocols)),
            protocol: name(&PROTOCOLS, place.checked_rem(self.protocols)),
            microseconds: self.times.get(place).copied().filter(|&time| time >= 0.0).unwrap_or(f32::NAN),
        }
    }

    /// Returns whether the network, and NVLink, can reduce, as a tuner of v2 is asked. NCCL reads it from the table.
    pub(super) fn reductions(&self) -> [bool; 2] {
        let can =
            |algorithm: usize| self.times.get(algorithm * self.protocols + SIMPLE).is_some_and(|&of| of != IGNORED);
        [can(COLLNET_CHAIN), NVLS.into_iter().any(can)]
    }

    /// Returns the place of an algorithm with a protocol, if a tuner of v2 may choose it.
    pub(super) fn place(&self, algorithm: c_int, protocol: c_int) -> Option<usize> {
        let [algorithm, protocol] = [algorithm, protocol].map(|number| usize::try_from(number).ok());
        let (algorithm, protocol) = algorithm.zip(protocol)?;
        let place = algorithm.checked_mul(self.protocols)?.checked_add(protocol)?;
        let is_there = protocol < self.protocols && self.times.get(place).is_some_and(|&time| time != IGNORED);
        is_there.then_some(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(times: &[f32]) -> CostTable {
        // SAFETY: there are as many times as the product says.
        unsafe { CostTable::read(times.as_ptr(), (times.len() / 3) as c_int, 3) }.unwrap()
    }

    #[test]
    fn nccl_takes_the_first_of_the_least_times_that_it_may_take() {
        let of = |times: [f32; 6]| table(&times).choice();
        assert_eq!(of([-1.0, 5.0, 3.0, 3.0, 4.0, -2.0]), Some(2));
        assert_eq!(of([-1.0, 0.0, f32::NAN, 0.0, -0.5, 1.0]), Some(1));
        assert_eq!(of([-1.0, -1.0, f32::NAN, f32::INFINITY, f32::MAX, -1.0]), None);
        assert_eq!(table(&[-1.0, 5.0, 3.0]).candidates(), 2);
    }

    #[test]
    fn a_way_has_the_names_of_its_place() {
        let mut times = [-1.0; 24];
        times[5] = 7.5;
        let table = table(&times);
        let texts = |place| {
            let way = table.way(place);
            (way.algorithm.text(), way.protocol.text(), way.microseconds)
        };
        assert_eq!(texts(5), ("RING".into(), "SIMPLE".into(), 7.5));
        let (algorithm, protocol, time) = texts(18);
        assert!((algorithm.as_str(), protocol.as_str()) == ("PAT", "LL") && time.is_nan());
        assert_eq!(texts(21).0, "unknown", "an algorithm of a later NCCL");
        assert_eq!((function(4), function(5), function(-1)), (Some(NcclName::of_text("AllReduce")), None, None));
    }

    #[test]
    fn a_table_of_another_size_is_not_read() {
        let times = [1.0; 4];
        // SAFETY: none of these tables is read: they have no times, too many, or no place.
        let read = |times, algorithms, protocols| unsafe { CostTable::read(times, algorithms, protocols) }.is_some();
        assert!(!read(std::ptr::null(), 7, 3) && !read(times.as_ptr(), 0, 3) && !read(times.as_ptr(), 7, -3));
        assert!(!read(times.as_ptr(), 22, 3) && !read(times.as_ptr(), c_int::MAX, c_int::MAX));
    }

    #[test]
    fn a_tuner_of_v2_gets_what_the_table_says() {
        let mut times = [-1.0; 21];
        assert_eq!(table(&times).reductions(), [false, false]);
        times[3 * 3 + 2] = 1.0;
        times[5 * 3 + 2] = 2.0;
        let table = table(&times);
        assert_eq!(table.reductions(), [true, true]);
        assert_eq!(
            (table.place(3, 2), table.place(3, 1), table.place(-1, 2), table.place(9, 9)),
            (Some(11), None, None, None)
        );
    }
}
