//! Why a rank is late: in which conditions it differs from its peers in the same time.
//!
//! ```text
//! conditions of each process ──► profile (rates over the steps) ──► difference from the peers' ──► causes
//! stream ──► when each step began ──┘
//! ```
//! A condition is a cause only if the rank's value lies outside its peers' values and explains a good part of the
//! rank's extra time. Nothing is concluded from a condition alone.

mod difference;
mod profile;
mod spans;
#[cfg(test)]
mod tests;

use super::conditions::ProcessRows;
use crate::answer::{CauseKind, CostsWhen, LateCause, Straggler, Stragglers};
use crate::job::Job;
use difference::{cause_of_pause, causes, is_stop};
use profile::Profile;
pub use spans::StepBegins;

/// Length of a pause, as a part of another one of these seconds, from which on both may have one cause.
const MIN_ALIKE_LENGTH: f64 = 0.5;

/// The causes of ranks that are outliers and of pauses, from the conditions of one process after the other.
#[derive(Debug)]
pub struct Explanation<'a> {
    begins: &'a StepBegins,
    stragglers: &'a mut Stragglers,
    /// The times in which ranks are outliers, each once, with the rates of each GPU in it.
    windows: Vec<([i64; 2], Vec<Option<Profile>>)>,
}

impl<'a> Explanation<'a> {
    /// Begins without conditions.
    pub fn new(job: &Job, begins: &'a StepBegins, stragglers: &'a mut Stragglers) -> Self {
        let mut times: Vec<[i64; 2]> = stragglers.found.iter().filter_map(|it| window(it, begins)).collect();
        times.sort_unstable();
        times.dedup();
        let windows = times.into_iter().map(|time| (time, vec![None; job.gpus.len()])).collect();
        Self { begins, stragglers, windows }
    }

    /// Takes in the conditions of a process.
    pub fn add(&mut self, job: &Job, process: usize, rows: &ProcessRows) {
        for (place, gpu) in job.gpus.iter().enumerate().filter(|(_, gpu)| gpu.process == process) {
            for (time, profiles) in &mut self.windows {
                if let Some(profile) = profiles.get_mut(place) {
                    *profile = Profile::over(&rows.inside(gpu.index, *time));
                }
            }
            let own = self.stragglers.events.iter().filter(|event| event.gpu == place);
            let pauses: Vec<([i64; 2], f64)> =
                own.filter_map(|event| Some((self.begins.around(event.step)?, event.excess_us))).collect();
            if pauses.is_empty() {
                continue;
            }
            let all_us = pauses.iter().map(|(_, us)| us).sum();
            let all = self.begins.from(0).and_then(|time| Profile::over(&rows.inside(gpu.index, time)));
            for event in self.stragglers.events.iter_mut().filter(|event| event.gpu == place) {
                let Some(time) = self.begins.around(event.step) else { continue };
                let [then, usual] = rows.apart(gpu.index, time).map(|rows| Profile::over(&rows));
                let Some((then, [begin, end])) = then.zip(rows.touching(time)) else { continue };
                // of a second with several pauses, nothing says which one a condition belongs to
                let is_alike = |(time, us): &&([i64; 2], f64)| {
                    time[0] < end && time[1] > begin && *us >= MIN_ALIKE_LENGTH * event.excess_us
                };
                let alike_us = pauses.iter().filter(is_alike).map(|(_, us)| us).sum();
                let is_stop = |all: &Profile| is_stop([&then, all], event.excess_us, [alike_us, all_us]);
                event.cause = match all.as_ref().is_some_and(is_stop) {
                    true => Some(CauseKind::Stopped),
                    false => usual.and_then(|usual| cause_of_pause(&then, &usual, event.excess_us, alike_us)),
                };
            }
        }
    }

    /// Adds the causes of ranks that are outliers.
    pub fn finish(self) {
        let Stragglers { found, ranks, step_us, .. } = self.stragglers;
        let gpus_of = |are: &dyn Fn(&&Straggler) -> bool| -> Vec<usize> {
            found.iter().filter(are).flat_map(|it| it.gpus.iter().copied()).collect()
        };
        let is_always = |it: &&Straggler| !matches!(it.when, CostsWhen::Sometimes { .. });
        let [out, always] = [gpus_of(&|_| true), gpus_of(&is_always)];
        let groups: Vec<u64> = ranks.iter().map(|rank| rank.peers).collect();
        for straggler in found.iter_mut() {
            let time = window(straggler, self.begins);
            let Some((_, all)) = self.windows.iter().find(|(own, _)| Some(*own) == time) else { continue };
            let peers = peers(&straggler.gpus, &groups, [&out, &always], all.len());
            let [own, peers] =
                [&straggler.gpus, &peers].map(|gpus| gpus.iter().filter_map(|&gpu| *all.get(gpu)?).collect::<Vec<_>>());
            if let Some(own) = Profile::mean(&own).filter(|_| !peers.is_empty()) {
                let are_known = has_known(&own, straggler) && peers.iter().any(|peer| has_known(peer, straggler));
                straggler.causes = are_known.then(|| causes(&own, &peers, straggler, *step_us));
            }
        }
    }
}

/// Returns the GPUs that some are compared with: those of their group that are not outliers. `groups` is by GPU. Of the
/// GPUs that are outliers, some do always: where no others are left, those that pause now and then are like the others.
fn peers(gpus: &[usize], groups: &[u64], [out, always]: [&[usize]; 2], all: usize) -> Vec<usize> {
    let group = gpus.first().and_then(|&gpu| groups.get(gpu));
    let others = |out: &[usize]| -> Vec<usize> {
        let others = || (0..all).filter(|gpu| !out.contains(gpu) && !gpus.contains(gpu));
        let of_group: Vec<usize> = others().filter(|&gpu| groups.get(gpu) == group).collect();
        // a stage has its peers among the other stages
        if of_group.is_empty() { others().collect() } else { of_group }
    };
    let usual = others(out);
    if usual.is_empty() { others(always) } else { usual }
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

/// Returns the time in which a rank is an outlier, on the common clock.
fn window(straggler: &Straggler, begins: &StepBegins) -> Option<[i64; 2]> {
    let first = match straggler.when {
        CostsWhen::Since(step) | CostsWhen::Steps { from: step, .. } => step,
        CostsWhen::Always | CostsWhen::Sometimes { .. } => 0,
    };
    begins.from(first)
}
