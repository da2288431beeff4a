//! Arrivals as bytes, about seventeen bytes per arrival. Names are encoded as text, since their numbers differ between
//! processes.
//!
//! ```text
//! version, left out, names, {length, bytes}, ranks, {comm, rank, log2(numbers), log2(operations), arrivals,
//!     {name and what is known, sequence, occurrence, bytes, [length, [time, earlier, later, ahead]]}}
//! ```
//! `numbers` and `operations` are those of the rank's [`ArrivalShare`]. `comm` has eight bytes, little-endian. All
//! other numbers have seven bits per byte, the least first. Sequence numbers, bytes, times, and how much times may be
//! earlier or later are differences to the last arrival that has them. A name's number has four bits behind it: two for
//! what is known and whether anchors have placed the begin, one for CUDA events as the source, one for a shared kernel.

use super::{Arrival, ArrivalShare, Arrivals, KnownTime, RankArrivals};
use crate::event::name::{NcclName, UNKNOWN};
use crate::sums::run_sums::CommunicatorRank;
use std::ffi::CString;

/// Value of the first byte.
const VERSION: u8 = 4;

/// Least number of bytes of a rank, and of an arrival.
const LEAST: [usize; 2] = [12, 4];

fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Maps small numbers of either sign to small numbers.
fn folded(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)) as u64
}

fn unfolded(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}

/// The codes of what is known and of whether anchors have placed it, by place. An earlier build refuses the last one.
const KNOWN: [(KnownTime, bool); 4] =
    [(KnownTime::Nothing, false), (KnownTime::Length, false), (KnownTime::Begin, false), (KnownTime::Begin, true)];
/// Number of bits behind a name's number.
const FLAGS: u32 = 4;
const BY_EVENTS: u64 = 1 << 2;
const FUSED: u64 = 1 << 3;

/// The bytes left to read.
struct ByteReader<'a>(&'a [u8]);

impl<'a> ByteReader<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, left) = self.0.split_at_checked(length)?;
        self.0 = left;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    fn eight(&mut self) -> Option<[u8; 8]> {
        self.take(8)?.try_into().ok()
    }

    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for place in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if bits << place >> place != bits {
                return None;
            }
            number |= bits << place;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    /// Reads a count of items that have at least `least` bytes each. `None` if the bytes left cannot hold them.
    fn count(&mut self, least: usize) -> Option<usize> {
        let count = usize::try_from(self.number()?).ok()?;
        (count <= self.0.len() / least).then_some(count)
    }

    fn name(&mut self) -> Option<NcclName> {
        let length = self.count(1)?;
        let text = CString::new(self.take(length)?).ok()?;
        Some(if text.as_bytes() == UNKNOWN.as_bytes() {
            NcclName::default()
        } else {
            NcclName::of(Some(text.as_c_str()))
        })
    }

    /// Reads a power of two that is encoded as its logarithm.
    fn power(&mut self) -> Option<u32> {
        1_u32.checked_shl(self.byte()?.into())
    }

    /// Reads a number that is encoded as the difference to `before`.
    fn after(&mut self, before: u64) -> Option<u64> {
        Some(before.wrapping_add_signed(unfolded(self.number()?)))
    }

    fn rank(&mut self, names: &[NcclName]) -> Option<RankArrivals> {
        let rank = CommunicatorRank {
            comm: u64::from_le_bytes(self.eight()?),
            rank: unfolded(self.number()?).try_into().ok()?,
        };
        let share = ArrivalShare { numbers: self.power()?, operations: self.power()? };
        let count = self.count(LEAST[1])?;
        let mut arrivals = Vec::with_capacity(count);
        let mut before = Arrival::default();
        for _ in 0..count {
            let name = self.number()?;
            let (known, is_anchored) = KNOWN[(name & 3) as usize];
            before = Arrival {
                function: *names.get(usize::try_from(name >> FLAGS).ok()?)?,
                sequence: self.after(before.sequence)?,
                occurrence: self.number()?.try_into().ok()?,
                bytes: self.after(before.bytes)?,
                by_events: name & BY_EVENTS != 0,
                is_fused: name & FUSED != 0,
                known,
                is_anchored,
                ..before
            };
            if known >= KnownTime::Length {
                before.length = self.number()?;
            }
            if known == KnownTime::Begin {
                before.time = self.after(before.time)?;
                before.clock = [self.after(before.clock[0])?, self.after(before.clock[1])?];
                before.ahead = self.number()?;
            }
            arrivals.push(before.cleared());
        }
        Some(RankArrivals { rank, share, arrivals })
    }
}

impl Arrivals {
    /// Encodes the arrivals, for [`Arrivals::decode`] in any process.
    pub fn encode(&self) -> Vec<u8> {
        let mut names: Vec<NcclName> = Vec::new();
        let mut places = [None; 256];
        for arrival in self.ranks.iter().flat_map(|rank| &rank.arrivals) {
            let place = &mut places[usize::from(arrival.function.bits())];
            if place.is_none() {
                *place = Some(names.len() as u64);
                names.push(arrival.function);
            }
        }
        let mut bytes = vec![VERSION];
        put(&mut bytes, self.left_out);
        put(&mut bytes, names.len() as u64);
        for text in names.into_iter().map(NcclName::text) {
            put(&mut bytes, text.len() as u64);
            bytes.extend(text.bytes());
        }
        put(&mut bytes, self.ranks.len() as u64);
        for RankArrivals { rank, share, arrivals } in &self.ranks {
            bytes.extend(rank.comm.to_le_bytes());
            put(&mut bytes, folded(rank.rank.into()));
            bytes.extend([share.numbers, share.operations].map(|one_in| one_in.max(1).ilog2() as u8));
            put(&mut bytes, arrivals.len() as u64);
            let mut before = Arrival::default();
            for &arrival in arrivals {
                let place = places[usize::from(arrival.function.bits())].unwrap_or(0);
                let after = |number: u64, before: u64| folded(number.wrapping_sub(before) as i64);
                let by_events = if arrival.by_events { BY_EVENTS } else { 0 };
                let fused = if arrival.is_fused { FUSED } else { 0 };
                let known = arrival.known as u64 + u64::from(arrival.is_anchored && arrival.known == KnownTime::Begin);
                put(&mut bytes, place << FLAGS | fused | by_events | known);
                put(&mut bytes, after(arrival.sequence, before.sequence));
                put(&mut bytes, arrival.occurrence.into());
                put(&mut bytes, after(arrival.bytes, before.bytes));
                (before.sequence, before.bytes) = (arrival.sequence, arrival.bytes);
                if arrival.known >= KnownTime::Length {
                    put(&mut bytes, arrival.length);
                }
                if arrival.known == KnownTime::Begin {
                    put(&mut bytes, after(arrival.time, before.time));
                    put(&mut bytes, after(arrival.clock[0], before.clock[0]));
                    put(&mut bytes, after(arrival.clock[1], before.clock[1]));
                    put(&mut bytes, arrival.ahead);
                    (before.time, before.clock) = (arrival.time, arrival.clock);
                }
            }
        }
        bytes
    }

    /// Decodes the bytes of [`Arrivals::encode`]; `None` for any others.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let mut reader = ByteReader(bytes);
        if reader.byte()? != VERSION {
            return None;
        }
        let left_out = reader.number()?;
        let names: Vec<NcclName> = (0..reader.count(1)?).map(|_| reader.name()).collect::<Option<_>>()?;
        let ranks = (0..reader.count(LEAST[0])?).map(|_| reader.rank(&names)).collect::<Option<_>>()?;
        reader.0.is_empty().then_some(Self { ranks, left_out })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::arrivals::Collective;
    use fastrand::Rng;

    /// Returns an arbitrary arrival.
    fn arrival(random: &mut Rng) -> Arrival {
        let mut any = || random.u64(..) >> random.u32(..64);
        let (time, length, clock, ahead, bytes) = (any(), any(), [any(), any()], any(), any());
        let (known, is_anchored) = KNOWN[random.usize(..4)];
        let (by_events, is_fused) = (random.bool(), random.bool());
        let arrival = Arrival { time, length, clock, ahead, bytes, ..Arrival::default() };
        Arrival { by_events, is_fused, known, is_anchored, ..arrival }.cleared()
    }

    fn collective(function: NcclName, sequence: u64, arrival: Arrival) -> Collective {
        Collective { function, sequence, order: 0, arrival }
    }

    /// Returns arbitrary arrivals.
    fn arbitrary(random: &mut Rng) -> Arrivals {
        let names = [c"AllReduce", c"Broadcast", c"a function of tomorrow"].map(|name| NcclName::of(Some(name)));
        let names = [NcclName::default(), names[0], names[1], names[2]];
        let rank = |random: &mut Rng| {
            let collectives: Vec<_> = (0..random.usize(..40))
                .map(|_| collective(names[random.usize(..4)], random.u64(..) >> random.u32(..64), arrival(random)))
                .collect();
            let share = ArrivalShare { numbers: 1 << random.u32(..32), operations: 1 << random.u32(..32) };
            let rank = CommunicatorRank { comm: random.u64(..), rank: random.i32(..) };
            RankArrivals { share, ..RankArrivals::new(rank, collectives) }
        };
        let ranks = (0..random.usize(..6)).map(|_| rank(random)).collect();
        Arrivals { ranks, left_out: random.u64(..) >> random.u32(..64) }
    }

    #[test]
    fn what_is_encoded_is_decoded() {
        assert_eq!(Arrivals::decode(&Arrivals::default().encode()), Some(Arrivals::default()));
        for seed in 0..500 {
            let arrivals = arbitrary(&mut Rng::with_seed(seed));
            assert_eq!(Arrivals::decode(&arrivals.encode()).as_ref(), Some(&arrivals), "{seed}");
        }
    }

    #[test]
    fn an_arrival_takes_about_seventeen_bytes() {
        // an arrival every 2 ms for six minutes, in ticks of 2.6 GHz
        let arrival = |at: u64| Arrival {
            time: (1 << 50) + at * 5_200_000 + at % 7 * 10_000,
            length: 500_000 + at % 11 * 30_000,
            clock: [80_000 + at % 13 * 2000, 30_000 + at % 17 * 1000],
            ahead: at % 2 * 13_000,
            bytes: 25 << 20,
            ..Arrival::default()
        };
        let collectives = (0..180_000).map(|at| collective(NcclName::of(Some(c"AllReduce")), at, arrival(at)));
        let rank = RankArrivals::new(CommunicatorRank { comm: u64::MAX, rank: 0 }, collectives.collect());
        let length = Arrivals { ranks: vec![rank], ..Arrivals::default() }.encode().len();
        assert!(length < 18 * 180_000, "{length}");
    }

    #[test]
    fn bytes_cut_short_or_changed_do_no_harm() {
        let mut random = Rng::with_seed(5);
        let harmless = |bytes: &[u8]| {
            let decoded = Arrivals::decode(bytes);
            let arrivals = decoded.iter().flat_map(|arrivals| &arrivals.ranks).map(|rank| rank.arrivals.len());
            assert!(arrivals.sum::<usize>() * LEAST[1] <= bytes.len());
        };
        // the names stay unchanged: the process has room for a limited number of names
        let names = [VERSION, 0, 1, 4, b'S', b'e', b'n', b'd'];
        for _ in 0..100 {
            let bytes = arbitrary(&mut random).encode();
            assert!((0..bytes.len()).all(|length| Arrivals::decode(&bytes[..length]).is_none()));
            assert!(Arrivals::decode(&[&bytes[..], &[0]].concat()).is_none());
            let collectives =
                (0..20).map(|_| collective(NcclName::of(Some(c"Send")), random.u64(..), arrival(&mut random)));
            let rank = RankArrivals::new(CommunicatorRank { comm: 1, rank: 1 }, collectives.collect());
            let bytes = Arrivals { ranks: vec![rank.clone(), rank], ..Arrivals::default() }.encode();
            assert!(bytes.starts_with(&names));
            for _ in 0..200 {
                let mut bytes = bytes.clone();
                let place = random.usize(names.len()..bytes.len());
                bytes[place] = random.u8(..);
                harmless(&bytes);
            }
        }
        (0..20_000).for_each(|_| {
            let length = random.usize(..60);
            harmless(&names.into_iter().chain((0..length).map(|_| random.u8(..))).collect::<Vec<u8>>());
        });
    }

    #[test]
    fn bytes_that_lie_are_refused() {
        let refused = |bytes: &[u8]| Arrivals::decode(bytes).is_none();
        let [nothing, length, begin, anchored] = [0, 1, 2, 3];
        assert!(refused(&[]) && refused(&[VERSION]) && refused(&[VERSION + 1, 0, 0, 0]));
        assert!(!refused(&[VERSION, 0, 0, 0]) && refused(&[VERSION, 0, 0, 0, 0]));
        // more names, or ranks, than there are bytes for
        let many = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1];
        assert!(refused(&[&[VERSION, 0][..], &many].concat()));
        assert!(refused(&[&[VERSION, 0, 0][..], &many, &[0; 100]].concat()));
        // a number of more than 64 bits, and a NUL in a name
        assert!(refused(&[&[VERSION, 0, 0][..], &[0xff; 9], &[2]].concat()) && refused(&[VERSION, 0, 1, 1, 0, 0]));
        let of_share = |share: [u8; 2], arrival: &[u8]| {
            [&[VERSION, 0, 1, 1, b'f', 1][..], &[0; 8], &[0], &share, &[1], arrival].concat()
        };
        let rank = |arrival: &[u8]| of_share([0, 31], arrival);
        // a power of two of more than 32 bits
        assert!([[32, 0], [0, 32]].into_iter().all(|share| refused(&of_share(share, &[nothing, 0, 0, 0]))));
        assert!(!refused(&rank(&[nothing, 0, 0, 0])) && !refused(&rank(&[length, 0, 0, 0, 0])));
        assert!([begin, anchored].iter().all(|&code| !refused(&rank(&[code, 0, 0, 0, 0, 0, 0, 0, 0]))));
        // half an arrival, and a name that is not there
        assert!(refused(&rank(&[nothing, 0, 0])) && refused(&rank(&[begin, 0, 0, 0, 0, 0, 0, 0])));
        assert!(refused(&rank(&[1 << FLAGS, 0, 0, 0])));
    }
}
