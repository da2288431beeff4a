//! Records of NCCL's communication in an archive: communicators with the locations of their ranks, messages, and
//! collectives with root and bytes. Viewers draw their communication matrix, their message lines and their statistics
//! of collectives from these records alone.
//!
//! A rank's location in its communicator is its first lane. Records of operations that overlap lie on the lane of the
//! operation, as MPI's records of further threads lie on the threads: both are in the process of the member. Where a
//! process has several ranks of a communicator, that would not say whose they are: there, messages lie on the first
//! lane.
//!
//! Score-P's inner interface has no such records for locations other than the calling thread's, and none at all for
//! collectives. So they are added to the finished archive: the lanes have regions, bytes, peers and roots. They are the
//! records that the MPI adapter writes, which viewers know best, on the locations of the lanes.

mod added;
pub(crate) mod child;
pub(crate) mod command;
mod communicators;
mod heard;
mod messages;
mod speaker;
mod spoken;

pub(crate) use added::Added;

use crate::archive;
use crate::otf2::copy;
use crate::otf2::reader::{ArchiveEvent, ArchiveReader};
use crate::otf2::{self, Otf2Error, Target, apart};
use crate::trace::ProcessTrace;
use common::summary::Summary;
use communicators::Communicators;
use heard::HeardMoments;
use speaker::Speaker;
use spoken::{LaneNumbers, Spoken};
use std::fs;
use std::path::{Path, PathBuf};

/// Events that are read of a lane at a time.
const PIECE: u64 = 4096;

/// Name of the hidden subcommand that starts a child.
pub(crate) const CHILD: &str = "trace-one";

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
    let target = Target::prepare(directory)?;
    let place = |path: &Path| fs::canonicalize(path).ok();
    if let (Some(staging), Some(anchor)) = (place(target.staging()), place(anchor))
        && anchor.parent().is_some_and(|experiment| staging.starts_with(experiment))
    {
        return Err(Otf2Error::Inside(directory.to_owned()));
    }
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
    let communicators = Communicators::of(&definitions, &archive::sizes(anchor));
    let lanes: Vec<u64> = communicators.lanes().collect();
    if lanes.is_empty() {
        return Err(if communicators.ambiguous() > 0 { Otf2Error::TwoJobs } else { Otf2Error::NoLanes });
    }
    reader.select(&lanes)?;
    let mut heard = HeardMoments::default();
    let known = LaneNumbers::of(&definitions);
    for &lane in &lanes {
        let Some((place, rank)) = communicators.rank_of(lane) else { continue };
        let mut speaker = Speaker::default();
        let mut events = reader.events(lane)?;
        let mut hear = |time, event: ArchiveEvent<'_>| {
            if let Some(said) = known.seen(&event).and_then(|seen| speaker.see(seen)) {
                heard.hear(place, rank, time, said, communicators.home_of(lane));
            }
        };
        while events.read(PIECE, &mut hear)? {}
    }
    drop(reader);
    let mut spoken = Spoken::of(&communicators, known, heard);
    copy::with(anchor, directory, communicators.all(), &lanes, &mut spoken, progress)?;
    let (reversed, worst) = spoken.matched.reversed();
    Ok(Added {
        communicators: communicators.all().len(),
        messages: spoken.messages,
        collectives: spoken.collectives,
        alone: spoken.matched.alone(),
        rootless: spoken.rootless,
        overlapping: spoken.overlapping,
        unsized_communicators: communicators.without_size(),
        partial_communicators: communicators.with_missing_ranks(),
        ambiguous: communicators.ambiguous(),
        reversed: (reversed, definitions.length_of(worst)),
    })
}
