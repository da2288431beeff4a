//! The answer's conditions, from the rows of one process after the other.

use super::ProcessRows;
use super::course::Course;
use super::means::{Means, blocked};
use crate::answer::{Conditions, Part, ProcessConditions};
use crate::job::Job;
use common::conditions::ConditionRow;

/// Returns the figures of a process over all of its rows, as it says them itself; absent without rows. Those of GPUs
/// are known if it has one.
pub fn of_process(rows: Vec<ConditionRow>, gpus: usize) -> Option<ProcessConditions> {
    // means take no place on a clock
    let rows = ProcessRows::place(rows, gpus, |_| 0);
    Some(summed(&rows.all(0))).filter(|it| it.length_us.is_some())
}

/// What is known so far.
#[derive(Debug)]
pub struct Overview {
    processes: u64,
    /// The time of the steps after the warm-up on the common clock, where there are steps.
    steps: Option<[i64; 2]>,
    of_steps: Vec<ProcessConditions>,
    of_all: Vec<ProcessConditions>,
    course: Course,
}

impl Overview {
    /// Begins without conditions. `steps` is the time of the steps, and `whole` that of the recording, nanoseconds on
    /// the common clock.
    pub fn new(job: &Job, steps: Option<[i64; 2]>, whole: Option<[i64; 2]>) -> Self {
        let none = vec![ProcessConditions::default(); job.gpus.len()];
        Self {
            processes: 0,
            steps,
            of_steps: none.clone(),
            of_all: none,
            course: Course::new(job.gpus.len(), whole.unwrap_or_default()),
        }
    }

    /// Takes in the rows of a process. `is_placed` is whether its clock is connected with the others.
    pub fn add(&mut self, job: &Job, process: usize, rows: &ProcessRows, is_placed: bool) {
        self.processes += 1;
        for (place, gpu) in job.gpus.iter().enumerate().filter(|(_, gpu)| gpu.process == process) {
            if let Some(all) = self.of_all.get_mut(place) {
                *all = summed(&rows.all(gpu.index));
            }
            if let Some((of_steps, steps)) = self.of_steps.get_mut(place).zip(self.steps) {
                *of_steps = summed(&rows.inside(gpu.index, steps));
            }
            if is_placed {
                self.course.add(place, gpu.index, rows);
            }
        }
    }

    /// Returns the answer. It is over the steps if any row lies in them.
    pub fn finish(self) -> Part<Conditions> {
        if self.processes == 0 {
            return Part::Absent(Conditions::NOT_IN_INPUTS.into());
        }
        let of_steps = self.of_steps.iter().any(|row| row.length_us.is_some());
        let rows = if of_steps { self.of_steps } else { self.of_all };
        Part::Known(Conditions { of_steps, processes: self.processes, rows, map: self.course.finish() })
    }
}

/// Returns the figures over some rows.
fn summed(means: &Means<'_>) -> ProcessConditions {
    let Some(length_us) = means.length_us() else { return ProcessConditions::default() };
    let running = means.share_of_thread(|it| it.running_us);
    let waiting = means.share_of_thread(|it| it.waiting_us);
    let stopped = means.share(|it| it.stopped_us);
    ProcessConditions {
        length_us: Some(length_us),
        running,
        waiting,
        blocked: blocked(running, waiting, stopped),
        stopped,
        throttled: means.share(|it| it.throttled_us),
        memory_stall: means.share(|it| it.memory_stall_us),
        stolen: means.share(|it| it.steal_us),
        major_faults: means.rate(|it| it.major_faults),
        processors: means.of_host(|it| it.processors).min(),
        near_gpu: means.of_host(|it| it.near_gpu).min(),
        mhz: means.mean(|it| it.mhz),
        sm_mhz: means.mean_of_gpu(|it| it.sm_mhz),
        sm_mhz_least: means.of_gpu(|it| it.sm_mhz).reduce(f64::min),
        sm_max_mhz: means.of_gpu(|it| it.sm_max_mhz).reduce(f64::max),
        power_capped: means.mean_of_gpu(|it| it.power_capped),
        hot: means.mean_of_gpu(|it| it.hot),
        power_brake: means.mean_of_gpu(|it| it.power_brake),
        power_w: means.mean_of_gpu(|it| it.power_w),
        power_limit_w: means.mean_of_gpu(|it| it.power_limit_w),
        temperature_c: means.of_gpu(|it| it.temperature_c).reduce(f64::max),
        use_percent: means.mean_of_gpu(|it| it.use_percent),
        errors: means.of_gpu(|it| it.errors).reduce(u64::saturating_add),
    }
}
