//! Writes series into Score-P's trace: a location for each communicator with values, one for the communicators without a
//! number, and one for the process.

use super::writer::whole;
use crate::measurement::{LaneTarget, OwnLocation};
use crate::sys::MODE_ABSOLUTE_LAST;
use common::control;
use common::series::{self, Of, Point, SeriesName};
use std::collections::BTreeMap;
use std::ffi::CString;
use std::sync::{Mutex, PoisonError};

/// The series that tokens have named, each once.
static ASKED: Mutex<Vec<SeriesName>> = Mutex::new(Vec::new());

/// A series with its values.
type Line = (SeriesName, Vec<Point>);
/// Series that have values, by the name of their location.
pub(crate) type SeriesByLocation = BTreeMap<String, Vec<Line>>;

/// Has a series kept from now on.
pub(crate) fn ask_for_series(name: SeriesName) {
    let mut asked = ASKED.lock().unwrap_or_else(PoisonError::into_inner);
    let same = |other: &SeriesName| other.of == name.of && other.series.name == name.series.name;
    if !asked.iter().any(same) {
        asked.push(name);
        series::want(name.of);
    }
}

/// Returns the series that were asked for and have values.
pub(crate) fn with_values() -> SeriesByLocation {
    let asked = std::mem::take(&mut *ASKED.lock().unwrap_or_else(PoisonError::into_inner));
    let mut found = SeriesByLocation::new();
    for series in asked {
        let (lane, points) = control::series(series);
        if !points.is_empty() {
            found.entry(location_of(series.of, lane)).or_default().push((series, points));
        }
    }
    found
}

/// Returns the name of the location of a series, by the lane name of its communicator.
fn location_of(of: Of, lane: Option<String>) -> String {
    let lane = lane.as_deref().and_then(|lane| lane.strip_prefix("NCCL ")?.split_once(' '));
    match (of, lane) {
        (Of::Process, _) => "NCCL series of NVLink".into(),
        (Of::Other, _) => "NCCL series of other communicators".into(),
        (_, Some((communicator, rank))) => format!("NCCL series of {communicator} ({rank})"),
        (_, None) => "NCCL series of a communicator".into(),
    }
}

/// Writes the series between `begin` and `end`, in ticks. Returns the number of locations for which Score-P has no
/// memory.
pub(super) fn write(measurement: &dyn LaneTarget, series: &SeriesByLocation, [begin, end]: [u64; 2]) -> usize {
    let mut without = 0;
    for (name, lines) in series {
        if !measurement.can_make_locations() || measurement.room() == 0 {
            without += 1;
            continue;
        }
        write_location(measurement, measurement.lane(name), lines, |time| time.max(begin).min(end));
    }
    without
}

/// Writes the series of a location, all in the order of their times.
fn write_location(measurement: &dyn LaneTarget, location: OwnLocation, lines: &[Line], within: impl Fn(u64) -> u64) {
    let mut values = Vec::new();
    for (series, points) in lines {
        let name = CString::new(series.to_string()).unwrap_or_default();
        let counter = measurement.counter(&name, series.series.description, MODE_ABSOLUTE_LAST, series.series.unit);
        let value = |point: &Point| Some((within(point.time), counter, whole(Some(point.value))?));
        values.extend(points.iter().filter_map(value));
    }
    values.sort_by_key(|(time, ..)| *time);
    values.into_iter().for_each(|(time, counter, value)| measurement.count(location, time, counter, value));
}
