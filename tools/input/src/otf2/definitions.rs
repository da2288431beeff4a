//! Writes all definitions of an archive.

use super::abi;
use super::archive::Archive;
use super::definition_writer::DefinitionWriter;
use super::error::Otf2Error;
use super::plan::{ArchivePlan, MetricSet, PlannedRecords};

/// Number of the system tree's root.
const MACHINE: u32 = 0;
/// Number of the first job, where there are several jobs.
const JOB: u32 = 1;

/// Writes the definitions of the numbers in the events; `counts` is the number of events of each location.
pub(super) fn write(archive: &Archive, plan: &ArchivePlan<'_>, counts: &[u64]) -> Result<(), Otf2Error> {
    archive.write_local_definitions((0..).zip(&plan.locations).map(|(number, _)| number))?;
    let mut writer = DefinitionWriter::open(archive)?;
    writer.strings(&plan.strings)?;
    writer.clock(&plan.clock)?;
    writer.node(MACHINE, "replay", "machine", None, abi::SYSTEM_TREE_DOMAIN_MACHINE)?;
    for (number, name) in plan.jobs.iter() {
        writer.node(JOB + number, name, "job", Some(MACHINE), abi::SYSTEM_TREE_DOMAIN_MACHINE)?;
    }
    // the nodes' numbers follow the jobs'
    let first = JOB + plan.jobs.iter().count() as u32;
    for (number, (job, name)) in plan.nodes.iter() {
        let parent = job.map_or(MACHINE, |job| JOB + job);
        writer.node(first + number, name, "node", Some(parent), abi::SYSTEM_TREE_DOMAIN_SHARED_MEMORY)?;
    }
    for (number, (name, node)) in (0..).zip(&plan.groups) {
        writer.group(number, name, first + node)?;
    }
    for (number, (location, &count)) in (0..).zip(plan.locations.iter().zip(counts)) {
        writer.location(number, location.name, &location.records, count, location.group)?;
    }
    for (number, region) in plan.regions.iter() {
        writer.region(number, region)?;
    }
    write_metrics(&mut writer, plan)?;
    for (number, attribute) in plan.attributes.iter() {
        writer.attribute(number, attribute)?;
    }
    writer.close()
}

fn write_metrics(writer: &mut DefinitionWriter<'_>, plan: &ArchivePlan<'_>) -> Result<(), Otf2Error> {
    for (number, metric) in plan.members.iter() {
        writer.member(number, metric)?;
    }
    for (number, set) in plan.sets.iter() {
        match set {
            MetricSet::Strict(members) => {
                writer.strict_class(number, members)?;
                for recorder in recorders(plan, number) {
                    writer.recorder(number, recorder)?;
                }
            }
            MetricSet::Gpu(member) => writer.gpu_class(number, *member)?,
        }
    }
    Ok(())
}

/// Returns the threads that record a class of counters.
fn recorders(plan: &ArchivePlan<'_>, class: u32) -> impl Iterator<Item = u64> {
    (0..).zip(&plan.locations).filter_map(move |(number, location)| match &location.records {
        PlannedRecords::Moments { counters: Some(counters), .. } if counters.set == class => Some(number),
        _ => None,
    })
}
