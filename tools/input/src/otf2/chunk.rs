//! The size of OTF2's chunks of events.
//!
//! Readers hold a chunk of every location in memory, so chunks should be small. But OTF2 collects the chunks to be
//! written in a buffer of 4 MiB. If the file system refuses to write the full buffer, OTF2 3.0 frees the buffer and
//! uses it again: a full disk would crash the program. Chunks of 4 MiB bypass that buffer, so they are used where the
//! events of a location might fill it.

use super::abi;
use super::plan::{ArchivePlan, PlannedLocation, PlannedRecords};

/// Size of OTF2's buffer, bytes. Chunks of at least this size bypass it.
const BUFFER: u64 = 4 * 1024 * 1024;

/// Upper bound of the bytes of an ENTER, a LEAVE or a METRIC record without its values, with their times. They take
/// less than 50.
const EVENT: u64 = 64;
/// Upper bound of the bytes of a value: its type, its length and its content. An attribute takes at most two such
/// values.
const VALUE: u64 = 10;

/// Returns the chunk size for the events of a plan.
pub(super) fn size(plan: &ArchivePlan<'_>) -> u64 {
    // A chunk ends with the last event that fits, so its unused rest is smaller than one event.
    let fits = plan.locations.iter().all(|location| bound(location) < BUFFER / 2);
    if fits { abi::CHUNK_SIZE_MIN } else { BUFFER }
}

/// Returns an upper bound of the bytes of a location's events.
fn bound(location: &PlannedLocation<'_>) -> u64 {
    let (events, values) = match &location.records {
        PlannedRecords::Moments { moments, counters } => {
            (moments.len(), counters.as_ref().map_or(0, |layout| layout.types.len()))
        }
        PlannedRecords::Lane { records, .. } => {
            (records.len(), 1 + records.iter().map(|it| it.attributes.len()).max().map_or(0, |most| 2 * most))
        }
    };
    let count = |length: usize| u64::try_from(length).unwrap_or(u64::MAX);
    count(events).saturating_mul(EVENT.saturating_add(count(values).saturating_mul(VALUE)))
}
