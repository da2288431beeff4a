//! The definitions that a process' lanes name, and the lanes' events.

use super::error::Otf2Error;
use super::event_writer::{EventAttribute, EventWriter};
use super::metric::MetricLayout;
use crate::trace::{LaneEvent, LaneRecord};

/// The archive's numbers for the definitions that a process' lanes name by their own numbers.
#[derive(Debug)]
pub(super) struct LaneDefinitions {
    pub(super) regions: Vec<u32>,
    pub(super) counters: Vec<MetricLayout>,
    /// Number of each attribute, and whether its values are strings.
    pub(super) attributes: Vec<(u32, bool)>,
    pub(super) strings: Vec<u32>,
}

/// Returns the item of this number.
fn item<'a, T>(list: &'a [T], number: u64, what: &'static str) -> Result<&'a T, Otf2Error> {
    usize::try_from(number).ok().and_then(|place| list.get(place)).ok_or(Otf2Error::Undefined(what))
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
