//! The parts of the answer, made from the stream of calls.

pub mod budget;
pub mod dimension;
pub mod factor;
pub mod phases;
pub mod steps;
pub mod stepwise;
pub mod swim;

#[cfg(test)]
mod maker;
