//! The size of the pieces in which OTF2 keeps events.
//!
//! Readers hold a piece of every location in memory, so the pieces should be small. But OTF2 collects those that are to
//! be written in a buffer of 4 MiB, and if the file system refuses one that is full, OTF2 3.0 goes on to use it after
//! it is freed: a full disk would end the program. Pieces of 4 MiB are written past that buffer; so they are taken if
//! the events of a location may fill it.

use super::abi;
use super::plan::{Location, Plan, Records};

/// Size of OTF2's buffer, and from which on a piece is written past it.
const BUFFER: u64 = 4 * 1024 * 1024;

/// Most bytes of an ENTER, a LEAVE and what a METRIC record has beside its values, with their times; less than 50.
const EVENT: u64 = 64;
/// Most bytes of a value: its type, its length and its bytes. An attribute takes no more than two.
const VALUE: u64 = 10;

/// The size of pieces that suits the events of a plan.
pub(super) fn size(plan: &Plan<'_>) -> u64 {
    // A piece ends with the last event that fits, which leaves room for no more than one.
    let fits = plan.locations.iter().all(|location| bound(location) < BUFFER / 2);
    if fits { abi::CHUNK_SIZE_MIN } else { BUFFER }
}

/// No fewer bytes than the events of a location take.
fn bound(location: &Location<'_>) -> u64 {
    let (events, values) = match &location.records {
        Records::Moments { moments, counters } => {
            (moments.len(), counters.as_ref().map_or(0, |layout| layout.types.len()))
        }
        Records::Lane { records, .. } => {
            (records.len(), 1 + records.iter().map(|it| it.attributes.len()).max().map_or(0, |most| 2 * most))
        }
        Records::Points { points, .. } => (points.len(), 1),
    };
    let count = |length: usize| u64::try_from(length).unwrap_or(u64::MAX);
    count(events).saturating_mul(EVENT.saturating_add(count(values).saturating_mul(VALUE)))
}
