//! Ranks in short: `0-2,5`.

use common::ranks;
use serde::Serialize;
use std::fmt;

/// Ranks in ascending order, as ranges with their first and last one: a communicator that says it has a million ranks
/// takes as much memory as one of ten.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub(crate) struct Ranges(Vec<[i32; 2]>);

impl Ranges {
    /// Returns the ranges of ranks in ascending order.
    pub(crate) fn of(ranks: &[i32]) -> Self {
        let mut ranges: Vec<[i32; 2]> = Vec::new();
        for &rank in ranks {
            match ranges.last_mut() {
                Some([_, last]) if last.checked_add(1) == Some(rank) || *last == rank => *last = rank,
                _ => ranges.push([rank, rank]),
            }
        }
        Self(ranges)
    }

    /// Returns the ranks from 0 to below `all` that are none of these, which are in ascending order.
    pub(crate) fn without(ranks: &[i32], all: i32) -> Self {
        let missing = ranks::missing(ranks.iter().copied(), all.into());
        Self(missing.filter_map(|[first, last]| Some([first.try_into().ok()?, last.try_into().ok()?])).collect())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the number of ranks.
    pub(crate) fn count(&self) -> u64 {
        self.0.iter().map(|&[first, last]| u64::from(last.abs_diff(first)) + 1).sum()
    }

    /// Writes ranks with their noun: `rank 3`, `ranks 0-2,5`. Ranges beyond `most` letters are counted instead.
    pub(crate) fn named(&self, most: usize) -> String {
        self.with_noun(["rank", "ranks"], most)
    }

    /// As [`Ranges::named`], with a noun for one and a noun for several.
    pub(crate) fn with_noun(&self, [one, several]: [&str; 2], most: usize) -> String {
        let text = self.to_string();
        match (self.count(), text.len() > most) {
            (1, _) => format!("{one} {text}"),
            (_, false) => format!("{several} {text}"),
            (count, true) => {
                let end = text.get(..most).and_then(|part| part.rfind(',')).unwrap_or(0);
                let part = text.get(..end).unwrap_or_default();
                format!("{several} {part},... ({count} in all)")
            }
        }
    }
}

impl fmt::Display for Ranges {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, &[first, last]) in self.0.iter().enumerate() {
            let comma = if place == 0 { "" } else { "," };
            match last.abs_diff(first) {
                0 => write!(to, "{comma}{first}")?,
                1 => write!(to, "{comma}{first},{last}")?,
                _ => write!(to, "{comma}{first}-{last}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_ranges() {
        let text = |ranks: &[i32]| Ranges::of(ranks).to_string();
        assert_eq!(text(&[0, 1, 2, 5]), "0-2,5");
        assert_eq!(text(&[0, 1, 7, 8, 9, 10]), "0,1,7-10");
        assert_eq!(text(&[i32::MAX]), "2147483647");
        assert_eq!(Ranges::of(&[3]).named(1), "rank 3");
        assert_eq!(Ranges::of(&[3, 4]).with_noun(["process", "processes"], 9), "processes 3,4");
        assert_eq!(Ranges::of(&[0, 2, 4, 6, 8]).named(7), "ranks 0,2,4,... (5 in all)");
    }

    #[test]
    fn ranks_that_are_not_here_are_ranges_too() {
        let text = |ranks: &[i32], all| Ranges::without(ranks, all).to_string();
        assert_eq!(text(&[], 4), "0-3");
        assert_eq!(text(&[0, 2, 2, 3], 8), "1,4-7");
        assert_eq!(text(&[0, 1, 2, 3], 4), "");
        assert_eq!((text(&[7, i32::MAX], 4), text(&[1], 0)), ("0-3".into(), String::new()));
        assert_eq!(Ranges::without(&[5], 1 << 20).count(), (1 << 20) - 1);
    }
}
