//! Operations kept in a file instead of memory, for a replay whose result does not fit into memory. A job's library has
//! no such file: its timeline is bounded.

use super::entry::TimelineEntry;
use crate::event::name::NcclName;
use crate::operation::{Operation, TimeSource};
use once_cell::sync::OnceCell;
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::path::{Path, PathBuf};

/// Bytes of an operation in the file.
const BYTES: usize = 72;

static WANTED: OnceCell<PathBuf> = OnceCell::new();

/// Makes the timeline keep its operations in this file, which must not exist yet, from the first communicator on. The
/// first path stays.
pub fn spool_into(path: PathBuf) {
    let _ = WANTED.set(path);
    super::wanted::want();
}

/// An operation with everything that is known of it, its times still on the clock of its source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Spooled {
    pub(super) entry: TimelineEntry,
    /// Start of the enqueue, ticks.
    pub(super) enqueued: u64,
    /// Place in the communicator's order of starts.
    pub(super) order: u64,
    /// Its order minus the order of its kernel's first operation.
    pub(super) distance: u16,
    /// Number of channels that NCCL announced.
    pub(super) channels: u8,
    /// Whether the operation or a child never ended.
    pub(super) unfinished: bool,
}

impl Spooled {
    pub(super) fn new(entry: TimelineEntry, operation: &Operation) -> Self {
        let &Operation { start, order, distance, channels, unfinished, .. } = operation;
        Self { entry, enqueued: start, order, distance, channels, unfinished }
    }

    fn encode(&self) -> [u8; BYTES] {
        let Self { entry, enqueued, order, distance, channels, unfinished } = *self;
        let mut bytes = [0; BYTES];
        let mut rest = bytes.as_mut_slice();
        let mut put = |value: &[u8]| {
            let (head, tail) = std::mem::take(&mut rest).split_at_mut(value.len());
            head.copy_from_slice(value);
            rest = tail;
        };
        for long in [entry.start, entry.stop, entry.bytes, entry.sequence, entry.launched, enqueued, order] {
            put(&long.to_le_bytes());
        }
        put(&entry.peer.to_le_bytes());
        put(&entry.root.to_le_bytes());
        put(&distance.to_le_bytes());
        let source = entry.source.number();
        let flags = u8::from(entry.alone) | u8::from(unfinished) << 1;
        let names = [entry.function, entry.algorithm, entry.protocol].map(NcclName::bits);
        put(&names);
        put(&[entry.place, source, channels, flags]);
        bytes
    }

    fn decode(bytes: &[u8; BYTES]) -> Self {
        let long = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| bytes[at * 8 + byte]));
        let short = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let [start, stop, of_bytes, sequence, launched, enqueued, order] = std::array::from_fn(long);
        let name = |at: usize| NcclName::from_bits(bytes[at]);
        let (source, flags) = (TimeSource::of_number(bytes[68]), bytes[70]);
        let entry = TimelineEntry {
            start,
            stop,
            bytes: of_bytes,
            sequence,
            peer: i32::from_le_bytes([bytes[56], bytes[57], bytes[58], bytes[59]]),
            root: short(60),
            place: bytes[67],
            order: order as u32,
            launched,
            function: name(64),
            algorithm: name(65),
            protocol: name(66),
            source: source.unwrap_or(TimeSource::Enqueue),
            alone: flags & 1 != 0,
        };
        Self { entry, enqueued, order, distance: short(62), channels: bytes[69], unfinished: flags & 2 != 0 }
    }
}

/// The file of operations that have left memory, or the first error.
#[derive(Debug)]
pub(super) struct Spool(io::Result<BufWriter<File>>);

impl Spool {
    /// Makes the spool, if one is wanted.
    pub(super) fn wanted() -> Option<Self> {
        WANTED.get().map(|path| Self::at(path))
    }

    fn at(path: &Path) -> Self {
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(path);
        Self(file.map(BufWriter::new))
    }

    pub(super) fn add(&mut self, operation: &Spooled) {
        if let Ok(file) = &mut self.0
            && let Err(error) = file.write_all(&operation.encode())
        {
            self.0 = Err(error);
        }
    }

    /// Passes on all operations, in the order in which they came.
    ///
    /// # Errors
    /// The file could not be written, or cannot be read.
    pub(super) fn read(self, mut each: impl FnMut(&Spooled) -> io::Result<()>) -> io::Result<()> {
        let mut file = self.0?.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.rewind()?;
        let mut file = BufReader::new(file);
        let mut bytes = [0; BYTES];
        loop {
            match file.read_exact(&mut bytes) {
                Ok(()) => each(&Spooled::decode(&bytes))?,
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_leaves_memory_comes_back() {
        let [function, algorithm, protocol] = [c"AllReduce", c"TREE", c"LL128"].map(|name| NcclName::of(Some(name)));
        let spooled = |number: u64, source| Spooled {
            entry: TimelineEntry {
                start: number,
                stop: number + 1,
                bytes: number + 2,
                sequence: number + 3,
                peer: -1,
                root: 7,
                place: 254,
                order: (number + 5) as u32,
                launched: number + 6,
                function,
                algorithm,
                protocol,
                source,
                alone: number.is_multiple_of(2),
            },
            enqueued: number + 4,
            order: number + 5,
            distance: 513,
            channels: 24,
            unfinished: number.is_multiple_of(3),
        };
        let all: Vec<Spooled> =
            (0..9).map(|number| spooled(number << 33, TimeSource::ALL[number as usize % 4])).collect();
        let path = std::env::temp_dir().join(format!("scorep-nccl-spool-{:016x}", crate::base::files::random()));
        let mut spool = Spool::at(&path);
        std::fs::remove_file(path).unwrap();
        all.iter().for_each(|operation| spool.add(operation));
        let mut read = Vec::new();
        spool
            .read(|operation| {
                read.push(*operation);
                Ok(())
            })
            .unwrap();
        assert_eq!(read, all);
    }
}
