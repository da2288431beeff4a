//! The connections of a communicator (to a peer, by a channel), and the service times of their transfers.
//!
//! A connection serves its transfers one after the other, so a transfer waits behind those before it. Its service time
//! is stop - max(start, the stop before on its connection).
//!
//! Stops are read out of order: windows are read one after the other, and each gives what began before what stopped. So
//! a transfer waits here until everything that stopped before it has been read. Transfers are served in the order of
//! stops, whatever their windows.

use crate::sums::run_sums::TransferKey;
use crate::sums::services::{Service, Services};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// Largest number of connections whose last stops are kept. Transfers of further connections have no service time.
const MOST_CONNECTIONS: usize = 16_384;
/// Largest number of transfers that wait to be served. Beyond it, all are served at once, and a transfer that stopped
/// before one of them but is read later is served behind it.
const MOST_WAITING: usize = 65_536;
/// Number of stops kept of a connection. NCCL has eight steps of a connection under way, or sixteen if two connections
/// share the channel.
const MOST_STOPS: usize = 32;

/// Number of a window, unique in its communicator.
pub(crate) type WindowNumber = u64;

/// Served transfers of one window over one connection.
#[derive(Debug)]
pub struct Served {
    /// The window.
    pub window: WindowNumber,
    /// The receiving rank.
    pub peer: i32,
    /// Channel id.
    pub channel: u8,
    /// Their service times.
    pub services: Services,
}

/// The connections of a communicator, and the transfers that wait for service.
#[derive(Debug)]
pub(crate) struct Connections {
    waiting: Vec<(WindowNumber, TransferKey)>,
    /// Number of waiting transfers, by window.
    of_windows: FxHashMap<WindowNumber, usize>,
    /// The first stop of a waiting transfer, ticks; the largest number if none waits.
    first_stop: u64,
    /// The last stops of each connection, ascending, ticks.
    stops: FxHashMap<(i32, u8), VecDeque<u64>>,
}

impl Default for Connections {
    fn default() -> Self {
        Self {
            waiting: Vec::new(),
            of_windows: FxHashMap::default(),
            first_stop: u64::MAX,
            stops: FxHashMap::default(),
        }
    }
}

impl Connections {
    /// Adds transfers read from a window.
    pub(crate) fn read(&mut self, window: WindowNumber, transfers: impl IntoIterator<Item = TransferKey>) {
        let before = self.waiting.len();
        self.waiting.extend(transfers.into_iter().map(|transfer| (window, transfer)));
        let read = &self.waiting[before..];
        if !read.is_empty() {
            self.first_stop = first_stop(read).min(self.first_stop);
            *self.of_windows.entry(window).or_default() += read.len();
        }
    }

    /// Returns whether transfers of the window wait to be served.
    pub(crate) fn awaits(&self, window: WindowNumber) -> bool {
        self.of_windows.contains_key(&window)
    }

    /// Serves the transfers that stopped before `horizon`: all of them were read. Looks at the waiting transfers only
    /// if one of them stopped before it: a step that never ends holds the horizon up, and many may wait.
    pub(crate) fn serve(&mut self, horizon: u64, mut take: impl FnMut(&Served)) {
        let Self { waiting, of_windows, first_stop: first, stops } = self;
        let horizon = if waiting.len() > MOST_WAITING { u64::MAX } else { horizon };
        if *first >= horizon {
            return;
        }
        let mut ready: Vec<_> = waiting.extract_if(.., |(_, transfer)| transfer.stop < horizon).collect();
        *first = first_stop(waiting);
        of_windows.clear();
        waiting.iter().for_each(|&(window, _)| *of_windows.entry(window).or_default() += 1);
        ready.sort_unstable_by_key(|(_, of)| (of.peer, of.channel, of.stop, of.start, of.bytes));
        for part in ready.chunk_by(|(window, a), (other, b)| (window, a.peer, a.channel) == (other, b.peer, b.channel))
        {
            let Some(&(window, TransferKey { peer, channel, .. })) = part.first() else { continue };
            if stops.len() >= MOST_CONNECTIONS && !stops.contains_key(&(peer, channel)) {
                continue;
            }
            let stops = stops.entry((peer, channel)).or_default();
            let mut services = Services::default();
            part.iter().for_each(|(_, transfer)| services.add(serve(stops, transfer)));
            take(&Served { window, peer, channel, services });
        }
        waiting.shrink_to(2 * waiting.len().max(512));
    }
}

fn first_stop(transfers: &[(WindowNumber, TransferKey)]) -> u64 {
    transfers.iter().map(|(_, transfer)| transfer.stop).min().unwrap_or(u64::MAX)
}

/// Serves the next transfer of a connection, in the order of stops.
fn serve(stops: &mut VecDeque<u64>, transfer: &TransferKey) -> Service {
    let &TransferKey { start, stop, bytes, .. } = transfer;
    let begin = stops.back().map_or(start, |&before| before.max(start));
    let before = stops.iter().rev().take_while(|&&before| before > start).count();
    if stops.len() >= MOST_STOPS {
        stops.pop_front();
    }
    stops.push_back(stop);
    Service { bytes, ticks: stop.saturating_sub(begin), in_flight: before as u64 + 1 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Regression;

    /// Returns transfers eight deep over each of `channels`, on a link of 5000 ticks and 2 bytes a tick.
    fn eight_deep(channels: u8, count: u64) -> Vec<TransferKey> {
        let over = |channel: u8| {
            let mut stops = vec![0; 8];
            let transfer = move |number: u64| {
                let bytes = 1000 << (number * 7 % 6);
                let (start, before) = (stops[number as usize], stops[number as usize + 7]);
                let stop = start.max(before) + 5000 + bytes / 2;
                stops.push(stop);
                TransferKey { start, stop, bytes, peer: 1, channel }
            };
            (0..count).map(transfer).collect::<Vec<_>>()
        };
        (0..channels).flat_map(over).collect()
    }

    fn served(connections: &mut Connections, horizon: u64) -> (Services, Vec<(WindowNumber, u8)>) {
        let (mut services, mut whose) = (Services::default(), Vec::new());
        connections.serve(horizon, |served| {
            services.merge(&served.services);
            whose.push((served.window, served.channel));
        });
        (services, whose)
    }

    #[test]
    fn what_waits_behind_others_has_the_links_own_time() {
        let mut connections = Connections::default();
        connections.read(0, eight_deep(2, 300));
        let (services, whose) = served(&mut connections, u64::MAX);
        assert_eq!((whose, services.count()), (vec![(0, 0), (0, 1)], 600));
        let expected: Vec<_> = (0..6).map(|power| (1000 << power, 5000.0 + f64::from(500 << power))).collect();
        assert_eq!(services.points(Regression::Median), expected);
        assert_eq!(services.points(Regression::Min), expected);
        assert_eq!(services.in_flight().map(|(_, most)| most), Some(8));
    }

    #[test]
    fn the_order_in_which_windows_are_read_does_not_matter() {
        let mut whole = Connections::default();
        whole.read(0, eight_deep(3, 200));
        let (expected, _) = served(&mut whole, u64::MAX);
        for seed in 0..20 {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut connections = Connections::default();
            let mut left = eight_deep(3, 200);
            left.sort_by_key(|transfer| transfer.stop);
            let mut found = Services::default();
            while !left.is_empty() {
                // everything that stopped before the horizon is read, and some of the rest, by two windows in turn
                let horizon = left[random.usize(..left.len().min(40))].stop;
                let mut read: Vec<_> =
                    left.extract_if(.., |transfer| transfer.stop < horizon || random.bool()).collect();
                random.shuffle(&mut read);
                let half = read.split_off(read.len() / 2);
                connections.read(1, read);
                connections.read(2, half);
                found.merge(&served(&mut connections, horizon).0);
            }
            assert!(connections.awaits(1) || connections.awaits(2));
            found.merge(&served(&mut connections, u64::MAX).0);
            assert!(!connections.awaits(1) && !connections.awaits(2));
            assert_eq!(found, expected, "{seed}");
        }
    }

    #[test]
    fn those_that_wait_are_looked_at_only_where_one_is_to_be_served() {
        let mut connections = Connections::default();
        let of = |stop: u64| TransferKey { start: stop - 3, stop, bytes: 8, peer: 1, channel: 0 };
        connections.read(0, [of(20), of(50)]);
        connections.read(1, [of(60)]);
        assert_eq!(served(&mut connections, 30).0.count(), 1);
        assert!(connections.awaits(0) && connections.awaits(1));
        // added without `read`: only a look at all waiting transfers would find it
        connections.waiting.push((2, of(25)));
        for horizon in [30, 40, 50] {
            assert_eq!(served(&mut connections, horizon).0.count(), 0);
        }
        assert_eq!(served(&mut connections, 51).0.count(), 2);
        assert!(!connections.awaits(0) && connections.awaits(1));
        assert_eq!(served(&mut connections, u64::MAX).0.count(), 1);
        assert!(!connections.awaits(1) && connections.first_stop == u64::MAX);
    }

    #[test]
    fn memory_is_bounded() {
        let mut connections = Connections::default();
        let to = |peer: i32| TransferKey { start: 5, stop: 9, bytes: 8, peer, channel: 0 };
        connections.read(0, (0..MOST_CONNECTIONS as i32 + 7).map(to));
        assert_eq!(served(&mut connections, u64::MAX).0.count(), MOST_CONNECTIONS as u64);
        connections.read(0, (0..=MOST_WAITING as i32).map(|_| to(3)));
        assert_eq!(served(&mut connections, 0).0.count(), MOST_WAITING as u64 + 1);
        assert!(connections.waiting.capacity() <= 1024 && connections.stops[&(3, 0)].len() == MOST_STOPS);
    }
}
