//! A stand-in for Score-P's measurement. It keeps the lanes and series that the library writes, for the archive. A handle
//! is a place in a list.

use crate::trace::{Attribute, LaneEvent, LaneRecord, LaneRegion, LaneTrace, Metric, TraceLanes};
use scorep_substrate::replayed::{LaneTarget, OwnLocation};
use scorep_substrate::sys::measurement::ATTRIBUTE_TYPE_STRING;
use scorep_substrate::sys::{BASE_DECIMAL, PARADIGM_CUDA, VALUE_UINT64};
use std::ffi::CStr;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The stand-in.
#[derive(Debug)]
pub(super) struct KeptMeasurement {
    /// Begin of the measurement, ticks.
    begin: u64,
    written: Mutex<Written>,
}

/// Everything that the library has written.
#[derive(Debug, Default)]
struct Written {
    lanes: TraceLanes,
    /// Attributes for the next event, by lane.
    said: Vec<Vec<(u32, u64)>>,
}

impl KeptMeasurement {
    /// Begins a measurement at this time. It lasts as long as the process.
    pub(super) fn begun(begin: u64) -> &'static Self {
        Box::leak(Box::new(Self { begin, written: Mutex::default() }))
    }

    /// Takes the lanes, without lanes that have no event.
    pub(super) fn take(&self) -> TraceLanes {
        let mut lanes = std::mem::take(&mut self.written().lanes);
        lanes.lanes.retain(|lane| !lane.records.is_empty());
        lanes
    }

    fn written(&self) -> MutexGuard<'_, Written> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps an event of a lane, with the attributes that were added for it.
    fn keep(&self, OwnLocation(place): OwnLocation, time: u64, event: LaneEvent) {
        let Written { lanes, said } = &mut *self.written();
        if let (Some(lane), Some(said)) = (lanes.lanes.get_mut(place), said.get_mut(place)) {
            lane.records.push(LaneRecord { time, event, attributes: std::mem::take(said) });
        }
    }
}

/// Appends an item to a list and returns its place.
fn place<T>(list: &mut Vec<T>, item: T) -> u32 {
    list.push(item);
    u32::try_from(list.len() - 1).unwrap_or(u32::MAX)
}

fn owned(text: &CStr) -> String {
    text.to_string_lossy().into_owned()
}

impl LaneTarget for KeptMeasurement {
    fn begin(&self) -> u64 {
        self.begin
    }

    fn lane(&self, name: &str) -> OwnLocation {
        let Written { lanes, said } = &mut *self.written();
        said.push(Vec::new());
        lanes.lanes.push(LaneTrace { name: name.into(), records: Vec::new() });
        OwnLocation(lanes.lanes.len() - 1)
    }

    fn rename(&self, OwnLocation(place): OwnLocation, name: &str) {
        if let Some(lane) = self.written().lanes.lanes.get_mut(place) {
            lane.name = name.into();
        }
    }

    fn region(&self, name: &str, kind: u32) -> u32 {
        place(&mut self.written().lanes.regions, LaneRegion { name: name.into(), kind, paradigm: PARADIGM_CUDA })
    }

    fn counter(&self, name: &CStr, description: &CStr, mode: u32, unit: &CStr) -> u32 {
        let [name, description, unit] = [name, description, unit].map(owned);
        let (value_type, base, exponent) = (VALUE_UINT64, BASE_DECIMAL, 0);
        let metric = Metric { name, description, unit, mode, value_type, base, exponent };
        place(&mut self.written().lanes.counters, metric)
    }

    fn attribute(&self, name: &CStr, description: &CStr, kind: u32) -> u32 {
        let [name, description] = [name, description].map(owned);
        let is_text = kind == ATTRIBUTE_TYPE_STRING;
        place(&mut self.written().lanes.attributes, Attribute { name, description, is_text })
    }

    fn string(&self, string: &str) -> u32 {
        place(&mut self.written().lanes.strings, string.into())
    }

    fn enter(&self, lane: OwnLocation, time: u64, region: u32) {
        self.keep(lane, time, LaneEvent::Enter(region));
    }

    fn exit(&self, lane: OwnLocation, time: u64, region: u32) {
        self.keep(lane, time, LaneEvent::Leave(region));
    }

    fn count(&self, lane: OwnLocation, time: u64, counter: u32, value: u64) {
        self.keep(lane, time, LaneEvent::Count(counter, value));
    }

    fn say_number(&self, OwnLocation(place): OwnLocation, attribute: u32, value: u64) {
        if let Some(said) = self.written().said.get_mut(place) {
            said.push((attribute, value));
        }
    }

    fn say(&self, lane: OwnLocation, attribute: u32, value: u32) {
        self.say_number(lane, attribute, value.into());
    }
}
