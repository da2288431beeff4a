//! The parts of the answer, from the stream of the job's calls and from summaries of processes.

pub mod communicators;
pub mod complete;
pub mod factor;
pub mod late;
#[cfg(test)]
mod made;
pub mod pairs;
pub mod ranges;
pub mod series;
pub mod sizes;
pub mod sketch;
pub mod speed;
pub mod summaries;
pub mod unfinished;
