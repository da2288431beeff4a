//! The operations of a replay with their times on the clock of the process, for a program that makes a table of them,
//! and as records of [`Settled::BYTES`] each.
//!
//! Numbers are big-endian, and a record begins with its key, so records compare as their bytes do: by begin of the
//! enqueue, communicator, rank and order of starts.

use super::Timeline;
use super::arrivals::arrival;
use super::gpus::mappings;
use super::launches::launched;
use super::spool::Spooled;
use crate::event::name::NcclName;
use crate::figures::arrivals::KnownTime;
use crate::operation::TimeSource;
use crate::sums::run_sums::CommunicatorRank;
use std::io;

/// When an operation ran on its GPU, nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Begin {
    /// Most likely begin, on the clock of the process.
    pub start: u64,
    /// How much earlier and how much later begin and end may both be.
    pub clock: [u64; 2],
    /// How much earlier the begin alone may be.
    pub ahead: u64,
}

/// An operation of which nothing more will come. Times are nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settled {
    /// Begin of the enqueue, on the clock of the process.
    pub enqueued: u64,
    /// Communicator and rank.
    pub rank: CommunicatorRank,
    /// Place in the communicator's order of starts. The order counts operations, and calls of NCCL's API.
    pub order: u64,
    /// NCCL's sequence number of a collective.
    pub sequence: u64,
    /// Order of its kernel's first operation.
    pub kernel: u64,
    /// Bytes: elements times their size.
    pub bytes: u64,
    /// How long it took by its source.
    pub duration: u64,
    /// When it ran on the GPU, where that is known.
    pub begin: Option<Begin>,
    /// When the host had launched its kernel, on the clock of the process; where the GPU has timed it, and that is known.
    pub launched: Option<u64>,
    /// The other rank of a P2p; -1 for a collective.
    pub peer: i32,
    /// Function.
    pub function: NcclName,
    /// Algorithm of a collective.
    pub algorithm: NcclName,
    /// Protocol of a collective.
    pub protocol: NcclName,
    /// Source of its time.
    pub source: TimeSource,
    /// Number of channels that NCCL announced.
    pub channels: u8,
    /// Whether it is alone in its kernel, as far as is known.
    pub alone: bool,
    /// Whether it, or a child of it, never ended.
    pub unfinished: bool,
}

impl Settled {
    /// Bytes of a record.
    pub const BYTES: usize = 110;
    /// Bytes at its beginning that are its key.
    pub const KEY: usize = 28;

    /// Returns the key of the operation with this begin of the enqueue.
    pub fn key(enqueued: u64, rank: CommunicatorRank, order: u64) -> [u8; Self::KEY] {
        let mut key = [0; Self::KEY];
        key[..8].copy_from_slice(&enqueued.to_be_bytes());
        key[8..16].copy_from_slice(&rank.comm.to_be_bytes());
        // ranks are no larger than 2^31, and -1 comes last
        key[16..20].copy_from_slice(&rank.rank.to_be_bytes());
        key[20..].copy_from_slice(&order.to_be_bytes());
        key
    }

    /// Returns the record.
    pub fn encode(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..Self::KEY].copy_from_slice(&Self::key(self.enqueued, self.rank, self.order));
        let begin = self.begin.unwrap_or_default();
        let longs = [
            self.sequence,
            self.kernel,
            self.bytes,
            self.duration,
            begin.start,
            begin.clock[0],
            begin.clock[1],
            begin.ahead,
            self.launched.unwrap_or_default(),
        ];
        for (place, long) in bytes[Self::KEY..].chunks_exact_mut(8).zip(longs) {
            place.copy_from_slice(&long.to_be_bytes());
        }
        bytes[100..104].copy_from_slice(&self.peer.to_be_bytes());
        let flags = [self.alone, self.unfinished, self.begin.is_some(), self.launched.is_some()];
        let flags = flags.iter().rev().fold(0, |flags, &flag| flags << 1 | u8::from(flag));
        let [function, algorithm, protocol] = [self.function, self.algorithm, self.protocol].map(NcclName::bits);
        bytes[104..].copy_from_slice(&[function, algorithm, protocol, self.source.number(), self.channels, flags]);
        bytes
    }

    /// Reads a record of this process, which its names are numbers of.
    pub fn decode(bytes: &[u8; Self::BYTES]) -> Self {
        let long = |at: usize| u64::from_be_bytes(std::array::from_fn(|byte| bytes[at + byte]));
        let int = |at: usize| i32::from_be_bytes(std::array::from_fn(|byte| bytes[at + byte]));
        let name = |at: usize| NcclName::from_bits(bytes[at]);
        let [sequence, kernel, of_bytes, duration, start, early, late, ahead, launched] =
            std::array::from_fn(|number| long(Self::KEY + number * 8));
        let flags = bytes[109];
        Self {
            enqueued: long(0),
            rank: CommunicatorRank { comm: long(8), rank: int(16) },
            order: long(20),
            sequence,
            kernel,
            bytes: of_bytes,
            duration,
            begin: (flags & 4 != 0).then_some(Begin { start, clock: [early, late], ahead }),
            launched: (flags & 8 != 0).then_some(launched),
            peer: int(100),
            function: name(104),
            algorithm: name(105),
            protocol: name(106),
            source: TimeSource::of_number(bytes[107]).unwrap_or(TimeSource::Enqueue),
            channels: bytes[108],
            alone: flags & 1 != 0,
            unfinished: flags & 2 != 0,
        }
    }
}

impl Timeline {
    /// Hands the operations that were spooled to `take`, with all that is known of the GPUs' clocks now.
    ///
    /// # Errors
    /// There is no spool, it could not be kept, or `take` fails.
    pub fn settle(&mut self, mut take: impl FnMut(&Settled) -> io::Result<()>) -> io::Result<()> {
        let spool = self.spool.take().ok_or_else(|| io::Error::other("operations were not kept"))?;
        let mappings = mappings(&self.ranks, self.nanoseconds_per_tick);
        spool.read(|spooled| {
            let place = usize::from(spooled.entry.place);
            let (Some(line), Some(mappings)) = (self.ranks.get(place), mappings.get(place)) else { return Ok(()) };
            let arrival = arrival(&spooled.entry, mappings, self.nanoseconds_per_tick);
            let on_gpu = spooled.entry.source.is_gpu().then_some(arrival.length);
            let begin = (arrival.known == KnownTime::Begin).then(|| Begin {
                start: self.nanoseconds(arrival.time),
                clock: arrival.clock.map(|ticks| self.nanoseconds(ticks)),
                ahead: self.nanoseconds(arrival.ahead),
            });
            let launched = launched(&spooled.entry, mappings, self.nanoseconds_per_tick);
            take(&self.settled(spooled, line.rank, (on_gpu, begin, launched)))
        })
    }

    /// Returns the number of operations that are not among them.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    fn settled(
        &self,
        spooled: &Spooled,
        rank: CommunicatorRank,
        (on_gpu, begin, launched): (Option<u64>, Option<Begin>, Option<u64>),
    ) -> Settled {
        let Spooled { entry, enqueued, order, distance, channels, unfinished } = *spooled;
        let duration = on_gpu.unwrap_or_else(|| self.nanoseconds(entry.stop.saturating_sub(entry.start)));
        Settled {
            enqueued: self.nanoseconds(enqueued),
            rank,
            order,
            sequence: entry.sequence,
            kernel: order.saturating_sub(distance.into()),
            bytes: entry.bytes,
            duration,
            begin,
            launched: launched.map(|launched| self.nanoseconds(launched)),
            peer: entry.peer,
            function: entry.function,
            algorithm: entry.algorithm,
            protocol: entry.protocol,
            source: entry.source,
            channels,
            alone: entry.alone,
            unfinished,
        }
    }

    /// Converts ticks; exact where a tick is a nanosecond, as in a replay.
    fn nanoseconds(&self, ticks: u64) -> u64 {
        if self.nanoseconds_per_tick == 1.0 { ticks } else { (ticks as f64 * self.nanoseconds_per_tick) as u64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_back_and_compare_by_their_keys() {
        let [function, algorithm, protocol] = [c"AllReduce", c"RING", c"SIMPLE"].map(|name| NcclName::of(Some(name)));
        let settled = |enqueued, comm, rank, order, source| Settled {
            enqueued,
            rank: CommunicatorRank { comm, rank },
            order,
            sequence: 1,
            kernel: 2,
            bytes: 3,
            duration: 4,
            begin: (order > 0).then_some(Begin { start: 5, clock: [6, 7], ahead: 8 }),
            launched: (rank > 0).then_some(10),
            peer: -1,
            function,
            algorithm,
            protocol,
            source,
            channels: 9,
            alone: comm > 1,
            unfinished: rank > 1,
        };
        let sorted = [
            settled(1, 9, 9, 9, TimeSource::Stamps),
            settled(256, 1, 0, 0, TimeSource::Events),
            settled(256, 1, 0, 1, TimeSource::Proxy),
            settled(256, 1, 2, 0, TimeSource::Enqueue),
            settled(256, 1 << 60, 0, 0, TimeSource::Stamps),
        ];
        for record in sorted {
            assert_eq!(Settled::decode(&record.encode()), record);
        }
        assert!(sorted.is_sorted_by_key(Settled::encode));
    }
}
