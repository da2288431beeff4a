//! The proxy operations of a communicator, and which of their steps are under way.
//!
//! A step that NCCL starts again (a receive that could not be posted is tried again and again) never stops under its first handle, and
//! neither does one that its proxy operation has outlived. Such steps are lost: nobody waits for them.

use crate::slot::Recorded;
use std::collections::{HashMap, HashSet};

/// What a step needs to know of its proxy operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Proxy {
    /// Handle of the operation it belongs to.
    pub operation: u64,
    /// The other rank.
    pub peer: i32,
    /// Channel id.
    pub channel: u8,
    /// Sends, or receives.
    pub send: bool,
    /// Whether its operation counts it as under way.
    pub counted: bool,
}

/// All of a communicator, by handle.
#[derive(Debug, Default)]
pub struct Proxies {
    known: HashMap<u64, Proxy>,
    /// Those that ended in this round and in the one before. A step that stopped earlier may be read later, in another window, but
    /// in the next round at the latest.
    ended: [Vec<u64>; 2],
    /// Steps under way, number and handle, by proxy operation.
    open: HashMap<u64, Vec<(u64, u64)>>,
    lost: HashSet<u64>,
}

impl Proxies {
    /// The proxy operation of that handle.
    pub fn get(&self, handle: u64) -> Option<Proxy> {
        self.known.get(&handle).copied()
    }

    /// Takes a proxy operation in, from its slot; `None` when it is known already.
    pub fn begin(&mut self, handle: u64, event: &Recorded, counted: bool) -> Option<Proxy> {
        if self.known.contains_key(&handle) {
            return None;
        }
        let place = event.payload()[0];
        let (peer, channel, send) = (place as u32 as i32, (place >> 32) as u8, place >> 40 & 1 == 1);
        let proxy = Proxy { operation: event.parent, peer, channel, send, counted };
        self.known.insert(handle, proxy);
        Some(proxy)
    }

    /// It has ended; its steps may still be read in this round and the next.
    pub fn end(&mut self, handle: u64) {
        self.ended[0].push(handle);
    }

    /// A step of that number has begun. Gives how many earlier ones of the same number it leaves lost.
    pub fn begin_step(&mut self, proxy: u64, number: u64, handle: u64) -> usize {
        let open = self.open.entry(proxy).or_default();
        let before = self.lost.len();
        self.lost.extend(open.extract_if(.., |(other, _)| *other == number).map(|(_, handle)| handle));
        open.push((number, handle));
        self.lost.len() - before
    }

    /// A step has ended; false when it was lost before, and taken for ended then.
    pub fn end_step(&mut self, proxy: u64, handle: u64) -> bool {
        if let Some(open) = self.open.get_mut(&proxy) {
            open.retain(|&(_, other)| other != handle);
        }
        !self.lost.remove(&handle)
    }

    /// Whether the step's stop is still waited for.
    pub fn awaits_step(&mut self, handle: u64) -> bool {
        !self.lost.remove(&handle)
    }

    /// All windows have been read once more. Gives, for each proxy operation that is forgotten now, the operation it belongs to and how
    /// many of its steps are lost.
    pub fn end_round(&mut self) -> Vec<(u64, usize)> {
        let over = std::mem::take(&mut self.ended[1]);
        self.ended.swap(0, 1);
        let forget = |handle| {
            let proxy = self.known.remove(&handle)?;
            let open = self.open.remove(&handle).unwrap_or_default();
            self.lost.extend(open.iter().map(|&(_, step)| step));
            Some((proxy.operation, open.len()))
        };
        over.into_iter().filter_map(forget).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handle::Handle;
    use crate::kind::Kind;
    use crate::mapping::Mapping;
    use crate::slot::Slot;

    fn with_one() -> Proxies {
        let slots = Mapping::<Slot>::new(1).unwrap();
        slots[0].start(Handle::of_event(Kind::ProxyOp, 0, 1), 70, 0, [3 | 5 << 32 | 1 << 40, 0, 0, 0]);
        let mut proxies = Proxies::default();
        let event = slots[0].read(1).unwrap();
        assert_eq!(proxies.begin(7, &event, true), Some(Proxy { operation: 70, peer: 3, channel: 5, send: true, counted: true }));
        assert_eq!(proxies.begin(7, &event, true), None);
        proxies
    }

    #[test]
    fn a_step_started_again_leaves_the_first_one_lost() {
        let mut proxies = with_one();
        assert_eq!([proxies.begin_step(7, 0, 100), proxies.begin_step(7, 1, 101), proxies.begin_step(7, 0, 102)], [0, 0, 1]);
        assert!(!proxies.awaits_step(100) && proxies.awaits_step(102));
        assert!(proxies.end_step(7, 102));
    }

    #[test]
    fn a_lost_step_that_stops_all_the_same_counts_once() {
        let mut proxies = with_one();
        proxies.begin_step(7, 0, 100);
        assert_eq!(proxies.begin_step(7, 0, 101), 1);
        assert!(!proxies.end_step(7, 100));
    }

    #[test]
    fn an_ended_one_is_known_for_one_more_round() {
        let mut proxies = with_one();
        proxies.begin_step(7, 0, 100);
        proxies.begin_step(7, 1, 101);
        proxies.end(7);
        assert_eq!(proxies.end_round(), []);
        assert!(proxies.get(7).is_some());
        assert!(proxies.end_step(7, 100));
        assert_eq!(proxies.end_round(), [(70, 1)]);
        assert_eq!(proxies.get(7), None);
        assert!(!proxies.awaits_step(101));
    }
}
