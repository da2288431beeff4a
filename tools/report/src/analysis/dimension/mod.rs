//! The dimension of parallelism that a communicator serves: by the user's file, by its name, or guessed from what the
//! communicators look like and what is done in them.

mod name;
mod positions;
mod rules;
mod structure;
mod tally;

pub use rules::rules;
pub use tally::{Tallies, Tally};

use crate::answer::{Dimension, Origin};
use crate::job::{DimensionRule, Job};
use positions::positions;
use rules::by_rule;

/// The dimensions of a job's communicators.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Dimensions {
    /// The distinct dimensions. The first one is the unknown one.
    distinct: Vec<Dimension>,
    /// Place in `distinct` by place of the communicator.
    places: Vec<usize>,
}

impl Dimensions {
    /// Finds the dimensions: the first rule that fits, else the name, else the structure.
    pub fn of(job: &Job, rules: &[DimensionRule], tallies: &Tallies) -> Self {
        let positions = positions(job);
        let mut guesses = structure::guess(job, &positions, tallies);
        let mut found = Self { distinct: vec![unknown()], places: vec![] };
        for (place, communicator) in job.communicators.iter().enumerate() {
            let ranks = positions::ranks(communicator, &positions);
            let by_name = name::dimension(&communicator.name);
            let dimension = by_rule(rules, &communicator.name, &ranks)
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

    /// Returns the distinct dimensions; the first one is the unknown one. Dimensions of one name and several origins
    /// are several.
    pub fn distinct(&self) -> &[Dimension] {
        &self.distinct
    }
}

fn unknown() -> Dimension {
    Dimension { name: "unknown".into(), origin: Origin::Unknown }
}

#[cfg(test)]
mod tests;
