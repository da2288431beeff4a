//! The order of names with numbers in them.

/// Splits a name into pairs of text and number, for sorting.
pub fn natural(name: &str) -> Vec<(String, u64)> {
    let mut parts = vec![(String::new(), 0_u64)];
    let mut in_number = false;
    for character in name.chars() {
        let digit = character.to_digit(10);
        if in_number && digit.is_none() {
            parts.push((String::new(), 0));
        }
        in_number = digit.is_some();
        if let Some((text, number)) = parts.last_mut() {
            match digit {
                Some(digit) => *number = number.saturating_mul(10).saturating_add(u64::from(digit)),
                None => text.push(character),
            }
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_names_are_sorted_as_numbers() {
        let mut names = vec!["a.r10", "a.r9", "a.r1", "b.r0", "a"];
        names.sort_by_cached_key(|name| natural(name));
        assert_eq!(names, ["a", "a.r1", "a.r9", "a.r10", "b.r0"]);
    }
}
