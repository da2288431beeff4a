//! Lanes: locations of our own in Score-P's trace and profile. One for each communicator and rank of this process, with a region per
//! operation at its real time, and one for each of the busiest rank pairs, with a region per window.

mod plan;
mod writer;

use crate::measurement::Measurement;
use common::timeline::History;
use common::{log, notes};
use plan::Plan;
use writer::Writer;

pub(crate) use writer::kind;

/// Writes them all, on the thread that ends the measurement; `pairs` rank pairs at most. What cannot be shown is told in one line.
pub(crate) fn write(measurement: &Measurement, history: &History, pairs: usize) {
    if history.operations.is_empty() && history.windows.is_empty() {
        return;
    }
    if !measurement.is_recording() {
        log::warn("recording is switched off at the end of the program: Score-P takes no lanes of NCCL's operations");
        return;
    }
    let room = measurement.room();
    let plan = Plan::new(history, pairs, room);
    let mut writer = Writer::new(measurement, history);
    plan.lanes.iter().for_each(|lane| writer.lane(lane));
    writer.pairs(&plan.pairs);
    if plan.wanted > room {
        tell_of_room(measurement, &plan, room);
    } else if plan.hidden > 0 {
        tell(&format!("{} operations overlap with so many others that they have no lane", plan.hidden));
    }
    tell_what_is_missing(history);
}

fn tell_of_room(measurement: &Measurement, plan: &Plan, room: usize) {
    let (total, each) = measurement.memory();
    let missing = (plan.wanted - room) as u64 * each;
    let wanted = (total + missing).div_ceil(1 << 20);
    tell(&format!(
        "{} of {} lanes are shown, {} operations have none: each takes {} KiB of SCOREP_TOTAL_MEMORY; set it to {wanted}M or more for all",
        plan.lanes.len() + plan.pairs.len(),
        plan.wanted,
        plan.hidden,
        each >> 10,
    ));
}

fn tell_what_is_missing(history: &History) {
    if history.left_out > 0 {
        tell(&format!(
            "{} operations are on no lane and in no lateness, for want of room: NCCL_SCOREP_LANE_MB makes it larger (ranks of 256 \
             communicators have lanes)",
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

/// For whoever runs the program, and for whoever reads the summary.
fn tell(line: &str) {
    log::warn(line);
    notes::add(line.to_owned());
}
