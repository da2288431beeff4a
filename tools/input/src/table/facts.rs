//! Facts of operations that the recording's own lines have and the library does not give out.

use common::name::NcclName;
use common::run_sums::CommunicatorRank;
use common::timeline::Settled;

/// Facts of an operation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct OperationFacts {
    /// When the host called for it: the begin of the API call, or of the operation's own start where there is no call or
    /// where the call was captured in a CUDA graph. Nanoseconds of the process' clock.
    pub(super) enqueued: u64,
    /// Number of elements.
    pub(super) count: u64,
    /// Root, if the function has one.
    pub(super) root: Option<i32>,
    /// Type of the elements.
    pub(super) datatype: NcclName,
    /// Number of the group of API calls.
    pub(super) group: Option<u64>,
    /// Number of its stream; 0 where it is unknown.
    pub(super) stream: u32,
    /// Number of earlier collectives of the rank with the same function and number.
    pub(super) replay: u32,
    /// The user's tag; 0 for none.
    pub(super) tag: u64,
}

impl OperationFacts {
    /// Bytes of the record without its key.
    pub(super) const BYTES: usize = 8 + 8 + 1 + 4 + 1 + 8 + 4 + 4 + 8;
    /// Bytes of a record, which begins with the operation's key.
    pub(super) const RECORD: usize = Settled::KEY + Self::BYTES;

    /// Returns the record of the operation that starts at this time, in nanoseconds of the process' clock.
    pub(super) fn record(&self, start: u64, rank: CommunicatorRank, order: u64) -> [u8; Self::RECORD] {
        let mut record = [0; Self::RECORD];
        let (key, facts) = record.split_at_mut(Settled::KEY);
        key.copy_from_slice(&Settled::key(start, rank, order));
        facts.copy_from_slice(&self.encode());
        record
    }

    pub(super) fn encode(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        let flags = u8::from(self.root.is_some()) | u8::from(self.group.is_some()) << 1;
        bytes[..8].copy_from_slice(&self.enqueued.to_be_bytes());
        bytes[8..16].copy_from_slice(&self.count.to_be_bytes());
        bytes[16] = flags;
        bytes[17..21].copy_from_slice(&self.root.unwrap_or_default().to_be_bytes());
        bytes[21] = self.datatype.bits();
        bytes[22..30].copy_from_slice(&self.group.unwrap_or_default().to_be_bytes());
        bytes[30..34].copy_from_slice(&self.stream.to_be_bytes());
        bytes[34..38].copy_from_slice(&self.replay.to_be_bytes());
        bytes[38..].copy_from_slice(&self.tag.to_be_bytes());
        bytes
    }

    pub(super) fn decode(bytes: &[u8; Self::BYTES]) -> Self {
        let long = |at: usize| u64::from_be_bytes(std::array::from_fn(|byte| bytes[at + byte]));
        let int = |at: usize| u32::from_be_bytes(std::array::from_fn(|byte| bytes[at + byte]));
        let flags = bytes[16];
        Self {
            enqueued: long(0),
            count: long(8),
            root: (flags & 1 != 0).then_some(int(17).cast_signed()),
            datatype: NcclName::from_bits(bytes[21]),
            group: (flags & 2 != 0).then_some(long(22)),
            stream: int(30),
            replay: int(34),
            tag: long(38),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_come_back() {
        let known = OperationFacts {
            enqueued: 1 << 40,
            count: 2,
            root: Some(-3),
            datatype: NcclName::of(Some(c"ncclBfloat16")),
            group: Some(4),
            stream: 5,
            replay: 6,
            tag: u64::MAX - 7,
        };
        for facts in [known, OperationFacts::default()] {
            assert_eq!(OperationFacts::decode(&facts.encode()), facts);
        }
        assert_eq!(known.record(7, CommunicatorRank { comm: 8, rank: 9 }, 10)[Settled::KEY..], known.encode());
    }
}
