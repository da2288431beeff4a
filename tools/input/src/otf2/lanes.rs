//! Lanes: locations of GPUs, with their own counters and attributes, in the contents of an archive.

use std::rc::Rc;

use super::abi;
use super::error::Otf2Error;
use super::lane_definitions::LaneDefinitions;
use super::metric::{MetricLayout, Properties};
use super::plan::{ArchivePlan, MetricSet, PlannedRecords, check_order};
use super::region::ArchiveRegion;
use crate::trace::ProcessTrace;

impl<'a> ArchivePlan<'a> {
    /// Adds a process' lanes.
    pub(super) fn add_lanes(&mut self, process: &'a ProcessTrace, group: u32) -> Result<(), Otf2Error> {
        let lanes = &process.lanes;
        let mut counters = Vec::new();
        for counter in &lanes.counters {
            let types = vec![Properties::from_score_p(counter)?.value_type];
            let (member, _) = self.members.number(counter)?;
            counters.push(MetricLayout { set: self.sets.number(MetricSet::Gpu(member))?.0, types });
        }
        let regions = lanes.regions.iter().map(|region| Ok(self.regions.number(ArchiveRegion::of_lane(region))?.0));
        let regions = regions.collect::<Result<_, Otf2Error>>()?;
        let attributes = lanes.attributes.iter().map(|it| Ok((self.attributes.number(it)?.0, it.is_text)));
        let attributes = attributes.collect::<Result<_, Otf2Error>>()?;
        let strings = lanes.strings.iter().map(|string| Ok(self.strings.number(string.as_str())?.0));
        let strings = strings.collect::<Result<_, Otf2Error>>()?;
        let numbers = Rc::new(LaneDefinitions { regions, counters, attributes, strings });
        for lane in &lanes.lanes {
            check_order(process, &lane.name, lane.records.iter().map(|record| record.time))?;
            self.add(&lane.name, group, PlannedRecords::Lane { records: &lane.records, numbers: Rc::clone(&numbers) })?;
        }
        Ok(())
    }
}

/// Returns the `OTF2_Type` of an attribute's values.
pub(super) fn value_type(is_text: bool) -> u8 {
    if is_text { abi::TYPE_STRING } else { abi::TYPE_UINT64 }
}
