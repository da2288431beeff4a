//! The fastest time of each size: what regression MIN goes through.
//!
//! A transfer's time is latency plus bytes over rate plus the time it waited behind others. The fastest of each size has waited
//! least.

use crate::fit::Fit;
use std::collections::BTreeMap;

/// Sizes kept apart. A connection's chunk sizes are few, some dozens; where there are more, further sizes are left out of MIN and
/// counted.
pub const MOST_SIZES: usize = 16_384;

/// Fastest times by size.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fastest {
    times: BTreeMap<u64, u64>,
    left_out: u64,
}

impl Fastest {
    /// Takes a transfer in.
    pub fn add(&mut self, size: u64, time: u64) {
        if let Some(fastest) = self.times.get_mut(&size) {
            *fastest = time.min(*fastest);
        } else if self.times.len() < MOST_SIZES {
            self.times.insert(size, time);
        } else {
            self.left_out += 1;
        }
    }

    /// Takes in all of another.
    pub fn merge(&mut self, other: &Self) {
        other.times.iter().for_each(|(&size, &time)| self.add(size, time));
        self.left_out += other.left_out;
    }

    /// Number of different sizes kept.
    pub fn sizes(&self) -> u64 {
        self.times.len() as u64
    }

    /// Transfers whose size found no room.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// The regression through the fastest times.
    pub fn fit(&self) -> Fit {
        let mut fit = Fit::default();
        self.times.iter().for_each(|(&size, &time)| {
            fit.add(size, time);
        });
        fit
    }

    /// (size, fastest time) in ascending size.
    pub fn points(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.times.iter().map(|(&size, &time)| (size, time))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_fastest_of_each_size() {
        let mut fastest = Fastest::default();
        [(8, 30), (8, 20), (8, 25), (0, 5), (64, 1)].into_iter().for_each(|(size, time)| fastest.add(size, time));
        assert_eq!(fastest.points().collect::<Vec<_>>(), [(0, 5), (8, 20), (64, 1)]);
        assert_eq!((fastest.sizes(), fastest.fit().count()), (3, 3));
    }

    #[test]
    fn merging_equals_adding_all() {
        let mut whole = Fastest::default();
        let mut parts = [Fastest::default(), Fastest::default()];
        for i in 0..500_u64 {
            let (size, time) = (i * 31 % 17, i * 7919 % 1009);
            whole.add(size, time);
            parts[(i % 2) as usize].add(size, time);
        }
        let [mut first, second] = parts;
        first.merge(&second);
        assert_eq!(first, whole);
    }

    #[test]
    fn sizes_are_bounded_and_the_rest_counted() {
        let mut fastest = Fastest::default();
        (0..MOST_SIZES as u64 + 10).for_each(|size| fastest.add(size, 1));
        assert_eq!((fastest.sizes(), fastest.left_out()), (MOST_SIZES as u64, 10));
    }
}
