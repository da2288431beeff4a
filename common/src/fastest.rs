//! The fastest time of each size: what regression MIN goes through.
//!
//! A transfer's time is latency plus bytes over rate plus the time it waited behind others. The fastest of each size has waited
//! least.

use crate::fit::Fit;

/// Sizes kept apart. A connection's chunk sizes are few, some dozens; where there are more, further sizes are left out of MIN and
/// counted.
pub const MOST_SIZES: usize = 16_384;

/// Fastest times by size.
#[derive(Debug, Clone, Default)]
pub struct Fastest {
    /// (size, fastest time) in ascending size.
    times: Vec<(u64, u64)>,
    /// Where the last transfer's size was: the next one's is mostly the same.
    last: usize,
    left_out: u64,
}

/// By what is kept, not by what came last.
impl PartialEq for Fastest {
    fn eq(&self, other: &Self) -> bool {
        (&self.times, self.left_out) == (&other.times, other.left_out)
    }
}

impl Eq for Fastest {}

impl Fastest {
    /// Takes a transfer in.
    #[inline]
    pub fn add(&mut self, size: u64, time: u64) {
        match self.times.get_mut(self.last) {
            Some((same, fastest)) if *same == size => *fastest = time.min(*fastest),
            _ => self.add_other(size, time),
        }
    }

    /// Takes in a transfer of another size than the last one's.
    fn add_other(&mut self, size: u64, time: u64) {
        match self.times.binary_search_by_key(&size, |&(size, _)| size) {
            Ok(place) => {
                self.times[place].1 = time.min(self.times[place].1);
                self.last = place;
            }
            Err(place) if self.times.len() < MOST_SIZES => {
                self.times.insert(place, (size, time));
                self.last = place;
            }
            Err(_) => self.left_out += 1,
        }
    }

    /// Takes in all of another.
    pub fn merge(&mut self, other: &Self) {
        other.times.iter().for_each(|&(size, time)| self.add(size, time));
        self.left_out += other.left_out;
    }

    /// Number of different sizes kept.
    pub fn sizes(&self) -> u64 {
        self.times.len() as u64
    }

    /// How often a size found no room: for each transfer that was added, and each size that was merged.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// The regression through the fastest times.
    pub fn fit(&self) -> Fit {
        let mut fit = Fit::default();
        self.times.iter().for_each(|&(size, time)| {
            fit.add(size, time);
        });
        fit
    }

    /// (size, fastest time) in ascending size.
    pub fn points(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.times.iter().copied()
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
