//! The dimension of parallelism that a communicator serves: by the user's file, by its name, or guessed from what the
//! communicators look like and what is done in them.

mod name;
mod rules;
mod structure;
mod tally;

pub use rules::rules;
pub use tally::Tally;

use crate::answer::{Dimension, Origin};
use crate::job::{Communicator, DimensionRule, Job};
use rules::by_rule;

/// The dimensions of a job's communicators.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Dimensions {
    /// The distinct dimensions. The first one is the unknown one. Dimensions of one name and several origins are
    /// several.
    pub distinct: Vec<Dimension>,
    /// Place in `distinct` by place of the communicator.
    places: Vec<usize>,
}

impl Dimensions {
    /// Finds the dimensions: the first rule that fits, else the name, else the structure. Tallies are by place of the
    /// communicator; without one, nothing is guessed.
    pub fn find(job: &Job, rules: &[DimensionRule], tallies: &[Tally]) -> Self {
        // where ranks are unknown, the places of the GPUs stand for them
        let positions = job.ranks().unwrap_or_else(|| (0..job.gpus.len() as u32).collect());
        let ranks: Vec<Vec<u32>> = job.communicators.iter().map(|of| ranks_of(of, &positions)).collect();
        let mut guesses = structure::guess(job, &positions, &ranks, tallies);
        let mut found = Self { distinct: vec![unknown()], places: vec![] };
        for (place, (communicator, ranks)) in job.communicators.iter().zip(&ranks).enumerate() {
            let by_name = name::dimension(&communicator.name);
            let dimension = by_rule(rules, &communicator.name, ranks)
                .map(|name| Dimension { name, origin: Origin::File })
                .or_else(|| by_name.map(|name| Dimension { name: name.into(), origin: Origin::Name }))
                .or_else(|| {
                    guesses.remove(&place).map(|name| Dimension { name: name.into(), origin: Origin::Guessed })
                });
            let Some(dimension) = dimension else {
                found.places.push(0);
                continue;
            };
            let number = found.distinct.iter().position(|known| *known == dimension).unwrap_or_else(|| {
                found.distinct.push(dimension);
                found.distinct.len() - 1
            });
            found.places.push(number);
        }
        found
    }

    /// Returns the dimension of the communicator at a place in [`Job::communicators`].
    pub fn at(&self, communicator: usize) -> Dimension {
        self.distinct.get(self.number(communicator)).cloned().unwrap_or_else(unknown)
    }

    /// Returns the name of a communicator's dimension.
    pub fn name_of(&self, communicator: usize) -> &str {
        self.distinct.get(self.number(communicator)).map_or("unknown", |dimension| &dimension.name)
    }

    /// Returns the dimensions by place of the communicator.
    pub fn by_communicator(&self) -> Vec<Dimension> {
        (0..self.places.len()).map(|place| self.at(place)).collect()
    }

    /// Returns the place of a communicator's dimension in [`Dimensions::distinct`].
    pub fn number(&self, communicator: usize) -> usize {
        self.places.get(communicator).copied().unwrap_or(0)
    }
}

/// Returns the ranks in the job of a communicator's members, sorted.
fn ranks_of(communicator: &Communicator, positions: &[u32]) -> Vec<u32> {
    let ranks = communicator.members.iter().filter_map(|member| positions.get(member.gpu).copied());
    let mut ranks: Vec<u32> = ranks.collect();
    ranks.sort_unstable();
    ranks
}

fn unknown() -> Dimension {
    Dimension { name: "unknown".into(), origin: Origin::Unknown }
}

#[cfg(test)]
mod tests;
