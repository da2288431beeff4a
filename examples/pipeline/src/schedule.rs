//! What each stage does in a step, in which order.

use serde::{Deserialize, Serialize};

/// In which order a stage computes the micro-batches of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
pub enum Schedule {
    /// All forwards, then all backwards (Huang et al., 2019).
    #[value(name = "gpipe")]
    #[serde(rename = "gpipe")]
    GPipe,
    /// One forward, one backward in turn, as soon as the pipeline is full (PipeDream-Flush, Narayanan et al., 2021).
    #[value(name = "1f1b")]
    #[serde(rename = "1f1b")]
    OneForwardOneBackward,
}

/// The neighbour with which a stage exchanges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The stage before: activations come from it, gradients go to it.
    Left,
    /// The stage behind: activations go to it, gradients come from it.
    Right,
}

/// One thing that a stage does. Numbers are those of micro-batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Computes the activations of a micro-batch.
    Forward(usize),
    /// Computes the gradients of a micro-batch.
    Backward(usize),
    /// Sends, receives, or both as one group, with one neighbour.
    Exchange {
        /// The neighbour.
        side: Side,
        /// What is sent: activations to the right, gradients to the left.
        send: Option<usize>,
        /// What is received: gradients from the right, activations from the left.
        receive: Option<usize>,
    },
}

impl Schedule {
    /// Returns the name, as the option `--schedule` has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::GPipe => "gpipe",
            Self::OneForwardOneBackward => "1f1b",
        }
    }

    /// Returns the number of micro-batches whose activations a stage keeps at once.
    pub fn in_flight(self, stages: usize, stage: usize, microbatches: usize) -> usize {
        match self {
            Self::GPipe => microbatches,
            Self::OneForwardOneBackward => (stages - stage).min(microbatches),
        }
    }

    /// Returns a stage's actions of one step, in order.
    pub fn actions(self, stages: usize, stage: usize, microbatches: usize) -> Vec<Action> {
        let mut actions = Actions { first: stage == 0, last: stage + 1 == stages, list: Vec::new() };
        match self {
            Self::GPipe => actions.gpipe(microbatches),
            Self::OneForwardOneBackward => actions.one_forward_one_backward(stages - stage - 1, microbatches),
        }
        actions.list
    }
}

/// The actions of a stage, as they are put together. What the first stage would exchange with the left and the last
/// one with the right is left out.
struct Actions {
    first: bool,
    last: bool,
    list: Vec<Action>,
}

impl Actions {
    fn gpipe(&mut self, microbatches: usize) {
        for microbatch in 0..microbatches {
            self.left(None, Some(microbatch));
            self.list.push(Action::Forward(microbatch));
            self.right(Some(microbatch), None);
        }
        for microbatch in 0..microbatches {
            self.right(None, Some(microbatch));
            self.list.push(Action::Backward(microbatch));
            self.left(Some(microbatch), None);
        }
    }

    /// `behind` is the number of stages behind this one: so many forwards come before the first backward. A send and
    /// the receive that follows it are one group: alone, the stage's send and its neighbour's would wait for each
    /// other's receives for ever.
    fn one_forward_one_backward(&mut self, behind: usize, microbatches: usize) {
        let before = behind.min(microbatches);
        let alternating = microbatches - before;
        for microbatch in 0..before {
            self.left(None, Some(microbatch));
            self.list.push(Action::Forward(microbatch));
            self.right(Some(microbatch), None);
        }
        if alternating > 0 {
            self.left(None, Some(before));
        }
        for backward in 0..alternating {
            let forward = before + backward;
            self.list.push(Action::Forward(forward));
            self.right(Some(forward), Some(backward));
            self.list.push(Action::Backward(backward));
            self.left(Some(backward), Some(forward + 1).filter(|&next| next < microbatches));
        }
        for backward in alternating..microbatches {
            self.right(None, Some(backward));
            self.list.push(Action::Backward(backward));
            self.left(Some(backward), None);
        }
    }

    fn left(&mut self, send: Option<usize>, receive: Option<usize>) {
        if !self.first {
            self.list.push(Action::Exchange { side: Side::Left, send, receive });
        }
    }

    fn right(&mut self, send: Option<usize>, receive: Option<usize>) {
        if !self.last {
            self.list.push(Action::Exchange { side: Side::Right, send, receive });
        }
    }
}

/// Returns the share of a step in which stages of equal speed have nothing to do, where transfers take no time:
/// (p-1)/(m+p-1) for p stages and m micro-batches, with either schedule.
pub fn bubble(stages: usize, microbatches: usize) -> f64 {
    (stages - 1) as f64 / (microbatches + stages - 1) as f64
}
