//! Writes all events of an archive.

use super::archive::Archive;
use super::error::Otf2Error;
use super::event_writer::EventWriter;
use super::plan::{ArchivePlan, PlannedRecords};

/// Writes the events of every location; returns the number of events of each location.
pub(super) fn write(archive: &Archive, plan: &ArchivePlan<'_>) -> Result<Vec<u64>, Otf2Error> {
    archive.open_event_files()?;
    let mut counts = Vec::with_capacity(plan.locations.len());
    // Only one writer is open at a time, because each has buffers of its own.
    for (number, location) in (0..).zip(&plan.locations) {
        let writer = EventWriter::open(archive, number)?;
        write_records(&writer, &location.records)?;
        counts.push(writer.close()?);
    }
    archive.close_event_files()?;
    Ok(counts)
}

fn write_records(writer: &EventWriter<'_>, records: &PlannedRecords<'_>) -> Result<(), Otf2Error> {
    match records {
        PlannedRecords::Moments { moments, counters } => {
            for (moment, region) in moments {
                if let Some(counters) = counters {
                    writer.metric(moment.time, counters, &moment.values)?;
                }
                if moment.enter {
                    writer.enter(moment.time, *region)?;
                } else {
                    writer.leave(moment.time, *region)?;
                }
            }
        }
        PlannedRecords::Lane { records, numbers } => {
            for record in *records {
                numbers.write(writer, record)?;
            }
        }
    }
    Ok(())
}
