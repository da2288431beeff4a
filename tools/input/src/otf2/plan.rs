//! The contents of an archive: the processes' data with the numbers by which OTF2's records name it.

use std::rc::Rc;

use super::error::Otf2Error;
use super::lane_definitions::LaneDefinitions;
use super::metric::{MetricLayout, Properties};
use super::numbered::{Numbered, next_number};
use super::region::ArchiveRegion;
use crate::trace::{Attribute, LaneRecord, Metric, ProcessTrace, ThreadTrace, TraceMoment};

/// Name of the thread of a process in which no thread called an instrumented function. OTF2 requires a thread in every
/// process.
const MAIN_THREAD: &str = "main thread";

/// The contents of an archive. A definition's number is its place in the list, from 0.
pub(super) struct ArchivePlan<'a> {
    /// The clock of all times.
    pub(super) clock: ClockProperties,
    /// Names of the jobs, where there are several.
    pub(super) jobs: Numbered<&'a str>,
    /// Names of the machines, each within a job; the same machine in two jobs is listed twice.
    pub(super) nodes: Numbered<(Option<u32>, &'a str)>,
    /// Location groups: the names of the processes, and the numbers of their machines.
    pub(super) groups: Vec<(&'a str, u32)>,
    /// Threads and lanes.
    pub(super) locations: Vec<PlannedLocation<'a>>,
    /// Regions; processes share equal regions.
    pub(super) regions: Numbered<ArchiveRegion<'a>>,
    /// Metrics; processes share equal metrics.
    pub(super) members: Numbered<&'a Metric>,
    /// Metric classes.
    pub(super) sets: Numbered<MetricSet>,
    /// Attributes of lanes; processes share equal attributes.
    pub(super) attributes: Numbered<&'a Attribute>,
    /// Strings that events name by number; they are the archive's first strings.
    pub(super) strings: Numbered<&'a str>,
}

/// OTF2's clock properties.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ClockProperties {
    pub(super) ticks_per_second: u64,
    /// Earliest time.
    pub(super) offset: u64,
    /// Latest time minus the offset.
    pub(super) length: u64,
}

/// A location with its events.
pub(super) struct PlannedLocation<'a> {
    pub(super) name: &'a str,
    /// Number of its process.
    pub(super) group: u32,
    pub(super) records: PlannedRecords<'a>,
}

/// The events of a location.
pub(super) enum PlannedRecords<'a> {
    /// A thread's enter and leave events, each with the number of its region. `counters` is `None` for a process
    /// without counters.
    Moments { moments: Vec<(&'a TraceMoment, u32)>, counters: Option<MetricLayout> },
    /// A lane's events, with the archive's numbers for the definitions that they name.
    Lane { records: &'a [LaneRecord], numbers: Rc<LaneDefinitions> },
}

/// A metric class.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum MetricSet {
    /// Class of the metrics (by number) that a thread records with each event.
    Strict(Vec<u32>),
    /// Class of one metric (by number) that lanes record.
    Gpu(u32),
}

impl<'a> ArchivePlan<'a> {
    /// Numbers everything. Returns an error for traces that one archive cannot hold.
    pub(super) fn new(processes: &'a [ProcessTrace]) -> Result<Self, Otf2Error> {
        let mut plan = Self {
            clock: ClockProperties::covering(processes)?,
            jobs: Numbered::new("jobs"),
            nodes: Numbered::new("machines"),
            groups: Vec::new(),
            locations: Vec::new(),
            regions: Numbered::new("regions"),
            members: Numbered::new("metrics"),
            sets: Numbered::new("metric classes"),
            attributes: Numbered::new("attributes"),
            strings: Numbered::new("strings"),
        };
        for process in processes {
            let group = next_number(&plan.groups, "processes")?;
            let job = Some(process.job.as_str()).filter(|job| !job.is_empty());
            let job = job.map(|job| plan.jobs.number(job)).transpose()?.map(|(number, _)| number);
            let (node, _) = plan.nodes.number((job, process.node.as_str()))?;
            plan.groups.push((&process.name, node));
            let counters = plan.counters(process)?;
            for thread in &process.threads {
                plan.add_thread(process, group, thread, counters.clone())?;
            }
            if process.threads.is_empty() {
                plan.add(MAIN_THREAD, group, PlannedRecords::Moments { moments: Vec::new(), counters: None })?;
            }
            plan.add_lanes(process, group)?;
        }
        Ok(plan)
    }

    pub(super) fn add(&mut self, name: &'a str, group: u32, records: PlannedRecords<'a>) -> Result<(), Otf2Error> {
        next_number(&self.locations, "locations")?;
        self.locations.push(PlannedLocation { name, group, records });
        Ok(())
    }

    /// Returns the class of a process' counters, if it has any.
    fn counters(&mut self, process: &'a ProcessTrace) -> Result<Option<MetricLayout>, Otf2Error> {
        if process.counters.is_empty() {
            return Ok(None);
        }
        // OTF2 counts the members of a class in eight bits.
        if u8::try_from(process.counters.len()).is_err() {
            return Err(Otf2Error::TooMany("counters of one process"));
        }
        let mut members = Vec::new();
        let mut types = Vec::new();
        for metric in &process.counters {
            members.push(self.members.number(metric)?.0);
            types.push(Properties::from_score_p(metric)?.value_type);
        }
        let (set, _) = self.sets.number(MetricSet::Strict(members))?;
        Ok(Some(MetricLayout { set, types }))
    }

    fn add_thread(
        &mut self,
        process: &'a ProcessTrace,
        group: u32,
        thread: &'a ThreadTrace,
        counters: Option<MetricLayout>,
    ) -> Result<(), Otf2Error> {
        check_order(process, &thread.name, thread.moments.iter().map(|moment| moment.time))?;
        let expected = process.counters.len();
        let mut moments = Vec::with_capacity(thread.moments.len());
        for moment in &thread.moments {
            let found = moment.values.len();
            if found != expected {
                return Err(Otf2Error::ValueCount { location: label(process, &thread.name), expected, found });
            }
            moments.push((moment, self.regions.number(ArchiveRegion::of_thread(&moment.region))?.0));
        }
        self.add(&thread.name, group, PlannedRecords::Moments { moments, counters })
    }
}

impl ClockProperties {
    /// Returns the clock of all processes. It spans their measurements, and every event even if it lies outside of
    /// them.
    fn covering(processes: &[ProcessTrace]) -> Result<Self, Otf2Error> {
        let first = processes.first().ok_or(Otf2Error::NoProcess)?;
        let (mut begin, mut end) = (u64::MAX, 0);
        for process in processes {
            if process.ticks_per_second != first.ticks_per_second {
                return Err(Otf2Error::Clocks {
                    process: process.name.clone(),
                    found: process.ticks_per_second,
                    first: first.name.clone(),
                    expected: first.ticks_per_second,
                });
            }
            let moments = process.threads.iter().flat_map(|thread| &thread.moments).map(|moment| moment.time);
            let records = process.lanes.lanes.iter().flat_map(|lane| &lane.records).map(|record| record.time);
            for time in [process.begin, process.end].into_iter().chain(moments).chain(records) {
                begin = begin.min(time);
                end = end.max(time);
            }
        }
        Ok(Self { ticks_per_second: first.ticks_per_second, offset: begin, length: end.saturating_sub(begin) })
    }
}

fn label(process: &ProcessTrace, location: &str) -> String {
    format!("{}, {location}", process.name)
}

pub(super) fn check_order(
    process: &ProcessTrace,
    location: &str,
    times: impl Iterator<Item = u64>,
) -> Result<(), Otf2Error> {
    let mut before = 0;
    for (index, after) in times.enumerate() {
        if after < before {
            return Err(Otf2Error::TimesFall { location: label(process, location), index, before, after });
        }
        before = after;
    }
    Ok(())
}
