//! Lanes: the library's own locations in Score-P's trace and profile.
//!
//! Each communicator and rank of this process has a lane with a region per operation, at the operation's real time.
//! Each of the busiest rank pairs has a lane with a region per window. Series have locations of their own.

mod plan;
mod series;
pub(crate) mod spare;
mod writer;

use crate::measurement::LaneTarget;
use common::timeline::History;
use common::{log, notes};
use plan::LanePlan;
use writer::{LaneWriter, OpenLane};

pub(crate) use series::{SeriesByLocation, ask_for_series, with_values};
pub(crate) use writer::kind;

/// Writes series between `begin` and `end`, in ticks. Called on the thread that ends the measurement, behind
/// [`write`], since lanes come first where memory is short.
pub(crate) fn write_series(measurement: &dyn LaneTarget, series: &SeriesByLocation, span: [u64; 2]) {
    let without = series::write(measurement, series, span);
    if without > 0 {
        let (total, each) = measurement.memory();
        tell(&format!(
            "{without} of {} locations of series are not in the trace: each takes {} KiB of SCOREP_TOTAL_MEMORY; set it to {}M or more",
            series.len(),
            each >> 10,
            (total + without as u64 * each).div_ceil(1 << 20)
        ));
    }
}

/// Writes all lanes, with at most `pairs` rank pairs. Called on the thread that ends the measurement. If some
/// operations cannot be shown, one line says so.
pub(crate) fn write(measurement: &dyn LaneTarget, history: &History, pairs: usize) {
    let room = spare::room(measurement);
    let plan = LanePlan::new(history, pairs, room);
    let can_make = measurement.can_make_locations();
    if plan.lanes.is_empty() && plan.pairs.is_empty() {
        if plan.wanted > 0 {
            tell_of_room(measurement, &plan, 0, history.operations.len(), can_make);
        }
        return tell_what_is_missing(history);
    }
    let mut writer = LaneWriter::new(measurement, history);
    // If Score-P has no memory for a definition, it aborts the program; if it has none for events, it writes them to
    // the trace's file. So permanent memory is taken first: for all locations, then for the operations of each lane
    // until all of the lane's regions are in its profile. The remaining operations follow.
    let mut lanes: Vec<OpenLane<'_>> = plan.lanes.iter().filter_map(|lane| writer.open(lane)).collect();
    let pairs: Vec<_> = plan.pairs.iter().filter_map(|pair| Some((writer.open_pair(pair)?, pair))).collect();
    writer.pairs(&pairs);
    lanes.sort_by_key(|lane| lane.beginning);
    let shown = lanes.len() + pairs.len();
    let with_lane: usize = lanes.iter().map(|lane| lane.lane.operations.len()).sum();
    let mut without = 0;
    for lane in &mut lanes {
        without += writer.write_beginning(lane);
    }
    for lane in &mut lanes {
        without += writer.write_rest(lane);
    }
    let hidden = history.operations.len() - with_lane + without;
    if plan.wanted > shown || without > 0 {
        tell_of_room(measurement, &plan, shown, hidden, can_make);
    } else if hidden > 0 {
        tell(&format!("{hidden} operations overlap with so many others that they have no lane"));
    }
    tell_what_is_missing(history);
}

fn tell_of_room(measurement: &dyn LaneTarget, plan: &LanePlan, shown: usize, hidden: usize, can_make: bool) {
    let (total, each) = measurement.memory();
    let why = if can_make {
        let missing = plan.wanted.saturating_sub(shown).max(1) as u64 * each;
        format!(
            "each takes {} KiB of SCOREP_TOTAL_MEMORY; set it to {}M or more for all",
            each >> 10,
            (total + missing).div_ceil(1 << 20)
        )
    } else {
        "Score-P ran out of memory for the trace and wrote it to its file, and can make no locations after that; set SCOREP_TOTAL_MEMORY to \
         more (scorep-nccl doctor says how much)"
            .into()
    };
    tell(&format!("{shown} of {} lanes are shown, {hidden} operations have none: {why}", plan.wanted));
}

fn tell_what_is_missing(history: &History) {
    if history.left_out > 0 {
        tell(&format!(
            "{} operations are on no lane, for want of room: NCCL_SCOREP_LANE_MB makes it larger (ranks of 255 communicators have \
             lanes)",
            history.left_out
        ));
    }
    if history.windows_left_out > 0 {
        tell(&format!("{} windows of rank pairs are on no lane: 65536 are kept", history.windows_left_out));
    }
    if history.unplaced > 0 {
        tell(&format!("{} operations are on no lane: nothing is known of their GPU's clock", history.unplaced));
    }
}

/// Tells the user in the log, and the reader of the summary in its notes.
fn tell(line: &str) {
    log::warn(line);
    notes::add(line.to_owned());
}
