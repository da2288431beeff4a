//! What a stage has seen of its run.

use crate::schedule::Side;
use serde::{Deserialize, Serialize};

/// Times of one kind of work, by the device's own marks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Spent {
    /// How often.
    pub count: u64,
    /// Seconds in all.
    pub seconds: f64,
    /// Seconds of the shortest one.
    pub least: f64,
    /// Seconds of the longest one.
    pub most: f64,
}

impl Spent {
    /// Adds one.
    pub fn add(&mut self, seconds: f64) {
        self.least = if self.count == 0 { seconds } else { self.least.min(seconds) };
        self.most = self.most.max(seconds);
        self.count += 1;
        self.seconds += seconds;
    }

    /// Returns the mean in seconds; 0 of none.
    pub fn mean(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.seconds / self.count as f64 }
    }
}

/// Times of the exchanges with one neighbour.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Exchanged {
    /// A send or a receive alone.
    pub message: Spent,
    /// Both as one group.
    pub both: Spent,
}

/// Messages of a stage, warm-up included: what NCCL's profiler should count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Messages {
    /// Sends.
    pub sends: u64,
    /// Receives.
    pub receives: u64,
    /// Bytes of one message.
    pub bytes: u64,
}

/// Memory in use, bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// Of this process, resident.
    pub resident: usize,
    /// Of the GPU, by all its processes.
    pub device: usize,
}

/// A result in short: alike bit for bit if the hashes are the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fingerprint {
    /// Which result.
    pub name: String,
    /// Its Euclidean norm.
    pub norm: f64,
    /// Hash of its bits.
    pub hash: u64,
}

/// All of it. Times are those of the measured steps.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Outcome {
    /// Number of the stage.
    pub stage: usize,
    /// Name of its device.
    pub device: String,
    /// Steps, each from its begin to the next one's.
    pub steps: Spent,
    /// Forwards of a micro-batch.
    pub forward: Spent,
    /// Backwards of a micro-batch.
    pub backward: Spent,
    /// Updates of the weights, one a step.
    pub update: Spent,
    /// Exchanges with the stage before.
    pub left: Exchanged,
    /// Exchanges with the stage behind.
    pub right: Exchanged,
    /// Messages of all steps.
    pub messages: Messages,
    /// Micro-batches whose activations it keeps at once.
    pub in_flight: usize,
    /// Memory after the warm-up and at the end.
    pub memory: [Memory; 2],
    /// The model's loss in its first step and in its last one; of the last stage.
    pub loss: Option<[f64; 2]>,
    /// For --check.
    pub fingerprints: Vec<Fingerprint>,
}

impl Outcome {
    /// Returns the exchanges with a neighbour.
    pub fn exchanged(&mut self, side: Side) -> &mut Exchanged {
        match side {
            Side::Left => &mut self.left,
            Side::Right => &mut self.right,
        }
    }

    /// Returns the seconds in which the stage computes.
    pub fn computing(&self) -> f64 {
        self.forward.seconds + self.backward.seconds + self.update.seconds
    }

    /// Returns the seconds in which the stage exchanges, or waits for that.
    pub fn communicating(&self) -> f64 {
        [self.left, self.right].iter().map(|side| side.message.seconds + side.both.seconds).sum()
    }
}
