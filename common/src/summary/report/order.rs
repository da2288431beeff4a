//! The order of rank pairs in their table.

use crate::summary::Transfers;
use std::cmp::Ordering;

/// The sort order of rank pairs. Pairs whose figure is unknown come last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PairOrder {
    /// Bytes, most first.
    Bytes,
    /// Transfers, most first.
    Transfers,
    /// Sustained rate, slowest first.
    Sustained,
    /// Typical rate, slowest first.
    Typical,
    /// Fitted rate, slowest first.
    Fit,
    /// Fitted latency, longest first.
    Latency,
    /// Communicator, sender and receiver.
    Ranks,
}

impl PairOrder {
    /// Returns the heading of its column.
    pub(super) fn heading(self) -> Option<&'static str> {
        match self {
            Self::Bytes => Some("bytes"),
            Self::Transfers => Some("transfers"),
            Self::Sustained => Some("sustained MB/s"),
            Self::Typical => Some("typical MB/s"),
            Self::Fit => Some("fit MB/s"),
            Self::Latency => Some("latency us"),
            Self::Ranks => None,
        }
    }

    pub(super) fn compare(self, one: &Transfers, other: &Transfers) -> Ordering {
        let least_first = |of: fn(&Transfers) -> Option<f64>| {
            let key = |pair: &Transfers| of(pair).unwrap_or(f64::INFINITY);
            key(one).total_cmp(&key(other))
        };
        match self {
            Self::Bytes => other.bytes.cmp(&one.bytes),
            Self::Transfers => other.transfers.cmp(&one.transfers),
            Self::Sustained => least_first(|pair| pair.sustained_rate_mb_s),
            Self::Typical => least_first(|pair| pair.typical_rate_mb_s),
            Self::Fit => least_first(|pair| Some(pair.fit?.rate_mb_s)),
            Self::Latency => least_first(|pair| Some(-pair.fit?.latency_us?)),
            Self::Ranks => (&one.comm, one.rank, one.peer).cmp(&(&other.comm, other.rank, other.peer)),
        }
    }
}
