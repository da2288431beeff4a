//! The parts of the answer, from the stream of the job's calls and from summaries of processes.

pub mod budget;
pub mod causes;
pub mod choices;
pub mod communicators;
pub mod complete;
pub mod conditions;
pub mod dimension;
pub mod factor;
pub mod fold;
pub mod late;
pub mod pairs;
pub mod phases;
pub mod ranges;
pub mod robust;
pub mod series;
pub mod sizes;
pub mod sketch;
pub mod speed;
pub mod steps;
pub mod stepwise;
pub mod stragglers;
pub mod summaries;
pub mod swim;
pub mod tags;
pub mod transfers;
pub mod unfinished;
pub mod verdict;
pub mod whole;

#[cfg(test)]
pub(crate) mod tests;
