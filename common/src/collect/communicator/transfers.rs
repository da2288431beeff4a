//! What the windows of a communicator transferred, until all of their transfers were served.

use crate::figures::Figures;
use crate::record::window::WINDOWS;
use crate::sums::connections::{Connections, Window};
use crate::sums::round_sums::Sent;
use crate::sums::run_sums::Rank;
use crate::sums::window_sums::Traffic;
use std::collections::BTreeMap;

/// Of all windows of a communicator.
#[derive(Debug)]
pub(super) struct Transfers {
    connections: Connections,
    /// Numbers of the windows that are read, by their place.
    open: [Window; WINDOWS as usize],
    next: Window,
    /// Those that were read to their end, with when they were opened.
    closed: Vec<(Window, u64)>,
    traffic: BTreeMap<Window, Traffic>,
}

impl Default for Transfers {
    fn default() -> Self {
        Self {
            connections: Connections::default(),
            open: std::array::from_fn(|place| place as Window),
            next: Window::from(WINDOWS),
            closed: Vec::new(),
            traffic: BTreeMap::new(),
        }
    }
}

impl Transfers {
    /// Takes in what was read of the window at that place. How it was served shows later.
    pub(super) fn read(&mut self, rank: Rank, place: usize, sent: Sent, figures: &mut Figures) {
        let (peers, transfers) = sent.into_parts();
        if !transfers.is_empty() {
            let window = self.open[place];
            figures.transfers(rank, peers, self.traffic.entry(window).or_default());
            self.connections.read(window, transfers);
        }
    }

    /// The window at that place, opened then, was read to its end; another one takes its place.
    pub(super) fn close(&mut self, place: usize, opened: u64) {
        self.closed.push((std::mem::replace(&mut self.open[place], self.next), opened));
        self.next += 1;
    }

    /// Serves what stopped before `horizon`, since all that did was read. Gives what those windows transferred that
    /// were read to their end and of which nothing waits any more, with when they were opened.
    pub(super) fn serve(&mut self, rank: Rank, horizon: u64, figures: &mut Figures) -> Vec<(Traffic, u64)> {
        let Self { connections, closed, traffic, .. } = self;
        connections.serve(horizon, |served| figures.served(rank, served, traffic.entry(served.window).or_default()));
        let over = closed.extract_if(.., |(window, _)| !connections.awaits(*window));
        over.map(|(window, opened)| (traffic.remove(&window).unwrap_or_default(), opened)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sums::run_sums::Transfer;

    #[test]
    fn a_window_is_over_when_all_of_its_transfers_were_served() {
        let rank = Rank { comm: 7, rank: 0 };
        let sent = |stop: u64| {
            let mut sent = Sent::default();
            sent.add(&Transfer { start: 10, stop, bytes: 8, peer: 1, channel: 0 }, 1.0);
            sent
        };
        let (mut transfers, mut figures) = (Transfers::default(), Figures::default());
        let served = |over: Vec<(Traffic, u64)>| {
            let counts =
                over.into_iter().map(|(mut of, opened)| (of.to(1).transfers, of.to(1).services.count(), opened));
            counts.collect::<Vec<_>>()
        };
        transfers.read(rank, 0, sent(100), &mut figures);
        transfers.read(rank, 1, sent(50), &mut figures);
        transfers.close(0, 5);
        // the next one at its place
        transfers.read(rank, 0, sent(90), &mut figures);
        assert_eq!(served(transfers.serve(rank, 100, &mut figures)), []);
        assert_eq!(served(transfers.serve(rank, 101, &mut figures)), [(1, 1, 5)]);
        assert_eq!(figures.totals.pairs[&(rank, 1)].services.count(), 3);
        (0..3).for_each(|place| transfers.close(place, 6 + place as u64));
        assert_eq!(served(transfers.serve(rank, 101, &mut figures)), [(1, 1, 6), (1, 1, 7), (0, 0, 8)]);
        assert!(transfers.traffic.is_empty() && transfers.closed.is_empty());
    }
}
