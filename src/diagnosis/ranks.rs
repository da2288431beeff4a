//! Ranks in short: `0-2,5`.

/// Writes ranks as ranges. `ranks` is in ascending order.
pub(crate) fn ranges(ranks: &[i32]) -> String {
    let mut ranges: Vec<(i32, i32)> = Vec::new();
    for &rank in ranks {
        match ranges.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(rank) || *last == rank => *last = rank,
            _ => ranges.push((rank, rank)),
        }
    }
    let text = |&(first, last): &(i32, i32)| match last.saturating_sub(first) {
        0 => first.to_string(),
        1 => format!("{first},{last}"),
        _ => format!("{first}-{last}"),
    };
    ranges.iter().map(text).collect::<Vec<_>>().join(",")
}

/// Writes ranks with their noun: `rank 3`, `ranks 0-2,5`. Ranges beyond `most` letters are counted instead.
pub(crate) fn named(ranks: &[i32], most: usize) -> String {
    let text = ranges(ranks);
    match (ranks, text.len() > most) {
        ([_], _) => format!("rank {text}"),
        (_, false) => format!("ranks {text}"),
        (_, true) => {
            let end = text.get(..most).and_then(|part| part.rfind(',')).unwrap_or(0);
            let part = text.get(..end).unwrap_or_default();
            format!("ranks {part},... ({} in all)", ranks.len())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_ranges() {
        assert_eq!(ranges(&[0, 1, 2, 5]), "0-2,5");
        assert_eq!(ranges(&[0, 1, 7, 8, 9, 10]), "0,1,7-10");
        assert_eq!(ranges(&[i32::MAX]), "2147483647");
        assert_eq!(named(&[3], 1), "rank 3");
        assert_eq!(named(&[0, 2, 4, 6, 8], 7), "ranks 0,2,4,... (5 in all)");
    }
}
