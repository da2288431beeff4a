//! What the windows of a communicator transferred, until all of their transfers were served.

use crate::connections::{Connections, Window};
use crate::figures::Figures;
use crate::sent::Sent;
use crate::totals::Rank;
use crate::traffic::Traffic;
use crate::window::WINDOWS;
use std::collections::BTreeMap;

/// Of all windows of a communicator.
#[derive(Debug)]
pub(super) struct Transfers {
    connections: Connections,
    /// Numbers of the windows that are read, by their place.
    open: [Window; WINDOWS as usize],
    next: Window,
    /// Those that were read to their end.
    closed: Vec<Window>,
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

    /// The window at that place was read to its end; another one takes its place.
    pub(super) fn close(&mut self, place: usize) {
        self.closed.push(std::mem::replace(&mut self.open[place], self.next));
        self.next += 1;
    }

    /// Serves what stopped before `horizon`, since all that did was read. Gives what those windows transferred that were read to
    /// their end and of which nothing waits any more.
    pub(super) fn serve(&mut self, rank: Rank, horizon: u64, figures: &mut Figures) -> Vec<Traffic> {
        let Self { connections, closed, traffic, .. } = self;
        connections.serve(horizon, |served| figures.served(rank, served, traffic.entry(served.window).or_default()));
        let over = closed.extract_if(.., |window| !connections.awaits(*window));
        over.map(|window| traffic.remove(&window).unwrap_or_default()).collect()
    }
}
