//! Why a rank is late: in which conditions it differs from its peers in the same time.
//!
//! ```text
//! tables ──► conditions of each process ──► profile (rates over the steps) ──► difference from the peers' ──► causes
//! stream ──► when each step began ──────────┘
//! ```
//! A condition is a cause only if the rank's value lies outside its peers' values and explains a good part of the rank's
//! extra time. Nothing is concluded from a condition alone.

mod difference;
mod profile;
mod spans;
#[cfg(test)]
mod tests;

use crate::answer::{CostsWhen, LateCause, Straggler, StragglerPause, Stragglers};
use crate::job::{Job, OperationTables};
use crate::stream::CommonClock;
use common::conditions::ConditionRow;
use difference::{cause_of_pause, causes};
use profile::Profile;
pub use spans::StepBegins;

/// Conditions of a process on the common clock.
#[derive(Debug, Clone, PartialEq)]
struct PlacedRow {
    /// Begin and end, nanoseconds.
    span: [i64; 2],
    row: ConditionRow,
}

/// Adds the causes to ranks that stand out and to pauses.
pub fn explain(
    job: &Job,
    table: &dyn OperationTables,
    clocks: &CommonClock,
    begins: &StepBegins,
    stragglers: &mut Stragglers,
) {
    if stragglers.found.is_empty() && stragglers.events.is_empty() {
        return;
    }
    let rows: Vec<Vec<PlacedRow>> = (0..job.processes.len()).map(|process| placed(process, table, clocks)).collect();
    if rows.iter().all(Vec::is_empty) {
        return;
    }
    let of_gpu = |gpu: usize| job.gpus.get(gpu).and_then(|gpu| rows.get(gpu.process)).map_or(&[][..], Vec::as_slice);
    // the i-th GPU of a process is that of its i-th ranks, in the order in which both were met
    let index = |gpu: usize| job.gpus.get(gpu).map_or(0, |gpu| gpu.index);
    let out: Vec<usize> = stragglers.found.iter().flat_map(|it| it.gpus.iter().copied()).collect();
    let Stragglers { found, ranks, events, step_us, .. } = stragglers;
    let groups: Vec<u64> = ranks.iter().map(|rank| rank.peers).collect();
    let peers_of = |gpus: &[usize]| -> Vec<usize> {
        let group = gpus.first().and_then(|&gpu| groups.get(gpu));
        let others = || (0..job.gpus.len()).filter(|gpu| !out.contains(gpu));
        let of_group: Vec<usize> = others().filter(|&gpu| groups.get(gpu) == group).collect();
        // a stage has its peers among the other stages
        if of_group.is_empty() { others().collect() } else { of_group }
    };
    for straggler in found.iter_mut() {
        let Some(window) = window(straggler, begins) else { continue };
        let profiles =
            |gpus: &[usize]| gpus.iter().filter_map(|&gpu| Profile::of(of_gpu(gpu), index(gpu), window)).collect();
        let (own, peers): (Vec<Profile>, Vec<Profile>) =
            (profiles(&straggler.gpus), profiles(&peers_of(&straggler.gpus)));
        if let Some(own) = Profile::mean(&own).filter(|_| !peers.is_empty()) {
            straggler.causes = Some(causes(&own, &peers, straggler, *step_us)).filter(|_| has_known(&own, straggler));
        }
    }
    for event in events.iter_mut() {
        event.cause = of_pause(event, of_gpu(event.gpu), begins);
    }
}

/// Returns whether the conditions are known that can be the cause: where the GPU is late, those of the GPU.
fn has_known(own: &Profile, straggler: &Straggler) -> bool {
    let (host, gpu) = (own.waiting.is_some(), own.sm_mhz.is_some());
    match straggler.why {
        Some(LateCause::Host) => host,
        Some(LateCause::Gpu) => gpu,
        None => host || gpu,
    }
}

/// Returns the time in which a rank stands out, on the common clock.
fn window(straggler: &Straggler, begins: &StepBegins) -> Option<[i64; 2]> {
    let first = match straggler.when {
        CostsWhen::Since(step) => step,
        CostsWhen::Always | CostsWhen::Sometimes { .. } => 0,
    };
    begins.from(first)
}

fn of_pause(event: &StragglerPause, rows: &[PlacedRow], begins: &StepBegins) -> Option<crate::answer::CauseKind> {
    let [begin, end] = begins.around(event.step)?;
    let is_then = |it: &&PlacedRow| it.span[0] < end && it.span[1] > begin;
    let then: Vec<&PlacedRow> = rows.iter().filter(is_then).collect();
    let usual: Vec<&PlacedRow> = rows.iter().filter(|it| !is_then(it)).collect();
    cause_of_pause(&Profile::sum(&then, 0)?, &Profile::sum(&usual, 0)?, event.excess_us)
}

/// Returns the conditions of a process on the common clock; none where they are not known.
fn placed(process: usize, table: &dyn OperationTables, clocks: &CommonClock) -> Vec<PlacedRow> {
    let place = |row: ConditionRow| {
        let end = clocks.time(process, row.until);
        let length = i64::try_from(row.length_us.saturating_mul(1000)).unwrap_or(i64::MAX);
        PlacedRow { span: [end.saturating_sub(length), end], row }
    };
    table.conditions(process).unwrap_or_default().into_iter().map(place).collect()
}
