//! What NCCL predicts for a collective.

use crate::event::name::NcclName;

/// A way to run a collective, and the time that NCCL predicts for it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PredictedWay {
    /// Algorithm.
    pub algorithm: NcclName,
    /// Protocol.
    pub protocol: NcclName,
    /// Predicted time, microseconds. Not a number if NCCL predicts none.
    pub microseconds: f32,
}

/// What NCCL predicted when it scheduled a collective, or several of one function together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prediction {
    /// Id of the communicator; `None` before NCCL 2.28, which does not pass it to a tuner.
    pub comm: Option<u64>,
    /// Number of ranks of the communicator.
    pub ranks: i32,
    /// Number of nodes of the communicator.
    pub nodes: i32,
    /// Function.
    pub function: NcclName,
    /// Bytes: those of the larger buffer of a rank, summed over operations that are scheduled together.
    pub bytes: u64,
    /// NCCL's number of operations that follow each other on a channel.
    pub pipelined: u32,
    /// Whether NCCL could register the buffers; `false` before NCCL 2.24, which does not pass it.
    pub registered: bool,
    /// Number of ways that NCCL could choose from.
    pub candidates: u8,
    /// The way with the least time.
    pub fastest: PredictedWay,
    /// The way with the least time after the user's tuner has changed the times, with NCCL's own time for it.
    pub chosen: PredictedWay,
    /// Number of channels that the user's tuner asks for; 0 if it leaves the number to NCCL.
    pub channels: u8,
}

impl Prediction {
    /// Returns whether the user's tuner has changed NCCL's choice.
    pub fn is_changed(&self) -> bool {
        let way = |way: PredictedWay| (way.algorithm, way.protocol);
        way(self.chosen) != way(self.fastest) || self.channels != 0
    }
}
