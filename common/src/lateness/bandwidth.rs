//! Bus bandwidth of a job's collectives: without the wait for the last rank, which is in the time of all others.

use super::Matched;
use crate::name::Name;
use crate::operation::bus_bytes;
use crate::summary::{Bandwidth, Communicator, hexadecimal};
use std::collections::BTreeMap;

/// Operations of a communicator, a function and a class of size.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    operations: u64,
    bytes: u64,
    /// Sum of the least times, nanoseconds.
    least: f64,
    ranks: usize,
}

/// Of all operations whose bytes are known. Classes are powers of two: the binary logarithm of the bytes.
#[derive(Debug, Default)]
pub(super) struct Bandwidths(BTreeMap<(u64, Name, u32), Sum>);

impl Bandwidths {
    pub(super) fn add(&mut self, matched: &Matched) {
        let Some(bytes) = matched.bytes.filter(|_| matched.least > 0.0) else { return };
        let sum = self.0.entry((matched.comm, matched.operation.0, bytes.max(1).ilog2())).or_default();
        sum.operations += 1;
        sum.bytes = sum.bytes.saturating_add(bytes);
        sum.least += matched.least;
        sum.ranks = matched.ranks.len();
    }

    /// Of the communicators all of whose ranks were found, since the least time may be that of a rank that is not here; and of
    /// functions that have a bus bandwidth.
    pub(super) fn into_rows(self, communicators: &[Communicator]) -> Vec<Bandwidth> {
        let rows = self.0.into_iter().filter_map(|((comm, function, class), sum)| {
            let comm = hexadecimal(comm);
            let communicator = communicators.iter().find(|communicator| communicator.comm == comm)?;
            let all = usize::try_from(communicator.nranks).ok()? == sum.ranks;
            let bus = bus_bytes(function, sum.bytes, communicator.nranks).filter(|_| all)?;
            Some(Bandwidth {
                comm,
                func: function.text(),
                from_bytes: 1 << class,
                operations: sum.operations,
                bytes: sum.bytes,
                least_us: sum.least / 1e3,
                // bytes a nanosecond
                busbw_gb_s: bus / sum.least,
            })
        });
        rows.collect()
    }
}
