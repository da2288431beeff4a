//! The proxy operations of a communicator that have not ended, and their steps under way.

use crate::clock::wall::Wall;
use crate::record::payload::{Connection, OfProxyOp, OfStep};
use crate::record::slot::SlotContent;
use crate::status::{MOST_WAITS, OpenTransfer, Waiting};
use rustc_hash::FxHashMap;

/// Most proxy operations that are followed at a time.
const MOST: usize = 16_384;

/// A proxy operation. Times are ticks.
#[derive(Debug)]
struct Proxy {
    connection: Connection,
    since: u64,
    /// Number of steps that have ended.
    steps: u64,
    /// Whether its end will not be seen, since its window was taken apart.
    is_lost: bool,
    /// Number, handle and begin of each step under way.
    open: Vec<(u64, u64, u64)>,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct StandingWaits {
    proxies: FxHashMap<u64, Proxy>,
    has_lost: bool,
}

impl StandingWaits {
    pub(super) fn proxy_begun(&mut self, event: &SlotContent) {
        if self.proxies.len() < MOST {
            let connection = OfProxyOp::unpack(event.payload()).connection;
            if self.has_lost {
                // the transfers of a connection follow one another
                self.proxies.retain(|_, proxy| !proxy.is_lost || proxy.connection != connection);
            }
            let proxy = Proxy { connection, since: event.start, steps: 0, is_lost: false, open: Vec::new() };
            self.proxies.insert(event.handle, proxy);
        }
    }

    /// Notes that the end of a proxy operation will not be seen: it lasts until something shows that it is over.
    pub(super) fn proxy_lost(&mut self, handle: u64) {
        if let Some(proxy) = self.proxies.get_mut(&handle) {
            proxy.is_lost = true;
            self.has_lost = true;
        }
    }

    /// Notes that an operation of the communicator has ended: what came before it is over.
    pub(super) fn finished(&mut self) {
        if std::mem::take(&mut self.has_lost) {
            self.proxies.retain(|_, proxy| !proxy.is_lost);
        }
    }

    pub(super) fn proxy_ended(&mut self, handle: u64) {
        self.proxies.remove(&handle);
    }

    pub(super) fn step_begun(&mut self, event: &SlotContent) {
        if let Some(proxy) = self.proxies.get_mut(&event.parent) {
            let number = OfStep::unpack(event.payload()).number;
            // a step that NCCL starts again never ends under its first handle
            let again = proxy.open.extract_if(.., |(other, ..)| *other == number).map(|(.., since)| since).min();
            proxy.open.push((number, event.handle, again.unwrap_or(event.start)));
        }
    }

    pub(super) fn step_ended(&mut self, proxy: u64, handle: u64) {
        if let Some(proxy) = self.proxies.get_mut(&proxy) {
            proxy.steps += 1;
            proxy.open.retain(|&(_, other, _)| other != handle);
        }
    }

    pub(super) fn step_passed(&mut self, proxy: u64) {
        if let Some(proxy) = self.proxies.get_mut(&proxy) {
            proxy.steps += 1;
        }
    }

    /// Returns the oldest waits. `read` reads the slot of a step under way, if it still has one.
    pub(super) fn status(&self, wall: Wall, read: impl Fn(u64) -> Option<SlotContent>) -> Vec<OpenTransfer> {
        let wait = |proxy: &Proxy| {
            let oldest = proxy.open.iter().min_by_key(|(.., since)| since);
            let state = match oldest {
                None => Waiting::Gpu,
                Some(&(_, step, _)) => {
                    let is_sent = || read(step).is_some_and(|event| event.send_wait().is_some());
                    if proxy.connection.sends() && is_sent() { Waiting::Network } else { Waiting::Step }
                }
            };
            OpenTransfer {
                peer: proxy.connection.peer(),
                channel: proxy.connection.channel(),
                sends: proxy.connection.sends(),
                since: oldest.map_or(proxy.since, |&(.., since)| since),
                steps: proxy.steps,
                state,
            }
        };
        let mut waits: Vec<OpenTransfer> = self.proxies.values().map(wait).collect();
        waits.sort_by_key(|wait| (wait.since, wait.peer, wait.channel, wait.sends));
        waits.truncate(MOST_WAITS);
        waits.iter_mut().for_each(|wait| wait.since = wall.at(wait.since));
        waits
    }
}
