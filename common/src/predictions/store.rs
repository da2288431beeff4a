//! The store of predictions: a table of fixed size, which threads fill without waiting for each other.
//!
//! A prediction goes to the first place at or behind its hash that is empty or holds an equal one. A thread claims an
//! empty place, writes it, and then shows it to others. A thread that meets a claimed place passes it by, so two equal
//! predictions may take two places; whoever reads them adds them up.

use super::prediction::{PredictedWay, Prediction};
use crate::base::mapping::{Mapping, Zeroed};
use crate::event::name::NcclName;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

/// Number of places, a power of 2.
const MOST: usize = 1024;
/// Places that are looked at for a prediction.
const LOOKED_AT: usize = 32;

/// Tag of an empty place.
const EMPTY: u64 = 0;
/// Tag of a claimed place.
const CLAIMED: u64 = 1;
/// Tag of a place that is shown.
const SHOWN: u64 = 2;

/// Words of a prediction.
const WORDS: usize = 6;
/// Bit of the last word: the communicator's id is known.
const HAS_COMM: u64 = 1 << 63;

/// A place: one cache line.
#[derive(Debug, Default)]
#[repr(C, align(64))]
struct Place {
    tag: AtomicU64,
    calls: AtomicU64,
    words: [AtomicU64; WORDS],
}

// SAFETY: the place consists of atomic integers, which are valid as zeros and need no drop.
unsafe impl Zeroed for Place {}

/// All places.
#[derive(Debug)]
pub(super) struct Store {
    places: Mapping<Place>,
    lost: AtomicU64,
}

impl Store {
    /// Makes an empty store.
    ///
    /// # Errors
    /// If the system has no memory.
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self { places: Mapping::new(MOST)?, lost: AtomicU64::new(0) })
    }

    /// Counts a prediction.
    pub(super) fn note(&self, prediction: &Prediction) {
        let words = packed(prediction);
        let first = hash(&words);
        let places = (0..LOOKED_AT).filter_map(|next| self.places.get((first + next) % MOST));
        for place in places {
            // Acquire: the words of a place that is shown are read below
            match place.tag.compare_exchange(EMPTY, CLAIMED, Ordering::Acquire, Ordering::Acquire) {
                Ok(_) => place.show(&words),
                Err(SHOWN) if place.words() == words => {}
                Err(_) => continue,
            }
            place.calls.fetch_add(1, Ordering::Relaxed);
            return;
        }
        self.lost.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns all predictions and how often each was made.
    pub(super) fn all(&self) -> Vec<(Prediction, u64)> {
        let shown = self.places.iter().filter(|place| place.tag.load(Ordering::Acquire) == SHOWN);
        shown.map(|place| (unpacked(&place.words()), place.calls.load(Ordering::Relaxed))).collect()
    }

    /// Returns the number of predictions that found no place.
    pub(super) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }
}

impl Place {
    fn words(&self) -> [u64; WORDS] {
        std::array::from_fn(|word| self.words[word].load(Ordering::Relaxed))
    }

    /// Fills a claimed place and shows it.
    fn show(&self, words: &[u64; WORDS]) {
        self.words.iter().zip(words).for_each(|(to, from)| to.store(*from, Ordering::Relaxed));
        self.tag.store(SHOWN, Ordering::Release);
    }
}

/// Returns the first place for these words.
fn hash(words: &[u64; WORDS]) -> usize {
    let mixed = words.iter().fold(0_u64, |hash, word| (hash.rotate_left(5) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    (mixed >> (u64::BITS - MOST.ilog2())) as usize
}

fn packed(prediction: &Prediction) -> [u64; WORDS] {
    let Prediction {
        comm,
        ranks,
        nodes,
        function,
        bytes,
        pipelined,
        registered,
        candidates,
        fastest,
        chosen,
        channels,
    } = *prediction;
    let names = [function, fastest.algorithm, fastest.protocol, chosen.algorithm, chosen.protocol].map(NcclName::bits);
    let [a, b, c, d, e] = names;
    let both = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
    [
        comm.unwrap_or(0),
        bytes,
        both(ranks.cast_unsigned(), nodes.cast_unsigned()),
        both(fastest.microseconds.to_bits(), chosen.microseconds.to_bits()),
        u64::from_le_bytes([a, b, c, d, e, channels, candidates, registered.into()]),
        u64::from(pipelined) | if comm.is_some() { HAS_COMM } else { 0 },
    ]
}

fn unpacked(words: &[u64; WORDS]) -> Prediction {
    let [comm, bytes, members, times, shape, last] = *words;
    let [function, a, b, c, d, channels, candidates, registered] = shape.to_le_bytes();
    let way = |algorithm, protocol, bits: u64| PredictedWay {
        algorithm: NcclName::from_bits(algorithm),
        protocol: NcclName::from_bits(protocol),
        microseconds: f32::from_bits(bits as u32),
    };
    Prediction {
        comm: (last & HAS_COMM != 0).then_some(comm),
        ranks: (members as u32).cast_signed(),
        nodes: ((members >> 32) as u32).cast_signed(),
        function: NcclName::from_bits(function),
        bytes,
        pipelined: last as u32,
        registered: registered != 0,
        candidates,
        fastest: way(a, b, times),
        chosen: way(c, d, times >> 32),
        channels,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn prediction(bytes: u64) -> Prediction {
        let [function, ring, tree, ll] = ["AllReduce", "RING", "TREE", "LL"].map(NcclName::of_text);
        Prediction {
            comm: Some(7),
            ranks: 8,
            nodes: -1,
            function,
            bytes,
            pipelined: u32::MAX,
            registered: true,
            candidates: 9,
            fastest: PredictedWay { algorithm: ring, protocol: ll, microseconds: 12.5 },
            chosen: PredictedWay { algorithm: tree, protocol: ll, microseconds: 1e30 },
            channels: 255,
        }
    }

    #[test]
    fn equal_predictions_are_counted_in_one_place() {
        let store = Store::new().unwrap();
        let nameless = Prediction { comm: None, ..prediction(3) };
        for of in [prediction(u64::MAX), prediction(3), nameless, prediction(3)] {
            store.note(&of);
        }
        let mut all = store.all();
        all.sort_by_key(|(prediction, _)| (prediction.bytes, prediction.comm));
        assert_eq!(all, [(nameless, 1), (prediction(3), 2), (prediction(u64::MAX), 1)]);
        assert_eq!(store.lost(), 0);
    }

    #[test]
    fn those_without_room_are_counted_and_the_others_stay() {
        let store = Store::new().unwrap();
        let most = 4 * MOST as u64;
        (0..most).for_each(|bytes| store.note(&prediction(bytes)));
        let all = store.all();
        assert!(all.len() > MOST * 9 / 10 && all.iter().all(|(_, calls)| *calls == 1), "{}", all.len());
        assert_eq!(all.len() as u64 + store.lost(), most);
    }

    #[test]
    fn threads_lose_nothing_and_mix_nothing() {
        let store = Store::new().unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..20_000).for_each(|n| store.note(&prediction(n % 100))));
            }
        });
        let mut calls = BTreeMap::<u64, u64>::new();
        for (of, count) in store.all() {
            assert_eq!(of, prediction(of.bytes));
            *calls.entry(of.bytes).or_default() += count;
        }
        assert_eq!((calls.len(), store.lost()), (100, 0));
        assert!(calls.values().all(|&calls| calls == 800));
    }
}
