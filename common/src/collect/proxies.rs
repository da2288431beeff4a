//! The proxy operations of a communicator and their steps under way.
//!
//! A step that NCCL starts again (a receive that could not be posted is tried again and again) never stops under its
//! first handle, and a step that its proxy operation has outlived never stops at all. Such steps are lost: nobody waits
//! for them.

use crate::collect::step_queue::StepQueue;
use crate::collect::table::HandleTable;
use crate::record::payload::{Connection, OfProxyOp};
use crate::record::slot::{SlotContent, StepStates, StepTimes};
use rustc_hash::FxHashSet;

/// Capacity that is kept when few entries are needed.
const FEW: usize = 256;

/// The part of a proxy operation that its steps need. It is two whole words, copied for each step: many small fields,
/// written one by one and read together, would stall the processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Proxy {
    /// Handle of the proxy operation's operation.
    pub operation: u64,
    /// The connection, marked if the operation counts the proxy operation as under way.
    connection: Connection,
}

impl Proxy {
    fn new(operation: u64, connection: Connection, counted: bool) -> Self {
        Self { operation, connection: connection.marked(counted) }
    }

    /// Returns the other rank.
    pub(crate) fn peer(self) -> i32 {
        self.connection.peer()
    }

    /// Returns the channel id.
    pub(crate) fn channel(self) -> u8 {
        self.connection.channel()
    }

    /// Returns whether it sends; otherwise it receives.
    pub(crate) fn sends(self) -> bool {
        self.connection.sends()
    }

    /// Returns whether its operation counts it as under way.
    pub(crate) fn is_counted(self) -> bool {
        self.connection.is_marked()
    }
}

/// A known proxy operation and its steps under way.
#[derive(Debug)]
struct Followed {
    proxy: Proxy,
    /// Number and handle of each step under way.
    open: Vec<(u64, u64)>,
    queue: StepQueue,
}

/// All proxy operations of a communicator, by handle.
#[derive(Debug, Default)]
pub(crate) struct Proxies {
    known: HandleTable<Followed>,
    /// Handles and ends of proxy operations that have ended. A step that stopped before the end may lie in another
    /// window and be read later; it is read at the latest in the round after the one that takes in all of that time.
    ended: Vec<(u64, u64)>,
    /// Handles of proxy operations that are forgotten after the next round.
    over: Vec<u64>,
    lost: FxHashSet<u64>,
}

impl Proxies {
    /// Returns the proxy operation of this handle.
    #[inline]
    pub(crate) fn get(&mut self, handle: u64) -> Option<Proxy> {
        self.known.get_mut(handle).map(|followed| followed.proxy)
    }

    /// Adds a proxy operation from its slot. Returns `None` if it is known already.
    pub(crate) fn begin(&mut self, handle: u64, event: &SlotContent, counted: bool) -> Option<Proxy> {
        if self.known.contains(handle) {
            return None;
        }
        let proxy = Proxy::new(event.parent, OfProxyOp::unpack(event.payload()).connection, counted);
        self.known.insert(handle, Followed { proxy, open: Vec::new(), queue: StepQueue::default() });
        Some(proxy)
    }

    /// Notes that a proxy operation ended at this time. Its steps may still be read in this round and the next.
    pub(crate) fn end(&mut self, handle: u64, time: u64) {
        self.ended.push((handle, time));
    }

    /// Notes that a step has begun. Returns how many earlier steps of the same number are lost by it.
    pub(crate) fn begin_step(&mut self, proxy: u64, number: u64, handle: u64) -> usize {
        let lost = self.lose_steps(proxy, number);
        if let Some(followed) = self.known.get_mut(proxy) {
            followed.open.push((number, handle));
        }
        lost
    }

    /// Notes that a step has begun and ended. Returns its proxy operation, and how many earlier steps of the same
    /// number are lost by it.
    #[inline]
    pub(crate) fn pass_step(&mut self, proxy: u64, number: u64) -> Option<(Proxy, usize)> {
        let followed = self.known.get_mut(proxy)?;
        let of = followed.proxy;
        let lost = if followed.open.is_empty() { 0 } else { self.lose_steps(proxy, number) };
        Some((of, lost))
    }

    /// Loses the steps of this number that are under way, and returns how many there were.
    fn lose_steps(&mut self, proxy: u64, number: u64) -> usize {
        let Some(Followed { open, .. }) = self.known.get_mut(proxy) else { return 0 };
        let before = self.lost.len();
        self.lost.extend(open.extract_if(.., |(other, _)| *other == number).map(|(_, handle)| handle));
        self.lost.len() - before
    }

    /// Notes that a step has ended. Returns false if it was lost before and counted as ended then.
    pub(crate) fn end_step(&mut self, proxy: u64, handle: u64) -> bool {
        if let Some(Followed { open, .. }) = self.known.get_mut(proxy) {
            open.retain(|&(_, other)| other != handle);
        }
        self.awaits_step(handle)
    }

    /// Takes in the states of a step that has ended. Returns the times of the steps that are known by it
    /// ([`StepQueue::end`]).
    #[inline]
    pub(crate) fn queue(&mut self, proxy: u64, number: u64, states: StepStates) -> [Option<StepTimes>; 2] {
        self.known.get_mut(proxy).map_or([None, None], |followed| followed.queue.end(number, states))
    }

    /// Returns whether the step's stop is still waited for; removes it from the lost steps if not.
    pub(crate) fn awaits_step(&mut self, handle: u64) -> bool {
        self.lost.is_empty() || !self.lost.remove(&handle)
    }

    /// Ends a round: all events that began before `horizon` have been read. Returns, for each proxy operation that is
    /// forgotten now, its operation's handle and the number of its lost steps.
    pub(crate) fn end_round(&mut self, horizon: u64) -> Vec<(u64, usize)> {
        let Self { known, ended, over, lost } = self;
        let forget = |handle| {
            let Followed { proxy, open, .. } = known.remove(handle)?;
            lost.extend(open.iter().map(|&(_, step)| step));
            Some((proxy.operation, open.len()))
        };
        let forgotten = over.drain(..).filter_map(forget).collect();
        over.extend(ended.extract_if(.., |(_, time)| *time < horizon).map(|(handle, _)| handle));
        self.shrink();
        forgotten
    }

    /// Gives back memory that a peak has left over.
    fn shrink(&mut self) {
        self.known.shrink();
        let (over, ended) = (self.over.len(), self.ended.len());
        if self.over.capacity() + self.ended.capacity() > (8 * (over + ended)).max(FEW) {
            self.over.shrink_to(2 * over);
            self.ended.shrink_to(2 * ended);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::mapping::Mapping;
    use crate::event::handle::Handle;
    use crate::event::kind::EventKind;
    use crate::record::slot::Slot;

    fn with_one() -> Proxies {
        let slots = Mapping::<Slot>::new(1).unwrap();
        let payload = OfProxyOp { connection: Connection::new(3, 5, true), steps: 1 };
        slots[0].start(Handle::of_event(EventKind::ProxyOp, 0, 1), 70, 0, payload.pack());
        let mut proxies = Proxies::default();
        let event = slots[0].read(1).unwrap();
        let proxy = proxies.begin(7, &event, true).unwrap();
        assert_eq!((proxy.operation, proxy.peer(), proxy.channel()), (70, 3, 5));
        assert!(proxy.sends() && proxy.is_counted());
        assert_eq!(proxies.begin(7, &event, true), None);
        proxies
    }

    #[test]
    fn a_step_started_again_leaves_the_first_one_lost() {
        let mut proxies = with_one();
        assert_eq!(
            [proxies.begin_step(7, 0, 100), proxies.begin_step(7, 1, 101), proxies.begin_step(7, 0, 102)],
            [0, 0, 1]
        );
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
    fn a_step_told_whole_leaves_those_of_its_number_lost() {
        let mut proxies = with_one();
        proxies.begin_step(7, 0, 100);
        proxies.begin_step(7, 1, 101);
        assert_eq!(proxies.pass_step(7, 0).map(|(proxy, lost)| (proxy.operation, lost)), Some((70, 1)));
        assert_eq!(proxies.pass_step(8, 0), None);
        assert!(!proxies.awaits_step(100) && proxies.awaits_step(101));
    }

    #[test]
    fn an_ended_one_is_known_for_one_more_round() {
        let mut proxies = with_one();
        proxies.begin_step(7, 0, 100);
        proxies.begin_step(7, 1, 101);
        proxies.end(7, 5000);
        assert_eq!(proxies.end_round(5000), []);
        assert_eq!(proxies.end_round(5001), []);
        assert!(proxies.get(7).is_some());
        assert!(proxies.end_step(7, 100));
        assert_eq!(proxies.end_round(5001), [(70, 1)]);
        assert_eq!(proxies.get(7), None);
        assert!(!proxies.awaits_step(101));
    }
}
