//! The operations of a replay as a file, with their times on the clock of the process: the way out of the library for
//! a program that makes a table of them.
//!
//! The file has a line of JSON ([`Head`]), and behind it records of [`Settled::BYTES`] each. Numbers are big-endian, and
//! a record begins with its key, so records compare as their bytes do: by begin of the enqueue, communicator, rank and
//! order of starts.

use super::Timeline;
use super::arrivals::arrival;
use super::gpus::mappings;
use super::launches::launched;
use super::spool::Spooled;
use crate::event::name::NcclName;
use crate::figures::arrivals::KnownTime;
use crate::operation::TimeSource;
use crate::sums::run_sums::CommunicatorRank;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, BufRead, BufWriter, Read, Write};
use std::path::Path;

/// The first line of the file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// Texts of the names by their numbers in the records.
    pub names: Vec<String>,
    /// Operations that are not in the file.
    pub left_out: u64,
}

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

    /// Reads a record. `names` are the names of the head, as numbers of this process.
    pub fn decode(bytes: &[u8; Self::BYTES], names: &[NcclName]) -> Self {
        let long = |at: usize| u64::from_be_bytes(std::array::from_fn(|byte| bytes[at + byte]));
        let int = |at: usize| i32::from_be_bytes(std::array::from_fn(|byte| bytes[at + byte]));
        let name = |at: usize| names.get(usize::from(bytes[at])).copied().unwrap_or_default();
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

impl Head {
    /// Reads the first line of a file, and returns the names as numbers of this process beside it.
    ///
    /// # Errors
    /// The file cannot be read, or has no such line.
    pub fn read(file: &mut impl BufRead) -> io::Result<(Self, Vec<NcclName>)> {
        let mut line = Vec::new();
        file.take(1 << 20).read_until(b'\n', &mut line)?;
        let head: Self = serde_json::from_slice(&line)?;
        let number = |text: &String| {
            let text = std::ffi::CString::new(text.as_str()).unwrap_or_default();
            if text.as_bytes() == crate::event::name::UNKNOWN.as_bytes() {
                NcclName::none()
            } else {
                NcclName::of(Some(text.as_c_str()))
            }
        };
        let names = head.names.iter().map(number).collect();
        Ok((head, names))
    }
}

impl Timeline {
    /// Writes the operations that were spooled to a file, with all that is known of the GPUs' clocks now.
    ///
    /// # Errors
    /// There is no spool, it could not be kept, or the file cannot be written.
    pub fn write_settled(&mut self, path: &Path) -> io::Result<()> {
        let spool = self.spool.take().ok_or_else(|| io::Error::other("operations were not kept"))?;
        let mut file = BufWriter::new(File::create(path)?);
        let names = (0..=u8::MAX).map(|number| NcclName::from_bits(number).text()).collect();
        let head = Head { names, left_out: self.left_out };
        writeln!(file, "{}", serde_json::to_string(&head)?)?;
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
            file.write_all(&self.settled(spooled, line.rank, (on_gpu, begin, launched)).encode())
        })?;
        file.flush()
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
        let names: Vec<NcclName> = (0..=u8::MAX).map(NcclName::from_bits).collect();
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
            assert_eq!(Settled::decode(&record.encode(), &names), record);
        }
        assert!(sorted.is_sorted_by_key(Settled::encode));
    }
}
