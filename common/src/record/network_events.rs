//! Counts of the events of network plugins, by queue pair and by socket.
//!
//! A place belongs to the first queue pair or socket that claims it, for the rest of the process. Without a free place
//! nearby, the event counts for its network alone.

use crate::event::network::NetworkEvent;
use std::sync::atomic::{AtomicU64, Ordering};

/// Number of places.
const PLACES: usize = 1024;
/// Most places that an event looks at.
const TRIES: usize = 16;
/// Marks a claimed place.
const CLAIMED: u64 = 1 << 63;
const SOCKET: u64 = 1 << 62;
const SENDS: u64 = 1 << 61;
const DEVICE_BITS: u32 = 16;

static COUNTS: [Place; PLACES] = [const { Place::new() }; PLACES];
/// Queue pairs without a place, sockets without one, and events of other network plugins.
static REST: [Place; 3] = [const { Place::new() }; 3];

/// The count of a queue pair, or of one direction of a socket.
#[derive(Debug)]
struct Place {
    /// What it counts; 0 while it is free.
    key: AtomicU64,
    events: AtomicU64,
    bytes: AtomicU64,
}

impl Place {
    const fn new() -> Self {
        Self { key: AtomicU64::new(0), events: AtomicU64::new(0), bytes: AtomicU64::new(0) }
    }

    /// Counts an event. Threads of several communicators may share a place.
    fn add(&self, bytes: u64) {
        self.events.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    fn counted(&self) -> (u64, u64) {
        (self.events.load(Ordering::Relaxed), self.bytes.load(Ordering::Relaxed))
    }
}

/// The events of one device, of one direction of the sockets, or of other network plugins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NetworkCount {
    /// The network, and its device or direction.
    pub of: CountedNetwork,
    /// Number of queue pairs or of file descriptors; `None` where some have no place.
    pub ends: Option<u64>,
    /// Number of events.
    pub events: u64,
    /// Bytes of these events.
    pub bytes: u64,
}

/// A network, and its device or direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum CountedNetwork {
    /// Queue pairs of a device; `None` for those without a place.
    QueuePairs(Option<i32>),
    /// Sockets, as they send or receive; `None` for those without a place.
    Sockets(Option<bool>),
    /// Other network plugins.
    Other,
}

/// Returns the place of a key, which it claims if it is new; `None` without a free place nearby.
fn place(key: u64) -> Option<&'static Place> {
    // Fibonacci hashing: the numbers of queue pairs follow each other
    let first = (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 54) as usize;
    (first..first + TRIES).find_map(|at| {
        let place = &COUNTS[at % PLACES];
        match place.key.load(Ordering::Relaxed) {
            0 => match place.key.compare_exchange(0, key, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => Some(place),
                Err(other) => (other == key).then_some(place),
            },
            other => (other == key).then_some(place),
        }
    })
}

/// Counts an event.
pub(crate) fn count(event: NetworkEvent) {
    let (key, rest, bytes) = match event {
        NetworkEvent::QueuePair { device, number, bytes } => {
            let device = u64::from(device.cast_unsigned() & 0xFFFF);
            (Some(CLAIMED | device << 32 | u64::from(number.cast_unsigned())), 0, bytes)
        }
        NetworkEvent::Socket { descriptor, sends, bytes } => {
            let direction = if sends { SENDS } else { 0 };
            (Some(CLAIMED | SOCKET | direction | u64::from(descriptor.cast_unsigned())), 1, bytes)
        }
        NetworkEvent::Other => (None, 2, 0),
    };
    key.and_then(place).unwrap_or(&REST[rest]).add(bytes);
}

/// Returns the counts of all events so far, by device and by direction.
pub(crate) fn counts() -> Vec<NetworkCount> {
    let mut counts = std::collections::BTreeMap::<CountedNetwork, NetworkCount>::new();
    for place in &COUNTS {
        let key = place.key.load(Ordering::Relaxed);
        if key == 0 {
            continue;
        }
        let device = (key >> 32) as u32 & ((1 << DEVICE_BITS) - 1);
        let of = match key & SOCKET {
            // numbers of devices are small; a negative one is cut to 16 bits, too
            0 => CountedNetwork::QueuePairs(Some((device as u16).cast_signed().into())),
            _ => CountedNetwork::Sockets(Some(key & SENDS != 0)),
        };
        let (events, bytes) = place.counted();
        let count = counts.entry(of).or_insert(NetworkCount { of, ends: Some(0), events: 0, bytes: 0 });
        count.ends = count.ends.map(|ends| ends + 1);
        (count.events, count.bytes) = (count.events + events, count.bytes.saturating_add(bytes));
    }
    let rest = [CountedNetwork::QueuePairs(None), CountedNetwork::Sockets(None), CountedNetwork::Other];
    for (of, place) in rest.into_iter().zip(&REST) {
        let (events, bytes) = place.counted();
        if events > 0 {
            counts.insert(of, NetworkCount { of, ends: None, events, bytes });
        }
    }
    counts.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_count_by_device_and_direction() {
        for number in 0..4 {
            for bytes in [0, 512] {
                count(NetworkEvent::QueuePair { device: 3, number, bytes });
            }
        }
        count(NetworkEvent::QueuePair { device: 4, number: 0, bytes: 1 });
        for (descriptor, sends, bytes) in [(7, true, 100), (7, true, 100), (8, true, 1), (7, false, 9)] {
            count(NetworkEvent::Socket { descriptor, sends, bytes });
        }
        count(NetworkEvent::Other);
        let row = |of, ends, events, bytes| NetworkCount { of, ends, events, bytes };
        let queue_pairs = |device| CountedNetwork::QueuePairs(Some(device));
        let sockets = |sends| CountedNetwork::Sockets(Some(sends));
        assert_eq!(
            counts(),
            [
                row(queue_pairs(3), Some(4), 8, 2048),
                row(queue_pairs(4), Some(1), 1, 1),
                row(sockets(false), Some(1), 1, 9),
                row(sockets(true), Some(2), 3, 201),
                row(CountedNetwork::Other, None, 1, 0),
            ]
        );
        // far more than there is room for: none is lost
        for number in 0..5000 {
            count(NetworkEvent::QueuePair { device: 5, number, bytes: 2 });
        }
        let all = counts();
        let pairs = all.iter().filter(|row| matches!(row.of, CountedNetwork::QueuePairs(Some(5) | None)));
        let sum = pairs.fold((0, 0), |sum, row| (sum.0 + row.events, sum.1 + row.bytes));
        assert_eq!(sum, (5000, 10_000));
        let rest = all.iter().find(|row| row.of == CountedNetwork::QueuePairs(None));
        assert!(rest.is_some_and(|rest| rest.ends.is_none() && rest.events > 3000), "{all:?}");
    }
}
