//! Status files over a channel that exists already and knows its users, where nodes share no file system: SLURM's step,
//! ssh, `kubectl exec`. [`sender`] writes what a node's directory has as short lines to standard output, and
//! [`receiver`] has it again from the lines of many nodes, in whatever order they come.

pub(super) mod input;
mod message;
mod piece;
mod receiver;
pub(super) mod sender;
#[cfg(test)]
mod tests;
