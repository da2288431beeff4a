//! Numbers written as ranges.

/// Shortest list with a stride above 1 that is written as a range.
const STRIDED: usize = 4;

/// Returns numbers, in their order, as ranges: `0-3,7`. Four and more with the same distance are `0-56:8`, which is
/// short for 0, 8, 16 and so on up to 56.
pub fn ranges(numbers: impl IntoIterator<Item = i64>) -> String {
    let numbers: Vec<i64> = numbers.into_iter().collect();
    let mut texts: Vec<String> = vec![];
    let mut rest = numbers.as_slice();
    while let [first, ..] = rest {
        let stride = rest.get(1).map_or(0, |next| next - first);
        let alike = rest.windows(2).take_while(|pair| matches!(pair, [one, next] if next - one == stride)).count() + 1;
        let last = rest.get(alike - 1).unwrap_or(first);
        let taken = match stride {
            1 => {
                texts.push(format!("{first}-{last}"));
                alike
            }
            2.. if alike >= STRIDED => {
                texts.push(format!("{first}-{last}:{stride}"));
                alike
            }
            _ => {
                texts.push(first.to_string());
                1
            }
        };
        rest = rest.get(taken..).unwrap_or_default();
    }
    texts.join(",")
}

#[cfg(test)]
mod tests {
    use super::ranges;

    #[test]
    fn numbers_are_ranges() {
        assert_eq!(ranges([]), "");
        assert_eq!(ranges([3]), "3");
        assert_eq!(ranges([0, 1, 2, 3, 7]), "0-3,7");
        assert_eq!(ranges([0, 8, 16]), "0,8,16");
        assert_eq!(ranges([0, 8, 16, 24]), "0-24:8");
        assert_eq!(ranges([0, 1, 4, 5, 8, 9]), "0-1,4-5,8-9");
        assert_eq!(ranges([0, 2, 3, 4, 10, 20, 30, 40, 41]), "0,2-4,10-40:10,41");
        assert_eq!(ranges([3, 2, 1, 1]), "3,2,1,1");
    }
}
