//! Plays a schedule with given times: how long a step takes, and how long each stage waits in it.

use crate::schedule::{Action, Schedule, Side};
use anyhow::{Context, Result, bail};

/// Times of a pipeline, in any unit.
#[derive(Debug, Clone)]
pub struct Times {
    /// Forward of a micro-batch, by stage.
    pub forward: Vec<f64>,
    /// Backward of a micro-batch, by stage.
    pub backward: Vec<f64>,
    /// One message, by its left stage: one less than there are stages.
    pub message: Vec<f64>,
    /// A message each way at once, by the left stage.
    pub both: Vec<f64>,
}

/// A simulated step.
#[derive(Debug, Clone)]
pub struct Simulated {
    /// From the first stage's begin until all are done.
    pub step: f64,
    /// Share of the step in which a stage neither computes nor transfers, mean over the stages.
    pub bubble: f64,
}

impl Times {
    /// Returns the times of equal stages, whose transfers take no time.
    pub fn equal(stages: usize, forward: f64, backward: f64) -> Self {
        let links = stages.saturating_sub(1);
        Self {
            forward: vec![forward; stages],
            backward: vec![backward; stages],
            message: vec![0.0; links],
            both: vec![0.0; links],
        }
    }
}

/// Plays one step. Nothing is buffered: an exchange begins when both neighbours have come to it, and they have to come
/// to it as mirror images of each other. NCCL is more lenient, so what is free of deadlock here is so there.
///
/// # Errors
///
/// A deadlock, with the action at which each stage stands.
pub fn simulate(schedule: Schedule, microbatches: usize, times: &Times) -> Result<Simulated> {
    let stages = times.forward.len();
    let actions: Vec<_> = (0..stages).map(|stage| schedule.actions(stages, stage, microbatches)).collect();
    play(&actions, times).with_context(|| format!("{} with {microbatches} micro-batches", schedule.name()))
}

/// Plays these actions of each stage.
///
/// # Errors
///
/// A deadlock, with the action at which each stage stands.
pub fn play(actions: &[Vec<Action>], times: &Times) -> Result<Simulated> {
    let stages = actions.len();
    let mut places = vec![0; stages];
    let mut clocks = vec![0.0_f64; stages];
    let mut busy = 0.0;
    loop {
        let mut moved = false;
        for stage in 0..stages {
            while let Some(action) = actions[stage].get(places[stage]) {
                let takes = match *action {
                    Action::Forward(_) => times.forward[stage],
                    Action::Backward(_) => times.backward[stage],
                    Action::Exchange { side, send, receive } => {
                        let (other, back) = match side {
                            Side::Left => (stage - 1, Side::Right),
                            Side::Right => (stage + 1, Side::Left),
                        };
                        let mirrored = Action::Exchange { side: back, send: receive, receive: send };
                        if actions[other].get(places[other]) != Some(&mirrored) {
                            break;
                        }
                        let link = stage.min(other);
                        let takes = if send.is_some() && receive.is_some() { &times.both } else { &times.message };
                        let end = clocks[stage].max(clocks[other]) + takes[link];
                        (clocks[stage], clocks[other]) = (end, end);
                        busy += 2.0 * takes[link];
                        places[stage] += 1;
                        places[other] += 1;
                        moved = true;
                        continue;
                    }
                };
                clocks[stage] += takes;
                busy += takes;
                places[stage] += 1;
                moved = true;
            }
        }
        if !moved {
            break;
        }
    }
    let standing: Vec<_> = (0..stages).filter_map(|stage| Some((stage, actions[stage].get(places[stage])?))).collect();
    if !standing.is_empty() {
        bail!("deadlock, at (stage, action) {standing:?}");
    }
    let step = clocks.into_iter().fold(0.0, f64::max);
    Ok(Simulated { step, bubble: 1.0 - busy / (stages as f64 * step) })
}
