//! Numbers of ranks, from NCCL, launchers and files: how large they may be, and which ranks are missing.

/// Most ranks that a communicator or a job may have: 1,048,576. NCCL and the launchers number ranks by an `int`, so a
/// damaged or invented number may be 2^31 - 1. The largest machines have some 100,000 GPUs. A larger number is not
/// believed: the library takes it for one that it does not know, and readers of files refuse it.
pub const MOST: i32 = 1 << 20;

/// Largest number of stretches of ranks in words.
const MOST_STRETCHES: usize = 8;

/// Returns whether there may be so many ranks.
pub fn are_possible(number: impl Into<i64>) -> bool {
    number.into() <= i64::from(MOST)
}

/// Returns the number of ranks that NCCL reports; 0, for an unknown one, if it cannot be.
pub fn believed(number: i32) -> i32 {
    if are_possible(number) { number } else { 0 }
}

/// Says that there are too many ranks.
pub fn refusal(number: impl Into<i64>) -> String {
    format!("{} is no number of ranks: at most {MOST} are believed", number.into())
}

/// Returns the ranks from 0 to `all` - 1 that are not among `here`, which is in ascending order, as stretches of a first
/// and a last one. There are no more of them than of ranks that are here, and one.
pub fn missing<T: Into<i64>>(here: impl IntoIterator<Item = T>, all: i64) -> impl Iterator<Item = [i64; 2]> {
    let mut next = 0;
    let ends = here.into_iter().map(Into::into).filter(move |rank| (0..all).contains(rank)).chain([all]);
    ends.filter_map(move |end| {
        let stretch = (next < end).then(|| [next, end - 1]);
        next = end.saturating_add(1);
        stretch
    })
}

/// Returns the [`missing`] ranks in words: `1 to 3, 5`.
pub(crate) fn missing_in_words<T: Into<i64>>(here: impl IntoIterator<Item = T>, all: i64) -> String {
    let stretch = |[first, last]: [i64; 2]| {
        if first == last { first.to_string() } else { format!("{first} to {last}") }
    };
    let mut missing = missing(here, all);
    let words: Vec<String> = missing.by_ref().take(MOST_STRETCHES).map(stretch).collect();
    let more = if missing.next().is_some() { ", ..." } else { "" };
    format!("{}{more}", words.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_ranks_are_stretches_whatever_is_here() {
        let of = |here: &[i32], all: i64| missing(here.iter().copied(), all).collect::<Vec<_>>();
        assert_eq!(of(&[0, 3, 7], 8), [[1, 2], [4, 6]]);
        assert_eq!(of(&[], 3), [[0, 2]]);
        assert_eq!(of(&[1], i64::MAX), [[0, 0], [2, i64::MAX - 1]]);
        assert_eq!(of(&[-5, 0, 0, 1, 9, i32::MAX], 2), Vec::<[i64; 2]>::new());
        assert!([of(&[0], 0), of(&[0], -1), of(&[i32::MIN], i64::MIN)].iter().all(Vec::is_empty));
    }

    #[test]
    fn a_number_that_no_machine_has_is_not_believed() {
        assert_eq!([-1, 0, 8, MOST, MOST + 1, i32::MAX].map(believed), [-1, 0, 8, MOST, 0, 0]);
        assert!(!are_possible(u32::MAX) && refusal(u32::MAX).starts_with("4294967295 is no number of ranks"));
    }
}
