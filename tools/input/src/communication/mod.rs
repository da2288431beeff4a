//! Records of NCCL's communication in an archive: communicators with the locations of their ranks, messages, and
//! collectives with root and bytes. Viewers draw their communication matrix, their message lines and their statistics
//! of collectives from these records alone.
//!
//! A rank's location in its communicator is its first lane, and all records of the rank are there: readers know whose
//! they are, also where a process has several ranks, and match them by their order.
//!
//! Score-P's inner interface has no such records for locations other than the calling thread's, and none at all for
//! collectives. So they are added to the finished archive: the lanes have regions, bytes, peers and roots. They are the
//! records that the MPI adapter writes, which viewers know best, on the locations of the lanes.

mod added;
pub mod child;
mod collectives;
pub mod command;
mod communicators;
mod heard;
mod messages;
mod names;
mod records;

pub(crate) use added::Added;

use crate::archive;
use crate::otf2::copy;
use crate::otf2::reader::ArchiveReader;
use crate::otf2::{self, Otf2Error, Target, apart};
use crate::trace::ProcessTrace;
use collectives::Unequal;
use common::summary::Summary;
use communicators::Communicators;
use messages::MatchedMessages;
use records::{RankRecord, RecordKind, Records};
use std::fs;
use std::path::{Path, PathBuf};

/// Name of the hidden subcommand that starts a child.
pub const CHILD: &str = "trace-one";

/// Copies an archive, by its anchor file, into a directory that is missing or empty, with records of communication.
/// `progress` gets the bytes of each file that was copied. Returns the new anchor file, too.
///
/// # Errors
/// The archive has no lanes, OTF2 is missing or fails, or the directory cannot be used. Then nothing is left behind.
pub(crate) fn add(
    anchor: &Path,
    directory: &Path,
    progress: &mut dyn FnMut(u64),
) -> Result<(PathBuf, Added), Otf2Error> {
    let failed = |source| Otf2Error::Directory { directory: directory.to_owned(), source };
    let experiment = fs::canonicalize(copy::directory_of(anchor)).map_err(failed)?;
    // the directory itself may be missing
    let place = std::path::absolute(directory).map_err(failed)?;
    let place = place.ancestors().find_map(|path| fs::canonicalize(path).ok());
    if place.is_some_and(|place| place.starts_with(experiment)) {
        return Err(Otf2Error::Inside(directory.to_owned()));
    }
    let target = Target::prepare(directory)?;
    // the archive is anybody's
    let arguments = [anchor.into(), target.staging().into()];
    let added = apart::read(anchor, CHILD, arguments, progress).map_err(Otf2Error::Apart)?;
    Ok((target.publish()?, added))
}

/// Writes all processes as one archive, as [`otf2::write`] does, with records of communication. Returns the anchor file,
/// and the additions if the archive has lanes of communicators.
///
/// # Errors
/// As [`otf2::write`].
pub(crate) fn write(
    directory: &Path,
    processes: &[ProcessTrace],
    summary: Option<&Summary>,
) -> Result<(PathBuf, Option<Added>), Otf2Error> {
    let target = Target::prepare(directory)?;
    let plain = target.staging().join("plain");
    let anchor = otf2::write(&plain, processes, summary)?;
    match add_into(&anchor, target.staging(), &mut |_| ()) {
        Ok(added) => {
            let failed = |source| Otf2Error::Directory { directory: directory.to_owned(), source };
            fs::remove_dir_all(&plain).map_err(failed)?;
            Ok((target.publish()?, Some(added)))
        }
        Err(Otf2Error::NoLanes | Otf2Error::TwoJobs) => {
            drop(target);
            Ok((otf2::write(directory, processes, summary)?, None))
        }
        Err(error) => Err(error),
    }
}

fn add_into(anchor: &Path, directory: &Path, progress: &mut dyn FnMut(u64)) -> Result<Added, Otf2Error> {
    let mut reader = ArchiveReader::open(anchor)?;
    let definitions = reader.definitions()?;
    if definitions.strings.values().any(|string| string == copy::LANES) {
        return Err(Otf2Error::HasMessages);
    }
    let sizes = archive::sizes(anchor);
    let mut communicators = Communicators::of(&definitions, &sizes);
    let lanes: Vec<u64> = communicators.lanes().map(|(lane, _)| lane).collect();
    if lanes.is_empty() {
        return Err(if communicators.ambiguous() > 0 { Otf2Error::TwoJobs } else { Otf2Error::NoLanes });
    }
    reader.select(&lanes)?;
    let heard = heard::hear(&reader, &definitions, communicators.lanes())?;
    drop(reader);
    communicators.set_names(names::of(&definitions, &sizes, communicators.all(), &heard));
    let mut added = Added {
        communicators: communicators.all().len(),
        unsized_communicators: communicators.without_size(),
        partial_communicators: communicators.with_missing_ranks(),
        ambiguous: communicators.ambiguous(),
        ..Added::default()
    };
    let mut records = Records::default();
    let mut messages = MatchedMessages::default();
    for (place, ranks) in heard {
        let mut add = |rank, record: RankRecord| {
            let (Some(home), Some(_)) =
                (communicators.home_of(place, rank), communicators.message(place, rank, &record))
            else {
                added.rootless += u64::from(record.kind == RecordKind::End);
                return;
            };
            added.messages += u64::from(record.kind == RecordKind::Send);
            added.collectives += u64::from(record.kind == RecordKind::End);
            records.add(home, record);
        };
        let equal = collectives::record(&ranks, &mut add);
        messages.record(&ranks, add);
        if let Err(unequal) = equal {
            added.unequal += ranks.values().flatten().filter(|operation| !operation.is_message()).count() as u64;
            if added.unequal_first.is_empty() {
                added.unequal_first = said(communicators.name(place), unequal);
            }
        }
    }
    records.sort();
    let mut due = |lane, until| {
        let record = records.due(lane, until)?;
        let (place, rank) = communicators.rank_of(lane)?;
        Some((record.time, communicators.message(place, rank, &record)?))
    };
    copy::with(anchor, directory, communicators.all(), &communicators.homes(), &mut due, progress)?;
    let (reversed, worst) = messages.reversed;
    Ok(Added { alone: messages.alone, reversed: (reversed, definitions.length_of(worst)), ..added })
}

/// Returns how the collectives of a communicator's ranks differ, in words.
fn said(communicator: &str, unequal: Unequal) -> String {
    match unequal {
        Unequal::Count([(one, count), (other, others)]) => {
            format!("{communicator}: rank {one} has {count}, rank {other} has {others}")
        }
        Unequal::Other(rank, place) => {
            format!("{communicator}: number {place} of rank {rank} differs from that of its first rank")
        }
    }
}
