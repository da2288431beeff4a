//! The clocks of an archive's processes.
//!
//! Score-P compares the timer of each process with that of the first, by messages at the begin and at the end of the
//! measurement. Processes of a node read one timer, so a difference between two of them is the error of that
//! comparison: some microseconds, and up to a millisecond beside other work. So all processes of a node are put on the
//! clock of its first process.

use super::super::abi;
use super::Definitions;
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::rc::Rc;

/// Processes on a node whose clocks are farther apart, nanoseconds, have timers of their own.
const APART: u64 = 10_000_000;

/// By how much a location's time is behind the archive's: times of the location, with the ticks to be added.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ClockOffsets(Vec<(u64, i64)>);

impl ClockOffsets {
    /// Returns a location's time on the archive's clock, as OTF2 does: on a straight line through the two offsets
    /// around it, or through the first or the last two. Fewer than two offsets change no time.
    pub(super) fn corrected(&self, time: u64) -> u64 {
        let after = self.0.partition_point(|(known, _)| *known < time).clamp(1, self.0.len().max(2) - 1);
        let (Some(&(from, first)), Some(&(to, last))) = (self.0.get(after - 1), self.0.get(after)) else {
            return time;
        };
        let passed = (i128::from(time) - i128::from(from)) as f64;
        let slope = (last as f64 - first as f64) / (to.saturating_sub(from).max(1)) as f64;
        time.saturating_add_signed(first.saturating_add((slope * passed).round_ties_even() as i64))
    }

    /// Returns the largest difference from other offsets, ticks.
    fn apart(&self, other: &Self) -> u64 {
        let times = self.0.iter().chain(&other.0);
        times.map(|(time, _)| self.corrected(*time).abs_diff(other.corrected(*time))).max().unwrap_or(0)
    }
}

/// Returns the offsets of the first process of the node, for each location of its other processes. `found` are the
/// offsets of locations as the archive has them; those of a process are equal.
pub(super) fn shared(
    definitions: &Definitions,
    found: &BTreeMap<u64, Rc<ClockOffsets>>,
) -> BTreeMap<u64, Rc<ClockOffsets>> {
    let apart = u128::from(definitions.ticks_per_second) * u128::from(APART) / 1_000_000_000;
    let mut of_nodes: BTreeMap<&str, &Rc<ClockOffsets>> = BTreeMap::new();
    let mut shared = BTreeMap::new();
    for group in definitions.groups.iter().filter(|group| !group.node.is_empty()) {
        let locations = || definitions.locations.iter().filter(|location| location.group == group.number);
        let mut offsets = locations().filter_map(|location| found.get(&location.number));
        let Some(own) = offsets.next().filter(|own| offsets.all(|other| other == *own)) else { continue };
        let first = *of_nodes.entry(&group.node).or_insert(own);
        if first != own && u128::from(own.apart(first)) < apart {
            shared.extend(locations().map(|location| (location.number, Rc::clone(first))));
        }
    }
    shared
}

/// Notes an offset of a location.
///
/// # Safety
/// `data` is the pointer to [`ClockOffsets`] that was registered, and nothing else uses them.
pub(super) unsafe extern "C" fn offset(
    data: *mut c_void,
    time: u64,
    offset: i64,
    _deviation: f64,
) -> abi::CallbackCode {
    // SAFETY: the caller, OTF2, passes the registered data.
    unsafe { &mut *data.cast::<ClockOffsets>() }.0.push((time, offset));
    abi::CALLBACK_SUCCESS
}

#[cfg(test)]
mod tests {
    use super::super::{ArchiveLocation, LocationGroup};
    use super::*;

    fn offsets(offsets: &[(u64, i64)]) -> ClockOffsets {
        ClockOffsets(offsets.to_vec())
    }

    #[test]
    fn offsets_lie_on_straight_lines() {
        let three = offsets(&[(1000, 100), (2000, 200), (3000, -100)]);
        assert_eq!(
            [0, 1000, 1500, 2000, 2500, 4000].map(|time| three.corrected(time)),
            [0, 1100, 1650, 2200, 2550, 3600]
        );
        assert_eq!((offsets(&[(5, -3)]).corrected(9), offsets(&[]).corrected(9)), (9, 9));
        let wild = offsets(&[(0, i64::MIN), (u64::MAX, i64::MAX), (u64::MAX, 0)]);
        assert_eq!([0, u64::MAX].map(|time| wild.corrected(time)), [0, u64::MAX - 1]);
    }

    #[test]
    fn processes_of_a_node_have_one_clock() {
        let group = |(number, node): (u32, &str)| LocationGroup { number, name: String::new(), node: node.to_owned() };
        let location = |number| ArchiveLocation { number, group: number as u32, ..ArchiveLocation::default() };
        let definitions = Definitions {
            ticks_per_second: 1_000_000_000,
            groups: [(0, "a"), (1, "a"), (2, "b"), (3, "b"), (4, "b")].map(group).into(),
            locations: (0..5).map(location).collect(),
            ..Definitions::default()
        };
        let [own, near, other, far] = [0, 900_000, 7_000_000_000, 20_000_000_000]
            .map(|offset| offsets(&[(1_000_000, offset), (5_000_000, offset + 70_000)]));
        let found = [own.clone(), near, other.clone(), other, far].map(Rc::new);
        let found: BTreeMap<u64, Rc<ClockOffsets>> = (0..).zip(found).collect();
        assert_eq!(shared(&definitions, &found), BTreeMap::from([(1, Rc::new(own))]));
    }
}
