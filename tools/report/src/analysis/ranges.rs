//! Numbers written as ranges.

/// Shortest list with a stride above 1 that is written as a range.
const MIN_STRIDED: usize = 4;

/// Returns numbers, in their order, as ranges: `0-3,7`. Four and more with the same distance are `0-56:8`, which is
/// short for 0, 8, 16 and so on up to 56.
pub fn ranges(numbers: impl IntoIterator<Item = i64>) -> String {
    let mut stretches: Vec<[i64; 2]> = vec![];
    for number in numbers {
        match stretches.last_mut() {
            Some([_, last]) if last.checked_add(1) == Some(number) => *last = number,
            _ => stretches.push([number; 2]),
        }
    }
    of_stretches(stretches)
}

/// Returns stretches of numbers, of a first and a last one, as [`ranges`] does. No two of them touch.
pub fn of_stretches(stretches: impl IntoIterator<Item = [i64; 2]>) -> String {
    let mut stretches: Vec<[i64; 2]> = stretches.into_iter().collect();
    let mut texts: Vec<String> = vec![];
    let mut at = 0;
    while let Some(&[first, end]) = stretches.get(at) {
        let rest = stretches.get(at..).unwrap_or_default();
        let next = rest.get(1).map_or(first, |next| next[0]);
        let stride = next.saturating_sub(first);
        // numbers alone, and the first one of a stretch after them
        let alone = rest.iter().take_while(|[one, last]| one == last).count();
        let far = |pair: &&[[i64; 2]]| matches!(pair, [one, next] if next[0].checked_sub(one[0]) == Some(stride));
        let alike = rest.windows(2).take(alone).take_while(far).count() + 1;
        if end == first && stride > 1 && alike >= MIN_STRIDED {
            let last = rest.get(alike - 1).map_or(first, |last| last[0]);
            texts.push(format!("{first}-{last}:{stride}"));
            at += alike - 1;
            match stretches.get_mut(at) {
                Some(cut) if cut[0] < cut[1] => cut[0] += 1,
                _ => at += 1,
            }
        } else {
            texts.push(if first == end { first.to_string() } else { format!("{first}-{end}") });
            at += 1;
        }
    }
    texts.join(",")
}

#[cfg(test)]
mod tests {
    use super::{of_stretches, ranges};

    #[test]
    fn numbers_are_ranges() {
        assert_eq!(ranges([]), "");
        assert_eq!(ranges([3]), "3");
        assert_eq!(ranges([0, 1, 2, 3, 7]), "0-3,7");
        assert_eq!(ranges([0, 8, 16]), "0,8,16");
        assert_eq!(ranges([0, 8, 16, 24]), "0-24:8");
        assert_eq!(ranges([0, 1, 4, 5, 8, 9]), "0-1,4-5,8-9");
        assert_eq!(ranges([0, 2, 3, 4, 10, 20, 30, 40, 41]), "0,2-4,10-40:10,41");
        assert_eq!(ranges([0, 2, 4, 6, 7, 8]), "0-6:2,7-8");
        assert_eq!(ranges([0, 1, 3, 5, 7, 9]), "0-1,3-9:2");
        assert_eq!(ranges([3, 2, 1, 1]), "3,2,1,1");
        assert_eq!(of_stretches([[0, 5], [7, i64::MAX]]), "0-5,7-9223372036854775807");
    }
}
