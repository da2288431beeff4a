//! The transfers of a communicator's windows, until all of them were served.

use crate::figures::Figures;
use crate::record::window::WINDOWS;
use crate::sums::connections::{Connections, WindowNumber};
use crate::sums::round_sums::Sent;
use crate::sums::run_sums::CommunicatorRank;
use crate::sums::window_sums::Traffic;
use std::collections::BTreeMap;

/// The transfers of all windows of a communicator.
#[derive(Debug)]
pub(super) struct WindowTransfers {
    connections: Connections,
    /// Numbers of the open windows, by their place.
    open: [WindowNumber; WINDOWS as usize],
    next: WindowNumber,
    /// Windows that were read to their end, each with its opening time.
    closed: Vec<(WindowNumber, u64)>,
    traffic: BTreeMap<WindowNumber, Traffic>,
}

impl Default for WindowTransfers {
    fn default() -> Self {
        Self {
            connections: Connections::default(),
            open: std::array::from_fn(|place| place as WindowNumber),
            next: WindowNumber::from(WINDOWS),
            closed: Vec::new(),
            traffic: BTreeMap::new(),
        }
    }
}

impl WindowTransfers {
    /// Adds the transfers read from the window at this place. Their service times become known later.
    pub(super) fn read(&mut self, rank: CommunicatorRank, place: usize, sent: Sent, figures: &mut Figures) {
        let (peers, transfers) = sent.into_parts();
        if !transfers.is_empty() {
            let window = self.open[place];
            figures.transfers(rank, peers, self.traffic.entry(window).or_default());
            self.connections.read(window, transfers);
        }
    }

    /// Notes that the window at this place, opened at `opened`, was read to its end. Another window takes its place.
    pub(super) fn close(&mut self, place: usize, opened: u64) {
        self.closed.push((std::mem::replace(&mut self.open[place], self.next), opened));
        self.next += 1;
    }

    /// Serves the transfers that stopped before `horizon`: all of them were read. Returns the traffic of the windows
    /// that were read to their end and have no transfer waiting, each with its opening time.
    pub(super) fn serve(&mut self, rank: CommunicatorRank, horizon: u64, figures: &mut Figures) -> Vec<(Traffic, u64)> {
        let Self { connections, closed, traffic, .. } = self;
        connections.serve(horizon, |served| figures.served(rank, served, traffic.entry(served.window).or_default()));
        let over = closed.extract_if(.., |(window, _)| !connections.awaits(*window));
        over.map(|(window, opened)| (traffic.remove(&window).unwrap_or_default(), opened)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sums::run_sums::TransferKey;

    #[test]
    fn a_window_is_over_when_all_of_its_transfers_were_served() {
        let rank = CommunicatorRank { comm: 7, rank: 0 };
        let sent = |stop: u64| {
            let mut sent = Sent::default();
            sent.add(&TransferKey { start: 10, stop, bytes: 8, peer: 1, channel: 0 }, 1.0);
            sent
        };
        let (mut transfers, mut figures) = (WindowTransfers::default(), Figures::default());
        let served = |over: Vec<(Traffic, u64)>| {
            let counts =
                over.into_iter().map(|(mut of, opened)| (of.to(1).transfers, of.to(1).services.count(), opened));
            counts.collect::<Vec<_>>()
        };
        transfers.read(rank, 0, sent(100), &mut figures);
        transfers.read(rank, 1, sent(50), &mut figures);
        transfers.close(0, 5);
        // the next window at the same place
        transfers.read(rank, 0, sent(90), &mut figures);
        assert_eq!(served(transfers.serve(rank, 100, &mut figures)), []);
        assert_eq!(served(transfers.serve(rank, 101, &mut figures)), [(1, 1, 5)]);
        assert_eq!(figures.totals.pairs[&(rank, 1)].services.count(), 3);
        (0..3).for_each(|place| transfers.close(place, 6 + place as u64));
        assert_eq!(served(transfers.serve(rank, 101, &mut figures)), [(1, 1, 6), (1, 1, 7), (0, 0, 8)]);
        assert!(transfers.traffic.is_empty() && transfers.closed.is_empty());
    }
}
