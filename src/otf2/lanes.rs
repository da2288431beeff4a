//! Lanes: locations of GPUs, with their own counters and attributes.

use std::rc::Rc;

use super::abi;
use super::error::Otf2Error;
use super::event_writer::{EventAttribute, EventWriter};
use super::metric::{MetricLayout, Properties};
use super::plan::{ArchivePlan, MetricSet, PlannedRecords, check_order};
use super::region::ArchiveRegion;
use crate::trace::{LaneEvent, LaneRecord, ProcessTrace};

/// The archive's numbers for the definitions that a process' lanes name by their own numbers.
#[derive(Debug)]
pub(super) struct LaneDefinitions {
    regions: Vec<u32>,
    counters: Vec<MetricLayout>,
    /// Number of each attribute, and whether its values are strings.
    attributes: Vec<(u32, bool)>,
    strings: Vec<u32>,
}

/// Returns the item of this number.
fn item<'a, T>(list: &'a [T], number: u64, what: &'static str) -> Result<&'a T, Otf2Error> {
    usize::try_from(number).ok().and_then(|place| list.get(place)).ok_or(Otf2Error::Undefined(what))
}

impl<'a> ArchivePlan<'a> {
    /// Adds a process' lanes.
    pub(super) fn add_lanes(&mut self, process: &'a ProcessTrace, group: u32) -> Result<(), Otf2Error> {
        let lanes = &process.lanes;
        let mut counters = Vec::new();
        for counter in &lanes.counters {
            let types = vec![Properties::of(counter)?.value_type];
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

impl LaneDefinitions {
    /// Writes an event of a lane.
    pub(super) fn write(&self, writer: &EventWriter<'_>, record: &LaneRecord) -> Result<(), Otf2Error> {
        let said = |&(attribute, value): &(u32, u64)| {
            let &(number, is_text) = item(&self.attributes, attribute.into(), "attribute")?;
            Ok(if is_text {
                EventAttribute::Text(number, *item(&self.strings, value, "string")?)
            } else {
                EventAttribute::Number(number, value)
            })
        };
        writer.say(record.attributes.iter().map(said))?;
        match record.event {
            LaneEvent::Enter(region) => writer.enter(record.time, *item(&self.regions, region.into(), "region")?),
            LaneEvent::Leave(region) => writer.leave(record.time, *item(&self.regions, region.into(), "region")?),
            LaneEvent::Count(counter, value) => {
                writer.metric(record.time, item(&self.counters, counter.into(), "counter")?, &[value])
            }
        }
    }
}

/// Returns the `OTF2_Type` of an attribute's values.
pub(super) fn value_type(is_text: bool) -> u8 {
    if is_text { abi::TYPE_STRING } else { abi::TYPE_UINT64 }
}
