//! The descriptor of a call, prepared for the fastest playing: what changes with each use is filled in where it belongs.

use crate::capture::CapturedEvent;
use crate::host::c_memory::CMemory;
use crate::host::descriptor::{DescriptorMemory, RunHandles, WORDS};

/// Place of a word after the descriptor: a value written there has no effect.
const NOWHERE: u8 = WORDS as u8;
/// Place of the parent's handle in a descriptor, in words.
const PARENT: u8 = 1;

/// A descriptor without handles and stamps.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Template {
    words: [u64; WORDS + 1],
    /// Place of the group's handle.
    group_at: u8,
    /// Place of the GPU's stamp.
    stamp_at: u8,
}

impl Template {
    /// Finds the place of the group's handle and of the stamp: it compares descriptors of events that differ in these
    /// values only.
    pub(super) fn new(api: u32, event: &CapturedEvent, rank: i32, pid: i32, strings: &mut CMemory) -> Self {
        let place = RunHandles { parent: 0, group: 0, rank, pid };
        let mut words = |event: &CapturedEvent, group| {
            DescriptorMemory::new(api, event, RunHandles { group, ..place }, strings).words()
        };
        let stamped = |stamp| match *event {
            CapturedEvent::KernelCh { ch, .. } => CapturedEvent::KernelCh { ch, ptimer: stamp },
            CapturedEvent::KernelPhase { ch, phase, .. } => CapturedEvent::KernelPhase { ch, phase, ptimer: stamp },
            ref other => other.clone(),
        };
        let plain = words(&stamped(0), 0);
        let differing = |others: [u64; WORDS]| {
            let place = plain.iter().zip(&others).position(|(one, other)| one != other);
            place.and_then(|place| u8::try_from(place).ok()).unwrap_or(NOWHERE)
        };
        let (group_at, stamp_at) = (differing(words(&stamped(0), 1)), differing(words(&stamped(1), 0)));
        // up to v4 the group of an operation is its parent and is filled in as the parent
        let group_at = if group_at == PARENT { NOWHERE } else { group_at };
        let mut all = [0; WORDS + 1];
        all[..WORDS].copy_from_slice(&plain);
        Self { words: all, group_at, stamp_at }
    }

    /// Fills in the values that change with each use.
    #[inline]
    pub(super) fn fill(&mut self, parent: u64, group: u64, stamp: u64) -> *const u8 {
        self.words[usize::from(PARENT)] = parent;
        self.words[usize::from(self.group_at)] = group;
        self.words[usize::from(self.stamp_at)] = stamp;
        self.words.as_ptr().cast()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_from_call_to_call_is_filled_in_where_it_belongs() {
        let coll = CapturedEvent::Coll {
            seq: 3,
            func: None,
            count: 5,
            dtype: None,
            root: 0,
            nch: 2,
            nwarps: 1,
            algo: None,
            proto: None,
            symmetric: None,
            tag: 0,
        };
        let kernel = CapturedEvent::KernelCh { ch: 9, ptimer: 77 };
        for api in 4..=7 {
            for event in [&coll, &kernel] {
                let strings = &mut CMemory::default();
                let mut template = Template::new(api, event, 1, 42, strings);
                template.fill(11, 12, 13);
                let stamped = match event {
                    CapturedEvent::KernelCh { ch, .. } => CapturedEvent::KernelCh { ch: *ch, ptimer: 13 },
                    other => other.clone(),
                };
                let place = RunHandles { parent: 11, group: 12, rank: 1, pid: 42 };
                let mut whole = DescriptorMemory::new(api, &stamped, place, strings).words();
                // up to v4 the group of an operation is its parent, and the script fills it in as the parent
                whole[usize::from(PARENT)] = 11;
                assert_eq!(template.words[..WORDS], whole, "v{api} {event:?}");
            }
        }
    }
}
